"""A fee computed again, from the tier's percentage or by the service's calculator, and held to it.

A difference of one minor unit is explained by the rounding that gives it, never hidden; a larger
one is flagged. The conversion rate is held against the pair's other requests of the same day.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_UP, Decimal
from typing import Any, Final

import msgspec

from treasury.money import (
    basis_points,
    convert,
    difference,
    fee_of,
    format_amount,
    mean,
    minor_unit,
    quantize,
)

__all__ = ["COMPARED", "RATED", "Expected", "Rates", "expected_fee", "finding", "told_rate"]

RATED: Final = ("ramp_type", "fiat_currency", "crypto_currency", "completed_on", "exchange_rate")
"""What the rate of a request is held against the others' by."""
COMPARED: Final = ("request_id", "fiat_gross", "fee", "fee_percentage", "crypto", "tier")
"""What the fee of a request is computed from, besides."""

_STORED: Final = Decimal("1e-18")
_BEYOND: Final = Decimal(10) ** 36
_ROUNDINGS: Final = ((ROUND_UP, "up"), (ROUND_DOWN, "down"), (ROUND_HALF_EVEN, "half to even"))


class Expected(msgspec.Struct, frozen=True):
    """The fee that should have been taken, in the request's fiat currency, and what says so."""

    amount: Decimal | None
    by: str
    """The tier's name, "recorded percentage", "calculated", or nothing where none can be told."""


def expected_fee(row: Mapping[str, Any], calculated: Mapping[str, Decimal]) -> Expected:
    """What the fee of a request should be; `calculated` has the calculator's fees by request id."""
    answer = calculated.get(row["request_id"])
    currency = row["fiat_currency"]
    if answer is not None:  # in the unit of the amount asked about: crypto for an off-ramp
        if row["ramp_type"] != "OFF_RAMP":
            return Expected(quantize(answer, currency), "calculated")
        rate = row["exchange_rate"]
        return Expected(None if rate is None else convert(answer, rate, currency), "calculated")
    gross, percentage = row["fiat_gross"], row["fee_percentage"]
    if gross is None or percentage is None:
        return Expected(None, "")
    tier = row["tier"] if row["tier"] != "tier not determinable" else "recorded percentage"
    return Expected(fee_of(gross, percentage, currency), tier)


def finding(row: Mapping[str, Any], expected: Expected) -> str:
    """What a person reads of the difference between the recorded and the expected fee."""
    fee, currency = row["fee"], row["fiat_currency"]
    if fee is None:
        return "no fee recorded"
    if expected.amount is None:
        return "nothing to compare with"
    if fee == expected.amount:
        return "as expected"
    size = difference(fee, expected.amount).copy_abs()
    words = format_amount(size, currency)
    side = "more" if fee > expected.amount else "less"
    cause = _rounding(row, fee) if size <= minor_unit(currency) else ""
    return (
        f"{words} {side}: {cause}" if cause else f"CHECK: {words} {side} than {expected.by} gives"
    )


def _rounding(row: Mapping[str, Any], fee: Decimal) -> str:
    """The way of rounding that gives the recorded fee; a minor unit that none gives is checked."""
    gross, percentage, currency = row["fiat_gross"], row["fee_percentage"], row["fiat_currency"]
    if gross is None or percentage is None:
        return ""
    crypto, rate, asset = row["crypto"], row["exchange_rate"], row["crypto_currency"] or "?"
    if row["ramp_type"] == "OFF_RAMP" and crypto is not None and rate is not None:
        coins = fee_of(crypto, percentage, asset)
        if convert(coins, rate, currency) == fee:
            return f"taken as {format_amount(coins, asset)} and converted"
    for rounding, word in _ROUNDINGS:
        if fee_of(gross, percentage, currency, rounding=rounding) == fee:
            return f"rounded {word}"
    return ""


class Rates:
    """The rates of each pair on each day, so that one can be held against the others."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._days: defaultdict[tuple[Any, ...], list[Decimal]] = defaultdict(list)
        for row in rows:
            if row["exchange_rate"] is not None:
                self._days[_pair_day(row)] += [row["exchange_rate"]] * row["count_all"]
        for rates in self._days.values():
            rates.sort()
        self._distances: dict[tuple[Any, ...], tuple[int, Decimal | None, Decimal | None]] = {}

    def others(self, row: Mapping[str, Any]) -> tuple[int, Decimal | None, Decimal | None]:
        """How many others there are, the middle of their rates, and the distance to it in bp."""
        rate = row["exchange_rate"]
        if rate is None:
            return 0, None, None
        key = (*_pair_day(row), rate)
        if key not in self._distances:
            self._distances[key] = self._others(key[:-1], rate)
        return self._distances[key]

    def _others(
        self, day: tuple[Any, ...], rate: Decimal
    ) -> tuple[int, Decimal | None, Decimal | None]:
        rates = self._days[day]
        if len(rates) < 2:
            return 0, None, None
        # The median of sorted rates without the one at `own`, exact.
        own = bisect_left(rates, rate)
        half, odd = divmod(len(rates) - 1, 2)
        places = (half,) if odd else (half - 1, half)
        usual = mean(rates[at + (at >= own)] for at in places)
        deviation = told_rate(basis_points(difference(rate, usual), usual))
        return len(rates) - 1, usual.quantize(_STORED), deviation


def told_rate(points: Decimal | None) -> Decimal | None:
    """Basis points, where a column can hold them."""
    return points if points is not None and points.copy_abs() < _BEYOND else None


def _pair_day(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return (row["ramp_type"], row["fiat_currency"], row["crypto_currency"], row["completed_on"])
