"""Truncated, continued and divided codes, requests netted in a line, groups of equal payments."""

from __future__ import annotations

import pytest
from attacked_lines import LONG, Row, request, standing
from match_tables import OWN, expectation, line, match, outcome

SHORT, LONGER = "VFY-8M3T-407", "VFY-8M3T-40778"
LIMITS = (16, 18, 20, 25, 27, 30, 32, 35, 50, 60, 65, 70, 78, 80, 100, 105, 108, 140)


def outcomes(texts: list[str], amount: str, expectations: list[Row]) -> list[str]:
    rows = [line(f"a{n:02}", amount, text, 5) for n, text in enumerate(texts)]
    return match(rows, expectations).lines.arrow["outcome"].to_pylist()


@pytest.mark.parametrize("make", [request, standing])
def test_a_code_before_the_damaged_rest_of_a_code_with_the_amount_is_only_suggested(
    make: object,
) -> None:
    shorter = standing("v", SHORT) if make is standing else request("v", SHORT, "5000")
    texts = [f"{SHORT}{gap}79{end}" for gap in (" ", "\n", ", ", " - ") for end in ("", " thanks")]
    found = outcomes(texts, "500", [shorter, request("r", LONGER, "500")])
    assert found == ["suggested"] * len(texts)


def test_a_code_at_the_end_of_a_text_that_begins_a_code_with_the_amount_is_only_suggested() -> None:
    expectations = [request("s", SHORT, "5000"), request("r", LONGER, "500")]
    texts = [f"{'invoices of the month':x<{136 - len(SHORT)}} {SHORT}", f"rent {SHORT}", SHORT]
    assert outcomes(texts, "500", expectations) == ["suggested"] * 3
    assert outcomes(texts[1:], "70", expectations) == ["matched"] * 2
    assert outcomes([f"{SHORT} as agreed"], "500", expectations) == ["matched"]


def test_a_code_at_the_end_of_a_text_as_long_as_a_bank_limit_is_only_suggested() -> None:
    expectations = [standing("s", "EDD-5KY4-716"), request("r", "EDD-5KY4-7164", "500")]
    texts = [f"{'R':x<{limit - 13}} EDD-5KY4-716" for limit in LIMITS]
    assert {len(text) for text in texts} == set(LIMITS)
    assert outcomes(texts, "33", expectations) == ["suggested"] * len(LIMITS)
    assert outcomes(["RENT EDD-5KY4-716"], "33", expectations) == ["matched"]


@pytest.mark.parametrize("longer", [standing, request])
def test_punctuation_inside_a_longer_code_raises_a_doubt(longer: object) -> None:
    code, whole = "UJW-GU38-762", "UJW-GU38-7621"
    last = standing("t", whole) if longer is standing else request("t", whole, "612.35")
    texts = [f"{code}{sign}1" for sign in "/.-"]
    rows = [line(f"a{n}", "612.35", text, 5) for n, text in enumerate(texts)]
    rows.append(line("e", "612.35", None, 5, end_to_end_id=texts[0]))
    for row in match(rows, [standing("s", code), last]).lines.arrow.to_pylist():
        assert row["outcome"] == "suggested", row
        assert code in row["reason"]


def test_the_usual_punctuation_of_a_code_or_none_raises_no_doubt() -> None:
    expectations = [request("s", "UJW-GU38-762", "10"), request("t", "UJW-GU38-7621", "20")]
    texts = ["UJW/GU38/7621", "ujw.gu38.7621", "UJWGU387621", "UJW-GU387621"]
    assert outcomes(texts[:1], "20", expectations) == ["matched"]
    found = outcomes(texts, "20", expectations)
    assert found.count("duplicate") == 3


def netted(owner: str | None, other: str | None) -> list[Row]:
    """Return a request of one owner, and a request of the other in the opposite direction."""
    wire = {"kind": "on_ramp", "account": None, "direction": "DBIT"}
    return [
        expectation("r", LONG, "500", account=OWN, owner=owner),
        expectation("s", "PAY-2026-009983", "100", owner=other, **wire),
    ]


@pytest.mark.first_case
@pytest.mark.parametrize(("owner", "other"), [("a", "b"), ("a", None), (None, "b")])
def test_a_request_of_another_owner_does_not_count_against_the_sum(
    owner: str | None, other: str | None
) -> None:
    row = line("a", "400", f"{LONG} PAY-2026-009983", 5)
    matches = match([row], netted(owner, other))
    assert outcome(matches)["outcome"] == "conflict"
    assert len(matches.allocations) == 0


