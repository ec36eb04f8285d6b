"""How far the statements of an account reach: the days that a chain of proved statements covers.

That a payment was not made can only be said for covered days. Coverage is by business: the next
statement continues a chain if it overlaps it, or opens with the balance that the chain closed with
and no statement is missing between: the bank's counter says so, or no day on which the bank writes
one lies between. A person's confirmed balance bridges the days of a dormant account.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from treasury.calendar import Month, is_target_day
from treasury.lake import AMOUNT, BOOL, DATE, INTEGER, TEXT, TEXTS, Snapshot
from treasury.money import format_amount
from treasury.settings import WEEKDAYS, BankAccount, StatementDays
from treasury.statements.field_values import account_number
from treasury.statements.statement_tables import BALANCE_CONFIRMATIONS, COUNTING, STATEMENTS

__all__ = ["COVERAGE", "MONTH_COVERAGE", "coverage", "month_coverage", "stored_coverage"]

COVERAGE: Final = pa.schema(
    [
        ("account", TEXT),
        ("source", TEXT),
        ("currency", TEXT),
        ("covered_from", DATE),
        ("covered_to", DATE),
        ("statements", INTEGER),
        ("not_proved", INTEGER),
        ("gaps", TEXTS),
    ]
)
"""A row per account and currency; the days are those of the latest unbroken chain, the gaps lie
before it, or after it up to yesterday."""

MONTH_COVERAGE: Final = pa.schema(
    [
        ("account", TEXT),
        ("currency", TEXT),
        ("covered_from", DATE),
        ("covered_to", DATE),
        ("is_covered", BOOL),
        ("missing_from", DATE),
        ("balance", AMOUNT),
    ]
)
"""A row per account and currency: whether a month is covered by business, and the first of its days
that is not. `balance` is what a month without a statement began and ended with."""

_LONGEST_WEEKEND: Final = 5  # Thursday before Easter to the Tuesday after
_DAY: Final = timedelta(days=1)

_NEEDED: Final = (
    "account", "currency", "from_date", "to_date", "opening_date", "closing_date",
    "opening_balance", "closing_balance", "proved", "sequence_number",
)  # fmt: skip

Row = Mapping[str, object]
Key = tuple[str, str | None]


class _Span(msgspec.Struct, frozen=True):
    """What one proved statement, a chain of them or a confirmed balance covers."""

    start: date
    end: date
    opening: Decimal
    closing: Decimal
    currency: str
    sequence: int | None = None
    is_confirmed: bool = False


def coverage(
    statements: pa.Table,
    accounts: Iterable[BankAccount],
    confirmations: pa.Table | None = None,
    *,
    known: Iterable[str] = (),
    today: date | None = None,
) -> pa.Table:
    """How far the proved statements of each account reach in each of its currencies.

    `statements` and `confirmations` are the lake's tables, those that count. Accounts that are not
    declared come last, with no source, as do the `known` ones. With `today` the days up to
    yesterday that no statement has yet are named too.
    """
    groups = _Groups(statements, accounts, confirmations)
    strangers = {(account_number(account), None) for account in known}
    named = {account for account, _ in groups.keys}
    keys = (*groups.keys, *sorted(key for key in strangers if key[0] not in named))
    rows = [_reach(groups, key, today) for key in keys]
    return pa.Table.from_pylist(rows, schema=COVERAGE)


def stored_coverage(
    snapshot: Snapshot,
    accounts: Iterable[BankAccount],
    *,
    known: Iterable[str] = (),
    today: date | None = None,
) -> pa.Table:
    """How far what is stored in a snapshot covers each account; as `coverage`."""
    stored, confirmed = (
        snapshot.sql(f"SELECT * FROM {table.name} WHERE {COUNTING}")  # noqa: S608 - our own names
        for table in (STATEMENTS, BALANCE_CONFIRMATIONS)
    )
    return coverage(stored, accounts, confirmed, known=known, today=today)


def month_coverage(
    statements: pa.Table,
    accounts: Iterable[BankAccount],
    confirmations: pa.Table | None,
    month: Month,
) -> pa.Table:
    """Whether the proved statements cover a month of each account; columns as MONTH_COVERAGE."""
    groups = _Groups(statements, accounts, confirmations)
    rows = [_month_row(groups, key, month) for key in groups.keys]
    return pa.Table.from_pylist(rows, schema=MONTH_COVERAGE)


class _Groups:
    """Statements, confirmations and settings by account and currency, the declared ones first."""

    def __init__(
        self, statements: pa.Table, accounts: Iterable[BankAccount], confirmations: pa.Table | None
    ) -> None:
        self.declared: dict[Key, BankAccount] = {
            (account_number(one.account), one.currency): one for one in accounts
        }
        self._currencies: dict[str, list[str | None]] = defaultdict(list)
        for account, currency in self.declared:
            self._currencies[account].append(currency)
        self.statements: dict[Key, list[Row]] = defaultdict(list)
        for row in statements.select(list(_NEEDED)).to_pylist():
            self.statements[self._key(row)].append(row)
        self.confirmed: dict[Key, list[Row]] = defaultdict(list)
        for row in () if confirmations is None else confirmations.to_pylist():
            self.confirmed[self._key(row)].append(row)
        others = (self.statements.keys() | self.confirmed.keys()) - self.declared.keys()
        self.keys = (*self.declared, *sorted(others, key=lambda key: (key[0], key[1] or "")))

    def _key(self, row: Row) -> Key:
        """The account and currency; where a file states none, the only declared one."""
        account = account_number(str(row["account"] or ""))
        currency, codes = row["currency"], self._currencies.get(account, [])
        if currency is None and len(codes) == 1:
            return account, codes[0]
        return account, None if currency is None else str(currency)

    def chain(self, key: Key) -> tuple[list[_Span], list[str]]:
        """The spans of the latest unbroken chain in order, and what lies before it."""
        spans = [*filter(None, map(_span, self.statements[key])), *map(_point, self.confirmed[key])]
        spans.sort(key=lambda one: (one.start, one.end, one.sequence or 0, one.is_confirmed))
        return _chain(spans, self.days(key))

    def days(self, key: Key) -> StatementDays | None:
        """When the bank writes a statement for the account, as far as the settings say."""
        one = self.declared.get(key)
        return None if one is None else one.statement_days


def _reach(groups: _Groups, key: Key, today: date | None) -> dict[str, object]:
    chain, gaps = groups.chain(key)
    declared, rows = groups.declared.get(key), groups.statements[key]
    if today is not None:
        closed = None if declared is None else declared.closed
        gaps += _since(chain, min(filter(None, (today - _DAY, closed))), groups.days(key))
    return {
        "account": key[0],
        "source": None if declared is None else declared.source,
        "currency": key[1],
        "covered_from": chain[0].start if chain else None,
        "covered_to": chain[-1].end if chain else None,
        "statements": len(rows),
        "not_proved": sum(not row["proved"] for row in rows),
        "gaps": gaps,
    }


def _since(chain: Sequence[_Span], last: date, days: StatementDays | None) -> list[str]:
    """What is missing after the last statement: whole days only, today's is not over."""
    if not chain:
        return ["no proved statement"]
    first = chain[-1].end + _DAY
    if _statement_day(first, last, days) is None:
        return []
    return [f"{first} to {last}: no statement yet"]


