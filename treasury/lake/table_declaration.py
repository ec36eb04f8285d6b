"""Table declarations: the columns, the key and how the rows change; one makes one table.

The declaration is the only place that knows a table's columns; the writer, the views, the content
hash and the data dictionary are all loops over it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from types import UnionType
from typing import Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from treasury.core.files.package_files import package_rows

AMOUNT: Final = pa.decimal128(38, 18)
INSTANT: Final = pa.timestamp("us", tz="UTC")
TEXT: Final = pa.string()
TEXTS: Final = pa.list_(pa.string())
DATE: Final = pa.date32()
INTEGER: Final = pa.int64()
BOOL: Final = pa.bool_()

_NAMES: Final = {
    AMOUNT: ("DECIMAL(38,18)", "decimal(38,18)"),
    INSTANT: ("TIMESTAMP WITH TIME ZONE", "timestamp, UTC"),
    TEXT: ("VARCHAR", "text"),
    TEXTS: ("VARCHAR[]", "list of text"),
    DATE: ("DATE", "date"),
    INTEGER: ("BIGINT", "integer"),
    BOOL: ("BOOLEAN", "boolean"),
}
SQL_TYPES: Final = {kind: sql for kind, (sql, _) in _NAMES.items()}
"""DuckDB's name of each type of the lake."""
TYPE_WORDS: Final = {kind: words for kind, (_, words) in _NAMES.items()}
"""What the dictionary calls each type of the lake."""
_OF_ANNOTATIONS: Final = {
    Decimal: AMOUNT,
    datetime: INSTANT,
    tuple[str, ...]: TEXTS,
    list[str]: TEXTS,
    date: DATE,
    int: INTEGER,
    bool: BOOL,
}
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")

RAW: Final = pa.field("raw", TEXT)
VANISHED: Final = pa.field("vanished_at", INSTANT)
HASH: Final = pa.field("content_hash", TEXT)
VALID_FROM: Final = pa.field("valid_from", INSTANT)
VALID_TO: Final = pa.field("valid_to", INSTANT)
HISTORY: Final = "_history"
OPEN: Final = "is_open"


def schema_of(struct: type[msgspec.Struct]) -> pa.Schema:
    """The columns of a struct's rows; a field that is not of a type of the lake is kept as text."""

    def type_of(hint: object) -> pa.DataType:
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        return next((_OF_ANNOTATIONS[kind] for kind in kinds if kind in _OF_ANNOTATIONS), TEXT)

    return pa.schema((name, type_of(hint)) for name, hint in get_type_hints(struct).items())


class Column(msgspec.Struct, frozen=True):
    """One column: its name, its type, what it means and the field it comes from at its source.

    A source is "Heading of the specification.field", or an element of a bank's format; none where
    the value is ours. An amount names its unit: the column that says it, in backticks, or words.
    """

    name: str
    type: pa.DataType
    meaning: str
    source: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        _check(_NAME.fullmatch(self.name) is not None, f"{self.name!r} is not snake_case")
        _check(self.type in SQL_TYPES, f"{self.name}: {self.type} is not a type of the lake")


def columns_of(package: str, table: str) -> tuple[Column, ...]:
    """The columns of a table as a package's `columns.csv` lists them, their types by its words."""
    types = {words: kind for kind, words in TYPE_WORDS.items()}
    return tuple(
        Column(row["name"], types[row["type"]], row["meaning"], row["source"], row["unit"])
        for row in package_rows(package, "columns.csv")
        if row["table"] == table
    )


_Reread = Callable[[Sequence[str], Sequence[str]], dict[str, pa.Array]]
"""From names of columns and the records as received to the values of each column."""


class Table(msgspec.Struct, frozen=True):
    """A table of the lake.

    `records` have a key, a current version and a history; `observations` are only ever added.
    `settles`: most records end up unchanging, and the column `is_open` says which may still change;
    the table is partitioned by it. `volatile` names columns, and top-level fields of `raw`, whose
    change alone makes no new version (a wallet's balances, which are observations of their own).
    """

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ("id",)
    settles: bool = False
    kind: Literal["records", "observations"] = "records"
    title: str = ""
    volatile: tuple[str, ...] = ()
    reread: _Reread | None = None
    """Takes columns out of records as received, for those that are declared after rows were stored;
    a column that it leaves out cannot be had from them."""

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        reserved = {RAW.name, VANISHED.name, HASH.name, VALID_FROM.name, VALID_TO.name}
        _check(_NAME.fullmatch(self.name) is not None, f"table {self.name!r} is not snake_case")
        _check(not self.name.endswith(HISTORY), f"{self.name}: the lake adds {HISTORY} itself")
        _check(len(set(names)) == len(names), f"{self.name}: a column is declared twice")
        _check(not reserved & set(names), f"{self.name}: declares a column that the lake adds")
        if self.records:
            _check(bool(self.key), f"{self.name}: records need a key")
            _check(set(self.key) <= set(names), f"{self.name}: a key column is not declared")
        if self.settles:
            _check(self.records, f"{self.name}: observations do not settle")
            types = {column.name: column.type for column in self.columns}
            _check(types.get(OPEN) == BOOL, f"{self.name}: settles, and has no {OPEN} column")

    @property
    def records(self) -> bool:
        """Whether its rows are records, with a key and a history."""
        return self.kind == "records"

    @property
    def history(self) -> str:
        """The name of the table of its superseded versions."""
        return self.name + HISTORY

    @property
    def names(self) -> tuple[str, ...]:
        """Its name, and its history's where it has one."""
        return (self.name, self.history) if self.records else (self.name,)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that no record leaves empty."""
        return (*self.key, RAW.name, *([OPEN] if self.settles else ()))

    @property
    def row_schema(self) -> pa.Schema:
        """The columns that a writer hands over: the declared ones, and the record as received."""
        return pa.schema([*((c.name, c.type) for c in self.columns), RAW])

    @property
    def schema(self) -> pa.Schema:
        """The columns as stored and read: the row's own, then what the lake keeps about it."""
        added = [VANISHED, HASH, VALID_FROM] if self.records else [VALID_FROM]
        return pa.schema([*self.row_schema, *added])

    @property
    def history_schema(self) -> pa.Schema:
        """The columns of its superseded versions."""
        return self.schema.append(VALID_TO)


def _check(holds: bool, problem: str) -> None:
    """A wrong declaration is a mistake in the program, found when the module is imported."""
    if not holds:
        raise ValueError(problem)


LAKE_COLUMNS: Final = (
    Column(
        "raw",
        TEXT,
        "the record exactly as received; of a statement, its own text",
        "the whole record",
    ),
    Column("vanished_at", INSTANT, "when a complete listing first lacked the record; else null"),
    Column(
        "content_hash",
        TEXT,
        "the same for two versions exactly when their content is; begins with its rule's number",
    ),
    Column("valid_from", INSTANT, "the commit that stored this version"),
    Column("valid_to", INSTANT, "in the history: the commit that stored the next version"),
)
"""The columns that the lake adds to those that a table declares."""
