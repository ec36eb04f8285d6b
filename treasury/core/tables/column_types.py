"""The column types of the lake's tables, and the declaration of columns."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from types import UnionType
from typing import Final, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from treasury.core.files.package_files import package_rows

AMOUNT: Final = pa.decimal128(38, 18)
FIAT: Final = pa.decimal128(18, 4)
"""The type of fiat amounts in tables for analysts; stored and computed amounts are `AMOUNT`."""
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
"""DuckDB's type names, by the lake's type."""
TYPE_WORDS: Final = {kind: words for kind, (_, words) in _NAMES.items()}
"""Type names in the data dictionary, by the lake's type."""
_OF_ANNOTATIONS: Final = {
    Decimal: AMOUNT,
    datetime: INSTANT,
    tuple[str, ...]: TEXTS,
    list[str]: TEXTS,
    date: DATE,
    int: INTEGER,
    bool: BOOL,
}
NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
"""Pattern of table and column names."""


def schema_of(struct: type[msgspec.Struct]) -> pa.Schema:
    """Return the schema for rows of a struct; types that the lake lacks become text."""

    def type_of(hint: object) -> pa.DataType:
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        return next((_OF_ANNOTATIONS[kind] for kind in kinds if kind in _OF_ANNOTATIONS), TEXT)

    return pa.schema((name, type_of(hint)) for name, hint in get_type_hints(struct).items())


class Column(msgspec.Struct, frozen=True):
    """One column: its name, type, meaning, and source field.

    A source is a heading of the specification, a dot and the field, such as
    `Wallet (custodial).balances[].asset`, or an element of a bank's format. It is empty for values
    that treasury computes. The meaning of an amount states its unit: either the column
    with its currency, in backticks, or words.
    """

    name: str
    type: pa.DataType
    meaning: str
    source: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        require(NAME.fullmatch(self.name) is not None, f"{self.name!r} is not snake_case")
        require(self.type in SQL_TYPES, f"{self.name}: {self.type} is not a type of the lake")


def columns_of(package: str, table: str) -> tuple[Column, ...]:
    """Return the columns of a table, as declared in a package's `columns.csv`."""
    types = {words: kind for kind, words in TYPE_WORDS.items()}
    return tuple(
        Column(row["name"], types[row["type"]], row["meaning"], row["source"], row["unit"])
        for row in package_rows(package, "columns.csv")
        if row["table"] == table
    )


def require(holds: bool, problem: str) -> None:
    """Raise ValueError on import for a wrong declaration, which is a programming error."""
    if not holds:
        raise ValueError(problem)
