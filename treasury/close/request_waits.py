"""How long the requests funded in a month waited for their money, by the service's events."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.files.package_files import step_sql
from treasury.core.tables.column_types import INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.month.reconciliation import Reconciliation

FUNDING_TIMES: Final = grouped_schema(
    (TEXT, "request_id", "reference", "direction"),
    (INSTANT, "approved_at", "received_at"),
    (INTEGER, "seconds"),
)
"""One row per request: the time from its approval to the service's receipt of money or coins."""

_QUERY: Final = step_sql("treasury.close.steps", "requests_funded")


def funding_waits(r: Reconciliation, zone: ZoneInfo) -> pa.Table:
    """Return the requests funded in the month; columns as in FUNDING_TIMES."""
    if r.basis is None:
        return FUNDING_TIMES.empty_table()
    within = {"first": r.month.start(zone), "last": r.month.end(zone)}
    with r.basis.snapshot.connection() as connection:
        waits = connection.execute(_QUERY, within).to_arrow_table()
    seconds = pc.seconds_between(waits["approved_at"], waits["received_at"])
    return waits.append_column("seconds", seconds).cast(FUNDING_TIMES)
