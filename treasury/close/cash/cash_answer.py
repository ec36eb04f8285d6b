"""The answer of `t.cash()`: the position of every account, and its totals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar
from zoneinfo import ZoneInfo

import msgspec

from treasury.close.cash.position import FUNDS_WORDS
from treasury.core.tables.table import Table, Tables


class Cash(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The cash position at the time `at`: `position` as in POSITION, `funds` as in FUNDS."""

    code_columns: ClassVar[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
        "funds": {"funds": FUNDS_WORDS}
    }

    at: datetime
    zone: ZoneInfo
    position: Table
    funds: Table

    def time_zone(self) -> ZoneInfo:
        """Return the reporting time zone."""
        return self.zone
