"""Facts of a statement for comparison with its neighbours.

The proof of a statement, the coverage of days and the comparison of movements use the same rule: a
statement continues another if its opening balance is the other's closing balance; the bank's
counter shows whether a statement is missing between the two.
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
"""Columns of `statements` from which the facts are derived."""

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_ONE_DAY: Final = timedelta(days=1)


class StatementFacts(msgspec.Struct, frozen=True):
    """Days, balances and number of a statement, or of a balance confirmed by a person.

    `first` and `last` are the first and last day of its movements; without days, `first` is the
    latest possible date and `last` the earliest.
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
    """First day on which the balance is known: of the period, else of the opening balance."""

    @property
    def is_final(self) -> bool:
        """Return whether the statement is proved and not a report: then it has all movements."""
        return self.proved and not self.is_provisional

    @property
    def states_a_balance(self) -> bool:
        """Return whether the statement has a balance, which other evidence may contradict."""
        return self.opening is not None or self.closing is not None

    @property
    def is_csv(self) -> bool:
        """Return whether the statement is a CSV export.

        A person chooses which days an export covers, and when it is made.
        """
        return self.format.startswith("CSV")

    @property
    def version(self) -> tuple[bool, datetime, int, str]:
        """Return a sort key: of two versions the one with the greater key counts.

        Only proof and age show which version is right; the rest is a tie-break until a person
        decides.
        """
        return self.proved, self.written, self.entry_count, self.movements_hash

    @property
    def is_provisional(self) -> bool:
        """Return whether the statement is a report, whose movements a later statement repeats."""
        return self.format in {"camt.052", "camt.054", "MT942"}

    def covers(self, account: str | None, day: date) -> bool:
        """Return whether the statement has every movement of the account on a day."""
        return self.is_final and self.account == account and self.first <= day <= self.last

    def continues(self, before: StatementFacts) -> bool:
        """Return whether the statement opens with the closing balance of `before`."""
        return before.closing is not None and self.opening == before.closing

    def has_next_number(self, before: StatementFacts) -> bool:
        """Return whether the statement follows `before` directly by the bank's counter."""
        return before.sequence is not None and self.sequence == before.sequence + 1

    def missing_numbers(self, before: StatementFacts) -> range:
        """Return the bank's numbers between the two; the counter may restart with the year."""
        if not before.sequence or not self.sequence:
            return range(0)
        if before.first.year >= self.last.year:
            return range(before.sequence + 1, self.sequence)
        begins_anew = before.last.year + 1 == self.first.year and self.sequence < before.sequence
        return range(1, self.sequence) if begins_anew else range(0)

    def amount_text(self, amount: Decimal | None) -> str:
        """Return an amount as text with the currency of the statement."""
        return format_amount(amount or Decimal(0), self.currency or "").strip()

    def is_apart_from(self, statement: StatementFacts) -> bool:
        """Return whether the two certainly have no movement in common, even on a shared day."""
        if self.statement_id == statement.statement_id:
            return False
        if not (self.is_final and statement.is_final):
            return False
        if self.currency != statement.currency:
            return True
        # Some banks write several numbered statements per day.
        days = {self.first, self.last, statement.first, statement.last}
        counted = None not in {self.sequence, statement.sequence}
        is_other = self.sequence != statement.sequence and self.format == statement.format
        return (
            self._continues_on_its_last_day(statement)
            or statement._continues_on_its_last_day(self)
            or (len(days) == 1 and counted and is_other)
        )

    def _continues_on_its_last_day(self, before: StatementFacts) -> bool:
        """Return whether this continues `before` on the last day of `before`, without overlap."""
        moved = before.opening != before.closing
        return (
            self.continues(before)
            and date.min < before.last <= self.last
            and before.last in {self.first, self.last}
            and (moved or self.has_next_number(before))
        )


def facts_of(row: Mapping[str, Any]) -> StatementFacts:
    """Return the facts of a row with the FACT_COLUMNS of `statements`."""
    first, opened = row["from_date"], row["opening_date"]
    # Some banks write midnight of the next day as the end of a period.
    last = min((day for day in (row["to_date"], row["closing_date"]) if day), default=None)
    if first is None and opened is not None and last is not None:
        # The opening balance is that of the day before, unless both balances have the same day.
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
