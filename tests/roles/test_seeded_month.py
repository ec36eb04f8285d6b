"""Each fault of the seeded month is shown where the role that has to find it looks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from seeded_month import (
    CHANGED_IBAN,
    CHANGED_REQUEST,
    EQUAL_AMOUNT,
    MAKER,
    PAID_OUT,
    PAID_TWICE,
    REVIEWER,
    UNMAPPED_ACCOUNT,
    WRONG_CARRY,
    WRONG_REASON,
    Seeded,
    seeded_month,
)

from treasury.core.errors import ActionRefused, InputError
from treasury.core.money import parse_amount
from treasury.journal import Actor

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    with seeded_month(tmp_path_factory.mktemp("seeded") / "workspace") as month:
        yield month


def rows(seeded: Seeded, *words: str) -> list[dict[str, Any]]:
    """Return the rows that a command prints."""
    told: list[dict[str, Any]] = json.loads(seeded.run(*words, "--format", "json"))
    return told


def october(seeded: Seeded, kind: str) -> list[dict[str, Any]]:
    return rows(seeded, "exceptions", "2026-10", "--kind", kind)


def test_september_is_signed_by_a_second_person_and_october_is_open(seeded: Seeded) -> None:
    period = seeded.workspace.periods.month("2026-09").period
    assert period is not None
    assert (period.close.prepared_by, period.close.reviewed_by) == (MAKER, REVIEWER)
    assert seeded.workspace.periods.month("2026-10").period is None
    assert "not ready to close" in seeded.run("status", "2026-10")


def test_a_changed_iban_warns_wherever_it_could_be_paid(seeded: Seeded) -> None:
    (item,) = (row for row in rows(seeded, "status", "fix") if row["name"] == CHANGED_REQUEST)
    assert item["next_step"].startswith("Do not pay: the account was LT353250012345678901 before")
    assert f"is {CHANGED_IBAN}" in item["next_step"]
    assert CHANGED_REQUEST not in {row["name"] for row in rows(seeded, "status", "pay")}
    told = seeded.run("awaiting-funds")
    assert f"CHANGED {CHANGED_REQUEST}: IBAN was" in told
    assert f"is {CHANGED_IBAN}" in told


def test_a_payment_file_leaves_a_changed_iban_out(seeded: Seeded) -> None:
    panel = seeded.workspace.panels.funding()
    (request,) = (
        row["request"]
        for row in seeded.workspace.awaiting_funds().arrow.to_pylist()
        if row["reference"] == CHANGED_REQUEST
    )
    before = seeded.workspace.journal.head()
    account = seeded.workspace.settings.accounts[0].account
    panel.press("export", chosen=[request], pay_from=account)
    panel.wait()
    message = panel.frame().message
    assert message is not None
    assert "has new payment details" in str(message)
    assert seeded.workspace.journal.head() == before


def test_a_ledger_account_that_the_mapping_lacks_is_named(seeded: Seeded) -> None:
    told = seeded.run("books", "2026-10", "--books", str(seeded.books))
    assert UNMAPPED_ACCOUNT in told
    (item,) = october(seeded, "ledger_difference")
    assert UNMAPPED_ACCOUNT in item["name"] + item["next_step"]


def test_a_rejected_payment_is_named_with_the_banks_reason(seeded: Seeded) -> None:
    (item,) = october(seeded, "rejected")
    assert item["state"] == "REJECTED"
    assert item["next_step"].startswith("Rejected by the bank: AC04 account closed")
    assert item["name"] in {row["name"] for row in rows(seeded, "status", "fix")}


def test_a_credit_that_came_twice_is_a_duplicate_and_is_not_matched(seeded: Seeded) -> None:
    (item,) = (row for row in october(seeded, "duplicate") if PAID_OUT in row["name"])
    assert (parse_amount(item["amount"]), item["direction"]) == (PAID_TWICE, "in")
    lines = seeded.workspace.reconcile("2026-10").lines.arrow.to_pylist()
    both = [line for line in lines if PAID_OUT in (line["remittance"] or "")]
    assert sorted(line["outcome"] for line in both) == ["duplicate", "matched"]


def test_three_equal_credits_are_three_suggestions_and_one_group(seeded: Seeded) -> None:
    equal = [
        row for row in october(seeded, "suggested") if parse_amount(row["amount"]) == EQUAL_AMOUNT
    ]
    assert len({row["name"] for row in equal}) == 3, "each credit has a request of its own"
    line = equal[0]["item_id"].removeprefix("line:")
    seeded.run("match", "group", line, "--dry-run")


def test_the_reviewer_reads_the_wrong_reason_among_forty(seeded: Seeded) -> None:
    listed = rows(seeded, "items", "list", "2026-10")
    carried = [row for row in listed if row["name"]]
    assert len(carried) == 40, "those that are open in October"
    assert carried[-1]["reason"] != WRONG_REASON, "its place does not give it away"
    (wrong,) = (row for row in carried if row["reason"] == WRONG_REASON)
    assert (wrong["proposed_by"], wrong["accepted_by"]) == (MAKER, None)
    assert WRONG_CARRY in wrong["name"]
    assert wrong["state"] == "UNREFERENCED", "a line that the statement has"
    coverage = rows(seeded, "statements", "list", "--coverage")
    assert {(row["covered_to"], row["not_proved"]) for row in coverage} == {("2026-10-31", 0)}


def test_the_maker_cannot_accept_the_wrong_carry_nor_sign(seeded: Seeded) -> None:
    maker = Actor(MAKER, "environment")
    (wrong,) = (
        row for row in rows(seeded, "items", "list", "2026-10") if row["reason"] == WRONG_REASON
    )
    with pytest.raises(ActionRefused, match="cannot accept it"):
        seeded.workspace.items.accept(wrong["item_id"], month="2026-10", actor=maker)
    with pytest.raises((ActionRefused, InputError)):
        seeded.workspace.periods.sign("2026-10", actor=maker)


def test_the_controls_show_who_carried_what_and_why(seeded: Seeded) -> None:
    acts = rows(seeded, "periods", "controls", "2026-10")
    (wrong,) = (row for row in acts if row["reason"] == WRONG_REASON)
    assert (wrong["kind"], wrong["who"]) == ("carry_proposed", MAKER)
