"""People's decisions have priority over references."""

from __future__ import annotations

from decimal import Decimal

import pytest
from match_tables import expectation, line, match, outcome, state

from treasury.core.errors import TableError

CODE = "PAY-2026-004417"


def decision(verdict: str, expectation_id: str | None = "r", entry: str = "a") -> dict[str, object]:
    row = {"entry_id": entry, "expectation_id": expectation_id}
    return row | {"verdict": verdict, "reason": "checked"}


@pytest.mark.acceptance
def test_an_accepted_suggestion_is_matched() -> None:
    rows, expectations = [line("a", "100", "PAY-2026-00441")], [expectation("r", CODE, "100")]
    assert outcome(match(rows, expectations))["outcome"] == "suggested"
    matches = match(rows, expectations, [decision("accept")])
    assert outcome(matches)["outcome"] == "matched"
    assert "checked" in outcome(matches)["reason"]
    assert state(matches)["state"] == "received"


def test_a_person_may_choose_one_of_two_codes() -> None:
    expectations = [expectation("r", CODE, "100"), expectation("s", "VFY-8M3T-407")]
    rows = [line("a", "100", f"{CODE} VFY-8M3T-407")]
    matches = match(rows, expectations, [decision("accept", "s")])
    assert (outcome(matches)["outcome"], outcome(matches)["expectation_id"]) == ("matched", "s")


def test_a_rejected_pair_is_not_a_candidate() -> None:
    rows, expectations = [line("a", "100", "PAY-2026 004417")], [expectation("r", CODE, "100")]
    matches = match(rows, expectations, [decision("reject")])
    assert outcome(matches)["outcome"] == "unreferenced"
    assert len(matches.candidates) == 0


def test_an_ignored_line_keeps_the_reason_and_receives_nothing() -> None:
    rows, expectations = [line("a", "100", CODE)], [expectation("r", CODE, "100")]
    matches = match(rows, expectations, [decision("ignore", None)])
    assert (outcome(matches)["outcome"], outcome(matches)["reason"]) == ("ignored", "checked")
    assert state(matches)["received"] == Decimal(0)


def test_accepting_a_pair_twice_is_an_error_that_names_the_pair() -> None:
    rows, expectations = [line("a", "100", "x")], [expectation("r", CODE, "100")]
    with pytest.raises(TableError, match="decisions: pair 'a for r'"):
        match(rows, expectations, [decision("accept"), decision("accept")])


@pytest.mark.parametrize("order", [1, -1])
def test_accepting_and_rejecting_a_pair_is_an_error_that_names_the_pair(order: int) -> None:
    rows, expectations = [line("a", "100", "x")], [expectation("r", CODE, "100")]
    with pytest.raises(TableError, match="decisions: pair 'a for r'"):
        match(rows, expectations, [decision("accept"), decision("reject")][::order])


@pytest.mark.parametrize(
    ("incomplete", "words"),
    [
        (decision("accept", None), "accept of 'a' has no expectation_id"),
        (decision("reject", ""), "reject of 'a' has no expectation_id"),
        (decision("ignore", None) | {"reason": " "}, "ignore of 'a' has no reason"),
    ],
)
def test_a_decision_without_an_expectation_or_reason_is_refused(
    incomplete: dict[str, object], words: str
) -> None:
    with pytest.raises(TableError, match=words):
        match([line("a", "100", CODE)], [expectation("r", CODE, "100")], [incomplete])


def test_a_pair_rejected_twice_is_rejected() -> None:
    rows, expectations = [line("a", "100", CODE)], [expectation("r", CODE, "100")]
    matches = match(rows, expectations, [decision("reject"), decision("reject")])
    assert outcome(matches)["outcome"] == "unreferenced"


def test_a_decision_to_accept_a_missing_expectation_is_reported_and_not_applied() -> None:
    rows, expectations = [line("a", "100", CODE)], [expectation("r", CODE, "100")]
    matches = match(rows, expectations, [decision("accept", "gone")])
    line_outcome = outcome(matches)
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("unreferenced", None)
    assert line_outcome["reason"] == "accepted for gone, which is not expected any more"
    assert state(matches)["received"] == Decimal(0)


def test_a_line_accepted_without_a_reason_has_the_reason_accepted() -> None:
    rows, expectations = [line("a", "100", "x")], [expectation("r", CODE, "100")]
    matches = match(rows, expectations, [decision("accept") | {"reason": None}])
    assert outcome(matches)["reason"] == "accepted"
    assert matches.candidates.arrow["reason"].to_pylist() == ["accepted"]


def test_a_line_accepted_and_ignored_is_refused_by_name() -> None:
    rows, expectations = [line("a", "100", "x")], [expectation("r", CODE, "100")]
    with pytest.raises(TableError, match="decisions: entry_id 'a'"):
        match(rows, expectations, [decision("accept"), decision("ignore", None)])


@pytest.mark.acceptance
def test_a_line_accepted_for_several_expectations_pays_them_in_order() -> None:
    expectations = [
        expectation("r", CODE, "100"),
        expectation("s", "PAY-2026-004418", "80"),
        expectation("z", "VFY-8M3T-407"),
    ]
    rows = [line("a", "40", CODE), line("b", "150", "both", 2)]
    accepted = [decision("accept", name, "b") for name in ("z", "s", "r")]
    matches = match(rows, expectations, accepted)
    shares = {(row["entry_id"], row["expectation_id"]): row["amount"]
              for row in matches.allocations.arrow.to_pylist()}  # fmt: skip
    assert shares == {
        ("a", "r"): Decimal(40), ("b", "r"): Decimal(60), ("b", "s"): Decimal(80),
        ("b", "z"): Decimal(10),
    }  # fmt: skip
    line_outcome = outcome(matches, "b")
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("matched", None)
    assert line_outcome["matched_amount"] == Decimal(150)
    assert [state(matches, name)["state"] for name in "rsz"] == ["received", "received", "standing"]


