"""How many calls may be under way at once: as many as the service takes without saying 429.

The limit is halved when the service refuses for rate and grows by one for each full round of
successes, so it settles a little below what is allowed. All threads of a client share one limiter.
A burst of refusals from one round halves it once: only a call that began after the last halving
speaks about the limit as it is now.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Limiter:
    """Gives at most `limit` slots at a time; `limit` moves between 1 and `ceiling`."""

    def __init__(self, ceiling: int) -> None:
        self._ceiling = max(1, ceiling)
        self._limit = float(self._ceiling)
        self._taken = 0
        self._epoch = 0
        self._changed = threading.Condition()

    @property
    def limit(self) -> int:
        """Calls that may be under way at once."""
        return int(self._limit)

    @contextmanager
    def slot(self, timeout: float) -> Iterator[int | None]:
        """Leave to make a call, waited for in turn; None where none came within `timeout` seconds.

        It is the number of the halvings before it was given.
        """
        with self._changed:
            free = self._changed.wait_for(lambda: self._taken < self.limit, max(0.0, timeout))
            if free:
                self._taken += 1
            slot = self._epoch if free else None
        try:
            yield slot
        finally:
            if slot is not None:
                with self._changed:
                    self._taken -= 1
                    self._changed.notify_all()

    def refused(self, slot: int) -> None:
        """The service said 429 to a call made with `slot`."""
        with self._changed:
            if slot == self._epoch:
                self._limit = max(1.0, self._limit / 2)
                self._epoch += 1

    def served(self) -> None:
        """The service took a call."""
        with self._changed:
            self._limit = min(float(self._ceiling), self._limit + 1 / self._limit)
            self._changed.notify_all()
