"""Carrying an open item past a close: one person proposes it, another accepts it, item by item.

An acceptance holds the amount and the state that were accepted, an owner and the day by which the
item should clear. It lapses when amount or state move, when the day passes, or after two closes.
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
"""How many closes an acceptance holds for."""


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """What was proposed to be carried, and who accepted it; None while nobody has.

    `proposal` is the proposal's place in the journal, `alone` says that one person did both under a
    policy of one person, and `closes` are the months that were closed on it.
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
        """Why it no longer holds for an item as it is now; empty while it does."""
        if (item.amount, item.currency) != (self.amount, self.currency):
            return f"the amount was {_worth(self)}, is {_worth(item)}"
        if item.state != self.state:
            return f"the state was {self.state}, is {item.state}"
        if today > self.expected_by:
            return f"it should have cleared by {self.expected_by}"
        if len(self.closes) >= _CLOSES:
            return f"{' and '.join(self.closes)} were closed on it"
        return ""


def _worth(record: Acceptance | OpenItem) -> str:
    if record.amount is None:
        return "not stated"
    return format_amount(record.amount, record.currency)


ACCEPTANCES: Final = schema_of(Acceptance)
"""A row for each proposal to carry an item that stands; amounts in `currency`."""


def acceptances(entries: Iterable[Entry]) -> dict[str, Acceptance]:
    """The proposals that stand, with who accepted each, by the id of their item.

    Nobody accepts what they proposed, however the name is written, unless the entry says that the
    policy was that of one person.
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
    """A row for each proposal that stands; columns as in ACCEPTANCES."""
    return pa.Table.from_pylist(list(map(msgspec.structs.asdict, stand.values())), ACCEPTANCES)


def read_acceptances(table: pa.Table) -> dict[str, Acceptance]:
    """The proposals of a table as in ACCEPTANCES, by the id of their item."""
    return {row["item_id"]: convert(row, Acceptance) for row in table.to_pylist()}


_read_amount: Final = lru_cache(10_000)(parse_amount)
"""The same proposals are read with each decision."""


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
    """The item with what people agreed about it, where that still holds."""
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
