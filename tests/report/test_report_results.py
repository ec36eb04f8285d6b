"""Every result class: its display, its export to pandas and Excel, and its query."""

from __future__ import annotations

import importlib
import pkgutil
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from report_samples import HOSTILE

import treasury
from treasury.core.errors import InputError, StorageError
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import cell_text
from treasury.statements.store.withdraw import StoredStatement, Withdrawal, find_statement
from treasury.workspace import Workspace


def results(t: Workspace, folder: Path) -> dict[str, Any]:
    """Return one result of each class by its name, mostly for the practice month."""
    from treasury.close.ledger.ledger_comparison import compare_ledger
    from treasury.extract import SyncReport
    from treasury.extract.sync_run import Skipped, TableReport
    from treasury.rates.rate_store import AddedRates
    from treasury.rates.rate_table import REFERENCE_RATES
    from treasury.statements.explorer.wallet_tables import WALLET_EVIDENCE, WALLET_MOVEMENTS
    from treasury.statements.store.wallet_evidence import WalletEvidence

    (folder / "ledger.csv").write_text("account,currency,balance\nBE1,EUR,1\n", "utf-8")
    (folder / "invoice.csv").write_text("reference,fee,currency\nX,1,EUR\n", "utf-8")
    r = t.reconcile("2026-10")
    line = t.matches.open().arrow.to_pylist()[0]["entry_id"]
    (ignored,) = t.matches.ignore(line, reason="bank's own correction", dry_run=True)
    made = [
        t.sql("SELECT id, fiat_amount FROM ramp_requests ORDER BY id"),
        r,
        r.matches,
        t.fees("2026-09..2026-10"),
        t.tie_invoice(folder / "invoice.csv", "2026-10"),
        t.accounting("2026-10"),
        compare_ledger(r, folder / "ledger.csv"),
        t.compare(t.at("2026-11-02T08:30Z").reconcile("2026-10"), r),
        t.rules.preview(t.rules.current()),
        t.trace("PAY-2026-004417"),
        t.explain(line),
        t.statements.add(sorted((t.folder / "bank").glob("*.xml"))),
        t.doctor(),
        t.periods.month("2026-10"),
        t.periods.roll_forward("2026-10"),
        t.transit_bridge("2026-10"),
        t.coins("2026-10"),
        t.exposure("2026-10"),
        AddedRates(
            file_name=HOSTILE,
            source=HOSTILE,
            rates=REFERENCE_RATES.schema.empty_table(),
            read=0,
            replaced=0,
            first_day="",
            last_day="",
        ),
        t.decision_effects(ignored),
        Withdrawal(statement=_statement(t), entry_ids=("a", "b", "c"), add_again=(HOSTILE,)),
        t.checklist("2026-10"),
        t.open_items("2026-10"),
        t.decide(_filled_in(t.exceptions_sheet(folder / "sheet.xlsx", "2026-10")), dry_run=True),
        pack := t.close("2026-10", folder / "pack"),
        t.verify_pack(pack.folder),
        WalletEvidence(
            title=HOSTILE,
            evidence=WALLET_EVIDENCE.schema.empty_table(),
            movements=WALLET_MOVEMENTS.schema.empty_table(),
        ),
        SyncReport(t.now(), (TableReport("fees", 1),), (Skipped("wallets", HOSTILE),), ()),
    ]
    return {type(one).__name__: one for one in made}


def _filled_in(sheet: Path) -> Path:
    """Put hostile text into the first row of a decision sheet, and return its path."""
    book = openpyxl.load_workbook(sheet)
    at = {cell.value: cell.column for cell in book["Open items"][1]}
    for title in ("Decision", "Reason", "Proposed by"):
        book["Open items"].cell(2, at[title]).value = HOSTILE
    book.save(sheet)
    return sheet


def _statement(t: Workspace) -> StoredStatement:
    """Return one of the stored statements."""
    return find_statement(t.snapshot(), t.statements.list().arrow.to_pylist()[0]["file_name"])


