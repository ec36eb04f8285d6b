"""Every record that the services serve, in one table that a list can page through.

A record is kept as the JSON that its list shows and the JSON that its own address shows, made when
it is written; beside them stand the columns that lists filter and sort by. A page is then one
indexed query and a join of strings.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

__all__ = ["COLUMNS", "Page", "Record", "Store"]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record of one kind, ready to be served."""

    kind: str
    id: str
    item: str
    detail: str
    owner: str = ""
    """What it belongs to: an account; of a transfer, the sender."""
    peer: str = ""
    """Of a transfer, the receiver."""
    created_at: str = ""
    updated_at: str = ""
    status: str = ""
    type: str = ""
    chain: str = ""
    reference: str = ""


COLUMNS: Final = tuple(field for field in Record.__struct_fields__ if field != "detail")
_FIELDS: Final = Record.__struct_fields__
_MAKE: Final = f"""
create table records (
    position integer primary key,
    {", ".join(f"{name} text not null" for name in _FIELDS)},
    unique (kind, id)
);
create index by_creation on records (kind, created_at, position);
create index by_owner on records (kind, owner, created_at, position);
create index by_peer on records (kind, peer, created_at, position);
create index by_reference on records (kind, reference);
"""
_WRITE: Final = f"""
insert into records ({", ".join(_FIELDS)}) values ({", ".join(f":{n}" for n in _FIELDS)})
on conflict (kind, id) do update set {", ".join(f"{n} = excluded.{n}" for n in _FIELDS)}
"""  # noqa: S608 - the names are the struct's own fields


class Page(msgspec.Struct, frozen=True):
    """The items of one page, and how many records there are in all."""

    items: list[str]
    total: int


class Store:
    """Records in SQLite: in memory, or in a file that outlives the process."""

    def __init__(self, place: str = ":memory:") -> None:
        self._db = sqlite3.connect(place, check_same_thread=False, isolation_level=None)
        self._db.executescript(_MAKE)
        weakref.finalize(self, self._db.close)

    def put(self, records: Iterable[Record]) -> None:
        """Write records, each in the place of the one with its kind and id."""
        self._db.execute("begin")
        self._db.executemany(_WRITE, map(msgspec.structs.asdict, records))
        self._db.execute("commit")

    def detail(self, kind: str, id: str, owner: str | None = None) -> str | None:  # noqa: A002 - the services' word
        """The record's own JSON; None where there is none (or it belongs to another owner)."""
        row = self._db.execute(
            "select detail from records where kind = ? and id = ? and owner = coalesce(?, owner)",
            (kind, id, owner),
        ).fetchone()
        return None if row is None else str(row[0])

    def page(
        self,
        kind: str,
        where: Mapping[str, Sequence[str]],
        *,
        members: Mapping[str, str] | None = None,
        between: tuple[str, str] = ("", "~"),
        sort: Sequence[str] = (),
        descending: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> Page:
        """One page of a kind.

        `where` gives the values that a column may have; `members` gives columns of which at least
        one has its value; `between` bounds `created_at`, the upper end excluded.
        """
        clauses, values = ["kind = ?"], [kind]
        for column, allowed in where.items():
            clauses.append(f"{_known(column)} in ({', '.join('?' * len(allowed))})")
            values += allowed
        if members:
            clauses.append("(" + " or ".join(f"{_known(column)} = ?" for column in members) + ")")
            values += members.values()
        if between != ("", "~"):
            clauses.append("created_at >= ? and created_at < ?")
            values += between
        condition = " and ".join(clauses)
        order = "desc" if descending else "asc"
        by = ", ".join(f"{_known(column)} {order}" for column in (*sort, "position"))
        total = self._db.execute(f"select count(*) from records where {condition}", values)  # noqa: S608 - _known
        found = self._db.execute(
            f"select item from records where {condition} order by {by} limit ? offset ?",  # noqa: S608 - _known
            [*values, limit, offset],
        )
        return Page([row[0] for row in found], total.fetchone()[0])


def _known(column: str) -> str:
    if column not in COLUMNS and column != "position":
        raise KeyError(column)
    return column
