"""Benchmark of panels with many open items, in a real JupyterLab and a real browser.

    python -m benchmarks.panels [ROWS]

One practice workspace has ROWS ramp requests that await approval, ROWS that await funds, and ROWS
transfers; another has ROWS bank lines without any possible match; a third has ROWS stuck requests.
In a JupyterLab that has already shown a panel, these times are measured: from running the cell to
the first page on the screen, for turning a page, and for a search for the last row. The bytes that
the Lab sends over its sockets are counted for each. The sync panel has only one page.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
from playwright.sync_api import Locator, Page, WebSocket

import treasury
from treasury.cli.commands.practice import prepare
from treasury.extract import TABLES
from treasury.lake import Lake
from treasury.sandbox import Sandbox
from treasury.statements import TABLES as STATEMENT_TABLES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "panels"))

from panel_lab import Desk, Notebook, running_browser, running_lab

ROWS = 100_000
WANTED = {"first page": 3.0, "next page": 1.0, "search of the last": 1.0}
AT = datetime(2026, 11, 2, 8, 1, tzinfo=UTC)
RUN_ONE = """async () => {
    await window.jupyterapp.commands.execute('notebook:run-cell-and-select-next');
}"""
MADE = """
SELECT printf('%08x-0000-4000-8000-%012x', n, n) AS id,
    printf('PAY-2027-%08d', n) AS payment_reference,
    'ON_RAMP' AS ramp_type, $status AS status, true AS is_open,
    'EUR' AS fiat_currency, 'USDC' AS crypto_currency, 'BASE' AS crypto_chain, 1::BIGINT AS version,
    (1000 + n * 0.01::DECIMAL(3, 2))::DECIMAL(38, 18) AS fiat_amount,
    $since::TIMESTAMPTZ + INTERVAL (n) MILLISECOND AS created_at,
    if($status = 'AWAITING_APPROVAL', NULL, $since::TIMESTAMPTZ + INTERVAL 12 HOUR) AS approved_at,
    if($status = 'AWAITING_FUNDS', 'LT353250012345678901', NULL) AS deposit_iban,
    if($status = 'AWAITING_FUNDS', 'Ramp Operator BV', NULL) AS deposit_beneficiary,
    true AS has_detail, '{}' AS raw
FROM range($first, $last) AS t(n)
"""

TRANSFERS = """
SELECT printf('%08x-0000-4000-9000-%012x', n, n) AS id,
    'crypto' AS kind, 'COMPLETED' AS status, false AS is_open, 'USDC' AS asset, 'BASE' AS chain,
    (1 + n * 0.01::DECIMAL(3, 2))::DECIMAL(38, 18) AS amount,
    $account AS sender_account_id, printf('Transfer %08d', n) AS description,
    TIMESTAMPTZ '2026-11-01 00:00:00+00' + INTERVAL (n) MILLISECOND AS created_at,
    '{}' AS raw
FROM range($last) AS t(n)
"""
STATEMENT = """
SELECT 'bench' AS statement_id, 'bench.xml' AS file_name, 'camt.053' AS format, $account AS account,
    'EUR' AS currency, DATE '2026-10-01' AS from_date, DATE '2026-10-31' AS to_date,
    false AS proved, 'not proved: made for timing' AS proof, $rows AS entry_count,
    TIMESTAMPTZ '2026-11-01 00:00:00+00' AS added_at, '' AS raw
"""
LINES = """
SELECT printf('b%09d', n) AS entry_id, 'bench' AS statement_id, n AS ordinal,
    printf('Ntry %d', n) AS position, $account AS account, 'EUR' AS currency,
    (2 + n * 0.01::DECIMAL(3, 2))::DECIMAL(38, 18) AS amount, 'CRDT' AS direction,
    'BOOK' AS entry_status, false AS is_reversal, false AS is_twin,
    DATE '2026-10-01' + (n % 31)::INTEGER AS booking_date,
    DATE '2026-10-01' + (n % 31)::INTEGER AS value_date,
    [printf('Invoice %08d', n)] AS remittance, 'Somebody BV' AS counterparty_name,
    'DE89370400440532013000' AS counterparty_account, 'bench.xml' AS file_name, '' AS raw
FROM range($rows) AS t(n)
"""
YESTERDAY, LAST_MONTH = "2026-11-01 00:00:00+00", "2026-10-01 00:00:00+00"
ACCOUNT = "f5520527-134b-49e6-ac6e-833cf327cb46"


class Moved:
    """Counter of the bytes that the Lab's sockets sent to the page since the last reading."""

    def __init__(self, page: Page) -> None:
        self._bytes = 0
        page.on("websocket", self._watch)

    def _watch(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._count)

    def _count(self, payload: str | bytes) -> None:
        self._bytes += len(payload)

    def take(self) -> int:
        """Return the count of bytes, and reset it."""
        moved, self._bytes = self._bytes, 0
        return moved


