"""Limits the number of parallel calls, so that the service rarely answers 429.

The limit is halved when the service answers 429. At a limit of n, it grows by one after n
successes, so it settles slightly below the allowed rate. All threads of a client share one limiter.
If several parallel calls are refused, the limit is halved once: calls that began before the last
halving are ignored.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Limiter:
    """Lets at most `limit` calls run at a time; `limit` moves between 1 and `ceiling`."""

    def __init__(self, ceiling: int) -> None:
        self._ceiling = max(1, ceiling)
        self._limit = float(self._ceiling)
        self._taken = 0
        self._epoch = 0
        self._changed = threading.Condition()

    @property
    def limit(self) -> int:
        """Maximum number of parallel calls."""
        return int(self._limit)

    @contextmanager
    def slot(self, timeout: float) -> Iterator[int | None]:
        """Wait until a call may start; yield None after `timeout` seconds.

        The yielded slot is the number of halvings so far.
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
        """Record that the service answered 429 to a call made with `slot`."""
        with self._changed:
            if slot == self._epoch:
                self._limit = max(1.0, self._limit / 2)
                self._epoch += 1

    def served(self) -> None:
        """Record that a call succeeded."""
        with self._changed:
            self._limit = min(float(self._ceiling), self._limit + 1 / self._limit)
            self._changed.notify_all()
