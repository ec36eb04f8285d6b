from __future__ import annotations

import csv
import hashlib
import json
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import SCHEMAS, ZONE, fee, line, reconciliation, waiting
from signed import carry_all

from treasury.close.checklist import checklist
from treasury.close.closing import Closing, closing_of
from treasury.close.evidence import table_hash
from treasury.core.errors import InputError, StorageError
from treasury.core.tables import workbook
from treasury.core.tables.column_texts import rows_hash
from treasury.core.tables.column_types import AMOUNT
from treasury.core.tables.workbook import COVER, DIGITS
from treasury.report import write_close
from treasury.report.excel import FILES, SHEETS, workbook_beside
from treasury.report.pack import pack_contents as pack
from treasury.workspace import Workspace


def read(path: Path, sheet: str) -> list[dict[str, Any]]:
    book = openpyxl.load_workbook(path)
    head, *rows = book[sheet].iter_rows(values_only=True)
    book.close()
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def write_workbook(closing: Closing, path: Path) -> None:
    with workbook_beside(closing, path):
        pass


def written(tmp_path: Path, sheet: str = "Lines", **tables: Any) -> list[dict[str, Any]]:
    path = tmp_path / "close.xlsx"
    write_workbook(closing_of(reconciliation(**tables), ZONE), path)
    return read(path, sheet)


@pytest.mark.acceptance
def test_every_sheet_is_there_with_a_frozen_header_and_a_filter(tmp_path: Path) -> None:
    path = tmp_path / "close.xlsx"
    write_workbook(closing_of(reconciliation(lines=[line()]), ZONE), path)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == [COVER, *(sheet.name for sheet in SHEETS)]
    for sheet in book.worksheets[1:]:
        assert sheet.freeze_panes == "A2"
        assert sheet.auto_filter.ref
    book.close()


@pytest.mark.acceptance
def test_the_cover_links_every_sheet_and_details_follow_at_most_twelve_sheets(
    tmp_path: Path,
) -> None:
    path = tmp_path / "close.xlsx"
    write_workbook(closing_of(reconciliation(lines=[line(), line("b")]), ZONE), path)
    book = openpyxl.load_workbook(path)
    cover = book[COVER]
    facts = {row[0]: row[1] for row in cover.iter_rows(values_only=True) if row[0]}
    assert facts["Month"] == "October 2026"
    assert facts["Lines"] == "2"
    linked = [
        link.location for row in cover.iter_rows() for cell in row if (link := cell.hyperlink)
    ]
    assert linked == [f"'{name}'!A1" for name in book.sheetnames[1:]]
    assert {sheet.sheet_state for sheet in book} == {"visible"}
    assert {sheet.page_setup.paperSize for sheet in book} == {9}
    front = [sheet.title for sheet in book if sheet.sheet_properties.tabColor is None]
    assert len(front) <= 12
    assert front == book.sheetnames[: len(front)]
    book.close()


@pytest.mark.acceptance
def test_ids_are_the_last_columns_and_codes_are_words(tmp_path: Path) -> None:
    (row,) = written(tmp_path, "Open items", lines=[line(outcome="suggested")])
    titles = list(row)
    assert titles[:5] == ["Kind", "State", "Name", "Amount", "Currency"]
    ids = [title for title in titles if title.endswith(" id")]
    assert titles[-len(ids) :] == ids
    assert (row["Kind"], row["Turn"]) == ("Suggested", "Treasury")


@pytest.mark.acceptance
def test_columns_are_as_wide_as_their_values_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "close.xlsx"
    rows = [line(counterparty_name="Müller Feinmechanik GmbH & Co. KG", remittance="word " * 40)]
    write_workbook(closing_of(reconciliation(lines=rows), ZONE), path)
    book = openpyxl.load_workbook(path)
    sheet = book["Lines"]
    widths = {cell.value: sheet.column_dimensions[cell.column_letter].width for cell in sheet[1]}
    assert 34 <= widths["Counterparty"] < 40
    assert 60 <= widths["Text"] < 61
    text = next(cell for cell in sheet[2] if str(cell.value).startswith("word"))
    assert text.alignment.wrap_text
    book.close()


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "amount",
    ["0.01", "25000.00", "1234567890123.45", "0.000000000000001", "9.00000000000001", "8.41"],
)
def test_an_amount_that_excel_keeps_is_a_number(tmp_path: Path, amount: str) -> None:
    (row,) = written(tmp_path, lines=[line(amount=Decimal(amount))])
    assert isinstance(row["Amount"], int | float)
    assert Decimal(str(row["Amount"])) == Decimal(amount)


