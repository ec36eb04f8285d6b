"""Which month a bank line belongs to once months are closed.

It is the month that the bank booked it in, unless that month was closed before the line was known:
then it is the next month that was still open. So a closed month never changes, and no line is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime

from treasury.calendar import Month
from treasury.journal.period_history import Period

__all__ = ["posted_to"]


def posted_to(booked: date, known_from: datetime | None, closed: Mapping[str, Period]) -> Month:
    """The month that a line posts to; `known_from` is when it first came into the lake."""
    month = Month.of(booked)
    while (
        known_from is not None
        and (period := closed.get(str(month))) is not None
        and known_from > period.close.known_at
    ):
        month = month.next
    return month
