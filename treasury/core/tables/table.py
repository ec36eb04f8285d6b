"""The table type of all results: exact, readable, and convertible to pandas and Polars.

`Table` is an immutable view of an Arrow table. Its attribute `arrow` has the computed values, for
code that computes, hashes or stores them. All other attributes show the values in a form for
analysts:

- A code is the word on screen in snake_case; stored codes may be older.
- The direction of a bank line is `in` or `out`; the bank's CRDT or DBIT is in `credit_debit`.
- `signed_amount` is negative for outgoing amounts, so it can be summed.
- The direction of a ramp request is in `ramp_type`.
- Instants are in the reporting time zone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, overload
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import QueryError, StorageError, TableError, UnknownName
from treasury.core.nearest_names import NearestNames
from treasury.core.tables import duckdb_engine, query_checks
from treasury.core.tables.schemas import keys_first, uniquely_named, units_of
from treasury.core.tables.shown_values import exact_frame, fiat_amounts, in_zone, presented
from treasury.core.tables.table_view import Extent, View, html_table, text_table
from treasury.core.text import clean, is_it, nearest, one_of
from treasury.core.wording import code_meant, column_meant, has_all_words, has_words, nearest_code

if TYPE_CHECKING:
    import pandas as pd
    import polars  # noqa: ICN001 - `pl` is a property here

_START: Final = 10
"""Maximum number of rows of each table that `print` shows of a result with several tables."""


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
        self.arrow = uniquely_named(arrow)
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
        rows_wanted: object = count
        if not isinstance(rows_wanted, int) or rows_wanted < 0:
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
        found, texts = query_checks.matching_rows(
            self.to_arrow(), " AND ".join(conditions), bound, self.zone
        )
        texts += [
            (name, each)
            for name, value in equal.items()
            for each in (value if isinstance(value, list) else [value])
            if isinstance(each, str)
        ]
        selection = self._taken(found)
        selection.notes = (*self.notes, *filter(None, (text_note(self, *each) for each in texts)))
        return selection

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
        - `* Decimal("0.5")` is exact. `* 2` is exact for fiat; for coins it exceeds 38 digits and
          raises an error: use `* Decimal(2)`.
        - `a - b` and `a + b` are exact for columns, but raise an error for sums of groups. Use
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
            # These columns explain each row or replace a column on screen, and are not part of the
            # computed values.
            for name, column in ({} if self._beside is None else self._beside()).items():
                names = table.column_names
                table = (
                    table.set_column(names.index(name), name, column)
                    if name in names
                    else table.append_column(name, column)
                )
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
        table's time zone. The sheet's name is the table's title, or the file's name if the table
        has no title. The header has the names of `columns`, with the zone for instants.

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
        return write_workbook(path, {self.title or Path(path).stem: self})

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
        """Return a table like this one with other values, both as computed and as shown."""
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
        columns = self.columns
        for name in names:
            if name not in columns:
                near = column_meant(name, columns)
                hint = query_checks.column_hint(name, near, columns)
                raise TableError(
                    f"there is no column {clean(name)!r}{hint}",
                    do=None if near else one_of(name, columns),
                )

    def _codes_meant(self, name: str, value: object) -> object:
        """Return the codes that the values of a condition mean; other values are unchanged.

        Raise TableError for a value that is not a code, which would silently select no row.
        """
        column = self.to_arrow()[name]
        values = value if isinstance(value, list | tuple | set | frozenset) else [value]
        if not pa.types.is_string(column.type) or not any(isinstance(each, str) for each in values):
            return value
        present, declared = set(column.drop_null().unique().to_pylist()), self._codes.get(name)
        codes: list[object] = []
        for each in values:
            code = code_meant(name, each, present, declared) if isinstance(each, str) else each
            if isinstance(each, str) and each and not code:
                near = nearest_code(each, {*present, *(declared or {})})
                hint = query_checks.value_hint(name, each, near, self.columns)
                raise TableError(
                    f"{name} has no value {clean(each)[:60]!r}{hint}",
                    do=f"this table has {', '.join(map(clean, sorted(present)))}"
                    if present
                    else f"give one of {', '.join(declared or ())}",
                )
            codes.append(code)
        return codes if values is value else codes[0]


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
        hint = query_checks.value_hint(name, text, near, table.columns)
        raise QueryError(
            f"{name} has no value {clean(text)[:60]!r}{hint}",
            do="a condition compares with codes, which treasury.codes() lists",
        )
    if has_all_words(name, codes):
        return ""
    values_present = f"; this table has {', '.join(map(clean, sorted(present)))}" if present else ""
    return f"no row has the {name} {clean(text)[:60]!r}{is_it(text, present) or values_present}"


def beginning(table: Table, title: str) -> str:
    """Return the first rows of a table as text."""
    return text_table(table.to_arrow(), table._view(title, _START))  # noqa: SLF001 - for `print`


def write_workbook(path: str | Path, tables: Mapping[str, Table]) -> Path:
    """Write each table as a sheet of one workbook, by the sheets' names."""
    # The writer is imported here, because only this function needs it.
    from treasury.core.tables.workbook import write_tables

    zone = next((table.zone for table in tables.values() if table.zone is not None), None)
    shown = {name: table.to_arrow() for name, table in tables.items()}
    return write_tables(Path(path), shown, zone)


def _unwritten(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path} cannot be written: {error.strerror}", do="name an existing folder")
