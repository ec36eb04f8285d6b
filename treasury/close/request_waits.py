"""How long the requests whose money came in a month had waited for it, by the service's events."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.lake import INSTANT, INTEGER, TEXT
from treasury.reconcile.monthly import Reconciliation
from treasury.tables.schemas import schema_of

__all__ = ["FUNDING_TIMES", "funding_waits"]

FUNDING_TIMES: Final = schema_of(
    (TEXT, "request_id", "reference", "direction"),
    (INSTANT, "approved_at", "received_at"),
    (INTEGER, "seconds"),
)
"""A row a request, from its approval to the service's word that the money or the coins came."""

_QUERY: Final = """
    SELECT
        r.id AS request_id,
        r.payment_reference AS reference,
        CASE r.ramp_type WHEN 'ON_RAMP' THEN 'on-ramp' ELSE 'off-ramp' END AS direction,
        r.approved_at,
        min(e.created_at) AS received_at,
        date_diff('second', r.approved_at, min(e.created_at)) AS seconds
    FROM ramp_requests AS r
    JOIN ramp_request_events AS e ON e.ramp_request_id = r.id AND e.event_type = 'PAYMENT_RECEIVED'
    WHERE r.approved_at IS NOT NULL
    GROUP BY r.id, r.payment_reference, r.ramp_type, r.approved_at
    HAVING min(e.created_at) >= $first AND min(e.created_at) < $last
        AND min(e.created_at) >= r.approved_at
    ORDER BY received_at, request_id
"""


def funding_waits(r: Reconciliation, zone: ZoneInfo) -> pa.Table:
    """Requests funded in the month, columns as in FUNDING_TIMES; paid before approval is none."""
    if r.basis is None:
        return FUNDING_TIMES.empty_table()
    within = {"first": r.month.start(zone), "last": r.month.end(zone)}
    with r.basis.snapshot.connection() as connection:
        return connection.execute(_QUERY, within).to_arrow_table().cast(FUNDING_TIMES)
