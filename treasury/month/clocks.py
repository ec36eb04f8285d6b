"""How long something may take, and how late it is: our clock and theirs, in the days of its rail.

SEPA settles on TARGET days. No other rail's calendar is configured, so those count calendar days,
and say so. A bank date has no hour: what is counted in clock hours is counted from the end of that
day in the reporting time zone, so that nothing is called late before it must be.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, Literal
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.calendar import add_target_days, target_days_between
from treasury.matching.rules import Rules

Stage = Literal["expected", "late", "missing"]


class Rail(msgspec.Struct, frozen=True):
    """The days that count on a payment rail; `unit` is how a person reads them."""

    unit: Literal["TARGET day", "calendar day"]

    def add(self, day: date, count: int) -> date:
        """The `count`-th day of this rail after `day`."""
        if self.unit == "TARGET day":
            return add_target_days(day, count)
        return day + timedelta(days=count)

    def between(self, start: date, end: date) -> int:
        """Days of this rail after `start` up to and including `end`; 0 where it is not later."""
        if self.unit == "TARGET day":
            return target_days_between(start, end)
        return max((end - start).days, 0)


TARGET: Final = Rail("TARGET day")
CALENDAR: Final = Rail("calendar day")


def rail_of(currency: str | None) -> Rail:
    """Euros move by SEPA; anything else, coins too, by rails whose calendar nobody configured."""
    return TARGET if currency == "EUR" else CALENDAR


def reacts_by(booked: date, rules: Rules, *, rail: Rail, instant: bool = False) -> date:
    """Their clock: the day by whose end the service has reacted to what was booked on `booked`."""
    return booked if instant else rail.add(booked, rules.theirs_target_days)


def placed_by(booked: date, rules: Rules, zone: ZoneInfo) -> datetime:
    """The instant by which a virtual-account credit without its reference has been placed."""
    return end_of(booked, zone) + timedelta(hours=rules.unreferenced_hours)


@lru_cache(1_000)
def end_of(day: date, zone: ZoneInfo) -> datetime:
    """The instant, in UTC, at which a day ends in `zone`: a day of 23 or 25 hours included."""
    return datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC)


def stage_of(due: date | None, today: date, rules: Rules, rail: Rail) -> Stage:
    """Expected until the end of `due`, then late for the days that the rules give, then missing."""
    if due is None or today <= due:
        return "expected"
    return "late" if rail.between(due, today) <= rules.late_target_days else "missing"


def days_word(count: int, rail: Rail) -> str:
    """`1 TARGET day`, `3 calendar days`."""
    return f"{count} {rail.unit}{'' if count == 1 else 's'}"
