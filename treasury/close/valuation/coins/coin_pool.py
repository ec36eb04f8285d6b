"""A pool of one coin: its quantity and carrying amount, by weighted average or first in, first out.

Quantities and amounts are integers of the smallest unit, so that no rounding difference is lost.
Within a pool the carrying amount is an exact fraction. It is rounded half up after each event, and
the amount of an event is the difference of two rounded carrying amounts. The roundings of all
disposals therefore add up, and opening + acquired - disposed is the closing amount to the cent.
"""

from __future__ import annotations

from bisect import insort
from datetime import date
from fractions import Fraction
from math import gcd

import msgspec

from treasury.core.money import half_up


class Lot(msgspec.Struct, frozen=True):
    """Coins acquired together: their quantity, carrying amount and day."""

    acquired_on: date
    quantity: int
    carrying: int


class AveragePool:
    """Moving weighted average: one carrying amount per coin, which acquisitions change.

    The carrying amount is `_amount * quantity / (_divisor * _base)`, where `_base` is the quantity
    after the last acquisition. A disposal changes only the quantity, so the integers grow only if
    an acquisition follows a disposal.
    """

    def __init__(self) -> None:
        self.quantity = 0
        self._amount, self._divisor, self._base = 0, 1, 1

    @property
    def carrying(self) -> int:
        """The carrying amount of the coins, rounded once."""
        return half_up(self._amount * self.quantity, self._divisor * self._base)

    def acquire(self, lot: Lot) -> None:
        """Add coins; the average changes."""
        if not self.quantity:
            self._amount, self._divisor, self._base = 0, 1, 1
        elif self.quantity != self._base:
            common = gcd(self.quantity, self._base)
            self._amount *= self.quantity // common
            self._divisor *= self._base // common
        self._amount += lot.carrying * self._divisor
        self.quantity += lot.quantity
        self._base = self.quantity

    def release(self, quantity: int, day: date) -> tuple[Lot, ...]:
        """Remove coins at the average carrying amount, and return them as one lot of the day."""
        before = self.carrying
        self.quantity -= quantity
        return (Lot(day, quantity, before - self.carrying),)

    def restate(self, carrying: int, day: date) -> None:  # noqa: ARG002 - an average has no days
        """Set a new carrying amount for all coins."""
        self._amount, self._divisor, self._base = carrying, 1, self.quantity

    def lots(self, day: date) -> tuple[Lot, ...]:
        """Return the coins as one lot of that day."""
        return (Lot(day, self.quantity, self.carrying),) if self.quantity else ()


class _Layer(msgspec.Struct):
    """A lot and its remaining quantity; layers are sorted by day, then by arrival in the pool."""

    lot: Lot
    place: int
    remaining: int

    @property
    def is_whole(self) -> bool:
        return self.remaining == self.lot.quantity

    @property
    def share(self) -> Fraction:
        """The carrying amount of the remaining coins."""
        return Fraction(self.lot.carrying * self.remaining, self.lot.quantity)

    @property
    def turn(self) -> tuple[date, int]:
        return self.lot.acquired_on, self.place


class FifoPool:
    """First in, first out: coins acquired first leave first, at their acquisition cost.

    A lot from another pool keeps its acquisition day. `_whole` is the carrying amount of the lots
    without disposals, `_parts` that of the few other lots.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.quantity = 0
        self._layers: list[_Layer] = []
        self._spent = 0
        self._whole = 0
        self._parts = Fraction()

    @property
    def carrying(self) -> int:
        """The carrying amount of the coins, rounded once."""
        return _rounded(self._whole + self._parts)

    def acquire(self, lot: Lot) -> None:
        """Add a lot after the lots of the same day and of earlier days."""
        layer = _Layer(lot, len(self._layers), lot.quantity)
        insort(self._layers, layer, lo=self._spent, key=lambda each: each.turn)
        self.quantity += lot.quantity
        self._whole += lot.carrying

    def release(self, quantity: int, day: date) -> tuple[Lot, ...]:  # noqa: ARG002 - lots have days
        """Remove coins from the oldest lots; return the removed part of each lot."""
        released = []
        before = self.carrying
        while quantity:
            layer = self._layers[self._spent]
            taken = min(quantity, layer.remaining)
            if layer.is_whole:
                self._whole -= layer.lot.carrying
            else:
                self._parts -= layer.share
            layer.remaining -= taken
            if layer.remaining:
                self._parts += layer.share
            else:
                self._spent += 1
            quantity -= taken
            self.quantity -= taken
            after = self.carrying
            released.append(Lot(layer.lot.acquired_on, taken, before - after))
            before = after
        return tuple(released)

    def restate(self, carrying: int, day: date) -> None:
        """Set a new carrying amount for all coins, as one lot of that day."""
        lot = Lot(day, self.quantity, carrying)
        self._clear()
        self.acquire(lot)

    def lots(self, day: date) -> tuple[Lot, ...]:  # noqa: ARG002 - lots have days
        """Return the rest of each lot, rounded so that the lots add up to the carrying amount."""
        stated, exact, before = [], Fraction(), 0
        for layer in self._layers[self._spent :]:
            exact += layer.lot.carrying if layer.is_whole else layer.share
            rounded = _rounded(exact)
            stated.append(Lot(layer.lot.acquired_on, layer.remaining, rounded - before))
            before = rounded
        return tuple(stated)


CoinPool = AveragePool | FifoPool
"""A pool: coins of one asset that are measured together."""


def _rounded(amount: Fraction) -> int:
    return half_up(amount.numerator, amount.denominator)
