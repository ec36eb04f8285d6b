"""Pages of a selection whose cost does not grow with their number.

A page is found by where it begins, not by counting what comes before it: the first time that a
selection is asked for further on, one pass over its index notes the key of every so many records;
every page is then a seek. What has several sides (either end of a transfer, one status of some) is
a merge of as many index ranges, so that nothing is sorted. A write forgets what was noted.
"""

from __future__ import annotations

import math
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import Any, Final, TypeAlias

import msgspec

_SIDES: Final = 12
"""A merge of more ranges than this is left to the database."""
_STRIDE: Final = 100
"""Keys are noted at least this many records apart."""
_CACHE_SIZE: Final = 24
"""How many selections are remembered."""
_FEW: Final = 5000
"""So many records are sorted rather than looked for in the order that is asked for."""

_SELECTIVE: Final = {"owner": "by_owner", "peer": "by_peer", "status": "by_status"}
"""Indexes that go on with the creation."""
_INDEXES: Final = {
    "": "by_kind", "updated_at": "by_change", "reference": "by_reference", "id": "by_id",
}  # fmt: skip

_Key: TypeAlias = tuple[Any, ...]
Selection: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Records of one kind: conditions and their values, one pair for each range to merge."""


def select(
    kind: str,
    single: Mapping[str, str],
    several: Mapping[str, Sequence[str]],
    members: Mapping[str, str],
    bounds: Iterable[tuple[str, str]],
) -> Selection:
    """The records with these values; of `members`, at least one; the columns are known ones."""
    fixed = [("kind = ?", kind), *((f"{column} = ?", value) for column, value in single.items())]
    fixed += bounds
    if math.prod(map(len, several.values())) > _SIDES:
        # One range, no merge: fewer words, and whatever order is asked for has to be made.
        conditions, bound = [text for text, _ in fixed], [value for _, value in fixed]
        for column, allowed in several.items():
            conditions.append(f"{column} in ({', '.join('?' * len(allowed))})")
            bound += allowed
        if members:
            conditions.append("(" + " or ".join(f"{column} = ?" for column in members) + ")")
            bound += members.values()
        return ((" and ".join(conditions), tuple(bound)),)
    choices = [
        [[(f"{column} = ?", value)] for value in values] for column, values in several.items()
    ]
    if members:
        sides = list(members.items())
        choices.append(
            [
                [(f"{column} = ?", value), *((f"{c} <> ?", v) for c, v in sides[:place])]
                for place, (column, value) in enumerate(sides)
            ]
        )
    ranges = []
    for chosen in product(*choices):
        terms = [*fixed, *(term for choice in chosen for term in choice)]
        ranges.append((" and ".join(text for text, _ in terms), tuple(v for _, v in terms)))
    return tuple(ranges)


class Orders:
    """Totals and keys of the selections asked for lately."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._totals: OrderedDict[Selection, int] = OrderedDict()
        self._keys: OrderedDict[tuple[object, ...], list[_Key]] = OrderedDict()

    def forget(self) -> None:
        """Something was written: what was noted may not hold any more."""
        self._totals.clear()
        self._keys.clear()

    def page(
        self,
        selection: Selection,
        sort: tuple[str, ...],
        *,
        descending: bool,
        offset: int,
        limit: int,
    ) -> tuple[int, list[tuple[str, int]]]:
        """How many there are, and the item and position of those from `offset` on."""
        total = self._total(selection)
        if limit == 0 or offset >= total:
            return total, []
        ordered = _Ordered(selection, sort, descending, total > _FEW)
        start: _Key = ()
        if limit > 0 and offset >= max(limit, _STRIDE):
            stride = limit * -(-_STRIDE // limit)
            if (ordered, stride) not in self._keys:
                sql, values = ordered.query("''", ())
                keys = islice(self._db.execute(sql, values), 0, None, stride)
                _keep(self._keys, (ordered, stride), [row[1:] for row in keys])
            start, offset = self._keys[ordered, stride][offset // stride], offset % stride
        sql, values = ordered.query("item", start)
        rows = self._db.execute(f"{sql} limit ? offset ?", [*values, limit, offset])
        return total, [(row[0], row[-1]) for row in rows]

    def _total(self, selection: Selection) -> int:
        if selection not in self._totals:
            counts = (
                self._db.execute(f"select count(*) from records where {condition}", values)  # noqa: S608 - select
                for condition, values in selection
            )
            _keep(self._totals, selection, sum(count.fetchone()[0] for count in counts))
        return self._totals[selection]


class _Ordered(msgspec.Struct, frozen=True):
    """A selection in an order."""

    selection: Selection
    sort: tuple[str, ...]
    descending: bool
    many: bool

    def query(self, expression: str, start: _Key) -> tuple[str, list[Any]]:
        """What is shown and the keys, from `start` on: SQL and its values."""
        columns = (*self.sort, "position")
        sign, places = "<=" if self.descending else ">=", ", ".join("?" * len(columns))
        from_start = f" and {columns[0]} {sign} ? and ({', '.join(columns)}) {sign} ({places})"
        parts, values = [], []
        for condition, bound_values in self.selection:
            text = condition
            if start:
                # the start lies within this bound, which must not be taken for it
                bound = "created_at < ?" if self.descending else "created_at >= ?"
                text = text.replace(bound, f"+{bound}") + from_start
            table = f"records{self._index(condition)}"
            parts.append(f"select {expression}, {', '.join(columns)} from {table} where {text}")  # noqa: S608 - select
            values += [*bound_values, *start[:1], *start]
        way = "desc" if self.descending else "asc"
        by = ", ".join(f"{column} {way}" for column in columns)
        return f"{' union all '.join(parts)} order by {by}", values

    def _index(self, condition: str) -> str:
        """The index that has many records in this order already; the database's own choice else."""
        if not self.many:
            return ""
        sort = self.sort[0] if self.sort else ""
        if sort == "created_at":
            indexes = (name for column, name in _SELECTIVE.items() if f"{column} = ?" in condition)
            return f" indexed by {next(indexes, 'by_creation')}"
        return f" indexed by {_INDEXES[sort]}" if sort in _INDEXES else ""


def _keep(cache: OrderedDict[Any, Any], name: Any, value: Any) -> None:
    cache[name] = value
    while len(cache) > _CACHE_SIZE:
        cache.popitem(last=False)
