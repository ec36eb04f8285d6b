"""Cases 15 to 23: amounts, times and statuses."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from itertools import permutations

import pytest
from match_tables import arrow, expectation, line, match, outcome, state

from treasury import match_references

CODE = "PAY-2026-004417"
KNOWN_PAYER = {"counterparty_account": "DE02120300000000202051"}
EARLIER = "PAY-2026-000001"


def requests(*amounts: str) -> list[dict[str, object]]:
    """Return a request that the known payer paid earlier, and requests that no line names."""
    rows = [
        expectation(f"r{n}", f"PAY-2026-9{n:05}", amount) for n, amount in enumerate(amounts, 1)
    ]
    return [expectation("r0", EARLIER, "7"), *rows]


EARLIER_LINE = line("before", "7", EARLIER, 1, **KNOWN_PAYER)


@pytest.mark.parametrize(
    ("payer", "becomes"),
    [(KNOWN_PAYER, "suggested"), ({"counterparty_account": "DE99"}, "unreferenced")],
)
def test_case_15_equal_amounts_on_one_day_never_match_without_a_reference(
    payer: dict[str, str], becomes: str
) -> None:
    lines = [line(f"a{n}", "100", "thanks", 9, **payer) for n in range(3)]
    matches = match([EARLIER_LINE, *lines], requests("100", "100", "100"))
    line_outcome = [outcome(matches, f"a{n}") for n in range(3)]
    assert [row["outcome"] for row in line_outcome] == [becomes] * 3
    assert matches.allocations.arrow["entry_id"].to_pylist() == ["before"]


def test_case_16_the_greedy_trap_has_one_answer_in_any_order() -> None:
    """Line a1 fits request b1 best and b2 nearly as well; line a2 fits only b1."""
    lines = [
        line("a1", "100", "PAY-2026-00441 and more", 9),
        line("a2", "100", "PAY-2026-O04417", 9),
    ]
    expectations = [expectation("b1", CODE, "100"), expectation("b2", "PAY-2026-004418", "100")]
    answers = [
        match_references(arrow(list(order)), arrow(list(two)))
        for order in permutations(lines)
        for two in permutations(expectations)
    ]
    for answer in answers:
        assert answer.lines.arrow.equals(answers[0].lines.arrow)
        assert answer.candidates.arrow.equals(answers[0].candidates.arrow)
        assert answer.lines.arrow["outcome"].to_pylist() == ["suggested", "suggested"]
        assert answer.lines.arrow["expectation_id"].to_pylist() == ["b1", "b1"]
        assert [row["expectation_id"] for row in answer.candidates.arrow.to_pylist()] == [
            "b1", "b2", "b1",
        ]  # fmt: skip


def test_case_17_sums_without_references_are_suggested_at_most_in_bounded_time() -> None:
    """Sixty equal parts have too many subsets to try each before the timeout."""
    lines = [line(f"a{n:02}", "10", "thanks", 9, **KNOWN_PAYER) for n in range(60)]
    matches = match([EARLIER_LINE, *lines], requests("300", "310", "10"))
    outcomes = {outcome(matches, f"a{n:02}")["outcome"] for n in range(60)}
    assert outcomes == {"suggested"}
    assert matches.allocations.arrow["entry_id"].to_pylist() == ["before"]


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("paid", "matched", "stands", "remaining"),
    [
        ("99.99", "99.99", "partly_received", "0.01"),
        ("88.50", "88.50", "partly_received", "11.50"),
        ("100.01", "100.00", "over_received", "0"),
        ("101.00", "100.00", "over_received", "0"),
    ],
)
def test_case_18_short_and_over_payments_keep_their_difference_visible(
    paid: str, matched: str, stands: str, remaining: str
) -> None:
    matches = match([line("a", paid, CODE)], [expectation("r", CODE, "100")])
    assert outcome(matches)["outcome"] == "matched"
    assert outcome(matches)["matched_amount"] == Decimal(matched)
    state_row = state(matches)
    assert (state_row["state"], state_row["remaining"]) == (stands, Decimal(remaining))
    assert state_row["received"] == Decimal(paid)


def test_case_18_instalments_add_up_to_the_cent() -> None:
    parts = ["33.33", "33.33", "33.34"]
    lines = [line(f"a{n}", part, CODE, n + 1) for n, part in enumerate(parts)]
    for count, stands in ((1, "partly_received"), (2, "partly_received"), (3, "received")):
        matches = match(lines[:count], [expectation("r", CODE, "100")])
        assert state(matches)["state"] == stands
        assert set(matches.lines.arrow["outcome"].to_pylist()) == {"matched"}


@pytest.mark.parametrize("days", [(2, 9), (9, 2)])
def test_case_18_one_request_paid_in_two_ways_is_received_once(days: tuple[int, int]) -> None:
    lines = [line("a", "100", CODE, days[0]), line("b", "100", "PAY-2026 004417", days[1])]
    matches = match(lines, [expectation("r", CODE, "100")])
    assert sum(matches.allocations.arrow["amount"].to_pylist()) == Decimal(100)
    assert matches.counts()["matched"] == 1
    assert state(matches)["state"] == "received"


def test_case_19_no_tolerance_hides_a_fee_and_six_decimals_stay_exact() -> None:
    """EURC has six decimals, so a millionth of a euro is a difference."""
    expectations = [expectation("r", CODE, "9126.400000", currency="EURC")]
    short = match([line("a", "9126.399999", CODE, currency="EURC")], expectations)
    assert state(short)["state"] == "partly_received"
    assert state(short)["remaining"] == Decimal("0.000001")
    exact = match([line("a", "9126.40", CODE, currency="EURC")], expectations)
    assert state(exact)["state"] == "received"


@pytest.mark.first_case
@pytest.mark.parametrize(
    "status", ["CANCELLED", "REJECTED", "BLOCKED", "DENIED", "FAILED", "CLOSED", "EXPIRED"]
)
def test_case_21_a_payment_to_a_stopped_request_is_a_conflict(status: str) -> None:
    expectations = [expectation("r", CODE, "100", status=status)]
    line_outcome = outcome(match([line("a", "100", CODE)], expectations))
    assert line_outcome["outcome"] == "conflict"
    assert status in line_outcome["reason"]


def test_case_21_a_payment_before_its_request_existed_never_matches() -> None:
    opened = datetime(2026, 10, 20, 9, tzinfo=UTC)
    expectations = [expectation("r", CODE, "100", opened_at=opened)]
    early = outcome(match([line("a", "100", CODE, 5)], expectations))
    assert (early["outcome"], early["reason"]) == (
        "conflict", "opened on 2026-10-20, after this line",
    )  # fmt: skip
    assert outcome(match([line("a", "100", CODE, 20)], expectations))["outcome"] == "matched"


def test_case_22_an_amount_changed_after_the_wire_shows_as_a_difference() -> None:
    sent = [line("a", "100", CODE)]
    before = match(sent, [expectation("r", CODE, "100")])
    after = match(sent, [expectation("r", CODE, "120")])
    assert (state(before)["state"], state(after)["state"]) == ("received", "partly_received")
    assert outcome(after)["outcome"] == "matched"
    assert state(after)["remaining"] == Decimal(20)


def test_case_23_a_status_alone_never_receives_money() -> None:
    """One request succeeded without a bank line; another has a line while the service waits."""
    matches = match([line("x", "1", "rent")], [expectation("r", CODE, "100", status="SUCCEEDED")])
    assert (state(matches)["state"], state(matches)["received"]) == ("open", Decimal(0))
    waiting = match([line("a", "100", CODE)], [expectation("r", CODE, "100")])
    assert state(waiting)["state"] == "received"
