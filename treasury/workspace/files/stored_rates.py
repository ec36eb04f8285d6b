"""The reference rates of a workspace: `t.rates` adds files and lists the sources."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.nearest_names import Facade
from treasury.core.tables.column_types import DATE, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema

if TYPE_CHECKING:
    from treasury.core.tables.table import Table
    from treasury.lake import Lake, Snapshot
    from treasury.matching.rules import Rules
    from treasury.rates import AddedRates, ReferenceRates

_SOURCES: Final = """\
SELECT source, publisher, base, string_agg(DISTINCT quote, ' ' ORDER BY quote) AS quotes,
    count(*) AS rates, count(observed_at) AS with_instant,
    min(day) AS first_day, max(day) AS last_day
FROM reference_rates WHERE vanished_at IS NULL
GROUP BY ALL ORDER BY publisher, source, base"""

SOURCES: Final = grouped_schema(
    (TEXT, "source", "publisher", "base", "quotes"),
    (INTEGER, "rates", "with_instant"),
    (DATE, "first_day", "last_day"),
    (TEXT, "used"),
)
"""The columns of `list`: one row per source and base."""


class StoredRates(Facade, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Reference rates: `add` a file, `list` the sources, `reference` to look rates up.

    `until` is set for a read-only view of the workspace: the view's instant.
    """

    lake: Lake
    snapshot: Callable[[], Snapshot]
    rules: Callable[[], Rules]
    zone: ZoneInfo
    now: Callable[[], datetime]
    until: datetime | None

    def add(self, file: str | Path, *, replace: bool = False) -> AddedRates:
        """Add a file of rates: the ECB's `eurofxref-hist.csv`, or one with day, base, quote, rate.

        Parameters
        ----------
        file
            The file, zipped or not. The company's own file may also be Parquet, and may have
            instants instead of days. A file that is already stored has no effect.
        replace
            Overwrite stored rates that differ.

        Returns
        -------
        AddedRates
            The number of new rates.

        Raises
        ------
        InputError
            If a rate is invalid, or differs from the stored rate of the same pair and day. The
            error names the line, and nothing is stored.

        Examples
        --------
        >>> t.rates.add("eurofxref-hist.zip")
        """
        from treasury.rates import add_rates

        if self.until is not None:
            raise InputError(
                f"this is the workspace as known at {self.until}, which cannot add rates",
                do="use the workspace itself",
            )
        path = Path(file)
        return self.lake.again(
            lambda: add_rates(self.lake, path, self.now(), self.zone, replace=replace),
            f"treasury rates add {shlex.quote(str(path.absolute()))}",
        )

    def list(self) -> Table:
        """List the stored rates by source and base currency.

        Returns
        -------
        Table
            One row per source and base: currencies, days and number of rates. The last row is the
            ECB history bundled with a package. It is used for pairs missing from the ECB's files,
            on days missing from the company's own file.

        Examples
        --------
        >>> t.rates.list()
        """
        from treasury.core.tables.table import Table
        from treasury.rates import brought_history

        brought = brought_history()
        rows = [{**row, "used": _used(row)} for row in self.snapshot().sql(_SOURCES).to_pylist()]
        rows.append(
            {
                "source": f"{brought.source}, version {brought.version}",
                "publisher": "ECB",
                "base": "EUR",
                "quotes": " ".join(brought.codes),
                "first_day": brought.first_day,
                "last_day": brought.last_day,
                "used": "for pairs that no file of the ECB has",
            }
        )
        return Table(pa.Table.from_pylist(rows, schema=SOURCES), _SOURCES, self.zone)

    def reference(self) -> ReferenceRates:
        """Return the stored rates, to look up rates and values.

        Returns
        -------
        ReferenceRates
            `rate("USDC", "EUR", day)` is a rate, `value(amount, "USDC", day)` a value in EUR.

        Examples
        --------
        >>> t.rates.reference().value(Decimal("100"), "USDC", date(2026, 10, 30))
        """
        from treasury.rates import ReferenceRates

        return ReferenceRates.of(self.snapshot(), self.rules().coins_at_par)


def _used(row: Mapping[str, Any]) -> str:
    """Describe when the rates of a source are used."""
    if row["publisher"] == "ECB":
        return "for its pairs, after the company's own"
    if row["with_instant"] == row["rates"]:
        return "first, for the hour after each instant"
    return (
        "first"
        if not row["with_instant"]
        else ("first; rates with an instant, for the hour after it")
    )