def _month_row(groups: _Groups, key: Key, month: Month) -> dict[str, object]:
    chain, _ = groups.chain(key)
    declared, days = groups.declared.get(key), groups.days(key)
    opened = declared.opened if declared is not None else None
    closed = declared.closed if declared is not None else None
    first = max(filter(None, (month.first, opened)))
    last = min(filter(None, (month.last, closed)))
    missing = _missing_from(chain, first, last, days)
    return {
        "account": key[0],
        "currency": key[1],
        "covered_from": chain[0].start if chain else None,
        "covered_to": chain[-1].end if chain else None,
        "is_covered": missing is None,
        "missing_from": missing,
        "balance": _standing_balance(chain, month) if missing is None else None,
    }


def _missing_from(
    chain: Sequence[_Span], first: date, last: date, days: StatementDays | None
) -> date | None:
    """The first day from `first` to `last` whose statement the chain lacks; None where none."""
    if not chain:
        return first if first <= last else None
    before = _statement_day(first, min(chain[0].start - _DAY, last), days)
    return before or _statement_day(max(chain[-1].end + _DAY, first), last, days)


def _standing_balance(chain: Sequence[_Span], month: Month) -> Decimal | None:
    """What an account held all through a month that no statement touches."""
    touching = (one for one in chain if not one.is_confirmed)
    if not chain or any(one.start <= month.last and one.end >= month.first for one in touching):
        return None
    before = [one for one in chain if one.end <= month.last]
    return before[-1].closing if before else chain[0].opening


