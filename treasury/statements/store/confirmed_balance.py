"""Balances of a bank account stated by a person, for days without a statement."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

from treasury.lake import Lake
from treasury.statements.entry_identity import content_id
from treasury.statements.field_values import account_number
from treasury.statements.statement_tables import BALANCE_CONFIRMATIONS


def confirm_balance(
    lake: Lake,
    now: datetime,
    *,
    account: str,
    currency: str,
    balance: Decimal,
    day: date,
    source: str,
    by: str,
) -> pa.Table:
    """Store an account's balance at the end of a day, replacing a stored one; return its row."""
    number = account_number(account)
    row: dict[str, Any] = {
        "confirmation_id": content_id((number, currency, day)),
        "account": number,
        "currency": currency,
        "balance": balance,
        "balance_date": day,
        "source": source,
        "stated_by": by,
        "stated_at": now,
    }
    row["raw"] = msgspec.json.encode(row).decode()
    with lake.writer("confirmation", now, note=f"balance of {number} on {day}") as writer:
        stated = pa.Table.from_pylist([row], schema=BALANCE_CONFIRMATIONS.row_schema)
        writer.upsert(BALANCE_CONFIRMATIONS, stated)
    return stated
