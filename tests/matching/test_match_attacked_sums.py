"""Several codes that may add up to a line: a doubtful sum is not matched."""

from __future__ import annotations

from decimal import Decimal

import pytest
from attacked_lines import ACCOUNT_CODE, LONG, Row, left_open, request, standing
from match_tables import expectation, line, match, outcome


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("amount", "nearest"),
    [
        ("30", "PAY-2026-000001 and PAY-2026-000002 would be exactly it"),
        ("71", "PAY-2026-000001, PAY-2026-000002 and PAY-2026-000004 would leave EUR 1.00 over"),
        ("39.5", "PAY-2026-000004 would lack EUR 0.50"),
    ],
)
def test_a_sum_that_does_not_fit_names_the_nearest_combination(amount: str, nearest: str) -> None:
    expectations = [expectation(f"r{n}", f"PAY-2026-00000{n}", f"{n}0") for n in (1, 2, 4)]
    line_outcome = outcome(
        match(
            [line("a", amount, " ".join(request["code"] for request in expectations))], expectations
        )
    )
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("conflict", None)
    assert line_outcome["reason"].endswith(f"; {nearest}")


def test_several_whole_codes_whose_amounts_add_up_are_each_paid_in_full() -> None:
    expectations = [
        request("r", LONG, "100"),
        request("s", "PAY-2026-000001", "50"),
        request("t", "PAY-2026-000777", "7"),
    ]
    rows = [line("a", "157", "PAY-2026-004417, PAY-2026-000001 and PAY-2026-000777")]
    matches = match(rows, expectations)
    assert (outcome(matches)["outcome"], outcome(matches)["matched_amount"]) == (
        "matched",
        Decimal(157),
    )
    assert matches.allocations.arrow["amount"].to_pylist() == [
        Decimal(100),
        Decimal(50),
        Decimal(7),
    ]
    assert {row["state"] for row in matches.expectations.arrow.to_pylist()} == {"received"}


@pytest.mark.first_case
@pytest.mark.parametrize("amount", ["149.99", "150.01", "100", "50"])
def test_codes_that_do_not_add_up_are_a_conflict(amount: str) -> None:
    expectations = [request("r", LONG, "100"), request("s", "PAY-2026-000001", "50")]
    line_outcome = outcome(match([line("a", amount, f"{LONG} PAY-2026-000001")], expectations))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("conflict", None)


def test_a_sum_uses_remaining_amounts_and_pays_each_expectation_once() -> None:
    expectations = [request("r", LONG, "100"), request("s", "PAY-2026-000001", "50")]
    text = f"{LONG} PAY-2026-000001"
    rows = [line("k", "30", LONG, 1), line("a", "120", text, 2), line("b", "120", text, 3)]
    matches = match(rows, expectations)
    assert [outcome(matches, name)["outcome"] for name in "kab"] == [
        "matched",
        "matched",
        "conflict",
    ]
    assert sum(matches.allocations.arrow["amount"].to_pylist()) == Decimal(150)


def test_a_code_of_the_other_direction_counts_with_its_sign() -> None:
    expectations = [
        request("r", LONG, "100"),
        request("s", "PAY-2026-000001", "30", direction="DBIT"),
    ]
    matches = match([line("a", "70", f"{LONG} less PAY-2026-000001")], expectations)
    assert outcome(matches)["outcome"] == "matched"
    assert matches.allocations.arrow["amount"].to_pylist() == [Decimal(100), Decimal(-30)]
    assert {row["state"] for row in matches.expectations.arrow.to_pylist()} == {"received"}


@pytest.mark.first_case
@pytest.mark.parametrize(
    "changed", [{"currency": "USD"}, {"status": "CANCELLED"}, {"account": "XX"}]
)
def test_codes_of_which_one_is_contradicted_never_add_up(changed: Row) -> None:
    expectations = [request("r", LONG, "100"), request("s", "PAY-2026-000001", "50") | changed]
    assert (
        outcome(match([line("a", "150", f"{LONG} PAY-2026-000001")], expectations))["outcome"]
        == "conflict"
    )


def test_a_sum_next_to_a_third_code_in_pieces_is_not_matched() -> None:
    expectations = [
        request("r", LONG, "100"),
        request("s", "PAY-2026-000001", "50"),
        request("t", "VFY-8M3T-407", "9"),
    ]
    left_open([line("a", "150", f"{LONG} PAY-2026-000001 VFY 8M3T 407")], expectations)


def test_a_request_next_to_the_only_standing_code_of_its_account_needs_its_exact_amount() -> None:
    expectations = [standing("v", ACCOUNT_CODE), request("r", LONG, "100")]
    line_outcome = outcome(match([line("a", "100", f"{ACCOUNT_CODE} {LONG}")], expectations))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("matched", "r")
    assert (
        outcome(match([line("a", "99", f"{ACCOUNT_CODE} {LONG}")], expectations))["outcome"]
        == "conflict"
    )
    pooled = [*expectations, standing("w", "ABC-1111-222")]
    assert (
        outcome(match([line("a", "100", f"{ACCOUNT_CODE} {LONG}")], pooled))["outcome"]
        == "conflict"
    )


def test_a_similar_code_paid_in_part_competes_with_its_remaining_amount() -> None:
    expectations = [
        expectation("p", "PAY-2026-004417", "90"),
        expectation("q", "PAY-2026-004418", "100"),
    ]
    part = line("b", "40", "PAY-2026-004418", 1)
    slip = match([part, line("a", "60", "PAY-2026-004417", 3)], expectations)
    assert outcome(slip)["outcome"] == "suggested"
    assert "PAY-2026-004418, one slip away" in outcome(slip)["reason"]
    other = match([part, line("a", "61", "PAY-2026-004417", 3)], expectations)
    assert outcome(other)["outcome"] == "matched"


def test_a_sum_does_not_net_an_amount_owed_to_another_party() -> None:
    owed = {"direction": "DBIT", "counterparty_account": "DE7"}
    expectations = [
        expectation("x", "PAY-2026-000111", "100", counterparty_account=None),
        expectation("y", "PAY-2026-000112", "50", **owed),
    ]
    both = "PAY-2026-000111 PAY-2026-000112"
    strangers = match([line("a", "50", both, counterparty_account="DE5")], expectations)
    assert outcome(strangers)["outcome"] != "matched"
    theirs = match([line("a", "50", both, counterparty_account="DE7")], expectations)
    assert outcome(theirs)["outcome"] == "matched"