@pytest.mark.acceptance
def test_an_amount_that_excel_would_round_is_text_with_every_digit(tmp_path: Path) -> None:
    exact = Decimal("12345678901234567890.123456789012345678")
    (row,) = written(tmp_path, lines=[line(amount=exact)])
    assert isinstance(row["Amount"], str)
    assert Decimal(row["Amount"]) == exact


@pytest.mark.acceptance
def test_a_column_of_amounts_is_all_numbers_or_all_texts(tmp_path: Path) -> None:
    exact = Decimal("12345678901234567890.123456789012345678")
    rows = written(tmp_path, lines=[line(amount=exact), line("b", amount=Decimal("2.50"))])
    assert sorted(row["Amount"] for row in rows) == [str(exact), "2.50"]


@given(st.decimals(min_value=0, max_value=10**19, places=18, allow_nan=False))
def test_digits_are_counted_as_excel_counts_them(amount: Decimal) -> None:
    digits, decimals = workbook._digits(amount)
    if digits <= DIGITS:
        assert Decimal(repr(float(amount))) == amount
    assert decimals <= 18


@pytest.mark.acceptance
def test_amounts_show_the_decimals_of_their_currency(tmp_path: Path) -> None:
    path = tmp_path / "close.xlsx"
    rows = [fee(), fee(fiat_currency="JPY", fiat_gross=Decimal(7), fee=Decimal("0.125"))]
    write_workbook(closing_of(reconciliation(fee_requests=rows), ZONE), path)
    book = openpyxl.load_workbook(path)
    head, *below = book["Fees"].iter_rows()
    book.close()
    shown = [
        {title.value: cell.number_format for title, cell in zip(head, row, strict=True)}
        for row in below
    ]
    assert (shown[0]["Gross"], shown[0]["Crypto"]) == ("#,##0.00", "#,##0.000000")
    assert (shown[1]["Gross"], shown[1]["Fee"]) == ("#,##0", "#,##0.000")


@pytest.mark.acceptance
def test_accruals_and_the_check_of_each_fee_are_in_the_workbook(tmp_path: Path) -> None:
    waits = {
        "request_id": "r2",
        "reference": "PAY-2026-005351",
        "ramp_type": "OFF_RAMP",
        "status": "PROCESSING",
        "fiat_currency": "EUR",
        "fiat_gross": Decimal(12000),
        "fee": Decimal(96),
    }
    recorded = [fee(fee=Decimal("200.50"))]
    (row,) = written(tmp_path, "Accruals", fee_accruals=[waits], fee_requests=recorded)
    assert (row["Direction"], row["Gross"], row["Fee"]) == ("off-ramp", 12000, 96)
    (row,) = read(tmp_path / "close.xlsx", "Fees")
    assert (row["Expected fee"], row["Variance"]) == (200, 0.5)
    assert row["Finding"].startswith("CHECK: EUR 0.50 more than on-ramp tier 1")


@pytest.mark.parametrize(
    "text",
    [
        '=HYPERLINK("http://x")',
        "+1+1",
        "-1",
        "@SUM(A1)",
        "{=1+1}",
        "https://x.example",
        "007",
        "1e9",
    ],
)
def test_text_from_outside_is_text_and_never_runs(tmp_path: Path, text: str) -> None:
    path = tmp_path / "close.xlsx"
    write_workbook(closing_of(reconciliation(lines=[line(remittance=text)]), ZONE), path)
    book = openpyxl.load_workbook(path)
    cell = next(c for c in book["Lines"][2] if c.value == text)
    assert cell.data_type == "s"
    assert cell.hyperlink is None
    book.close()


@pytest.mark.acceptance
def test_characters_that_a_workbook_cannot_hold_become_visible(tmp_path: Path) -> None:
    texts = {"counterparty_name": "a\x00b\x1bc", "remittance": "x\ufffey"}
    (row,) = written(tmp_path, lines=[line(**texts)])
    assert row["Counterparty"] == "a␀b␛c"
    assert row["Text"] == "x⟨U+FFFE⟩y"


