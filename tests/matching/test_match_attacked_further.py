"""More lines that look like a match: limits, line breaks, short codes, look-alikes, names."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from attacked_lines import (
    ACCOUNT_CODE,
    LONG,
    Row,
    all_left_open,
    cut,
    left_open,
    request,
    standing,
)
from match_tables import expectation, line, match, outcome, state

pytestmark = pytest.mark.long_file

OTHER = "PAY-2026-009000"
ALONE = [standing("v", ACCOUNT_CODE)]
LONGER = [*ALONE, standing("w", f"{ACCOUNT_CODE}5")]


@pytest.mark.parametrize("status", ["CANCELED", "canceled", " Canceled", "CANCELLED"])
def test_both_spellings_of_cancelled_close_an_expectation(status: str) -> None:
    matches = match([line("a", "100", LONG)], [request("r", LONG, "100", status=status)])
    assert outcome(matches, "a")["outcome"] == "conflict"
    assert state(matches, "r")["state"] == "closed"


@pytest.mark.first_case
@pytest.mark.parametrize(("amount", "credit", "debit"), [("10", "50", "30"), ("35", "100", "30")])
@pytest.mark.parametrize("ways", [("CRDT", "DBIT"), ("DBIT", "CRDT")])
def test_a_code_of_two_directions_is_paid_once(
    amount: str, credit: str, debit: str, ways: tuple[str, str]
) -> None:
    forth, back = ways
    matches = match(
        [line("a", amount, LONG, direction=forth)],
        [
            request("r", LONG, credit, direction=forth),
            request("s", LONG, debit, direction=back),
        ],
    )
    shares = [
        (row["expectation_id"], row["amount"]) for row in matches.allocations.arrow.to_pylist()
    ]
    assert shares == [("r", Decimal(amount))]
    assert state(matches, "s")["received"] == 0


@pytest.mark.first_case
@pytest.mark.parametrize(
    "text",
    [
        "{0}{1} PAY 2026 004417",
        "{1} {0}PAY 2026 004417",
        "{0}{1}, 5",
        "{1} {0}",
        "{0}{1}",
    ],
)
def test_a_text_that_is_too_long_to_search_is_not_matched_and_names_the_limit(text: str) -> None:
    long = text.format("x " * 1_010, ACCOUNT_CODE)
    expectations = [*LONGER, request("r", LONG, "12")]
    assert "2000 characters that are searched" in left_open(
        [line("a", "12", long)], expectations
    )["reason"]  # fmt: skip


@pytest.mark.first_case
@pytest.mark.parametrize("length", [27, 35, 65, 70, 78, 105, 108, 140])
def test_a_code_at_the_truncated_end_of_any_text_is_not_matched(length: int) -> None:
    end = cut(ACCOUNT_CODE, length)
    octets = "\u00fc" + end[2:]
    texts: list[Any] = [[end, "thanks"], ["thanks", end], [f"{end}\nthanks"], [f"a\n{end}", "b"]]
    texts += [[octets, "thanks"], ["hello", octets]]
    all_left_open(texts, "70", LONGER)


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("piece", "code"), [("LEASING", "LEASING-2026"), ("PAY-2026", LONG), ("PAY-2026-00", LONG)]
)
def test_a_second_code_truncated_at_the_end_of_any_text_prevents_a_match(
    piece: str, code: str
) -> None:
    end = cut(piece, 35)
    blanks = f"{ACCOUNT_CODE}  of   {'x' * (35 - len(ACCOUNT_CODE) - len(piece) - 5)} {piece}"
    assert len(" ".join(blanks.split())) == 35
    texts: list[Any] = [
        [ACCOUNT_CODE, end],
        [end, ACCOUNT_CODE],
        [f"{end}\n{ACCOUNT_CODE}"],
        [blanks],
    ]
    all_left_open(texts, "12", [*ALONE, request("r", code, "12")])


def test_a_second_code_in_pieces_with_a_damaged_end_prevents_a_match() -> None:
    pieces = ("PAY-226 -004417", "PAY 2O26 004417", "PAY 20X26-004417", "PAY 2062 004417")
    all_left_open(
        [f"{ACCOUNT_CODE} {piece}" for piece in pieces], "12", [*ALONE, request("r", LONG, "12")]
    )


@pytest.mark.parametrize(("amount"), ["7", "12"])
def test_a_second_code_of_eight_characters_that_lacks_one_prevents_a_match(amount: str) -> None:
    pieces = ("K7-2291P", "KQ7-2291", "KQ7-291P", "Q7-2291P")
    all_left_open(
        [f"{ACCOUNT_CODE} {piece}" for piece in pieces],
        amount,
        [*ALONE, request("r", "KQ7-2291P", "7")],
    )


def test_a_short_second_code_in_pieces_prevents_a_match() -> None:
    for code, pieces in (
        ("AB-123", ("AB_123", "AB-12, 3", "A, B-123", "AB 123")),
        ("ABC-1234", ("ABC_1234", "ABC: 1234", "AB C 12 34")),
    ):
        all_left_open(
            [f"{ACCOUNT_CODE} {piece}" for piece in pieces], "12", [*ALONE, request("r", code, "7")]
        )


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("ABNA0417164300", "NL91 ABNA0417164300"),
        ("ABNA0417164300", "IBAN NL91/ABNA0417164300"),
        ("123456789B01", "VAT NL 123456789B01"),
        ("NO123456789MVA", "VAT NO123456789MVA"),
        ("EURO123456", "EURO1234.56"),
        ("123456EURO", "1234.56EURO"),
        ("20261006T1015", "2026-10-06T1015"),
        ("TUE06OCT2026", "Tue-06-Oct-2026"),
        ("OCTOBER2026", "rent October-2026"),
        ("OKTOBER2026", "Miete Oktober 2026 OKTOBER-2026"),
        ("HANDY0475123456", "Handy.0475/123456"),
        ("MOBILE0475123456", "mobile-0475.123456"),
    ],
)
def test_an_iban_vat_date_or_phone_number_alone_is_not_taken_for_a_code(
    code: str, text: str
) -> None:
    assert "no reference at all" in left_open(
        [line("a", "70", text)], [expectation("r", code, "500")]
    )["reason"]  # fmt: skip
    matches = match([line("a", "500", text)], [expectation("r", code, "500")])
    # With the exact amount the code proves the match.
    assert outcome(matches, "a")["outcome"] == "matched"


@pytest.mark.parametrize("code", ["SETTLE-2026", "MARKET-2026", "ABNA0417164300"])
def test_a_code_that_only_begins_like_something_else_matches(code: str) -> None:
    matches = match([line("a", "70", f"invoice {code}")], [expectation("r", code, "500")])
    assert outcome(matches, "a")["outcome"] == "matched"


NAMES = [
    ("Peter Smith", "Anna Smith"),
    ("Alpha Handel BV", "Beta Handel BV"),
    ("Jan de Vries", "Piet de Vries"),
    ("Stichting Alpha", "Stichting Omega"),
]


def _returned(payer: str, back: str) -> list[Row]:
    """Return a payment from one name, and its return to another name."""
    return [
        line("a", "100", ACCOUNT_CODE, 1, counterparty_account="DE1", counterparty_name=payer),
        line(
            "z", "100", ACCOUNT_CODE, 9, direction="DBIT", return_reason="AC04",
            counterparty_account=None, counterparty_name=back,
        ),
    ]  # fmt: skip


@pytest.mark.first_case
@pytest.mark.parametrize(("payer", "back"), NAMES)
def test_two_names_that_share_a_word_are_different_payers(payer: str, back: str) -> None:
    matches = match(_returned(payer, back), ALONE)
    assert outcome(matches, "a")["outcome"] == "matched"
    assert outcome(matches, "z")["outcome"] != "returned"


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("payer", "back"),
    [
        ("Peter Smith", "P. Smith"),
        ("Peter Johann Smith", "Smith Peter"),
        ("Alpha Handel BV", "Alpha"),
        ("Wasserwerke der Stadt Musterhausen", "Wasserwerke der Stadt Must"),
    ],
)
def test_a_name_written_differently_is_the_same_payer(payer: str, back: str) -> None:
    matches = match(_returned(payer, back), ALONE)
    assert outcome(matches, "a")["outcome"] == outcome(matches, "z")["outcome"] == "returned"


@pytest.mark.parametrize("text", ["/RFB/ABCD1234/EFGH56", "ABCD1234/EFGH56", "X/ABCD1234/EFGH567"])
def test_a_code_that_begins_a_longer_one_in_a_damaged_token_is_not_matched(text: str) -> None:
    expectations = [request("r", "ABCD1234", "70"), request("s", "ABCD1234/EFGH5678", "90")]
    assert "EFGH5678" in left_open([line("a", "70", text)], expectations)["reason"]


def test_a_return_of_a_payment_for_several_codes_reopens_each() -> None:
    sent = {"end_to_end_id": "E2E-77120", "counterparty_account": "DE1"}
    back = {"original_reference": "E2E-77120", "counterparty_account": "DE1"}
    matches = match(
        [
            line("a", "150", f"{LONG} {OTHER}", 1, **sent),
            line("z", "150", None, 5, direction="DBIT", return_reason="AC04", **back),
        ],
        [request("r", LONG, "100"), request("s", OTHER, "50")],
    )
    assert {row["outcome"] for row in matches.lines.arrow.to_pylist()} == {"returned"}
    assert state(matches, "r")["state"] == state(matches, "s")["state"] == "reopened"


def test_a_code_that_an_earlier_sum_may_have_paid_is_not_matched() -> None:
    expectations = [request("r", LONG, "100"), request("s", OTHER, "50")]
    both, one = f"{LONG} {OTHER}", LONG
    reason = left_open([line("a", "150", both, 1), line("b", "100", one, 3)], expectations, "b")
    assert "is exactly what they expect together" in reason["reason"]
    matches = match([line("a", "150", both, 4), line("b", "100", one, 3)], expectations)
    assert outcome(matches, "b")["outcome"] == "matched"


def test_a_strangers_large_overpayment_does_not_prevent_the_payers_own_match() -> None:
    stranger, payer = {"counterparty_account": "DE2"}, {"counterparty_account": "DE1"}
    lines = [line("a", "5000", LONG, 1, **stranger), line("b", "60", LONG, 2, **payer)]
    lines += [line("c", "40", LONG, 3, **payer), line("d", "60", LONG, 4, **stranger)]
    matches = match(lines, [request("r", LONG, "100")])
    outcomes = [row["outcome"] for row in matches.lines.arrow.to_pylist()]
    assert outcomes == ["suggested", "matched", "matched", "suggested"]
    assert state(matches, "r")["received"] == 100
