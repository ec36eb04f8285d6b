"""A question about a month: for which company, at which time and under which rules."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.calendar import Month
from treasury.core.settings import BankAccount
from treasury.matching.rules import Rules


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A question about a company's month, at the time `as_of` and under these rules.

    `uses_services` is false for a company that has bank files alone.
    """

    month: Month
    as_of: datetime
    company: str
    environment: str
    zone: ZoneInfo
    accounts: tuple[BankAccount, ...]
    rules: Rules = Rules()
    uses_services: bool = True

    @property
    def today(self) -> date:
        """The day of `as_of` in the reporting time zone."""
        return self.as_of.astimezone(self.zone).date()
