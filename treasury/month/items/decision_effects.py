"""The effects of a decision on other items: the open items before and after it, compared.

A decision changes the line or request that it is about. If it also changes another open item (a
request that the line pays, a line that becomes open), the item is shown with the reason before the
decision is confirmed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Final

import msgspec
import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.money import format_amount
from treasury.core.tables.column_types import schema_of
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.wording import state_words
from treasury.month.decisions.comparison import moves_between
from treasury.month.items.open_item import OpenItem
from treasury.month.items.open_items import OpenItems
from treasury.month.standing_knowledge import Knowledge

_NOT_OPEN: Final = "not open"


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """An item that a decision changes: its word on screen before and after, and the reason."""

    item_id: str
    name: str
    amount: Decimal | None
    currency: str
    was: str
    becomes: str
    why: str

    def __str__(self) -> str:
        worth = "" if self.amount is None else f", {format_amount(self.amount, self.currency)}"
        was, becomes = map(state_words, (self.was or _NOT_OPEN, self.becomes or _NOT_OPEN))
        change = f"{was} to {becomes}"
        return f"{self.name}{worth}: {change} ({self.why})"


EFFECTS: Final = schema_of(Effect)
"""One row per item that changes, amounts in `currency`.

`was` is empty if the item is not open before the decision, `becomes` if it is not open after it; a
bank line then has its outcome instead, such as MATCHED.
"""


class Effects(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Every effect of a decision on other items, among the open items of `month`.

    `unknown` is the reason if the effects cannot be computed, and empty otherwise.
    """

    printed: ClassVar[Sequence[str]] = ("table",)

    month: Month
    effects: tuple[Effect, ...]
    sql: str = ""
    unknown: str = ""

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.effects)

    def __len__(self) -> int:
        return len(self.effects)

    @property
    def table(self) -> Table:
        """The items, with the columns of EFFECTS."""
        rows = [msgspec.structs.asdict(effect) for effect in self.effects]
        return Table(pa.Table.from_pylist(rows, schema=EFFECTS))

    def sheets(self) -> Mapping[str, Table]:
        """Return the items by sheet name."""
        return {"Effects": self.table}

    def __repr__(self) -> str:
        return f"<Effects, {self.month}: {len(self)} items change>"


def effects_between(
    before: OpenItems,
    after: OpenItems,
    knowledge: tuple[Knowledge, Knowledge],
    subjects: Collection[str],
) -> Effects:
    """Return the items that a decision changes, except those of the `subjects` (bank line ids).

    `knowledge` is the matching before and after. It has the reason for each change, and the lines
    that change from one settled outcome to another.
    """
    moves = {row["entry_id"]: row for row in moves_between(*knowledge, "decision").to_pylist()}
    decided = {f"line:{name}" for name in subjects}
    changed: dict[str, Effect] = {}
    for name in dict.fromkeys((*after.by_id, *before.by_id)):
        was, becomes = before.by_id.get(name), after.by_id.get(name)
        if name in decided or _facts_shown(was) == _facts_shown(becomes):
            continue
        item = becomes or was
        # Each id belongs to an item that is open before or after the decision.
        assert item is not None
        move = moves.get(item.entry_id or "") if item.item_id == f"line:{item.entry_id}" else None
        why = becomes.next_step if becomes is not None else "settled by the decision"
        changed[name] = Effect(
            item_id=item.item_id,
            name=item.name,
            amount=item.amount,
            currency=item.currency,
            was=was.state if was is not None else _outcome(move, "from"),
            becomes=becomes.state if becomes is not None else _outcome(move, "to"),
            why=why if move is None else str(move["why"]),
        )
    for entry, move in moves.items():
        name = f"line:{entry}"
        if name not in decided and name not in changed:
            changed[name] = _moved(name, move)
    return Effects(month=after.month, effects=tuple(changed.values()), sql=after.sql)


def _facts_shown(item: OpenItem | None) -> tuple[object, ...]:
    """Return the facts of an item that are compared: kind, state, amount and blocking."""
    return () if item is None else (item.kind, item.state, item.amount, item.blocks)


def _outcome(move: Mapping[str, Any] | None, side: str) -> str:
    """Return the outcome of a line without an open item, such as MATCHED or RETURNED."""
    return "" if move is None else str(move[f"{side}_outcome"] or "").upper()


def _moved(name: str, move: Mapping[str, Any]) -> Effect:
    """Return the effect on a line that changes from one settled outcome to another."""
    was, becomes = (
        " ".join(filter(None, (_outcome(move, side), move[f"{side}_reference"])))
        for side in ("from", "to")
    )
    return Effect(
        item_id=name,
        name=str(move["to_reference"] or move["from_reference"] or name),
        amount=move["amount"],
        currency=str(move["currency"]),
        was=was,
        becomes=becomes,
        why=str(move["why"]),
    )
