"""Lines made to look like a match are not matched.

The first part of a test's name, such as `a4`, is the number of the attack.
"""

from __future__ import annotations

from decimal import Decimal

import pytest
from attacked_lines import (
    ACCOUNT_CODE,
    LONG,
    NEXT,
    PAYER,
    SHORT,
    Row,
    all_left_open,
    cut,
    left_open,
    request,
    standing,
)
from match_tables import arrow, expectation, line, match, outcome

from treasury import match_references
from treasury.matching.rules import Rules

pytestmark = pytest.mark.long_file

# A second code


@pytest.mark.parametrize("amount", ["9126.40", "12"])
def test_a1_a_standing_code_next_to_the_pieces_of_another_code_is_not_matched(amount: str) -> None:
    expectations = [standing("v", ACCOUNT_CODE), request("r", LONG, "9126.40")]
    texts = [f"{ACCOUNT_CODE} PAY-2026{gap}004417" for gap in (" ", "\n", "- ", "\u00a0", " - ")]
    all_left_open(texts, amount, expectations)
    assert LONG in left_open([line("a", amount, texts[0])], expectations)["reason"]


def test_a2_two_codes_of_one_pooled_account_are_not_matched() -> None:
    expectations = [standing("v", ACCOUNT_CODE), standing("w", "ABC-1111-222")]
    earlier = line("k", "5", "ABC-1111-222", 1, **PAYER)
    texts = ["{} ABC 1111 222", "ABC 1111 222 {}", "{}\nABC-1111 222", "{} ABC-11l1-222"]
    all_left_open([text.format(ACCOUNT_CODE) for text in texts], "70", expectations, earlier)


@pytest.mark.parametrize("amount", ["500", "499.99"])
def test_a3_a_code_next_to_the_pieces_of_a_code_with_the_same_amount_is_not_matched(
    amount: str,
) -> None:
    expectations = [request("r", LONG, "500"), request("s", NEXT, "500")]
    others = ["PAY-2026-00\n4418", "PAY 2026 004418", "PAY-2026-0O4418", "XPAY-2026-004418"]
    all_left_open([f"{LONG} {rival}" for rival in others], amount, expectations)
    rows = [line(f"a{n}", amount, LONG, end_to_end_id=rival) for n, rival in enumerate(others)]
    assert set(match(rows, expectations).lines.arrow["outcome"].to_pylist()) <= {
        "suggested",
        "conflict",
    }


def test_a3_a_second_spelling_of_the_same_code_does_not_prevent_a_match() -> None:
    expectations = [request("r", LONG, "500"), request("s", NEXT, "500")]
    again = ("PAY 2026 004417", "PAY-2026-04417", "PAY-2026-00441", "pay.2026.004417")
    rows = [line(f"a{n}", "100", f"{LONG} {text}") for n, text in enumerate(again)]
    assert match(rows, expectations).lines.arrow["outcome"].to_pylist() == ["matched"] * 4


# A text that continues

LONGER = [standing("v", ACCOUNT_CODE), standing("w", f"{ACCOUNT_CODE}5")]
REQUESTS = [request("v", ACCOUNT_CODE, "70"), request("w", f"{ACCOUNT_CODE}5", "70")]
KNOWN_PAYER = [
    line("k", "70", f"{ACCOUNT_CODE}5", 1, **PAYER),
    line("l", "70", ACCOUNT_CODE, 2, **PAYER),
]
CUTS = [27, 35, 65, 70, 78, 105, 108, 140]


@pytest.mark.parametrize("code", ["VFY 8M3T 407", ACCOUNT_CODE])
def test_a4_a_code_at_the_end_of_a_truncated_text_is_not_matched(code: str) -> None:
    texts = [cut(code, length) for length in CUTS]
    assert [len(text) for text in texts] == CUTS
    blanks = cut(code, 140).replace(" of ", "   of   ")
    folded = "\n".join(cut(code, 140)[at : at + 35] for at in range(0, 140, 35))
    octets = "\u00fc" * 8 + cut(code, 140)[16:]
    assert (len(octets), len(octets.encode())) == (132, 140)
    all_left_open([*texts, blanks, folded, octets], "70", LONGER, *KNOWN_PAYER)
    all_left_open([*texts, blanks, folded, octets], "70", REQUESTS)


