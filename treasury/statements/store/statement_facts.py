"""What a statement says that matters to the statements beside it, and which of them continues it.

The proof of a statement, the days that statements cover and the movements that two of them share
all go by this one struct and its rule: a statement continues another if it opens with the balance
that the other closed with; the bank's counter says whether one lies between.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.core.decoding import convert
from treasury.core.money import format_amount

FACT_COLUMNS: Final = (
    "statement_id", "file_name", "format", "account", "currency", "from_date", "to_date",
    "opening_date", "closing_date", "opening_balance", "closing_balance", "sequence_number",
    "created_at", "entry_count", "credit_total", "debit_total", "proved", "movements_hash",
)  # fmt: skip
"""The columns of `statements` that the facts are made of."""

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_ONE_DAY: Final = timedelta(days=1)


class StatementFacts(msgspec.Struct, frozen=True):
    """The days, balances and number of a statement, or of a balance that a person confirmed.

    `first` and `last` are the days whose movements it has; no day is between them where it does not
    state both.
    """

    statement_id: str
    account: str | None = None
    currency: str | None = None
    format: str = ""
    proved: bool = False
    written: datetime = _LONG_AGO
    sequence: int | None = None
    first: date = date.max
    last: date = date.min
    opening: Decimal | None = None
    closing: Decimal | None = None
    file_name: str = ""
    credits: Decimal = Decimal(0)
    debits: Decimal = Decimal(0)
    entry_count: int = 0
    movements_hash: str = ""
    since: date = date.max
    """The day from which its balance is known: the first, else that of the opening balance."""

    @property
    def is_final(self) -> bool:
        """Whether it is a statement of booked movements, proved: what it lacks did not happen."""
        return self.proved and not self.is_provisional

    @property
    def is_csv(self) -> bool:
        """Whether it is an export, of whichever days a person asked for and at any hour."""
        return self.format.startswith("CSV")

    @property
    def version(self) -> tuple[bool, datetime, int, str]:
        """What says which of two versions counts: the greater one, whichever comes first.

        Only proof and age tell which is right; the rest settles it until a person does.
        """
        return self.proved, self.written, self.entry_count, self.movements_hash

    @property
    def is_provisional(self) -> bool:
        """Whether it only reports what a statement will have."""
        return self.format in {"camt.052", "camt.054", "MT942"}

    def covers(self, account: str | None, day: date) -> bool:
        """Whether it has every movement of the account on that day."""
        return self.is_final and self.account == account and self.first <= day <= self.last

    def continues(self, before: StatementFacts) -> bool:
        """Whether it opens with the balance that the one before it closed with."""
        return before.closing is not None and self.opening == before.closing

    def has_next_number(self, before: StatementFacts) -> bool:
        """Whether the bank's counter says that it directly follows the one before it."""
        return before.sequence is not None and self.sequence == before.sequence + 1

    def missing_numbers(self, before: StatementFacts) -> range:
        """The bank's numbers between the two; its counter may begin anew with the year."""
        if not before.sequence or not self.sequence:
            return range(0)
        if before.first.year >= self.last.year:
            return range(before.sequence + 1, self.sequence)
        begins_anew = before.last.year + 1 == self.first.year and self.sequence < before.sequence
        return range(1, self.sequence) if begins_anew else range(0)

    def amount_text(self, amount: Decimal | None) -> str:
        """An amount of it, with its currency."""
        return format_amount(amount or Decimal(0), self.currency or "").strip()

    def is_apart_from(self, statement: StatementFacts) -> bool:
        """Whether the two have no movement in common although they share a day."""
        if self.statement_id == statement.statement_id:
            return False
        if not (self.is_final and statement.is_final):
            return False
        if self.currency != statement.currency:
            return True
        # Some banks write several numbered statements a day.
        days = {self.first, self.last, statement.first, statement.last}
        counted = None not in {self.sequence, statement.sequence}
        is_other = self.sequence != statement.sequence and self.format == statement.format
        return (
            self._continues_on_its_last_day(statement)
            or statement._continues_on_its_last_day(self)
            or (len(days) == 1 and counted and is_other)
        )

    def _continues_on_its_last_day(self, before: StatementFacts) -> bool:
        """Whether it continues the one before on the same day, which is not the same one again."""
        moved = before.opening != before.closing
        return (
            self.continues(before)
            and date.min < before.last <= self.last
            and before.last in {self.first, self.last}
            and (moved or self.has_next_number(before))
        )


def facts_of(row: Mapping[str, Any]) -> StatementFacts:
    """The facts in a row of `statements`, which has the FACT_COLUMNS."""
    first, opened = row["from_date"], row["opening_date"]
    # Banks also write midnight of the next day as the end of what they say.
    last = min((day for day in (row["to_date"], row["closing_date"]) if day), default=None)
    if first is None and opened is not None and last is not None:
        # An opening balance is as of the day before, unless both are of one day.
        first = min(opened + _ONE_DAY, last)
    return convert(
        {
            "statement_id": row["statement_id"],
            "account": row["account"],
            "currency": row["currency"],
            "format": row["format"] or "",
            "proved": row["proved"],
            "written": row["created_at"] or _LONG_AGO,
            "sequence": row["sequence_number"],
            "first": first or date.max,
            "last": last or date.min,
            "opening": row["opening_balance"],
            "closing": row["closing_balance"],
            "file_name": row["file_name"],
            "credits": row["credit_total"] or Decimal(0),
            "debits": row["debit_total"] or Decimal(0),
            "entry_count": row["entry_count"],
            "movements_hash": row["movements_hash"] or "",
            "since": min(filter(None, (row["from_date"] or opened, last)), default=date.max),
        },
        StatementFacts,
    )
