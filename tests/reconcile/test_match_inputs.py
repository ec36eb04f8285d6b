"""Tables in: four kinds, one typed form, and errors that name the column."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from match_tables import arrow, expectation, line

from treasury import match_references
from treasury.errors import TableError

LINES = [line("a", "100.10", "PAY-2026-004417")]
WANTED = [expectation("r", "PAY-2026-004417", "100.10")]


def test_pandas_arrow_duckdb_and_parquet_give_the_same_answer(tmp_path: Path) -> None:
    path = tmp_path / "lines.parquet"
    pq.write_table(arrow(LINES), path)
    with duckdb.connect() as connection:
        relation = connection.from_arrow(arrow(LINES))
        answers = [
            match_references(lines, arrow(WANTED)).lines
            for lines in (arrow(LINES), pd.DataFrame(LINES), relation, path, str(path))
        ]
    assert all(answer.equals(answers[0]) for answer in answers)
    assert answers[0]["matched_amount"].to_pylist() == [Decimal("100.10")]


def test_a_list_of_remittance_lines_is_one_field_with_line_breaks() -> None:
    row = LINES[0] | {"remittance": ["invoice 7", "PAY-2026-004417"]}
    table = pa.Table.from_pylist([row])
    assert match_references(table, arrow(WANTED)).lines["outcome"].to_pylist() == ["matched"]


def test_optional_columns_may_be_missing() -> None:
    names = ["entry_id", "account", "amount", "currency", "direction", "booking_date", "remittance"]
    wanted = ["expectation_id", "kind", "code", "amount", "currency", "direction"]
    matches = match_references(arrow(LINES).select(names), arrow(WANTED).select(wanted))
    assert matches.lines["outcome"].to_pylist() == ["matched"]


@pytest.mark.parametrize("name", ["entry_id", "account", "amount", "direction", "booking_date"])
def test_a_missing_column_is_named(name: str) -> None:
    with pytest.raises(TableError, match=f"lines: there is no column '{name}'"):
        match_references(arrow(LINES).drop_columns([name]), arrow(WANTED))


def test_a_float_amount_is_refused() -> None:
    table = pd.DataFrame(LINES).assign(amount=[100.1])
    with pytest.raises(TableError, match="'amount' is double"):
        match_references(table, arrow(WANTED))


def test_a_repeated_entry_id_is_an_error() -> None:
    with pytest.raises(TableError, match="entry_id 'a' is there more than once"):
        match_references(arrow(LINES * 2), arrow(WANTED))


@pytest.mark.parametrize("amount", ["0", "-1"])
def test_an_amount_that_is_not_positive_is_an_error(amount: str) -> None:
    with pytest.raises(TableError, match="amount of 'a' is not positive"):
        match_references(arrow([line("a", amount, "x")]), arrow(WANTED))


def test_an_unknown_direction_is_named() -> None:
    with pytest.raises(TableError, match="direction has the value 'IN'"):
        match_references(arrow([LINES[0] | {"direction": "IN"}]), arrow(WANTED))


def test_a_missing_value_is_named_by_its_row() -> None:
    rows = [LINES[0], line("b", "1", "x") | {"account": None}]
    with pytest.raises(TableError, match="account is missing in row 1"):
        match_references(arrow(rows), arrow(WANTED))


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lines.parquet"
    path.write_text("no")
    with pytest.raises(TableError, match=r"lines\.parquet does not read as Parquet"):
        match_references(path, arrow(WANTED))


def test_no_lines_at_all_is_an_answer() -> None:
    matches = match_references(arrow(LINES).slice(0, 0), arrow(WANTED))
    assert (matches.lines.num_rows, matches.expectations["state"].to_pylist()) == (0, ["open"])
