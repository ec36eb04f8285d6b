"""Pages of selected records, at a cost that does not grow with the page number.

A page is found by its first key, not by counting the rows before it. The first request for a later
page scans the index once and caches keys at fixed intervals; afterwards every page is one seek. A
selection with alternatives (sender or receiver of a transfer, several statuses) merges one index
range for each alternative, so that no rows are sorted. A write clears the cache.
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
"""Maximum number of ranges merged here; the database handles larger numbers."""
_STRIDE: Final = 100
"""Minimum number of records between two cached keys."""
_CACHE_SIZE: Final = 24
"""Number of cached selections."""
_FEW: Final = 5000
"""Up to this number of records, sorting is faster than reading in index order."""

_SELECTIVE: Final = {"owner": "by_owner", "peer": "by_peer", "status": "by_status"}
"""Indexes that continue with the creation time after their first columns."""
_INDEXES: Final = {
    "": "by_kind", "updated_at": "by_change", "reference": "by_reference", "id": "by_id",
}  # fmt: skip

_Key: TypeAlias = tuple[Any, ...]
Selection: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""A selection of records of one kind: a condition with values for each range to merge."""


def select(
    kind: str,
    single: Mapping[str, str],
    several: Mapping[str, Sequence[str]],
    members: Mapping[str, str],
    bounds: Iterable[tuple[str, str]],
) -> Selection:
    """Select records with these values, and any one of `members`. Column names must be trusted."""
    fixed = [("kind = ?", kind), *((f"{column} = ?", value) for column, value in single.items())]
    fixed += bounds
    if math.prod(map(len, several.values())) > _SIDES:
        # There are too many ranges to merge, so the database sorts the result of one condition.
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
    """Caches the totals and keys of recent selections."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._totals: OrderedDict[Selection, int] = OrderedDict()
        self._keys: OrderedDict[tuple[object, ...], list[_Key]] = OrderedDict()

    def forget(self) -> None:
        """Clear the cache after a write, which may change totals and keys."""
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
        """Return the total, and a page of items and positions from `offset` on."""
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
    """A selection with a sort order."""

    selection: Selection
    sort: tuple[str, ...]
    descending: bool
    many: bool

    def query(self, expression: str, start: _Key) -> tuple[str, list[Any]]:
        """Return SQL with its values that selects the columns and keys, from the key `start` on."""
        columns = (*self.sort, "position")
        sign, places = "<=" if self.descending else ">=", ", ".join("?" * len(columns))
        from_start = f" and {columns[0]} {sign} ? and ({', '.join(columns)}) {sign} ({places})"
        parts, values = [], []
        for condition, bound_values in self.selection:
            text = condition
            if start:
                # The `+` keeps SQLite from seeking by this bound, because the start key is the
                # tighter one.
                bound = "created_at < ?" if self.descending else "created_at >= ?"
                text = text.replace(bound, f"+{bound}") + from_start
            table = f"records{self._index(condition)}"
            parts.append(f"select {expression}, {', '.join(columns)} from {table} where {text}")  # noqa: S608 - select
            values += [*bound_values, *start[:1], *start]
        way = "desc" if self.descending else "asc"
        by = ", ".join(f"{column} {way}" for column in columns)
        return f"{' union all '.join(parts)} order by {by}", values

    def _index(self, condition: str) -> str:
        """Return the index for many records in this order; empty if the database may choose."""
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
