"""What closed months settled, as tables that the steps of matching read beside the records."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from treasury.lake import AMOUNT, DATE, INSTANT, INTEGER, TEXT
from treasury.tables.schemas import schema_of

__all__ = ["NOTHING_SETTLED", "SETTLED", "UNSETTLED"]

SETTLED: Final = {
    "settled_lines": schema_of(
        (TEXT, "entry_id", "expectation_id", "account", "currency", "direction"),
        (AMOUNT, "amount"),
        (DATE, "booking_date"),
        (TEXT, "party", "reference"),
    ),
    "settled_requests": schema_of(
        (TEXT, "expectation_id", "code"),
        (AMOUNT, "amount"),
        (TEXT, "currency", "direction"),
        (INSTANT, "opened_at"),
        (TEXT, "status", "hash_digest"),
    ),
    "settled_payers": schema_of((TEXT, "party", "owner"), (DATE, "since")),
    "settled_counterparties": schema_of((TEXT, "kind", "tie", "party"), (DATE, "since")),
    "settled_lessons": schema_of(
        (TEXT, "entry_id", "expectation_id"),
        (DATE, "booking_date"),
        (AMOUNT, "amount"),
        (TEXT, "account", "currency", "direction", "counterparty_account", "counterparty_name"),
        (TEXT, "remittance", "owner_account", "owner_name"),
    ),
    "settled_statements": pa.schema([("statement_id", TEXT), ("proof_state", TEXT)]),
    "settled_verdicts": pa.schema([("entry_id", TEXT), ("terms", TEXT)]),
    "settled_standing": pa.schema([("id", TEXT), ("terms", TEXT)]),
    "settled_totals": pa.schema([("name", TEXT), ("total", INTEGER)]),
}
"""The lines and requests that are settled, `amount` in `currency`, a code as texts are compared
with it; what they taught; what they rest on; and how many records there were of each table."""
UNSETTLED: Final = {
    "statement_entries": "unsettled_entries",
    "ramp_requests": "unsettled_requests",
    "ramp_requests_history": "unsettled_versions",
    "ramp_request_events": "unsettled_events",
}
"""By the lake's table: its records that are not settled, with the columns that the steps read."""
_READ_BY_MATCHING: Final = (
    "settled_requests", "settled_payers", "settled_counterparties", "settled_lessons",
)  # fmt: skip
NOTHING_SETTLED: Final = {name: SETTLED[name].empty_table() for name in _READ_BY_MATCHING}
"""What matching reads where everything is matched."""
