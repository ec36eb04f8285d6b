"""What must hold for any input: conservation, independence of order, one composed query."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from match_tables import arrow, expectation, line, match

from treasury.reconcile.inputs import DECISIONS, EXPECTATIONS, LINES, read_table
from treasury.reconcile.matching import OUTCOMES, STEPS, rule_tables
from treasury.reconcile.pipeline import load
from treasury.reconcile.rules import Rules

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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.randoms(use_true_random=False))
def test_every_line_has_one_outcome_and_order_does_not_matter(case: Case, random: Random) -> None:
    lines, expectations, decisions = case
    if not lines:
        return
    matches = match(lines, expectations, decisions)
    rows = matches.lines.to_pylist()
    assert [row["entry_id"] for row in rows] == sorted(row["entry_id"] for row in lines)
    assert {row["outcome"] for row in rows} <= set(OUTCOMES)
    amounts = {row["entry_id"]: row["amount"] for row in lines}
    assert all((row["matched_amount"] or Decimal(0)) <= amounts[row["entry_id"]] for row in rows)

    received = {row["expectation_id"]: Decimal(0) for row in expectations}
    taken = dict.fromkeys(amounts, Decimal(0))
    for row in matches.allocations.to_pylist():
        assert row["amount"] > 0
        received[row["expectation_id"]] += row["amount"]
        taken[row["entry_id"]] += row["amount"]
    assert all(taken[row["entry_id"]] == (row["matched_amount"] or 0) for row in rows)
    assert {row["outcome"] for row in rows if taken[row["entry_id"]]} <= {"matched"}
    for row, wanted in zip(matches.expectations.to_pylist(), expectations, strict=True):
        if wanted["amount"] is not None:
            assert received[row["expectation_id"]] + row["remaining"] == wanted["amount"]

    random.shuffle(lines)
    random.shuffle(expectations)
    random.shuffle(decisions)
    again = match(lines, expectations, decisions)
    for name in ("lines", "expectations", "allocations", "candidates"):
        assert getattr(again, name).equals(getattr(matches, name))


def test_the_composed_query_gives_the_same_rows_as_the_steps() -> None:
    lines = [
        line("a", "10", CODES[0]),
        line("b", "10", CODES[0], 2),
        line("c", "7", "PAY-2026 000002"),
    ]
    wanted = [expectation(f"r{n}", code, "10") for n, code in enumerate(CODES)]
    matches = match(lines, wanted)
    with duckdb.connect() as connection:
        tables = {
            "lines": read_table(arrow(lines), LINES, what="lines"),
            "expectations": read_table(arrow(wanted), EXPECTATIONS, what="expectations"),
            "decisions": read_table(None, DECISIONS, what="decisions"),
        }
        load(connection, tables | rule_tables(Rules()))
        composed = connection.sql(matches.sql).order("entry_id").to_arrow_table()
    assert composed.equals(matches.lines)


def test_no_step_computes_in_floating_point() -> None:
    lines = [line("a", "10", CODES[0]), line("b", "10", "PAY-2026 000002")]
    wanted = [expectation(f"r{n}", code, "10") for n, code in enumerate(CODES)]
    with duckdb.connect() as connection:
        tables = {
            "lines": read_table(arrow(lines), LINES, what="lines"),
            "expectations": read_table(arrow(wanted), EXPECTATIONS, what="expectations"),
            "decisions": read_table(None, DECISIONS, what="decisions"),
        }
        load(connection, tables | rule_tables(Rules()))
        for step in STEPS:
            connection.sql(step.sql).create(step.name)
            kinds = {str(kind) for kind in connection.table(step.name).types}
            assert not kinds & {"DOUBLE", "FLOAT"}, step.name
