"""The banks: all lines on accounts with statements, from the story and from later bookings.

Lines booked after the story are stored as records. A bank writes a statement for a past period: a
month or the requested days.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from msgspec.structs import replace

from treasury.core.calendar import Month, is_target_day, next_target_day
from treasury.core.errors import InputError
from treasury.core.money import is_exact_in, quantize
from treasury.sandbox.state.clock import FIRST_DAY
from treasury.sandbox.state.shapes import decode, encode
from treasury.sandbox.state.store import Record, Store
from treasury.sandbox.story.lines import Line, Period, StatementAccount

_KIND: Final = "bank_line"
_MOST: Final = Decimal(10) ** 12


class Bank:
    """Accounts with statements, and their lines."""

    def __init__(
        self, store: Store, accounts: list[StatementAccount], story: Iterable[Line]
    ) -> None:
        self._store = store
        self.accounts = accounts
        served = {account.iban for account in accounts}
        self.story = list(story)
        """Lines of the story, including those of accounts without statements."""
        self._stated = [line for line in self.story if line.account in served]

    @property
    def lines(self) -> list[Line]:
        """Return all lines on accounts with statements."""
        served = {account.iban for account in self.accounts}
        booked = (decode(text, Line) for text in self._store.page(_KIND, {}).items)
        return [*self._stated, *(line for line in booked if line.account in served)]

    def book(self, line: Line) -> Line:
        """Book a line in the current transaction; return it with the bank's reference."""
        number = len(self.story) + self._store.page(_KIND, {}, limit=0).total + 1
        reference = f"{line.account[-4:]}{line.booked:%y%m%d}{number:05d}"
        line = replace(line, servicer_reference=reference)
        text = encode(line)
        self._store.put([Record(kind=_KIND, id=reference, item=text, detail=text)])
        return line

    def day(self, today: date) -> date:
        """Return the day on which a payment sent today is booked."""
        return today if is_target_day(today) else next_target_day(today)

    def months(self, today: date) -> list[Period]:
        """Return all months from May 2026 on that are over."""
        months: list[Period] = []
        month = Month.of(FIRST_DAY)
        while month.last < today:
            months.append(Period(str(month), month.first, month.last, len(months) + 1))
            month = month.next
        return months

    def days(self, first: date, last: date, today: date) -> Period:
        """Return the statement period from `first` to `last`, which must be in the past."""
        if not FIRST_DAY <= first <= last < today:
            raise InputError(
                f"there is no statement from {first} to {last}",
                do=f"ask for days from {FIRST_DAY} to {today - timedelta(1)}",
            )
        return Period(f"{first}_{last}", first, last)


def cents(amount: Decimal) -> Decimal:
    """Return a positive amount in whole cents. Raises InputError for any other amount."""
    if not (amount.is_finite() and 0 < amount < _MOST and is_exact_in(amount, "EUR")):
        raise InputError(
            f"{amount} is not an amount in EUR",
            do="give a positive amount with at most two decimals",
        )
    return quantize(amount, "EUR")


def carries_code(text: str, code: str) -> bool:
    """Return whether a payment's text contains the whole code; only letters and digits count."""
    return _letters(code) in _letters(text)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).upper()
