"""What closed months settled, as tables that the steps of matching read beside the records."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from treasury.lake import AMOUNT, DATE, INSTANT, INTEGER, TEXT

__all__ = ["NOTHING_SETTLED", "SETTLED", "UNSETTLED"]

SETTLED: Final = {
    "settled_lines": pa.schema(
        [
            ("entry_id", TEXT),
            ("expectation_id", TEXT),
            ("account", TEXT),
            ("currency", TEXT),
            ("direction", TEXT),
            ("amount", AMOUNT),
            ("booking_date", DATE),
            ("party", TEXT),
            ("reference", TEXT),
        ]
    ),
    "settled_requests": pa.schema(
        [
            ("expectation_id", TEXT),
            ("code", TEXT),
            ("amount", AMOUNT),
            ("currency", TEXT),
            ("direction", TEXT),
            ("opened_at", INSTANT),
            ("status", TEXT),
            ("hash_digest", TEXT),
        ]
    ),
    "settled_payers": pa.schema([("party", TEXT), ("owner", TEXT), ("since", DATE)]),
    "settled_counterparties": pa.schema(
        [("kind", TEXT), ("tie", TEXT), ("party", TEXT), ("since", DATE)]
    ),
    "settled_lessons": pa.schema(
        [
            ("entry_id", TEXT),
            ("expectation_id", TEXT),
            ("booking_date", DATE),
            ("amount", AMOUNT),
            ("account", TEXT),
            ("currency", TEXT),
            ("direction", TEXT),
            ("counterparty_account", TEXT),
            ("counterparty_name", TEXT),
            ("remittance", TEXT),
            ("owner_account", TEXT),
            ("owner_name", TEXT),
        ]
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
