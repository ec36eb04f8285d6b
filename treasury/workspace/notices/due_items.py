"""The open items about which notices are sent: those of the morning's screen.

A missing sync becomes an item after the hours set in the settings.
"""

from __future__ import annotations

import hashlib
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from treasury.month.items import KINDS, OpenItem, OpenItems, open_now
from treasury.month.items.item_kinds import Turn
from treasury.workspace.notices.masking import masked

_EXPOSURE: Final = "exposure"
_NOT_READ: Final = "not_synced"
_IN_DOUBT: Final = "notice_unknown"


class DueItem(msgspec.Struct, frozen=True, kw_only=True):
    """An open item in a message; `name` is masked, without account numbers and amounts.

    `mark` identifies the item as sent; if its state or the party to act changes, the item is new.
    `action_id` is set for an action that waits for approval. `channel` is set for an item about a
    notice that may not have arrived; it names the notice's receiver.
    """

    mark: str
    kind: str
    turn: Turn
    state: str
    name: str
    since: date | None
    age: int
    clock: str
    amount: Decimal | None = None
    currency: str = ""
    action_id: str = ""
    channel: str = ""

    @property
    def label(self) -> str:
        """The words for the item's kind."""
        return KINDS[self.kind].label

    @property
    def next_step(self) -> str:
        """The next step for the item's kind.

        The item's own next step is not used, because it may contain amounts.
        """
        return KINDS[self.kind].next_step


def due_items(
    running: OpenItems,
    ended: OpenItems | None,
    *,
    now: datetime,
    today: date,
    synced_at: datetime | None,
    silent_after: timedelta,
) -> tuple[DueItem, ...]:
    """Return the open items on which somebody can act now.

    `running` are the items of the current month; `ended` are the previous month's, if it is not
    closed. `today` is the day in the reporting time zone.
    """
    is_silent = synced_at is None or now - synced_at > silent_after
    # The exposure of the running month begins again every day, and would be sent every day.
    due = {item.item_id: item for item in ended or () if item.subject == _EXPOSURE}
    for item in open_now(running, ended, today=today, is_silent=is_silent):
        if item.subject != _EXPOSURE:
            due[item.item_id] = item
    return tuple(_due(item, synced_at) for item in due.values())


def _due(item: OpenItem, synced_at: datetime | None) -> DueItem:
    is_act = item.subject in {"action", "notice", "removal"}
    # The time of the last sync distinguishes one missing sync from another.
    since = synced_at if item.kind == _NOT_READ else item.since
    parts = (item.item_id, item.kind, item.state, item.turn, str(since))
    return DueItem(
        mark=hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32],
        kind=item.kind,
        turn=item.turn,
        state=item.state,
        name=item.subject_id if is_act else masked(item.name),
        since=item.since,
        age=item.age,
        clock=item.clock,
        amount=item.amount,
        currency=item.currency,
        action_id=item.subject_id if item.subject == "action" else "",
        channel=item.subject_id if item.kind == _IN_DOUBT else "",
    )
