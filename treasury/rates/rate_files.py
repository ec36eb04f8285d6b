"""Files of reference rates: the ECB's `eurofxref-hist.csv`, a company's own CSV or Parquet.

The ECB's has a line for each day and a column for each currency: what one euro cost. Either may be
the one file of a zip. A rate is an exact decimal above zero, never a float.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.files.zip_methods import unbounded_method
from treasury.core.money import parse_amount
from treasury.core.tables.csv_input import LARGEST, csv_rows, day, small_file
from treasury.core.text import visible
from treasury.rates.file_rate import FileRate, read_at
from treasury.rates.own_file import csv_rates, parquet_rates
from treasury.rates.rate_table import BANK, OWN, REFERENCE_RATES

NOT_PUBLISHED: Final = frozenset({"", "N/A"})
"""What stands in the file for a currency that was not published that day."""
_BROKEN: Final = (
    OSError, EOFError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error
)  # fmt: skip
"""What the standard library raises for archives that are none."""


class FileRates(msgspec.Struct, frozen=True, eq=False):
    """The rates of a file by their ids: who publishes them, and where they stand."""

    path: Path
    publisher: str
    source: str
    rates: dict[str, FileRate]
    word: str
    """`line`, or `row` of a file that has no lines."""

    def where(self, rate_id: str) -> str:
        """The file and the line of a rate, for an error."""
        return f"{self.path}, {self.word} {self.rates[rate_id].place}"

    def table(self) -> pa.Table:
        """The rates as rows of `reference_rates`; `raw` has each as it stands in the file."""
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
    """The rates of a file. InputError names the file and the line of one that cannot be right.

    Refused: a rate of zero or below, or that is no number; two of a pair and day, or instant, that
    differ, or that are quoted both ways; a day after the one that `now` is in; a code that is no
    currency; a float.
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
                f"{where}: {rate.base}/{rate.quote} of {moment} stands the other way round on"
                f" {word} {inverse.place}",
                do="leave one of them: two rates of a pair need not agree",
            )
        other = kept.setdefault(rate_id, rate)
        if other.rate != rate.rate:
            raise InputError(
                f"{where}: {rate.base}/{rate.quote} of {moment} is {rate.published}, and"
                f" {other.published} on {word} {other.place}",
                do="leave the right one; nothing was stored",
            )
    if not kept:
        raise InputError(f"{shown} has no rate", do="give it the columns day, base, quote, rate")
    source = BANK if publisher == BANK else visible(path.name)
    return FileRates(shown, publisher, source, kept, word)


def inverse_id(rate_id: str) -> str:
    """The id that a rate of the same pair and moment has, quoted the other way round."""
    publisher, pair, moment = rate_id.split(" ")
    base, _, quote = pair.partition("/")
    return f"{publisher} {quote}/{base} {moment}"


def is_banks_file(head: Sequence[str]) -> bool:
    """Whether these headings are the ECB's: Date, then a column for each currency."""
    names = [name.strip().lower() for name in head]
    return names[0] == "date" and "rate" not in names


def _banks_rates(path: Path, rows: Sequence[tuple[int, list[str]]]) -> Iterator[FileRate]:
    """The rates of its lines, the headings first; InputError names a line that is not whole."""
    number, head = rows[0]
    codes = [name.strip().upper() for name in head[1:]]
    twice = next((code for code in codes if code and codes.count(code) > 1), "")
    if twice:
        raise InputError(f"{path}, line {number}: {twice!r:.40} twice", do="fetch the file again")
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
    """What a file holds, or the one file that is packed in it, and the path that errors name."""
    content = small_file(path)
    if not content.startswith(b"PK"):
        return path, content
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
            if len(members) != 1:
                raise InputError(
                    f"{path} packs {len(members)} files, not one", do="unpack it, and add each"
                )
            if method := unbounded_method(members[0]):
                raise InputError(
                    f"{path} is packed with {method}, which is not unpacked here",
                    do="unpack it, and add the file inside",
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
