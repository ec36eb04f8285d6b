"""Collects the open items for a workspace's notices, and the people who have to act on them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from treasury.actions.action_states import actions_of
from treasury.actions.authority.approvers import waiting_for
from treasury.core.settings.notice_terms import NoticeTerms
from treasury.journal.period_history import closed_periods
from treasury.workspace.notices import DueItem, NoticeSender, due_items

if TYPE_CHECKING:
    from treasury.workspace.decision_verbs import WorkspaceDecisions


def notice_desk(t: WorkspaceDecisions) -> NoticeSender:
    """Return the object that sends a workspace's notices."""
    return NoticeSender(
        t.journal,
        t.settings,
        lambda: items_due(t),
        lambda person: waiting_for(person, actions_of(t.journal.entries("action.")), t.policy),
        require_confirmed=t.require_confirmed,
        until=t.as_of,
    )


def items_due(t: WorkspaceDecisions) -> tuple[DueItem, ...]:
    """Return the open items of the current month, and of the previous month unless it is closed."""
    periods, month = t.periods, t.this_month
    running = periods.month(month)
    is_closed = str(month.previous) in closed_periods(t.decided().entries)
    terms = t.settings.notices or NoticeTerms()
    return due_items(
        running.items,
        None if is_closed else periods.month(month.previous).items,
        now=t.now(),
        today=t.today,
        synced_at=running.synced_at,
        silent_after=timedelta(hours=terms.silent_hours),
    )
