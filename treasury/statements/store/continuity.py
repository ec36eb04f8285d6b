"""Whether a statement goes on where the one before it ended, as far as both are known.

A statement has to open with the balance that the one before it closed with. If it does not, and
directly follows it from one day to the next, or the bank's counter says what is missing, or the
same days or the same number are in both, one of the two is wrong or a third is lacking: the later
one is not proved, until what is added explains it. Numbers may be missing though the balance goes
on: banks count over several accounts. That is said, and no more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Final

import msgspec

from treasury.ground.decoding import convert
from treasury.money import format_amount
from treasury.statements.store.movement_identity import StatementFacts

__all__ = ["Continuity", "continuity"]

_ONE_DAY: Final = timedelta(days=1)
_DAYS: Final = 5
_WEEKS: Final = 15


class Continuity(msgspec.Struct, frozen=True):
    """What is said about a statement and the one before it; `holds`: it may still be proved."""

    said: str
    holds: bool


class _Known(msgspec.Struct, frozen=True):
    """A statement with balances and days; `place` is its place among all that were given."""

    place: int
    first: date
    last: date
    opening: Decimal
    closing: Decimal
    currency: str
    sequence: int | None
    format: str
    written: datetime
    file_name: str

    @property
    def is_closed(self) -> bool:
        """Whether its last day is over: a person may export a CSV at noon."""
        return not self.format.startswith("CSV")


def continuity(statements: Iterable[StatementFacts]) -> dict[int, Continuity]:
    """What there is to say about statements whose own sum holds, by their place in `statements`.

    Not by their ids: several versions of a statement have one id, and each is what it says itself.
    """
    accounts: dict[tuple[str | None, str | None], list[_Known]] = defaultdict(list)
    for place, facts in enumerate(statements):
        known = _known(facts, place)
        if known is not None and facts.is_final:
            accounts[facts.account, facts.currency].append(known)
    found: dict[int, Continuity] = {}
    for several in accounts.values():
        closed = sorted((one for one in several if one.is_closed), key=_ended)
        numbered: dict[tuple[int, int], list[_Known]] = defaultdict(list)
        for one in closed:
            numbered[one.last.year, one.sequence or 0].append(one)
        for one in several:
            before = _before(one, closed, numbered)
            said = None if before is None else _between(before, one)
            if said is not None:
                found[one.place] = said
        for one, why in (*_overlapping(closed), *_numbered_alike(closed)):
            found[one.place] = Continuity(why, holds=False)
    return found


def _known(facts: StatementFacts, place: int) -> _Known | None:
    """The statement, if it can be compared: it has an account, a currency, days and balances."""
    stated = (facts.account, facts.currency, facts.first, facts.last, facts.opening, facts.closing)
    if None in stated:
        return None
    names = (name for name in _Known.__struct_fields__ if name != "place")
    return convert({"place": place, **{name: getattr(facts, name) for name in names}}, _Known)


def _ended(one: _Known) -> tuple[date, int]:
    return one.last, one.sequence or 0


def _before(
    one: _Known, several: list[_Known], numbered: Mapping[tuple[int, int], list[_Known]]
) -> _Known | None:
    """The statement that the bank's counter names, else the last one that ended earlier.

    The pages of a statement have one number.
    """
    if one.sequence:
        year = one.first.year
        pages = numbered.get((year, one.sequence), [])
        page = next((p for p in pages if p is not one and p.closing == one.opening), None)
        if page is not None:
            return page
        named = [n for n in numbered.get((year, one.sequence - 1), []) if n.last <= one.first]
        if named:
            return next((n for n in named if n.closing == one.opening), named[-1])
    place = bisect_left(several, (one.first, 0), key=_ended)
    return several[place - 1] if place else None


def _between(before: _Known, one: _Known) -> Continuity | None:
    follows = one.opening == before.closing
    missing = _missing(before, one)
    shown = (
        f"opening {format_amount(one.opening, one.currency)}, but the statement before it"
        f" ({_named(before)}), to {before.last}, closed"
        f" with {format_amount(before.closing, before.currency)}"
    )
    if missing:
        first, last = missing[0], missing[-1]
        numbers = f"number {first} is" if first == last else f"numbers {first} to {last} are"
        return Continuity(f"{numbers} not known{'' if follows else f'; {shown}'}", holds=follows)
    if follows:
        return None
    counted = before.sequence and one.sequence == before.sequence + 1
    return Continuity(shown, holds=not (counted or one.first - before.last <= _ONE_DAY))


def _missing(before: _Known, one: _Known) -> range:
    """The bank's numbers between the two; its counter may begin anew with the year."""
    if not before.sequence or not one.sequence:
        return range(0)
    is_new_year = before.first.year < one.last.year
    if not is_new_year:
        return range(before.sequence + 1, one.sequence)
    begins_anew = before.last.year + 1 == one.first.year and one.sequence < before.sequence
    return range(1, one.sequence) if begins_anew else range(0)


def _overlapping(closed: Sequence[_Known]) -> Iterator[tuple[_Known, str]]:
    """Statements that begin among the days of another and go on beyond them.

    If the balance goes on from one to the other they share a day and no movement. A statement all
    of whose days are in another, as those of the days of a month, contradicts nothing.
    """
    ends = {(one.last, one.closing) for one in closed}
    for one in closed:
        if (one.first, one.opening) in ends:
            continue
        # Sorted by their ends: those that end before this one does, and not before it begins.
        start = bisect_left(closed, (one.first, 0), key=_ended)
        end = bisect_left(closed, (one.last, 0), key=_ended)
        for other in closed[start:end]:
            if other.first < one.first and other.closing != one.opening:
                closed_with, opens_with = (
                    format_amount(amount, one.currency) for amount in (other.closing, one.opening)
                )
                said = f"the days {one.first} to {other.last} are in another statement too"
                which = f"which closed with {closed_with}, and this one opens with {opens_with}"
                yield one, f"{said} ({_named(other)}), {which}"
                break


def _numbered_alike(closed: Sequence[_Known]) -> Iterator[tuple[_Known, str]]:
    """Statements with the number of the one before them that say something else.

    The pages of a statement, and a counter that never moves, have one number too: there the balance
    goes on, or no other number is known.
    """
    kinds: dict[tuple[int, int], list[_Known]] = defaultdict(list)
    for one in closed:
        if one.sequence:
            kinds[one.last.year, _length(one)].append(one)
    for several in kinds.values():
        moves = len({one.sequence for one in several}) > 1
        for before, one in pairwise(sorted(several, key=lambda each: (each.last, each.written))):
            same_days = (before.first, before.last) == (one.first, one.last)
            if (
                before.sequence == one.sequence
                and (same_days or moves)
                and one.opening != before.closing
                and before.opening != one.closing
                and _content(before) != _content(one)
            ):
                yield one, _said_alike(before)
                if same_days and before.written == one.written:
                    yield before, _said_alike(one)  # nothing shows which of them is the later one


def _said_alike(other: _Known) -> str:
    said = f"the bank gave number {other.sequence} to another statement too"
    return f"{said} ({other.file_name}, to {other.last}), which says otherwise"


def _length(one: _Known) -> int:
    """Whether it is of days, of a week, or of more: banks number each kind for itself."""
    days = (one.last - one.first).days
    return 0 if days < _DAYS else 1 if days < _WEEKS else 2


def _content(one: _Known) -> tuple[object, ...]:
    return one.first, one.last, one.opening, one.closing


def _named(one: _Known) -> str:
    number = f"number {one.sequence} in " if one.sequence else ""
    return f"{number}{one.file_name}"
