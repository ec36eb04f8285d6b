"""Stores reference rates in the lake: all rates of a file in one commit, or none."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import InputError
from treasury.core.money import plain_digits
from treasury.core.tables.column_types import TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.text import visible
from treasury.lake import Lake
from treasury.rates.rate_files import inverse_id, read_rates
from treasury.rates.rate_table import REFERENCE_RATES


class AddedRates(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The result of adding a file; `rates` holds new rates and rates that replaced stored ones."""

    file_name: str
    source: str
    rates: Table
    read: int
    replaced: int
    first_day: str
    last_day: str
    sql: str = "SELECT * FROM reference_rates WHERE vanished_at IS NULL ORDER BY rate_id"

    def sheets(self) -> Mapping[str, Table]:
        """Return the added rates as a table, by sheet name."""
        return {"Rates": self.rates}

    def __str__(self) -> str:
        new = len(self.rates) - self.replaced
        words = [f"{new:,} new" if new else "", f"{self.replaced:,} replaced"]
        stored = ", ".join(filter(None, words if self.replaced else words[:1])) or "already stored"
        days = f"{self.first_day} to {self.last_day}"
        noun = "rate" if self.read == 1 else "rates"
        return f"{self.file_name}: {self.read:,} {noun} of {self.source}, {days}: {stored}"


def add_rates(
    lake: Lake, path: Path, now: datetime, zone: ZoneInfo, *, replace: bool = False
) -> AddedRates:
    """Store the new rates of a file; adding the same file again stores no rate.

    Raise InputError, and store no rate, if a rate is invalid, if a stored rate of the same
    publisher, pair and day (or instant) differs, or if it is quoted in the other direction. With
    `replace`, a differing rate replaces the stored one, which stays in the history.
    """
    file = read_rates(path, now, zone)
    rows = file.table()
    with lake.writer("rates", now, note=visible(path.name)) as writer:
        stored = writer.read(
            REFERENCE_RATES, ["rate_id", "rate", "source"], where="vanished_at IS NULL"
        )
        inverses = pa.array(map(inverse_id, rows["rate_id"].to_pylist()), TEXT)
        turned = rows.filter(pc.is_in(inverses, value_set=stored["rate_id"]))
        if turned.num_rows:
            rate_id = turned["rate_id"][0].as_py()
            raise InputError(
                f"{file.where(rate_id)}: {rate_id.partition(' ')[2]} is stored in the other"
                " direction",
                do="quote the pair as before: a pair's two directions may not agree exactly",
            )
        places = pc.index_in(rows["rate_id"], value_set=stored["rate_id"])
        is_stored = pc.is_valid(places)
        beside = stored.take(pc.drop_null(places))
        differing = pc.not_equal(rows.filter(is_stored)["rate"], beside["rate"])
        others = beside.filter(differing).to_pylist()
        for other in others if not replace else ():
            rate_id = other["rate_id"]
            raise InputError(
                f"{file.where(rate_id)}: {rate_id.partition(' ')[2]} is"
                f" {file.rates[rate_id].published}, but {plain_digits(other['rate'])} is stored"
                f" from {other['source']}",
                do="correct the file, or add it with replace if its rate is right",
            )
        replaced = pa.array([other["rate_id"] for other in others], TEXT)
        is_written = pc.or_(pc.invert(is_stored), pc.is_in(rows["rate_id"], value_set=replaced))
        news = rows.filter(is_written)
        writer.upsert(REFERENCE_RATES, news)
    days = pc.min_max(rows["day"]).as_py()
    return AddedRates(
        file_name=visible(path.name),
        source=file.source,
        rates=news.drop_columns(["raw"]),
        read=rows.num_rows,
        replaced=len(others),
        first_day=str(days["min"]),
        last_day=str(days["max"]),
    )