def test_two_lines_accepted_for_the_same_expectations_pay_them_once() -> None:
    expectations = [expectation("r", CODE, "100"), expectation("s", "PAY-2026-004418", "80")]
    rows = [line(name, "150", "both", day) for name, day in (("a", 1), ("b", 2))]
    accepted = [decision("accept", name, entry) for entry in "ab" for name in "rs"]
    matches = match(rows, expectations, accepted)
    assert state(matches, "r")["received"] == Decimal(100)
    assert state(matches, "s")["received"] == Decimal(80)
    assert {row["outcome"] for row in matches.lines.arrow.to_pylist()} == {"matched"}


def test_an_accepted_line_in_another_currency_is_settled_but_receives_nothing() -> None:
    rows, expectations = [line("a", "100", CODE, currency="USD")], [expectation("r", CODE, "100")]
    matches = match(rows, expectations, [decision("accept")])
    assert outcome(matches)["outcome"] == "matched"
    assert "nothing of it counts" in outcome(matches)["reason"]
    assert (state(matches)["state"], len(matches.allocations)) == ("open", 0)


@pytest.mark.acceptance
def test_a_refund_accepted_for_its_request_takes_the_money_back() -> None:
    sent = line("a", "100", CODE, 1, direction="DBIT")
    back = line("b", "100", "Refund of unallocated payment", 9)
    expectations = [expectation("r", CODE, "100", direction="DBIT")]
    line_outcome = outcome(match([sent, back], expectations), "b")
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")
    matches = match([sent, back], expectations, [decision("accept", "r", "b")])
    assert [row["outcome"] for row in matches.lines.arrow.to_pylist()] == ["returned", "returned"]
    assert (state(matches)["state"], state(matches)["received"]) == ("reopened", Decimal(0))


@pytest.mark.acceptance
def test_a_line_accepted_as_a_return_is_not_the_original_of_another_return() -> None:
    sent = line("a", "100", CODE, 1, direction="DBIT")
    back = line("b", "100", None, 3, end_to_end_id="E")
    again = line("c", "100", None, 5, direction="DBIT", original_reference="E", is_reversal=True)
    expectations = [expectation("r", CODE, "100", direction="DBIT")]
    matches = match([sent, back, again], expectations, [decision("accept", "r", "b")])
    assert [row["outcome"] for row in matches.lines.arrow.to_pylist()] == [
        "returned", "returned", "suggested",
    ]  # fmt: skip


@pytest.mark.first_case
@pytest.mark.parametrize("references", [("", ""), ("E2E-1", "E2E-2")])
@pytest.mark.parametrize("back", [1, 2])
def test_an_accepted_return_reopens_the_second_payment_first(
    references: tuple[str, str], back: int
) -> None:
    """Two wires paid one request, and no fact shows which of them each credit returns."""
    expectations = [expectation("r", CODE, "100", direction="DBIT")]
    paid = [
        line(name, "100", CODE, day, direction="DBIT", end_to_end_id=reference or None)
        for name, day, reference in zip("ab", (1, 2), references, strict=True)
    ]
    refunds = [line(name, "100", "refund", day) for name, day in zip("cd", (8, 9), strict=True)]
    decisions = [decision("accept", "r", name) for name in "cd"[:back]]
    matches = match([*paid, *refunds[:back]], expectations, decisions)
    line_outcome = [outcome(matches, name)["outcome"] for name in "abcd"[: 2 + back]]
    first = "matched" if back == 1 else "returned"
    assert line_outcome == [first, "returned", *["returned"] * back]
    assert outcome(matches, "c")["reason"] == "returned: brings back the payment of 2026-10-02"
    assert state(matches)["received"] == Decimal(100 if back == 1 else 0)


def test_each_accepted_return_brings_back_the_latest_line_before_it() -> None:
    expectations = [expectation("r", CODE, None)]
    paid = [line(name, "5", CODE, day) for name, day in (("a", 1), ("b", 2), ("e", 5))]
    back = [line(name, "5", "refund", day, direction="DBIT") for name, day in (("c", 3), ("f", 6))]
    decisions = [decision("accept", "r", "c"), decision("accept", "r", "f")]
    matches = match([*paid, *back], expectations, decisions)
    links = {name: outcome(matches, name)["reason"] for name in "cf"}
    assert links == {
        "c": "returned: brings back the payment of 2026-10-02",
        "f": "returned: brings back the payment of 2026-10-05",
    }
    assert [outcome(matches, name)["outcome"] for name in "abe"] == [
        "matched", "returned", "returned",
    ]  # fmt: skip


def test_the_reason_of_a_partly_counted_line_does_not_say_that_nothing_counts() -> None:
    expectations = [
        expectation("r", CODE, "5"), expectation("s", "PAY-2026-000778", "5", currency="USD"),
    ]  # fmt: skip
    decisions = [decision("accept", "r", "a"), decision("accept", "s", "a")]
    matches = match([line("a", "5", CODE, 1)], expectations, decisions)
    assert matches.allocations.arrow["amount"].to_pylist() == [Decimal(5)]
    assert "nothing of it counts" not in outcome(matches, "a")["reason"]
