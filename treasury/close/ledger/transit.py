"""Money in transit in the books, by one rule for the entries and for the ledger comparison.

An on-ramp's debits are in transit until it completes. An off-ramp's net amount is owed to us, and
so in transit, from its completion until the bank shows it. Before its completion no amount is owed,
even if the coins were sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.ledger.book_entries import BookEntry, BookLeg
from treasury.close.month_proof import in_transit
from treasury.core.files.package_files import step_sql
from treasury.core.money import difference
from treasury.core.tables.column_types import AMOUNT, TEXT
from treasury.core.text import clean
from treasury.month.reconciliation import Reconciliation

_PAYOUTS: Final = step_sql("treasury.close.steps", "transit/owed_requests")
_PAID: Final = step_sql("treasury.close.steps", "transit/paid_by_day")
_BEGUN: Final = step_sql("treasury.close.steps", "transit/begun_requests_paid")

PAID: Final = pa.schema([("expectation_id", TEXT), ("amount", AMOUNT)])


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """An off-ramp with coins that had left; `amount` is its net, None if it is not recorded.

    `is_owed` is true once the request is completed. `maybe_on` is the day of an undecided line that
    may be its payout.
    """

    request_id: str
    reference: str
    account: str | None
    currency: str | None
    amount: Decimal | None
    is_owed: bool
    maybe_on: date | None


def owed_payouts(r: Reconciliation) -> list[Owed]:
    """Return the off-ramps without a known payout by the month's end."""
    if r.basis is None:
        return []
    sure, maybe = in_transit(r)
    sent: dict[str, date | None] = {row["request_id"]: None for row in sure}
    sent |= {row["request_id"]: row["may_have_arrived_on"] for row in maybe}
    ids = {"ids": sorted(filter(None, sent)), "end": r.month.end(r.basis.question.zone)}
    payouts = r.basis.snapshot.sql(_PAYOUTS, ids).to_pylist()
    return [Owed(**row, maybe_on=sent[row["request_id"]]) for row in payouts]


def paid_for(r: Reconciliation) -> pa.Table:
    """Return, by expectation, the amount of lines matched to it up to the month's end."""
    if r.basis is None:
        return PAID.empty_table()
    with r.basis.snapshot.connection() as connection:
        connection.register("allocations", r.matches.allocations)
        return connection.execute(_PAID, {"last": r.month.last}).to_arrow_table().cast(PAID)


def begun_before(r: Reconciliation, zone: ZoneInfo) -> Iterator[BookEntry]:
    """Yield the opening entries for money in transit when the month begins."""
    if r.basis is None:
        return
    parameters = {"first": r.month.first, "start": r.month.start(zone), "zone": zone.key}
    with r.basis.snapshot.connection() as connection:
        connection.register("allocations", r.matches.allocations)
        rows = connection.execute(_BEGUN, parameters).to_arrow_table().to_pylist()
    for row in rows:
        on_ramp = row["ramp_type"] == "ON_RAMP"
        amount = row["moved"] if on_ramp else row["net"] and difference(row["net"], row["moved"])
        if amount and row["currency"]:
            since = f" since {row['since']}" if row["since"] else ""
            role = "on-ramp in transit" if on_ramp else "off-ramp in transit"
            yield BookEntry(
                f"opening:{row['id']}",
                r.month.previous.last,
                clean(f"{row['reference'] or row['id']} in transit{since}"),
                BookLeg(role, row["currency"], amount).against("opening"),
                (row["id"],),
                row["id"],
            )
