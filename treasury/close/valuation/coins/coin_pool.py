"""A pool of one coin: its quantity and carrying amount, by weighted average or first in, first out.

Quantities and amounts are whole numbers of the smallest unit, so that nothing is lost: between two
roundings the carrying amount is a fraction. It is rounded once after each event, half up, and what
an event takes is the difference of two rounded amounts. So the roundings of all disposals add up to
what the pool lost, and opening + acquired - disposed is the closing amount to the cent.
"""

from __future__ import annotations

from bisect import insort
from datetime import date
from fractions import Fraction
from math import gcd

import msgspec

from treasury.core.money import half_up


class Lot(msgspec.Struct, frozen=True):
    """Coins that came together: how many, what they are carried at, and since when."""

    acquired_on: date
    quantity: int
    carrying: int


class AveragePool:
    """Moving weighted average: each coin is carried at the same, and an acquisition moves it.

    The carrying amount is `_amount * quantity / (_divisor * _base)`, where `_base` is the quantity
    after the last acquisition: a disposal changes the quantity alone, so that the numbers grow
    only where an acquisition follows a disposal.
    """

    def __init__(self) -> None:
        self.quantity = 0
        self._amount, self._divisor, self._base = 0, 1, 1

    @property
    def carrying(self) -> int:
        """What the coins are carried at, rounded once."""
        return half_up(self._amount * self.quantity, self._divisor * self._base)

    def acquire(self, lot: Lot) -> None:
        """Add coins; the average moves."""
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
        """Take coins out at the average."""
        before = self.carrying
        self.quantity -= quantity
        return (Lot(day, quantity, before - self.carrying),)

    def restate(self, carrying: int, day: date) -> None:  # noqa: ARG002 - an average has no days
        """Carry all coins at another amount."""
        self._amount, self._divisor, self._base = carrying, 1, self.quantity

    def lots(self, day: date) -> tuple[Lot, ...]:
        """The coins as one lot of that day."""
        return (Lot(day, self.quantity, self.carrying),) if self.quantity else ()


class _Layer(msgspec.Struct):
    """A lot and what is left of it; ordered by its day, then by when it came to the pool."""

    lot: Lot
    place: int
    remaining: int

    @property
    def is_whole(self) -> bool:
        return self.remaining == self.lot.quantity

    @property
    def share(self) -> Fraction:
        """What the coins that are left are carried at."""
        return Fraction(self.lot.carrying * self.remaining, self.lot.quantity)

    @property
    def turn(self) -> tuple[date, int]:
        return self.lot.acquired_on, self.place


class FifoPool:
    """First in, first out: what was acquired first leaves first, at what it was acquired for.

    A lot that comes from another pool keeps its day. `_whole` is the sum of the lots that nothing
    was taken of, `_parts` that of the others, which are few.
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
        """What the coins are carried at, rounded once."""
        return _rounded(self._whole + self._parts)

    def acquire(self, lot: Lot) -> None:
        """Add a lot behind those of its day and before."""
        layer = _Layer(lot, len(self._layers), lot.quantity)
        insort(self._layers, layer, lo=self._spent, key=lambda each: each.turn)
        self.quantity += lot.quantity
        self._whole += lot.carrying

    def release(self, quantity: int, day: date) -> tuple[Lot, ...]:  # noqa: ARG002 - lots have days
        """Take coins out of the oldest lots, each with its day and what leaves with it."""
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
        """Carry all coins at another amount, as one lot of that day."""
        lot = Lot(day, self.quantity, carrying)
        self._clear()
        self.acquire(lot)

    def lots(self, day: date) -> tuple[Lot, ...]:  # noqa: ARG002 - lots have days
        """What is left of each lot, the roundings of all of them adding up to the whole."""
        stated, exact, before = [], Fraction(), 0
        for layer in self._layers[self._spent :]:
            exact += layer.lot.carrying if layer.is_whole else layer.share
            rounded = _rounded(exact)
            stated.append(Lot(layer.lot.acquired_on, layer.remaining, rounded - before))
            before = rounded
        return tuple(stated)


CoinPool = AveragePool | FifoPool
"""Coins of one asset that are measured together."""


def _rounded(amount: Fraction) -> int:
    return half_up(amount.numerator, amount.denominator)
