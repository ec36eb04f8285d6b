"""Properties of all inputs: conserved sums, independence of order, one composed query."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from match_tables import OWN, arrow, expectation, line, match
from thorough import examples

from treasury.matching.engine.pipeline import load
from treasury.matching.input_tables import DECISIONS, EXPECTATIONS, LINES, read_table
from treasury.matching.reference_matching import OUTCOMES, STEPS, rule_tables
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED

CODES = ["PAY-2026-000001", "PAY-2026-000002", "PAY-2026-000012", "VFY-8M3T-407"]
TEXTS = st.sampled_from(
    [
        *CODES,
        "PAY-2026 000001",
        "PAY-2026 000012",
        "VFY-8M3T 407",
        "no code",
        "",
        "PAY-2026-00000",
        "PAY-2026-000001 VFY-8M3T-407",
    ]
)


Case = tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw up to eight lines, the expectations of all codes, and up to three decisions."""
    lines = [
        line(
            f"e{n}",
            draw(st.sampled_from(["5", "10", "10.01", "20", "25"])),
            draw(TEXTS),
            draw(st.integers(1, 4)),
            direction=draw(st.sampled_from(["CRDT", "CRDT", "DBIT"])),
            end_to_end_id=draw(st.sampled_from([None, "E1", "E2"])),
            original_reference=draw(st.sampled_from([None, None, "E1"])),
            return_reason=draw(st.sampled_from([None, None, "AC04"])),
        )
        for n in range(draw(st.integers(0, 8)))
    ]
    expectations = [
        expectation(f"r{n}", code, None if code.startswith("VFY") else "10")
        for n, code in enumerate([*CODES, CODES[0]])
    ]
    decided = st.tuples(st.integers(0, 7), st.integers(0, 4), st.sampled_from(["accept", "reject"]))
    decisions = [
        {"entry_id": f"e{entry}", "expectation_id": f"r{name}", "verdict": verdict, "reason": "x"}
        for entry, name, verdict in draw(st.lists(decided, max_size=3, unique_by=lambda d: d[:2]))
    ]
    return lines, expectations, decisions


@pytest.mark.acceptance
@settings(max_examples=examples(8, 40))
@given(cases(), st.randoms(use_true_random=False))
def test_every_line_has_one_outcome_and_order_does_not_matter(case: Case, random: Random) -> None:
    lines, expectations, decisions = case
    if not lines:
        return
    matches = match(lines, expectations, decisions)
    rows = matches.lines.arrow.to_pylist()
    assert [row["entry_id"] for row in rows] == sorted(row["entry_id"] for row in lines)
    assert {row["outcome"] for row in rows} <= set(OUTCOMES)
    amounts = {row["entry_id"]: row["amount"] for row in lines}
    assert all((row["matched_amount"] or Decimal(0)) <= amounts[row["entry_id"]] for row in rows)

    received = {row["expectation_id"]: Decimal(0) for row in expectations}
    sums = dict.fromkeys(amounts, Decimal(0))
    for row in matches.allocations.arrow.to_pylist():
        assert row["amount"] > 0
        received[row["expectation_id"]] += row["amount"]
        sums[row["entry_id"]] += row["amount"]
    assert all(sums[row["entry_id"]] == (row["matched_amount"] or 0) for row in rows)
    assert {row["outcome"] for row in rows if sums[row["entry_id"]]} <= {"matched"}
    for row, request in zip(matches.expectations.arrow.to_pylist(), expectations, strict=True):
        if request["amount"] is not None:
            assert received[row["expectation_id"]] + row["remaining"] == request["amount"]

    random.shuffle(lines)
    random.shuffle(expectations)
    random.shuffle(decisions)
    again = match(lines, expectations, decisions)
    for name in ("lines", "expectations", "allocations", "candidates"):
        assert getattr(again, name).arrow.equals(getattr(matches, name).arrow)