def test_a4_a_code_at_the_end_of_a_shorter_text_matches() -> None:
    line_outcome = outcome(match([line("a", "70", f"thanks for all, {ACCOUNT_CODE}")], LONGER))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("matched", "v")


GAPS = [",", ", ", " / ", "+", "_", ";", "\n", "\r\n", "?21", "\n?22", "\u200b", "\u00ad", "\u2060",
        "\ufeff", "\x08", "\x00", "\x1f", "\x85", " - ", "-\n", "\u2013 ", " \u2014", "\u00a0",
        "\u2028", "\uff0c", "\t", "\u0301", "\\x08"]  # fmt: skip
INSIDE = ["-", "/", ".", "\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212",
          "\uff0d", "\ufe63", "\ufe58", "\uff0f", "\uff0e"]  # fmt: skip
"""`GAPS` divide a token; `INSIDE` are part of a token and so make it the longer code."""


@pytest.mark.parametrize("code", ["VFY 8M3T 407", ACCOUNT_CODE])
def test_a5_a_code_followed_by_the_rest_of_a_longer_code_is_not_matched(code: str) -> None:
    all_left_open([f"{code}{gap}5" for gap in GAPS], "70", LONGER, *KNOWN_PAYER)


@pytest.mark.parametrize("code", ["VFY 8M3T 407", ACCOUNT_CODE])
def test_a6_a_code_followed_by_the_rest_of_a_code_with_the_same_amount_is_not_matched(
    code: str,
) -> None:
    all_left_open([f"{code}{gap}5" for gap in GAPS], "70", REQUESTS)


@pytest.mark.parametrize("code", ["VFY 8M3T 407", ACCOUNT_CODE])
def test_a5_a_code_joined_to_the_rest_by_any_dash_is_the_longer_code(code: str) -> None:
    rows = [line(f"a{n}", "70", f"{code}{dash}5", 9, **PAYER) for n, dash in enumerate(INSIDE)]
    matches = match([*KNOWN_PAYER, *rows], LONGER)
    assert {outcome(matches, row["entry_id"])["expectation_id"] for row in rows} == {"w"}


@pytest.mark.parametrize(
    "fields",
    [
        ("end_to_end_id", "remittance"),
        ("remittance", "end_to_end_id"),
        ("creditor_reference", "remittance"),
    ],
)
def test_a5_a_code_with_the_rest_of_a_longer_code_in_another_field_is_not_matched(
    fields: tuple[str, str],
) -> None:
    row = line("a", "70", None) | {fields[0]: ACCOUNT_CODE, fields[1]: "5 thanks"}
    left_open([row], LONGER)


@pytest.mark.first_case
@pytest.mark.parametrize("before", ["/", " ", ":", "-/"])
def test_a7_a_shorter_code_at_the_end_of_a_35_character_reference_is_not_matched(
    before: str,
) -> None:
    expectations = [request("s", SHORT, "80"), request("r", LONG, "90")]
    reference = f"{'ORDER':X<{35 - len(SHORT) - len(before)}}{before}{SHORT}"
    assert len(reference) == 35
    rows = [line("a", "90", None, 2, end_to_end_id=reference), line("b", "90", LONG, 5)]
    left_open(rows, expectations)
    assert outcome(match(rows, expectations), "b")["outcome"] == "matched"


def test_a8_a_code_inside_a_token_that_resembles_a_longer_code_is_not_matched() -> None:
    expectations = [request("r", "ABCD1234", "70"), request("s", "ABCD1234/EFGH5678", "90")]
    rests = ["EFGH5679", "EFGH567", "EFGH5687", "EFGH", "E", "EFGH56789", "FGH5678"]
    tokens = [f"ABCD1234/{suffix}" for suffix in rests]
    all_left_open([*tokens, *(cut(token, 140) for token in tokens)], "70", expectations)
    alone = outcome(match([line("a", "70", "/RFB/ABCD1234/INV")], expectations))
    assert (alone["outcome"], alone["expectation_id"]) == ("matched", "r")


