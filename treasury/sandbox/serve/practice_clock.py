"""The company's clock in the hands of whoever practises: read it, move it on, never back.

Whatever falls due on the way happens at its time: reviews, money that arrives, coins that are
delivered, payouts. Access tokens run out by the machine's clock and do not follow.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from treasury.errors import InputError
from treasury.sandbox.story.world import World

__all__ = ["PracticeClock"]


class PracticeClock:
    """The clock of one sandbox."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def now(self) -> datetime:
        """The instant that it is at the company, in UTC."""
        return self._world.clock.now

    @property
    def today(self) -> date:
        """The day that it is in Brussels."""
        return self._world.clock.today

    def advance(self, span: timedelta | None = None, **parts: float) -> int:
        """Move on: `advance(days=1, hours=2)` or by a timedelta; says how much happened."""
        with self._world.lock:
            return self.set(self.now + (span or timedelta()) + timedelta(**parts))

    def set(self, until: datetime) -> int:
        """Move on to an instant; says how many things happened on the way."""
        if until.tzinfo is None:
            raise InputError(f"{until} names no time zone", do="write 2026-11-03T09:00:00Z")
        with self._world.lock:
            if until < self.now:
                raise InputError(
                    f"the company's clock stands at {self.now:%Y-%m-%dT%H:%M:%SZ} already",
                    do="begin anew to go back; the clock only moves on",
                )
            return self._world.advance(until.astimezone(UTC))
