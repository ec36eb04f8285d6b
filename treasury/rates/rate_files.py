"""Files of reference rates: the ECB's `eurofxref-hist.csv`, a company's own CSV or Parquet.

The ECB's file has a column for each currency: what one euro cost. A company's has the columns day,
base, quote and rate; a day is 2026-10-31, or an instant with its zone, 2026-10-31T02:00Z. Either
may be the one file of a zip. A rate is an exact decimal above zero, never a float.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.errors import InputError
from treasury.money import parse_amount, plain_digits
from treasury.rates.currency_codes import CODES
from treasury.rates.rate_table import BANK, OWN, REFERENCE_RATES
from treasury.tables.csv_input import (
    LARGEST,
    CsvColumn,
    csv_lines,
    csv_rows,
    small_file,
    text,
)
from treasury.tables.csv_input import day as read_day

__all__ = ["NOT_PUBLISHED", "FileRates", "is_banks_file", "opened_rates", "read_rates"]

T = TypeVar("T")

NOT_PUBLISHED: Final = frozenset({"", "N/A"})
"""What stands in the ECB's file for a currency that it did not publish that day."""
_MOST: Final = 2_000_000
"""Rates that a Parquet file may have: forty times the ECB's whole history of a currency pair."""
_BROKEN: Final = (
    OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error
)  # fmt: skip


class FileRate(msgspec.Struct, frozen=True):
    """One rate of a file: where it stands, and what it says."""

    place: int
    day: date
    at: datetime | None
    base: str
    quote: str
    rate: Decimal
    published: str
    """Its digits as they stand in the file."""


class FileRates(msgspec.Struct, frozen=True, eq=False):
    """The rates of a file as rows of `reference_rates`, and the line or row of each."""

    path: Path
    source: str
    rows: pa.Table
    places: list[int]
    word: str
    """`line`, or `row` of a file that has no lines."""

    def where(self, index: int) -> str:
        """The file and the line of a rate, for an error."""
        return f"{self.path}, {self.word} {self.places[index]}"


def read_rates(path: Path, now: datetime, zone: ZoneInfo) -> FileRates:
    """The rates of a file. InputError names the file and the line of one that cannot be right.

    Refused: a rate of zero or below, or that is no number; two of a pair and day, or instant, that
    differ; a day after the one that `now` is in; a code that is no currency; a float.
    """
    shown, content = opened_rates(path)
    if content.startswith(b"PAR1"):
        rates, publisher, word = _own_rows(shown, content, zone), OWN, "row"
    else:
        rows = csv_rows(shown, content)
        word = "line"
        if rows and is_banks_file(rows[0][1]):
            rates, publisher = _banks_rates(shown, rows), BANK
        else:
            lines = csv_lines(shown, rows, _columns(zone))
            cells = ((line.number, line.values) for line in lines)
            rates, publisher = (_own_rate(shown, word, *cell) for cell in cells), OWN
    source = BANK if publisher == BANK else path.name
    kept: dict[str, FileRate] = {}
    for rate in rates:
        where = f"{shown}, {word} {rate.place}"
        _require(rate, where, now, zone)
        moment = rate.day if rate.at is None else rate.at.isoformat()
        other = kept.setdefault(f"{publisher} {rate.base}/{rate.quote} {moment}", rate)
        if other.rate != rate.rate:
            raise InputError(
                f"{where}: {rate.base}/{rate.quote} of {moment} is {rate.published}, and"
                f" {other.published} on {word} {other.place}",
                do="leave the right one; nothing was stored",
            )
    if not kept:
        raise InputError(f"{shown} has no rate", do="give it the columns day, base, quote, rate")
    rows_table = _table(kept, publisher, source)
    return FileRates(shown, source, rows_table, [rate.place for rate in kept.values()], word)


def is_banks_file(head: Sequence[str]) -> bool:
    """Whether these headings are the ECB's: Date, then a column for each currency."""
    names = [name.strip().lower() for name in head]
    return names[0] == "date" and "rate" not in names


def _day_or_instant(cell: str, column: str, zone: ZoneInfo) -> tuple[date, datetime | None]:
    """A day, 2026-10-31, or an instant with its zone and the day that it is in."""
    if len(cell) <= len("2026-10-31"):
        return read_day(cell, column), None
    try:
        instant = datetime.fromisoformat(cell)
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise InputError(
            f"{column}: {cell[:40]!r} is neither a day nor an instant with its zone",
            do="write it as 2026-10-31, or as 2026-10-31T02:00Z",
        )
    return instant.astimezone(zone).date(), instant.astimezone(UTC)


def _columns(zone: ZoneInfo) -> tuple[CsvColumn, ...]:
    return (
        CsvColumn("day", lambda cell, column: _day_or_instant(cell, column, zone)),
        CsvColumn("base", text),
        CsvColumn("quote", text),
        CsvColumn("rate", text),
    )


def opened_rates(path: Path) -> tuple[Path, bytes]:
    """What a file holds, or the one file that is packed in it."""
    content = small_file(path)
    if not content.startswith(b"PK"):
        return path, content
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) != 1:
                raise InputError(
                    f"{path} packs {len(members)} files, not one", do="unpack it, and add each"
                )
            with archive.open(members[0]) as packed:
                unpacked = packed.read(LARGEST + 1)
    except _BROKEN as error:
        raise InputError(
            f"{path} cannot be unpacked ({error})", do="fetch it again, or unpack it"
        ) from None
    if len(unpacked) > LARGEST:
        raise InputError(f"{path} unpacks to more than 64 MB", do="give the right file")
    return path / members[0].filename, unpacked


