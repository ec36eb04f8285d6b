"""Reference rates into the lake: a file in one commit, or nothing of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.errors import InputError
from treasury.lake import Lake
from treasury.money import plain_digits
from treasury.rates.rate_files import FileRates, read_rates
from treasury.rates.rate_table import REFERENCE_RATES
from treasury.tables.tabular import Tabular

__all__ = ["AddedRates", "add_rates"]


class AddedRates(Tabular, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What adding a file did: `rates` has those that are new, or that took another's place."""

    file_name: str
    source: str
    rates: pa.Table
    read: int
    replaced: int
    first_day: str
    last_day: str
    sql: str = "SELECT * FROM reference_rates WHERE vanished_at IS NULL ORDER BY rate_id"

    def sheets(self) -> Mapping[str, pa.Table]:
        """The rates that were stored."""
        return {"Rates": self.rates}

    def __str__(self) -> str:
        new = self.rates.num_rows - self.replaced
        words = [f"{new:,} new" if new else "", f"{self.replaced:,} replaced"]
        stored = ", ".join(filter(None, words if self.replaced else words[:1])) or "known before"
        days = f"{self.first_day} to {self.last_day}"
        noun = "rate" if self.read == 1 else "rates"
        return f"{self.file_name}: {self.read:,} {noun} of {self.source}, {days}: {stored}"


def add_rates(
    lake: Lake, path: Path, now: datetime, zone: ZoneInfo, *, replace: bool = False
) -> AddedRates:
    """Store the rates of a file that are not stored; the same file again adds nothing.

    InputError names the file and the line of a rate that cannot be right, or that differs from the
    stored one of its publisher, pair and day (`replace` puts it in that one's place, and the
    former stays in the history); then nothing is stored.
    """
    file = read_rates(path, now, zone)
    with lake.writer("rates", now, note=path.name) as writer:
        stored = writer.read(
            REFERENCE_RATES, ["rate_id", "rate", "source"], where="vanished_at IS NULL"
        )
        beside = pc.index_in(file.rows["rate_id"], value_set=stored["rate_id"])
        is_new = pc.is_null(beside)
        differs = pc.fill_null(pc.not_equal(file.rows["rate"], stored["rate"].take(beside)), False)
        replaced = pc.sum(differs).as_py() or 0
        if replaced and not replace:
            raise _contradiction(file, pc.index(differs, True).as_py(), stored, beside)
        news = file.rows.filter(pc.or_(is_new, differs))
        writer.upsert(REFERENCE_RATES, news)
    days = pc.min_max(file.rows["day"]).as_py()
    return AddedRates(
        file_name=path.name,
        source=file.source,
        rates=news.drop_columns(["raw"]),
        read=file.rows.num_rows,
        replaced=replaced,
        first_day=str(days["min"]),
        last_day=str(days["max"]),
    )


def _contradiction(
    file: FileRates, index: int, stored: pa.Table, beside: pa.ChunkedArray
) -> InputError:
    """What a file says of a rate, and what is stored of it."""
    row = file.rows.slice(index, 1).to_pylist()[0]
    before = stored.slice(beside[index].as_py(), 1).to_pylist()[0]
    return InputError(
        f"{file.where(index)}: {row['rate_id'].partition(' ')[2]} is {plain_digits(row['rate'])},"
        f" and {plain_digits(before['rate'])} as stored from {before['source']}",
        do="correct the file; add with replace where it is the right one",
    )
