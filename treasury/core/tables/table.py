"""The table type of all results: exact, readable, and convertible to pandas and Polars.

`Table` is an immutable view of an Arrow table. Its attribute `arrow` has the computed values, for
code that computes, hashes or stores them. All other attributes show the values in a form for
analysts:

- A code is the word on screen in snake_case; stored codes may be older.
- The direction of a bank line is `in` or `out`; the bank's CRDT or DBIT is in `credit_debit`.
- `signed_amount` is negative for outgoing amounts, so it can be summed.
- The direction of a ramp request is in `ramp_type`.
- Instants are in the reporting time zone.

`Tables` is the base class of results with several tables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast, overload
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import QueryError, StorageError, TableError, UnknownName
from treasury.core.nearest_names import NearestNames
from treasury.core.tables import duckdb_engine, query_checks
from treasury.core.tables.schemas import keys_first, units_of
from treasury.core.tables.shown_values import exact_frame, fiat_amounts, in_zone, presented
from treasury.core.tables.table_view import Extent, View, html_table, text_table
from treasury.core.text import clean, is_it, nearest, one_of, safe_html, visible
from treasury.core.wording import code_meant, column_meant, has_all_words, has_words, nearest_code

if TYPE_CHECKING:
    import pandas as pd
    import polars  # noqa: ICN001 - `pl` is a property here

_START: Final = 10
"""Maximum number of rows of each table that `print` shows of a result with several tables."""
_ROW: Final = "row of the table"
"""Name of the column in which a filter returns the numbers of the matching rows."""


class Table(NearestNames):
    """An immutable table with a title, a time zone and the unit of each amount.

    `len(table)` is its number of rows, and iteration yields each row as a dictionary.
    `table["amount"]` is a pandas Series, `table[["amount", "currency"]]` a Table. `sql` is the
    query that computed the table, empty if there is none.

    Examples
    --------
    >>> r.lines.where("signed_amount > 10000").sort("-amount").df
    """

    __slots__ = (
        "_beside", "_codes", "_extent", "_fiat", "_keys", "_renamed", "_shown", "arrow",
        "as_stored", "notes", "sql", "title", "zone",
    )  # fmt: skip
    _advice = (
        'table["COLUMN"] is a column, .where filters, .sort orders, and .df is a pandas DataFrame'
    )

    def __init__(
        self,
        arrow: pa.Table,
        sql: str = "",
        zone: ZoneInfo | None = None,
        *,
        title: str = "",
        as_stored: bool = False,
        keys: Sequence[str] = (),
        fiat: Sequence[str] = (),
        codes: Mapping[str, Mapping[str, str]] | None = None,
        beside: Callable[[], Mapping[str, pa.ChunkedArray]] | None = None,
        extent: Extent = "summary",
        notes: Sequence[str] = (),
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        self.arrow = _uniquely_named(arrow)
        """The computed values, for code that computes, hashes or stores them."""
        self.sql = sql
        self.zone = zone
        self.title = title
        self.as_stored = as_stored
        """True if columns and values are shown as in queries, not in words for analysts."""
        self.notes = tuple(notes)
        """Sentences shown below the rows, such as the instant for which the rows hold."""
        self._beside = beside
        self._codes = codes or {}
        self._extent = extent
        self._fiat = fiat
        self._keys = keys
        self._renamed = renamed or {}
        self._shown: pa.Table | None = None

    # Size and columns

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in order.

        Examples
        --------
        >>> r.lines.columns[:2]
        ['booking_date', 'direction']
        """
        return list(self.to_arrow().column_names)

    @property
    def units(self) -> dict[str, str]:
        """The name of the column with the currency or coin, by amount column."""
        return units_of(self.to_arrow().schema)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.to_arrow().to_batches(max_chunksize=10_000):
            yield from batch.to_pylist()

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows.

        Returns
        -------
        list of dict
            A dictionary per row, with amounts as Decimals in the currency of their row.

        Examples
        --------
        >>> r.lines.to_pylist()[0]["amount"]
        """
        return list(self)

    # Select, filter, order

    @overload
    def __getitem__(self, names: str) -> pd.Series: ...
    @overload
    def __getitem__(self, names: list[str]) -> Table: ...
    def __getitem__(self, names: str | list[str]) -> pd.Series | Table:
        self._require([names] if isinstance(names, str) else names)
        if isinstance(names, str):
            series: pd.Series = exact_frame(self.to_arrow().select([names]))[names]
            return series
        chosen = self.to_arrow().select(names)
        return self._alike(chosen, chosen, "selection")

    def head(self, count: int = 5) -> Table:
        """Return the first rows.

        Parameters
        ----------
        count
            The maximum number of rows.

        Returns
        -------
        Table
            The rows, with the same columns.

        Raises
        ------
        TableError
            The number is not a whole number, or is negative.

        Examples
        --------
        >>> r.lines.head(3)
        """
        given: object = count
        if not isinstance(given, int) or given < 0:
            raise TableError(
                f"head takes a number of rows, not {count!r:.60}", do="write it like head(5)"
            )
        return self._taken(slice(0, count))

    def where(self, predicate: str = "", *values: object, **equal: object) -> Table:
        """Return the rows that fulfil every condition.

        Parameters
        ----------
        predicate
            A condition in the SQL of DuckDB, which can read only this table.
        *values
            The values for the question marks of the predicate, in order.
        **equal
            By column name, a value, a list of allowed values, or None for missing values. A code
            may also be given by its word on screen, or as it is stored.

        Returns
        -------
        Table
            The rows, with the same columns.

        Raises
        ------
        TableError
            A named column does not exist, or it has codes and the value is none of them.
        QueryError
            The predicate is not valid, or may do more than read.

        Examples
        --------
        >>> r.lines.where("signed_amount > 10000 AND counterparty_name ILIKE ?", "%bv%")
        >>> r.lines.where(outcome=["suggested", "unreferenced"], currency="EUR")
        """
        self._require(equal)
        equal = {name: self._codes_meant(name, value) for name, value in equal.items()}
        conditions, bound = ([f"({predicate}\n)"] if predicate else []), [*values]
        for name, value in equal.items():
            column = duckdb_engine.quoted(name)
            if isinstance(value, list | tuple | set | frozenset):
                conditions.append(f"list_contains(?, {column})")
                bound.append(list(value))
            else:
                conditions.append(f"{column} IS NOT DISTINCT FROM ?")
                bound.append(value)
        if not conditions:
            return self
        found, texts = _matching_rows(self.to_arrow(), " AND ".join(conditions), bound, self.zone)
        texts += [
            (name, each)
            for name, value in equal.items()
            for each in (value if isinstance(value, list) else [value])
            if isinstance(each, str)
        ]
        taken = self._taken(found)
        taken.notes = (*self.notes, *filter(None, (text_note(self, *each) for each in texts)))
        return taken

    def sort(self, *columns: str) -> Table:
        """Return the rows in the order of these columns.

        Parameters
        ----------
        *columns
            Column names; a minus sign before a name sorts from high to low.

        Returns
        -------
        Table
            The rows, with the same columns.

        Raises
        ------
        TableError
            A column does not exist.

        Examples
        --------
        >>> r.lines.sort("-amount", "booking_date")
        """
        names = [name.removeprefix("-") for name in columns]
        self._require(names)
        orders = ["descending" if name.startswith("-") else "ascending" for name in columns]
        keys = list(zip(names, orders, strict=True))
        return self._taken(pc.sort_indices(self.to_arrow(), sort_keys=keys)) if keys else self

    # Convert and export

    @property
    def df(self) -> pd.DataFrame:
        """The table as a pandas DataFrame with exact amounts; the same as `to_pandas()`."""
        return self.to_pandas()

    @property
    def pl(self) -> polars.DataFrame:
        """The table as a Polars DataFrame; the same as `to_polars()`."""
        return self.to_polars()

    def to_pandas(self, *, floats: bool = False) -> pd.DataFrame:
        """Return the table as a pandas DataFrame with exact amounts.

        Amounts are Arrow decimals (`pandas.ArrowDtype`) in the currency of their row:

        - `sum`, `groupby().sum()`, `round`, `resample`, `.plot()` and comparisons with a Decimal
          work and are exact.
        - `cumsum`, `describe`, `nlargest`, `hist` and `pct_change` raise an error.
        - `== 100.10` compares with a float, and `* 0.5` returns floats: use a Decimal.
        - `* 2` and `* Decimal("0.5")` are exact for fiat. For coins they exceed 38 digits and raise
          an error.
        - `a - b` and `a + b` raise an error if both are sums or amounts of coins. Use
          `pandas.concat([a, -b]).groupby(level=0).sum()`, which is exact.

        Dates are `datetime64` without a time zone. Instants have the reporting time zone, which
        pandas' own `to_excel` refuses: remove it with `.dt.tz_localize(None)`, or use
        `Table.to_excel`.

        Parameters
        ----------
        floats
            True for amounts as float64; then all of these functions work but are not exact.

        Returns
        -------
        pandas.DataFrame
            One row for each row of the table.

        Examples
        --------
        >>> t.awaiting_funds().to_pandas(floats=True).describe()
        """
        return exact_frame(self.to_arrow(), floats=floats)

    def to_polars(self) -> polars.DataFrame:
        """Return the table as a Polars DataFrame with exact amounts.

        Returns
        -------
        polars.DataFrame
            One row for each row of the table.

        Raises
        ------
        TableError
            Polars is not installed.

        Examples
        --------
        >>> r.lines.to_polars()
        """
        try:
            import polars  # noqa: ICN001 - `pl` is a property here
        except ImportError:
            raise TableError("Polars is not installed", do="run `pip install polars`") from None
        return polars.DataFrame(self)

    def to_arrow(self) -> pa.Table:
        """Return the table as shown, as an Arrow table.

        Returns
        -------
        pyarrow.Table
            The columns and values as shown to analysts; `arrow` has the computed values.

        Examples
        --------
        >>> r.lines.to_arrow().schema
        """
        if self._shown is None:
            table = self.arrow.rename_columns(
                [self._renamed.get(name, name) for name in self.arrow.column_names]
            )
            # These columns explain each row, and are not part of the computed values.
            for name, column in ({} if self._beside is None else self._beside()).items():
                table = table.append_column(name, column)
            self._shown = in_zone(table, self.zone)
            if not self.as_stored:
                shown = fiat_amounts(self._shown, self._fiat, self.title)
                shown = presented(shown)
                self._shown = shown.select(keys_first(shown.column_names, self._keys))
        return self._shown

    def to_csv(self, path: str | Path) -> Path:
        """Write a CSV file in which no spreadsheet executes a text as a formula.

        Parameters
        ----------
        path
            The file; an existing file is overwritten.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        StorageError
            The file cannot be written.

        Examples
        --------
        >>> r.lines.to_csv("lines.csv")
        """
        # The writer is imported here, because reading rows does not need it.
        from treasury.core.tables.csv_output import write_csv_table

        target = Path(path)
        try:
            with target.open("w", encoding="utf-8", newline="") as file:
                write_csv_table(file, self.to_arrow())
        except OSError as error:
            raise _unwritten(target, error) from None
        return target

    def to_parquet(self, path: str | Path) -> Path:
        """Write a Parquet file with exact decimals.

        Parameters
        ----------
        path
            The file; an existing file is overwritten.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        StorageError
            The file cannot be written.

        Examples
        --------
        >>> r.lines.to_parquet("lines.parquet")
        """
        import pyarrow.parquet as pq

        target = Path(path)
        try:
            pq.write_table(self.to_arrow(), target)
        except OSError as error:
            raise _unwritten(target, error) from None
        return target

    def to_excel(self, path: str | Path) -> Path:
        """Write an Excel workbook with the table.

        A text is never executed as a formula, an amount keeps every digit, and instants are in the
        table's time zone. The sheet has the table's title, or the file's name if it has none. The
        header has the names of `columns`, instants with their zone.

        Parameters
        ----------
        path
            The file. An existing file is replaced, or stays unchanged after an error.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        StorageError
            The file cannot be written.
        InputError
            The file's name does not end in `.xlsx`, or the table has more rows than a sheet.

        Examples
        --------
        >>> r.lines.to_excel("lines.xlsx")
        """
        return _write_workbook(path, {self.title or Path(path).stem: self})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as an Arrow stream, which Polars, DuckDB and others read."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __narwhals_dataframe__(self) -> object:
        """Return the object for narwhals, used by Altair, Plotly and Great Tables."""
        import narwhals

        return narwhals.from_native(self.to_arrow())._compliant_frame  # noqa: SLF001 - its protocol

    # Display

    def __repr__(self) -> str:
        return text_table(self.to_arrow(), self._view(clean(self.title)))

    def _repr_html_(self) -> str:
        return html_table(self.to_arrow(), self._view(self.title))

    def _view(self, title: str, most_rows: int | None = None) -> View:
        return View(
            units=self.units,
            title=title,
            as_stored=self.as_stored,
            keys=self._keys,
            extent=self._extent,
            most_rows=most_rows,
            notes=self.notes,
        )

    def _taken(self, rows: slice | pa.Array) -> Table:
        """Return a table with only some of the rows."""

        def kept(table: pa.Table) -> pa.Table:
            return table.slice(0, rows.stop) if isinstance(rows, slice) else table.take(rows)

        return self._alike(kept(self.arrow), kept(self.to_arrow()), self._extent)

    def _alike(self, arrow: pa.Table, shown: pa.Table, extent: Extent) -> Table:
        """Return a table like this one, with other values and the form in which they are shown."""
        table = Table(
            arrow,
            "",
            self.zone,
            title=self.title,
            as_stored=self.as_stored,
            keys=self._keys,
            codes=self._codes,
            extent=extent,
            notes=self.notes,
        )
        table._shown = shown
        return table

    def _unknown(self, name: str) -> UnknownName:
        names = (each for each in dir(self) if not each.startswith("_"))
        column = nearest(name, (*names, *self.columns))
        if column not in self.columns:
            return super()._unknown(name)
        question = "" if column == name else f"; is it the column {clean(column)}?"
        return UnknownName(
            f"Table has no attribute {name!r}{question}",
            do=self._advice.replace("COLUMN", clean(column)),
        )

    def _require(self, names: Collection[str]) -> None:
        known = self.columns
        for name in names:
            if name not in known:
                near = column_meant(name, known)
                question = f"; is it {clean(near)}?" if near else ""
                raise TableError(
                    f"there is no column {clean(name)!r}{question}",
                    do=None if near else one_of(name, known),
                )

    def _codes_meant(self, name: str, value: object) -> object:
        """Return the codes that the values of a condition mean; other values are unchanged.

        Raise TableError for a value that is no code, which would select no row silently.
        """
        column = self.to_arrow()[name]
        values = value if isinstance(value, list | tuple | set | frozenset) else [value]
        if not pa.types.is_string(column.type) or not any(isinstance(each, str) for each in values):
            return value
        present, declared = set(column.drop_null().unique().to_pylist()), self._codes.get(name)
        codes: list[object] = []
        for each in values:
            code = code_meant(name, each, present, declared) if isinstance(each, str) else each
            if each and not code:
                near = nearest_code(each, {*present, *(declared or {})})
                question = f"; is it {clean(near)}?" if near else ""
                raise TableError(
                    f"{name} has no value {clean(each)[:60]!r}{question}",
                    do=f"this table has {', '.join(map(clean, sorted(present)))}"
                    if present
                    else f"give one of {', '.join(declared or ())}",
                )
            codes.append(code)
        return codes if values is value else codes[0]


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
        # Only a result with its own `__len__`, the number of its items, is false if it is empty.
        return type(self).__len__ is Tables.__len__ or len(self) > 0

    def _no_table(self) -> TableError:
        """Return the error for an operation that only a single table has."""
        names = [
            name
            for name in _table_names(cast("Any", type(self)))
            if getattr(self, name) is not None
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
        return _write_workbook(path, self.sheets())

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
                view = table._view(f".{name}", _START)  # noqa: SLF001 - for this class only
                parts.append(text_table(table.to_arrow(), view))
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


def _uniquely_named(table: pa.Table) -> pa.Table:
    """Return the table with `_1`, `_2` … after repeated column names, as DuckDB names them.

    A join with `SELECT *` repeats the columns that both tables have.
    """
    names = table.column_names
    if len(set(names)) == len(names):
        return table
    unique: list[str] = []
    for name in names:
        numbered = (f"{name}_{number}" for number in count(1))
        free = (each for each in numbered if each not in names and each not in unique)
        unique.append(next(free) if name in unique else name)
    return table.rename_columns(unique)


def text_note(table: Table, name: str, text: str) -> str:
    """Return a note if no row has a text that a condition compares with a column of codes.

    Raise QueryError if the column has a list of codes and the text is none of them, for example a
    word on screen.
    """
    codes = table._codes  # noqa: SLF001 - for this class only
    if name not in table.columns or not has_words(name, codes):
        return ""
    column = table.to_arrow()[name]
    if not text or not pa.types.is_string(column.type):
        return ""
    present, declared = {*column.unique().to_pylist()} - {None, ""}, codes.get(name)
    if text in present:
        return ""
    code = code_meant(name, text, present, declared)
    if code != text:
        near = code or nearest_code(text, {*present, *(declared or {})})
        question = f"; is it {clean(near)}?" if near else ""
        raise QueryError(
            f"{name} has no value {clean(text)[:60]!r}{question}",
            do="a condition compares with codes, which treasury.codes() lists",
        )
    if has_all_words(name, codes):
        return ""
    known = f"; this table has {', '.join(map(clean, sorted(present)))}" if present else ""
    return f"no row has the {name} {clean(text)[:60]!r}{is_it(text, present) or known}"


def _matching_rows(
    table: pa.Table, condition: str, values: Sequence[object], zone: ZoneInfo | None
) -> tuple[pa.Array, list[tuple[str, str]]]:
    """Return the indices of the rows for which a condition holds, in order.

    The second part is the columns and texts that it compares.
    """
    numbered = table.append_column(_ROW, pa.array(range(table.num_rows), pa.int64()))
    query = f'SELECT "{_ROW}" FROM answer WHERE {condition} ORDER BY "{_ROW}"'  # noqa: S608
    with duckdb_engine.connect(one_thread=True) as connection:
        if zone is not None:
            connection.execute(f"SET GLOBAL TimeZone = {duckdb_engine.literal(zone.key)}")
        connection.register("answer", numbered)
        duckdb_engine.lock(connection)
        try:
            query_checks.check_reads(connection, query, values)
            rows = duckdb_engine.rows(connection, query, values)
            texts = query_checks.compared_texts(connection, query)
            compared = [(column, text) for _, column, text in texts]
        except duckdb.Error as error:
            raise query_checks.query_error(error, query, table.column_names) from error
    return rows[_ROW].combine_chunks(), compared


def _write_workbook(path: str | Path, tables: Mapping[str, Table]) -> Path:
    # The writer is imported here, because only this function needs it.
    from treasury.core.tables.workbook import write_tables

    zone = next((table.zone for table in tables.values() if table.zone is not None), None)
    shown = {name: table.to_arrow() for name, table in tables.items()}
    return write_tables(Path(path), shown, zone)


def _unwritten(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path} cannot be written: {error.strerror}", do="name an existing folder")
