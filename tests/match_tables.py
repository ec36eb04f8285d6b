"""Short ways to write bank lines and expectations, to match them and to read the results."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from treasury.core.tables.column_types import AMOUNT
from treasury.matching.reference_matching import Matches, match_references

OWN = "NL05TEST0417164300"


def line(
    entry_id: str, amount: str, remittance: str | None, day: int = 1, **more: Any
) -> dict[str, Any]:
    """Return a credit in October 2026 to our account, with changes."""
    return {
        "entry_id": entry_id,
        "account": OWN,
        "amount": Decimal(amount),
        "currency": "EUR",
        "direction": "CRDT",
        "booking_date": date(2026, 10, day),
        "end_to_end_id": None,
        "creditor_reference": None,
        "remittance": remittance,
        "counterparty_name": "Ramp Operator BV",
        "counterparty_account": "LT353250012345678901",
        "entry_status": None,
        "is_reversal": False,
        "return_reason": None,
        "original_reference": None,
        "line_class": None,
    } | more


def expectation(name: str, code: str, amount: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an off-ramp payout that a code identifies, with changes."""
    return {
        "expectation_id": name,
        "kind": "off_ramp",
        "code": code,
        "account": None,
        "amount": None if amount is None else Decimal(amount),
        "currency": "EUR",
        "direction": "CRDT",
        "opened_at": datetime(2026, 9, 25, 9, tzinfo=UTC),
        "closed_at": None,
        "status": "AWAITING_FUNDS",
    } | more


def arrow(rows: list[dict[str, Any]]) -> pa.Table:
    """Return rows as an Arrow table with amounts of the declared decimal type."""
    table = pa.Table.from_pylist(rows)
    if "amount" in table.column_names:
        index = table.schema.get_field_index("amount")
        table = table.set_column(index, "amount", table["amount"].cast(AMOUNT))
    return table


def match(
    lines: list[dict[str, Any]],
    expectations: list[dict[str, Any]],
    decisions: list[dict[str, Any]] | None = None,
) -> Matches:
    """Match rows of lines with rows of expectations."""
    return match_references(
        arrow(lines), arrow(expectations), decisions=arrow(decisions) if decisions else None
    )


def outcome(matches: Matches, entry_id: str = "a") -> dict[str, Any]:
    return next(row for row in matches.lines.arrow.to_pylist() if row["entry_id"] == entry_id)


def state(matches: Matches, expectation_id: str = "r") -> dict[str, Any]:
    rows = matches.expectations.arrow.to_pylist()
    return next(row for row in rows if row["expectation_id"] == expectation_id)
