"""What the verbs of people take from a workspace: its lake, journal, clock and settings.

A workspace as known at an earlier instant reads only: `until` keeps it from deciding anything.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec

from treasury.actions.policies.policy import Policy
from treasury.core.calendar import Month
from treasury.journal import Journal
from treasury.journal.decision_log import Decided, read_decided
from treasury.lake import Lake, Snapshot
from treasury.reconcile import Question, Rules


class DeskContext(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A workspace as its verbs see it; `until` is the instant of one that only reads."""

    lake: Lake
    journal: Journal
    snapshot: Callable[[], Snapshot]
    question: Callable[[str | Month, Rules | None], Question]
    rules_file: Path
    zone: ZoneInfo
    now: Callable[[], datetime]
    until: datetime | None
    policy: Callable[[], Policy]
    heads: Path | None = None
    """Where each close publishes the journal's head."""

    @property
    def today(self) -> date:
        """The day of the question in the reporting time zone."""
        return self.now().astimezone(self.zone).date()

    @property
    def month(self) -> Month:
        """The month that it is."""
        return Month.of(self.today)

    def decided(self) -> Decided:
        """What people decided up to this workspace's instant."""
        return read_decided(self.journal, until=self.until)
