"""Derivation of the directions of unsigned amounts from the balance column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Context, Decimal
from typing import Final, Literal

import msgspec

from treasury.statements.csv.csv_rows import CsvMovement, Key

_EXACT: Final = Context(prec=80)


class Unshown(msgspec.Struct, frozen=True):
    """A row with an amount of unknown direction.

    `is_oldest` is true if the row has a balance and none before it is known. Otherwise a balance is
    missing, or the balances before and after the row do not differ by its amount.
    """

    movement: CsvMovement
    is_oldest: bool

    @property
    def reason(self) -> str:
        """Return why the direction of the row is unknown."""
        if self.is_oldest:
            return "no balance before it shows whether it was received or paid"
        return "the balances before and after it do not differ by its amount"


def signed_by_balances(
    movements: Iterable[CsvMovement],
    opening: Decimal | None,
    unshown: Callable[[Unshown], None],
    *,
    oldest: Literal["", "in", "out"],
    is_newest_first: bool,
) -> Iterator[CsvMovement]:
    """Yield the movements with the sign by which the balance of their account changes.

    `opening` is the balance before the first movement, if the file states one; else `oldest` is the
    direction of the oldest movement, if known. Movements without a status are yielded unchanged.
    Rows without a derivable sign are passed to `unshown` instead.
    """
    pairs = (_newest_first if is_newest_first else _oldest_first)(movements, opening)
    for movement, before in pairs:
        after = movement.balance
        if not movement.status:
            yield movement
            continue
        if before is not None and after is not None:
            moved = _EXACT.subtract(after, before)
            if moved.copy_abs() == movement.signed.copy_abs():
                movement.signed = moved
                yield movement
                continue
        is_oldest = before is None and after is not None
        if is_oldest and oldest:
            movement.signed = -movement.signed if oldest == "out" else movement.signed
            yield movement
            continue
        unshown(Unshown(movement, is_oldest))


_Pairs = Iterator[tuple[CsvMovement, Decimal | None]]
"""Movements in order, each with the balance of its account before the movement."""


def _oldest_first(movements: Iterable[CsvMovement], opening: Decimal | None) -> _Pairs:
    balances: dict[Key, Decimal | None] = {}
    for movement in movements:
        # An opening balance above the table belongs to the only account of the file.
        before = balances.get(movement.key, None if balances else opening)
        yield movement, before
        balances[movement.key] = movement.balance


def _newest_first(movements: Iterable[CsvMovement], opening: Decimal | None) -> _Pairs:
    newer: dict[Key, CsvMovement] = {}
    for movement in movements:
        if movement.key in newer:
            yield newer[movement.key], movement.balance
        newer[movement.key] = movement
    for movement in newer.values():
        yield movement, opening if len(newer) == 1 else None
