"""Due dates and lateness of our payments and the service's, in the days of each payment rail.

SEPA settles on TARGET days. Other rails have no configured calendar, so they count calendar days,
and the screen names the unit. A bank date has no hour: periods in hours start at the end of that
day in the reporting time zone, so that no payment is called late too early.
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
    """A payment rail and its settlement days; `unit` is the screen word for one of these days."""

    unit: Literal["TARGET day", "calendar day"]

    def add(self, day: date, count: int) -> date:
        """Return the `count`-th day of this rail after `day`."""
        if self.unit == "TARGET day":
            return add_target_days(day, count)
        return day + timedelta(days=count)

    def between(self, start: date, end: date) -> int:
        """Count the days of this rail after `start` up to and including `end`; at least 0."""
        if self.unit == "TARGET day":
            return target_days_between(start, end)
        return max((end - start).days, 0)


TARGET: Final = Rail("TARGET day")
CALENDAR: Final = Rail("calendar day")


def rail_of(currency: str | None) -> Rail:
    """Return TARGET for euros, which move by SEPA, and CALENDAR for other currencies and coins."""
    return TARGET if currency == "EUR" else CALENDAR


def reacts_by(booked: date, rules: Rules, *, rail: Rail, instant: bool = False) -> date:
    """Return the last day on which the service's reaction to a booking is in time."""
    return booked if instant else rail.add(booked, rules.theirs_target_days)


def placed_by(booked: date, rules: Rules, zone: ZoneInfo) -> datetime:
    """Return the time by which the provider should assign a credit that lacks its reference."""
    return end_of(booked, zone) + timedelta(hours=rules.unreferenced_hours)


@lru_cache(1_000)
def end_of(day: date, zone: ZoneInfo) -> datetime:
    """Return the end of a day in `zone`, in UTC; days of 23 or 25 hours are handled."""
    return datetime.combine(day + timedelta(days=1), time(), zone).astimezone(UTC)


def stage_of(due: date | None, today: date, rules: Rules, rail: Rail) -> Stage:
    """Return `expected` until the end of `due` or without one, then `late`, then `missing`."""
    if due is None or today <= due:
        return "expected"
    return "late" if rail.between(due, today) <= rules.late_target_days else "missing"


def days_word(count: int, rail: Rail) -> str:
    """Return words such as `1 TARGET day` or `3 calendar days`."""
    return f"{count} {rail.unit}{'' if count == 1 else 's'}"
