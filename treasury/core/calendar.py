"""Days, months and instants: TARGET days, calendar months, times in UTC.

An instant is an aware datetime in UTC. A day or a month is a calendar period in the reporting time
zone. A bank's date has no time of day.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from functools import cache, lru_cache
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
from dateutil.easter import easter

from treasury.core.errors import InputError

_YEAR = re.compile(r"(?:19|20)\d\d", re.ASCII)
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_WRONG_SEPARATOR = re.compile(r"(\d{4}-\d{2})\s*(?:[:–—/,-]|\.{3}|…|to)\s*(\d{4}-\d{2})", re.ASCII)
"""Two months with another separator than two dots between them, such as a dash or `to`."""
_TYPED_DAY: Final = re.compile(r"([0-9]{1,2})([/.])([0-9]{1,2})\2([0-9]{4})", re.ASCII)
_NAMED_DAY: Final = re.compile(r"([0-9]{1,2})\.? ([A-Za-z]{3,9})\.?(?: ([0-9]{4}))?", re.ASCII)
_DAY = timedelta(days=1)
_DAYS_KEPT = 10_000
"""Size of the caches by day: even many open items have only a few hundred different days."""


@cache
def target_holidays(year: int) -> frozenset[date]:
    """Return the holidays on which TARGET is closed (ECB, long-term calendar since 2002)."""
    sunday = easter(year)
    fixed = (date(year, *day) for day in ((1, 1), (5, 1), (12, 25), (12, 26)))
    return frozenset((sunday - 2 * _DAY, sunday + _DAY, *fixed))


def is_target_day(day: date) -> bool:
    """Return True if TARGET settles payments on that day."""
    return day.weekday() < 5 and day not in target_holidays(day.year)


def next_target_day(day: date) -> date:
    """Return the first TARGET day after `day`."""
    return add_target_days(day, 1)


@lru_cache(_DAYS_KEPT)
def add_target_days(day: date, count: int) -> date:
    """Return the `count`-th TARGET day after `day` (`count` is at least 1)."""
    while count > 0:
        day += _DAY
        if is_target_day(day):
            count -= 1
    return day


@lru_cache(_DAYS_KEPT)
def target_days_between(start: date, end: date) -> int:
    """Count the TARGET days after `start`, up to and including `end`; 0 if `end` is not later."""
    days = (start + n * _DAY for n in range(1, (end - start).days + 1))
    return sum(map(is_target_day, days))


_FIRST_YEAR: Final = 1900
_LAST_YEAR: Final = 9998
"""First and last year of an instant; every month up to the last year has a next one in `date`."""
_LAST_YEAR_OF_MONTHS: Final = 2099
"""Last year of a month that is typed; a later year is a typing error."""


def parse_instant(text: str) -> datetime:
    """Parse an ISO 8601 date-time as an instant in UTC; without a zone, UTC is assumed.

    Raise InputError for other text, and for years before 1900 or after 9998.
    """
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{text[:40]!r} is not a date and time", do="write it as 2026-11-01T09:00Z"
        ) from None
    if not _FIRST_YEAR <= parsed.year <= _LAST_YEAR:
        raise InputError(
            f"{text[:40]!r} is outside the years {_FIRST_YEAR} to {_LAST_YEAR}",
            do="give an instant within these years",
        )
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def parse_day(text: str, today: date | None = None) -> date:
    """Parse a day as people type it: `2026-11-30`, `30/11/2026`, `30.11.2026` or `30 Nov 2026`.

    Numbers separated by slashes or points are day, month, year. Without a year, as in `30 Nov`, the
    result is the day nearest to `today`. Raise InputError for other text, and for a missing year if
    `today` is unknown.
    """
    typed = " ".join(text.split())
    numbers = _TYPED_DAY.fullmatch(typed)
    month_named = _NAMED_DAY.fullmatch(typed)
    try:
        if numbers is not None:
            return date(int(numbers[4]), int(numbers[3]), int(numbers[1]))
        if month_named is None:
            return date.fromisoformat(typed)
        day, month = int(month_named[1]), _MONTH_NUMBERS.get(month_named[2].lower(), 0)
        if month_named[3] is not None:
            return date(int(month_named[3]), month, day)
    except ValueError:
        raise InputError(
            f"{text[:40]!r} is not a day", do="write it as 2026-10-31, 31/10/2026 or 31 Oct 2026"
        ) from None
    days = []
    for year in () if today is None else range(today.year - 1, today.year + 2):
        # 29 February is not in every year.
        with suppress(ValueError):
            days.append(date(year, month, day))
    if today is None or not days:
        problem = "has no year" if today is None else "is not a day"
        raise InputError(f"{text[:40]!r} {problem}", do="write it as 31 Oct 2026")
    return min(days, key=lambda each: abs(each - today))


def day_words(day: date | None, *, with_year: bool = True) -> str:
    """Format a day for people, as in `30 Oct 2026` or `30 Oct`; empty for None.

    The name of the month does not depend on the locale.
    """
    if day is None:
        return ""
    words = f"{day.day} {_NAMES[day.month - 1][:3]}"
    return f"{words} {day.year}" if with_year else words


class Month(msgspec.Struct, frozen=True, order=True):
    """A calendar month; its instants depend on the reporting time zone."""

    year: int
    month: int

    @classmethod
    def parse(cls, text: str) -> Month:
        """Parse a month such as `2026-10`.

        Raise InputError for other text, and for years before 1900 or after 2099.
        """
        # A number is refused like other text.
        text = str(text)
        matched = _MONTH.fullmatch(text.strip())
        if matched is None or not 1 <= int(matched[2]) <= 12:
            near_month = _respelled_month(text)
            near = f"; is it {near_month}?" if near_month else ""
            raise InputError(f"{text[:40]!r} is not a month{near}", do="write it as 2026-10")
        if not _FIRST_YEAR <= int(matched[1]) <= _LAST_YEAR_OF_MONTHS:
            raise InputError(
                f"{text[:40]!r} is outside the years {_FIRST_YEAR} to {_LAST_YEAR_OF_MONTHS}",
                do="give a month within these years",
            )
        return cls(int(matched[1]), int(matched[2]))

    @classmethod
    def of(cls, day: date) -> Month:
        """Return the month of a day."""
        return cls(day.year, day.month)

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}"

    @property
    def title(self) -> str:
        """The month in English, such as `October 2026`, regardless of the locale."""
        return f"{_NAMES[self.month - 1]} {self.year}"

    @property
    def first(self) -> date:
        """The month's first day."""
        return date(self.year, self.month, 1)

    @property
    def last(self) -> date:
        """The month's last day."""
        return self.next.first - _DAY

    @property
    def next(self) -> Month:
        """The month after this one."""
        return Month(self.year + self.month // 12, self.month % 12 + 1)

    @property
    def previous(self) -> Month:
        """The month before this one."""
        return Month.of(self.first - _DAY)

    def days(self) -> Iterator[date]:
        """Yield the month's days in order."""
        return (self.first + n * _DAY for n in range((self.last - self.first).days + 1))

    def start(self, zone: ZoneInfo) -> datetime:
        """Return the instant, in UTC, at which the month begins in `zone`."""
        return datetime.combine(self.first, time(), zone).astimezone(UTC)

    def end(self, zone: ZoneInfo) -> datetime:
        """Return the exclusive end in UTC: the instant at which the next month begins in `zone`."""
        return self.next.start(zone)


class Months(msgspec.Struct, frozen=True):
    """One or more consecutive months, with `first` and `last` included."""

    first: Month
    last: Month

    @classmethod
    def parse(cls, text: str) -> Months:
        """Parse `2026-10` or `2026-07..2026-10`; raise InputError for other text."""
        first, dots, last = text.partition("..")
        separator = _WRONG_SEPARATOR.fullmatch(text.strip())
        if separator is not None:
            raise InputError(
                f"{text[:40]!r} is not a range of months",
                do=f"write it as {separator[1]}..{separator[2]}",
            )
        months = cls(Month.parse(first), Month.parse(last if dots else first))
        if months.last < months.first:
            raise InputError(f"{text[:40]!r} ends before it begins", do="write the earlier first")
        return months

    def __iter__(self) -> Iterator[Month]:
        month = self.first
        while month <= self.last:
            yield month
            month = month.next

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}..{self.last}"

    @property
    def title(self) -> str:
        """The months in English: `October 2026` or `July 2026 to October 2026`."""
        if self.first == self.last:
            return self.first.title
        return f"{self.first.title} to {self.last.title}"


def _respelled_month(text: str) -> str:
    """Return the month meant by another spelling, such as `Oct 2026`; empty if unknown.

    The letters O and o are read as the digit 0, and I and l as the digit 1.
    """
    year = _YEAR.search(text)
    if year is None:
        return ""
    others = text[: year.start()] + text[year.end() :]
    for number, name in enumerate(_NAMES, start=1):
        if name[:3].casefold() in others.casefold():
            return f"{year[0]}-{number:02}"
    digits = re.sub(r"[^0-9]", "", others.translate(str.maketrans("OoIl", "0011")))
    return f"{year[0]}-{int(digits):02}" if digits.isdecimal() and 1 <= int(digits) <= 12 else ""


_NAMES = (
    "January", "February", "March", "April", "May", "June", "July",
    "August", "September", "October", "November", "December",
)  # fmt: skip
_MONTH_NUMBERS: Final = {
    name: number
    for number, full in enumerate(map(str.lower, _NAMES), start=1)
    for name in (full, full[:3])
}
"""Number of each month by its name and by its first three letters, in lower case."""
