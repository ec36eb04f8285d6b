"""The base class of results with several tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.errors import TableError, UnknownName
from treasury.core.nearest_names import NearestNames
from treasury.core.tables.table import Table, beginning, write_workbook
from treasury.core.text import safe_html, visible

if TYPE_CHECKING:
    import pandas as pd


class Tables(NearestNames):
    """Base class of structs with tables; their `repr` shows no text of a record.

    The value of a field declared as `Table` may be an Arrow table, which is converted. `sheets`
    returns the tables; by default these are the fields of the struct, and the first is the main
    table.
    """

    __slots__ = ()
    __struct_fields__: tuple[str, ...]
    code_columns: ClassVar[Mapping[str, Mapping[str, Mapping[str, str]]]] = {}
    """The codes that a column may have, with their words, by field and column."""
    key_columns: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The columns to show first, by field; default: the first declared columns."""
    fiat_columns: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The amount columns that are never in coins, by field, if their unit does not show this.
    """
    printed: ClassVar[Sequence[str]] = ()
    """The attributes with the tables that `print` shows; default: the first field."""

    def __post_init__(self) -> None:
        for name in _table_fields(cast("Any", type(self))):
            value = getattr(self, name)
            if isinstance(value, pa.Table):
                table = Table(
                    value,
                    zone=self.time_zone(),
                    title=_title(name),
                    keys=self.key_columns.get(name, ()),
                    fiat=self.fiat_columns.get(name, ()),
                    codes=self.code_columns.get(name),
                    **self.table_options(name),
                )
                msgspec.structs.force_setattr(cast("msgspec.Struct", self), name, table)

    def table_options(self, name: str) -> Mapping[str, Any]:  # noqa: ARG002 - for subclasses
        """Return further arguments for the table of a field, such as its `notes`."""
        return {}

    def sheets(self) -> Mapping[str, Table]:
        """Return each table by the name of its sheet in Excel, the main table first."""
        return {
            _title(name): getattr(self, name) for name in _table_fields(cast("Any", type(self)))
        }

    def time_zone(self) -> ZoneInfo | None:
        """Return the time zone in which instants are shown; None means UTC."""
        return None

    @property
    def arrow(self) -> pa.Table:
        """The computed values of the main table, as Arrow."""
        return self._main.arrow

    @property
    def _main(self) -> Table:
        return next(iter(self.sheets().values()))

    def __getitem__(self, name: object) -> Any:
        raise self._no_table()

    def __iter__(self) -> Iterator[Any]:
        raise self._no_table()

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        """Raise TableError; pandas asks for an array of a result, and would show its own error."""
        raise self._no_table()

    def __len__(self) -> int:
        """Return the number of rows of the only table; raise TableError if there are several."""
        if len(self.sheets()) > 1:
            raise self._no_table()
        return len(self._main)

    def __bool__(self) -> bool:
        # A result is false only if its class counts its items with an own `__len__` and has none.
        return type(self).__len__ is Tables.__len__ or len(self) > 0

    def _no_table(self) -> TableError:
        """Return the error for an operation that only a single table has."""
        # A property is not read, because it may be expensive.
        fields = self.__struct_fields__
        names = [
            name
            for name in _table_names(cast("Any", type(self)))
            if name not in fields or getattr(self, name) is not None
        ]
        return TableError(
            f"{type(self).__name__} is not a table", do=f"use .df, or .{', .'.join(names)}"
        )

    def _unknown(self, name: str) -> UnknownName:
        if not hasattr(Table, name):
            return super()._unknown(name)
        return UnknownName(f"{type(self).__name__} has no {name!r}", do=self._no_table().do)

    @property
    def df(self) -> pd.DataFrame:
        """The main table as a pandas DataFrame."""
        return self._main.df

    def to_arrow(self) -> pa.Table:
        """Return the main table as shown, as an Arrow table."""
        return self._main.to_arrow()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the main table as an Arrow stream, which Polars, DuckDB and others read."""
        return self._main.__arrow_c_stream__(requested_schema)

    def to_pandas(self, *, floats: bool = False) -> pd.DataFrame:
        """Return the main table as a pandas DataFrame (`Table.to_pandas`)."""
        return self._main.to_pandas(floats=floats)

    def to_excel(self, path: str | Path) -> Path:
        """Write each table as a sheet of one workbook, like `Table.to_excel`."""
        return write_workbook(path, self.sheets())

    def __repr__(self) -> str:
        shown = (f"{name}={_counted(getattr(self, name))}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __str__(self) -> str:
        fields = _table_fields(cast("Any", type(self)))
        printed = self.printed or fields[:1]
        tables = {name: getattr(self, name) for name in dict.fromkeys((*printed, *fields))}
        sizes = {name: len(table) for name, table in tables.items() if table is not None}
        parts = [repr(self).strip("<>")]
        for name in printed:
            if sizes.pop(name, 0):
                table = tables[name]
                parts.append(beginning(table, f".{name}"))
        if others := [f".{name} ({size:,})" for name, size in sizes.items() if size]:
            parts.append(f"Other tables, with their number of rows: {', '.join(others)}")
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        own = str(self) if type(self).__str__ is not Tables.__str__ else repr(self)
        lines = (safe_html(line) for line in own.strip("<>").splitlines())
        tables = (table._repr_html_() for table in self.sheets().values() if len(table))
        return f"<p class='tex2jax_ignore'>{'<br>'.join(lines)}</p>" + "".join(tables)


@cache
def _table_fields(kind: Any) -> tuple[str, ...]:
    """Return the fields of a struct that are declared as a `Table`."""
    hints: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        hints |= vars(base).get("__annotations__", {})
    return tuple(n for n in kind.__struct_fields__ if hints[n] in _HINTS)


_HINTS: Final = ("Table", "Table | None")


@cache
def _table_names(kind: Any) -> tuple[str, ...]:
    """Return the fields and properties of a struct that are declared as a `Table`."""
    names = list(_table_fields(kind))
    for base in reversed(kind.__mro__):
        for name, value in vars(base).items():
            read = getattr(value, "fget", None) or getattr(value, "func", None)
            hint = getattr(read, "__annotations__", {}).get("return")
            if hint in _HINTS and not name.startswith("_"):
                names.append(name)
    return tuple(names)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _counted(value: object) -> str:
    """Return a value as text.

    A table is shown as its row count, because Arrow would print its texts.
    """
    if isinstance(value, pa.Table):
        return f"<{value.num_rows} rows>"
    if isinstance(value, Table):
        return f"<{len(value)} rows>"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_counted(part)}' for key, part in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_counted, value))})"
    return visible(repr(value))
