"""Collects the open items for a workspace's notices, and the people who have to act on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treasury.actions.action_states import actions_of
from treasury.actions.authority.approvers import waiting_for
from treasury.workspace.morning import running_and_ended, silent_after
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
    running, ended, _ = running_and_ended(t)
    return due_items(
        running.items,
        None if ended is None else ended.items,
        now=t.now(),
        today=t.today,
        synced_at=running.synced_at,
        silent_after=silent_after(t),
    )
