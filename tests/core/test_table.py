"""A table filters, sorts, displays itself, and converts to pandas and Polars exactly."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from traceback import format_exception
from zoneinfo import ZoneInfo

import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treasury.core.errors import InputError, QueryError, StorageError, TableError
from treasury.core.tables.column_types import AMOUNT, FIAT
from treasury.core.tables.table import Table
from treasury.core.tables.workbook import write_tables

BRUSSELS = ZoneInfo("Europe/Brussels")
HOSTILE = "=cmd() <b>\x1b[2J"


def lines(*amounts: str) -> Table:
    """Return a table of bank lines booked from 30 October on; a negative amount is a debit."""
    values = [Decimal(text) for text in amounts]
    count = len(values)
    arrow = pa.table(
        {
            "entry_id": pa.array([f"e{at}" for at in range(count)], pa.string()),
            "booking_date": pa.array(
                [date(2026, 10, 30 + at % 2) for at in range(count)], pa.date32()
            ),
            "at": pa.array(
                [datetime(2026, 10, 26, 23, tzinfo=UTC)] * count, pa.timestamp("us", tz="UTC")
            ),
            "direction": pa.array(
                ["DBIT" if value < 0 else "CRDT" for value in values], pa.string()
            ),
            "amount": pa.array([value.copy_abs() for value in values], AMOUNT),
            "currency": pa.array(["EUR"] * count, pa.string()),
            "outcome": pa.array(["matched", "suggested", None][:count], pa.string()),
        }
    )
    return Table(arrow, zone=BRUSSELS, title="Lines", fiat=("amount",))


def test_a_bank_direction_is_in_or_out_and_the_facts_stay() -> None:
    table = lines("100.10", "-40")
    assert [row["direction"] for row in table] == ["in", "out"]
    assert [row["credit_debit"] for row in table] == ["CRDT", "DBIT"]
    assert [row["signed_amount"] for row in table] == [Decimal("100.10"), Decimal(-40)]
    assert table.arrow["direction"].to_pylist() == ["CRDT", "DBIT"]
    assert "signed_amount" not in table.arrow.column_names


def test_the_columns_do_not_depend_on_the_rows() -> None:
    assert lines().columns == lines("1", "-2").columns
    assert lines().to_arrow().schema == lines("1", "-2").to_arrow().schema


def test_key_columns_are_first_and_ids_last() -> None:
    arrow = lines("1").arrow
    table = Table(arrow, keys=("outcome", "signed_amount", "absent"))
    assert table.columns == [
        "outcome", "signed_amount", "booking_date", "at", "direction", "credit_debit", "amount",
        "currency", "entry_id",
    ]  # fmt: skip
    assert table.head(1).where(direction="in").sort("amount").columns == table.columns
    assert Table(arrow, as_stored=True).columns == arrow.column_names


def test_the_direction_of_a_request_is_its_ramp_type() -> None:
    request = pa.table({"request_id": ["r"], "direction": ["on-ramp"], "amount": [1]})
    assert list(Table(request)) == [{"request_id": "r", "ramp_type": "on_ramp", "amount": 1}]
    assert [row["ramp_type"] for row in Table(pa.table({"ramp_type": ["OFF_RAMP"]}))] == [
        "off_ramp"
    ]


def test_rows_are_filtered_by_predicate_values_and_columns() -> None:
    table = lines("100.10", "-40", "7")
    assert len(table.where("signed_amount > 10")) == 1
    assert table.where("amount = ?", Decimal("100.10")).arrow["entry_id"].to_pylist() == ["e0"]
    assert len(table.where(outcome="suggested")) == 1
    assert len(table.where(outcome=None)) == 1
    assert len(table.where("amount > ?", 5, outcome=["matched", "suggested"], direction="in")) == 1
    assert table.where().arrow.equals(table.arrow)
    assert [row["amount"] for row in table.where("amount > 5 -- all").sort("-amount")] == [
        Decimal("100.10"), Decimal(40), Decimal(7),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "predicate",
    [
        "amuont > 3",
        "true) UNION SELECT 1 --",
        "entry_id IN (SELECT content FROM read_text('/etc/hostname'))",
        "true); COPY answer TO '/tmp/x.csv' --",
    ],
)
def test_a_predicate_reads_the_table_only(predicate: str) -> None:
    with pytest.raises(QueryError):
        lines("1").where(predicate)


@pytest.mark.parametrize(
    ("predicate", "problem"),
    [
        ("amount > '10k'", "amount is a number, and '10k' is not - write a value like 10000.50"),
        ("entry_id = 'e' OR '10k' < amount", "amount is a number, and '10k' is not - "),
        ("amount BETWEEN '1' AND '10k'", "amount is a number, and '10k' is not - "),
        ("booking_date > 'Oct''s'", 'booking_date is a date, and "Oct\'s" is not - '),
        ("booking_date > '2026-02-30'", "booking_date is a date, and '2026-02-30' is not - "),
        ("\"at\" > 'noon'", "at is an instant, and 'noon' is not - "),
        ("entry_id > 3", "the query compares a text with a number - "),
    ],
)
def test_a_value_of_another_type_names_the_column_and_its_type(
    predicate: str, problem: str
) -> None:
    with pytest.raises(QueryError) as caught:
        lines("1").where(predicate)
    assert str(caught.value).startswith(problem)
    # A script shows one traceback, without DuckDB's own.
    assert "ConversionException" not in "".join(format_exception(caught.value))


def test_a_bound_value_of_another_type_is_named() -> None:
    with pytest.raises(QueryError, match="reads '10k' as a number - write a value like 10000"):
        lines("1").where("amount > ?", "10k")


def test_an_instant_is_compared_in_the_reporting_zone() -> None:
    # 23:00 UTC on the 26th is the 27th in Brussels.
    assert len(lines("1").where("\"at\" >= TIMESTAMPTZ '2026-10-27 00:00:00'")) == 1


def test_a_missing_column_names_the_nearest_one() -> None:
    for ask in (
        lambda: lines("1")["amuont"],
        lambda: lines("1")[["amuont"]],
        lambda: lines("1").sort("-amuont"),
        lambda: lines("1").where(amuont=1),
    ):
        with pytest.raises(TableError, match="no column 'amuont'; is it amount"):
            ask()


def test_pandas_adds_up_groups_and_draws_exactly() -> None:
    frame = lines("100.10", "-40", "7").df
    assert frame["signed_amount"].sum() == Decimal("67.10")
    by_day = frame.groupby("booking_date")["signed_amount"].sum()
    assert by_day.iloc[0] == Decimal("107.10")
    assert (frame["booking_date"] > "2026-10-30").sum() == 1
    assert frame.resample("W", on="booking_date")["amount"].sum().iloc[0] == Decimal("147.10")
    assert str(frame["at"].dt.tz) == "Europe/Brussels"
    assert frame["at"].dt.day.tolist() == [27, 27, 27]
    assert by_day.plot.bar() is not None


def test_two_months_are_concatenated_and_stay_exact() -> None:
    october, november = lines("100.10"), lines("0.0001", "-40")
    both = pd.concat([october.df, november.df], ignore_index=True)
    assert both["amount"].dtype == both["signed_amount"].dtype == pd.ArrowDtype(FIAT)
    assert both["signed_amount"].sum() == Decimal("60.1001")
    assert len(pl.concat([october.pl, november.pl])) == 3
    assert pa.concat_tables([october.to_arrow(), november.to_arrow()]).num_rows == 3


def test_the_declaration_fixes_the_type_of_an_amount() -> None:
    mixed = Table(lines("100.10").arrow)
    assert mixed.to_arrow()["amount"].type == AMOUNT
    fees = Table(pa.table({"fiat_currency": ["EUR"], "fee": pa.array([Decimal(1)], AMOUNT)}))
    assert fees.to_arrow()["fee"].type == FIAT
    assert Table(fees.arrow, as_stored=True).to_arrow()["fee"].type == AMOUNT
    assert fees.arrow["fee"].type == AMOUNT


@pytest.mark.parametrize("amount", ["0.00001", "100000000000000", "-100000000000000.5"])
def test_an_amount_that_does_not_fit_names_table_column_and_row(amount: str) -> None:
    with pytest.raises(TableError, match=r"^Lines: amount in row 1 is [0-9.]+, which does not fit"):
        lines("1", amount, "2").to_arrow()


def test_an_operation_outside_arrow_decimals_raises() -> None:
    frame = lines("100.10", "-40").df
    amounts = frame["amount"]
    for ask in (
        amounts.cumsum,
        amounts.describe,
        lambda: amounts.nlargest(1),
        frame[["amount"]].hist,
        amounts.pct_change,
    ):
        with pytest.raises((TypeError, ValueError)):
            ask()
    with pytest.raises(ValueError, match="precision"):
        Table(lines("1.5").arrow).df["amount"] * 2


def test_an_operation_that_loses_exactness_names_an_exact_remedy() -> None:
    amounts = lines("100.10", "-40").df["amount"]
    assert (amounts == 100.10).sum() == 0
    assert (amounts == Decimal("100.10")).sum() == 1
    assert (amounts * 0.5).dtype == "double[pyarrow]"
    assert (amounts * Decimal("0.5")).tolist() == [Decimal("50.05"), Decimal(20)]
    assert (amounts * 2).tolist() == [Decimal("200.20"), Decimal(80)]


def test_columns_of_coins_are_subtracted_and_multiplied_exactly() -> None:
    old, new = (Table(lines(*amounts).arrow).df for amounts in (("1.5", "3"), ("4", "9.1")))
    both = old.merge(new, on="entry_id", suffixes=("_old", "_new"))
    difference = both["amount_new"] - both["amount_old"]
    assert difference.tolist() == [Decimal("2.5"), Decimal("6.1")]
    assert (difference - both["amount_old"]).tolist() == [Decimal(1), Decimal("3.1")]
    assert (old["amount"] * Decimal("0.5")).sum() == Decimal("2.25")
    assert (old["amount"] * Decimal(2)).sum() == Decimal(9)
    large = Table(lines("12345678901234567890").arrow).df
    assert large["amount"].sum() == Decimal(12345678901234567890)
    assert pd.concat([old, large])["amount"].sum() == Decimal("12345678901234567894.5")


def test_a_running_balance_is_exact_in_polars() -> None:
    table = lines("100.10", "-40", "7")
    assert table.pl["signed_amount"].cum_sum().to_list() == [
        Decimal("100.10"), Decimal("60.10"), Decimal("67.10"),
    ]  # fmt: skip


def test_floats_are_returned_only_on_request() -> None:
    frame = lines("100.10", "-40").to_pandas(floats=True)
    assert len(frame[["amount"]].hist()) == 1
    assert frame["amount"].pct_change().round(4).iloc[1] == -0.6004
    assert frame["signed_amount"].cumsum().round(2).tolist() == [100.10, 60.10]
    assert frame["amount"].describe()["count"] == 2
    pivot = frame.pivot_table("amount", index="booking_date", columns="direction", aggfunc="sum")
    assert list(pivot.columns) == ["in", "out"]


def test_polars_and_pandas_accept_a_table_unchanged() -> None:
    table = lines("100.10", "-40")
    assert pl.DataFrame(table)["signed_amount"].sum() == Decimal("60.10")
    assert table.pl.shape == (2, len(table.columns))
    assert list(pd.DataFrame(table).columns) == table.columns


def test_a_workbook_with_another_extension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lines.xls does not end in .xlsx"):
        lines("1").to_excel(tmp_path / "lines.xls")
    assert not list(tmp_path.iterdir())


def test_a_table_exports_to_csv_excel_and_parquet(tmp_path: Path) -> None:
    arrow = lines("1.50").arrow.append_column("note", pa.array([HOSTILE]))
    table = Table(arrow, zone=BRUSSELS, title="Lines")
    text = table.to_csv(tmp_path / "lines.csv").read_text()
    assert '"1.50"' in text
    assert "\"'=cmd()" in text
    book = openpyxl.load_workbook(table.to_excel(tmp_path / "lines.xlsx"))
    head, row = book["Lines"].iter_rows(values_only=True)
    cells = dict(zip(head, row, strict=True))
    assert str(cells["at (Europe/Brussels)"]) == "2026-10-27 00:00:00"
    assert cells["signed_amount"] == 1.5
    untitled = Table(arrow).to_excel(tmp_path / "history of [all] accounts in October.xlsx")
    assert openpyxl.load_workbook(untitled).sheetnames == ["history of  all  accounts in Oc"]
    assert pq.read_table(table.to_parquet(tmp_path / "x.parquet")).equals(table.to_arrow())
    for write in (table.to_csv, table.to_parquet, table.to_excel):
        with pytest.raises(StorageError, match="cannot be written"):
            write(tmp_path / "nowhere" / "x.xlsx")


def test_sheets_whose_names_are_equal_once_shortened_are_numbered(tmp_path: Path) -> None:
    start = "Requests of the provider in the "
    names = [
        f"{start}first half",
        f"{start.upper()}SECOND",
        "lines",
        "Lines",
        "a/b",
        "a:b",
        "History",
    ]
    tables = {name: pa.table({"n": [at]}) for at, name in enumerate(names)}
    book = openpyxl.load_workbook(write_tables(tmp_path / "all.xlsx", tables))
    assert book.sheetnames == [
        "Requests of the provider in the", "REQUESTS OF THE PROVIDER IN T 2", "lines", "Lines 2",
        "a b", "a b 2", "Sheet",
    ]  # fmt: skip
    assert [sheet["A2"].value for sheet in book] == list(range(len(names)))


def test_a_terminal_shows_unbroken_amounts_and_names_omitted_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = str(Table(lines("12345678901234567890.123456789012345678", "-40").arrow))
    assert "EUR 12,345,678,901,234,567,890.123456789012345678" in shown
    assert "\n2 rows\n6 of 9 columns are not shown" in shown
    assert "outcome" in shown.splitlines()[-1]
    monkeypatch.setenv("COLUMNS", "200")
    head = str(lines("1", "-40")).splitlines()[1].split()
    assert (head[0], head[-1]) == ("booking_date", "entry_id")


LONG = "Accept or reject what each line may belong to, then PAY-2026-004417"


@pytest.mark.parametrize("columns", ["40", "100", "300"])
def test_a_selection_shows_all_its_columns_in_order_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    arrow = lines("1234567.89", "-40").arrow.append_column("note", pa.array([LONG, None]))
    arrow = arrow.append_column("empty", pa.nulls(2, pa.string()))
    arrow = arrow.append_column("ids", pa.array([["i1", "i2"], []]))
    chosen = ["entry_id", "note", "at", "empty", "ids", "amount", "currency", "booking_date"]
    selection = Table(arrow, zone=BRUSSELS)[chosen]
    query = Table(arrow.select(chosen), as_stored=True, extent="selection")
    for table in (selection, selection.head(2), selection.where("true"), query):
        shown = str(table)
        heads = [word for line in shown.splitlines() for word in line.split() if word in chosen]
        assert heads == chosen
        assert "not shown" not in shown
        day = "2026-10-31" if table is query else "31 Oct 2026"
        for whole in ("EUR 1,234,567.89", day, "i1"):
            assert whole in shown


def test_a_text_is_cut_between_words_so_that_no_reference_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    reference = "R" * 70
    table = Table(pa.table({"note": [LONG], "reference": [reference], "n": [1]}))
    shown = str(table[["note", "reference", "n"]])
    assert "…" in shown
    assert "PAY" not in shown.replace("PAY-2026-004417", "")
    assert reference in shown
    for text in ("Accept or reject PAY-2026-004417", "PAY-2026-004417, Ramp Operator BV"):
        words = str(Table(pa.table({"note": [text * 3]}))[["note"]]).split("…")[0].split()
        assert set(words[1:]) <= set((text * 3).split())


def test_rows_of_further_blocks_have_the_same_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    ids = {name: [f"{name}{row}" * 12 for row in (0, 1)] for name in ("a", "b")}
    shown = str(Table(pa.table(ids))[["a", "b"]]).splitlines()
    assert [line.split() for line in shown if line.startswith("1")] == [
        ["1", "a1" * 12],
        ["1", "b1" * 12],
    ]


def test_a_summary_shows_its_key_columns_and_counts_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    arrow = lines("1").arrow.append_column("note", pa.array([LONG]))
    shown = str(Table(arrow, keys=("outcome", "note", "amount"))).splitlines()
    assert shown[0].split()[:3] == ["outcome", "note", "amount"]
    assert "7 of 10 columns are not shown" in shown[-1]
    for name in ("currency", "entry_id"):
        assert name in shown[-1]


def test_a_minor_column_does_not_take_the_place_of_a_key_column(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    rows = {"a": ["1" * 30], "b": ["2" * 40], "minor": ["x"]}
    assert str(Table(pa.table(rows), keys=("a", "b"))).splitlines()[0].split() == ["a"]
    assert str(Table(pa.table(rows), keys=("a",))).splitlines()[0].split() == ["a", "minor"]


def test_a_dictionary_shows_all_rows_and_whole_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    arrow = pa.table({"column": [f"c{at}" for at in range(300)], "meaning": [LONG] * 300})
    table = Table(arrow, extent="dictionary")
    shown, html = str(table), table._repr_html_()
    for at in range(300):
        assert f"c{at} " in shown
        assert f">c{at}<" in html
    assert shown.count("PAY-2026-004417") == 300
    assert "300 rows" in shown


def test_html_of_a_selection_keeps_its_columns_and_a_summary_names_lists() -> None:
    arrow = lines("1").arrow.append_column("ids", pa.array([["i1", "i2"]]))
    table = Table(arrow)
    chosen = ["entry_id", "ids", "currency", "amount"]
    html = table[chosen]._repr_html_()
    places = [html.index(f">{name.replace('_', ' ')}<") for name in chosen]
    assert places == sorted(places)
    assert "1 of 10 columns are not shown" in table._repr_html_()
    assert "not shown" not in html


def test_print_uses_the_width_of_the_terminal_or_100_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = {f"part_{number}": [f"{number}" * 20] for number in range(9)}
    for columns, width in (("", 100), ("60", 60), ("160", 160)):
        monkeypatch.setenv("COLUMNS", columns)
        line = str(Table(pa.table(rows))).splitlines()[1]
        assert width - 22 < len(line) <= width


def test_a_terminal_cuts_no_amount_date_or_reference_inside_a_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    hash_ = "0x" + "ab" * 32
    texts = [
        hash_,
        f"sent with {hash_}",
        f"Ask for it by 27 Oct 2026 {'and ' * 8}EUR 1,250.00 at once",
    ]
    shown = str(Table(pa.table({"next_step": texts})))
    first, second, third = (line.rstrip() for line in shown.splitlines()[1:4])
    assert (first, second) == (hash_, "sent with …")
    assert third.endswith("and and …")
    for column in ({"next_step": [*texts, "x" * 80]}, {"next_step": ["x" * 90]}):
        (*_, last, _) = str(Table(pa.table(column))).splitlines()
        assert last.rstrip() in ("x" * 80, "x" * 81 + "…")


def test_numbers_leave_room_for_key_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    numbers = {f"number_{at}": [10**12] for at in range(5)}
    rows = pa.table({"name": ["PAY-2026-004417"], "next_step": [LONG], **numbers})
    head = str(Table(rows, keys=("name", "next_step"))).splitlines()[0].split()
    assert head == ["name", "next_step", "number_0"]


def test_an_amount_or_date_is_never_cut_inside_a_folded_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    meanings = [f"{'word ' * at}EUR 1,250.00 by 27 Oct 2026 and later" for at in range(9)]
    shown = str(Table(pa.table({"meaning": meanings}), extent="dictionary"))
    assert shown.count("EUR 1,250.00") == shown.count("27 Oct 2026") == len(meanings)


def test_untrusted_text_is_neither_markup_nor_a_control_sequence() -> None:
    table = Table(pa.table({"note": [HOSTILE]}), title=HOSTILE)
    assert "<b>" not in table._repr_html_()
    assert "padding:" in table._repr_html_()
    assert "\x1b" not in str(table)


def test_a_notebook_wraps_no_reference_and_leaves_room_for_long_texts() -> None:
    reference, long = "PAY-2026-004417", "Ask the provider: it settles within seconds as a rule"
    html = Table(pa.table({"reference": [reference], "next_step": [long]}))._repr_html_()
    whole, wrapped = (html[: html.index(text)].rpartition("<td")[2] for text in (reference, long))
    assert "nowrap" in whole
    assert "nowrap" not in wrapped
    assert "min-width" in wrapped


def test_a_notebook_shows_the_row_count() -> None:
    whole = Table(pa.table({"n": range(300)}))
    assert "200 of 300 rows; .df has them all" in whole._repr_html_()
    assert "20 of 300 rows" in str(whole)
    assert len(whole.head(7)) == 7


def test_repeated_column_names_are_numbered() -> None:
    table = Table(pa.table([[1], [2], [3]], names=["a", "a", "a_1"]))
    assert table.columns == ["a", "a_2", "a_1"]
    assert table.to_pylist() == [{"a": 1, "a_2": 2, "a_1": 3}]


def test_a_condition_on_a_state_that_no_row_has_is_noted() -> None:
    rows = pa.table({"state": ["PAY", "SENT"], "name": ["a", "b"]})
    for found in (
        Table(rows).where("state = 'Awaiting funds'"),
        Table(rows).where("name = 'a' AND state IN ('Awaiting funds', 'PAY')"),
        Table(rows).where(state="Awaiting funds"),
    ):
        (note,) = found.notes
        assert note == "no row has the state 'Awaiting funds'; this table has PAY, SENT"
        assert note in str(found)
        assert "&#x27;Awaiting funds&#x27;" in found[["name"]]._repr_html_()
    assert Table(rows).where("state = 'PAYY'").notes == ("no row has the state 'PAYY'; is it PAY?",)
    for predicate in ("state = 'PAY'", "name = 'x'", "lower(state) = 'x'", "state > 'x'"):
        assert Table(rows).where(predicate).notes == ()


def test_a_condition_is_not_checked_where_its_column_may_be_a_computed_one() -> None:
    table = lines("1", "-2")
    for query in (
        "1 IN (SELECT 1 FROM (SELECT 'x' AS outcome) WHERE outcome = 'x')",
        "1 IN (WITH w AS (SELECT 'x' AS outcome) SELECT 1 FROM w WHERE outcome = 'x')",
        "outcome = 'duplicate'",
        "outcome = currency",
    ):
        assert table.where(query).notes == ()


def test_a_long_text_uses_the_width_and_a_cut_one_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table(pa.table({"name": ["PAY-2026-004417"], "next_step": [LONG]}))
    chosen = table[["name", "next_step"]]
    for shown in (table, chosen):
        monkeypatch.setenv("COLUMNS", "90")
        assert LONG in str(shown)
        assert "…" not in str(shown)
        monkeypatch.setenv("COLUMNS", "60")
        assert " …" in str(shown).splitlines()[1]
        assert str(shown).endswith(
            '1 row; a text that ends in … is cut: table["next_step"].iloc[0] is a whole one'
        )
    assert chosen["next_step"].iloc[0] == LONG


def test_a_medium_terminal_shows_the_key_columns_that_repeat_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    row = {
        "kind": ["payee_in_doubt"], "name": ["PAY-2026-004556, Ramp Operator BV"],
        "amount": [Decimal("4800.000000000000000000")],
        "signed_amount": [Decimal("-4800.000000000000000000")], "currency": ["USDC"], "age": [114],
        "next_step": [LONG],
    }  # fmt: skip
    arrow = pa.table(row)
    head, first, *_ = str(Table(arrow, keys=tuple(row))).splitlines()
    assert head.split() == ["kind", "name", "amount", "age", "next_step"]
    assert "PAY-2026-004556, Ramp Operator BV" in first
