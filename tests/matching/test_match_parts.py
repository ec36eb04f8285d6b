"""Sums of several codes, and returns of a part of a line or payment."""

from __future__ import annotations

from decimal import Decimal

import pyarrow.compute as pc
import pytest
from match_tables import expectation, line, match, outcome, state

CODE = "PAY-2026-004417"


@pytest.mark.acceptance
def test_one_code_of_several_expectations_matches_exactly_their_sum() -> None:
    expectations = [expectation("r", CODE, "100"), expectation("s", CODE, "50")]
    matches = match([line("a", "150", CODE)], expectations)
    line_outcome = outcome(matches)
    assert (line_outcome["outcome"], line_outcome["expectation_id"], line_outcome["tier"]) == (
        "matched",
        None,
        6,
    )
    assert matches.allocations.arrow["amount"].to_pylist() == [Decimal(100), Decimal(50)]
    for amount in ("100", "149.99", "151"):
        remaining = match([line("a", amount, CODE)], expectations)
        assert (outcome(remaining)["outcome"], len(remaining.allocations)) == ("suggested", 0)


def test_two_codes_that_do_not_add_up_to_the_line_are_a_conflict() -> None:
    expectations = [expectation("r", CODE, "100"), expectation("s", "PAY-2026-000001", "50")]
    matches = match([line("a", "149", f"{CODE} and PAY-2026-000001")], expectations)
    assert (outcome(matches)["outcome"], outcome(matches)["expectation_id"]) == ("conflict", None)
    assert matches.candidates.arrow["expectation_id"].to_pylist() == ["r", "s"]


KNOWN_PAYER = [line("k", "1", "PAY-2026-000001", 1)]
KNOWN_FOR = [expectation("known", "PAY-2026-000001", "1")]


@pytest.mark.acceptance
def test_parts_without_a_reference_are_suggested_and_one_payment_for_several_too() -> None:
    expectations = [
        *KNOWN_FOR,
        expectation("r", CODE, "100"),
        expectation("s", "PAY-2026-004418", "55"),
    ]
    parts = match(
        [*KNOWN_PAYER, line("a", "35", "part", 5), line("b", "65", "rest", 6)], expectations
    )
    for name in "ab":
        line_outcome = outcome(parts, name)
        assert (line_outcome["outcome"], line_outcome["expectation_id"], line_outcome["tier"]) == (
            "suggested",
            "r",
            6,
        )
    both = match([*KNOWN_PAYER, line("a", "155", "october", 5)], expectations)
    candidates_of_line = both.candidates.arrow.filter(
        pc.equal(both.candidates.arrow["entry_id"], "a")
    )
    assert candidates_of_line["expectation_id"].to_pylist() == ["r", "s"]
    assert set(candidates_of_line["tier"].to_pylist()) == {6}


@pytest.mark.acceptance
def test_sums_are_searched_in_bounded_time_and_several_solutions_are_reported() -> None:
    expectations = [expectation(f"r{n:02}", f"PAY-2026-1{n:05}", "10") for n in range(40)]
    line_outcome = outcome(
        match([*KNOWN_PAYER, line("a", "20", "x", 5)], [*KNOWN_FOR, *expectations])
    )
    assert (line_outcome["outcome"], line_outcome["tier"]) == ("suggested", 6)
    assert "several ways" in line_outcome["reason"]
    more = [*expectations, expectation("r99", "PAY-2026-199999", "10")]
    beyond = match([*KNOWN_PAYER, line("a", "20", "x", 5)], [*KNOWN_FOR, *more])
    assert outcome(beyond)["outcome"] == "unreferenced"


@pytest.mark.acceptance
def test_parts_of_a_line_are_returned_up_to_its_amount() -> None:
    sent = line("a", "100", CODE, 1, direction="DBIT", end_to_end_id="E2E-1")
    back = {"original_reference": "E2E-1", "return_reason": "AC04"}
    rows = [sent, *(line(name, "40", None, 9 + n, **back) for n, name in enumerate("bcd"))]
    matches = match(rows, [expectation("r", CODE, "100", direction="DBIT")])
    assert [outcome(matches, name)["outcome"] for name in "abcd"] == [
        "matched", "returned", "returned", "unreferenced",
    ]  # fmt: skip
    assert outcome(matches)["matched_amount"] == Decimal(20)
    state_row = state(matches)
    assert (state_row["state"], state_row["received"], state_row["remaining"]) == (
        "reopened", Decimal(20), Decimal(80),
    )  # fmt: skip


@pytest.mark.acceptance
def test_a_partial_return_of_two_possible_lines_is_linked_to_neither() -> None:
    sent = [line(n, "100", CODE, 1, direction="DBIT", end_to_end_id="E") for n in ("a", "b")]
    back = line("c", "40", None, 9, original_reference="E", return_reason="AC04")
    matches = match([*sent, back], [expectation("r", CODE, "200", direction="DBIT")])
    assert [outcome(matches, name)["outcome"] for name in "abc"] == [
        "matched", "matched", "unreferenced",
    ]  # fmt: skip


@pytest.mark.acceptance
def test_a_line_marked_as_a_return_is_never_taken_for_a_payment() -> None:
    back = line("a", "100", CODE, return_reason="AC04")
    line_outcome = outcome(match([back], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["matched_amount"]) == ("suggested", None)
    assert "marked as a return" in line_outcome["reason"]


@pytest.mark.acceptance
@pytest.mark.parametrize(("paid", "back"), [("fails", "holds"), ("holds", "fails")])
def test_a_return_is_linked_automatically_only_if_both_lines_are_proved(
    paid: str, back: str
) -> None:
    rows = [
        line("a", "100", CODE, day=1, end_to_end_id="E2E-77120", proof=paid),
        line(
            "b",
            "100",
            None,
            day=2,
            direction="DBIT",
            is_reversal=True,
            original_reference="E2E-77120",
            proof=back,
        ),
    ]
    matches = match(rows, [expectation("r", CODE, "100")])
    assert "returned" not in matches.lines.arrow["outcome"].to_pylist()
    proved = [row | {"proof": "holds"} for row in rows]
    linked = match(proved, [expectation("r", CODE, "100")])
    assert linked.lines.arrow["outcome"].to_pylist() == ["returned", "returned"]
