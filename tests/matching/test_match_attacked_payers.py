"""Returns among several payers, and class rules: a doubtful line is not matched.

The first part of a test's name, such as `r1`, is the number of the attack.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from attacked_lines import ACCOUNT_CODE, LONG, PAYER, Row, request, standing
from match_tables import OWN, line, match, outcome, state

from treasury.matching.engine.pipeline import load, run, steps_of
from treasury.matching.rules import ClassRule, Rules
from treasury.month.question_tables import class_rule_table
from treasury.month.reconciliation import MONTH_PACKAGE

pytestmark = pytest.mark.long_file

SECOND_PAYER = {"counterparty_account": "FR7630006000011234567890189"}
ON_ACCOUNT = [standing("v", ACCOUNT_CODE)]


def paid(entry_id: str, day: int, payer: Row, **more: Any) -> Row:
    return line(entry_id, "100", ACCOUNT_CODE, day, **(payer | more))


def back(payer: Row, amount: str = "100", text: str | None = ACCOUNT_CODE, **more: Any) -> Row:
    return line("z", amount, text, 9, direction="DBIT", return_reason="AC04", **(payer | more))


def outcomes(lines: list[Row], expectations: list[Row] = ON_ACCOUNT) -> list[str]:
    matches = match(lines, expectations)
    return [outcome(matches, row["entry_id"])["outcome"] for row in lines]


UNKNOWN = [{"counterparty_account": OWN}, {"counterparty_account": None, "counterparty_name": None}]


def test_r1_a_return_reopens_the_payment_of_its_receiver() -> None:
    lines = [paid("a", 1, PAYER), paid("b", 2, SECOND_PAYER), back(SECOND_PAYER)]
    assert outcomes(lines) == ["matched", "returned", "returned"]
    assert outcomes([lines[0], lines[1], back(PAYER)]) == ["returned", "matched", "returned"]


@pytest.mark.first_case
@pytest.mark.parametrize("unknown", UNKNOWN)
@pytest.mark.parametrize("text", [ACCOUNT_CODE, None])
def test_r1_a_return_to_an_unknown_receiver_reopens_neither_of_two_payments(
    unknown: Row, text: str | None
) -> None:
    lines = [paid("a", 1, PAYER), paid("b", 2, SECOND_PAYER), back(unknown, text=text)]
    assert outcomes(lines)[:2] == ["matched", "matched"]
    assert outcomes(lines)[2] != "returned"


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_r1_a_return_to_an_unknown_receiver_is_linked_if_one_payment_fits(unknown: Row) -> None:
    assert outcomes([paid("a", 1, PAYER), back(unknown)]) == ["returned", "returned"]


@pytest.mark.first_case
@pytest.mark.parametrize("reference", ["E2E-77120", "RENT"])
def test_r2_a_return_with_an_end_to_end_id_of_two_payers_goes_by_its_receiver(
    reference: str,
) -> None:
    own = {"end_to_end_id": reference}
    lines = [paid("a", 1, PAYER, **own), paid("b", 2, SECOND_PAYER, **own)]
    reference_field = {"original_reference": reference}
    assert outcomes([*lines, back(SECOND_PAYER, **reference_field)]) == [
        "matched",
        "returned",
        "returned",
    ]
    for unknown in UNKNOWN:
        for text in (ACCOUNT_CODE, None):
            outcomes_read = outcomes([*lines, back(unknown, text=text, **reference_field)])
            assert outcomes_read[:2] == ["matched", "matched"]
            assert outcomes_read[2] != "returned"


@pytest.mark.first_case
@pytest.mark.parametrize("reference", ["RENT", "E2E-77120"])
@pytest.mark.parametrize("amount", ["40", "100"])
def test_r3_a_strangers_return_with_our_id_reopens_no_payment(reference: str, amount: str) -> None:
    expectations = [request("r", LONG, "100")]
    lines = [line("a", "100", LONG, 1, end_to_end_id=reference, **PAYER)]
    stranger = back(SECOND_PAYER, amount, "rent", original_reference=reference)
    matches = match([*lines, stranger], expectations)
    assert outcome(matches)["outcome"] == "matched"
    assert (state(matches)["state"], outcome(matches, "z")["outcome"]) == (
        "received",
        "unreferenced",
    )


@pytest.mark.parametrize("amount", ["40", "100"])
def test_r3_a_common_word_as_the_original_reference_proves_no_return(amount: str) -> None:
    lines = [line("a", "100", LONG, 1, end_to_end_id="RENT", **PAYER)]
    for unknown in UNKNOWN:
        stranger = back(unknown, amount, "rent", original_reference="RENT")
        matches = match([*lines, stranger], [request("r", LONG, "100")])
        assert (outcome(matches)["outcome"], state(matches)["state"]) == ("matched", "received")


@pytest.mark.parametrize("reference", [None, "E2E-77120"])
def test_r4_a_return_to_a_payer_without_a_stored_payment_is_not_linked(
    reference: str | None,
) -> None:
    own = {"end_to_end_id": reference}
    lines = [paid("a", 1, PAYER, **own), back(SECOND_PAYER, original_reference=reference)]
    assert outcomes(lines)[0] == "matched"
    assert outcomes(lines)[1] != "returned"


def test_a_return_that_fits_several_equal_payments_of_a_payer_reopens_none() -> None:
    lines = [paid("a", 1, PAYER), paid("b", 2, PAYER)]
    assert outcomes([*lines, back(PAYER)])[:2] == ["matched", "matched"]


def test_a_return_among_payments_of_one_payer_goes_by_its_reference() -> None:
    lines = [paid("a", 1, PAYER, end_to_end_id="E2E-1"), paid("b", 2, PAYER, end_to_end_id="E2E-2")]
    outcomes_read = outcomes([*lines, back(PAYER, original_reference="E2E-2")])
    assert outcomes_read == ["matched", "returned", "returned"]


TEXT_RULES = (
    ClassRule(name="rent", line_class="other_business", remittance="rent"),
    ClassRule(name="owner", line_class="other_business", counterparty_name="landlord"),
)


BANK_RULES = (
    ClassRule(name="coded", line_class="other_business", bank_transaction_code="PMNT"),
    ClassRule(name="account", line_class="other_business", counterparty_account="DE1"),
)


def classed(*rules: ClassRule, **more: Any) -> list[str]:
    """Return the names of the class rules that a line of the provider's account meets."""
    texts = ("source", "account", "remittance", "bank_transaction_code", "counterparty_account",
             "counterparty_name", "return_reason")  # fmt: skip
    row = {"entry_id": "a", "direction": "DBIT", "is_reversal": False} | dict.fromkeys(texts)
    row |= {"source": "provider_report", "remittance": "sweep VFY"} | more
    schema = pa.schema(
        [(name, pa.bool_() if name == "is_reversal" else pa.string()) for name in row]
    )
    with duckdb.connect() as connection:
        tables = {
            "bank_lines": pa.Table.from_pylist([row], schema),
            "class_rules": class_rule_table(Rules(classes=rules), ()),
            "whole_references": pa.table({"entry_id": pa.array([], pa.string())}),
            "decisions": pa.table(
                {"entry_id": pa.array([], pa.string()), "verdict": pa.array([], pa.string())}
            ),
        }
        load(connection, tables)
        run(
            connection,
            [steps_of(MONTH_PACKAGE)[name] for name in ("classed_lines", "line_classes")],
        )
        return connection.table("line_classes").to_arrow_table()["rule_name"].to_pylist()


