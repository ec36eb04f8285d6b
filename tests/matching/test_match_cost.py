"""Hostile inputs cannot slow matching down: every search is bounded and its result cautious."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from mangled import drawn
from match_tables import arrow, expectation, line, match, outcome

from benchmarks.hostile_sets import HOSTILE, standing_codes_of_a_year
from treasury import match_references
from treasury.core.tables import duckdb_engine
from treasury.core.tables.column_types import AMOUNT
from treasury.matching.engine import pipeline
from treasury.matching.engine.pipeline import load, make, run
from treasury.matching.input_tables import EXPECTATIONS, LINES, read_table
from treasury.matching.reference_matching import STEPS, read_decisions, rule_tables
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED

COMPARING_ALL = (
    "BLOCKWISE_NL_JOIN", "NESTED_LOOP_JOIN", "CROSS_PRODUCT", "IE_JOIN", "PIECEWISE_MERGE_JOIN",
)  # fmt: skip
"""DuckDB's joins with a cost that is the product of their inputs' sizes."""
MOST_COMPARED = 100
"""Maximum number of rows that an operator returns or compares for each line and expectation.

This allows work for each character of a text, but not for every other row.
"""


def test_a_code_of_very_many_expectations_is_only_suggested() -> None:
    expectations = [expectation(f"r{n:03}", "PAY-2026-004417", f"{n + 10}") for n in range(60)]
    expectations[59] = expectations[59] | {"amount": Decimal(5000)}
    matches = match(
        [line("a", "5000", "PAY-2026-004417"), line("b", "7", "PAY-2026-004417")], expectations
    )
    line_outcome = outcome(matches)
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r059")
    assert "very many expectations have its code" in line_outcome["reason"]
    assert outcome(matches, "b")["outcome"] == "suggested"


def test_the_only_open_one_of_very_many_expectations_with_a_code_is_only_suggested() -> None:
    expectations = [
        expectation(f"r{n:03}", "PAY-2026-004417", "10", status="CANCELLED" if n else "PROCESSING")
        for n in range(60)
    ]
    line_outcome = outcome(match([line("a", "10", "PAY-2026-004417")], expectations))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r000")


@pytest.mark.acceptance
def test_a_code_in_a_long_token_or_across_words_is_still_found() -> None:
    expectations = [expectation("r", "PAY-2026-004417", "10"), expectation("s", "AB12C", "20")]
    inside = match([line("a", "10", "X" * 60 + "PAY2026004417" + "Y" * 60)], expectations)
    across = match(
        [line("a", "20", "AB 12C thanks"), line("b", "10", "PAY 2026-00 4417")], expectations
    )
    assert outcome(inside)["expectation_id"] == "r"
    assert outcome(across)["expectation_id"] == "s"
    assert outcome(across, "b")["outcome"] == "matched"


def test_a_payer_known_for_very_many_codes_has_a_bounded_number_of_candidates() -> None:
    codes = 300
    expectations = [expectation(f"r{n:03}", f"PAY-2026-{n:06}", None) for n in range(codes)]
    payer = {"counterparty_account": "DE1"}
    lines = [line(f"b{n:03}", "5", f"PAY-2026-{n:06}", 2, **payer) for n in range(codes)]
    lines += [line(f"a{n:03}", "5", "thanks", 9, **payer) for n in range(codes)]
    connection = loaded(lines, expectations)
    run(connection, STEPS)
    for step in ("known_payer_lines", "recalled_lessons", "unnamed_candidates"):
        (rows,) = connection.table(step).aggregate("count(*)").fetchall()[0]
        assert 0 < rows <= 3 * codes * Rules().max_same_code, step


@pytest.mark.acceptance
def test_of_very_many_standing_codes_of_an_account_the_latest_are_candidates() -> None:
    lines, expectations = standing_codes_of_a_year(400)
    candidates = match_references(lines, expectations).candidates.arrow.to_pylist()
    named = [row["expectation_id"] for row in candidates if row["entry_id"] == "e399"]
    opened = dict(
        zip(*(expectations[name].to_pylist() for name in ("expectation_id", "opened_at")),
            strict=True)
    )  # fmt: skip
    latest = sorted(opened.values())[-Rules().max_same_code :]
    assert len(named) == Rules().max_candidates
    # The payer's own request comes first.
    assert named[0] == "r49"
    assert all(opened[name] in latest for name in named[1:])


def test_similar_codes_opened_later_do_not_hide_one_that_was_open() -> None:
    later = datetime(2026, 10, 10, tzinfo=UTC)
    digits = [(place, digit) for place in (5, 4, 3) for digit in "123456789"]
    neighbours = ["0" * place + digit + "0" * (5 - place) for place, digit in digits]
    expectations = [
        expectation("r", "PAY-2026-000000", "50"),
        expectation("s", "PAY-2026-900000", "99"),
        *(
            expectation(f"n{code}", f"PAY-2026-{code}", "99", opened_at=later)
            for code in neighbours
        ),
    ]
    matches = match([line("a", "99", "PAY-2026-000000", 5)], expectations)
    assert outcome(matches)["outcome"] == "suggested"
    assert {row["expectation_id"] for row in matches.candidates.arrow.to_pylist()} == {"r", "s"}


@pytest.mark.acceptance
def test_no_step_joins_by_inequalities_alone() -> None:
    """A join by inequalities alone compares every line with every payer."""
    payers = 3_000
    expectations = [expectation(f"r{n:04}", f"PAY-2026-{n:06}", None) for n in range(payers)]
    lines = [
        line(f"{kind}{n:04}", "5", text.format(n), day, counterparty_account=f"DE{n}")
        for kind, text, day in (("b", "PAY-2026-{:06}", 2), ("a", "thanks", 9))
        for n in range(payers)
    ]
    connection = loaded(lines, expectations)
    joined_by_order = set()
    for step in STEPS:
        (plan,) = connection.execute(f"EXPLAIN {step.sql}").fetchall()
        if "PIECEWISE_MERGE_JOIN" in plan[1] or "IE_JOIN" in plan[1]:
            joined_by_order.add(step.name)
        run(connection, [step])
    assert joined_by_order == set()
    assert connection.table("known_payer_lines").shape[0] == payers


@pytest.mark.acceptance
@pytest.mark.parametrize("made", [*HOSTILE.values(), drawn])
def test_no_step_compares_every_line_with_every_expectation(
    made: Callable[[int], tuple[pa.Table, pa.Table]],
) -> None:
    lines, expectations = made(4_000)
    connection = holding(lines, expectations)
    connection.execute("PRAGMA enable_profiling='no_output'")
    most = MOST_COMPARED * (lines.num_rows + expectations.num_rows)
    without: set[str] = set()
    for step in STEPS:
        if not make(connection, step, without):
            without.add(step.name)
        compared = json.loads(connection.get_profiling_information(format="json"))
        assert max(rows_compared(compared)) <= most, step.name


def rows_compared(operator: dict[str, Any]) -> Iterator[int]:
    """Yield the number of rows that each operator of a profile returns or compares."""
    children = operator.get("children", [])
    yield operator.get("operator_cardinality", 0)
    if len(children) == 2 and operator["operator_name"] in COMPARING_ALL:
        yield math.prod(child["operator_cardinality"] for child in children)
    for child in children:
        yield from rows_compared(child)


def loaded(
    lines: list[dict[str, Any]], expectations: list[dict[str, Any]]
) -> duckdb.DuckDBPyConnection:
    """Open a connection with every table that the steps read."""
    return holding(arrow(lines), arrow(expectations))


def holding(lines: pa.Table, expectations: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    load(
        connection,
        {
            "lines": read_table(lines, LINES, name="lines"),
            "expectations": read_table(expectations, EXPECTATIONS, name="expectations"),
            "decisions": read_decisions(None),
            **NOTHING_SETTLED,
            **rule_tables(Rules()),
        },
    )
    return connection


@pytest.mark.acceptance
def test_a_low_memory_limit_does_not_change_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    many = 9_900
    numbers = range(many)
    lines = pa.table(
        {
            "entry_id": [f"e{n:05}" for n in numbers],
            "account": ["NL05TEST0417164300"] * many,
            "amount": pa.array([Decimal(n % 700 + 1) for n in numbers], AMOUNT),
            "currency": ["EUR"] * many,
            "direction": ["CRDT"] * many,
            "booking_date": [date(2026, 10, 5)] * many,
            "remittance": [f"PAY-2026-{n:06} thanks, part {n % 7}" for n in numbers],
        }
    )
    expectations = pa.table(
        {
            "expectation_id": [f"r{n:05}" for n in numbers],
            "kind": ["off_ramp"] * many,
            "code": [f"PAY-2026-{n * 2:06}" for n in numbers],
            "amount": pa.array([Decimal(n * 2 % 700 + 1) for n in numbers], AMOUNT),
            "currency": ["EUR"] * many,
            "direction": ["CRDT"] * many,
            "opened_at": [datetime(2026, 9, 25, tzinfo=UTC)] * many,
        }
    )
    plenty = match_references(lines, expectations)
    spilled = []

    def made(connection: duckdb.DuckDBPyConnection, *step: Any) -> int:
        rows = make(connection, *step)
        files = connection.execute("SELECT size FROM duckdb_temporary_files()").fetchall()
        spilled.extend(size for (size,) in files)
        return rows

    monkeypatch.setattr(pipeline, "make", made)
    monkeypatch.setattr(duckdb_engine, "MEMORY", 40 << 20)
    # Another order of the rows bypasses the cache.
    backwards = lines.take(pa.array(range(many - 1, -1, -1)))
    little = match_references(backwards, expectations)
    assert sum(spilled) > 0
    assert little.counts()["matched"] == many // 2
    for name, table in plenty.sheets().items():
        assert little.sheets()[name].arrow.equals(table.arrow), name
