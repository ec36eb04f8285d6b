"""A sync as a panel's work: progress on screen, and Cancel, which stores nothing."""

from __future__ import annotations

from treasury.extract import SyncReport
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Message, Text
from treasury.panels.frames.panel import status
from treasury.panels.frames.panel_text import instant


class SyncProgress:
    """The progress of a sync on screen; if it is cancelled between two steps, nothing is stored."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._total: dict[str, int] = {}
        self._done: dict[str, int] = {}

    def start(self, task: str, total: int) -> None:
        """Start a task, named by its table, with `total` steps."""
        self._total[task], self._done[task] = total, 0
        self._say(task)

    def advance(self, task: str) -> None:
        """Advance a task by one step."""
        self._done[task] += 1
        self._say(task)

    def finish(self, task: str) -> None:
        """Finish a task."""
        self._done[task] = self._total[task]
        self._work.check()

    def _say(self, task: str) -> None:
        name = task.replace("_", " ")
        self._work.say(f"Syncing {name}", self._done[task], self._total[task] or None)


def synced(report: SyncReport) -> Message:
    """Return the message for a finished sync."""
    new = sum(table.new for table in report.tables)
    changed = sum(table.changed for table in report.tables)
    skipped = [Text(f"{skip.table} is unchanged: {skip.why}", "warn") for skip in report.skipped]
    unoffered = [Text(source.sentence) for source in report.unoffered]
    notices = [Text(notice, "warn") for notice in report.notices]
    brought = Text(f"{new:,} new and {changed:,} changed records, as of {instant(report.at)}")
    drift = [Text(str(difference)) for difference in report.drift or ()]
    if report.drift == ():
        drift = [Text("The stored data equals that of the services", "good")]
    return status("Synced", brought, *skipped, *unoffered, *notices, *drift)
