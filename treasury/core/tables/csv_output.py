"""CSV for people: the only CSV writer, so that no spreadsheet executes a text.

Every cell is quoted. A spreadsheet splits lines at its own locale's separator, so formulas are
defused wherever a cell could begin within a text, not only at its start. Amounts, counts and days
are our own values and unchanged: a negative amount stays a number.
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
"""Characters that end a line or change the column: a cell must stay on one line."""
_SIGNS: Final = r"=+\-@⁺⁼₊₌﬩﹢﹣﹦﹫＋－＝＠−"
"""Signs that begin a formula: `= + - @` and every character that Unicode folds to one of them."""
_FORMULA: Final = re.compile(rf"""((?:^|[,;|])[\s"'“”„«»‘’`]*)(?=[{_SIGNS}])""")
"""The place where a formula would begin: in a cell, after a separator, blanks and quotes."""
_UNLIKE: Final = r"""[^ -~·]|(^|[,;|])[ "'`]*[=+\-@]"""
"""Texts that may be written differently: with a hidden or foldable character, or a possible
formula.
"""
_BATCH: Final = 10_000
"""Number of rows written together."""
_AS_TEXT: Final = WriteOptions(include_header=False, quoting_style="all_valid")


def write_csv_table(file: TextIO, table: pa.Table, *, named: bool = True) -> None:
    """Write a table as CSV, some thousands of rows at a time, column by column.

    List elements are separated by a bar. Continued output is not `named` again.
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
    """Return `_cell` of each value, computed once per distinct value."""
    if pa.types.is_nested(column.type):
        return _cells(column)
    distinct = column.dictionary_encode("encode")
    return _cells(distinct.dictionary).take(distinct.indices)


def _cells(column: pa.Array) -> pa.Array:
    """Return `_cell` of each value; most are already plain and stay unchanged."""
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
    """Return the values of a column, created once per distinct value if many repeat."""
    if pa.types.is_nested(column.type):
        return column.to_pylist()
    encoded = column.dictionary_encode("encode")
    if 2 * len(encoded.dictionary) > len(column):
        return column.to_pylist()
    return list(map(encoded.dictionary.to_pylist().__getitem__, encoded.indices.to_pylist()))


def csv_text(names: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a line of names and a line per row; amounts keep every digit."""
    out = io.StringIO()
    writer = _writer(out)
    writer.writerow(map(_cell, names))
    writer.writerows(map(_cell, row) for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    """Format a number or a day unchanged, and anything else as text that is never executed."""
    match value:
        case None | Decimal() | int() | date() | time() | timedelta():
            return value_text(value)
        case float() if math.isfinite(value):
            return value_text(value)
        case _:
            text = visible(_BREAKS.sub(" ", value_text(value)))
            return _FORMULA.sub(r"\1'", text)
