"""The company's clock: each write moves it forward by a second; otherwise it stops.

Only the user moves it further; events that fall due in between happen at their time. Tokens expire
by the machine's clock instead.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_BRUSSELS: Final = ZoneInfo("Europe/Brussels")
FIRST_DAY: Final = date(2026, 5, 1)
LAST_DAY: Final = date(2026, 10, 31)
"""Last day with statements."""
START: Final = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)
"""2 November 2026, 09:00 in Brussels: the morning on which the sandbox opens."""


def at(day: date, clock: str) -> datetime:
    """Return an instant by the company's wall clock: `at(day, "09:20")`."""
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
        """Move forward by a second, so that no two writes share an instant."""
        self.now += timedelta(seconds=1)
        return self.now