def fill(folder: Path, rows: int) -> None:
    """Store `rows` open requests of each status and `rows` transfers, in three commits."""
    requests(folder, "AWAITING_APPROVAL", 0, rows)
    requests(folder, "AWAITING_FUNDS", rows, 2 * rows)
    transfers = duckdb.sql(TRANSFERS, params={"account": ACCOUNT, "last": rows})
    store(folder, "sync", "transfers", transfers)


def fill_bank(folder: Path, rows: int) -> None:
    """Store a statement of `rows` credits that belong to no known record."""
    given = {"account": treasury.open(folder).settings.accounts[0].account, "rows": rows}
    store(folder, "statements", "statements", duckdb.sql(STATEMENT, params=given))
    store(folder, "statements", "statement_entries", duckdb.sql(LINES, params=given))


def fill_stuck(folder: Path, rows: int) -> None:
    """Store `rows` requests that the service has been processing for a month."""
    requests(folder, "PROCESSING", 0, rows, since=LAST_MONTH)


def requests(folder: Path, status: str, first: int, last: int, *, since: str = YESTERDAY) -> None:
    given = {"status": status, "first": first, "last": last, "since": since}
    store(folder, "sync", "ramp_requests", duckdb.sql(MADE, params=given))


def store(folder: Path, kind: str, name: str, made: duckdb.DuckDBPyRelation) -> None:
    """Store rows in one commit; missing columns are null."""
    lake = Lake(folder, (*TABLES, *STATEMENT_TABLES))
    table = next(one for one in (*TABLES, *STATEMENT_TABLES) if one.name == name)
    given = made.to_arrow_table()
    columns = [
        given[f.name].cast(f.type) if f.name in given.column_names else pa.nulls(len(given), f.type)
        for f in table.row_schema
    ]
    with lake.writer(kind, AT) as writer:
        writer.upsert(table, pa.Table.from_arrays(columns, schema=table.row_schema))


def timed(what: str, moved: Moved, run: Callable[[], None]) -> None:
    moved.take()
    began = time.perf_counter()
    run()
    seconds = time.perf_counter() - began
    wanted = WANTED[what]
    print(
        f"  {what:<20} {seconds:6.2f} s (wanted: under {wanted:.0f})  {moved.take():>9,} bytes",
        flush=True,
    )


def measure(desk: Desk, moved: Moved, folder: Path, name: str, last: str = "") -> None:
    print(name, flush=True)
    start = f"import treasury\nt = treasury.open({str(folder)!r})\nt.snapshot().commit"
    opened = desk.open(f"bench-{name}", start, f"t.panels.{name}()")
    # Importing and opening happen once a day and are not part of the panel's time.
    desk.page.evaluate(RUN_ONE)
    timed("first page", moved, lambda: shown(opened))
    panel = opened.panel
    if not last:
        opened.close()
        return
    timed("next page", moved, lambda: turn(panel))
    timed("search of the last", moved, lambda: search(panel, last))
    opened.close()


def appear(opened: Notebook) -> None:
    opened.run()
    opened.panel.get_by_role("table").wait_for()


def shown(opened: Notebook) -> None:
    opened.page.evaluate(RUN_ONE)
    opened.panel.get_by_role("heading").first.wait_for()
    opened.panel.locator("table, .tp-empty").first.wait_for()


def turn(panel: Locator) -> None:
    panel.get_by_role("button", name="Next").click()
    panel.get_by_text("13 to 24 of").wait_for()


def search(panel: Locator, last: str) -> None:
    panel.get_by_label("Search").fill(last)
    panel.get_by_label("Search").press("Enter")
    panel.get_by_text("1 to 1 of 1 found").wait_for()


def main(rows: int) -> None:
    company = Sandbox()
    variables = {
        f"TREASURY_{name.upper()}_SECRET": secret
        for name, (_, secret) in company.credentials.items()
    } | {"TREASURY_USER": "ana.lyst"}
    os.environ.update(variables)
    fills = {"services": fill, "bank": fill_bank, "stuck": fill_stuck}
    with tempfile.TemporaryDirectory() as place, company.serve() as served:
        folders = {name: Path(place) / name for name in fills}
        for name, filled in fills.items():
            workspace = prepare(folders[name], company, served)
            workspace.sync()
            workspace.close_clients()
            filled(folders[name], rows)
        folder = folders["services"]
        with running_lab(Path(place) / "lab", variables) as lab, running_browser() as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 1000})
            moved = Moved(page)
            desk = Desk(lab, page)
            warm = desk.open(
                "warm", f"import treasury\ntreasury.open({str(folder)!r}).panels.approvals()"
            )
            appear(warm)
            warm.close()
            print(f"{rows:,} items in each panel")
            measure(desk, moved, folder, "approvals", f"PAY-2027-{rows - 1:08}")
            measure(desk, moved, folder, "funding", f"PAY-2027-{2 * rows - 1:08}")
            measure(desk, moved, folder, "transfers", f"Transfer {rows - 1:08}")
            measure(desk, moved, folders["bank"], "matches", f"Invoice {rows - 1:08}")
            measure(desk, moved, folders["stuck"], "close", f"PAY-2027-{rows - 1:08}")
            measure(desk, moved, folder, "sync")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
