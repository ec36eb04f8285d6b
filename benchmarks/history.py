"""Benchmark of a month's reconciliation after 1, 12 and 60 months, all but the last settled.

    python -m benchmarks.history [ROWS]

Fills workspaces with ROWS bank lines and ROWS ramp requests per month. All lines that do not name
their request in full are decided, in the last month only one of them. Two people accept the open
items that block the month before the last, and close it. This close settles all earlier months too;
closing each one would match the whole history 59 times. The next reconciliation stores the settled
months; its time is printed as `settled in`. Then the last month is added.

A new process then reconciles the last month twice. The processes of the workspaces alternate,
ROUNDS times; the minimum of processor time (which alone is comparable on a busy machine),
wall-clock time and peak memory is printed.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

from benchmarks import close
from benchmarks.close import DESK, NOW, processor, rows_of

ROWS = 5_000
MONTHS = (1, 12, 60)
ROUNDS = 3
LAST = date(2026, 10, 1)


def months_to_last(months: int) -> list[date]:
    """Return the first days of the given number of months, up to the last one."""
    firsts = []
    for back in range(months - 1, -1, -1):
        year, month = divmod(LAST.year * 12 + LAST.month - 1 - back, 12)
        firsts.append(date(year, month + 1, 1))
    return firsts


def fill(folder: Path, ages: list[int], months: int, rows: int) -> None:
    """Store `rows` requests and a statement of `rows` lines for each month.

    `ages` are the months to store, counted back from the last month, which is 0.
    """
    from treasury.extract.ramp_tables import RAMP
    from treasury.lake import Lake
    from treasury.statements import STATEMENT_ENTRIES, STATEMENTS
    from treasury.statements import TABLES as BANK

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "treasury.toml").write_text(DESK, "utf-8")
    tables = {form.table.name: form.table for form in RAMP}
    requests = tables["ramp_requests"]
    lake = Lake(folder, (*tables.values(), *BANK))
    made: dict[str, list[dict[str, Any]]] = {"requests": [], "statements": [], "entries": []}
    firsts = months_to_last(months)
    opening = sum(
        (sum(amounts_of(age, rows)) for age in range(months - 1, max(ages), -1)), Decimal()
    )
    for age in ages:
        amounts = amounts_of(age, rows)
        opening = _month_of(made, requests, firsts[-1 - age], age, amounts=amounts, opening=opening)
    with lake.writer("sync", NOW) as writer:
        writer.upsert(requests, rows_of(requests, made["requests"]))
    with lake.writer("statements", NOW) as writer:
        writer.upsert(STATEMENTS, rows_of(STATEMENTS, made["statements"]))
        writer.upsert(STATEMENT_ENTRIES, rows_of(STATEMENT_ENTRIES, made["entries"]))


def amounts_of(age: int, rows: int) -> list[Decimal]:
    random = Random(age)
    return [Decimal(random.randrange(10_000, 5_000_000)).scaleb(-2) for _ in range(rows)]


def _month_of(
    made: dict[str, list[dict[str, Any]]],
    requests: Any,
    first: date,
    age: int,
    *,
    amounts: list[Decimal],
    opening: Decimal,
) -> Decimal:
    """Add the rows of a month, as in `benchmarks.close`, to `made`; return the closing balance."""
    from treasury.core.calendar import Month
    from treasury.statements import STATEMENT_ENTRIES, STATEMENTS

    last = Month.of(first).last
    close.day_of = lambda n: first + timedelta(days=n % last.day)  # type: ignore[attr-defined]
    tag = f"{first:%y%m}"
    for row in close.requests(requests, amounts).to_pylist():
        row["id"] = f"{row['id'][:9]}{tag}{row['id'][13:]}"
        row["payment_reference"] = row["payment_reference"].replace("-2026-", f"-{tag}-")
        if row["is_open"] and age:
            at = row["updated_at"]
            row |= {"status": "SUCCEEDED", "is_open": False, "completed_at": at}
        made["requests"].append(row)
    for row in close.entries(STATEMENT_ENTRIES, amounts).to_pylist():
        row |= {"entry_id": f"e{tag}-{row['entry_id']}", "statement_id": f"s{tag}"}
        row["remittance"] = [text.replace("PAY-2026-", f"PAY-{tag}-") for text in row["remittance"]]
        made["entries"].append(row)
    closing = opening + sum(amounts, start=Decimal(0))
    (row,) = close.statement(STATEMENTS, amounts).to_pylist()
    made["statements"].append(
        row
        | {
            "statement_id": f"s{tag}",
            "file_name": f"{tag}.xml",
            "opening_balance": opening,
            "opening_date": first - timedelta(days=1),
            "closing_balance": closing,
            "closing_date": last,
        }
    )
    return closing


def close_all(folder: Path, months: int, rows: int) -> None:
    """Close the month before the last, which also settles all earlier months."""
    from treasury.journal import Actor
    from treasury.workspace import Workspace

    desk = Workspace(folder)
    first, second = Actor("first", "system"), Actor("second", "system")
    terms = {"owner": "first", "by": "2027-12-31", "reason": "measured"}
    earlier = months_to_last(months)[:-1]
    for day in earlier:
        desk.journal.decide(lambda _, day=day: decisions(day, rows, first))  # type: ignore[misc]
    month = f"{earlier[-1]:%Y-%m}"
    blocking = [item.item_id for item in desk.open_items(month).blocking]
    if blocking:
        desk.items.carry(*blocking, **terms, month=month, actor=first)
        desk.items.accept(*blocking, month=month, actor=second)
    desk.periods.prepare(month, actor=first)
    desk.periods.sign(month, actor=second)


def decisions(first: date, rows: int, actor: Any) -> list[Any]:
    """Return people's decisions about the month's lines that do not name a request in full."""
    from treasury.journal import Draft

    tag = f"{first:%y%m}"
    drafts = []
    for at, n in enumerate(Random(1).sample(range(rows), rows)):
        if at % 100 < 94:
            continue
        drafts.append(
            Draft(
                "match.accept",
                line := f"e{tag}-e{at}",
                {
                    "entry_id": line,
                    "expectation_ids": [f"00000000-{tag}-4000-8000-{n:012d}"],
                    "reason": "measured",
                    "facts": {},
                },
                actor,
            )
        )
    return drafts


def ask(folder: Path) -> dict[str, float]:
    """Reconcile the last month twice; return the seconds, and the peak memory in MB."""
    from treasury.workspace import Workspace

    figures = {}
    desk = Workspace(folder)
    for name in ("first", "again"):
        wall, used = time.perf_counter(), processor()
        desk.reconcile(f"{LAST:%Y-%m}")
        figures[name], figures[f"{name}_wall"] = processor() - used, time.perf_counter() - wall
    figures["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return figures


def settle(folder: Path) -> float:
    """Return the seconds of reconciling the empty last month, which settles the others."""
    from treasury.workspace import Workspace

    used = processor()
    Workspace(folder).reconcile(f"{LAST:%Y-%m}")
    return processor() - used


def prepare(folder: Path, months: int, rows: int) -> float:
    """Fill a workspace and settle all months but the last; return the seconds of settling."""
    from treasury.journal import Actor
    from treasury.workspace import Workspace

    seconds = 0.0
    if months > 1:
        fill(folder, list(range(months - 1, 0, -1)), months, rows)
        close_all(folder, months, rows)
        seconds = settle(folder)
    fill(folder, [0], months, rows)
    first = decisions(LAST, rows, Actor("first", "system"))[:1]
    Workspace(folder).journal.decide(lambda _: first)
    return seconds


def measured(folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.history", "--ask", folder]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main(rows: int) -> None:
    command = [sys.executable, "-m", "benchmarks.history", "--fill"]
    with tempfile.TemporaryDirectory() as name:
        folders = {months: Path(name) / str(months) for months in MONTHS}
        settled = {}
        for months, folder in folders.items():
            filled = [*command, folder, str(months), str(rows)]
            output = subprocess.run(filled, check=True, stdout=subprocess.PIPE).stdout
            settled[months] = json.loads(output)
        rounds = [
            {months: measured(folder) for months, folder in folders.items()} for _ in range(ROUNDS)
        ]
    least = {
        months: {key: min(each[months][key] for each in rounds) for key in rounds[0][months]}
        for months in MONTHS
    }
    for months, figures in least.items():
        print(
            f"{months:>3} months of {rows:,} lines: {figures['first']:.2f} s processor"
            f" ({figures['first_wall']:.2f} s), {figures['first'] / least[1]['first']:.2f} of that"
            f" of 1 month; again {figures['again']:.3f} s ({figures['again_wall']:.3f} s);"
            f" settled in {settled[months]:.1f} s; peak {figures['peak']:,.0f} MB"
            f"  load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
            flush=True,
        )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--fill", folder, months, number]:
            print(prepare(Path(folder), int(months), int(number)))
        case ["--ask", folder]:
            print(json.dumps(ask(Path(folder))))
        case [number]:
            main(int(number))
        case _:
            main(ROWS)
