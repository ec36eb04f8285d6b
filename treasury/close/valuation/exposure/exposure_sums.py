"""Amounts held at a given time, at the end of each day, and at their peak: sums over spans of time.

An amount counts at a time if it came earlier and had not left by then. If money only continues in
another form, the new form counts from the same moment on, so that no moment misses it. Amounts
change only when money comes or leaves. The peak is therefore found by checking right after each
change, and at the start of each day, because the reference rate may differ.
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
"""The value of one unit of a currency on a day, in the reporting currency; None without a rate."""
_ZERO: Final = Decimal(0)
AT: Final = "{at}"
EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""The start of a span with an unknown beginning."""


class HeldAmount(msgspec.Struct, frozen=True, kw_only=True):
    """An amount with the provider from one time until another.

    The money is in this form from `since` until `until`. `began` is when it came to the provider,
    and `left_at` when it left the provider for good, None if that is not known. A span that is not
    `is_proved` is excluded from sums: its `amount` is the amount in doubt, if that is known.
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
    """The time that replaces `AT` in the evidence; it is formatted only if the span is shown."""
    is_proved: bool = True
    problem: str = ""
    next_step: str = ""
    is_level: bool = False
    """Whether the span is a balance, which continues an earlier balance."""

    @property
    def goes_on(self) -> bool:
        """Whether the money was there before the span, so that it counts at the first moment."""
        return self.is_level or self.began < self.since

    def evidence_in(self, zone: ZoneInfo) -> str:
        """Return the evidence, with its time in a time zone."""
        if self.seen_at is None:
            return self.evidence
        return self.evidence.replace(AT, moment_words(self.seen_at, zone))

    def stands_at(self, at: datetime) -> bool:
        """Return whether the amount is held at a time."""
        has_come = self.since <= at if self.goes_on else self.since < at
        return has_come and (self.until is None or self.until > at)


def lasting(span: HeldAmount) -> Iterator[HeldAmount]:
    """Yield the span unless it is empty."""
    if span.until is None or span.until > span.since:
        yield span


def doubted(span: HeldAmount, problem: str, next_step: str) -> HeldAmount:
    """Return the span as one that cannot be proved."""
    return replace(
        span, is_proved=False, problem=problem, next_step=next_step, state="NOT PROVABLE"
    )


class Peak(msgspec.Struct, frozen=True):
    """The largest amount, and the time at which it was first reached."""

    amount: Decimal | Fraction
    at: datetime


class DayEnd(msgspec.Struct, frozen=True):
    """The amounts at the end of a day by kind and currency, without zeros."""

    day: date
    at: datetime
    amounts: Mapping[tuple[str, str], Decimal]


def standing(spans: Iterable[HeldAmount], at: datetime) -> list[HeldAmount]:
    """Return the spans whose amounts are held at a time."""
    return [span for span in spans if span.stands_at(at)]


class Move(NamedTuple):
    """A signed amount that comes or leaves; `rank` is the order of moves at the same time.

    Departures have rank 0, and money that continues in another form has rank 1; both count at that
    time. Arrivals have rank 2 and count right after it.
    """

    moment: datetime
    rank: int
    kind: str
    currency: str
    amount: Decimal


def moves_of(spans: Iterable[HeldAmount], further: Iterable[Move] = ()) -> list[Move]:
    """Return arrivals and departures by time; at the same time, departures come first."""
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
    """Return the amounts at the end of each day; `ends` has each day and the time of its end."""
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
    """Return the peak amount of each currency between two times."""
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
    """Return the peak value of all amounts between two times, by the rates of each day.

    Amounts without a rate on a day are left out of that day. Return None if no amount had a value.
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
    """Yield the sums by currency from `begin` to `end`: right after each change, and at `also`.

    Money that arrives at `end` is not counted then, but money that continues is.
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
    """Return an amount less its parts, but at least zero."""
    return max(reduce(difference, parts, amount), _ZERO)
