"""References, names, labels and returns that are written differently from the records.

Independent cases share one run: each has its own currency, and its own letters replace `{}` in
codes and texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from match_tables import arrow, expectation, line, match, outcome, state

from treasury import match_references
from treasury.matching.rules import Rules

CODE = "PAY-2026-004417"
QRR = "210000000003139471430009017"
OGM = "090933755493"
BY_CHECK_DIGITS = Rules(structured=("RF", "QRR", "OGM"))


class Case(NamedTuple):
    """A line, and the codes of the requests in its currency; the first one expects 100."""

    text: str | None
    code: str
    amount: str = "100"
    other: str = ""
    other_amount: str = "70"
    line: Mapping[str, Any] = MappingProxyType({})
    expected: Mapping[str, Any] = MappingProxyType({})


def outcomes(cases: Iterable[Case], rules: Rules | None = None) -> list[str]:
    """Return the outcome of each case from one run; fail if a line matches another case."""
    lines, expectations = [], []
    for number, given in enumerate(cases):
        own = chr(ord("A") + number) * 3
        case = given._replace(
            text=given.text and given.text.replace("{}", own),
            code=given.code.replace("{}", own),
            other=given.other.replace("{}", own),
        )
        currency = {"currency": f"X{number:02}", "account": f"NL05TEST{number:010}"}
        payer = {"counterparty_account": f"LT{number:018}"}
        lines.append(
            line(f"a{number:02}", case.amount, case.text, **{**currency, **payer, **case.line})
        )
        expectations.append(
            expectation(f"r{number:02}", case.code, "100", **{**currency, **case.expected})
        )
        if case.other:
            expectations.append(
                expectation(f"s{number:02}", case.other, case.other_amount, **currency)
            )
    matches = match_references(arrow(lines), arrow(expectations), rules=rules)
    rows = {row["entry_id"]: row for row in matches.lines.arrow.to_pylist()}
    assert not any(
        row["outcome"] == "matched" and row["expectation_id"][1:] != name[1:]
        for name, row in rows.items()
    )
    return [rows[f"a{number:02}"]["outcome"] for number in range(len(lines))]


def assert_all(expected: str, cases: list[Case], rules: Rules | None = None) -> None:
    """Check that every case has this outcome; name the failing ones."""
    pairs = list(zip(cases, outcomes(cases, rules), strict=True))
    assert [(case.text, case.code, found) for case, found in pairs if found != expected] == []


# Names


NAMES = [
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
]
OTHER_NAMES = [
    ("Jansen U. Co GmbH", "Müller und Co GmbH"),
    ("Societe Lyonnaise SA", "Crédit Générale SA"),
    ("Moeller GmbH", "Müller GmbH"),
    ("AG SE", "GmbH & Co"),
]


def of_names(names: list[tuple[str, str]]) -> list[Case]:
    return [
        Case(
            f"QRZ-77-{number:02}8153", f"QRZ-77-{number:02}8153", "90",
            line={"counterparty_name": written, "counterparty_account": None},
            expected={"counterparty_name": stated},
        )
        for number, (written, stated) in enumerate(names)
    ]  # fmt: skip


@pytest.mark.acceptance
def test_a_name_in_another_spelling_is_the_same_payer() -> None:
    assert_all("matched", of_names(NAMES))


def test_a_name_that_shares_only_legal_forms_or_sounds_is_another_payer() -> None:
    assert_all("suggested", of_names(OTHER_NAMES))


# Structured references


OGM_TEXTS = ["+++090/9337/55493+++", "*** 090/9337/55493 ***", "090 9337 55493", OGM]
QRR_TEXTS = ["21 00000 00003 13947 14300 09017", "2100 0000 0003 1394 7143 0009 017", QRR]


@pytest.mark.acceptance
def test_a_structured_communication_proves_a_short_payment() -> None:
    cases = [Case(text, code, "90") for text in OGM_TEXTS for code in (OGM, "+++090/9337/55493+++")]
    assert_all("matched", cases, BY_CHECK_DIGITS)


@pytest.mark.acceptance
def test_a_structured_communication_with_a_wrong_digit_proves_nothing() -> None:
    wrong = [text.replace("493", "494") for text in OGM_TEXTS]
    cases = [Case(text, OGM, amount) for text in wrong for amount in ("100", "90")]
    cases += [Case(text, OGM[:-1] + "4", "90") for text in wrong]
    assert "matched" not in outcomes(cases, BY_CHECK_DIGITS)


@pytest.mark.acceptance
def test_a_qr_reference_is_read_in_any_printed_groups() -> None:
    assert_all("matched", [Case(text, QRR, "90") for text in QRR_TEXTS], BY_CHECK_DIGITS)
    fields = [Case(None, QRR, "90", line={"creditor_reference": text}) for text in QRR_TEXTS]
    assert_all("matched", fields)
    for text in QRR_TEXTS:
        assert_all("matched", [Case(f"Zahlung {text}", QRR)])


@pytest.mark.acceptance
def test_a_qr_reference_without_its_rule_or_with_a_wrong_digit_needs_the_amount() -> None:
    assert_all("suggested", [Case(f"Zahlung {text}", QRR, "90") for text in QRR_TEXTS])
    wrong = [text[:-1] + "8" for text in QRR_TEXTS]
    assert "matched" not in outcomes([Case(text, QRR) for text in wrong], BY_CHECK_DIGITS)


# Other zeros, labels and tags


RESPELLED = [
    ("/REMI/20004008/EREF/NOTPROVIDED", "20004008"),
    ("VS:0037114909", "37114909"),
    ("VS58220777", "58220777"),
    ("/VS/0081336655/SS/KS0308", "81336655"),
    ("00000000000000012344", "12344"),
    ("/INV/FV/0002/10/2026", "FV/2/10/2026"),
    ("INV-125", "INV-00125"),
    ("INV 346 thanks", "INV-00346"),
    ("INV-00968", "INV-968"),
    ("CHECK #5006", "CHECK-5006"),
    ("Check no. 7718", "CHECK-7718"),
]


@pytest.mark.acceptance
def test_a_reference_written_another_way_matches_with_the_exact_amount() -> None:
    assert_all("matched", [Case(text, code) for text, code in RESPELLED])


@pytest.mark.acceptance
def test_a_reference_written_another_way_is_only_suggested_with_another_amount() -> None:
    assert_all("suggested", [Case(text, code, "99") for text, code in RESPELLED])
    assert_all("suggested", [Case(text, code, "101") for text, code in RESPELLED])


@pytest.mark.acceptance
def test_a_reference_written_another_way_is_only_suggested_if_it_may_be_another() -> None:
    code, second = "{}-2026-004417", "{}-2026-004471"
    cases = [
        Case("{}-125", "{}-00125", other="{}-0125"),
        # Another request for the same amount is one slip away from the text.
        Case("{}-2026-4417", code, other="{}-2026-14417", other_amount="100"),
        Case("{}-2026-4417", code, other="{}-2026-44170", other_amount="100"),
        Case("{}-2026-4417", code, other="{}-2026-4471", other_amount="100"),
        Case("{}-2026-4417", code, other="{}-2026-4418", other_amount="100"),
        # The text continues to a longer code, or was cut off where banks cut.
        Case("{}-2026-4417 7", code, other="{}-2026-0044177"),
        Case("{} 125, 6", "{}-00125", other="{}-01256"),
        Case("rent {} 125\n6", "{}-00125", other="{}-01256"),
        Case("RENTS {}-2026-441", "{}-2026-00441", other=code),
        # There is a second code.
        Case("{}-2026-4417 {}-2026-4471", code, other=second),
        Case("{}-2026-4417 and {} 2026 004471", code, other=second),
        Case("{}-2026-4417 and {}-2O26-004471", code, other=second),
    ]
    assert_all("suggested", cases)
    assert_all("suggested", [Case("VS:0020004009", "20004009", other="0020004009")])


@pytest.mark.acceptance
def test_a_serial_number_with_its_digits_grouped_differently_does_not_match() -> None:
    cases = [
        Case("FV/02/11/2026", "FV/21/1/2026"),
        Case("INV-01-25", "INV-125"),
        Case("INV-0012 5", "INV-125"),
    ]
    assert "matched" not in outcomes(cases)


@pytest.mark.acceptance
def test_a_second_serial_number_next_to_the_first_prevents_a_match() -> None:
    cases = [
        Case("CHECK #5006 #5007", "CHECK-5006"),
        Case("CHECK #5006, 5007", "CHECK-5006"),
        Case("CHECK NO. 5006 & #5007", "CHECK-5006"),
        Case("INV 125, 126", "INV-00125"),
        Case("INV-125 126 127", "INV-00125"),
    ]
    assert_all("suggested", cases)
    honest = [
        Case("CHECK #5006 of 5 October", "CHECK-5006"),
        Case("CHECK #6117 12", "CHECK-6117"),
        Case("CHECK #7228 7228", "CHECK-7228"),
    ]
    assert_all("matched", honest)


def test_a_code_with_its_digits_grouped_differently_is_only_suggested() -> None:
    cases = [
        Case("FV/11/2/2026", "FV/1/12/2026"),
        Case("FV-11-2-2026", "FV/1/12/2026"),
        Case("FV/11.2/2026", "FV/1/12/2026"),
        Case("INV-12-5-2026", "INV-1-25-2026"),
    ]
    assert_all("suggested", cases)
    honest = [
        Case("FV/1/12/2026", "FV/1/12/2026"),
        Case("FV-1-12-2026", "FV/1/12/2026"),
        Case("FV1122026", "FV/1/12/2026"),
        Case("FV/1/122026", "FV/1/12/2026"),
        Case("PAY-2026-00-4417", "PAY-2026-004417"),
    ]
    assert_all("matched", honest)


@pytest.mark.acceptance
def test_an_unrelated_number_is_not_taken_for_a_check_number() -> None:
    cases = [
        Case("CHECK #5006", "{}-5006"),
        Case("PAY{} #5006", "{}-5006"),
        Case("{} #50067", "{}-5006"),
        Case("{} #15006", "{}-5006"),
        Case("{} #5006", "{}-5006", "70", other="INV-5006"),
    ]
    assert "matched" not in outcomes(cases)
    assert "matched" not in outcomes([Case("CHECK #5006", "5006", "90")])
    assert "matched" not in outcomes([Case("CHECK #5006", "5006", other="CHECK-5006")])


@pytest.mark.acceptance
def test_a_tag_that_names_another_field_does_not_hide_a_second_number() -> None:
    cases = [
        Case("/REMI/20004008/EREF/PAY-2026-004417", "20004008", other=CODE),
        Case("/EREF/20004008/REMI/20004009", "20004008", other="20004009"),
    ]
    assert "matched" not in outcomes(cases)


# Tags, scripts, labels, underscores


@pytest.mark.acceptance
def test_subfields_without_a_separator_are_divided_at_their_tags() -> None:
    texts = (
        f"EREF+{CODE}SVWZ+Danke", f"SVWZ+{CODE}ABWA+Meier", f"KREF+XSVWZ+{CODE}",
        f"EREF+NOTPROVIDEDMREF+M1SVWZ+{CODE}",
    )  # fmt: skip
    assert_all("matched", [Case(text, CODE, "90") for text in texts])


@pytest.mark.acceptance
def test_a_tag_does_not_hide_a_longer_or_second_code() -> None:
    cases = [
        Case(f"EREF+{CODE}SVWZ+7", CODE, other=f"{CODE}7"),
        Case(f"EREF+{CODE}SVWZ+INV-77-08153", CODE, other="INV-77-08153"),
    ]
    assert set(outcomes(cases)) <= {"suggested", "conflict"}


def of_digits(zero: int, text: str) -> str:
    return text.translate({ord("0") + digit: zero + digit for digit in range(10)})


SCRIPTS = (0x660, 0x6F0, 0x966, 0xE50, 0x1D7CE)


@pytest.mark.acceptance
def test_digits_of_every_script_are_read() -> None:
    assert_all("matched", [Case(of_digits(zero, CODE), CODE, "90") for zero in SCRIPTS])


@pytest.mark.acceptance
def test_a_second_code_in_the_digits_of_another_script_is_a_conflict() -> None:
    other = "INV-77-08153"
    cases = [Case(f"{CODE} {of_digits(zero, other)}", CODE, "90", other=other) for zero in SCRIPTS]
    assert_all("conflict", cases)


LABELS = (
    "Faktura", "faktura nr", "lasku", "Rg.", "Rg.Nr.", "fact.", "számla", "arve", "arve nr",
    "Rechnungsnr.", "facture n°", "Fattura n.", "faktúra", "rēķins", "sąskaita", "račun",
    "viitenumero", "variabilní symbol", "betalingskenmerk",
)  # fmt: skip


@pytest.mark.acceptance
def test_a_label_of_another_language_announces_a_number() -> None:
    assert_all("matched", [Case(f"{label} 20004040", "20004040", "90") for label in LABELS])
    texts = [f"{label}: 20004040 danke" for label in LABELS]
    assert_all("matched", [Case(text, "20004040", "90") for text in texts])


@pytest.mark.acceptance
def test_a_label_of_another_language_does_not_prove_a_number_of_another_party() -> None:
    texts = [f"klient nr / {label}: 20004040 - 14645927" for label in LABELS]
    texts += ["nasza faktura 20004040", "unsere Rg. 20004040", "notre fact. 20004040"]
    assert "matched" not in outcomes([Case(text, "20004040", "90") for text in texts])


@pytest.mark.acceptance
def test_an_underscore_is_part_of_a_code_like_a_hyphen() -> None:
    texts = ("INV_2026_1214", "INV-2026-1214", "_INV_2026_1214_ thanks")
    codes = ("INV_2026_1214", "INV-2026-1214")
    assert_all("matched", [Case(text, code, "90") for text in texts for code in codes])


@pytest.mark.acceptance
def test_an_underscore_does_not_hide_a_longer_code() -> None:
    cases = [
        Case("INV_2026_1214_1", "INV-2026-1214", other="INV-2026-12141"),
        Case("INV_2026_1214 1", "INV_2026_1214", other="INV_2026_12141"),
        Case("PAY_INV_2026_1214", "INV_2026_1214"),
    ]
    assert_all("suggested", cases)


# Returns with charges


def returned(amount: str, charges: str | None, **more: Any) -> Any:
    """Match a receipt of 100 and its return by a debit of this amount with these charges."""
    paid = line("o", "100", CODE, 1, end_to_end_id="E2E-77", charges=None)
    back = line(
        "a", amount, None, 5, direction="DBIT", return_reason="MD06",
        original_reference="E2E-77", charges=None if charges is None else Decimal(charges),
    )  # fmt: skip
    return match([paid, back | more], [expectation("r", CODE, "100")])


@pytest.mark.acceptance
@pytest.mark.parametrize(("amount", "words"), [("105", "the rest are charges"), ("95", "a part")])
def test_a_return_may_state_charges_on_top_or_taken_off(amount: str, words: str) -> None:
    matches = returned(amount, "5")
    assert outcome(matches)["outcome"] == "returned"
    assert words in outcome(matches)["reason"]
    assert state(matches)["state"] == "reopened"


@pytest.mark.first_case
@pytest.mark.parametrize("charges", [None, "4", "6", "105"])
def test_a_return_above_the_payment_is_linked_only_with_equal_charges(
    charges: str | None,
) -> None:
    matches = returned("105", charges)
    assert outcome(matches)["outcome"] == "unreferenced"
    assert "more than" in outcome(matches)["reason"]
    assert outcome(matches, "o")["outcome"] == "matched"
    assert state(matches)["state"] == "received"


@pytest.mark.acceptance
def test_charges_on_top_do_not_prove_a_return_to_another_payer() -> None:
    other = {"counterparty_account": "DE02120300000000202051", "counterparty_name": "Zed GmbH"}
    matches = returned("105", "5", **other)
    assert outcome(matches)["outcome"] != "returned"
    assert outcome(matches, "o")["outcome"] == "matched"


@pytest.mark.acceptance
def test_a_return_of_the_exact_amount_takes_precedence_over_one_with_charges_on_top() -> None:
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
