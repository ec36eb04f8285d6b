"""A close by two people: one carries blocking items and prepares, the other accepts and signs."""

from __future__ import annotations

from pathlib import Path

from treasury.journal import Actor, Draft
from treasury.journal.period_history import Period
from treasury.workspace import Workspace

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
LATER = "2027-12-31"
"""The day by which carried items should clear."""


def carry_all(
    desk: Workspace,
    month: str,
    *,
    preparer: Actor = ANNA,
    reviewer: Actor = BERT,
    ledger: Path | None = None,
) -> None:
    """Carry every item that blocks the month, as two people would do one by one."""
    drafts = []
    for item in desk.periods.month(month, ledger=ledger).items.blocking:
        body = {
            "amount": item.amount,
            "currency": item.currency,
            "state": item.state,
            "owner": "carla",
            "expected_by": LATER,
            "reason": "carried forward",
        }
        drafts.append(Draft("item.proposed", item.item_id, body, preparer))
        drafts.append(Draft("item.accepted", item.item_id, {}, reviewer))
    desk.journal.decide(lambda _: drafts)


def close_month(
    desk: Workspace,
    month: str,
    *,
    preparer: Actor = ANNA,
    reviewer: Actor = BERT,
    ledger: Path | None = None,
) -> Period:
    """Carry the open items and close the month."""
    carry_all(desk, month, preparer=preparer, reviewer=reviewer, ledger=ledger)
    desk.periods.prepare(month, ledger=ledger, actor=preparer)
    period = desk.periods.sign(month, actor=reviewer).period
    assert period is not None
    return period
