"""What stood at an instant, at the end of each day, and at its most: sums over spans of time.

An amount stands at an instant when it came before it and had not left by it; where it only goes on
in another way, it stands there at once, so that no instant loses it. Between the instants
at which something comes or leaves nothing moves, so that the most is found by looking right after
each of them; where a day begins too, because its reference rate may be another.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import itemgetter
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
from msgspec.structs import replace

from treasury.close.result_words import moment as moment_words
from treasury.core.money import added, difference

_RateOf = Callable[[str, date], Fraction | None]
"""What one unit of a currency is worth on a day, in the reporting currency; None without a rate."""
_ZERO: Final = Decimal(0)
AT: Final = "{at}"
EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""When something began whose beginning nobody knows."""


class HeldAmount(msgspec.Struct, frozen=True, kw_only=True):
    """An amount that stands with the provider from one instant until another.

    `since` and `until` bound the time in which it stands in this way, `began` is when the money
    came and `left_at` when it left the provider for good; None: not yet, as far as is known. A span
    that is not `is_proved` is in no sum: its `amount` is what is in doubt, where that is known.
    """

    kind: str
    subject: str
    subject_id: str
    reference: str
    state: str
    amount: Decimal | None
    currency: str
    since: datetime
    until: datetime | None
    began: datetime
    left_at: datetime | None = None
    left_by: str = ""
    evidence: str = ""
    seen_at: datetime | None = None
    """The instant that `AT` stands for in the evidence, which is told of what is shown alone."""
    is_proved: bool = True
    problem: str = ""
    next_step: str = ""
    is_level: bool = False
    """Whether it is a balance: what it was before goes on in it."""

    @property
    def goes_on(self) -> bool:
        """Whether its money stood there before it began, and so stands at its first instant."""
        return self.is_level or self.began < self.since

    def evidence_in(self, zone: ZoneInfo) -> str:
        """What it rests on, its instant in the words of a time zone."""
        if self.seen_at is None:
            return self.evidence
        return self.evidence.replace(AT, moment_words(self.seen_at, zone))

    def stands_at(self, at: datetime) -> bool:
        """Whether it stands at an instant."""
        has_come = self.since <= at if self.goes_on else self.since < at
        return has_come and (self.until is None or self.until > at)


def lasting(span: HeldAmount) -> Iterator[HeldAmount]:
    """The span, if it stands for any time."""
    if span.until is None or span.until > span.since:
        yield span


def doubted(span: HeldAmount, problem: str, next_step: str) -> HeldAmount:
    """The span as one that is not provable."""
    return replace(
        span, is_proved=False, problem=problem, next_step=next_step, state="NOT PROVABLE"
    )


class Peak(msgspec.Struct, frozen=True):
    """The most that stood, and the first instant right after which it did; or the end, at which."""

    amount: Decimal | Fraction
    at: datetime


class DayEnd(msgspec.Struct, frozen=True):
    """What stood at the end of a day: amounts by kind and currency, those that are not zero."""

    day: date
    at: datetime
    amounts: Mapping[tuple[str, str], Decimal]


def standing(spans: Iterable[HeldAmount], at: datetime) -> list[HeldAmount]:
    """The spans that stand at an instant."""
    return [span for span in spans if span.stands_at(at)]


class Move(NamedTuple):
    """An amount that comes, or leaves, with its sign; `rank` is its place at one instant.

    What leaves at an instant has left, and what went on from before stands: ranks 0 and 1. What
    comes at it, rank 2, stands right after it.
    """

    moment: datetime
    rank: int
    kind: str
    currency: str
    amount: Decimal


def moves_of(spans: Iterable[HeldAmount], further: Iterable[Move] = ()) -> list[Move]:
    """What comes and leaves, in the order of time; at one instant what leaves is first."""
    moves = list(further)
    for span in spans:
        if span.amount is None:
            continue
        what = span.kind, span.currency
        moves.append(Move(span.since, 1 if span.goes_on else 2, *what, span.amount))
        if span.until is not None:
            moves.append(Move(span.until, 0, *what, span.amount.copy_negate()))
    moves.sort(key=_PLACE)
    return moves


_PLACE: Final = itemgetter(0, 1)


def amounts_by_day(moves: Sequence[Move], ends: Iterable[tuple[date, datetime]]) -> list[DayEnd]:
    """What stood at the end of each day, given with its instant, in their order."""
    sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    days: list[DayEnd] = []
    at = 0
    for day, end in ends:
        until = bisect_right(moves, (end, 1), lo=at, key=_PLACE)
        for move in moves[at:until]:
            key = move.kind, move.currency
            sums[key] = added(sums[key], move.amount)
        at = until
        days.append(DayEnd(day, end, {key: amount for key, amount in sums.items() if amount}))
    return days


def currency_peaks(moves: Sequence[Move], begin: datetime, end: datetime) -> dict[str, Peak]:
    """The most that stood of each currency between two instants."""
    peaks: dict[str, Peak] = {}
    for moment, sums in _levels(moves, begin, end, ()):
        for currency, amount in sums.items():
            if currency not in peaks or amount > peaks[currency].amount:
                peaks[currency] = Peak(amount, moment)
    return {currency: peak for currency, peak in peaks.items() if peak.amount}


def value_peak(
    moves: Sequence[Move],
    begin: datetime,
    end: datetime,
    *,
    day_starts: Sequence[datetime],
    rate_of: _RateOf,
    zone: ZoneInfo,
) -> Peak | None:
    """The most that all of it was worth between two instants, by the rate of each day.

    What has no rate on a day is in no sum of that day. None where nothing ever had a value.
    """
    best: Peak | None = None
    for moment, sums in _levels(moves, begin, end, day_starts):
        day = min(moment, end - _LEAST).astimezone(zone).date()
        worth = Fraction(0)
        for currency, amount in sums.items():
            rate = rate_of(currency, day) if amount else None
            if rate is not None:
                worth += Fraction(amount) * rate
        if worth and (best is None or worth > best.amount):
            best = Peak(worth, moment)
    return best


_LEAST: Final = timedelta(microseconds=1)


def _levels(
    moves: Sequence[Move], begin: datetime, end: datetime, also: Sequence[datetime]
) -> Iterator[tuple[datetime, Mapping[str, Decimal]]]:
    """Sums by currency right after each instant from `begin` on that matters, and those at `end`.

    What comes at `end` comes after it; what goes on from before stands there.
    """
    sums: dict[str, Decimal] = defaultdict(Decimal)
    at = 0
    moments = {begin, *(move.moment for move in moves), *also}
    for moment in [*sorted(moment for moment in moments if moment < end), end]:
        until = bisect_right(moves, (moment, 1 if moment == end else 2), lo=at, key=_PLACE)
        for move in moves[at:until]:
            sums[move.currency] = added(sums[move.currency], move.amount)
        at = until
        if moment >= begin:
            yield moment, sums


def without(amount: Decimal, parts: Iterable[Decimal]) -> Decimal:
    """What is left of an amount after its parts; never below zero."""
    return max(reduce(difference, parts, amount), _ZERO)
