"""References, names, labels and returns that are written another way than the records have them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from match_tables import arrow, expectation, line, match, outcome, state

from treasury import match_references
from treasury.reconcile.rules import Rules

CODE = "PAY-2026-004417"
QRR = "210000000003139471430009017"
OGM = "090933755493"
BY_CHECK_DIGITS = Rules(structured=("RF", "QRR", "OGM"))


def read(
    text: str | None, code: str, amount: str = "100", rules: Rules | None = None, **more: Any
) -> tuple[str, str | None]:
    """Return the outcome of a line and its expectation, which expects 100."""
    matches = match_references(
        arrow([line("a", amount, text, **more)]),
        arrow([expectation("r", code, "100")]),
        rules=rules,
    )
    row = outcome(matches)
    return row["outcome"], row["expectation_id"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("SOCIETE GENERALE", "Société Générale"),
        ("MUELLER U. SOEHNE GMBH", "Müller & Söhne GmbH"),
        ("Soerensen", "SØRENSEN ApS"),
        ("Aakerlund AB", "Åkerlund"),
        ("COEUR SARL", "Cœur"),
        ("GROSS AG", "Groß"),
        ("Stefan SA", "Ștefan"),
        ("Mueller J", "J.Müller"),
        ("SNCF", "S.N.C.F."),
        ("SE AG", "SE"),
    ],
)
def test_a_name_in_another_spelling_is_the_same_payer(written: str, expected: str) -> None:
    payer = {"counterparty_name": written, "counterparty_account": None}
    matches = match(
        [line("a", "90", CODE, **payer)],
        [expectation("r", CODE, "100", counterparty_name=expected)],
    )
    assert outcome(matches)["outcome"] == "matched"


def test_a_name_that_shares_legal_forms_alone_is_another_payer() -> None:
    matches = match(
        [line("a", "90", CODE, counterparty_name="Jansen U. Co GmbH")],
        [expectation("r", CODE, "100", counterparty_name="Müller und Co GmbH")],
    )
    assert outcome(matches)["outcome"] == "suggested"


@pytest.mark.parametrize(
    "text", ["+++090/9337/55493+++", "*** 090/9337/55493 ***", "090 9337 55493", OGM]
)
def test_a_structured_communication_proves_a_short_payment(text: str) -> None:
    assert read(text, OGM, "90", BY_CHECK_DIGITS) == ("matched", "r")
    assert read(text, "+++090/9337/55493+++", "90", BY_CHECK_DIGITS) == ("matched", "r")


@pytest.mark.parametrize(
    "text", ["21 00000 00003 13947 14300 09017", "2100 0000 0003 1394 7143 0009 017", QRR]
)
def test_a_qr_reference_is_read_in_any_printed_groups(text: str) -> None:
    assert read(text, QRR, "90", BY_CHECK_DIGITS) == ("matched", "r")
    assert read(f"Zahlung {text}", QRR) == ("matched", "r")
    assert read(f"Zahlung {text}", QRR, "90") == ("suggested", "r")
    assert read(None, QRR, "90", creditor_reference=text) == ("matched", "r")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("/REMI/20004008/EREF/NOTPROVIDED", "20004008"),
        ("VS:0020004009", "20004009"),
        ("VS20004009", "20004009"),
        ("/VS/0020004009/SS/KS0308", "20004009"),
        ("00000000000000012344", "12344"),
        ("/INV/FV/0002/10/2026", "FV/2/10/2026"),
        ("INV-125", "INV-00125"),
        ("INV 125 thanks", "INV-00125"),
        ("INV-00125", "INV-125"),
        ("CHECK #5006", "CHECK-5006"),
        ("Check no. 5006", "CHECK-5006"),
    ],
)
def test_a_reference_written_another_way_matches_with_the_exact_amount(
    text: str, code: str
) -> None:
    assert read(text, code) == ("matched", "r")
    assert read(text, code, "99") == ("suggested", "r")


def test_a_serial_number_that_fits_two_codes_is_a_question() -> None:
    expectations = [expectation("r", "INV-00125", "100"), expectation("s", "INV-0125", "70")]
    matches = match([line("a", "100", "INV-125")], expectations)
    assert (outcome(matches)["outcome"], outcome(matches)["expectation_id"]) == ("suggested", "r")


@pytest.mark.parametrize(
    "text",
    ["EREF+PAY-2026-004417SVWZ+Danke", "SVWZ+PAY-2026-004417ABWA+Meier", "KREF+XSVWZ+" + CODE],
)
def test_subfields_without_a_separator_are_divided_at_their_tags(text: str) -> None:
    assert read(text, CODE, "90") == ("matched", "r")


def test_a_tag_does_not_hide_that_the_text_goes_on() -> None:
    expectations = [expectation("r", CODE, "100"), expectation("s", f"{CODE}7", "70")]
    matches = match([line("a", "100", "EREF+PAY-2026-004417SVWZ+7")], expectations)
    assert outcome(matches)["outcome"] == "suggested"


@pytest.mark.parametrize("zero", [0x660, 0x6F0, 0x966, 0xE50, 0x1D7CE])
def test_digits_of_every_script_are_read(zero: int) -> None:
    digits = str.maketrans({str(digit): chr(zero + digit) for digit in range(10)})
    assert read(CODE.translate(digits), CODE, "90") == ("matched", "r")


@pytest.mark.parametrize(
    "label",
    [
        "Faktura", "faktura nr", "lasku", "Rg.", "Rg.Nr.", "fact.", "számla", "arve", "arve nr",
        "Rechnungsnr.", "facture n°", "Fattura n.", "faktúra", "rēķins", "sąskaita", "račun",
        "viitenumero", "variabilní symbol", "betalingskenmerk",
    ],
)  # fmt: skip
def test_a_label_of_another_language_announces_a_number(label: str) -> None:
    assert read(f"{label} 20004040", "20004040", "90") == ("matched", "r")
    assert read(f"{label}: 20004040 danke", "20004040", "90") == ("matched", "r")


@pytest.mark.parametrize("text", ["INV_2026_1214", "INV-2026-1214", "_INV_2026_1214_ thanks"])
@pytest.mark.parametrize("code", ["INV_2026_1214", "INV-2026-1214"])
def test_an_underscore_is_part_of_a_code_as_a_hyphen_is(text: str, code: str) -> None:
    assert read(text, code, "90") == ("matched", "r")


@pytest.mark.parametrize(("amount", "words"), [("105", "the rest are charges"), ("95", "a part")])
def test_a_return_may_state_charges_on_top_or_taken_off(amount: str, words: str) -> None:
    paid = line("o", "100", CODE, 1, end_to_end_id="E2E-77", charges=None)
    back = line(
        "a", amount, None, 5, direction="DBIT", return_reason="MD06",
        original_reference="E2E-77", charges=Decimal(5),
    )  # fmt: skip
    matches = match([paid, back], [expectation("r", CODE, "100")])
    assert outcome(matches)["outcome"] == "returned"
    assert words in outcome(matches)["reason"]
    assert state(matches)["state"] == "reopened"


def test_a_return_of_exactly_a_payment_goes_before_one_with_charges_on_top() -> None:
    lines = [
        line(name, amount, CODE, 1, end_to_end_id="E2E-77", charges=None)
        for name, amount in (("o", "100"), ("p", "105"))
    ]
    lines.append(
        line(
            "a", "105", None, 5, direction="DBIT", return_reason="MD06",
            original_reference="E2E-77", charges=Decimal(5),
        )
    )  # fmt: skip
    matches = match(lines, [expectation("r", CODE, None)])
    assert outcome(matches, "p")["outcome"] == "returned"
    assert outcome(matches, "o")["outcome"] == "matched"
