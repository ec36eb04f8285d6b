"""Table declarations: a table's columns and key, and how its rows change.

A declaration is the only place that lists a table's columns. The writer, the views, the content
hash and the data dictionary are all derived from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec
import pyarrow as pa

from treasury.core.tables.column_types import (
    BOOL,
    INSTANT,
    NAME,
    TEXT,
    Column,
    require,
)

RAW: Final = pa.field("raw", TEXT)
VANISHED: Final = pa.field("vanished_at", INSTANT)
HASH: Final = pa.field("content_hash", TEXT)
VALID_FROM: Final = pa.field("valid_from", INSTANT)
VALID_TO: Final = pa.field("valid_to", INSTANT)
HISTORY: Final = "_history"
OPEN: Final = "is_open"


_Reread = Callable[[Sequence[str], Sequence[str]], dict[str, pa.Array]]
"""A function that returns the values of the named columns from received records."""


class Table(msgspec.Struct, frozen=True):
    """A table of the lake.

    Records have a key, a current version and a history; observations are only appended. With
    `settles`, most records become final; the column `is_open` is true for those that may still
    change, and the table is partitioned by it. `volatile` names columns, and top-level fields of
    `raw`, whose changes alone do not make a new version (such as a wallet's balances, which are
    stored as observations).
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ("id",)
    settles: bool = False
    kind: Literal["records", "observations"] = "records"
    title: str = ""
    volatile: tuple[str, ...] = ()
    reread: _Reread | None = None
    """Extracts, from the received records, columns that were declared after the rows were stored. A
    column that cannot be extracted is missing from the result.
    """

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        reserved = {RAW.name, VANISHED.name, HASH.name, VALID_FROM.name, VALID_TO.name}
        require(NAME.fullmatch(self.name) is not None, f"table {self.name!r} is not snake_case")
        require(not self.name.endswith(HISTORY), f"{self.name}: the lake adds {HISTORY} itself")
        require(len(set(names)) == len(names), f"{self.name}: a column is declared twice")
        require(not reserved & set(names), f"{self.name}: declares a column that the lake adds")
        if self.records:
            require(bool(self.key), f"{self.name}: records need a key")
            require(set(self.key) <= set(names), f"{self.name}: a key column is not declared")
        if self.settles:
            require(self.records, f"{self.name}: observations do not settle")
            types = {column.name: column.type for column in self.columns}
            require(types.get(OPEN) == BOOL, f"{self.name}: settles, and has no {OPEN} column")

    @property
    def records(self) -> bool:
        """True if the rows are records, which have a key and a history."""
        return self.kind == "records"

    @property
    def history(self) -> str:
        """The name of the table with the superseded versions."""
        return self.name + HISTORY

    @property
    def names(self) -> tuple[str, ...]:
        """The table's name, and the name of its history if it has one."""
        return (self.name, self.history) if self.records else (self.name,)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that are never null in a table of records."""
        return (*self.key, RAW.name, *([OPEN] if self.settles else ()))

    @property
    def row_schema(self) -> pa.Schema:
        """The columns that the writer takes: the declared ones and the received record (`raw`)."""
        return pa.schema([*((c.name, c.type) for c in self.columns), RAW])

    @property
    def schema(self) -> pa.Schema:
        """The stored columns: first `row_schema`, then the columns that the lake adds."""
        added = [VANISHED, HASH, VALID_FROM] if self.records else [VALID_FROM]
        return pa.schema([*self.row_schema, *added])

    @property
    def history_schema(self) -> pa.Schema:
        """The columns of superseded versions."""
        return self.schema.append(VALID_TO)


LAKE_COLUMNS: Final = (
    Column(
        "raw",
        TEXT,
        "the record exactly as received; for a statement, its text",
        "the whole record",
    ),
    Column(
        "vanished_at", INSTANT, "time at which the record was first missing or withdrawn; else null"
    ),
    Column(
        "content_hash",
        TEXT,
        "equal if and only if two versions have equal contents; begins with the hash rule's number",
    ),
    Column("valid_from", INSTANT, "the commit that stored this version"),
    Column("valid_to", INSTANT, "history only: the commit that stored the next version"),
)
"""The columns that the lake adds to the declared ones."""
