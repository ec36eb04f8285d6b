"""A journal entry of double-entry bookkeeping and its legs."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import msgspec


class BookLeg(msgspec.Struct, frozen=True, gc=False):
    """A leg of an entry, debit positive, in `currency`; `of` is the IBAN or asset of its role."""

    role: str
    currency: str
    amount: Decimal
    of: str = ""

    def against(self, role: str) -> tuple[BookLeg, BookLeg]:
        """Return this leg and a leg of another role that balances it."""
        return self, BookLeg(role, self.currency, self.amount.copy_negate())


class BookEntry(msgspec.Struct, frozen=True, gc=False):
    """One journal entry; its legs balance to zero in each currency.

    `subject` is the id of the request with money in transit, if the entry is about money in
    transit.
    """

    entry: str
    on: date
    text: str
    legs: tuple[BookLeg, ...]
    sources: tuple[str, ...] = ()
    subject: str | None = None
