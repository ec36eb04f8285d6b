"""Coverage: the days of each account for which proved statements form an unbroken chain.

Only on covered days is it certain that a missing payment was not made. A statement continues a
chain if it overlaps the chain, or if it opens with the chain's closing balance and no statement is
missing between them. The bank's counter shows whether one is missing, or else the setting for the
days on which the bank writes statements. A balance confirmed by a person bridges the days of a
dormant account.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.calendar import Month, is_target_day
from treasury.core.files.package_files import step_sql
from treasury.core.money import total
from treasury.core.settings import WEEKDAYS, BankAccount, StatementDays
from treasury.core.tables.column_types import BOOL, DATE, INTEGER, TEXT, TEXTS
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.lake import Snapshot
from treasury.statements.balance_proof import is_provable
from treasury.statements.field_values import account_number
from treasury.statements.statement_tables import BALANCE_CONFIRMATIONS, COUNTING, STATEMENTS
from treasury.statements.store.statement_facts import FACT_COLUMNS, StatementFacts, facts_of

COVERAGE: Final = pa.schema([
    ("account", TEXT), ("source", TEXT), ("currency", TEXT), ("covered_from", DATE),
    ("covered_to", DATE), ("statements", INTEGER), ("not_proved", INTEGER), ("gaps", TEXTS),
])  # fmt: skip
"""One row per account and currency: the days of the latest unbroken chain, and the gaps.

A gap is before the chain, or after it up to yesterday.
"""

MONTH_COVERAGE: Final = grouped_schema(
    (TEXT, "account", "currency"),
    (DATE, "covered_from", "covered_to"),
    (BOOL, "is_covered"),
    (DATE, "missing_from"),
    (amount_in("currency"), "balance", "opening_balance", "closing_balance"),
)
"""One row per account and currency: whether a month is covered, and its first uncovered day.

`balance` is the constant balance during a month without a statement. `opening_balance` and
`closing_balance` are set if two confirmed balances and the lines between them prove the balance at
that end of the month.
"""

DAILY_SUMS: Final = grouped_schema(
    (TEXT, "account", "currency"), (DATE, "booking_date"), (amount_in("currency"), "moved")
)
"""One row per account, currency and day: the sum of its booked lines; debits are negative."""

LAST_BALANCES: Final = grouped_schema(
    (TEXT, "account", "source", "currency"),
    (amount_in("currency"), "balance"),
    (DATE, "balance_on"),
    (BOOL, "proved"),
    (TEXT, "proved_by", "problem"),
)
"""One row per account and currency: the last balance that is proved, and its day.

If none is proved, it is the last one that a statement states. `source` is null for an account that
is not declared.
"""

_LONGEST_WEEKEND: Final = 5  # The days go from the Thursday before Easter to the Tuesday after it.
_DAY: Final = timedelta(days=1)

_CONFIRMED: Final = "confirmed balance"
"""Value of `format` in the facts of a balance that a person confirmed."""

_CONNECTED: Final = "connected balances"
"""Value of `format` in the facts of the days between two confirmed balances that lines connect."""

_BY_A_PERSON: Final = "confirmed balances"
"""Value of `proved_by` for a balance that rests on a person's confirmation."""

_Key = tuple[str, str | None]


