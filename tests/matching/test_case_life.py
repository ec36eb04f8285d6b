"""Those of the cases 24 to 38 that concern matching: returns, decisions and totals."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

import msgspec
from mangled import draw
from mangled_figures import run
from match_tables import arrow, expectation, line, match, outcome, state

from treasury import match_references
from treasury.matching.rules import Rules

CODE = "PAY-2026-004417"
WIRE = {"direction": "DBIT", "end_to_end_id": "E2E-1"}
BACK = {"direction": "CRDT", "original_reference": "E2E-1", "return_reason": "AC04"}
REQUEST = expectation("r", CODE, "100", kind="on_ramp", direction="DBIT")


def sent(entry_id: str = "a", day: int = 1, **more: Any) -> dict[str, Any]:
    return line(entry_id, "100", CODE, day, **(WIRE | more))


def returned(
    entry_id: str = "b", amount: str = "100", day: int = 27, **more: Any
) -> dict[str, Any]:
    return line(entry_id, amount, CODE, day, **(BACK | more))


def test_case_24_a_return_weeks_later_reopens_its_original_once() -> None:
    for lines in ([sent(), returned()], [returned(), sent()]):
        matches = match(lines, [REQUEST])
        assert [outcome(matches, name)["outcome"] for name in "ab"] == ["returned", "returned"]
        assert (state(matches)["state"], state(matches)["received"]) == ("reopened", Decimal(0))
        assert len(matches.allocations) == 0


def test_case_24_one_return_reopens_one_of_two_wires() -> None:
    lines = [sent("a", 1), sent("c", 2, end_to_end_id="E2E-2"), returned()]
    matches = match(lines, [expectation("r", CODE, "200", kind="on_ramp", direction="DBIT")])
    assert outcome(matches, "a")["outcome"] == "returned"
    assert outcome(matches, "c")["outcome"] == "matched"
    assert state(matches)["received"] == Decimal(100)


def test_case_24_a_partial_return_reopens_its_part() -> None:
    matches = match([sent(), returned(amount="30")], [REQUEST])
    assert outcome(matches, "b")["outcome"] == "returned"
    assert state(matches)["received"] == Decimal(70)
    assert state(matches)["remaining"] == Decimal(30)
    assert state(matches)["state"] == "reopened"


def test_case_24_a_return_of_an_unknown_payment_is_a_conflict_and_reopens_nothing() -> None:
    matches = match([sent(), returned(original_reference="E2E-9")], [REQUEST])
    assert outcome(matches, "a")["outcome"] == "matched"
    line_outcome = outcome(matches, "b")
    assert (line_outcome["outcome"], line_outcome["matched_amount"]) == ("conflict", None)
    assert line_outcome["reason"] == "direction: CRDT, expected DBIT; marked as a return"
    assert state(matches)["state"] == "received"


def test_case_26_a_persons_match_survives_another_run_and_other_rules() -> None:
    rows = arrow([line("a", "90", "PAY-2026 004418")])
    expectations = arrow(
        [expectation("r", CODE, "100"), expectation("s", "PAY-2026-004418", "500")]
    )
    decision = {"entry_id": "a", "expectation_id": "r", "verdict": "accept", "reason": "by phone"}
    for rules in (Rules(), Rules(min_damaged=20, max_candidates=1)):
        matches = match_references(rows, expectations, decisions=arrow([decision]), rules=rules)
        line_outcome = outcome(matches)
        assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("matched", "r")
        assert state(matches)["received"] == Decimal(90)


def test_case_27_undoing_a_decision_restores_the_exact_state() -> None:
    rows = [line("a", "100", "PAY-2026 004417 x PAY-2026-004418"), line("b", "100", "no code")]
    expectations = [expectation("r", CODE, "100"), expectation("s", "PAY-2026-004418", "70")]
    decision = {"entry_id": "b", "expectation_id": "r", "verdict": "accept", "reason": "by phone"}
    before, _, after = (
        match(rows, expectations),
        match(rows, expectations, [decision]),
        match(rows, expectations),
    )
    for name in ("lines", "expectations", "allocations", "candidates"):
        assert getattr(before, name).arrow.equals(getattr(after, name).arrow)


def test_case_28_the_input_tables_are_not_modified() -> None:
    rows, expectations = arrow([sent(), returned()]), arrow([REQUEST])
    copies = arrow([sent(), returned()]), arrow([REQUEST])
    match_references(rows, expectations)
    assert (rows, expectations) == copies


def test_case_33_every_line_is_in_one_outcome_and_the_sums_tie_to_the_cent() -> None:
    world = draw(33, each=2)
    matches = run(world)
    amounts = {row["entry_id"]: row for row in world.lines}
    booked: Counter[str] = Counter()
    for row in world.lines:
        booked[row["currency"]] += row["amount"]
    answered: Counter[str] = Counter()
    for row in matches.lines.arrow.to_pylist():
        answered[amounts[row["entry_id"]]["currency"]] += amounts.pop(row["entry_id"])["amount"]
    assert amounts == {}
    assert answered == booked


def test_case_34_the_requested_amount_is_the_received_plus_the_remaining_amount() -> None:
    world = draw(34, each=2)
    matches = run(world)
    shares: Counter[str] = Counter()
    for share in matches.allocations.arrow.to_pylist():
        shares[share["expectation_id"]] += share["amount"]
    states = {row["expectation_id"]: row for row in matches.expectations.arrow.to_pylist()}
    for request in world.expectations:
        if request["amount"] is not None:
            state_row = states[request["expectation_id"]]
            # A line's share is negative for a request of the opposite direction.
            received = abs(shares[request["expectation_id"]])
            assert request["amount"] == received + state_row["remaining"]


def test_case_35_a_refund_without_original_ids_is_suggested() -> None:
    refund = line("b", "100", "REFUND as agreed", 20, direction="CRDT")
    matches = match([sent(), refund], [REQUEST])
    line_outcome = outcome(matches, "b")
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")
    assert line_outcome["reason"].startswith(
        "no reference; as much moved the other way on 2026-10-"
    )
    assert outcome(matches, "a")["outcome"] == "matched"
    assert state(matches)["received"] == Decimal(100)


def test_case_36_a_recall_returned_in_part_leaves_the_difference_received() -> None:
    recall = returned(amount="97.50", return_reason="FOCR")
    matches = match([sent(), recall], [REQUEST])
    assert outcome(matches, "b")["outcome"] == "returned"
    assert state(matches)["received"] == Decimal("2.50")
    assert state(matches)["remaining"] == Decimal("97.50")


def test_case_37_a_payout_without_a_line_stays_open() -> None:
    unrelated = line("x", "9.99", "rent")
    matches = match([unrelated], [expectation("r", CODE, "100", status="SUCCEEDED")])
    assert (state(matches)["state"], state(matches)["remaining"]) == ("open", Decimal(100))


def test_case_38_without_lines_nothing_is_matched() -> None:
    nothing = arrow([line("a", "1", "x")]).slice(0, 0)
    matches = match_references(nothing, arrow([expectation("v", "VFY-8M3T-407")]))
    assert matches.expectations.arrow["state"].to_pylist() == ["standing"]
    assert matches.counts()["matched"] == 0
    assert matches.expectations.arrow["received"].to_pylist() == [Decimal(0)]


def test_matches_carry_the_hash_of_their_rules() -> None:
    rows, expectations = arrow([line("a", "100", CODE)]), arrow([expectation("r", CODE, "100")])
    rules = Rules(max_candidates=2)
    assert match_references(rows, expectations, rules=rules).rules_hash == rules.hash
    assert msgspec.structs.replace(rules, max_candidates=3).hash != rules.hash
