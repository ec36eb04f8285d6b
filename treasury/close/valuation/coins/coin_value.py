"""What coins and currencies are worth in the reporting currency, by the reference rates."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final

import msgspec

from treasury.core.money import half_up, quantize
from treasury.month.reconciliation import Reconciliation
from treasury.rates import ReferenceRates

REPORTING: Final = "EUR"
"""The currency that coins are carried in."""
_SHOWN: Final = 10
"""Decimals of a rate where it is shown; a value is worked out with all of it."""


class Valued(msgspec.Struct, frozen=True):
    """An amount in the reporting currency, rounded once, and the rate that gave it, if one did."""

    amount: Decimal
    basis: str = ""
    rate: Decimal | None = None
    day: date | None = None


def value_of(rates: ReferenceRates, amount: Decimal, unit: str, day: date) -> Valued | None:
    """What an amount of a coin or currency is worth on a day; None without a rate."""
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
    """The reference rates of the records that the answer was made from."""
    if r.basis is None:
        return ReferenceRates(at_par={}, stored=lambda code: ())  # noqa: ARG005 - nothing is stored
    return ReferenceRates.of(r.basis.snapshot, r.rules.coins_at_par)
