"""The practice world's exchange rates: fiat per coin, always the same on the same day."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final

__all__ = ["NETWORK_FEES", "conversion_rate", "payout_rate"]

NETWORK_FEES: Final = {
    "BASE": Decimal("0.01"), "AVALANCHE": Decimal("0.02"), "POLYGON": Decimal("0.01"),
}  # fmt: skip
"""What a chain takes of a crypto transfer, in the asset that moves; the numbers are ours."""

_MIDDLE: Final = {
    "USDC": Decimal("0.9231"), "USDT": Decimal("0.9238"), "EURC": Decimal(1),
    "USDS": Decimal("0.9229"), "ETH": Decimal("2310.4"), "POL": Decimal("0.4102"),
}  # fmt: skip
_PER_EURO: Final = {"EUR": Decimal(1), "USD": Decimal("1.08"), "GBP": Decimal("0.86")}
_PAYOUT: Final = {"USDC": Decimal("0.92"), "USDT": Decimal("0.92"), "EURC": Decimal("0.99952")}


def conversion_rate(asset: str, day: date, fiat: str = "EUR") -> Decimal:
    """Fiat per coin at which an amount of that day is converted; it swings by four pips."""
    swing = 0 if asset == "EURC" else day.toordinal() % 9 - 4
    return (_MIDDLE[asset] + Decimal(swing) / 10000) * _PER_EURO[fiat]


def payout_rate(asset: str, fiat: str = "EUR") -> Decimal:
    """Fiat per coin of a transfer that is asked for in fiat."""
    return _PAYOUT[asset] * _PER_EURO[fiat]
