"""The company's clock: it stands still until somebody writes, then moves on by a second.

Only whoever practises moves it further; what falls due on the way then happens at its time. Tokens
run out by the machine's clock and know nothing of this one.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_BRUSSELS: Final = ZoneInfo("Europe/Brussels")
FIRST_DAY: Final = date(2026, 5, 1)
LAST_DAY: Final = date(2026, 10, 31)
"""The last day of which there are statements."""
START: Final = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)
"""2 November 2026, 09:00 in Brussels: the morning on which the sandbox opens."""


def at(day: date, clock: str) -> datetime:
    """An instant by the company's wall clock: `at(day, "09:20")`."""
    return datetime.combine(day, time.fromisoformat(clock), _BRUSSELS).astimezone(UTC)


class CompanyClock:
    """What time it is at the services."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    @property
    def today(self) -> date:
        """The day that it is in Brussels."""
        return self.now.astimezone(_BRUSSELS).date()

    def tick(self) -> datetime:
        """Move on by a second, so that no two writes share an instant."""
        self.now += timedelta(seconds=1)
        return self.now
