"""One rate as read from a file, and the checks that every rate must pass."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import TypeVar
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import EXPONENTS

T = TypeVar("T")


class FileRate(msgspec.Struct, frozen=True):
    """One rate of a file, with its position in the file."""

    place: int
    """Line number, or row number in a Parquet file."""
    day: date
    at: datetime | None
    base: str
    quote: str
    rate: Decimal
    published: str
    """The digits as written in the file."""

    def require_plausible(self, where: str, now: datetime, zone: ZoneInfo) -> None:
        """Raise InputError for an impossible rate; `where` names its file and line."""
        for code in (self.base, self.quote):
            if code not in EXPONENTS:
                raise InputError(
                    f"{where}: {code[:40]!r} is not a known currency",
                    do="write its three-letter code, or the code of a coin that the services list",
                )
        if self.base == self.quote:
            raise InputError(
                f"{where}: a rate of {self.base} against itself", do="name two currencies"
            )
        if self.rate <= 0:
            raise InputError(
                f"{where}: {self.base}/{self.quote} is {self.published}",
                do="a rate must be above zero; correct it or remove the line",
            )
        is_to_come = self.at is not None and self.at > now
        if is_to_come or self.day > now.astimezone(zone).date():
            raise InputError(
                f"{where}: {self.at or self.day} is in the future", do="correct the day"
            )


def read_at(where: str, read: Callable[[], T]) -> T:
    """Call `read` and prefix its InputError with the file and the line."""
    try:
        return read()
    except InputError as error:
        raise InputError(f"{where}, {error.what}", do=error.do) from None
