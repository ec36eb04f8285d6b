"""Reconciliations made by hand: an October of a few lines, with texts that a test can choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, INTEGER, TEXT
from treasury.matching.reference_matching import Matches
from treasury.month.funding import FUNDING
from treasury.month.reconciliation import Reconciliation

ZONE = ZoneInfo("Europe/Brussels")
KNOWN = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)
OWN, PROVIDER, VIRTUAL = "BE45539951876689", "BE19539708204912", "BE68539007547034"
HOSTILE = "<img src=x onerror=alert(1)>"


def _schema(text: str = "", *, amount: str = "", day: str = "", number: str = "") -> pa.Schema:
    kinds = ((text, TEXT), (amount, AMOUNT), (day, DATE), (number, INTEGER))
    return pa.schema([(name, kind) for names, kind in kinds for name in names.split()])


SCHEMAS: dict[str, pa.Schema] = {
    "lines": pa.schema(
        [
            *_schema(
                "entry_id source statement_account account direction currency outcome line_class"
                " rule_name kind reference expectation_id reason runner_up_id counterparty_name"
                " counterparty_account remittance file_name position decided_by",
                amount="amount matched_amount",
                day="booking_date",
            ),
            ("tier", pa.int32()),
            ("margin", pa.decimal128(7, 4)),
            ("decided_at", pa.timestamp("us", tz="UTC")),
            ("is_instant", pa.bool_()),
        ]
    ),
    "awaiting_funds": FUNDING,
    "virtual_accounts": _schema(
        "virtual_bank_account_id name iban reference currency target_cryptocurrency status proof",
        amount="amount",
        number="credits",
    ),
    "in_transit": _schema(
        "what reference currency where_now request_id",
        amount="amount",
        day="left_on arrived_on may_have_arrived_on",
    ),
    "statements": pa.schema(
        [
            *_schema(
                "account name currency source problem problem_statement",
                amount="opening_balance closing_balance",
                day="covered_from covered_to missing_from",
                number="statements proved",
            ),
            ("complete", pa.bool_()),
            ("not_provable", pa.bool_()),
        ]
    ),
    "fee_requests": pa.schema(
        [
            *_schema(
                "request_id reference ramp_type fiat_currency crypto_currency crypto_chain"
                " bank_account tier",
                amount="fiat_gross fee fiat_net crypto exchange_rate fee_percentage",
                day="completed_on",
            ),
            ("has_detail", pa.bool_()),
            ("completed_at", INSTANT),
        ]
    ),
    "fee_accruals": _schema(
        "request_id reference ramp_type status fiat_currency", amount="fiat_gross fee"
    ),
    "fee_totals": _schema(
        "ramp_type fiat_currency crypto_currency tier",
        amount="fee_percentage fiat_gross fee fiat_net",
        number="requests without_fee",
    ),
}
SCHEMAS["earlier_lines"] = SCHEMAS["lines"]
CANDIDATES = pa.schema(
    [
        ("entry_id", TEXT),
        ("expectation_id", TEXT),
        ("tier", pa.int32()),
        ("score", pa.decimal128(6, 4)),
        ("reason", TEXT),
        ("rank", INTEGER),
    ]
)

Row = dict[str, Any]


def line(entry: str = "e1", **changed: Any) -> Row:
    """Return a matched credit of EUR 100.00 on our own account, with changes."""
    return {
        **dict.fromkeys(SCHEMAS["lines"].names),
        "entry_id": entry,
        "booking_date": date(2026, 10, 14),
        "source": "own_bank",
        "statement_account": OWN,
        "account": OWN,
        "direction": "CRDT",
        "amount": Decimal("100.00"),
        "currency": "EUR",
        "outcome": "matched",
        "reason": "whole reference",
        "counterparty_name": "Noordzee Vis BV",
        "remittance": "Invoice 2627",
        "file_name": "october.xml",
        **changed,
    }


_NUMBERS = count()
"""Numbers that make the ids of rows different."""


def waiting(state: str = "PAY", **changed: Any) -> Row:
    """Return an on-ramp request of EUR 15,000.00, one TARGET day overdue."""
    return {
        "state": state,
        "due": date(2026, 10, 30),
        "overdue": 1,
        "overdue_unit": "TARGET day",
        "direction": "on-ramp",
        "reference": "PAY-2026-005358",
        "send": Decimal("15000.00"),
        "currency": "EUR",
        "to": "Ramp Operator BV …8901",
        "to_account": "BE71096123458901",
        "approved": datetime(2026, 10, 28, 8, 56, tzinfo=UTC),
        "seen": "no debit",
        "evidence_to": date(2026, 10, 31),
        "next_step": "Pay today with this reference",
        "silent": False,
        "request": f"91ab0000-0000-4000-8000-{next(_NUMBERS):012}",
        **changed,
    }


def account(**changed: Any) -> Row:
    """Return an own account that is proved for October."""
    return {
        "account": OWN,
        "name": "EUR operating account",
        "currency": "EUR",
        "source": "own_bank",
        "statements": 1,
        "proved": 1,
        "opening_balance": Decimal("387449.74"),
        "closing_balance": Decimal("387449.74"),
        "covered_from": date(2026, 5, 1),
        "covered_to": date(2026, 10, 31),
        "complete": True,
        **changed,
    }


def virtual(proof: str = "by provider report", **changed: Any) -> Row:
    """Return a virtual account with one credit."""
    return {
        "virtual_bank_account_id": f"v{next(_NUMBERS)}",
        "name": "EUR collections",
        "iban": VIRTUAL,
        "reference": "VFY-8M3T-407",
        "currency": "EUR",
        "target_cryptocurrency": "USDC",
        "status": "ACTIVE",
        "proof": proof,
        "credits": 1,
        "amount": Decimal("100.00"),
        **changed,
    }


def fee(**changed: Any) -> Row:
    """Return the on-ramp of the specification: 25,000 gross, 200 fee, 26,865.995017 USDC."""
    return {
        "request_id": "r1",
        "reference": "PAY-2026-004417",
        "ramp_type": "ON_RAMP",
        "completed_on": date(2026, 10, 13),
        "fiat_currency": "EUR",
        "crypto_currency": "USDC",
        "crypto_chain": "BASE",
        "bank_account": OWN,
        "fiat_gross": Decimal("25000.00"),
        "fee": Decimal("200.00"),
        "fiat_net": Decimal("24800.00"),
        "crypto": Decimal("26865.995017"),
        "exchange_rate": Decimal("0.9231"),
        "fee_percentage": Decimal("0.8"),
        "tier": "on-ramp tier 1",
        "has_detail": True,
        **changed,
    }


def transit(**changed: Any) -> Row:
    """Return an on-ramp debited on 29 October and not delivered."""
    return {
        "what": "on-ramp, debited and not delivered",
        "reference": "PAY-2026-005364",
        "left_on": date(2026, 10, 29),
        "amount": Decimal("25000.00"),
        "currency": "EUR",
        "where_now": "service: PROCESSING",
        "request_id": "r9",
        **changed,
    }


def _tied(lines: Sequence[Row]) -> Decimal:
    """Return the closing balance of the sample's own account after these lines."""
    own = [row for row in lines if row["statement_account"] == OWN and row["currency"] == "EUR"]
    signed = (row["amount"] * (1 if row["direction"] == "CRDT" else -1) for row in own)
    return sum(signed, start=Decimal("387449.74"))


def reconciliation(
    *,
    candidates: Sequence[Row] = (),
    company: str = "Harbour Lane Trading NV",
    environment: str = "sandbox",
    month: str = "2026-10",
    known_at: datetime = KNOWN,
    **tables: Sequence[Row],
) -> Reconciliation:
    """Return a reconciliation of these rows by table; by default it has one proved account."""
    own = account(closing_balance=_tied(tables.get("lines", ())))
    rows: Mapping[str, Sequence[Row]] = {"statements": [own], **tables}
    made = {
        name: pa.Table.from_pylist(list(rows.get(name, ())), schema=schema)
        for name, schema in SCHEMAS.items()
    }
    nothing = pa.table({})
    matches = Matches(
        lines=nothing,
        expectations=nothing,
        allocations=_schema("entry_id expectation_id", amount="amount").empty_table(),
        candidates=pa.Table.from_pylist(list(candidates), schema=CANDIDATES),
        sql="SELECT 1",
        rules_hash="5f" * 32,
    )
    return Reconciliation(
        month=Month.parse(month),
        company=company,
        environment=environment,
        as_of=known_at,
        known_at=known_at,
        matches=matches,
        **made,
    )