@pytest.mark.parametrize("reversal", [{"is_reversal": True}, {"return_reason": "AC04"}])
def test_h_no_class_rule_excludes_a_return(reversal: Row) -> None:
    assert classed() == ["conversion sweep"]
    assert classed(**reversal) == []
    for rule in (*TEXT_RULES, *BANK_RULES):
        facts = {"counterparty_account": "DE1", "bank_transaction_code": "PMNT/X"}
        assert classed(rule, remittance="rent", counterparty_name="landlord", **facts) == [
            rule.name
        ]
        assert (
            classed(rule, remittance="rent", counterparty_name="landlord", **facts, **reversal)
            == []
        )


def test_a_payers_text_alone_never_classes_a_credit() -> None:
    facts = {"remittance": "rent", "counterparty_name": "Landlord", "direction": "CRDT"}
    for rule in TEXT_RULES:
        assert classed(rule, **facts) == []
        assert classed(rule, **facts | {"direction": "DBIT"}) == [rule.name]
    assert classed(BANK_RULES[0], **facts, bank_transaction_code="PMNT/X") == ["coded"]
    assert classed(BANK_RULES[1], **facts, counterparty_account="DE1") == ["account"]


@pytest.mark.parametrize("doubtful", ["FV/11/2/2026", "CHECK FV/1/12/2026 " + "X" * 20_000])
def test_a_payment_with_a_doubtful_text_does_not_make_its_payer_known(doubtful: str) -> None:
    lines = [line("a", "40", doubtful, 3), line("b", "120", "FV/1/12/2026", 9)]
    assert outcomes(lines, [request("r", "FV/1/12/2026", "100")]) == ["suggested", "suggested"]
    lines[0]["remittance"] = "FV/1/12/2026"
    assert outcomes(lines, [request("r", "FV/1/12/2026", "100")]) == ["matched", "matched"]
