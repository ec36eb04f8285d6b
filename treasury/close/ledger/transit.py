"""Money in transit as the books have it, by one rule for the journal and for the ledger compared.

Paid for coins that had not come: an on-ramp's debits, until it completes. Owed to us for coins that
were sold: an off-ramp's net amount from its completion, until the bank shows it. An off-ramp whose
coins were sent and that had not completed is owed nothing yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.month_proof import in_transit
from treasury.lake import AMOUNT, TEXT
from treasury.money import difference
from treasury.reconcile.monthly import Reconciliation

__all__ = ["Owed", "begun_before", "owed_payouts", "paid_for"]

_PAYOUTS: Final = """
    SELECT id, payment_reference AS reference, company_bank_account_iban AS account,
        fiat_currency AS currency, fiat_net_amount AS amount, completed_at
    FROM ramp_requests WHERE ramp_type = 'OFF_RAMP' AND id IN (SELECT unnest($ids))
    ORDER BY payment_reference, id
"""
_PAID: Final = """
    SELECT a.expectation_id, CAST(sum(a.amount) AS DECIMAL(38, 18)) AS amount
    FROM allocations AS a JOIN statement_entries AS e ON e.entry_id = a.entry_id
    WHERE e.booking_date <= $last
    GROUP BY a.expectation_id
"""
_BEGUN: Final = """
    WITH allocated AS (
        SELECT a.expectation_id, CAST(sum(a.amount) AS DECIMAL(38, 18)) AS amount,
            min(e.booking_date) AS since
        FROM allocations AS a JOIN statement_entries AS e ON e.entry_id = a.entry_id
        WHERE e.booking_date < $first
        GROUP BY a.expectation_id
    )
    SELECT r.id, r.payment_reference AS reference, r.ramp_type, r.fiat_currency AS currency,
        r.fiat_net_amount AS net, r.completed_at < $start AS was_completed,
        coalesce(l.since, CAST(r.completed_at AT TIME ZONE $zone AS DATE)) AS since,
        coalesce(l.amount, 0) AS moved
    FROM ramp_requests AS r LEFT JOIN allocated AS l ON l.expectation_id = r.id
    WHERE CASE r.ramp_type
        WHEN 'ON_RAMP' THEN l.amount > 0 AND (r.completed_at IS NULL OR r.completed_at >= $start)
        ELSE r.status = 'SUCCEEDED' AND r.completed_at < $start END
    ORDER BY r.payment_reference, r.id
"""

PAID: Final = pa.schema([("expectation_id", TEXT), ("amount", AMOUNT)])


class Owed(msgspec.Struct, frozen=True, kw_only=True):
    """An off-ramp whose coins had left: its `amount` is its net, None where it is not recorded.

    `is_owed` once it completed; `maybe_on` is the day of a line that may be its payout, undecided.
    """

    request_id: str
    reference: str
    account: str | None
    currency: str | None
    amount: Decimal | None
    is_owed: bool
    maybe_on: date | None


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """What a month begins with in transit for one request, debit positive, in `currency`."""

    request_id: str
    reference: str
    role: str
    currency: str
    amount: Decimal
    since: date | None


def owed_payouts(r: Reconciliation) -> list[Owed]:
    """Off-ramps whose money no line is known to have brought by the month's end."""
    if r.basis is None:
        return []
    sure, maybe = in_transit(r)
    sent: dict[str, date | None] = {row["request_id"]: None for row in sure}
    sent |= {row["request_id"]: row["may_have_arrived_on"] for row in maybe}
    end = r.month.end(r.basis.question.zone)
    payouts = r.basis.snapshot.sql(_PAYOUTS, {"ids": sorted(filter(None, sent))})
    return [
        Owed(
            request_id=row["id"],
            reference=row["reference"] or row["id"],
            account=row["account"],
            currency=row["currency"],
            amount=row["amount"],
            is_owed=row["completed_at"] is not None and row["completed_at"] < end,
            maybe_on=sent[row["id"]],
        )
        for row in payouts.to_pylist()
    ]


def paid_for(r: Reconciliation) -> pa.Table:
    """What the lines up to the month's end brought for each expectation they are matched to."""
    if r.basis is None:
        return PAID.empty_table()
    with r.basis.snapshot.connection() as connection:
        connection.register("allocations", r.matches.allocations)
        return connection.execute(_PAID, {"last": r.month.last}).to_arrow_table().cast(PAID)


def begun_before(r: Reconciliation, zone: ZoneInfo) -> Iterator[Begun]:
    """What was in transit when the month began, request by request."""
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
            yield Begun(
                request_id=row["id"],
                reference=row["reference"] or row["id"],
                role="on-ramp in transit" if on_ramp else "off-ramp in transit",
                currency=row["currency"],
                amount=amount,
                since=row["since"],
            )
