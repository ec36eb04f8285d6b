"""Writes CSV files in which no spreadsheet executes a text as a formula.

Every cell is quoted. A spreadsheet may split a line at its own locale's separator, so that a cell
begins in the middle of a text. A character that could begin a formula there is also made harmless.
Amounts, counts and days are unchanged: a negative amount stays a number.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Final, TextIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import WriteOptions, write_csv

from treasury.core.tables.column_texts import amount_texts, value_text
from treasury.core.text import visible

_BREAKS: Final = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
"""Characters that end a line or move to another column; a cell must stay on one line."""
_SIGNS: Final = r"=+\-@⁺⁼₊₌﬩﹢﹣﹦﹫＋－＝＠−"
"""Signs that begin a formula: `= + - @`, and characters that Unicode normalises to one of them."""
_FORMULA: Final = re.compile(rf"""((?:^|[,;|])[\s"'“”„«»‘’`]*)(?=[{_SIGNS}])""")
"""Pattern of a place where a formula could begin: after a separator, with blanks or quotes."""
_UNLIKE: Final = r"""[^ -~·]|(^|[,;|])[ "'`]*[=+\-@]"""
"""Pattern of texts that may need a change, because of a hidden character, a character that Unicode
normalises, or a possible formula.
"""
_BATCH: Final = 10_000
"""Number of rows that are formatted and written at once."""
_AS_TEXT: Final = WriteOptions(include_header=False, quoting_style="all_valid")


def write_csv_table(file: TextIO, table: pa.Table, *, named: bool = True) -> None:
    """Write a table as CSV; list elements are separated by a vertical bar.

    Without `named`, the header line is left out, to continue a file.
    """
    if named:
        _writer(file).writerow(map(_cell, table.column_names))
    for batch in table.to_batches(max_chunksize=_BATCH):
        texts = pa.table([_written(column) for column in batch.columns], names=table.column_names)
        written = pa.BufferOutputStream()
        write_csv(texts, written, _AS_TEXT)
        file.write(written.getvalue().to_pybytes().decode())


def _writer(file: TextIO) -> Any:
    return csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")


def _written(column: pa.Array) -> pa.Array:
    """Format each value with `_cell`, once per distinct value."""
    if pa.types.is_nested(column.type):
        return _cells(column)
    distinct = column.dictionary_encode("encode")
    return _cells(distinct.dictionary).take(distinct.indices)


def _cells(column: pa.Array) -> pa.Array:
    """Format each value like `_cell`; most texts need no change."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return pc.fill_null(amount_texts(pa.chunked_array([column])), "")
    if pa.types.is_date(kind) or pa.types.is_integer(kind):
        return pc.fill_null(column.cast(pa.string()), "")
    if not pa.types.is_string(kind):
        return pa.array(map(_cell, column.to_pylist()), pa.string())
    texts = pc.fill_null(column, "")
    is_other = pc.match_substring_regex(texts, _UNLIKE)
    written = pa.array(map(_cell, texts.filter(is_other).to_pylist()), pa.string())
    return pc.replace_with_mask(texts, is_other, written)


def rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table as Python values, in batches."""
    for batch in table.to_batches(max_chunksize=_BATCH):
        yield from zip(*map(_values, batch.columns), strict=True)


def _values(column: pa.Array) -> list[Any]:
    """Return the values of a column; equal values share one object if many repeat."""
    if pa.types.is_nested(column.type):
        return column.to_pylist()
    encoded = column.dictionary_encode("encode")
    if 2 * len(encoded.dictionary) > len(column):
        return column.to_pylist()
    return list(map(encoded.dictionary.to_pylist().__getitem__, encoded.indices.to_pylist()))


def csv_text(names: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as CSV text: a line of column names, then a line per row with every digit."""
    out = io.StringIO()
    writer = _writer(out)
    writer.writerow(map(_cell, names))
    writer.writerows(map(_cell, row) for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    """Format a value so that no text is executed as a formula; numbers and days are unchanged."""
    match value:
        case None | Decimal() | int() | date() | time() | timedelta():
            return value_text(value)
        case float() if math.isfinite(value):
            return value_text(value)
        case _:
            text = visible(_BREAKS.sub(" ", value_text(value)))
            return _FORMULA.sub(r"\1'", text)
