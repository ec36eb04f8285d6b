"""The forecast: each day's balance from the proved position and the known flows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final

from treasury.close.cash.known_flows import Flow, FlowClock
from treasury.close.cash.position import OWN_BANKS, OWN_WALLETS, PROVIDER
from treasury.core.identifiers import plain_account
from treasury.core.money import CURRENCIES, total, written_amount
from treasury.core.settings import BankAccount
from treasury.core.tables.column_types import BOOL, DATE, INTEGER, TEXT
from treasury.core.tables.schemas import amount_in, grouped_schema

BY_WEEK_FROM: Final = 60
"""The number of days from which a forecast has a row per week instead of per day."""
FORECAST: Final = grouped_schema(
    (TEXT, "currency"),
    (DATE, "day", "last_day"),
    (amount_in("currency"), "opening", "money_in", "money_out", "balance", "lowest"),
    (INTEGER, "flows"),
    (BOOL, "is_lowest"),
)
"""One row per currency and day, or per week from 60 days on.

`balance` is `opening` + `money_in` - `money_out`. The first `opening` is the proved balance: of the
own banks for a currency, of own wallets and custodial accounts for a coin. The balances are null if
no account of the currency is proved. `lowest` is the lowest balance at the end of a day in the row,
and `flows` counts the row's flows. `is_lowest` marks the row with the currency's lowest balance,
the first of several.
"""
FLOORS: Final = grouped_schema(
    (TEXT, "account", "name", "currency"),
    (amount_in("currency"), "floor", "lowest"),
    (DATE, "lowest_on"),
    (amount_in("currency"), "unassigned"),
    (TEXT, "verdict"),
)
"""One row per own bank account with a floor in `[[accounts]]`.

`lowest` is the lowest balance after the flows that name the account. If it is the only own account
in its currency, flows that name no account count too; otherwise `unassigned` is the sum of those
that go out. `verdict` is `above` if the balance does not fall below the floor even if the account
pays `unassigned`, `below` if its own flows alone bring it below the floor, `depends` for all
others, and `not_proved` without a proved balance.
"""
_DAY: Final = timedelta(days=1)
_ZERO: Final = Decimal(0)

_Row = Mapping[str, Any]


def forecast(
    positions: Sequence[_Row], flows: Iterable[Flow], clock: FlowClock
) -> list[dict[str, Any]]:
    """Return the rows of FORECAST for every currency with an own bank account or a flow."""
    starts = _starts(positions)
    by_currency: dict[str, list[Flow]] = defaultdict(list)
    for flow in flows:
        if flow.counts:
            by_currency[flow.currency].append(flow)
    number = (clock.last - clock.today).days + 1
    step = 7 if number >= BY_WEEK_FROM else 1
    rows: list[dict[str, Any]] = []
    of_banks = {
        row["currency"] for row in positions if row["funds"] == OWN_BANKS and row["currency"]
    }
    for currency in sorted(of_banks | by_currency.keys()):
        own = by_currency[currency]
        balances = _balances(starts.get(currency), own, clock)
        lowest = min(balances, key=lambda day: (balances[day], day)) if balances else None
        opening = starts.get(currency)
        for first in range(0, number, step):
            day = clock.today + first * _DAY
            last_day = min(day + (step - 1) * _DAY, clock.last)
            of_row = [flow for flow in own if flow.day is not None and day <= flow.day <= last_day]
            rows.append(
                {
                    "currency": currency,
                    "day": day,
                    "last_day": last_day,
                    "opening": opening,
                    "money_in": _sum(of_row, "in"),
                    "money_out": _sum(of_row, "out"),
                    "balance": balances.get(last_day),
                    "lowest": min(
                        (balances[on] for on in balances if day <= on <= last_day), default=None
                    ),
                    "flows": len(of_row),
                    "is_lowest": lowest is not None and day <= lowest <= last_day,
                }
            )
            opening = balances.get(last_day)
    return rows


def floors(
    positions: Sequence[_Row],
    flows: Iterable[Flow],
    clock: FlowClock,
    accounts: Iterable[BankAccount],
) -> list[dict[str, Any]]:
    """Return the rows of FLOORS."""
    counted = [flow for flow in flows if flow.counts]
    banks = [row for row in positions if row["funds"] == OWN_BANKS]
    rows = []
    for account in accounts:
        number = plain_account(account.account)
        if not account.floor or account.source != "own_bank":
            continue
        alone = [row for row in banks if row["currency"] == account.currency]
        own = next((row for row in alone if row["account"] == number), None)
        floor = written_amount(account.floor, name="floor")
        own_flows = [
            flow
            for flow in counted
            if flow.currency == account.currency
            and (flow.account == number or (len(alone) == 1 and not flow.account))
        ]
        others = [
            flow
            for flow in counted
            if flow.currency == account.currency and not flow.account and len(alone) > 1
        ]
        start = own["booked"] if own is not None and own["proved"] else None
        balances = _balances(start, own_flows, clock)
        unpaid = [flow for flow in others if flow.direction == "out"]
        worst = _balances(start, [*own_flows, *unpaid], clock)
        lowest = min(balances, key=lambda day: (balances[day], day)) if balances else None
        verdict = "not_proved"
        if lowest is not None:
            verdict = "above" if min(worst.values()) >= floor else "depends"
            verdict = "below" if balances[lowest] < floor else verdict
        rows.append(
            {
                "account": number,
                "name": account.name,
                "currency": account.currency,
                "floor": floor,
                "lowest": None if lowest is None else balances[lowest],
                "lowest_on": lowest,
                "unassigned": _sum(unpaid, "out"),
                "verdict": verdict,
            }
        )
    return rows


def _starts(positions: Iterable[_Row]) -> dict[str, Decimal]:
    """Return the proved balance of each currency, with which its forecast begins."""
    amounts: dict[str, list[Decimal]] = defaultdict(list)
    for row in positions:
        kinds = (
            (OWN_BANKS,) if row["currency"] in CURRENCIES else (OWN_BANKS, OWN_WALLETS, PROVIDER)
        )
        if row["funds"] in kinds and row["proved"] and row["booked"] is not None:
            amounts[row["currency"]].append(row["booked"])
    return {currency: total(parts) for currency, parts in amounts.items()}


def _balances(
    start: Decimal | None, flows: Iterable[Flow], clock: FlowClock
) -> dict[date, Decimal]:
    """Return the balance at the end of each day; empty without a proved start."""
    if start is None:
        return {}
    moved: dict[date, list[Decimal]] = defaultdict(list)
    for flow in flows:
        if flow.day is not None and flow.amount is not None:
            signed = flow.amount if flow.direction == "in" else flow.amount.copy_negate()
            moved[flow.day].append(signed)
    balances = {}
    for number in range((clock.last - clock.today).days + 1):
        day = clock.today + number * _DAY
        start = total((start, *moved.get(day, ())))
        balances[day] = start
    return balances


def _sum(flows: Iterable[Flow], direction: str) -> Decimal:
    return total(flow.amount or _ZERO for flow in flows if flow.direction == direction)