@pytest.mark.acceptance
def test_a_text_that_looks_like_markup_of_a_sheet_stays_text(tmp_path: Path) -> None:
    text = "<r></is></c><c r='E2'><v>999</v></c><c t='inlineStr'><is></r>"
    (row,) = written(tmp_path, lines=[line(remittance=text)])
    assert row["Text"].rstrip() == text


def test_a_text_too_long_for_a_cell_is_cut_where_a_person_sees_it(tmp_path: Path) -> None:
    (row,) = written(tmp_path, lines=[line(remittance="x" * 40_000)])
    assert row["Text"].endswith(" … 8000 more characters")


def test_dates_are_dates_and_instants_are_in_the_reporting_time_zone(tmp_path: Path) -> None:
    (row,) = written(tmp_path, "Awaiting funds", awaiting_funds=[waiting()])
    assert row["Due"].isoformat() == "2026-10-30T00:00:00"
    assert row["Approved (Europe/Brussels)"].isoformat() == "2026-10-28T09:56:00"


@pytest.mark.acceptance
def test_the_pack_contains_report_bookings_and_evidence(
    month_end: Workspace, tmp_path: Path
) -> None:
    pack = month_end.close("2026-10", tmp_path / "new" / "close")
    assert {path.name for path in pack.folder.iterdir()} == {
        "report.html",
        "close.xlsx",
        "journal.csv",
        "month.beancount",
        "evidence.json",
        "figures",
        "tables",
        "inputs",
    }
    assert [path.name for path in pack.paths] == ["report.html", "close.xlsx", "evidence.json"]
    assert pack.report.read_text("utf-8").startswith("<!doctype html>")
    words = json.loads((pack.folder / "figures" / "words.json").read_bytes())
    for name, told in words.items():
        assert told
        assert (pack.folder / "figures" / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (pack.folder / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_an_answer_without_its_inputs_makes_no_pack(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this answer does not contain its basis"):
        write_close(closing_of(reconciliation(lines=[line()]), ZONE), tmp_path / "close")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.acceptance
def test_a_failure_keeps_the_previous_pack(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = month_end.close("2026-10", tmp_path / "close").folder
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pack, "workbook_beside", full)
    with pytest.raises(StorageError, match="No space left"):
        month_end.close("2026-10", folder)
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.acceptance
def test_a_sheet_of_a_long_table_names_the_file_that_has_its_rows(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.report.excel.LONGEST_SHEET", 5)
    month_end.close("2026-10", tmp_path / "close")
    closing = month_end.periods.month("2026-10")
    tables = pack.answer_tables(closing)
    long = [name for name, file in FILES.items() if file in tables and len(tables[file]) > 5]
    assert {"Lines", "Fees", "Open items", "In transit bridge"} <= {*long}
    assert "Statements" not in long
    for name in long:
        file = f"tables/{FILES[name]}.csv"
        stored = pq.read_table((tmp_path / "close" / file).with_suffix(".parquet"))
        assert stored.equals(tables[FILES[name]])
        with (tmp_path / "close" / file).open(newline="") as rows:
            assert len(list(csv.reader(rows))) == stored.num_rows + 1
        where = f"{stored.num_rows:,} rows: {file}"
        assert read(tmp_path / "close" / "close.xlsx", name) == [{"Where": where}]
    assert not (tmp_path / "close" / "tables" / "statements.csv").exists()
    assert len(read(tmp_path / "close" / "close.xlsx", "Statements")) == len(closing.r.statements)


def test_a_file_in_place_of_the_folder_is_reported(month_end: Workspace, tmp_path: Path) -> None:
    (tmp_path / "close").write_text("")
    with pytest.raises(StorageError, match="is a file"):
        month_end.close("2026-10", tmp_path / "close")


def test_the_hash_of_a_table_is_that_of_its_values_as_json() -> None:
    columns = {
        "text": ["a", "é·\U0001d11e", "", None, "x y"],
        "quoted": ['a"b', "\\", None, "\n", "\x7f"],
        "number": [1, None, -5, 0, 2],
        "day": [date(2026, 1, 2), None, date(999, 1, 1), None, None],
        "is": [True, None, False, True, None],
        "several": [["a", "b"], None, [], [None], ["c"]],
        "quoted_several": [["a", 'b"'], None, [], ["\\"], ["c"]],
    }
    table = pa.table(columns).append_column(
        "amount", pa.array(map(Decimal, ("0", "1E-18", "-5.50", "7", "100")), AMOUNT)
    )
    texts = [table.num_rows, table.column_names], *columns.values()
    amounts = ["0", "0.000000000000000001", "-5.5", "7", "100"]
    text = b"".join(map(msgspec.json.encode, (*texts, amounts)))
    assert table_hash(table) == hashlib.sha256(text).hexdigest()
    assert table_hash(table.slice(1, 3)) == table_hash(table.take([1, 2, 3]))
    for name, values in (columns | {"amount": amounts}).items():
        known = [value for value in values if value is not None]
        alone = pa.table({name: table[name].drop_null()})
        text = b"".join(map(msgspec.json.encode, ([len(known), [name]], known)))
        assert table_hash(alone) == hashlib.sha256(text).hexdigest(), name


def test_columns_with_repeated_values_hash_like_any_other() -> None:
    columns = {
        "text": ["EUR", None, "é"] * 400,
        "quoted": ['a"b', "plain", None] * 400,
        "day": [date(2026, 1, 2), None, date(2026, 1, 3)] * 400,
    }
    amounts = ["0", "-5.5", None] * 400
    table = pa.table(columns).append_column(
        "amount", pa.array([None if text is None else Decimal(text) for text in amounts], AMOUNT)
    )
    parts = [table.num_rows, table.column_names], *columns.values(), amounts
    text = b"".join(map(msgspec.json.encode, parts))
    assert table_hash(table) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("rows", [0, 1, 10_000, 20_001])
def test_the_hash_of_rows_is_that_of_one_list_for_any_number_of_rows(rows: int) -> None:
    texts = [f"{n}" for n in range(rows)]
    amounts = pa.array(map(Decimal, texts), AMOUNT)
    table = pa.table({"text": pa.array(texts, pa.string()), "amount": amounts})
    written = msgspec.json.encode([(text, f"{text}.00") for text in texts])
    assert rows_hash(table) == hashlib.sha256(written).hexdigest()


def test_the_hash_of_a_table_is_that_of_its_rows() -> None:
    rows = [line("a"), line("b", amount=Decimal("100.000000"))]
    table = reconciliation(lines=rows).lines
    assert table_hash(table.arrow) == table_hash(table.arrow.take([0, 1]).combine_chunks())
    assert table_hash(table.arrow) != table_hash(table.arrow.take([1, 0]))
    assert table_hash(table.arrow) == table_hash(
        reconciliation(lines=[line("a"), line("b", amount=Decimal(100))]).lines.arrow
    )


def test_samples_have_the_columns_of_a_real_reconciliation(month_end: Workspace) -> None:
    r = month_end.reconcile("2026-10")
    for name, schema in SCHEMAS.items():
        assert dict(_types(getattr(r, name).arrow.schema)) == dict(_types(schema)), name


def _types(schema: Any) -> list[tuple[str, str]]:
    return [(field.name, str(field.type)) for field in schema]


@pytest.mark.acceptance
def test_the_practice_month_closes_into_a_pack_that_reads_back_exactly(
    month_end: Workspace, tmp_path: Path
) -> None:
    r = month_end.reconcile("2026-10")
    pack = write_close(closing_of(r, month_end.settings.zone), tmp_path)
    lines = read(pack.workbook, "Lines")
    assert [Decimal(str(row["Amount"])) for row in lines] == r.lines.arrow["amount"].to_pylist()
    assert [row["Booked"].date() for row in lines] == r.lines.arrow["booking_date"].to_pylist()
    assert {date(2026, 10, 1) <= row["Booked"].date() <= date(2026, 10, 31) for row in lines} == {
        True
    }
    page = pack.report.read_text("utf-8")
    assert "October 2026" in page
    assert "<img" not in page


@pytest.mark.acceptance
def test_carried_balances_are_not_reported_as_done(month_end: Workspace, tmp_path: Path) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk", ignore=shutil.ignore_patterns("bank"))
    desk = Workspace(tmp_path / "desk")

    def balances() -> str:
        steps = checklist(desk.periods.month("2026-10")).steps
        return str(next(step for step in steps if step.title == "Balances"))

    assert balances().startswith("[ ] Balances")
    carry_all(desk, "2026-10")
    assert balances().startswith("[~] Balances")
    assert "carried as not proved" in balances()
