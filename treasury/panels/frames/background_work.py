"""Work that takes a while: off the kernel's main thread, with progress, and with a way to stop it.

Stopping is a request. The work looks at it where stopping leaves nothing half done, and passes a
point after which it can no longer be stopped: from there on it says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from treasury.panels.frames.blocks import ProgressBlock


class Cancelled(Exception):
    """The person stopped the work before it did anything."""


class Work:
    """One piece of work; `changed` is called whenever there is something new to show."""

    def __init__(self, label: str, changed: Callable[[], object]) -> None:
        self._lock = threading.Lock()
        self._changed = changed
        self._cancelled = False
        self.progress = ProgressBlock(label)
        """How far it is."""

    def cancel(self) -> None:
        """Ask it to stop, where it is not too late."""
        with self._lock:
            self._cancelled = self._cancelled or self.progress.may_cancel

    def check(self) -> None:
        """Stop here if asked to; raises Cancelled."""
        with self._lock:
            if self._cancelled:
                raise Cancelled

    def say(self, label: str, count: int = 0, total: int | None = None) -> None:
        """Show how far it is, and stop here if asked to."""
        self.check()
        self._show(ProgressBlock(label, count, total))

    def go_on(self, label: str, count: int, total: int) -> None:
        """Show how far it is, where it may be stopped again before what comes next."""
        self._show(ProgressBlock(label, count, total))
        self.check()

    def pass_the_point(self, label: str) -> None:
        """From here on it cannot be stopped; Cancelled where it was asked to just before."""
        with self._lock:
            if self._cancelled:
                raise Cancelled
            self.progress = ProgressBlock(label, may_cancel=False)
        self._changed()

    def _show(self, progress: ProgressBlock) -> None:
        with self._lock:
            self.progress = progress
        self._changed()
