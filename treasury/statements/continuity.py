"""Whether a statement goes on where the one before it ended, as far as both are known.

A statement that directly follows another, by the bank's counter or from one day to the next, has to
open with the balance that the other closed with; else one of the two is wrong, and the later one is
not proved. Where others may stand between the two, what is missing is said, and no more: coverage
ends there, but what the statement itself adds up to stays proved.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from treasury.money import format_amount
from treasury.statements.movements import Facts

__all__ = ["Continuity", "continuity"]

_ONE_DAY: Final = timedelta(days=1)


class Continuity(msgspec.Struct, frozen=True):
    """What is said about a statement and the one before it; `holds`: it may still be proved."""

    said: str
    holds: bool


class _Known(msgspec.Struct, frozen=True):
    """A statement with balances and days."""

    statement_id: str
    first: date
    last: date
    opening: Decimal
    closing: Decimal
    currency: str
    sequence: int | None
    format: str

    @property
    def is_closed(self) -> bool:
        """Whether its last day is over: a person may export a CSV at noon."""
        return not self.format.startswith("CSV")


def continuity(statements: Iterable[Facts]) -> dict[str, Continuity]:
    """What there is to say, by statement id; `statements` are those whose own sum holds."""
    accounts: dict[tuple[str | None, str | None], list[_Known]] = defaultdict(list)
    for facts in statements:
        known = _known(facts)
        if known is not None and facts.is_final:
            accounts[facts.account, facts.currency].append(known)
    found: dict[str, Continuity] = {}
    for several in accounts.values():
        closed = sorted((one for one in several if one.is_closed), key=_ended)
        numbered = {(one.last.year, one.sequence): one for one in closed if one.sequence}
        for one in several:
            before = _before(one, closed, numbered)
            said = None if before is None else _between(before, one)
            if said is not None:
                found[one.statement_id] = said
    return found


def _known(facts: Facts) -> _Known | None:
    if None in {facts.first, facts.last, facts.opening, facts.closing}:
        return None
    return msgspec.convert(
        {name: getattr(facts, name) for name in _Known.__struct_fields__}, _Known
    )


def _ended(one: _Known) -> tuple[date, int]:
    return one.last, one.sequence or 0


def _before(
    one: _Known, several: list[_Known], numbered: Mapping[tuple[int, int], _Known]
) -> _Known | None:
    """The statement that the bank's counter names, else the last one that ended earlier."""
    if one.sequence:
        named = numbered.get((one.first.year, one.sequence - 1))
        if named is not None and named.last <= one.first and named is not one:
            return named
    place = bisect_left(several, (one.first, 0), key=_ended)
    return several[place - 1] if place else None


def _between(before: _Known, one: _Known) -> Continuity | None:
    follows = one.opening == before.closing
    shown = (
        f"opening {format_amount(one.opening, one.currency)}, but the statement before it"
        f"{f' (number {before.sequence})' if before.sequence else ''}, to {before.last}, closed"
        f" with {format_amount(before.closing, before.currency)}"
    )
    counted = before.sequence and one.sequence and before.first.year == one.last.year
    missing = one.sequence - before.sequence - 1 if counted else 0  # type: ignore[operator]
    if missing > 0 and before.sequence and one.sequence:
        first, last = before.sequence + 1, one.sequence - 1
        numbers = f"number {first} is" if missing == 1 else f"numbers {first} to {last} are"
        why = "" if follows else f"; {shown}"
        return Continuity(f"{numbers} not known{why}", holds=True)
    if follows:
        return None
    is_next = (missing == 0 and counted) or one.first - before.last <= _ONE_DAY
    return Continuity(shown, holds=not is_next)