@st.composite
def contradicted_cases(draw: st.DrawFn) -> Case:
    """Draw lines that often contradict their expectations, and decisions to ignore some lines."""

    def one_of(*values: Any) -> Any:
        return draw(st.sampled_from(values))

    lines = [
        line(
            f"e{n}",
            one_of("5", "10", "10.01", "20"),
            one_of(*CODES, *CODES, "PAY-2026 000001", "VFY-8M3T 407", "PAY-2026-00000", None),
            one_of(1, 2, 3, 4),
            direction=one_of("CRDT", "CRDT", "DBIT"),
            currency=one_of("EUR", "EUR", "EUR", "USD"),
            account=one_of(OWN, OWN, OWN, "XX"),
            counterparty_account=one_of("A", "B", None),
            entry_status=one_of(None, "BOOK", "BOOK", "PDNG"),
            return_reason=one_of(None, None, None, "AC04"),
            line_class=one_of(None, None, None, None, "bank_charge"),
            is_twin=one_of(False, False, False, True),
        )
        for n in range(draw(st.integers(1, 8)))
    ]
    expectations = [
        expectation(
            f"r{n}",
            code,
            None if code.startswith("VFY") else "10",
            status=one_of("PROCESSING", None, "CANCELLED", "some-new-status"),
            account=one_of(None, None, OWN),
            closed_at=one_of(None, None, None, datetime(2026, 10, 2, tzinfo=UTC)),
        )
        for n, code in enumerate(CODES)
    ]
    names = [row["entry_id"] for row in lines]
    ignored = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    decisions = [
        {"entry_id": name, "expectation_id": None, "verdict": "ignore", "reason": "x"}
        for name in ignored
    ]
    return lines, expectations, decisions


@pytest.mark.acceptance
@settings(max_examples=examples(6, 25))
@given(contradicted_cases())
def test_no_contradicted_line_is_matched_automatically(case: Case) -> None:
    lines, expectations, decisions = case
    matches = match(lines, expectations, decisions)
    of_line = {row["entry_id"]: row for row in lines}
    by_id = {row["expectation_id"]: row for row in expectations}
    ignored = {row["entry_id"] for row in decisions}
    for share in matches.allocations.arrow.to_pylist():
        line_row, request = of_line[share["entry_id"]], by_id[share["expectation_id"]]
        assert (line_row["currency"], line_row["direction"]) == (
            request["currency"],
            request["direction"],
        )
        assert request["account"] in {None, line_row["account"]}
        assert request["status"] != "CANCELLED"
        assert (
            request["closed_at"] is None or request["closed_at"].date() >= line_row["booking_date"]
        )
        assert line_row["entry_status"] != "PDNG"
        assert not any(line_row[name] for name in ("return_reason", "line_class", "is_twin"))
        assert line_row["entry_id"] not in ignored
    for row in matches.lines.arrow.to_pylist():
        left_out = of_line[row["entry_id"]]["line_class"] or row["entry_id"] in ignored
        assert (row["outcome"] == "ignored") == bool(left_out)
        assert (row["margin"] is None) == (row["runner_up_id"] is None)
        assert row["margin"] is None or 0 <= row["margin"] <= 1


@pytest.mark.acceptance
@settings(max_examples=examples(3, 10))
@given(contradicted_cases())
def test_an_unrelated_line_does_not_change_the_results_of_the_others(case: Case) -> None:
    lines, expectations, decisions = case
    stranger = line("zz", "77.77", "hello", 3, account="QQ", counterparty_account="ZZ")
    alone = match(lines, expectations, decisions)
    beside = match([*lines, stranger], expectations, decisions)
    assert beside.lines.arrow.slice(0, len(lines)).equals(alone.lines.arrow)
    assert beside.expectations.arrow.equals(alone.expectations.arrow)


@pytest.mark.acceptance
def test_the_composed_query_gives_the_same_rows_as_the_steps() -> None:
    lines = [
        line("a", "10", CODES[0]),
        line("b", "10", CODES[0], 2),
        line("c", "7", "PAY-2026 000002"),
    ]
    expectations = [expectation(f"r{n}", code, "10") for n, code in enumerate(CODES)]
    matches = match(lines, expectations)
    with duckdb.connect() as connection:
        tables = {
            "lines": read_table(arrow(lines), LINES, name="lines"),
            "expectations": read_table(arrow(expectations), EXPECTATIONS, name="expectations"),
            "decisions": read_table(None, DECISIONS, name="decisions"),
        }
        load(connection, tables | NOTHING_SETTLED | rule_tables(Rules()))
        composed = connection.sql(matches.sql).order("entry_id").to_arrow_table()
    assert composed.equals(matches.lines.arrow)


def test_no_step_computes_in_floating_point() -> None:
    lines = [line("a", "10", CODES[0]), line("b", "10", "PAY-2026 000002")]
    expectations = [expectation(f"r{n}", code, "10") for n, code in enumerate(CODES)]
    with duckdb.connect() as connection:
        tables = {
            "lines": read_table(arrow(lines), LINES, name="lines"),
            "expectations": read_table(arrow(expectations), EXPECTATIONS, name="expectations"),
            "decisions": read_table(None, DECISIONS, name="decisions"),
        }
        load(connection, tables | NOTHING_SETTLED | rule_tables(Rules()))
        for step in STEPS:
            connection.sql(step.sql).create(step.name)
            kinds = {str(kind) for kind in connection.table(step.name).types}
            assert not kinds & {"DOUBLE", "FLOAT"}, step.name
