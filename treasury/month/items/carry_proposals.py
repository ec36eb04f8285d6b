"""Carrying an open item past a close: one person proposes it and another accepts it, item by item.

An acceptance states the item's amount and state, an owner, and the day by which the item should
clear. It lapses when the amount or state changes, when that day passes, or after two closes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.decoding import convert
from treasury.core.money import format_amount, parse_amount
from treasury.core.tables.column_types import schema_of
from treasury.journal import Entry
from treasury.journal.period_history import closed_periods
from treasury.journal.person_names import same_person
from treasury.month.items.open_item import OpenItem

PROPOSED: Final = "item.proposed"
ACCEPTED: Final = "item.accepted"
WITHDRAWN: Final = "item.withdrawn"
_CLOSES: Final = 2
"""The number of closes after which an acceptance lapses."""


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal to carry an item, and the person who accepted it (None before the acceptance).

    `proposal` is the proposal's place in the journal. `alone` is true if the same person proposed
    and accepted, which a one-person policy allows. `closes` are the months that were closed with
    the acceptance.
    """

    item_id: str
    amount: Decimal | None
    currency: str
    state: str
    owner: str
    expected_by: date
    reason: str
    proposed_by: str
    accepted_by: str | None = None
    closes: tuple[str, ...] = ()
    proposal: int
    alone: bool = False

    def lapse(self, item: OpenItem, today: date) -> str:
        """Return why the acceptance no longer applies to the item; empty while it applies."""
        if (item.amount, item.currency) != (self.amount, self.currency):
            return f"the amount was {_worth(self)}, is {_worth(item)}"
        if item.state != self.state:
            return f"the state was {self.state}, is {item.state}"
        if today > self.expected_by:
            return f"it was expected to clear by {self.expected_by}"
        if len(self.closes) >= _CLOSES:
            return f"{' and '.join(self.closes)} were closed with it carried"
        return ""


def _worth(record: Acceptance | OpenItem) -> str:
    if record.amount is None:
        return "not stated"
    return format_amount(record.amount, record.currency)


ACCEPTANCES: Final = schema_of(Acceptance)
"""One row per current proposal to carry an item; amounts in `currency`."""


def acceptances(entries: Iterable[Entry]) -> dict[str, Acceptance]:
    """Return the current proposals by the id of their item, with the person who accepted each.

    People cannot accept their own proposals, in any spelling of their name, unless the entry states
    a one-person policy.
    """
    stand: dict[str, Acceptance] = {}
    everything = tuple(entries)
    closed = closed_periods(everything)
    for entry in everything:
        if entry.kind == PROPOSED:
            stand[entry.subject] = _proposal(entry.body, entry)
        elif entry.kind == ACCEPTED and entry.subject in stand:
            proposal = stand[entry.subject]
            alone = same_person(proposal.proposed_by, entry.actor.name)
            if alone and not entry.body.get("alone"):
                continue
            closes = tuple(
                month for month, period in closed.items() if period.entry.seq > entry.seq
            )
            stand[entry.subject] = msgspec.structs.replace(
                proposal, accepted_by=entry.actor.name, closes=closes, alone=alone
            )
        elif entry.kind == WITHDRAWN:
            stand.pop(entry.subject, None)
    return stand


def acceptance_table(stand: Mapping[str, Acceptance]) -> pa.Table:
    """Return one row per current proposal; columns as in ACCEPTANCES."""
    return pa.Table.from_pylist(list(map(msgspec.structs.asdict, stand.values())), ACCEPTANCES)


def read_acceptances(table: pa.Table) -> dict[str, Acceptance]:
    """Return the proposals in a table with the columns of ACCEPTANCES, by the id of their item."""
    return {row["item_id"]: convert(row, Acceptance) for row in table.to_pylist()}


_read_amount: Final = lru_cache(10_000)(parse_amount)
"""Parsed amounts are cached, because every decision reads the same proposals."""


def _proposal(body: dict[str, Any], entry: Entry) -> Acceptance:
    amount = body.get("amount")
    return Acceptance(
        item_id=entry.subject,
        amount=None if amount is None else _read_amount(amount),
        currency=body.get("currency") or "",
        state=body["state"],
        owner=body["owner"],
        expected_by=date.fromisoformat(body["expected_by"]),
        reason=body["reason"],
        proposed_by=entry.actor.name,
        proposal=entry.seq,
    )


def carried(item: OpenItem, acceptance: Acceptance | None, today: date) -> OpenItem:
    """Return the item with its carry proposal, or unchanged if no proposal applies to it."""
    if acceptance is None or item.blocks != "until accepted" or acceptance.lapse(item, today):
        return item
    return msgspec.structs.replace(
        item,
        proposed_by=acceptance.proposed_by,
        accepted_by=acceptance.accepted_by,
        accepted_alone=acceptance.alone,
        accepted_amount=acceptance.amount,
        accepted_state=acceptance.state,
        owner=acceptance.owner,
        expected_by=acceptance.expected_by,
        accepted_reason=acceptance.reason,
    )
