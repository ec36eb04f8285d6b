"""Payments that differ from the amount of the named request and fit another request."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from attacked_lines import LONG, PAYER, Row, left_open, request, standing
from match_tables import expectation, line, match, outcome, state

OTHER = "PAY-2026-009983"
STRANGER = {"counterparty_account": "DE89370400440532013000", "counterparty_name": "Stranger"}
OURS: dict[str, Any] = {"owner": "ours"}


def of_owner(name: str, code: str, amount: str, owner: str | None = "ours", **more: Any) -> Row:
    stated = {"counterparty_account": None, "counterparty_name": None, "owner": owner}
    return request(name, code, amount, **(stated | more))


def paid(amount: str, text: str = LONG, day: int = 5, **more: Any) -> Row:
    return line("a", amount, text, day, **(PAYER | more))


def earlier(amount: str, text: str = LONG, **more: Any) -> Row:
    """Return a payment that precedes the one of `paid`."""
    return line("k", amount, text, 1, **(PAYER | more))


# Fully paid requests


@pytest.mark.acceptance
@pytest.mark.parametrize("amount", ["515", "2000", "0.50", "499.99"])
def test_a_further_payment_of_a_fully_paid_request_is_only_suggested(amount: str) -> None:
    matches = match([earlier("500"), paid(amount)], [of_owner("r", LONG, "500", None)])
    row = outcome(matches)
    assert (row["outcome"], row["expectation_id"]) == ("suggested", "r")
    assert "it is fully paid already" in row["reason"]
    assert state(matches)["state"] == "received"


def test_the_same_amount_once_more_is_a_duplicate() -> None:
    rows = [earlier("500"), paid("500"), paid("500", day=6) | {"entry_id": "b"}]
    matches = match(rows, [of_owner("r", LONG, "500")])
    assert matches.lines.arrow["outcome"].to_pylist() == ["duplicate", "duplicate", "matched"]


@pytest.mark.acceptance
def test_a_request_fully_paid_by_instalments_takes_no_further_payment() -> None:
    parts = [earlier("200"), line("l", "300", LONG, 2, **PAYER)]
    row = left_open([*parts, paid("200")], [of_owner("r", LONG, "500")])
    assert "it is fully paid already" in row["reason"]


@pytest.mark.acceptance
def test_a_suggested_payment_does_not_reduce_the_remaining_amount() -> None:
    lines = [line("k", "900", LONG, 1, **STRANGER), paid("500")]
    matches = match(lines, [of_owner("r", LONG, "500")])
    assert outcome(matches, "k")["outcome"] == "suggested"
    assert outcome(matches)["outcome"] == "matched"


@pytest.mark.acceptance
def test_requests_settled_by_an_accepted_line_are_not_matched_again() -> None:
    lines = [earlier("700", "thanks"), paid("500"), paid("515", day=6) | {"entry_id": "b"}]
    decisions = [
        {"entry_id": "k", "expectation_id": name, "verdict": "accept", "reason": "by telephone"}
        for name in ("r", "s")
    ]
    both = [of_owner("r", LONG, "500"), of_owner("s", OTHER, "200")]
    matches = match(lines, both, decisions)
    assert outcome(matches)["outcome"] == outcome(matches, "b")["outcome"] == "suggested"
    assert {row["state"] for row in matches.expectations.arrow.to_pylist()} == {"received"}


# The amount of another request


@pytest.mark.acceptance
@pytest.mark.parametrize("first", ["500", "5000"])
def test_a_payment_of_the_amount_of_the_owners_other_request_is_not_matched(first: str) -> None:
    lines = [earlier("500"), paid("612.35")]
    row = left_open(lines, [of_owner("r", LONG, first), of_owner("s", OTHER, "612.35")])
    assert "PAY-2026-009983, of the same owner, expects exactly this amount" in row["reason"]


TIES = (
    {"owner": "ours"},
    {"owner": None, "counterparty_account": PAYER["counterparty_account"]},
    {"owner": None, "counterparty_name": "ramp-operator B.V."},
)


@pytest.mark.acceptance
@pytest.mark.parametrize("tie", TIES)
def test_both_requests_of_the_payer_are_named(tie: Row) -> None:
    both = [of_owner("r", LONG, "5000", **tie), of_owner("s", OTHER, "612.35", **tie)]
    row = paid("612.35", counterparty_name="Ramp Operator BV")
    matches = match([row], both)
    assert outcome(matches)["outcome"] == "suggested"
    named = {row["expectation_id"] for row in matches.candidates.arrow.to_pylist()}
    assert named == {"r", "s"}


@pytest.mark.acceptance
def test_a_payer_of_a_part_of_another_request_may_have_meant_that_request() -> None:
    both = [of_owner("r", LONG, "5000", None), of_owner("s", OTHER, "700", None)]
    left_open([earlier("87.65", OTHER), paid("612.35")], both)


@pytest.mark.acceptance
def test_a_payer_known_for_one_owner_may_have_meant_another_request_of_that_owner() -> None:
    requests = [
        of_owner("k", "PAY-2026-000001", "10", "his"),
        of_owner("r", LONG, "5000", None),
        of_owner("s", OTHER, "612.35", "his"),
    ]
    left_open([earlier("10", "PAY-2026-000001"), paid("612.35")], requests)


@pytest.mark.acceptance
@pytest.mark.parametrize("typed", ["PAY-2026-004428", "PAY-2026-00441", "PAY-2026-004471"])
def test_a_similar_code_with_the_amount_of_another_request_is_not_matched(typed: str) -> None:
    both = [of_owner("r", LONG, "612.35", None), of_owner("s", typed, "5000", None)]
    left_open([paid("612.35", typed)], both)


@pytest.mark.acceptance
def test_a_code_two_digits_off_the_payers_own_request_is_only_suggested() -> None:
    both = [
        of_owner("r", LONG, "500", None, counterparty_account=PAYER["counterparty_account"]),
        of_owner("s", "PAY-2026-014418", "5000", None),
    ]
    matches = match([paid("500", "PAY-2026-014418")], both)
    assert outcome(matches)["outcome"] == "suggested"
    assert "r" in {row["expectation_id"] for row in matches.candidates.arrow.to_pylist()}


@pytest.mark.acceptance
def test_two_payments_that_name_each_others_request_are_only_suggested() -> None:
    lines = [paid("612.35"), paid("5000", OTHER) | {"entry_id": "b"}]
    matches = match(lines, [of_owner("r", LONG, "5000"), of_owner("s", OTHER, "612.35")])
    assert set(matches.lines.arrow["outcome"].to_pylist()) == {"suggested"}


@pytest.mark.acceptance
def test_an_amount_that_fits_another_request_with_stated_charges_is_not_matched() -> None:
    both = [of_owner("r", LONG, "5000"), of_owner("s", OTHER, "612.35")]
    row = left_open([paid("600", charges=Decimal("12.35"))], both)
    assert OTHER in row["reason"]


# Certain matches


@pytest.mark.acceptance
def test_an_amount_that_fits_the_named_request_with_stated_charges_matches() -> None:
    both = [of_owner("r", LONG, "612.35"), of_owner("s", OTHER, "612.35")]
    matches = match([paid("600", charges=Decimal("12.35"))], both)
    assert (outcome(matches)["outcome"], outcome(matches)["expectation_id"]) == ("matched", "r")
    exact = [of_owner("r", LONG, "612.35"), of_owner("s", OTHER, "600")]
    left_open([paid("600", charges=Decimal("12.35"))], exact)


def test_a_standing_code_takes_any_amount() -> None:
    both = [standing("v", "VFY-8M3T-407") | OURS, of_owner("s", OTHER, "612.35")]
    assert outcome(match([paid("612.35", "VFY-8M3T-407")], both))["outcome"] == "matched"


@pytest.mark.acceptance
def test_our_own_debit_with_our_end_to_end_id_matches() -> None:
    both = [
        expectation(name, code, amount, direction="DBIT", owner="ours")
        for name, code, amount in (("r", LONG, "5000"), ("s", OTHER, "612.35"))
    ]
    ours = {"direction": "DBIT", "end_to_end_id": LONG}
    assert outcome(match([paid("612.35", "wire", **ours)], both))["outcome"] == "matched"
    left_open([paid("612.35", direction="DBIT")], both)


def test_after_an_accepted_instalment_the_payers_next_one_for_the_code_matches() -> None:
    both = [of_owner("r", LONG, "5000"), of_owner("s", OTHER, "612.35")]
    lines = [earlier("612.35"), paid("612.35"), line("z", "612.35", LONG, 6, **STRANGER)]
    accepted = {"entry_id": "k", "expectation_id": "r", "verdict": "accept", "reason": "instalment"}
    matches = match(lines, both, [accepted])
    outcomes = [outcome(matches, name)["outcome"] for name in "kaz"]
    assert outcomes == ["matched", "matched", "suggested"]


def test_another_request_paid_by_its_own_reference_does_not_prevent_a_match() -> None:
    lines = [paid("612.35"), line("b", "612.35", OTHER, 9, **PAYER)]
    matches = match(lines, [of_owner("r", LONG, "5000"), of_owner("s", OTHER, "612.35")])
    assert matches.lines.arrow["outcome"].to_pylist() == ["matched", "matched"]


@pytest.mark.acceptance
def test_a_common_owner_and_payer_of_all_requests_do_not_prevent_a_match() -> None:
    rates = [of_owner(f"r{n}", f"INV{n:02}-QX{7 * n:03}-{n:02}{9 * n:02}", "500") for n in range(8)]
    whole = [of_owner(f"s{n}", f"S{n:02}-ABCD{n}X-{n}{n}{n}", "1500") for n in range(3)]
    lines = [line(f"a{n}", "500", f"{row['code']} rate", 5, **PAYER) for n, row in enumerate(whole)]
    matches = match(lines, [*rates, *whole])
    assert set(matches.lines.arrow["outcome"].to_pylist()) == {"matched"}
    rates[0] = rates[0] | {"owner": "theirs"}
    matches = match(lines, [*rates, *whole])
    assert set(matches.lines.arrow["outcome"].to_pylist()) == {"suggested"}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "more",
    [
        {"status": "CANCELLED"},
        {"currency": "USD"},
        {"direction": "DBIT"},
        {"amount": "612.36"},
    ],
)
def test_another_request_that_cannot_take_the_payment_does_not_prevent_a_match(more: Row) -> None:
    other = of_owner("s", OTHER, more.get("amount", "612.35"))
    other |= {name: value for name, value in more.items() if name != "amount"}
    matches = match([paid("612.35")], [of_owner("r", LONG, "5000"), other])
    assert outcome(matches)["outcome"] == "matched"