def _statement_day(first: date, last: date, days: StatementDays | None) -> date | None:
    """The first day from `first` to `last` for which the bank writes a statement."""
    span = (first + count * _DAY for count in range((last - first).days + 1))
    return next((day for day in span if _is_statement_day(day, days)), None)


def _is_statement_day(day: date, days: StatementDays | None) -> bool:
    """Where the settings say nothing: TARGET days. Of `movements` nobody knows which they are."""
    if days is None or days == "business":
        return is_target_day(day)
    return isinstance(days, str) or WEEKDAYS[day.weekday()] in days


def _span(row: Row) -> _Span | None:
    start = row["from_date"] or row["opening_date"]
    end, closing_date = row["to_date"], row["closing_date"]
    opening, closing = row["opening_balance"], row["closing_balance"]
    # Banks also write midnight of the next day as the end of what they say.
    ends = [day for day in (end, closing_date) if isinstance(day, date)]
    if not row["proved"] or not ends:
        return None
    assert isinstance(opening, Decimal)
    assert isinstance(closing, Decimal)
    begin = start if isinstance(start, date) else min(ends)
    sequence = row["sequence_number"]
    counter = sequence if isinstance(sequence, int) else None
    return _Span(min(begin, *ends), min(ends), opening, closing, str(row["currency"]), counter)


def _point(row: Row) -> _Span:
    """A confirmed balance: a day of which nothing else is known."""
    day, balance = row["balance_date"], row["balance"]
    assert isinstance(day, date)
    assert isinstance(balance, Decimal)
    return _Span(day, day, balance, balance, str(row["currency"]), is_confirmed=True)


def _chain(spans: Iterable[_Span], days: StatementDays | None) -> tuple[list[_Span], list[str]]:
    """The latest unbroken chain, and what separates it from the ones before."""
    chain: list[_Span] = []
    gaps: list[str] = []
    for span in spans:
        end = chain[-1].end if chain else None
        if end is None or (span.end == end and span.opening == chain[-1].closing):
            chain.append(span)
        elif span.end < end or (span.end == end and not span.is_confirmed):
            continue  # the days are covered already, by a longer statement or the same one again
        elif span.start < end or _follows(chain[-1], span, days):
            chain.append(span)
        else:
            gaps.append(_gap(chain[-1], span))
            chain = [span]
    return chain, gaps


def _follows(before: _Span, after: _Span, days: StatementDays | None) -> bool:
    if after.opening != before.closing:
        return False
    if before.is_confirmed or after.is_confirmed or days == "movements":
        return True
    between = (after.start - before.end).days
    if between > 1 and before.sequence is not None and after.sequence is not None:
        return after.sequence in {before.sequence + 1, 1}  # counters restart with the year
    if days is None and between <= _LONGEST_WEEKEND:
        return True
    return _statement_day(before.end + _DAY, after.start - _DAY, days) is None


def _gap(before: _Span, after: _Span) -> str:
    balances = (
        f"closing {format_amount(before.closing, before.currency)},"
        f" next {'confirmed' if after.is_confirmed else 'opening'}"
        f" {format_amount(after.opening, after.currency)}"
    )
    first, last = before.end + _DAY, after.start - _DAY
    if last < first:
        return f"between {before.end} and {after.start}: {balances}"
    return f"{first} to {last} missing: {balances}"