def coverage(
    statements: pa.Table,
    accounts: Iterable[BankAccount],
    confirmations: pa.Table | None = None,
    *,
    undeclared: Iterable[str] = (),
    today: date | None = None,
    moved: pa.Table | None = None,
) -> pa.Table:
    """Return how far the proved statements of each account and currency reach.

    Parameters
    ----------
    statements
        Rows of the table `statements`, without withdrawn and replaced ones.
    accounts
        The declared accounts.
    confirmations
        Rows of the table `balance_confirmations`.
    undeclared
        Further accounts, which are listed last unless they are listed already. Like every account
        that is not declared, they have no source.
    today
        If given, the gaps include the days without a statement up to yesterday.
    moved
        The sums of the accounts' lines by day, as in DAILY_SUMS, for the days between two confirmed
        balances.

    Returns
    -------
    pyarrow.Table
        One row per account and currency, with the columns of COVERAGE.

    Examples
    --------
    >>> coverage(reading.statements, settings.accounts, today=date(2026, 11, 3))
    """
    groups = _Groups(statements, accounts, confirmations, moved)
    strangers = {(account_number(account), None) for account in undeclared}
    listed = {account for account, _ in groups.keys}
    keys = (*groups.keys, *sorted(key for key in strangers if key[0] not in listed))
    rows = []
    for key in keys:
        chain, gaps = groups.chain(key)
        declared, own = groups.declared.get(key), groups.statements[key]
        if today is not None:
            closed = (declared and declared.closed) or date.max
            gaps += _since(chain, min(today - _DAY, closed), groups.days(key))
        rows.append({
            "account": key[0],
            "source": None if declared is None else declared.source,
            "currency": key[1],
            "covered_from": chain[0].since if chain else None,
            "covered_to": chain[-1].last if chain else None,
            "statements": len(own),
            "not_proved": sum(not facts.proved for facts in own),
            "gaps": gaps,
        })  # fmt: skip
    return pa.Table.from_pylist(rows, schema=COVERAGE)


def stored_coverage(
    snapshot: Snapshot,
    accounts: Iterable[BankAccount],
    *,
    undeclared: Iterable[str] = (),
    today: date | None = None,
) -> pa.Table:
    """Return the coverage of each account by the statements in a snapshot of the lake."""
    stored, confirmed, moved = _stored(snapshot, accounts)
    return coverage(stored, accounts, confirmed, undeclared=undeclared, today=today, moved=moved)


def last_balances(snapshot: Snapshot, accounts: Iterable[BankAccount]) -> pa.Table:
    """Return the last proved balance of each account; columns as in LAST_BALANCES.

    As in a month's balances, a balance is not proved if a statement that fails its proof has days
    of the same month, up to the balance's day.
    """
    stored, confirmed, moved = _stored(snapshot, accounts)
    groups = _Groups(stored, accounts, confirmed, moved)
    return pa.Table.from_pylist(
        [groups.last_balance(key) for key in groups.keys], schema=LAST_BALANCES
    )


def _stored(
    snapshot: Snapshot, accounts: Iterable[BankAccount]
) -> tuple[pa.Table, pa.Table, pa.Table | None]:
    """Return the stored statements, the confirmed balances and the daily sums of lines.

    The sums have the columns of DAILY_SUMS; they are None if they are not needed.
    """
    stored, confirmed = (
        snapshot.sql(f"SELECT * FROM {table.name} WHERE {COUNTING}")  # noqa: S608 - our own names
        for table in (STATEMENTS, BALANCE_CONFIRMATIONS)
    )
    return stored, confirmed, daily_sums(snapshot.sql, accounts, confirmed)


def daily_sums(
    read: Callable[[str], pa.Table], accounts: Iterable[BankAccount], confirmations: pa.Table
) -> pa.Table | None:
    """Return the daily sums of booked lines, for accounts with several confirmed balances.

    The columns are those of DAILY_SUMS. `read` returns the rows of a query. Return None if no
    account has two confirmed balances, which saves reading the lines.
    """
    confirmed = Counter(confirmations["account"].to_pylist())
    accounts_with_two = [account for account, count in confirmed.items() if count > 1]
    if not accounts_with_two:
        return None
    only = {account_number(declared.account): declared.currency for declared in accounts}
    rows = read(_BOOKED).to_pylist()
    sums: dict[tuple[str, str | None, date | None], Decimal] = defaultdict(Decimal)
    for row in rows:
        account = account_number(row["account"] or "")
        if account in accounts_with_two:
            key = account, row["currency"] or only.get(account), row["booking_date"]
            sums[key] = total((sums[key], row["moved"]))
    return pa.Table.from_pylist(
        [dict(zip(DAILY_SUMS.names, (*key, moved), strict=True)) for key, moved in sums.items()],
        schema=DAILY_SUMS,
    )


