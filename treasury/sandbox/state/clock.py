"""The company's clock: each write moves it forward by a second; otherwise it stands still.

The user can move it forward; events that become due on the way happen at their own time. Tokens
expire by the machine's clock instead.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_BRUSSELS: Final = ZoneInfo("Europe/Brussels")
FIRST_DAY: Final = date(2026, 5, 1)
LAST_DAY: Final = date(2026, 10, 31)
"""Last day of the story's bank statements."""
START: Final = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)
"""Time at which the sandbox starts: 2 November 2026, 09:00 in Brussels."""


def at(day: date, clock: str) -> datetime:
    """Return the instant of a local time at the company, as in `at(day, "09:20")`."""
    return datetime.combine(day, time.fromisoformat(clock), _BRUSSELS).astimezone(UTC)


class CompanyClock:
    """The company's current time, also used by the services."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    @property
    def today(self) -> date:
        """Return the current date in Brussels."""
        return self.now.astimezone(_BRUSSELS).date()

    def tick(self) -> datetime:
        """Move forward by a second, so that each write has its own time."""
        self.now += timedelta(seconds=1)
        return self.now
