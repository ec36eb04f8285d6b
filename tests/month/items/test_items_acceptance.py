"""Carrying an item past a close: one person proposes, another accepts; acceptances lapse."""

from __future__ import annotations

import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from items_october import facts_of, items_of, line
from signed import close_month

from treasury.close.closing import Closing
from treasury.journal import Actor, Journal
from treasury.journal.decision_log import read_decided
from treasury.month.items import OpenItem, acceptances, open_items
from treasury.month.items.carry_proposals import ACCEPTED, PROPOSED, WITHDRAWN
from treasury.workspace import Workspace

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month("2026-10")


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def propose(journal: Journal, **changed: Any) -> None:
    """Journal anna's proposal to carry the line e1."""
    body = {
        "amount": Decimal("100.00"),
        "currency": "EUR",
        "state": "NEEDS DECISION",
        "owner": "carla",
        "expected_by": "2026-11-30",
        "reason": "the payer was asked",
        **changed,
    }
    journal.append(PROPOSED, "line:e1", body, actor=ANNA)


def accept(journal: Journal) -> None:
    journal.append(ACCEPTED, "line:e1", {}, actor=BERT)


def carried(journal: Journal, october: Closing, **changed: Any) -> OpenItem:
    """Return the item of the line e1 as the journal carries it."""
    agreed = acceptances(read_decided(journal).entries)
    (item,) = open_items(facts_of(october, lines=[line(**changed)]), agreed)
    return item


@pytest.mark.acceptance
def test_an_item_is_carried_once_a_second_person_accepts_it(
    journal: Journal, october: Closing
) -> None:
    assert carried(journal, october).is_blocking
    propose(journal)
    item = carried(journal, october)
    assert (item.proposed_by, item.accepted_by, item.is_blocking) == ("anna", None, True)
    accept(journal)
    item = carried(journal, october)
    assert (item.proposed_by, item.accepted_by, item.is_blocking) == ("anna", "bert", False)
    assert (item.owner, item.expected_by) == ("carla", date(2026, 11, 30))
    assert (item.accepted_amount, item.accepted_state) == (Decimal(100), "NEEDS DECISION")
    assert item.accepted_reason == "the payer was asked"


def test_a_new_proposal_needs_acceptance_and_a_withdrawn_one_is_gone(
    journal: Journal, october: Closing
) -> None:
    propose(journal)
    accept(journal)
    propose(journal, owner="dora")
    assert carried(journal, october).is_blocking
    journal.append(WITHDRAWN, "line:e1", {}, actor=ANNA)
    assert carried(journal, october).proposed_by is None
    accept(journal)
    assert carried(journal, october).is_blocking


@pytest.mark.parametrize(
    "changed", [{"amount": Decimal("100.01")}, {"currency": "USD"}, {"outcome": "conflict"}]
)
def test_an_acceptance_lapses_when_amount_currency_or_state_change(
    journal: Journal, october: Closing, changed: dict[str, Any]
) -> None:
    propose(journal)
    accept(journal)
    item = carried(journal, october, **changed)
    assert item.accepted_by is None
    assert item.is_blocking


def test_an_acceptance_lapses_when_its_day_has_passed(journal: Journal, october: Closing) -> None:
    propose(journal, expected_by="2026-11-02")
    accept(journal)
    # Today is 2 November.
    assert not carried(journal, october).is_blocking
    propose(journal, expected_by="2026-11-01")
    accept(journal)
    assert carried(journal, october).is_blocking


@pytest.mark.acceptance
def test_an_acceptance_lapses_after_two_closes(
    month_end: Workspace, october: Closing, tmp_path: Path
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    propose(desk.journal)
    accept(desk.journal)
    assert not carried(desk.journal, october).is_blocking
    close_month(desk, "2026-08")
    assert not carried(desk.journal, october).is_blocking
    close_month(desk, "2026-09")
    assert carried(desk.journal, october).is_blocking


def test_an_item_that_cannot_be_accepted_is_not_carried(journal: Journal, october: Closing) -> None:
    (statement,) = items_of(
        october, statements=[{"account": "BE1", "currency": "EUR", "complete": False}]
    )
    body = {
        "amount": None,
        "state": statement.state,
        "owner": "carla",
        "expected_by": "2026-11-30",
        "reason": "why not",
    }
    journal.append(PROPOSED, statement.item_id, body, actor=ANNA)
    journal.append(ACCEPTED, statement.item_id, {}, actor=BERT)
    facts = facts_of(october, statements=[{"account": "BE1", "currency": "EUR", "complete": False}])
    (item,) = open_items(facts, acceptances(journal.entries()))
    assert item.is_blocking
    assert item.accepted_by is None


@pytest.mark.acceptance
def test_an_acceptance_in_the_journal_reaches_the_list_of_the_month(
    month_end: Workspace, october: Closing, tmp_path: Path
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    item = october.items.blocking.select(subject="line").items[0]
    body = {
        "amount": item.amount,
        "currency": item.currency,
        "state": item.state,
        "owner": "carla",
        "expected_by": "2026-11-30",
        "reason": "asked",
    }
    desk.journal.append(PROPOSED, item.item_id, body, actor=ANNA)
    desk.journal.append(ACCEPTED, item.item_id, {}, actor=BERT)
    now = desk.open_items("2026-10")
    assert now.by_id[item.item_id].accepted_by == "bert"
    assert len(now.blocking) == len(october.items.blocking) - 1
