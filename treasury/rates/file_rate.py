"""One rate as it stands in a file, and what no rate may be, whatever file it is in."""

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
    """One rate of a file: where it stands, and what it says."""

    place: int
    """Its line, or its row in a file that has no lines."""
    day: date
    at: datetime | None
    base: str
    quote: str
    rate: Decimal
    published: str
    """Its digits as they stand in the file."""

    def require_plausible(self, where: str, now: datetime, zone: ZoneInfo) -> None:
        """InputError for a rate that cannot be right; `where` is its file and line."""
        for code in (self.base, self.quote):
            if code not in EXPONENTS:
                raise InputError(
                    f"{where}: {code[:40]!r} is no currency that is known",
                    do="write its code of three letters, or a coin's that the services name",
                )
        if self.base == self.quote:
            raise InputError(f"{where}: a rate of {self.base} in itself", do="name two currencies")
        if self.rate <= 0:
            raise InputError(
                f"{where}: {self.base}/{self.quote} is {self.published}",
                do="a rate is above zero; correct it, or leave the line out",
            )
        is_to_come = self.at is not None and self.at > now
        if is_to_come or self.day > now.astimezone(zone).date():
            raise InputError(
                f"{where}: {self.at or self.day} has not come yet", do="correct the day"
            )


def read_at(where: str, read: Callable[[], T]) -> T:
    """What is read of a line, or its error with the file and the line."""
    try:
        return read()
    except InputError as error:
        raise InputError(f"{where}, {error.what}", do=error.do) from None
