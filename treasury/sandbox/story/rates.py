"""The practice world's exchange rates: fiat per coin, always the same on the same day.

The ordinary company's rates swing about numbers of our own. A company of the scenarios "spread" and
"no-spread" has its conversions done at what its practice bank publishes that day, with or without a
spread, so that what a conversion cost is known beforehand.
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
"""What a chain takes of a crypto transfer, in the asset that moves; the numbers are ours."""

_EXACT: Final = Context(prec=50, rounding=ROUND_HALF_UP)
_QUOTED: Final = Decimal("1e-12")
"""The decimals of a rate that follows what is published."""
_DOLLARS: Final = ("USDC", "USDT", "USDS")
_MIDDLE: Final = {
    "USDC": Decimal("0.9231"), "USDT": Decimal("0.9238"), "EURC": Decimal(1),
    "USDS": Decimal("0.9229"), "ETH": Decimal("2310.4"), "POL": Decimal("0.4102"),
}  # fmt: skip
_PER_EURO: Final = {"EUR": Decimal(1), "USD": Decimal("1.08"), "GBP": Decimal("0.86")}
_PAYOUT: Final = {"USDC": Decimal("0.92"), "USDT": Decimal("0.92"), "EURC": Decimal("0.99952")}


class Quotes(msgspec.Struct, frozen=True):
    """The rates at which a provider converts: its own, or the published ones less its spread."""

    spread: Decimal | None = None
    """The share of an amount that it keeps in the rate; None where its rates are its own."""

    @property
    def is_published(self) -> bool:
        """Whether the rates follow what is published, as of the day of the conversion."""
        return self.spread is not None

    def rate(self, asset: str, day: date, fiat: str = "EUR", *, on_ramp: bool = True) -> Decimal:
        """Fiat per coin at which an amount of that day is converted."""
        if self.spread is None:  # it swings by four pips
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
"""The scenarios in which the provider converts at published rates: 35 basis points, or none."""


def published(day: date) -> dict[str, Decimal]:
    """What one euro costs by the practice bank: the day's fixing, or the last one before it."""
    while not is_target_day(day):
        day -= timedelta(1)
    swing = Decimal(day.toordinal() * 7 % 83 - 41) / 10000
    return {"USD": Decimal("1.0833") + swing, "GBP": Decimal("0.86") + swing / 2}


def rate_file(days: Iterable[date]) -> str:
    """The fixings of these days as the ECB writes its history, the latest first."""
    due = sorted(filter(is_target_day, days), reverse=True)
    lines = ["Date,USD,GBP,"]
    lines += [",".join((str(day), *map(str, published(day).values()), "")) for day in due]
    return "\n".join((*lines, ""))


def coin_rate(coin: str, day: date) -> Decimal:
    """What a native coin cost in euros on a day by the company's own list."""
    swing = Decimal(day.toordinal() * 5 % 41 - 20) / 100
    return _MIDDLE[coin] * (1 + swing / 10)


def coin_rate_file(days: Iterable[date]) -> str:
    """The native coins' rates of these days as a company writes its own: day, base, quote, rate."""
    lines = [
        f"{day},{coin},EUR,{coin_rate(coin, day)}"
        for day in sorted(days)
        for coin in ("ETH", "POL")
    ]
    return "\n".join(("day,base,quote,rate", *lines, ""))


def payout_rate(asset: str, fiat: str = "EUR") -> Decimal:
    """Fiat per coin of a transfer that is asked for in fiat."""
    return _PAYOUT[asset] * _PER_EURO[fiat]
