"""Benchmark of the close of a month with many lines: the time of each part, and peak memory.

    python -m benchmarks.close [ROWS]

A separate process writes ROWS bank lines of one month into the lake, and ROWS ramp requests that
most lines pay. A new process then imports the package, closes the month and writes its pack (the
files of a close). Processor time is printed next to wall-clock time, because only processor time is
comparable on a busy machine. The figures of the pack include the process that writes the workbook.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

ROWS = 100_000
OWN = "NL05TEST0417164300"
NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
FIRST = date(2026, 10, 1)
DESK = f"""\
[workspace]
company = "A large desk"
environment = "sandbox"
now = 2026-11-02T08:00:00Z

[[accounts]]
account = "{OWN}"
name = "EUR operating account"
currency = "EUR"
source = "own_bank"
"""


def filled(folder: Path, rows: int) -> None:
    """Fill the workspace with `rows` requests and a statement of `rows` lines."""
    from treasury.extract.ramp_tables import RAMP
    from treasury.lake import Lake
    from treasury.statements import STATEMENT_ENTRIES, STATEMENTS
    from treasury.statements import TABLES as BANK

    folder.mkdir(parents=True)
    (folder / "treasury.toml").write_text(DESK, "utf-8")
    tables = {form.table.name: form.table for form in RAMP}
    lake = Lake(folder, (*tables.values(), *BANK))
    amounts = amounts_of(rows)
    with lake.writer("sync", NOW) as writer:
        writer.upsert(tables["ramp_requests"], requests(tables["ramp_requests"], amounts))
    with lake.writer("statements", NOW) as writer:
        writer.upsert(STATEMENTS, statement(STATEMENTS, amounts))
        writer.upsert(STATEMENT_ENTRIES, entries(STATEMENT_ENTRIES, amounts))


def amounts_of(rows: int) -> list[Decimal]:
    random = Random(rows)
    return [Decimal(random.randrange(10_000, 5_000_000)).scaleb(-2) for _ in range(rows)]


def rows_of(table: Any, rows: list[dict[str, Any]]) -> Any:
    import pyarrow as pa

    return pa.Table.from_pylist(rows, schema=table.row_schema)


def day_of(n: int) -> date:
    return FIRST + timedelta(days=n % 31)


def requests(table: Any, amounts: list[Decimal]) -> Any:
    """Return off-ramps completed in the month; every hundredth still awaits funds."""
    names = set(table.row_schema.names)
    made = []
    for n, amount in enumerate(amounts):
        at = datetime.combine(day_of(n), datetime.min.time(), UTC) + timedelta(hours=9)
        fee = (amount * Decimal("0.008")).quantize(Decimal("0.01"))
        waits = n % 100 == 0
        row = {
            "id": f"00000000-0000-4000-8000-{n:012d}",
            "ramp_type": "OFF_RAMP",
            "status": "AWAITING_FUNDS" if waits else "SUCCEEDED",
            "is_open": waits,
            "payment_reference": f"PAY-2026-{n:07d}",
            "fiat_currency": "EUR",
            "crypto_currency": "USDC",
            "crypto_chain": "BASE",
            "fiat_amount": amount + fee,
            "fiat_gross_amount": amount + fee,
            "fiat_net_amount": amount,
            "fiat_fee_amount": fee,
            "fee_percentage": Decimal("0.8"),
            "crypto_amount": amount,
            "exchange_rate": Decimal(1),
            "company_bank_account_iban": OWN,
            "created_at": at - timedelta(days=1),
            "approved_at": at - timedelta(hours=20),
            "completed_at": None if waits else at,
            "updated_at": at,
            "raw": "{}",
        }
        made.append({name: value for name, value in row.items() if name in names})
    return rows_of(table, made)


def entries(table: Any, amounts: list[Decimal]) -> Any:
    """Return bank lines: of 100, 94 name their request in full, two in part and four not at all."""
    order = Random(1).sample(range(len(amounts)), len(amounts))
    return rows_of(
        table,
        [
            {
                "entry_id": f"e{at}",
                "statement_id": "s1",
                "ordinal": at + 1,
                "position": f"Ntry[{at + 1}]",
                "account": OWN,
                "amount": amounts[n],
                "currency": "EUR",
                "direction": "CRDT",
                "entry_status": "BOOK",
                "booking_date": day_of(n),
                "value_date": day_of(n),
                "remittance": [written(n, at)],
                "counterparty_name": f"Payer {n % 500}",
                "counterparty_account": f"LT{n % 500:018d}",
                "raw": "",
            }
            for at, n in enumerate(order)
        ],
    )


def written(n: int, at: int) -> str:
    place = at % 100
    code = f"PAY-2026-{n:07d}"
    if place < 94:
        return f"Invoice {at} {code} thanks"
    return f"Invoice {at} {code[:-2]}" if place < 96 else f"Invoice {at} as agreed"


def statement(table: Any, amounts: list[Decimal]) -> Any:
    return rows_of(
        table,
        [
            {
                "statement_id": "s1",
                "file_name": "october.xml",
                "file_sha256": "0" * 64,
                "format": "camt.053",
                "account": OWN,
                "currency": "EUR",
                "opening_balance": Decimal(0),
                "opening_date": date(2026, 9, 30),
                "closing_balance": sum(amounts, start=Decimal(0)),
                "closing_date": date(2026, 10, 31),
                "entry_count": len(amounts),
                "proved": True,
                "proof": "opening + entries = closing",
                "raw": "",
            }
        ],
    )


PARTS = (
    "month_figures",
    "render_html",
    "workbook_beside",
    "accounting",
    "write_csv",
    "write_beancount",
    "figure_png",
    "answer_tables",
    "write_table",
    "write_inputs",
    "table_marks",
)
"""Functions of `treasury.report.pack.pack_contents` that write a pack, measured one by one."""


def closed(folder: Path) -> dict[str, Any]:
    """Close the month and write its pack; return the time of each part, and the peak memory."""
    parts: dict[str, tuple[float, float]] = {}
    memory = Memory()
    began, used = time.perf_counter(), processor()
    from treasury.report.pack import pack_contents, pack_folder
    from treasury.workspace import Workspace

    parts["import"] = (time.perf_counter() - began, processor() - used)
    desk = Workspace(folder)

    def timed(name: str, run: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), processor()
        result = run()
        before = parts.get(name, (0.0, 0.0))
        parts[name] = (
            before[0] + time.perf_counter() - wall,
            before[1] + processor() - cpu,
        )
        return result

    for name in PARTS:
        setattr(pack_contents, name, _wrapped(timed, f"  {name}", getattr(pack_contents, name)))
    month = timed(
        "answer, checks, lock",
        lambda: _closed(desk),
    )
    timed("pack", lambda: pack_folder.write_close(month, folder / "pack"))
    return {
        "parts": parts,
        "wall": time.perf_counter() - began,
        "processor": processor() - used,
        "peak_mb": memory.peak(),
        "pack_mb": sum(p.stat().st_size for p in (folder / "pack").rglob("*")) >> 20,
    }


def _closed(desk: Any) -> Any:
    """Close the month by two people, after they accept every open item that blocks the close."""
    from treasury.journal import Actor

    first, second = Actor("first", "system"), Actor("second", "system")
    blocking = [item.item_id for item in desk.open_items("2026-10").blocking]
    if blocking:
        terms = {"owner": "first", "by": "2027-12-31", "reason": "measured"}
        desk.items.carry(*blocking, **terms, month="2026-10", actor=first)
        desk.items.accept(*blocking, month="2026-10", actor=second)
    desk.periods.prepare("2026-10", actor=first)
    return desk.periods.sign("2026-10", actor=second)


def _wrapped(timed: Callable[..., Any], name: str, function: Callable[..., Any]) -> Any:
    def run(*args: Any, **named: Any) -> Any:
        return timed(name, lambda: function(*args, **named))

    return run


class Memory:
    """The peak memory of this process and its children, sampled twenty times a second."""

    def __init__(self) -> None:
        self._most = 0
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look)
        self._looking.start()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self._most = max(self._most, held_pages(family()))

    def peak(self) -> int:
        """Stop sampling and return the peak in megabytes."""
        self._over.set()
        self._looking.join()
        return self._most * resource.getpagesize() >> 20


def family() -> list[str]:
    """Return this process and its children.

    A child that has not started its own program yet is skipped: it is a copy of this process and
    would count its memory twice.
    """
    begun = command_line("self")
    started = [
        process
        for path in Path("/proc/self/task").glob("*/children")
        for process in path.read_text().split()
    ]
    return ["self", *(each for each in started if command_line(each) not in {begun, ""})]


def command_line(process: str) -> str:
    """Return the command line of a process, or an empty text if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def held_pages(processes: list[str]) -> int:
    """Return the sum of the processes' private pages and the largest number of mapped pages.

    Mapped files count once, because all processes map the same libraries.
    """
    pages = [pages_of(process) for process in processes]
    return sum(own for own, _ in pages) + max(mapped for _, mapped in pages)


def pages_of(process: str) -> tuple[int, int]:
    """Return the numbers of private and file-backed pages of a process; zero if it has ended."""
    try:
        _, resident, mapped, *_ = Path(f"/proc/{process}/statm").read_text().split()
    except OSError:
        return 0, 0
    return int(resident) - int(mapped), int(mapped)


def processor() -> float:
    """Return the processor seconds of this process and its finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "desk"
        command = [sys.executable, "-m", "benchmarks.close"]
        subprocess.run([*command, "--fill", folder, str(rows)], check=True)
        done = subprocess.run([*command, "--close", folder], check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    for what, (wall, cpu) in found["parts"].items():
        print(f"{what:<28} {wall:7.2f} s  {cpu:7.2f} s processor")
    print(
        f"{f'close of {rows:,} lines':<28} {found['wall']:7.2f} s  {found['processor']:7.2f} s"
        f" processor  peak {found['peak_mb']:,} MB  pack {found['pack_mb']:,} MB"
        f"  load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--fill", folder, number]:
            filled(Path(folder), int(number))
        case ["--close", folder]:
            print(json.dumps(closed(Path(folder))))
        case [number]:
            main(int(number))
        case _:
            main(ROWS)
