"""Conversion of a Parquet file to text cells with every digit, like those of a CSV."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.money import plain_digits

_MOST: Final = 2_000_000
"""Maximum number of rows in a Parquet file."""
_EXACT: Final = (
    pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_decimal,
    pa.types.is_timestamp, pa.types.is_null,
)  # fmt: skip
"""Column types whose values have exact digits as text."""


def parquet_cells(path: Path, content: bytes) -> list[tuple[int, list[str]]]:
    """Return the rows of a Parquet file as text with their numbers, the headings first.

    Raises InputError for a file that is broken or too long, and for types without exact digits.
    """
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.metadata.num_rows > _MOST:
            raise InputError(f"{path} has more than {_MOST:,} rows", do="give the right file")
        for column in file.schema_arrow:
            if pa.types.is_floating(column.type):
                raise InputError(
                    f"{path}, row 1: {column.name[:40]} is a float; {column.type} does not hold an"
                    " amount's digits",
                    do="write the column as text or as a decimal",
                )
            if not any(is_of(column.type) for is_of in _EXACT):
                raise InputError(
                    f"{path}, row 1: {column.name[:40]} is a {column.type}", do="write it as text"
                )
            if pa.types.is_timestamp(column.type) and column.type.tz is None:
                raise InputError(
                    f"{path}, row 1: {column.name[:40]} is a timestamp without its zone",
                    do="write it as text, or in UTC",
                )
        table = file.read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"{path} cannot be read: {str(error)[:120]}", do="write it again"
        ) from None
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    cells = ((number, list(map(_cell, row))) for number, row in enumerate(rows, 1))
    return [(0, table.column_names), *cells]


def _cell(stored: Any) -> str:
    if isinstance(stored, Decimal):
        return plain_digits(stored)
    if isinstance(stored, datetime):
        return stored.isoformat()
    return "" if stored is None else str(stored)