def classes() -> set[str]:
    """Return the names of all result classes that have sheets of their own."""
    for module in pkgutil.walk_packages(treasury.__path__, "treasury."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found, todo = set(), [Tables]
    while todo:
        children = todo.pop().__subclasses__()
        found |= {child.__name__ for child in children if child.sheets is not Tables.sheets}
        todo += children
    return found


@pytest.mark.acceptance
def test_every_result_is_displayed_and_exported_exactly(
    month_end: Workspace, tmp_path: Path
) -> None:
    made = results(month_end, tmp_path)
    # `Table` and `LineExplanation` have default sheets; `ExportedBooks` stands for `Accounting`.
    assert classes() == {*made, "Accounting"} - {"Table", "LineExplanation"}
    for name, result in made.items():
        html = result._repr_html_()
        assert html.startswith("<"), name
        assert HOSTILE not in html
        # Without padding in each cell, marimo shows two columns as one word.
        assert re.findall(r"<t[dh]\b(?![^>]*padding)[^>]*>", html) == [], name
        frame = result.to_pandas()
        assert isinstance(frame, pd.DataFrame)
        assert len(frame) == result.to_arrow().num_rows
        book = openpyxl.load_workbook(result.to_excel(tmp_path / f"{name}.xlsx"))
        sheets = {"Rows": result} if isinstance(result, Table) else result.sheets()
        assert book.sheetnames == list(sheets)
        first = next(iter(sheets.values()))
        assert book.worksheets[0].max_row == len(first) + 1, name
        query = result.sql("month_lines") if name == "Reconciliation" else result.sql
        assert query.startswith(("SELECT", "WITH")), name


def test_the_query_of_rows_returns_the_same_rows(month_end: Workspace) -> None:
    for rows in (month_end.table("fees"), month_end.statements.list()):
        assert month_end.sql(rows.sql).arrow.equals(rows.arrow)


def test_an_amount_is_of_the_currency_or_the_asset_that_its_table_names() -> None:
    schema = grouped_schema(
        (pa.string(), "asset", "currency", "name"),
        (amount_in("asset"), "opening", "fees"),
        (amount_in("coin"), "gas"),
        (pa.decimal128(38, 18), "amount", "closing"),
    )
    table = Table(schema.empty_table())
    assert table.units == {"opening": "asset", "fees": "asset", "amount": "currency"}
    assert table.where("amount > 0")[["opening", "asset"]].units == {"opening": "asset"}
    assert table[["opening", "currency"]].units == {}, "its currency is not there"
    assert (
        cell_text({"closing": Decimal(5), "currency": "USDC"}, "closing", {"closing": "currency"})
        == "USDC 5.000000"
    )


def test_excel_keeps_every_digit_and_runs_no_text(tmp_path: Path) -> None:
    long = Decimal("12345678901234567890.123456789012345678")
    table = pa.table(
        {
            "amount": pa.array([Decimal("1.50"), long], pa.decimal128(38, 18)),
            "currency": ["EUR", "EUR"],
            "note": ["=1+1", HOSTILE],
        }
    )
    sheet = openpyxl.load_workbook(Table(table).to_excel(tmp_path / "rows.xlsx")).worksheets[0]
    cells = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
    assert cells == [["1.50", "EUR", "=1+1"], [str(long), "EUR", HOSTILE]]
    assert sheet["C2"].data_type == "s"


def test_a_failed_write_of_a_workbook_keeps_the_former_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = Table(pa.table({"a": [1, 2, 3]}))
    before = rows.to_excel(tmp_path / "rows.xlsx").read_bytes()
    monkeypatch.setattr("treasury.core.tables.workbook.ROWS", 2)
    with pytest.raises(InputError, match="rows has 3 rows, but a sheet can have 2"):
        rows.to_excel(tmp_path / "rows.xlsx")
    assert (tmp_path / "rows.xlsx").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["rows.xlsx"]
    with pytest.raises(StorageError, match="cannot be written"):
        Table(pa.table({"a": [1]})).to_excel(tmp_path / "nowhere" / "rows.xlsx")
