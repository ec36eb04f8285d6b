"""A company's own rates: a CSV or Parquet file with the columns day, base, quote and rate.

A day is written as 2026-10-31, or as an instant with a zone, 2026-10-31T02:00Z. A time without a
zone is refused, because it is ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.money import parse_amount, plain_digits
from treasury.core.tables.csv_input import LARGEST, CsvColumn, csv_lines, text
from treasury.core.tables.csv_input import day as read_day
from treasury.rates.file_rate import FileRate, read_at

_MOST: Final = 2_000_000
"""Maximum number of rates in a Parquet file."""
_LONGEST: Final = 100
"""Maximum size of a text in a Parquet file, in bytes, because a small file may unpack to any
size."""
_NAMES: Final = ["day", "base", "quote", "rate"]


def csv_rates(
    path: Path, rows: Sequence[tuple[int, list[str]]], zone: ZoneInfo
) -> Iterator[FileRate]:
    """Yield the rates in the rows of a CSV file, whose first row has the headings."""
    columns = (
        CsvColumn("day", lambda cell, _: _day_or_instant(cell, zone)),
        *(CsvColumn(name, text) for name in _NAMES[1:]),
    )
    for line in csv_lines(path, rows, columns):
        yield _own_rate(f"{path}, line {line.number}", line.number, line.values)


def parquet_rates(path: Path, content: bytes, zone: ZoneInfo) -> Iterator[FileRate]:
    """Yield the rates in a Parquet file, with rows counted from 1; refuse rates that are floats."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        _require_columns(path, pq.read_schema(pa.BufferReader(content)))
        # Dictionaries store each text once; otherwise a repeated text could unpack to any size.
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=_NAMES)
        _require_size(path, file.metadata)
        number = 0
        for batch in file.iter_batches(columns=_NAMES):
            for name, column in zip(_NAMES, batch.columns, strict=True):
                is_text = pa.types.is_dictionary(column.type) and pa.types.is_string(
                    column.type.value_type
                )
                longest = pc.max(pc.binary_length(column.dictionary)).as_py() if is_text else 0
                if (longest or 0) > _LONGEST:
                    raise InputError(
                        f"{path}: a {name} is {longest:,} bytes long", do="give the right file"
                    )
            for values in batch.to_pylist():
                number += 1
                where = f"{path}, row {number}"
                for name, value in values.items():
                    if value is None or value == "":
                        raise InputError(f"{where}: {name} is empty", do="fill it in")
                day = values["day"]
                if isinstance(day, datetime):
                    values["day"] = day.astimezone(zone).date(), day.astimezone(UTC)
                elif isinstance(day, date):
                    values["day"] = day, None
                else:
                    values["day"] = read_at(where, lambda: _day_or_instant(str(day), zone))  # noqa: B023 - read at once
                yield _own_rate(where, number, values)
    except (pa.ArrowException, OSError, OverflowError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read: {str(error)[:120]}", do="write it again"
        ) from None


def _require_size(path: Path, metadata: Any) -> None:
    """Raise InputError if the file unpacks to more than a plausible file of rates."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    unpacked = sum(
        group.column(at).total_uncompressed_size
        for group in groups
        for at in range(group.num_columns)
    )
    if metadata.num_rows > _MOST:
        raise InputError(f"{path} has more than {_MOST:,} rates", do="give the right file")
    if unpacked > LARGEST:
        raise InputError(f"{path} unpacks to more than 64 MB", do="give the right file")


def _require_columns(path: Path, schema: pa.Schema) -> None:
    """Raise InputError if a column is missing, duplicated or of an inexact type."""
    for name in _NAMES:
        if schema.names.count(name) != 1:
            raise InputError(
                f"{path} does not have exactly one column {name!r}",
                do=f"give it the columns {', '.join(_NAMES)}",
            )
    kind = schema.field("rate").type
    if pa.types.is_floating(kind):
        raise InputError(
            f"{path}: rate is a float; {kind} cannot hold the exact digits of a rate",
            do="write the column as text or as a decimal",
        )
    day = schema.field("day").type
    if pa.types.is_timestamp(day) and day.tz is None:
        raise InputError(
            f"{path}: day is a timestamp without a zone",
            do="write it as a date, as text, or in UTC",
        )


def _own_rate(where: str, number: int, values: dict[str, Any]) -> FileRate:
    day, at = values["day"]
    base, quote = (str(values[name]).strip().upper() for name in ("base", "quote"))
    cell = values["rate"]
    published = plain_digits(cell) if isinstance(cell, Decimal) else str(cell).strip()
    rate = read_at(where, partial(parse_amount, published, name="rate"))
    return FileRate(number, day, at, base, quote, rate, published)


def _day_or_instant(cell: str, zone: ZoneInfo) -> tuple[date, datetime | None]:
    """Parse a day (2026-10-31) or an instant with a zone; return the day and the instant."""
    if len(cell) <= len("2026-10-31"):
        return read_day(cell, "day"), None
    try:
        instant = datetime.fromisoformat(cell)
        if instant.tzinfo is not None:
            return instant.astimezone(zone).date(), instant.astimezone(UTC)
    except (ValueError, OverflowError):
        # A time without a zone is refused below.
        pass
    raise InputError(
        f"day: {cell[:40]!r} is neither a day nor an instant with a zone",
        do="write it as 2026-10-31, or as 2026-10-31T02:00Z",
    )
