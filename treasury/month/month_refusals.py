"""Checks before a month is reconciled: it has begun, records are stored, currencies are known.

Each check needs at most two short queries, so that DuckDB and Spark can run it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from treasury.core.calendar import Month
from treasury.core.errors import InputError, NothingStored, StatementError
from treasury.core.files.package_files import step_sql
from treasury.core.text import clean
from treasury.month.question import Question

_FirstRow: TypeAlias = Callable[[str], Sequence[Any] | None]
"""A function that returns the first row of a query over the tables of a run, or None."""


def require_begun(question: Question) -> None:
    """Raise InputError if the month has not begun."""
    if question.month.start(question.zone) > question.as_of:
        raise InputError(
            f"{question.month} has not begun on {question.today}", do="ask for an earlier month"
        )


_WITHOUT_CURRENCY: Final = step_sql("treasury.month.queries", "movement_without_currency")
"""Finds a movement without a currency on an account that has several currencies."""


def require_currency(first_row: _FirstRow) -> None:
    """Raise StatementError if the currency of a stored movement cannot be known."""
    row = first_row(_WITHOUT_CURRENCY)
    if row is not None:
        file, statement_id, account = (clean(text) for text in row)
        raise StatementError(
            f"{file} names no currency, and account {account} is declared in several",
            do=f"run `treasury statements withdraw {statement_id[:8]} --reason …`, give the "
            "currency in the profile of its CSV, and add it again",
        )


_BOOKED_DAYS: Final = step_sql("treasury.month.queries", "booked_days")
_COVERED_OR_COMPLETED: Final = step_sql("treasury.month.queries", "covered_or_completed")


def require_month(first_row: _FirstRow, month: Month) -> None:
    """Raise NothingStored if the month has no records.

    One of these is enough: a line booked by the month's end, an account with proved statements that
    cover the month, or a request completed in it.
    """
    first_booked, first, last = first_row(_BOOKED_DAYS) or (None, None, None)
    if first_booked is not None and first_booked <= month.last:
        return
    if first_row(_COVERED_OR_COMPLETED) is not None:
        return
    stored = f"bank lines are stored from {first} to {last}" if first else "no bank line is stored"
    raise NothingStored(
        f"nothing is stored for {month}: {stored}",
        do="run `treasury sync` and `treasury statements add FILE…`, or ask for another month",
    )
