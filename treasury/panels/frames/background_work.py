"""Slow work off the kernel's main thread, with progress and cancellation.

Cancel only sets a flag. The work checks the flag at points where stopping leaves nothing half done.
From the point at which it has an effect it can no longer be cancelled, and the button is disabled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from treasury.panels.frames.blocks import ProgressBlock


class Cancelled(Exception):
    """The person cancelled the work before it had any effect."""


class Work:
    """A slow task; `changed` is called whenever the display has to change."""

    def __init__(self, label: str, changed: Callable[[], object]) -> None:
        self._lock = threading.Lock()
        self._changed = changed
        self._cancelled = False
        self.progress = ProgressBlock(label)
        """The progress that is shown."""

    def cancel(self) -> None:
        """Request cancellation, if it is not too late."""
        with self._lock:
            self._cancelled = self._cancelled or self.progress.may_cancel

    def check(self) -> None:
        """Raise Cancelled if cancellation was requested."""
        with self._lock:
            if self._cancelled:
                raise Cancelled

    def say(self, label: str, count: int = 0, total: int | None = None) -> None:
        """Show the progress; raise Cancelled if cancellation was requested."""
        self.check()
        self._show(ProgressBlock(label, count, total))

    def go_on(self, label: str, count: int, total: int) -> None:
        """Show the progress after a step; raise Cancelled before the next step if requested."""
        self._show(ProgressBlock(label, count, total))
        self.check()

    def pass_the_point(self, label: str) -> None:
        """Disable cancellation from here on; raise Cancelled if it was just requested."""
        with self._lock:
            if self._cancelled:
                raise Cancelled
            self.progress = ProgressBlock(label, may_cancel=False)
        self._changed()

    def _show(self, progress: ProgressBlock) -> None:
        with self._lock:
            self.progress = progress
        self._changed()
