"""The sandbox's exchange rates, in fiat per coin, fixed for each day.

By default, the rates are invented. In the scenarios "spread" and "no-spread", conversions use the
rate that the practice bank publishes for the day, with or without a spread, so that each
conversion's cost is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

import msgspec

from treasury.core.calendar import is_target_day

NETWORK_FEES: Final = {
    "BASE": Decimal("0.01"), "AVALANCHE": Decimal("0.02"), "POLYGON": Decimal("0.01"),
}  # fmt: skip
"""Invented fee for a crypto transfer on each chain, in the transferred asset."""

_EXACT: Final = Context(prec=50, rounding=ROUND_HALF_UP)
_QUOTED: Final = Decimal("1e-12")
"""Rates derived from published ones are rounded to this unit."""
_DOLLARS: Final = ("USDC", "USDT", "USDS")
_MIDDLE: Final = {
    "USDC": Decimal("0.9231"), "USDT": Decimal("0.9238"), "EURC": Decimal(1),
    "USDS": Decimal("0.9229"), "ETH": Decimal("2310.4"), "POL": Decimal("0.4102"),
}  # fmt: skip
_PER_EURO: Final = {"EUR": Decimal(1), "USD": Decimal("1.08"), "GBP": Decimal("0.86")}
_PAYOUT: Final = {"USDC": Decimal("0.92"), "USDT": Decimal("0.92"), "EURC": Decimal("0.99952")}


class Quotes(msgspec.Struct, frozen=True):
    """The rates at which a provider converts: its own, or published rates less a spread."""

    spread: Decimal | None = None
    """The spread as a share of the amount; None if the provider has its own rates."""

    @property
    def is_published(self) -> bool:
        """Return whether conversions use the published rates of their day."""
        return self.spread is not None

    def rate(self, asset: str, day: date, fiat: str = "EUR", *, on_ramp: bool = True) -> Decimal:
        """Return the rate of a day, in fiat per coin."""
        # The rate varies by up to four pips.
        if self.spread is None:
            swing = 0 if asset == "EURC" else day.toordinal() % 9 - 4
            return (_MIDDLE[asset] + Decimal(swing) / 10000) * _PER_EURO[fiat]
        per_euro = published(day)
        euros = Decimal(1) if asset == "EURC" else _MIDDLE[asset]
        if asset in _DOLLARS:
            euros = _EXACT.divide(Decimal(1), per_euro["USD"])
        middle = _EXACT.multiply(euros, per_euro.get(fiat, Decimal(1)))
        kept = 1 - self.spread
        quoted = _EXACT.divide(middle, kept) if on_ramp else _EXACT.multiply(middle, kept)
        return quoted.quantize(_QUOTED, context=_EXACT)


QUOTES: Final[Mapping[str, Quotes]] = {
    "spread": Quotes(Decimal("0.0035")), "no-spread": Quotes(Decimal(0)),
}  # fmt: skip
"""Spread in the scenarios with published rates: 35 basis points, or none."""


def published(day: date) -> dict[str, Decimal]:
    """Return the practice bank's rates for one euro: the day's fixing, or the last before it."""
    while not is_target_day(day):
        day -= timedelta(1)
    swing = Decimal(day.toordinal() * 7 % 83 - 41) / 10000
    return {"USD": Decimal("1.0833") + swing, "GBP": Decimal("0.86") + swing / 2}


def rate_file(days: Iterable[date]) -> str:
    """Return the fixings of these days' TARGET days in the ECB's format, latest day first."""
    due = sorted(filter(is_target_day, days), reverse=True)
    lines = ["Date,USD,GBP,"]
    lines += [",".join((str(day), *map(str, published(day).values()), "")) for day in due]
    return "\n".join((*lines, ""))


def coin_rate(coin: str, day: date) -> Decimal:
    """Return a native coin's price in euros on a day, from the company's own list."""
    swing = Decimal(day.toordinal() * 5 % 41 - 20) / 100
    return _MIDDLE[coin] * (1 + swing / 10)


def coin_rate_file(days: Iterable[date]) -> str:
    """Return native coin rates in the format of a company's own file: day, base, quote, rate."""
    lines = [
        f"{day},{coin},EUR,{coin_rate(coin, day)}"
        for day in sorted(days)
        for coin in ("ETH", "POL")
    ]
    return "\n".join(("day,base,quote,rate", *lines, ""))


def payout_rate(asset: str, fiat: str = "EUR") -> Decimal:
    """Return the rate of a transfer ordered in fiat, in fiat per coin."""
    return _PAYOUT[asset] * _PER_EURO[fiat]