_BOOKED: Final = step_sql("treasury.statements.store.steps", "booked_daily_sums")


def month_coverage(
    statements: pa.Table,
    accounts: Iterable[BankAccount],
    confirmations: pa.Table | None,
    month: Month,
    moved: pa.Table | None = None,
) -> pa.Table:
    """Return for each account whether proved statements cover a month; as MONTH_COVERAGE."""
    groups = _Groups(statements, accounts, confirmations, moved)
    rows = []
    for key in groups.keys:
        chain, _ = groups.chain(key)
        declared, days = groups.declared.get(key), groups.days(key)
        opened, closed = (declared.opened, declared.closed) if declared else (None, None)
        first, last = max(month.first, opened or date.min), min(month.last, closed or date.max)
        missing = _missing_from(chain, first, last, days)
        rows.append({
            "account": key[0],
            "currency": key[1],
            "covered_from": chain[0].since if chain else None,
            "covered_to": chain[-1].last if chain else None,
            "is_covered": missing is None,
            "missing_from": missing,
            "balance": _standing_balance(chain, month) if missing is None else None,
            "opening_balance": groups.connected_balance(key, chain, month.first - _DAY),
            "closing_balance": groups.connected_balance(key, chain, month.last),
        })  # fmt: skip
    return pa.Table.from_pylist(rows, schema=MONTH_COVERAGE)


