"""Returns that may belong to another payment or a stranger are not linked.

The first part of a test's name, such as `f9`, is the number of the attack.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from match_tables import OWN, expectation, line, match, outcome

pytestmark = pytest.mark.long_file

Row = dict[str, Any]

CODE = "VFY-8M3T-407"
STANDING = expectation("v", CODE)
LONGER = expectation("u", "VFY-8M3T-4075")
REQUEST = expectation("p", "PAY-2026-004417", "100")
PAYER = {"counterparty_account": "DE1", "counterparty_name": "A GmbH"}
STRANGER = {"counterparty_account": None, "counterparty_name": "Z Stranger BV"}
OURS = {"counterparty_account": OWN, "counterparty_name": None}
NOBODY = {"counterparty_account": None, "counterparty_name": None}


def paid(text: str = CODE, **more: Any) -> Row:
    return line("a", "100", text, 1, **(PAYER | more))


def back(amount: str, text: str | None = CODE, **more: Any) -> Row:
    return line("r", amount, text, 9, direction="DBIT", return_reason="AC04", **more)


def outcomes(lines: list[Row], *others: Row) -> list[str]:
    matches = match([row | {"charges": row.get("charges")} for row in lines], [STANDING, *others])
    return [outcome(matches, row["entry_id"])["outcome"] for row in lines]


def is_a_question(lines: list[Row], *others: Row) -> bool:
    """Return whether no line is linked automatically as a return."""
    return "returned" not in outcomes(lines, *others)


# The receiver of a return


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("payment", "returned_line"),
    [
        (paid(end_to_end_id="E7"), back("100", None, original_reference="E7", **STRANGER)),
        (paid(), back("100", **STRANGER)),
        (
            paid(counterparty_account=None),
            back("100", counterparty_account="DE9", counterparty_name="Z Stranger"),
        ),
        (
            paid(counterparty_account=None, counterparty_name="Alpha Handel BV"),
            back("100", counterparty_account=None, counterparty_name="Beta Trading BV"),
        ),
    ],
)
def test_f9_a_return_to_another_name_is_not_linked(payment: Row, returned_line: Row) -> None:
    assert outcomes([payment, returned_line])[0] == "matched"
    assert is_a_question([payment, returned_line])


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("payer", "receiver"),
    [
        ("Müller & Söhne KG", "MULLER UND SOEHNE"),
        ("Jansen Bouw B.V.", "Jansen-Bouw BV"),
        ("A GmbH", "A. GMBH"),
        ("Alpha Handel", "Alpha"),
    ],
)
def test_a_return_to_the_payer_by_another_spelling_is_linked(payer: str, receiver: str) -> None:
    unknown = {"counterparty_account": None}
    lines = [
        paid(counterparty_name=payer),
        back("100", counterparty_name=receiver, **unknown),
    ]
    assert outcomes(lines) == ["returned", "returned"]


@pytest.mark.first_case
@pytest.mark.parametrize("receiver", [STRANGER, NOBODY, OURS])
@pytest.mark.parametrize("reference", ["1", "RENT 10", "E2E-77120"])
def test_f10_a_partial_return_to_anyone_but_the_payer_is_not_linked(
    receiver: Row, reference: str
) -> None:
    payment = paid(end_to_end_id=reference)
    part = back("30", None, original_reference=reference, **receiver)
    assert outcomes([payment, part])[0] == "matched"
    assert is_a_question([payment, part])


def test_f10_an_id_of_a_few_characters_proves_nothing() -> None:
    for receiver in (NOBODY, OURS):
        whole = back("100", None, original_reference="1", **receiver)
        assert is_a_question([paid(end_to_end_id="1"), whole])
    same = back("100", None, original_reference="1", **PAYER)
    assert outcomes([paid(end_to_end_id="1"), same]) == ["returned", "returned"]


@pytest.mark.parametrize(("charges", "expected"), [("3", "returned"), ("2", "unreferenced")])
def test_a_return_may_be_short_by_the_charges_that_it_states(charges: str, expected: str) -> None:
    stated = {"original_reference": "E2E-77120", "charges": Decimal(charges)}
    lines = [paid(end_to_end_id="E2E-77120"), back("97", None, **stated, **NOBODY)]
    assert outcomes(lines) == ["matched", expected]


def test_a_partial_return_is_linked_if_only_one_payment_precedes_it() -> None:
    part = back("40", **PAYER)
    later = line("c", "200", CODE, 12, **PAYER)
    assert outcomes([paid(), part, later]) == ["matched", "returned", "matched"]
    for amount in ("200", "40"):
        sooner = line("c", amount, CODE, 2, **PAYER)
        assert outcomes([paid(), part, sooner])[0] == "matched"
    assert is_a_question([paid(), part, line("c", "200", CODE, 2, **PAYER)])


# The payment that a return names


@pytest.mark.first_case
@pytest.mark.parametrize("reference", [None, "NOTPROVIDED"])
@pytest.mark.parametrize(
    ("amount", "receiver"), [("100", OURS), ("100", PAYER), ("40", {"counterparty_account": "DE1"})]
)
def test_f11_a_return_that_names_another_original_is_not_linked(
    reference: str | None, amount: str, receiver: Row
) -> None:
    lines = [paid(end_to_end_id=reference), back(amount, original_reference="E2E-9", **receiver)]
    assert outcomes(lines)[0] == "matched"
    assert is_a_question(lines)


def test_a_return_with_the_code_as_original_id_is_linked_if_the_payment_has_no_id() -> None:
    for reference in (None, "NOTPROVIDED"):
        lines = [paid(end_to_end_id=reference), back("100", original_reference=CODE, **OURS)]
        assert outcomes(lines) == ["returned", "returned"]
    lines = [paid(end_to_end_id="E2E-1"), back("100", original_reference=CODE, **OURS)]
    assert is_a_question(lines)


# The code that a text names


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("text", "other"), [(f"{CODE}, 5", LONGER), (f"{CODE} PAY 2026 004417", REQUEST)]
)
def test_f12_f13_a_return_with_a_text_that_may_name_another_code_is_not_linked(
    text: str, other: Row
) -> None:
    for receiver in (OURS, PAYER):
        lines = [paid(), back("100", text, **receiver)]
        assert outcomes(lines, other)[0] == "matched"
        assert is_a_question(lines, other)
    assert outcomes([paid(), back("100", **OURS)], other) == ["returned", "returned"]


@pytest.mark.first_case
@pytest.mark.parametrize("amount", ["100", "40"])
@pytest.mark.parametrize("receiver", [OURS, PAYER])
def test_f14_a_payment_that_may_belong_to_another_code_is_not_linked_to_a_return(
    amount: str, receiver: Row
) -> None:
    lines = [paid(f"{CODE}, 5"), back(amount, **receiver)]
    assert outcomes(lines, LONGER)[0] == "suggested"
    assert is_a_question(lines, LONGER)
    clear = line("b", "100", CODE, 2, **PAYER)
    assert is_a_question([*lines, clear], LONGER)


def test_f14_a_doubtful_payment_is_linked_to_a_return_with_its_own_reference() -> None:
    reference = "E2E-77120"
    lines = [
        paid(f"{CODE}, 5", end_to_end_id=reference),
        back("100", original_reference=reference, **PAYER),
    ]
    matches = match(lines, [STANDING, LONGER])
    for entry_id in "ar":
        row = outcome(matches, entry_id)
        assert (row["outcome"], row["expectation_id"]) == ("returned", None)
