"""The practice world's exchange rates: fiat per coin, always the same on the same day."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Final

__all__ = ["conversion_rate", "payout_rate"]

_MIDDLE: Final = {"USDC": Decimal("0.9231"), "USDT": Decimal("0.9238"), "EURC": Decimal(1)}
_PAYOUT: Final = {"USDC": Decimal("0.92"), "USDT": Decimal("0.92"), "EURC": Decimal("0.99952")}


def conversion_rate(asset: str, day: date) -> Decimal:
    """Euros per coin at which a credit of that day is converted; it swings by four pips."""
    swing = 0 if asset == "EURC" else day.toordinal() % 9 - 4
    return _MIDDLE[asset] + Decimal(swing) / 10000


def payout_rate(asset: str) -> Decimal:
    """Euros per coin of a transfer that is asked for in euros."""
    return _PAYOUT[asset]
