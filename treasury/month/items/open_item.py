"""One open item: a matter that is not settled at the time of the question, and its table."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.decoding import convert
from treasury.core.errors import InputError
from treasury.core.money import format_amount, typed_amount
from treasury.core.tables.column_types import schema_of
from treasury.core.text import clean, nearest
from treasury.core.wording import state_words
from treasury.month.items.item_kinds import KINDS, OWNERS, Blocks, ItemKind, Task, Turn


class OpenItem(msgspec.Struct, frozen=True, kw_only=True):
    """A matter that is not settled; `amount` is in `currency`, None if no amount is open.

    `item_id` stays the same across syncs and imports while the matter is the same. `month` is the
    month in which it began, and `age` is the number of days of `clock` since `since`. `direction`
    is `in`, `out` or empty. `counted_in` is the id of another item, if its amount already
    contains the money.
    """

    item_id: str
    kind: str
    subject: str
    subject_id: str
    name: str
    month: str
    state: str
    since: date | None
    due: date | None = None
    age: int = 0
    clock: str = ""
    amount: Decimal | None = None
    currency: str = ""
    direction: str = ""
    turn: Turn
    blocks: Blocks
    is_material: bool = True
    counted_in: str | None = None
    evidence_to: date | None = None
    remark: str = ""
    """A colleague's remark; no evidence."""
    proposed_by: str | None = None
    accepted_by: str | None = None
    accepted_alone: bool = False
    """Whether one person proposed and accepted, which a one-person policy allows."""
    accepted_amount: Decimal | None = None
    accepted_state: str | None = None
    owner: str | None = None
    expected_by: date | None = None
    accepted_reason: str | None = None
    next_step: str
    command: str
    request_id: str | None = None
    entry_id: str | None = None
    transfer_id: str | None = None

    @property
    def words(self) -> ItemKind:
        """The label and next step of the item's kind."""
        return KINDS[self.kind]

    @property
    def shown_owner(self) -> str:
        """The owner that people named, or else the side that acts next, as on screen."""
        return self.owner or OWNERS[self.turn]

    @property
    def task(self) -> Task | None:
        """Our work on the item; None if somebody else acts next."""
        return (self.words.task or "other") if self.turn == "us" else None

    @property
    def is_accepted(self) -> bool:
        """Whether the proposal to carry the item past the close was accepted."""
        return self.accepted_by is not None

    @property
    def is_blocking(self) -> bool:
        """Whether the item prevents the close of its month."""
        if self.blocks == "until accepted":
            return self.is_material and not self.is_accepted
        return self.blocks == "never acceptable"

    @property
    def counted_amount(self) -> Decimal | None:
        """The amount that the item adds to sums; None if another item contains it."""
        return self.amount if self.counted_in is None else None

    def __str__(self) -> str:
        worth = "" if self.amount is None else f", {format_amount(self.amount, self.currency)}"
        return f"{state_words(self.state)}: {self.name}{worth} ({self.next_step})"


class ItemFilter(msgspec.Struct, frozen=True):
    """Conditions on the owner, the currency and the amount of items; empty ones are met.

    `least` is compared with the amount without its sign, in each item's own currency.
    """

    owner: str = ""
    currency: str = ""
    least: Decimal | None = None

    def passes(self, owner: str, currency: str, amount: Decimal | None) -> bool:
        """Return whether an item meets all conditions; without an amount it never meets `least`."""
        return (
            self.owner in ("", owner.casefold())
            and self.currency in ("", currency)
            and (self.least is None or (amount is not None and abs(amount) >= self.least))
        )


def item_filter(
    owner: str | None, currency: str | None, min_amount: str | int | Decimal | None
) -> ItemFilter:
    """Return the filter for these arguments; raise InputError for an invalid amount."""
    least = None if min_amount is None else typed_amount(min_amount, name="min_amount")
    if least is not None and least < 0:
        raise InputError(f"min_amount is negative, {least}", do="give the amount without a sign")
    return ItemFilter((owner or "").strip().casefold(), (currency or "").strip().upper(), least)


def owner_notes(owner: str | None, owners: Iterable[str]) -> tuple[str, ...]:
    """Return a note if no item has this owner; it names the owners that exist, nearest first."""
    listed = sorted(set(owners))
    if owner is None or owner.strip().casefold() in map(str.casefold, listed):
        return ()
    near = nearest(owner, listed)
    names = ", ".join(map(clean, sorted(listed, key=lambda name: name != near)))
    others = f"; the owners are {names}" if names else ", or any other owner"
    return (f"no item has the owner {clean(owner)[:60]!r}{others}",)


OPEN_ITEMS: Final = pa.schema(
    ("blocking" if field.name == "is_material" else field.name, field.type)
    for field in schema_of(OpenItem)
)
"""One row per open item; `blocking` is whether it prevents the close of its month."""


def items_table(items: Iterable[OpenItem]) -> pa.Table:
    """Return the items as a table with the columns of OPEN_ITEMS, in their order."""
    rows = [msgspec.structs.asdict(item) | {"blocking": item.is_blocking} for item in items]
    return pa.Table.from_pylist(rows, schema=OPEN_ITEMS)


def items_of(table: pa.Table) -> tuple[OpenItem, ...]:
    """Return the items of a table with the columns of OPEN_ITEMS, in the table's order."""
    items = []
    for row in table.to_pylist():
        waits = row["blocks"] == "until accepted" and row["accepted_by"] is None
        row["is_material"] = row.pop("blocking") or not waits
        row["accepted_alone"] = bool(row["accepted_alone"])
        items.append(convert(row, OpenItem))
    return tuple(items)
