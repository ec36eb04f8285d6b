"""An entry of the month's double entry and its sides, whatever it was made from."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec


class BookLeg(msgspec.Struct, frozen=True, gc=False):
    """A side of an entry, debit positive, in `currency`; `of` is the IBAN or asset of its role."""

    role: str
    currency: str
    amount: Decimal
    of: str = ""

    def against(self, role: str) -> tuple[BookLeg, BookLeg]:
        """This side, and one of another role that takes it to nothing."""
        return self, BookLeg(role, self.currency, self.amount.copy_negate())


class BookEntry(msgspec.Struct, frozen=True, gc=False):
    """What is posted of one thing; its sides come to nothing in each currency.

    `subject` is the request whose money in transit it is about, where it is about one.
    """

    entry: str
    on: date
    text: str
    legs: tuple[BookLeg, ...]
    sources: tuple[str, ...] = ()
    subject: str | None = None
