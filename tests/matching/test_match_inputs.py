"""Input tables of several kinds are converted to one schema; errors name the column."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from match_tables import arrow, expectation, line, match, outcome

from treasury import match_references
from treasury.core.errors import TableError
from treasury.core.tables import duckdb_engine
from treasury.core.tables.table import Table
from treasury.matching import reference_matching as matching
from treasury.matching.input_tables import DECISIONS, EXPECTATIONS, Field
from treasury.matching.input_tables import LINES as LINE_FIELDS

LINES = [line("a", "100.10", "PAY-2026-004417")]
REQUESTS = [expectation("r", "PAY-2026-004417", "100.10")]


@pytest.mark.acceptance
def test_pandas_arrow_duckdb_and_parquet_give_the_same_answer(tmp_path: Path) -> None:
    path = tmp_path / "lines.parquet"
    pq.write_table(arrow(LINES), path)
    with duckdb.connect() as connection:
        relation = connection.from_arrow(arrow(LINES))
        answers = [
            match_references(lines, arrow(REQUESTS)).lines
            for lines in (arrow(LINES), pd.DataFrame(LINES), relation, path, str(path))
        ]
    assert all(answer.arrow.equals(answers[0].arrow) for answer in answers)
    assert answers[0].arrow["matched_amount"].to_pylist() == [Decimal("100.10")]


def test_a_list_of_remittance_lines_is_one_field_with_line_breaks() -> None:
    row = LINES[0] | {"remittance": ["invoice 7", "PAY-2026-004417"]}
    table = pa.Table.from_pylist([row])
    assert match_references(table, arrow(REQUESTS)).lines.arrow["outcome"].to_pylist() == [
        "matched"
    ]


@pytest.mark.acceptance
def test_optional_columns_may_be_missing() -> None:
    names = ["entry_id", "account", "amount", "currency", "direction", "booking_date", "remittance"]
    required = ["expectation_id", "kind", "code", "amount", "currency", "direction"]
    matches = match_references(arrow(LINES).select(names), arrow(REQUESTS).select(required))
    assert matches.lines.arrow["outcome"].to_pylist() == ["matched"]


@pytest.mark.first_case
@pytest.mark.parametrize("column", ["end_to_end_id", "creditor_reference", "remittance"])
def test_one_reference_column_is_enough(column: str) -> None:
    names = ["end_to_end_id", "creditor_reference", "remittance"]
    lines = arrow([line("a", "100.10", None) | {column: "PAY-2026-004417"}])
    reduced = lines.drop_columns([name for name in names if name != column])
    assert match_references(reduced, arrow(REQUESTS)).lines.arrow["outcome"].to_pylist() == [
        "matched"
    ]
    with pytest.raises(TableError, match="no column for references"):
        match_references(lines.drop_columns(names), arrow(REQUESTS))


@pytest.mark.parametrize("field", [*LINE_FIELDS, *EXPECTATIONS, *DECISIONS], ids=lambda f: f.name)
def test_the_docstring_names_each_input_column(field: Field) -> None:
    assert f"`{field.name}`" in (match_references.__doc__ or "")


@pytest.mark.acceptance
def test_an_outcome_is_shown_with_its_own_line_first() -> None:
    rows = [line("b", "7", "PAY-2026-004417"), line("a", "40", None, direction="DBIT")]
    matches = match_references(arrow(rows), arrow(REQUESTS))
    assert matches.lines.columns[:8] == [
        "entry_id", "booking_date", "direction", "amount", "signed_amount", "currency", "outcome",
        "expectation_id",
    ]  # fmt: skip
    own = [(row["entry_id"], row["signed_amount"], row["currency"]) for row in matches.lines]
    assert own == [("a", Decimal(-40), "EUR"), ("b", Decimal(7), "EUR")]
    assert [row["booking_date"] for row in matches.lines] == [
        rows[1]["booking_date"],
        rows[0]["booking_date"],
    ]
    assert matches.lines.where("amount > 7").arrow["entry_id"].to_pylist() == ["a"]
    assert "amount" not in matches.lines.arrow.column_names
    assert "EUR 40.00" in str(matches)


@pytest.mark.parametrize(
    "name", ["entry_id", "account", "amount", "currency", "direction", "booking_date"]
)
def test_a_missing_column_is_named(name: str) -> None:
    with pytest.raises(TableError, match=f"lines: there is no column '{name}'"):
        match_references(arrow(LINES).drop_columns([name]), arrow(REQUESTS))


@pytest.mark.parametrize(
    "name", ["expectation_id", "kind", "code", "amount", "currency", "direction"]
)
def test_a_missing_column_of_the_expectations_is_named(name: str) -> None:
    with pytest.raises(TableError, match=f"expectations: there is no column '{name}'"):
        match_references(arrow(LINES), arrow(REQUESTS).drop_columns([name]))


@pytest.mark.parametrize("name", ["entry_id", "verdict"])
def test_a_missing_column_of_the_decisions_is_named(name: str) -> None:
    decisions = arrow(
        [{"entry_id": "a", "expectation_id": "r", "verdict": "accept", "reason": "x"}]
    )
    with pytest.raises(TableError, match=f"decisions: there is no column '{name}'"):
        match_references(arrow(LINES), arrow(REQUESTS), decisions=decisions.drop_columns([name]))


@pytest.mark.acceptance
def test_float_amounts_are_accepted_if_each_is_exact_at_its_currencys_decimals() -> None:
    for amount in (100.1, 100.0, 9126.40, 9999999999999.99):
        exact = match_references(
            arrow([LINES[0] | {"amount": Decimal(repr(amount))}]), arrow(REQUESTS)
        )
        floats = pd.DataFrame(LINES).assign(amount=[amount])
        assert match_references(floats, arrow(REQUESTS)).lines.arrow.equals(exact.lines.arrow)


@pytest.mark.parametrize(
    "amount", [0.1 + 0.2, 100.105, 99999999999999.98, 1e15, float("inf"), 100.1 * 3]
)
def test_an_inexact_float_is_refused_with_its_row(amount: float) -> None:
    rows = [LINES[0] | {"amount": 1.5}, line("b", "1", "x") | {"amount": amount}]
    with pytest.raises(TableError, match=r"lines: amount is a float .* in row 1 \("):
        match_references(pd.DataFrame(rows), arrow(REQUESTS))
    yen = pd.DataFrame([LINES[0] | {"amount": 100.1, "currency": "JPY"}] * 7)
    with pytest.raises(TableError, match=r"in rows 0 \(100.1\), .* and 2 more"):
        match_references(yen, arrow(REQUESTS))


def test_a_float_without_a_currency_is_named_with_the_missing_column() -> None:
    table = pd.DataFrame(LINES).assign(amount=[100.1]).drop(columns="currency")
    with pytest.raises(
        TableError, match=r"no column 'currency'.*'amount' is double.*a row looks like"
    ):
        match_references(table, arrow(REQUESTS))


def test_a_repeated_entry_id_is_an_error() -> None:
    with pytest.raises(TableError, match="entry_id 'a' occurs more than once"):
        match_references(arrow(LINES * 2), arrow(REQUESTS))


@pytest.mark.parametrize("amount", ["0", "-1"])
def test_an_amount_that_is_not_positive_is_an_error(amount: str) -> None:
    with pytest.raises(TableError, match="amount of 'a' is not positive"):
        match_references(arrow([line("a", amount, "x")]), arrow(REQUESTS))


def test_an_unknown_direction_is_named() -> None:
    with pytest.raises(TableError, match="direction has the value 'IN'"):
        match_references(arrow([LINES[0] | {"direction": "IN"}]), arrow(REQUESTS))


def test_a_missing_value_is_named_by_its_row() -> None:
    rows = [LINES[0], line("b", "1", "x") | {"account": None}]
    with pytest.raises(TableError, match="account is missing in row 1"):
        match_references(arrow(rows), arrow(REQUESTS))


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lines.parquet"
    path.write_text("no")
    with pytest.raises(TableError, match=r"lines\.parquet cannot be read as Parquet"):
        match_references(path, arrow(REQUESTS))


def test_an_empty_table_of_lines_gives_an_empty_result() -> None:
    matches = match_references(arrow(LINES).slice(0, 0), arrow(REQUESTS))
    assert (len(matches.lines), matches.expectations.arrow["state"].to_pylist()) == (0, ["open"])


def changed(name: str, values: pa.Array, rows: list[dict[str, Any]] | None = None) -> pa.Table:
    """Return a table of these rows, or of `LINES`, with one column replaced."""
    table = arrow(LINES if rows is None else rows)
    return table.set_column(table.schema.get_field_index(name), name, values)


TEXT = pa.array(["PAY-2026-004417"])


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "lines",
    [
        lambda: arrow(LINES).to_batches()[0],
        lambda: Table(arrow(LINES)),
        lambda: pa.concat_tables([arrow(LINES).slice(0, 0), arrow(LINES)]),
        lambda: pd.DataFrame(LINES).convert_dtypes(),
        lambda: pd.DataFrame(LINES).astype({"currency": "category", "direction": "category"}),
        lambda: arrow(LINES).to_pandas(types_mapper=pd.ArrowDtype),
        lambda: pd.DataFrame(LINES).assign(booking_date=pd.to_datetime(["2026-10-01"])),
        lambda: changed("remittance", TEXT.dictionary_encode()),
        lambda: changed("remittance", TEXT.cast(pa.large_string())),
        lambda: changed("remittance", TEXT.cast(pa.string_view())),
        lambda: changed(
            "remittance", pa.array([["x", "PAY-2026-004417"]], pa.large_list(pa.string()))
        ),
        lambda: changed("remittance", pa.array([[None, "PAY-2026-004417"]])),
        lambda: changed("amount", pa.array([Decimal("100.1")], pa.decimal256(60, 20))),
        lambda: changed("booking_date", pa.array(["2026-10-01"])),
        lambda: changed("booking_date", pa.array([date(2026, 10, 1)], pa.date64())),
    ],
)
def test_the_same_line_in_any_form_gives_the_same_answer(lines: Callable[[], Any]) -> None:
    answer = match_references(lines(), arrow(REQUESTS))
    assert answer.lines.arrow.equals(match_references(arrow(LINES), arrow(REQUESTS)).lines.arrow)
    assert answer.lines.arrow["outcome"].to_pylist() == ["matched"]


def test_amounts_of_different_scales_are_each_exact() -> None:
    amounts = ["100.10", "0.000000000000000001", "7"]
    rows = [line(name, amount, "x") for name, amount in zip("abc", amounts, strict=True)]
    expectations = [expectation("r", "PAY-2026-004417", None)]
    decisions = [{"entry_id": n, "expectation_id": "r", "verdict": "accept"} for n in "abc"]
    matches = match_references(
        pd.DataFrame(rows), pd.DataFrame(expectations), decisions=arrow(decisions)
    )
    assert matches.expectations.arrow["received"].to_pylist() == [Decimal("107.100000000000000001")]


@pytest.mark.first_case
@pytest.mark.parametrize(
    "name",
    ["return_reason", "line_class", "entry_status", "original_reference", "end_to_end_id",
     "counterparty_account", "counterparty_name"],
)  # fmt: skip
@pytest.mark.parametrize("empty", ["", "  "])
def test_an_empty_text_does_not_prevent_a_match(name: str, empty: str) -> None:
    answer = match_references(arrow([LINES[0] | {name: empty}]), arrow(REQUESTS))
    assert answer.lines.arrow["outcome"].to_pylist() == ["matched"]


@pytest.mark.first_case
@pytest.mark.parametrize("name", ["account", "counterparty_account", "status"])
def test_an_expectation_with_an_empty_text_is_not_contradicted_by_it(name: str) -> None:
    answer = match_references(arrow(LINES), arrow([REQUESTS[0] | {name: " "}]))
    assert answer.lines.arrow["outcome"].to_pylist() == ["matched"]


NOON = pa.array([datetime(2026, 10, 1, 12, tzinfo=UTC)], pa.timestamp("us"))
NOT_UTF8 = pa.StringArray.from_buffers(
    1, pa.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00"), pa.py_buffer(b"\xff\xfe")
)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (lambda: None, "lines: no table is given"),
        (lambda: [LINES[0]], "lines: not a table"),
        (lambda: changed("entry_id", pa.array([1])), "'entry_id' is int64, not text"),
        (lambda: changed("entry_id", pa.array([["a"]])), "'entry_id' is list"),
        (lambda: changed("entry_id", pa.array([" "])), "entry_id is missing in row 0"),
        (lambda: changed("currency", pa.array([""])), "currency is missing in row 0"),
        (lambda: changed("remittance", pa.array([[7]])), "'remittance' is list"),
        (lambda: changed("remittance", pa.array([[{"a": 1}]])), "'remittance' is list"),
        (lambda: changed("remittance", pa.array([b"PAY"])), "'remittance' is binary"),
        (lambda: changed("remittance", NOT_UTF8), "'remittance' holds text that is not UTF-8"),
        (lambda: changed("is_reversal", pa.array([1])), "'is_reversal' is int64"),
        (lambda: changed("amount", pa.array(["1"])), "'amount' is string"),
        (lambda: changed("amount", pa.array([10**30], pa.decimal256(40))), "'amount' does not fit"),
        (lambda: changed("booking_date", NOON), "'booking_date' has hours"),
        (
            lambda: changed(
                "booking_date",
                pa.array([datetime(2026, 10, 1, tzinfo=ZoneInfo("Europe/Brussels"))]).cast(
                    pa.timestamp("us", "UTC")
                ),
            ),
            "'booking_date' has hours",
        ),
        (lambda: changed("booking_date", pa.array([time(1)])), "'booking_date' is time64"),
        (lambda: changed("booking_date", pa.array([timedelta(1)])), "'booking_date' is duration"),
        (lambda: changed("booking_date", pa.array(["1/10/2026"])), "'booking_date' does not fit"),
        (
            lambda: changed("booking_date", pa.array([3_000_000], pa.int32()).cast(pa.date32())),
            "booking_date has a day outside the years 1 to 9999",
        ),
        (
            lambda: arrow(LINES).append_column("amount", arrow(LINES)["amount"]),
            "'amount' occurs 2 times",
        ),
        (lambda: pd.concat([pd.DataFrame(LINES)] * 2, axis=1), "lines: not a table"),
        (
            lambda: arrow([line("a", "9" * 20, "x"), line("b", "9" * 20, "x")]),
            r"all amounts together are 2\.00E\+20",
        ),
    ],
)
def test_an_unreadable_table_column_or_value_is_refused_by_name(
    lines: Callable[[], Any], words: str
) -> None:
    with pytest.raises(TableError, match=words):
        match_references(lines(), arrow(REQUESTS))


def test_a_relation_of_a_closed_connection_is_refused() -> None:
    with duckdb.connect() as connection:
        relation = connection.from_arrow(arrow(LINES))
    with pytest.raises(TableError, match="lines: not a table"):
        match_references(relation, arrow(REQUESTS))


@pytest.mark.parametrize(
    ("expectations", "words"),
    [
        (REQUESTS * 2, "expectation_id 'r' occurs more than once"),
        ([REQUESTS[0] | {"amount": Decimal(0)}], "expectations: the amount of 'r' is not positive"),
        (
            [REQUESTS[0] | {"amount": Decimal(-5)}],
            "expectations: the amount of 'r' is not positive",
        ),
        ([REQUESTS[0] | {"direction": "IN"}], "expectations: direction has the value 'IN'"),
        ([REQUESTS[0] | {"kind": ""}], "expectations: kind is missing in row 0"),
    ],
)
def test_an_invalid_expectation_is_refused_by_name(
    expectations: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(TableError, match=words):
        match_references(arrow(LINES), arrow(expectations))


@pytest.mark.acceptance
def test_an_expectation_without_a_code_is_not_matched_by_an_empty_text() -> None:
    for code in (None, "", "--", "NOT-PROVIDED"):
        lines = [line("a", "100", code or "", end_to_end_id="NOTPROVIDED")]
        expectations = [
            expectation("r", "x", "100") | {"code": code},
            expectation("s", "PAY-1", "1"),
        ]
        outcomes_read = (
            match_references(arrow(lines), arrow(expectations)).lines.arrow["outcome"].to_pylist()
        )
        assert outcomes_read == ["unreferenced"]


@pytest.mark.acceptance
def test_an_instant_without_a_zone_is_utc_and_a_day_is_its_midnight() -> None:
    late = datetime(2026, 10, 1, 23, 30, tzinfo=UTC)
    same_day = pa.array([late], pa.timestamp("us")), pa.array([date(2026, 10, 1)])
    for opened, expected in zip(
        (*same_day, pa.array([date(2026, 10, 2)])), ("matched", "matched", "conflict"), strict=True
    ):
        table = changed("opened_at", opened, REQUESTS)
        assert match_references(arrow(LINES), table).lines.arrow["outcome"].to_pylist() == [
            expected
        ]


@pytest.mark.acceptance
def test_small_inputs_are_matched_in_a_cached_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    matching._kept_database.cache_clear()
    connected: list[bool] = []
    connect = duckdb_engine.connect

    def counted(**options: Any) -> duckdb.DuckDBPyConnection:
        connected.append(options["one_thread"])
        return connect(**options)

    monkeypatch.setattr(duckdb_engine, "connect", counted)
    for name in ("one", "another"):
        matches = match([line(name, "100.10", "PAY-2026-004417")], REQUESTS)
        assert outcome(matches, name)["outcome"] == "matched"
    assert connected == [True]
    monkeypatch.setattr(matching, "_NEXT_TO_NOTHING", 0)
    match([line("more", "100.00", "PAY-2026-004417")], [])
    assert connected == [True, True]


def test_all_missing_and_mistyped_columns_are_named_at_once() -> None:
    wrong = pd.DataFrame([{"entry_id": "a", "account": "BE1", "amount": 9126.4, "remittance": "x"}])
    with pytest.raises(TableError) as caught:
        match_references(wrong, arrow(REQUESTS))
    for words in ("'currency'", "'direction'", "'booking_date'", "'amount' is double"):
        assert words in str(caught.value)
    assert 'amount=Decimal("9126.40")' in str(caught.value)
