"""The value of coins and currencies in the reporting currency, by the reference rates."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final

import msgspec

from treasury.core.money import half_up, quantize
from treasury.month.reconciliation import Reconciliation
from treasury.rates import ReferenceRates

REPORTING: Final = "EUR"
"""The currency in which coins are carried."""
_SHOWN: Final = 10
"""The number of decimals of a displayed rate; values use the exact rate."""


class Valued(msgspec.Struct, frozen=True):
    """An amount in the reporting currency, rounded once, and the rate behind it, if any."""

    amount: Decimal
    basis: str = ""
    rate: Decimal | None = None
    day: date | None = None


def value_of(rates: ReferenceRates, amount: Decimal, unit: str, day: date) -> Valued | None:
    """Return the value of an amount of a coin or currency on a day; None without a rate."""
    if unit == REPORTING:
        return Valued(quantize(amount, REPORTING))
    worth = rates.value(amount, unit, day)
    if worth is None:
        return None
    exact = worth.rate.rate
    shown = half_up(exact.numerator * 10**_SHOWN, exact.denominator)
    rate = Decimal(f"{shown}E-{_SHOWN}")
    return Valued(worth.amount, worth.rate.basis, rate, worth.rate.day)


def rates_of(r: Reconciliation) -> ReferenceRates:
    """Return the reference rates of the records behind the answer."""
    if r.basis is None:
        return ReferenceRates(at_par={}, stored=lambda code: ())  # noqa: ARG005 - nothing is stored
    return ReferenceRates.of(r.basis.snapshot, r.rules.coins_at_par)
