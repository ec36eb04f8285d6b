"""Files of reference rates: the ECB's `eurofxref-hist.csv`, or a company's own CSV or Parquet.

The ECB's file has a line per day and a column per currency: the price of one euro. A file may be
zipped, if the archive contains nothing else. Rates are exact decimals above zero, never floats.

The company's own file has the columns day, base, quote and rate. A day is written as 2026-10-31, or
as an instant with a zone, 2026-10-31T02:00Z. A time without a zone is refused as ambiguous.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.files.zip_methods import unbounded_method
from treasury.core.money import parse_amount, plain_digits
from treasury.core.tables.csv_input import (
    LARGEST,
    CsvColumn,
    csv_lines,
    csv_rows,
    day,
    small_file,
    text,
)
from treasury.core.tables.csv_input import day as read_day
from treasury.core.text import visible
from treasury.rates.file_rate import FileRate, read_at
from treasury.rates.rate_table import BANK, OWN, REFERENCE_RATES

NOT_PUBLISHED: Final = frozenset({"", "N/A"})
"""Cell values for a currency without a published rate on that day."""
_BROKEN: Final = (
    OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error
)  # fmt: skip
"""The exceptions that the standard library raises for a broken archive."""


class FileRates(msgspec.Struct, frozen=True, eq=False):
    """The rates of one file, by id, and their publisher."""

    path: Path
    publisher: str
    source: str
    rates: dict[str, FileRate]
    word: str
    """`line`, or `row` for a Parquet file."""

    def where(self, rate_id: str) -> str:
        """Return the file and line of a rate, for an error message."""
        return f"{self.path}, {self.word} {self.rates[rate_id].place}"

    def table(self) -> pa.Table:
        """Return the rates as rows of `reference_rates`, with the published digits in `raw`."""
        rates, schema = self.rates.values(), REFERENCE_RATES.row_schema
        columns = {
            "rate_id": list(self.rates),
            "publisher": [self.publisher] * len(rates),
            "day": [rate.day for rate in rates],
            "observed_at": [rate.at for rate in rates],
            "base": [rate.base for rate in rates],
            "quote": [rate.quote for rate in rates],
            "rate": [rate.rate for rate in rates],
            "source": [self.source] * len(rates),
            "raw": [
                msgspec.json.encode([rate.at or rate.day, rate.base, rate.quote, rate.published])
                for rate in rates
            ],
        }
        return pa.table([pa.array(columns[f.name], f.type) for f in schema], schema=schema)


def read_rates(path: Path, now: datetime, zone: ZoneInfo) -> FileRates:
    """Read the rates of a file; raise InputError with the file and line of an invalid rate.

    A rate is invalid if it is not a number above zero, is a float, uses an unknown currency or is
    dated after `now`. Two rates for the same pair and day (or instant) must not differ, nor be
    quoted in opposite directions. A file without rates is refused too.
    """
    shown, content = opened_rates(path)
    publisher, word = OWN, "line"
    if content.startswith(b"PAR1"):
        word, rates = "row", parquet_rates(shown, content, zone)
    else:
        rows = csv_rows(shown, content)
        if rows and is_banks_file(rows[0][1]):
            publisher, rates = BANK, _banks_rates(shown, rows)
        else:
            rates = csv_rates(shown, rows, zone)
    kept: dict[str, FileRate] = {}
    for rate in rates:
        where = f"{shown}, {word} {rate.place}"
        rate.require_plausible(where, now, zone)
        moment = rate.day if rate.at is None else rate.at.isoformat()
        rate_id = f"{publisher} {rate.base}/{rate.quote} {moment}"
        inverse = kept.get(inverse_id(rate_id))
        if inverse is not None:
            raise InputError(
                f"{where}: {rate.base}/{rate.quote} of {moment} is quoted in the other direction on"
                f" {word} {inverse.place}",
                do="keep one of them: a pair's two directions may not agree exactly",
            )
        other = kept.setdefault(rate_id, rate)
        if other.rate != rate.rate:
            raise InputError(
                f"{where}: {rate.base}/{rate.quote} of {moment} is {rate.published}, but"
                f" {other.published} on {word} {other.place}",
                do="keep the right one; nothing was stored",
            )
    if not kept:
        raise InputError(
            f"{shown} contains no rates", do="give it the columns day, base, quote, rate"
        )
    source = BANK if publisher == BANK else visible(path.name)
    return FileRates(shown, publisher, source, kept, word)


def inverse_id(rate_id: str) -> str:
    """Return the id of the opposite rate: the same pair and time, quoted in the other direction."""
    publisher, pair, moment = rate_id.split(" ")
    base, _, quote = pair.partition("/")
    return f"{publisher} {quote}/{base} {moment}"


def is_banks_file(head: Sequence[str]) -> bool:
    """Return whether the headings are the ECB's: Date, then one column per currency."""
    names = [name.strip().lower() for name in head]
    return names[0] == "date" and "rate" not in names


def _banks_rates(path: Path, rows: Sequence[tuple[int, list[str]]]) -> Iterator[FileRate]:
    """Yield the rates in the lines of an ECB file; raise InputError for an incomplete line."""
    number, head = rows[0]
    codes = [name.strip().upper() for name in head[1:]]
    twice = next((code for code in codes if code and codes.count(code) > 1), "")
    if twice:
        raise InputError(
            f"{path}, line {number}: the column {twice!r:.40} appears twice",
            do="fetch the file again",
        )
    for line, cells in rows[1:]:
        where = f"{path}, line {line}"
        if len(cells) != len(head):
            raise InputError(
                f"{where}: {len(cells)} cells for {len(head)} columns", do="fetch the file again"
            )
        published_on = read_at(where, partial(day, cells[0].strip(), "Date"))
        for code, cell in zip(codes, map(str.strip, cells[1:]), strict=True):
            if cell not in NOT_PUBLISHED:
                rate = read_at(where, partial(parse_amount, cell, name=code))
                yield FileRate(line, published_on, None, "EUR", code, rate, cell)


def opened_rates(path: Path) -> tuple[Path, bytes]:
    """Return a file's content, unzipped if needed, and the path to show in errors."""
    content = small_file(path)
    if not content.startswith(b"PK"):
        return path, content
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
            if len(members) != 1:
                raise InputError(
                    f"{path} contains {len(members)} files instead of one",
                    do="unpack it and add each file",
                )
            if method := unbounded_method(members[0]):
                raise InputError(
                    f"{path} is compressed with {method}, which is not supported",
                    do="unpack it and add the file inside",
                )
            with archive.open(members[0]) as packed:
                unpacked = packed.read(LARGEST + 1)
    except _BROKEN as error:
        raise InputError(
            f"{path} cannot be unpacked ({error})", do="download it again, or unpack it"
        ) from None
    if len(unpacked) > LARGEST:
        raise InputError(f"{path} unpacks to more than 64 MB", do="give the right file")
    return path / members[0].filename, unpacked


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
    """Raise InputError if the file has too many rates, or unpacks to too many bytes."""
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
