"""Handmade rows, and October's list of open items computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

from treasury.close.closing import Closing
from treasury.close.late_items import LATE_ITEMS
from treasury.close.ledger.ledger_comparison import LEDGER
from treasury.close.valuation.coins.coin_accounts import COINS
from treasury.close.valuation.exposure.provider_exposure import EXPOSURE_TOTALS
from treasury.month.decisions.standing_verdicts import STANDING
from treasury.month.items import ACTIONS, Facts, OpenItems, open_items
from treasury.month.reconciliation import Reconciliation

Row = dict[str, Any]
UNSEEN = ("counts_differ", "field_new", "list_refused", "named_nowhere", "reference_gap")
"""Kinds that need records in the lake; `test_items_unseen.py` covers them."""
OF_ANSWER = (
    "lines", "earlier_lines", "awaiting_funds", "differences", "internal_transfers", "bank_cutoffs",
    "conversions", "excess_lines",
    "statements", "virtual_accounts",
)  # fmt: skip
OF_FACTS = {
    "late": LATE_ITEMS,
    "moved": STANDING,
    "actions": ACTIONS,
    "ledger": LEDGER,
    "coins": COINS,
    "exposure": EXPOSURE_TOTALS,
}


def row_of(schema: pa.Schema, **values: Any) -> Row:
    """Return a row with these values, and None in the other columns."""
    return {**dict.fromkeys(schema.names), **values}


def facts_of(
    closing: Closing, *, basis: bool = False, others: Mapping[str, Any] | None = None, **rows: Any
) -> Facts:
    """Return October's facts with only these rows, by the name of their table.

    Without rows for `statements`, October's statements stay. `basis` keeps the lake's records of
    requests and transfers.
    """
    answer: dict[str, pa.Table] = {}
    for name in OF_ANSWER:
        schema = getattr(closing.r, name).arrow.schema
        answer[name] = _table(rows.get(name, ()), schema)
    if "statements" not in rows:
        whole = closing.r.statements.arrow.to_pylist()
        answer["statements"] = _table(whole, closing.r.statements.arrow.schema)
    r: Reconciliation = msgspec.structs.replace(
        closing.r, **answer, **({} if basis else {"basis": None})
    )
    tables = {name: _table(rows.get(name, ()), schema) for name, schema in OF_FACTS.items()}
    balances = _table(rows.get("balances", ()), closing.balances.arrow.schema)
    return Facts(
        r=r,
        zone=closing.zone,
        balances=balances,
        **{"synced_at": closing.synced_at, **tables, **(others or {})},
    )


def items_of(closing: Closing, **rows: Any) -> OpenItems:
    """Return the open items of the facts that `facts_of` makes."""
    return open_items(facts_of(closing, **rows))


def _table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist([row_of(schema, **row) for row in rows], schema=schema)


def line(entry: str = "e1", **changed: Any) -> Row:
    """Return a credit of EUR 100.00 booked on 14 October that needs a decision."""
    return {
        "entry_id": entry,
        "booking_date": date(2026, 10, 14),
        "direction": "CRDT",
        "amount": Decimal(100),
        "currency": "EUR",
        "outcome": "suggested",
        "counterparty_name": "Noordzee Vis BV",
        **changed,
    }


def waiting(state: str = "PAY", **changed: Any) -> Row:
    """Return an on-ramp of EUR 15,000.00 approved on 28 October, not overdue."""
    return {
        "state": state,
        "due": date(2026, 10, 29),
        "overdue": 0,
        "overdue_unit": "TARGET day",
        "direction": "on-ramp",
        "reference": "PAY-2026-005358",
        "send": Decimal(15_000),
        "currency": "EUR",
        "approved": datetime(2026, 10, 28, 12, tzinfo=UTC),
        "seen": "no debit",
        "next_step": "do it",
        "silent": False,
        "marked": "",
        "at_bank": "",
        "request": "r1",
        **changed,
    }


def difference(state: str, **changed: Any) -> Row:
    """Return a difference about a request of EUR 500.00, since 20 October."""
    return {
        "state": state,
        "stage": "open",
        "item": "PAY-2026-000001",
        "direction": "on-ramp",
        "amount": Decimal(500),
        "currency": "EUR",
        "since": date(2026, 10, 20),
        "next_step": "do it",
        "request_id": "r2",
        **changed,
    }


def conversion(state: str, **changed: Any) -> Row:
    """Return a credit of EUR 900.00 of 20 October that should become coins."""
    return {
        "state": state,
        "account_id": "acc",
        "account": "Operations",
        "asset": "USDC",
        "currency": "EUR",
        "opened_at": datetime(2026, 10, 20, 8, tzinfo=UTC),
        "fiat": Decimal(900),
        "due": datetime(2026, 10, 21, 8, tzinfo=UTC),
        "next_step": "",
        "entry_ids": ["c1"],
        **changed,
    }


def own_transfer(state: str, **changed: Any) -> Row:
    """Return EUR 2,000.00 between own accounts, sent on 29 October."""
    return {
        "state": state,
        "stage": "late",
        "amount": Decimal(2_000),
        "currency": "EUR",
        "sent_from": "Operating",
        "received_by": "Reserve",
        "out_on": date(2026, 10, 29),
        "due": date(2026, 10, 30),
        "next_step": "",
        "out_id": "o1",
        **changed,
    }


def balance(kind: str, **changed: Any) -> Row:
    """Return a balance with an unexplained EUR 10.00."""
    return {
        "kind": kind,
        "of": f"{kind}-1",
        "name": kind,
        "currency": "EUR",
        "unexplained": Decimal(10),
        "proved": False,
        "blocks": True,
        "problem": "the sums do not agree",
        "next_step": "read it again",
        **changed,
    }


def action(state: str, **changed: Any) -> Row:
    """Return an action over EUR 70.00, proposed on 30 October."""
    return {
        "action_id": "A-1",
        "state": state,
        "text": "Transfer EUR 70.00",
        "proposed_at": datetime(2026, 10, 30, 8, tzinfo=UTC),
        "amount": Decimal(70),
        "currency": "EUR",
        **changed,
    }


def late(**changed: Any) -> Row:
    """Return a September line that became known after its close and posts to October."""
    return {
        "change": "line added",
        "entry_id": "l1",
        "month": "2026-09",
        "posts_to": "2026-10",
        "known_from": datetime(2026, 10, 12, 8, tzinfo=UTC),
        "direction": "DBIT",
        "amount": Decimal(5),
        "currency": "EUR",
        "outcome": "matched",
        "what": "a late line",
        **changed,
    }


def moved(**changed: Any) -> Row:
    """Return a decision on a line; the facts of the line have changed since."""
    return {
        "entry_id": "m1",
        "booking_date": date(2026, 10, 9),
        "amount": Decimal(3),
        "currency": "EUR",
        "reference": "PAY-2026-000009",
        "moved": "the amount changed",
        "seq": 4,
        **changed,
    }