@pytest.mark.parametrize("amount", ["80", "90"])
def test_a9_a_code_interrupted_by_a_subfield_tag_is_not_matched(amount: str) -> None:
    expectations = [request("s", SHORT, "80"), request("r", LONG, "90")]
    tags = ["?20", "?21", "?22", "?60", "\n?22"]
    all_left_open([f"?20Zahlung?21 {SHORT}{tag}7 danke" for tag in tags], amount, expectations)


# Numbers that are not codes


@pytest.mark.first_case
@pytest.mark.parametrize("field", ["creditor_reference", "remittance"])
def test_a10_an_rf_reference_with_other_leading_zeros_is_not_matched(field: str) -> None:
    expectations = [request("r", "00012345678"), request("s", "87654321")]
    for body in ("12345678", "00087654321"):
        check = 98 - int(f"{body}271500") % 97
        left_open([line("a", "70", None) | {field: f"RF{check:02}{body}"}], expectations)
        left_open([line("a", "70", None) | {field: f"RF{check:02} {body}"}], expectations)


def test_a11_a_control_character_does_not_end_a_code() -> None:
    gaps = ["\x08", "\x00", "\x01", "\x1b", "\x7f", "\x85", "\u200b", "\u2060", "\\x08", "\u00ad"]
    all_left_open(
        [f"{LONG}{gap}8" for gap in [*gaps, "\u0301"]], "100", [request("r", LONG, "100")]
    )


WRITTEN = [
    ("EUR 1234.56", "123456"), ("EUR1234.56", "EUR123456"), ("1.234,56 EUR 1234.56-", "123456"),
    ("2026-10-06", "20261006"), ("06.10.2026", "06102026"), ("06-OCT-2026", "06OCT2026"),
    ("0475/12.34.56", "0475123456"), ("BE 0123.456.749", "0123456749"),
    ("BE0123.456.749", "BE0123456749"), ("BE68 5390 0754 7034", "BE68539007547034"),
    ("BE68539007547034", "BE68539007547034"), ("NL91ABNA0417164300", "NL91ABNA0417164300"),
    ("thanks for october", "OCTOBER"), ("room A-12", "A-12"),
]  # fmt: skip


@pytest.mark.parametrize("expected", [None, "100"])
def test_a12_an_amount_date_or_account_number_alone_is_not_taken_for_a_code(
    expected: str | None,
) -> None:
    codes = sorted({code for _, code in WRITTEN})
    expectations = [request(code, code, expected) for code in codes]
    all_left_open([text for text, _ in WRITTEN], "70", expectations)


@pytest.mark.first_case
@pytest.mark.parametrize("code", ["123456", "20261006", "A-12"])
def test_a12_such_a_code_matches_after_a_label_in_a_reference_field_or_with_its_amount(
    code: str,
) -> None:
    expectations = [request("r", code, "1000")]
    texts = ["ref {}", "Invoice {}", "REFERENCE: {}", "invoice no {}"]
    rows = [line(f"a{n}", "70", text.format(code)) for n, text in enumerate(texts)]
    rows.append(line("b", "70", None, end_to_end_id=code))
    assert set(match(rows, expectations).lines.arrow["outcome"].to_pylist()) == {"matched"}
    exact = outcome(match([line("a", "1000", f"thanks {code}")], expectations))
    assert exact["outcome"] == "matched"


def test_a12_such_a_code_matches_from_a_payer_known_earlier() -> None:
    rows = [line("k", "1", "ref 123456", 1, **PAYER), line("a", "70", "123456", 5, **PAYER)]
    assert outcome(match(rows, [standing("v", "123456")]))["outcome"] == "matched"
    left_open(
        [rows[0] | {"booking_date": rows[1]["booking_date"]}, rows[1]], [standing("v", "123456")]
    )


# Codes one slip from another

SLIPS = ["PAY-2026-004418", "PAY-2026-004471", "PAY-2026-00441", "PAY-2026-0044177",
         "PAY-2O26-004417", "PAY-2026-104417"]  # fmt: skip