def _banks_rates(path: Path, rows: Sequence[tuple[int, list[str]]]) -> Iterator[FileRate]:
    """The ECB's columns as rates of one euro."""
    number, head = rows[0]
    codes = [name.strip().upper() for name in head[1:]]
    named = [code for code in codes if code]
    twice = next((code for code in named if named.count(code) > 1), "")
    if twice:
        raise InputError(f"{path}, line {number}: {twice!r:.40} twice", do="fetch the file again")
    for line, cells in rows[1:]:
        where = f"{path}, line {line}"
        if len(cells) != len(head):
            raise InputError(
                f"{where}: {len(cells)} cells for {len(head)} columns", do="fetch the file again"
            )
        try:
            day = read_day(cells[0].strip(), "Date")
        except InputError as error:
            raise InputError(f"{where}, {error.what}", do=error.do) from None
        for code, cell in zip(codes, map(str.strip, cells[1:]), strict=True):
            if cell not in NOT_PUBLISHED:
                yield FileRate(line, day, None, "EUR", code, _rate(where, cell, code), cell)


def _own_rate(path: Path, word: str, number: int, values: dict[str, Any]) -> FileRate:
    day, at = values["day"]
    base, quote = values["base"].strip().upper(), values["quote"].strip().upper()
    rate = _rate(f"{path}, {word} {number}", values["rate"], "rate")
    return FileRate(number, day, at, base, quote, rate, str(values["rate"]).strip())


def _rate(where: str, cell: str | int | Decimal, name: str) -> Decimal:
    return _named(where, lambda: parse_amount(cell, name=name))


def _named(where: str, read: Callable[[], T]) -> T:
    """What is read, or its error with the line that it is about."""
    try:
        return read()
    except InputError as error:
        raise InputError(f"{where}, {error.what}", do=error.do) from None


def _require(rate: FileRate, where: str, now: datetime, zone: ZoneInfo) -> None:
    """InputError for a rate that cannot be right, whatever file it is in."""
    for code in (rate.base, rate.quote):
        if code not in CODES:
            raise InputError(
                f"{where}: {code[:40]!r} is no currency that is known",
                do="write its code of three letters, or a coin's that the services name",
            )
    if rate.base == rate.quote:
        raise InputError(f"{where}: a rate of {rate.base} in itself", do="name two currencies")
    if rate.rate <= 0:
        raise InputError(
            f"{where}: {rate.base}/{rate.quote} is {rate.published}",
            do="a rate is above zero; correct it, or leave the line out",
        )
    if rate.day > now.astimezone(zone).date() or (rate.at is not None and rate.at > now):
        raise InputError(f"{where}: {rate.at or rate.day} has not come yet", do="correct the day")


def _table(rates: dict[str, FileRate], publisher: str, source: str) -> pa.Table:
    columns: dict[str, Iterable[Any]] = {
        "rate_id": rates,
        "publisher": [publisher] * len(rates),
        "day": [rate.day for rate in rates.values()],
        "observed_at": [rate.at for rate in rates.values()],
        "base": [rate.base for rate in rates.values()],
        "quote": [rate.quote for rate in rates.values()],
        "rate": [rate.rate for rate in rates.values()],
        "source": [source] * len(rates),
        "raw": [
            msgspec.json.encode(
                {"day": rate.at or rate.day, "base": rate.base, "quote": rate.quote,
                 "rate": rate.published}
            ).decode()
            for rate in rates.values()
        ],
    }  # fmt: skip
    schema = REFERENCE_RATES.row_schema
    return pa.table([pa.array(columns[f.name], f.type) for f in schema], schema=schema)


def _own_rows(path: Path, content: bytes, zone: ZoneInfo) -> Iterator[FileRate]:
    """The rates of a Parquet file, whose columns are named as a CSV's."""
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        if file.metadata.num_rows > _MOST:
            raise InputError(f"{path} has more than {_MOST:,} rates", do="give the right file")
        _require_columns(path, file.schema_arrow)
        number = 0
        for batch in file.iter_batches(columns=["day", "base", "quote", "rate"]):
            for values in batch.to_pylist():
                number += 1
                yield _own_row(path, number, values, zone)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} does not read: {str(error)[:120]}", do="write it again") from None


def _require_columns(path: Path, schema: pa.Schema) -> None:
    for name in ("day", "base", "quote", "rate"):
        if schema.names.count(name) != 1:
            raise InputError(
                f"{path} has no column {name!r}, or two",
                do="give it the columns day, base, quote, rate",
            )
    kind = schema.field("rate").type
    if pa.types.is_floating(kind):
        raise InputError(
            f"{path}: rate is a float; {kind} does not hold a rate's digits",
            do="write the column as text or as a decimal",
        )
    day = schema.field("day").type
    if pa.types.is_timestamp(day) and day.tz is None:
        raise InputError(
            f"{path}: day is a timestamp without its zone",
            do="write it as a date, as text, or in UTC",
        )


def _own_row(path: Path, number: int, values: dict[str, Any], zone: ZoneInfo) -> FileRate:
    where = f"{path}, row {number}"
    for name, value in values.items():
        if value is None or value == "":
            raise InputError(f"{where}: {name} is empty", do="fill it in")
    for name in ("base", "quote"):
        if not isinstance(values[name], str):
            raise InputError(f"{where}: {name} is no text", do="write the currency's code")
    day = values["day"]
    if isinstance(day, datetime):
        values["day"] = day.astimezone(zone).date(), day.astimezone(UTC)
    elif isinstance(day, date):
        values["day"] = day, None
    else:
        values["day"] = _named(where, lambda: _day_or_instant(str(day), "day", zone))
    if isinstance(values["rate"], Decimal):
        values["rate"] = plain_digits(values["rate"])
    return _own_rate(path, "row", number, values)
