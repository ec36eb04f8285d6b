"""Lists of actions, and the batch that confirms several actions at once.

A list prints one action per line, with the people who proposed and approved it. In a notebook it
shows a table. A batch has one text, totals by currency, and the hash of each action as shown.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from treasury.actions.action_states import Action
from treasury.actions.kinds.kind import AssetAmount
from treasury.core.money import total
from treasury.core.tables.column_types import TEXT
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import html_grid
from treasury.core.text import clean

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = ("Action", "State", "What it does", "Proposed by", "Approved by")
_FIELDS = ("id", "state", "text", "proposed_by", "approved_by")


class ActionList(tuple[Action, ...]):
    """Several actions, oldest first: a tuple that prints one action per line."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no action"
        return "\n".join(map(_line, self))

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no action</p>"
        return html_grid(map(_cells, self), _COLUMNS)

    @property
    def table(self) -> Table:
        """The actions as a table: `id`, `state`, `text`, `proposed_by` and `approved_by`.

        Examples
        --------
        >>> t.actions.list().table.where(state="done")
        """
        columns = zip(*map(_cells, self), strict=True) if self else [()] * len(_FIELDS)
        arrow = pa.table(
            {name: pa.array(cells, TEXT) for name, cells in zip(_FIELDS, columns, strict=True)}
        )
        return Table(arrow, title="Actions")

    @property
    def df(self) -> pd.DataFrame:
        """The table as a pandas DataFrame."""
        return self.table.df


def _cells(action: Action) -> tuple[str, str, str, str, str]:
    """Return the cells of an action; its people are those who proposed and approved it."""
    proposer, *approvers = action.people
    return action.id, action.state, action.text, proposer, ", ".join(approvers)


def _line(action: Action) -> str:
    """Return an action in one line, with the people who proposed and approved it."""
    id_, state, text, proposer, approvers = map(clean, _cells(action))
    approved = f", approved by {approvers}" if approvers else ""
    return f"{id_}  {state}  {text}  (proposed by {proposer}{approved})"


class Total(msgspec.Struct, frozen=True):
    """The number and the total amount of the actions in one currency or asset."""

    count: int
    money: AssetAmount


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Several actions that a person confirms at once, with one total for each currency or asset."""

    ids: tuple[str, ...]
    hashes: dict[str, str]
    lines: tuple[str, ...]
    totals: tuple[Total, ...]
    without_amount: int

    @property
    def hash(self) -> str:
        """The hash of the batch, computed from the hashes of its actions."""
        return hashlib.sha256("\n".join(self.hashes.values()).encode()).hexdigest()

    @property
    def text(self) -> str:
        """The number of actions and the totals in one sentence."""
        parts = [f"{subtotal.count} of {subtotal.money}" for subtotal in self.totals]
        if self.without_amount:
            parts.append(f"{self.without_amount} without an amount")
        noun = "action" if len(self.ids) == 1 else "actions"
        return f"{len(self.ids)} {noun}: {', '.join(parts)}."


def batch_of(actions: Sequence[Action]) -> Batch:
    """Return the batch of these actions, in the given order."""
    amounts: dict[str, list[Decimal]] = defaultdict(list)
    for action in actions:
        if action.money is not None:
            amounts[action.money.currency].append(action.money.amount)
    return Batch(
        ids=tuple(action.id for action in actions),
        hashes={action.id: action.content_hash for action in actions},
        lines=tuple(action.text for action in actions),
        totals=tuple(
            Total(len(several), AssetAmount(currency, total(several)))
            for currency, several in sorted(amounts.items())
        ),
        without_amount=sum(action.money is None for action in actions),
    )