@pytest.mark.first_case
@pytest.mark.parametrize("owner", ["a", None])
def test_a_request_of_the_same_owner_counts_with_its_sign(owner: str | None) -> None:
    matches = match([line("a", "400", f"{LONG} PAY-2026-009983", 5)], netted(owner, owner))
    assert outcome(matches)["outcome"] == "matched"


@pytest.mark.acceptance
def test_equal_numbers_of_payments_and_requests_of_one_amount_form_a_group() -> None:
    requests = [request(f"r{n}", f"PAY-2026-00441{n}", "77.31") for n in range(3)]
    known = line("k", "9", "PAY-2026-000001", 1)
    rows = [line(f"a{n}", "77.31", "thanks", 9 - n) for n in range(3)]
    matches = match([known, *rows], [request("f", "PAY-2026-000001", "9"), *requests])
    for n, row in enumerate(matches.lines.arrow.to_pylist()[:3]):
        assert (row["outcome"], row["expectation_id"]) == ("suggested", f"r{2 - n}")
        assert "one of 3 payments that fit as many requests equally" in row["reason"]
    fewer = match([known, *rows[:2]], [request("f", "PAY-2026-000001", "9"), *requests])
    assert all("payments that fit" not in row["reason"] for row in fewer.lines.arrow.to_pylist())


def test_payments_for_several_requests_with_one_code_are_a_group() -> None:
    requests = [request(f"r{n}", LONG, "77.31") for n in range(2)]
    rows = [line(f"a{n}", "77.31", LONG, 5 + n) for n in range(2)]
    matches = match(rows, requests)
    assert matches.lines.arrow["expectation_id"].to_pylist() == ["r0", "r1"]
    assert matches.lines.arrow["outcome"].to_pylist() == ["suggested"] * 2


def decided(*verdicts: tuple[str, str | None, str]) -> list[Row]:
    return [
        {"entry_id": name, "expectation_id": expected, "verdict": verdict, "reason": "by telephone"}
        for name, expected, verdict in verdicts
    ]


@pytest.mark.parametrize(("accepted", "left"), [("r0", "r1"), ("r1", "r0")])
def test_after_one_payment_of_a_pair_is_accepted_the_other_gets_the_remaining_request(
    accepted: str, left: str
) -> None:
    requests = [request(f"r{n}", LONG, "77.31") for n in range(2)]
    rows = [line(f"a{n}", "77.31", LONG, 5 + n) for n in range(2)]
    matches = match(rows, requests, decided(("a0", accepted, "accept")))
    found = outcome(matches, "a1")
    assert (found["outcome"], found["expectation_id"]) == ("suggested", left)
    assert "payments that fit" not in found["reason"]
    assert matches.groups() == {}


def equal_payments() -> tuple[list[Row], list[Row]]:
    """Return three equal requests and payments, and an earlier pair that makes the payer known."""
    requests = [request(f"r{n}", f"PAY-2026-00441{n}", "77.31") for n in range(3)]
    known = line("k", "9", "PAY-2026-000001", 1)
    rows = [line(f"a{n}", "77.31", "thanks", 5 + n) for n in range(3)]
    return [known, *rows], [request("f", "PAY-2026-000001", "9"), *requests]


@pytest.mark.acceptance
def test_each_line_of_a_group_lists_the_whole_group_one_to_one() -> None:
    whole = {"a0": "r0", "a1": "r1", "a2": "r2"}
    assert match(*equal_payments()).groups() == {"a0": whole, "a1": whole, "a2": whole}


@pytest.mark.acceptance
def test_a_rejected_pair_dissolves_its_group() -> None:
    matches = match(*equal_payments(), decided(("a2", "r2", "reject")))
    assert matches.groups() == {}
    assert all("payments that fit" not in row["reason"] for row in matches.lines.arrow.to_pylist())


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "changed",
    [{"entry_status": "PDNG"}, {"counterparty_account": "LT99"}, {"amount": "77.32"}],
)
def test_a_group_with_a_line_that_is_not_booked_or_not_equal_is_not_offered(changed: Row) -> None:
    rows, requests = equal_payments()
    amount = changed.get("amount", "77.31")
    others = {name: value for name, value in changed.items() if name != "amount"}
    rows[2] = line("a1", amount, "thanks", 6, **others)
    assert match(rows, requests).groups() == {}


@pytest.mark.acceptance
def test_unequal_numbers_of_payments_and_requests_form_no_group() -> None:
    rows, requests = equal_payments()
    assert match(rows, [*requests, request("r3", "PAY-2026-004419", "77.31")]).groups() == {}
    assert match([*rows, line("a3", "77.31", "thanks", 9)], requests).groups() == {}
