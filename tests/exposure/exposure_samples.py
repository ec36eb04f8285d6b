"""Handmade spans of money with the provider, and requests, bank lines, rates and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.close.valuation.exposure.exposure_limits import EXPOSURE_LIMITS
from treasury.close.valuation.exposure.exposure_sums import HeldAmount
from treasury.close.valuation.exposure.provider_exposure import ProviderExposure, exposure_of
from treasury.close.valuation.exposure.request_spans import request_spans
from treasury.core.calendar import Month
from treasury.matching.reference_matching import Matches
from treasury.matching.rules import Rules
from treasury.month.funding import FUNDING
from treasury.month.reconciliation import Reconciliation
from treasury.rates import ReferenceRates

ZONE = ZoneInfo("Europe/Brussels")
OCTOBER = Month(2026, 10)
START, END = OCTOBER.start(ZONE), OCTOBER.end(ZONE)
PAR = {"USDC": Decimal("0.9"), "EURC": Decimal(1)}


def at(day: int, hour: int = 12, minute: int = 0, *, month: int = 10) -> datetime:
    """Return the instant of a local time in Brussels, by default in October."""
    return datetime(2026, month, day, hour, minute, tzinfo=ZONE).astimezone(UTC)


def on(day: int, month: int = 10) -> date:
    return date(2026, month, day)


def span(
    amount: str | Decimal | None = "100.00",
    since: datetime = START,
    until: datetime | None = None,
    **changed: Any,
) -> HeldAmount:
    """Return a held amount, by default EUR 100.00 in transit for request r1."""
    columns: dict[str, Any] = {
        "kind": "fiat in transit",
        "subject": "request",
        "subject_id": "r1",
        "reference": "PAY-1",
        "state": "",
        "currency": "EUR",
        "began": since,
        "evidence": "debited",
        **changed,
    }
    exact = None if amount is None else Decimal(amount)
    return HeldAmount(amount=exact, since=since, until=until, **columns)


def doubted(amount: str | None, **changed: Any) -> HeldAmount:
    """Return a held amount that is not proved; None is an unknown amount."""
    defaults = {"is_proved": False, "problem": "unknown reason", "next_step": "ask", "state": "?"}
    return span(amount, **(defaults | changed))


def request(ramp_type: str = "ON_RAMP", status: str = "AWAITING_FUNDS", **changed: Any) -> Any:
    """Return a request of EUR 1,000.00 gross, EUR 990.00 net, USDC 1,100."""
    return {
        "request_id": "r1", "reference": "PAY-1", "ramp_type": ramp_type, "status": status,
        "fiat_amount": Decimal("1000.00"), "fiat_net_amount": Decimal("990.00"),
        "fiat_currency": "EUR", "crypto_amount": Decimal(1100), "crypto_currency": "USDC",
        "sent_at": None, "received_at": None, "completed_at": None, "is_hash_in_doubt": False,
        "is_from_custody": False, "is_settled": None, "settled_at": None,
        **changed,
    }  # fmt: skip


def debit(day: date, standing: str = "sent", **changed: Any) -> dict[str, Any]:
    """Return our booked payment of EUR 1,000.00 for request r1."""
    return {
        "request_id": "r1", "entry_id": f"e{day}", "booking_date": day, "currency": "EUR",
        "amount": Decimal("1000.00"), "standing": standing, "reason": "", "back_on": None,
        "perhaps_back_on": None, "file_name": "october.xml", "position": "Ntry[1]",
        **changed,
    }  # fmt: skip


def payout(day: date, amount: str = "990.00", standing: str = "received") -> dict[str, Any]:
    """Return a booked credit from the provider for request r1."""
    return {
        "request_id": "r1", "entry_id": f"p{day}", "booking_date": day, "currency": "EUR",
        "amount": Decimal(amount), "standing": standing, "file_name": "october.xml",
        "position": "Ntry[2]",
    }  # fmt: skip


def turn(moment: datetime, status: str) -> dict[str, Any]:
    """Return a change of request r1's status, known from an event."""
    return {
        "request_id": "r1", "moment": moment, "status": status, "is_record": 0, "seen_at": moment,
    }  # fmt: skip


def told(
    of: Mapping[str, Any],
    *,
    debits: Sequence[Mapping[str, Any]] = (),
    payouts: Sequence[Mapping[str, Any]] = (),
    turns: Iterable[Mapping[str, Any]] = (),
) -> list[HeldAmount]:
    """Return the spans of one request, sorted by start and kind."""
    steps = {
        "provider_requests": [of], "provider_debits": debits, "told_payouts": payouts,
        "provider_status_changes": list(turns),
    }  # fmt: skip
    spans = list(request_spans(steps, Rules(), ZONE))
    return sorted(spans, key=lambda each: (each.since, each.kind))


