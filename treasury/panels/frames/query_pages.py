"""Pages of a query: DuckDB counts, searches and pages; only the shown rows are read.

No row is omitted silently: a page states its range and the total, and a search covers all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec
import pyarrow as pa

from treasury.core.tables import duckdb_engine
from treasury.lake import Snapshot

SIZE: Final = 12


class QuerySource(Protocol):
    """A source of pages: a snapshot of the lake, or Arrow tables."""

    def sql(self, query: str, params: list[Any] | None = None) -> pa.Table:
        """Run one SELECT of this package and return its rows."""


class ArrowTables:
    """Tables computed once, for paging and searching: `ArrowTables(open_lines=table)`."""

    def __init__(self, **tables: pa.Table) -> None:
        self._connection = duckdb_engine.connect()
        self.add(**tables)

    def add(self, **tables: pa.Table) -> None:
        """Add further tables."""
        for name, table in tables.items():
            self._connection.register("arrow", table)
            quoted = duckdb_engine.quoted(name)
            self._connection.execute(f"CREATE TABLE {quoted} AS FROM arrow")
            self._connection.unregister("arrow")

    def sql(self, query: str, params: list[Any] | None = None) -> pa.Table:
        """Run one SELECT of this package and return its rows."""
        with self._connection.cursor() as cursor:
            return duckdb_engine.rows(cursor, query, params)


class QueryPage(msgspec.Struct, frozen=True):
    """One page of rows; `matching` rows match the search, out of `total`."""

    rows: tuple[dict[str, Any], ...] = ()
    number: int = 0
    matching: int = 0
    total: int = 0
    size: int = SIZE

    @property
    def text(self) -> str:
        """The range, for example `1 to 12 of 40 found, 1,000 in all`."""
        if not self.rows:
            return f"none found, {self.total:,} in all" if self.total else ""
        first = self.number * self.size + 1
        several = f"{first:,} to {first + len(self.rows) - 1:,} of {self.matching:,}"
        return several if self.matching == self.total else f"{several} found, {self.total:,} in all"


def read_page(
    source: QuerySource | Snapshot,
    query: str,
    order: str,
    where: str = "",
    values: Sequence[Any] = (),
    *,
    number: int = 0,
    size: int = SIZE,
) -> QueryPage:
    """Return page `number` of the rows that meet the condition `where`, or of all without one.

    `query`, `order` and `where` are our own SQL; `values` are a person's texts, passed as
    parameters. A page past the end becomes the last one.
    """
    condition = where or "true"
    total = count_rows(source, f"({query})")
    matching = count_rows(source, f"({query})", condition, values) if where else total
    number = max(0, min(number, (matching - 1) // size))
    rows = source.sql(
        f"SELECT * FROM ({query}) WHERE {condition}"  # noqa: S608 - our own SQL
        f" ORDER BY {order} LIMIT ? OFFSET ?",
        [*values, size, number * size],
    )
    return QueryPage(tuple(rows.to_pylist()), number, matching, total, size)


def count_rows(
    source: QuerySource | Snapshot, query: str, where: str = "true", params: Sequence[Any] = ()
) -> int:
    """Count the rows of a table or query that meet a condition; both are trusted SQL."""
    counted = source.sql(f"SELECT count(*) FROM {query} WHERE {where}", list(params))  # noqa: S608
    return int(counted.column(0)[0].as_py())