@pytest.mark.first_case
@pytest.mark.parametrize("rival", SLIPS)
@pytest.mark.parametrize("expected", ["500", None])
def test_a13_a_code_one_slip_from_another_that_expects_the_amount_is_not_matched(
    rival: str, expected: str | None
) -> None:
    expectations = [request("r", LONG, expected), request("s", rival, "320.50")]
    line_outcome = left_open([line("a", "320.50", LONG)], expectations)
    assert (line_outcome["expectation_id"], rival in line_outcome["reason"]) == ("r", True)
    paid = outcome(match([line("a", "500", LONG)], expectations))
    assert (paid["outcome"], paid["expectation_id"]) == ("matched", "r")
    neither = outcome(match([line("a", "77", LONG)], expectations))
    assert (neither["outcome"], neither["expectation_id"]) == ("matched", "r")


@pytest.mark.parametrize("stated", [True, False])
def test_a13_a_code_one_slip_from_another_that_expects_amount_plus_charges_is_suggested(
    stated: bool,
) -> None:
    named_request = expectation("r", "PAY-2026-004417", "500")
    neighbour = expectation("s", "PAY-2026-004418", "80")
    paid = line("a", "75.50", "PAY-2026-004417", charges=Decimal("4.50") if stated else None)
    rules = Rules() if stated else Rules(usual_charges=(Decimal(15), Decimal("4.5")))
    line_outcome = outcome(
        match_references(arrow([paid]), arrow([named_request, neighbour]), rules=rules)
    )
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")
    assert "PAY-2026-004418, one slip away" in line_outcome["reason"]
    assert (
        outcome(match([paid | {"charges": None}], [named_request, neighbour]))["outcome"]
        == "matched"
    )


@pytest.mark.parametrize("changed", [{"currency": "USD"}, {"direction": "DBIT"},
                                     {"status": "CANCELLED"}])  # fmt: skip
def test_a13_a_similar_code_that_cannot_take_the_payment_does_not_prevent_a_match(
    changed: Row,
) -> None:
    expectations = [request("r", LONG, "500"), request("s", NEXT, "320.50", **changed)]
    assert outcome(match([line("a", "320.50", LONG)], expectations))["outcome"] == "matched"


@pytest.mark.first_case
@pytest.mark.parametrize(("amount", "becomes"), [("501", "matched"), ("501.01", "suggested")])
def test_a13_an_overpayment_by_more_than_a_euro_matches_only_from_a_known_payer(
    amount: str, becomes: str
) -> None:
    expectations = [request("r", LONG, "500")]
    assert outcome(match([line("a", amount, LONG)], expectations))["outcome"] == becomes
    earlier = line("k", "1", LONG, 1)
    known_payer = outcome(match([earlier, line("a", amount, LONG, 2)], expectations))
    assert known_payer["outcome"] == "matched"


def test_a13_a_payer_known_only_for_another_code_needs_the_exact_amount() -> None:
    expectations = [request("r", LONG, "500"), request("s", "PAY-2026-009000", "500")]
    second_payer = {"counterparty_account": "DE99"}
    rows = [
        line("k", "100", LONG, 1, **PAYER),
        line("l", "100", "PAY-2026-009000", 1, **second_payer),
        line("a", "50", LONG, 5, **second_payer),
    ]
    line_outcome = left_open(rows, expectations)
    assert "known for another" in line_outcome["reason"]
    exact = [rows[0], rows[1], rows[2] | {"amount": rows[0]["amount"] * 4}]
    assert outcome(match(exact, expectations))["outcome"] == "matched"


def test_a13_a_payer_known_for_another_code_of_the_same_owner_matches() -> None:
    second_payer = {"counterparty_account": "DE99"}
    rows = [
        line("k", "100", LONG, 1, **PAYER),
        line("l", "100", "PAY-2026-009000", 1, **second_payer),
        line("a", "50", LONG, 5, **second_payer),
    ]
    owned = [
        request("r", LONG, "500", owner="holder"),
        request("s", "PAY-2026-009000", "500", owner="holder"),
    ]
    assert outcome(match(rows, owned))["outcome"] == "matched"
    apart = [owned[0], owned[1] | {"owner": "somebody else"}]
    assert "known for another" in left_open(rows, apart)["reason"]