def short(spans: Iterable[HeldAmount]) -> list[tuple[Any, ...]]:
    """Return each span's kind (with `?` if it is in doubt), amount, start and end."""
    return [
        (
            each.kind if each.is_proved else f"{each.kind}?",
            each.amount,
            each.since.astimezone(ZONE).strftime("%d %H:%M"),
            each.until and each.until.astimezone(ZONE).strftime("%d %H:%M"),
        )
        for each in spans
    ]


def rates(by_code: Mapping[str, Decimal] = PAR, *, until: date | None = None) -> ReferenceRates:
    """Return constant reference rates from 28 September to `until`, at most to 11 November."""
    days = [date(2026, 9, 28) + timedelta(days=day) for day in range(45)]
    rows = [
        {
            "publisher": "company", "day": day, "observed_at": None, "base": code, "quote": "EUR",
            "rate": rate, "source": "own.csv",
        }
        for code, rate in by_code.items()
        for day in days
        if until is None or day <= until
    ]  # fmt: skip

    def of_code(code: str) -> list[dict[str, Any]]:
        return [row for row in rows if code in (row["base"], row["quote"])]

    return ReferenceRates(at_par={}, stored=of_code, brought=lambda: None)


def limits(**by_scope: str) -> pa.Table:
    """Return limits that anna proposed and bert accepted."""
    people = {"proposed_by": "anna", "accepted_by": "bert", "alone": False}
    rows = [
        {"scope": scope, "limit": Decimal(amount), **people} for scope, amount in by_scope.items()
    ]
    return pa.Table.from_pylist(rows, schema=EXPOSURE_LIMITS)


# A reconciliation, and the exposure computed from it

AFTER = at(2, 9, month=11)
_TEXTS = ("account", "name", "currency", "source")
STATEMENTS = pa.schema(
    [*((name, pa.string()) for name in _TEXTS), ("missing_from", pa.date32()),
     ("complete", pa.bool_())]
)  # fmt: skip
ACCOUNTS = pa.schema(
    [(name, pa.string())
     for name in ("virtual_bank_account_id", "name", "iban", "currency", "proof")]
)  # fmt: skip


def account(**changed: Any) -> dict[str, Any]:
    """Return an own bank account with a proved month."""
    return {
        "account": "BE45539951876689", "name": "Operating", "currency": "EUR",
        "source": "own_bank", "missing_from": None, "complete": True, **changed,
    }  # fmt: skip


def virtual(proof: str = "by provider report", **changed: Any) -> dict[str, Any]:
    return {
        "virtual_bank_account_id": "v1", "name": "Collections", "iban": "BE68539007547034",
        "currency": "EUR", "proof": proof, **changed,
    }  # fmt: skip


def answer(
    *,
    known_at: datetime = AFTER,
    company: str = "Harbour Lane Trading NV",
    statements: Sequence[Mapping[str, Any]] | None = None,
    virtual_accounts: Sequence[Mapping[str, Any]] = (),
) -> Reconciliation:
    """Return October's reconciliation with only these statements and virtual accounts."""
    nothing = pa.table({})
    rows = [account()] if statements is None else list(statements)
    tables = dict.fromkeys(
        ("lines", "earlier_lines", "in_transit", "fee_requests", "fee_accruals", "fee_totals"),
        nothing,
    )
    tables["awaiting_funds"] = FUNDING.empty_table()
    return Reconciliation(
        month=OCTOBER, company=company, environment="sandbox", as_of=known_at, known_at=known_at,
        statements=pa.Table.from_pylist(rows, schema=STATEMENTS),
        virtual_accounts=pa.Table.from_pylist(list(virtual_accounts), schema=ACCOUNTS),
        matches=Matches(
            lines=nothing, expectations=nothing, allocations=nothing, candidates=nothing, sql="",
            rules_hash="",
        ),
        **tables,
    )  # fmt: skip


def exposed(
    *spans: HeldAmount,
    known_at: datetime = AFTER,
    by: ReferenceRates | None = None,
    company: str = "Harbour Lane Trading NV",
    **agreed: str,
) -> ProviderExposure:
    """Return October's exposure for these spans; `agreed` are the limits in force."""
    r = answer(known_at=known_at, company=company)
    return exposure_of(spans, r, ZONE, by or rates(), limits(**agreed))