class _Groups:
    """Statements, confirmations and settings by account and currency, declared accounts first."""

    def __init__(
        self,
        statements: pa.Table,
        accounts: Iterable[BankAccount],
        confirmations: pa.Table | None,
        moved: pa.Table | None,
    ) -> None:
        self.declared: dict[_Key, BankAccount] = {
            (account_number(declared.account), declared.currency): declared for declared in accounts
        }
        self._currencies: dict[str, list[str | None]] = defaultdict(list)
        for account, currency in self.declared:
            self._currencies[account].append(currency)
        self.statements: dict[_Key, list[StatementFacts]] = defaultdict(list)
        self._failing: set[StatementFacts] = set()
        proofs = statements["proof"].to_pylist()
        rows = statements.select(list(FACT_COLUMNS)).to_pylist()
        for row, proof in zip(rows, proofs, strict=True):
            facts = facts_of(row)
            self.statements[self._key(facts)].append(facts)
            if not facts.proved and is_provable(proof or ""):
                self._failing.add(facts)
        self.confirmed: dict[_Key, list[StatementFacts]] = defaultdict(list)
        for row in () if confirmations is None else confirmations.to_pylist():
            # A confirmed balance does not show the movements of its day.
            facts = StatementFacts(
                row["confirmation_id"],
                row["account"],
                row["currency"],
                _CONFIRMED,
                proved=True,
                first=row["balance_date"],
                since=row["balance_date"],
                last=row["balance_date"],
                opening=row["balance"],
                closing=row["balance"],
            )
            self.confirmed[self._key(facts)].append(facts)
        self._moved: dict[_Key, dict[date | None, Decimal]] = defaultdict(dict)
        for row in () if moved is None else moved.to_pylist():
            self._moved[row["account"], row["currency"]][row["booking_date"]] = row["moved"]
        others = (self.statements.keys() | self.confirmed.keys()) - self.declared.keys()
        self.keys = (*self.declared, *sorted(others, key=lambda key: (key[0], key[1] or "")))

    def _key(self, facts: StatementFacts) -> _Key:
        """Return account and currency; the only declared currency if the statement has none."""
        account = account_number(facts.account or "")
        codes = self._currencies.get(account, [])
        return account, codes[0] if facts.currency is None and len(codes) == 1 else facts.currency

    def chain(self, key: _Key) -> tuple[list[StatementFacts], list[str]]:
        """Return the statements of the latest unbroken chain in order, and the gaps before it."""
        proved = (facts for facts in self.statements[key] if facts.proved)
        stated = (*proved, *self.confirmed[key], *self._connected(key))
        spans = [facts for facts in stated if facts.last > date.min]
        spans.sort(
            key=lambda facts: (facts.since, facts.last, facts.sequence or 0, _is_confirmed(facts))
        )
        return _chain(spans, self.days(key))

    def _connected(self, key: _Key) -> Iterator[StatementFacts]:
        """Yield the days between two confirmed balances that the account's lines connect exactly.

        No statement with balances of its own, or whose proof fails, may touch these days, nor state
        another balance at either end. A line without a day prevents the proof, because it could
        belong anywhere.
        """
        moved = self._moved.get(key, {})
        if None in moved:
            return
        stated = [
            facts
            for facts in self.statements[key]
            if facts.states_a_balance or facts in self._failing
        ]
        ordered = sorted(self.confirmed[key], key=lambda facts: facts.last)
        for before, after in pairwise(ordered):
            lines = [
                amount
                for day, amount in moved.items()
                if day is not None and before.last < day <= after.last
            ]
            # A confirmed balance is its own closing balance.
            assert before.closing is not None
            if not lines or total((before.closing, *lines)) != after.closing:
                continue
            first = before.last + _DAY
            if any(_speaks_against(facts, before, after) for facts in stated):
                continue
            yield msgspec.structs.replace(
                after,
                format=_CONNECTED,
                first=first,
                since=first,
                opening=before.closing,
            )

    def connected_balance(
        self, key: _Key, chain: Sequence[StatementFacts], day: date
    ) -> Decimal | None:
        """Return the balance at the end of a day, if it is at or between connected balances."""
        # The balance does not change on later days without a due statement.
        day = min(day, chain[-1].last) if chain else day
        for facts in chain:
            if facts.format == _CONNECTED and facts.first - _DAY <= day <= facts.last:
                lines = self._moved[key].items()
                assert facts.opening is not None
                moved = (amount for on, amount in lines if on and facts.first <= on <= day)
                return total((facts.opening, *moved))
        return None

    def last_balance(self, key: _Key) -> dict[str, object]:
        """Return a row of LAST_BALANCES."""
        chain, _ = self.chain(key)
        declared = self.declared.get(key)
        row: dict[str, object] = {
            "account": key[0],
            "source": None if declared is None else declared.source,
            "currency": key[1],
            "proved": False,
            "proved_by": "",
            "problem": "no statement is stored",
        }
        if chain:
            last = chain[-1]
            by_person = last.format in {_CONFIRMED, _CONNECTED}
            against = [
                facts
                for facts in self._failing.intersection(self.statements[key])
                if facts.first <= last.last and facts.last >= last.last.replace(day=1)
            ]
            return row | {
                "balance": last.closing,
                "balance_on": last.last,
                "proved": not against,
                "proved_by": "" if against else _BY_A_PERSON if by_person else "statements",
                "problem": _not_proved(max(against, key=_by_day)) if against else "",
            }
        stated = [facts for facts in self.statements[key] if facts.closing is not None]
        if stated:
            last = max(stated, key=_by_day)
            day = None if last.last == date.min else last.last
            row |= {"balance": last.closing, "balance_on": day, "problem": _not_proved(last)}
        elif self.statements[key]:
            row["problem"] = "its statements state no balance"
        return row

    def days(self, key: _Key) -> StatementDays | None:
        """Return the account's `statement_days`: the days for which the bank writes a statement."""
        declared = self.declared.get(key)
        return None if declared is None else declared.statement_days


def _by_day(facts: StatementFacts) -> tuple[date, str]:
    return facts.last, facts.statement_id


def _not_proved(facts: StatementFacts) -> str:
    return f"{facts.file_name or facts.statement_id} is not proved"


def _speaks_against(facts: StatementFacts, before: StatementFacts, after: StatementFacts) -> bool:
    """Return whether a statement's own balances touch the days between two confirmed balances."""
    if facts.last == date.min or facts.first == date.max:
        return True
    if facts.first <= after.last and facts.last > before.last:
        return True
    # A statement that ends or begins at a confirmed balance must state the same balance.
    return (facts.last == before.last and facts.closing != before.closing) or (
        facts.first == after.last + _DAY and facts.opening != after.closing
    )