@pytest.mark.parametrize(("owner", "becomes"), [("holder", "matched"), ("other", "conflict")])
def test_a1_a_request_next_to_a_standing_code_matches_only_with_the_same_owner(
    owner: str, becomes: str
) -> None:
    expectations = [
        standing("v", ACCOUNT_CODE, owner="holder"),
        standing("w", "VFY-8M3T-999", owner="other"),
        request("r", LONG, "320.50", owner=owner),
    ]
    line_outcome = outcome(match([line("a", "320.50", f"{ACCOUNT_CODE} {LONG}")], expectations))
    assert line_outcome["outcome"] == becomes
    assert line_outcome["expectation_id"] == ("r" if becomes == "matched" else None)


@pytest.mark.first_case
@pytest.mark.parametrize(("payer", "becomes"), [("Smith Ltd", "suggested"),
                                                ("ACME Trading GmbH", "matched"),
                                                (None, "matched")])  # fmt: skip
def test_a13_a_payer_with_an_entirely_different_name_needs_the_exact_amount(
    payer: str | None, becomes: str
) -> None:
    expectations = [request("r", LONG, "500", counterparty_name="Acme Trading BV")]
    row = line("a", "320.50", LONG, counterparty_name=payer)
    assert outcome(match([row], expectations))["outcome"] == becomes
    exact = line("a", "500", LONG, counterparty_name=payer)
    assert outcome(match([exact], expectations))["outcome"] == "matched"
    never = [standing("r", ACCOUNT_CODE, counterparty_name="Acme Trading BV")]
    row = line("a", "320.50", ACCOUNT_CODE, counterparty_name=payer)
    assert outcome(match([row], never))["outcome"] == "matched"


# Other amounts, truncated codes, numbers that are not codes


def test_a_short_code_between_slashes_is_found() -> None:
    expectations = [request("r", "AB-123", "100")]
    texts = ["/RFB/AB-123/INV", "AB-123/INV", "INV/AB123"]
    assert [
        outcome(match([line("a", "100", text)], expectations))["outcome"] for text in texts
    ] == ["matched"] * 3
    for text in texts:
        line_outcome = left_open([line("a", "70", text)], expectations)
        assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")


def test_a_code_cut_off_before_its_first_digit_is_suggested() -> None:
    expectations = [request("r", "LEASING-2026", "100")]
    for length in CUTS:
        line_outcome = left_open([line("a", "100", cut("LEASING", length))], expectations)
        assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r"), (
            length
        )
    elsewhere = left_open([line("a", "100", "for LEASING of october")], expectations)
    assert elsewhere["outcome"] == "unreferenced"


def test_an_overpayment_from_an_unexpected_payer_is_only_suggested() -> None:
    expected = expectation("p", "PAY-2026-004417", "90", counterparty_account="DE1")
    nobody = {"counterparty_account": None, "counterparty_name": "Evil Ltd"}
    much = match([line("a", "5000", "PAY-2026-004417", **nobody)], [expected])
    assert outcome(much)["outcome"] == "suggested"
    named = match([line("a", "5000", "PAY-2026-004417", counterparty_account="DE1")], [expected])
    assert outcome(named)["outcome"] == "matched"


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("PLN123456", "PLN1234.56 paid"),
        ("SEK12345678", "SEK123456.78"),
        ("CHE123456789", "CHE-123.456.789 MWST"),
        ("ESB12345678", "VAT ESB12345678"),
        ("IE1234567WA", "VAT IE1234567WA"),
        ("CY12345678X", "CY12345678X"),
        ("FRAB123456789", "VAT FRAB123456789"),
        ("06OKT2026", "am 06OKT2026"),
        ("2026OCT06", "on 2026OCT06"),
        ("FR1420041010050500013M02606", "IBAN FR1420041010050500013M02606"),
        ("TEL0475123456", "tel.0475123456"),
    ],
)
def test_an_amount_date_vat_or_phone_number_alone_is_not_taken_for_a_code(
    code: str, text: str
) -> None:
    expected = [expectation("x", code, "500")]
    assert outcome(match([line("a", "77", text)], expected))["outcome"] != "matched"
