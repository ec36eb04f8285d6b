"""Tables of the records that closed months settled; matching reads them with the open records."""

from __future__ import annotations

from typing import Final

from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema

SETTLED: Final = {
    "settled_lines": grouped_schema(
        (TEXT, "entry_id", "expectation_id", "account", "currency", "direction"),
        (AMOUNT, "amount"),
        (DATE, "booking_date"),
        (TEXT, "party", "reference"),
    ),
    "settled_requests": grouped_schema(
        (TEXT, "expectation_id", "code", "written_code"),
        (AMOUNT, "amount"),
        (TEXT, "currency", "direction"),
        (INSTANT, "opened_at"),
        (TEXT, "status", "hash_digest"),
    ),
    "settled_payers": grouped_schema((TEXT, "party", "owner"), (DATE, "since")),
    "settled_counterparties": grouped_schema((TEXT, "kind", "tie", "party"), (DATE, "since")),
    "settled_lessons": grouped_schema(
        (TEXT, "entry_id", "expectation_id"),
        (DATE, "booking_date"),
        (AMOUNT, "amount"),
        (TEXT, "account", "currency", "direction", "counterparty_account", "counterparty_name"),
        (TEXT, "remittance", "owner_account", "owner_name"),
    ),
    "settled_statements": grouped_schema((TEXT, "statement_id", "proof_state")),
    "settled_verdicts": grouped_schema((TEXT, "entry_id", "terms")),
    "settled_standing": grouped_schema((TEXT, "id", "terms")),
    "settled_totals": grouped_schema((TEXT, "name"), (INTEGER, "total")),
}
"""The columns of each table: settled lines and requests (`amount` in `currency`; `code` in the
compared form, `written_code` as written), the payers and lessons learned from them, the records
that they depend on, and the number of records of each table."""
UNSETTLED: Final = {
    "statement_entries": "unsettled_entries",
    "ramp_requests": "unsettled_requests",
    "ramp_requests_history": "unsettled_versions",
    "ramp_request_events": "unsettled_events",
}
"""For each table of the lake, the table of its unsettled records, with the columns that the steps
read."""
_READ_BY_MATCHING: Final = (
    "settled_requests", "settled_payers", "settled_counterparties", "settled_lessons",
)  # fmt: skip
NOTHING_SETTLED: Final = {name: SETTLED[name].empty_table() for name in _READ_BY_MATCHING}
"""Empty tables for a run in which nothing is settled yet."""