def _since(chain: Sequence[StatementFacts], last: date, days: StatementDays | None) -> list[str]:
    """Return the gap from the chain to `last`, in a list that is empty if no statement is due."""
    if not chain:
        return ["no proved statement"]
    first = chain[-1].last + _DAY
    if _statement_day(first, last, days) is None:
        return []
    return [f"{first} to {last}: no statement yet"]


def _missing_from(
    chain: Sequence[StatementFacts], first: date, last: date, days: StatementDays | None
) -> date | None:
    """Return the first day without a statement that is due, from `first` to `last`, if any."""
    if not chain:
        return first if first <= last else None
    is_connected = any(facts.format == _CONNECTED for facts in chain)
    if is_connected and _is_confirmed(chain[0]) and first <= chain[0].last:
        # The first confirmed balance does not show the movements up to the end of its day.
        return first
    before = _statement_day(first, min(chain[0].since - _DAY, last), days)
    return before or _statement_day(max(chain[-1].last + _DAY, first), last, days)


def _standing_balance(chain: Sequence[StatementFacts], month: Month) -> Decimal | None:
    """Return the balance of an account during a month without a due statement, if it is known."""
    stated = (facts for facts in chain if not _is_confirmed(facts))
    if any(facts.since <= month.last and facts.last >= month.first for facts in stated):
        return None
    before = [facts.closing for facts in chain if facts.last <= month.last]
    return before[-1] if before else chain[0].opening if chain else None


def _statement_day(first: date, last: date, days: StatementDays | None) -> date | None:
    """Return the first day from `first` to `last` on which the bank should write a statement.

    Without a setting these are the TARGET business days; with `movements` it may be any day.
    """
    for day in (first + count * _DAY for count in range((last - first).days + 1)):
        if days is None or days == "business":
            is_due = is_target_day(day)
        else:
            is_due = isinstance(days, str) or WEEKDAYS[day.weekday()] in days
        if is_due:
            return day
    return None


def _is_confirmed(facts: StatementFacts) -> bool:
    return facts.format == _CONFIRMED


def _chain(
    spans: Iterable[StatementFacts], days: StatementDays | None
) -> tuple[list[StatementFacts], list[str]]:
    """Return the latest unbroken chain, and the gaps between it and earlier ones."""
    chain: list[StatementFacts] = []
    gaps: list[str] = []
    for facts in spans:
        end = chain[-1].last if chain else None
        if end is None or (facts.last == end and facts.continues(chain[-1])):
            chain.append(facts)
        elif facts.last < end or (facts.last == end and not _is_confirmed(facts)):
            # A longer statement, or a copy of this one, covers the days already.
            continue
        elif facts.since < end or _follows(chain[-1], facts, days):
            chain.append(facts)
        else:
            gaps.append(_gap(chain[-1], facts))
            chain = [facts]
    return chain, gaps


def _follows(before: StatementFacts, facts: StatementFacts, days: StatementDays | None) -> bool:
    """Return whether no statement is missing between two statements that share no day."""
    if not facts.continues(before):
        return False
    if _is_confirmed(before) or _is_confirmed(facts) or days == "movements":
        return True
    between = (facts.since - before.last).days
    if between > 1 and before.sequence is not None and facts.sequence is not None:
        # The counter restarts with the year.
        return facts.has_next_number(before) or facts.sequence == 1
    if days is None and between <= _LONGEST_WEEKEND:
        return True
    return _statement_day(before.last + _DAY, facts.since - _DAY, days) is None


def _gap(before: StatementFacts, facts: StatementFacts) -> str:
    """Return the gap between two statements: its days, and the balances on either side."""
    balances = (
        f"closing {before.amount_text(before.closing)},"
        f" next {'confirmed' if _is_confirmed(facts) else 'opening'}"
        f" {facts.amount_text(facts.opening)}"
    )
    first, last = before.last + _DAY, facts.since - _DAY
    if last < first:
        return f"between {before.last} and {facts.since}: {balances}"
    return f"{first} to {last} missing: {balances}"
