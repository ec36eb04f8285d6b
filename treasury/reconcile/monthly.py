"""A month's reconciliation: a snapshot of the lake, people's decisions and rules in; answers out.

Everything the lake and the journal hold takes part in matching, so that a payment of an earlier
month is known to be one; the month then selects what is shown. No clock is read: the instant that
the question is asked at is part of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa

from treasury.calendar import Month, is_target_day, next_target_day
from treasury.errors import InputError, NothingStored, StatementError
from treasury.identifiers import plain_account
from treasury.lake import AMOUNT, DATE, INSTANT, TEXT, Snapshot
from treasury.reconcile.conversion import CONVERSIONS
from treasury.reconcile.differences import DIFFERENCES
from treasury.reconcile.inputs import Field, read_table
from treasury.reconcile.internal import INTERNAL_TRANSFERS
from treasury.reconcile.kept import Run, kept_run
from treasury.reconcile.matching import (
    OUTCOMES,
    PACKAGE,
    RESULTS,
    Matches,
    read_decisions,
    read_matches,
    rule_tables,
)
from treasury.reconcile.memo import Memo, fingerprint
from treasury.reconcile.pipeline import (
    Step,
    compose,
    in_order,
    load,
    needed,
    run,
    steps_of,
    stored,
)  # fmt: skip
from treasury.reconcile.recall import SETTLE_PACKAGE, count_stored, leave_out, settle
from treasury.reconcile.rules import ClassRule, Rules, is_text_alone
from treasury.reconcile.settled import Settled, Settling
from treasury.reconcile.view import view_of
from treasury.reconcile.worded import funding_table
from treasury.settings import BankAccount
from treasury.statements.coverage import month_coverage
from treasury.statements.tables import BALANCE_CONFIRMATIONS, COUNTING, STATEMENTS
from treasury.tabular import Tabular, html_table
from treasury.text import clean, safe_html

if TYPE_CHECKING:
    from treasury.reconcile.inputs import TableLike

__all__ = [
    "Basis",
    "Matched",
    "Question",
    "Reconciliation",
    "WorkedOut",
    "awaiting_funds",
    "known_key",
    "matched",
    "reconcile_month",
    "requests_at_cut_off",
    "require_begun",
    "step_sql",
    "synced_at",
    "worked_out",
]

MONTH_PACKAGE = "treasury.reconcile.month"
_KNEW: Final = {
    "bank_lines": "entry_id",
    "lines": "entry_id",
    "expectations": "expectation_id",
    "returns": "return_id, original_id",
}
"""What a run of matching is kept with, and the order of its rows."""
_ALL: Final = {**steps_of(PACKAGE), **steps_of(MONTH_PACKAGE)}
STEPS: tuple[Step, ...] = stored(in_order(_ALL, (*RESULTS, *steps_of(MONTH_PACKAGE))))
"""The steps of matching, over the month's own texts and lines, and what a month shows of them."""
MATCHING = needed(STEPS, *RESULTS, *_KNEW)
_STORED = needed(STEPS, "bank_lines", "fee_requests")
"""The steps that tell whether anything is stored for the month."""
DECIDED = (
    Field("entry_id", TEXT),
    Field("verdict", TEXT),
    Field("decided_by", TEXT),
    Field("decided_at", INSTANT),
)
"""Who decided, beside what the matching reads of a decision."""
SHOWN = ["state", "stage", "item", "amount", "currency", "since", "next_step"]
"""What a notebook shows of each difference."""
SHEETS = {
    "Lines": "lines",
    "Earlier lines": "earlier_lines",
    "Awaiting funds": "awaiting_funds",
    "Virtual accounts": "virtual_accounts",
    "In transit": "in_transit",
    "Statements": "statements",
    "Fees": "fee_requests",
    "Accruals": "fee_accruals",
    "Conversions": "conversions",
    "Differences": "differences",
    "Internal transfers": "internal_transfers",
}
"""The tables of a reconciliation by the names of their sheets."""
ANSWERS = (
    "statement_proofs",
    "month_lines",
    "earlier_lines",
    "bank_cutoffs",
    "excess_lines",
    "virtual_account_credits",
    "fee_requests",
    "fee_accruals",
    "fee_totals",
)


BANK_CUTOFFS = pa.schema(
    [
        ("entry_id", TEXT),
        ("statement_account", TEXT),
        ("direction", TEXT),
        ("amount", AMOUNT),
        ("currency", TEXT),
        ("value_date", DATE),
        ("booking_date", DATE),
        ("expectation_id", TEXT),
        ("reference", TEXT),
        ("counterparty_name", TEXT),
    ]
)
"""A row for each bank line that is a cut-off difference of the bank, amounts in `currency`."""
EXCESS_LINES = pa.schema(
    [
        ("entry_id", TEXT),
        ("booking_date", DATE),
        ("direction", TEXT),
        ("amount", AMOUNT),
        ("currency", TEXT),
        ("expectation_id", TEXT),
        ("reference", TEXT),
        ("counterparty_name", TEXT),
    ]
)
"""A row for each matched line of more than was expected; `amount`, in `currency`, is what is above
it. `expectation_id` and `reference` are empty where it was matched to several."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: a month of a company's desk, at the instant `as_of`, under these rules."""

    month: Month
    as_of: datetime
    company: str
    environment: str
    zone: ZoneInfo
    accounts: tuple[BankAccount, ...]
    rules: Rules = Rules()
    credits_by_text: bool = False
    """Whether classes go by the text of credits alone too, as in months that 0.1.0 closed."""

    @property
    def today(self) -> date:
        """The day it is in the reporting time zone."""
        return self.as_of.astimezone(self.zone).date()


class Basis(msgspec.Struct, frozen=True, eq=False):
    """What an answer is a function of: the records, the question with its rules, the decisions.

    With `settling` what is settled of closed months is left out of matching: the answer is the
    same, but for `matches`, which has what takes part alone.
    """

    snapshot: Snapshot
    question: Question
    decisions: Any = None
    marks: pa.Table | None = None
    settling: Settling | None = None


class Reconciliation(Tabular, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What the bank's month amounts to; every table is Arrow, every amount exact.

    `lines`: the month's booked bank lines with their outcome (amount in `currency`, direction CRDT
    or DBIT). `awaiting_funds`: requests to fund, in the words of the desk. `virtual_accounts`:
    credits proved for each virtual account, or NOT PROVABLE. `in_transit`, `statements`,
    `fee_requests`, `fee_accruals`, `fee_totals`: as their names say. `matches` holds every line
    ever stored that is not settled by a close.
    """

    month: Month
    company: str
    environment: str
    as_of: datetime
    """The instant that the question was asked at: dues and overdues count to here."""
    known_at: datetime
    """The instant of the last commit that the answer rests on."""
    lines: pa.Table
    earlier_lines: pa.Table
    """Lines of earlier months that still need a person; columns as in `lines`."""
    awaiting_funds: pa.Table
    virtual_accounts: pa.Table
    in_transit: pa.Table
    statements: pa.Table
    fee_requests: pa.Table
    fee_accruals: pa.Table
    fee_totals: pa.Table
    matches: Matches
    conversions: pa.Table = msgspec.field(default_factory=CONVERSIONS.empty_table)
    """Euros that became coins, proved by balances: columns as in `conversion.Conversion`."""
    differences: pa.Table = msgspec.field(default_factory=DIFFERENCES.empty_table)
    """What the bank and the services do not say alike, with its age and the next step."""
    internal_transfers: pa.Table = msgspec.field(default_factory=INTERNAL_TRANSFERS.empty_table)
    """Transfers between own accounts and their two legs."""
    bank_cutoffs: pa.Table = msgspec.field(default_factory=BANK_CUTOFFS.empty_table)
    """Instant payments of the month that the bank booked after it; columns as in BANK_CUTOFFS."""
    excess_lines: pa.Table = msgspec.field(default_factory=EXCESS_LINES.empty_table)
    """What was received above what was expected, in any month; columns as in EXCESS_LINES."""
    rules: Rules = Rules()
    """The rules that the answer was given under."""
    basis: Basis | None = None
    """What it was made from, to make it again or to compare it."""

    def sql(self, step: str) -> str:
        """The whole query behind one step ("month_lines", "funding", …), to read or run."""
        return step_sql(step)

    def counts(self) -> dict[str, int]:
        """Lines of the month by outcome; other business, which matching leaves out, apart."""
        found = dict.fromkeys((*OUTCOMES, "other_business"), 0)
        counted = self.lines.group_by(["outcome", "line_class"]).aggregate([([], "count_all")])
        for row in counted.to_pylist():
            name = "other_business" if row["line_class"] else row["outcome"]
            found[name] += row["count_all"]
        return found

    @property
    def provable(self) -> bool:
        """Whether every virtual account's credits can be proved."""
        proofs = self.virtual_accounts["proof"].to_pylist()
        return not any(proof.startswith("NOT PROVABLE") for proof in proofs)

    def sheets(self) -> Mapping[str, pa.Table]:
        """The month's lines, then every other table."""
        return {title: getattr(self, name) for title, name in SHEETS.items()}

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in self.counts().items() if n)
        return f"<Reconciliation {self.month}: {self.lines.num_rows} lines: {counts or 'none'}>"

    def _repr_html_(self) -> str:
        counted = "".join(
            f"<tr><th scope='row' style='text-align:left'>{safe_html(name.replace('_', ' '))}</th>"
            f"<td style='text-align:right'>{count:,}</td></tr>"
            for name, count in self.counts().items()
            if count
        )
        caption = safe_html(
            f"{self.month.title}, {self.company}: {self.lines.num_rows:,} bank lines"
        )
        told = html_table(self.differences.select(SHOWN))
        return f"<table><caption>{caption}</caption>{counted}</table>{told}"


def step_sql(step: str) -> str:
    """The whole query behind one step of a month, to read or run."""
    return compose(needed(STEPS, step), step)


def reconcile_month(
    snapshot: Snapshot,
    question: Question,
    decisions: TableLike | None = None,
    marks: pa.Table | None = None,
) -> Reconciliation:
    """Reconcile a month from one snapshot of the lake, people's decisions and their remarks.

    Raises InputError for a month that has not begun, NothingStored for one by whose end no bank
    line is stored, of which no request was completed, and that no account's balances cover.
    """
    return worked_out(Basis(snapshot, question, decisions, marks)).answer


def require_begun(question: Question) -> None:
    """InputError for a month that has not begun."""
    if question.month.start(question.zone) > question.as_of:
        raise InputError(
            f"{question.month} has not begun on {question.today}", do="ask for an earlier month"
        )


class Matched(msgspec.Struct, frozen=True, eq=False):
    """One run of matching: by name the tables that went in, and what came out."""

    tables: Mapping[str, pa.Table]
    matches: Matches

    @property
    def nbytes(self) -> int:
        """Bytes that its tables hold."""
        return self.matches.nbytes + sum(one.nbytes for one in self.tables.values())


class WorkedOut(msgspec.Struct, frozen=True, eq=False):
    """A month's answer, and the run of matching behind it."""

    answer: Reconciliation
    matched: Matched

    @property
    def nbytes(self) -> int:
        """Bytes that its tables hold."""
        tables = self.answer.sheets().values()
        return self.matched.nbytes + sum(table.nbytes for table in tables)


def worked_out(basis: Basis) -> WorkedOut:
    """The month's answer and what it rests on; errors as `reconcile_month`."""
    question = basis.question
    require_begun(question)
    found = _ANSWERS.of(_answer_key(basis), lambda: _work_out(basis))
    everything = msgspec.structs.replace(basis, settling=None)
    if basis.settling is None:
        _MATCHED.of(known_key(basis), lambda: found.matched)
    answer = msgspec.structs.replace(found.answer, as_of=question.as_of, basis=everything)
    return WorkedOut(answer, found.matched)


def matched(basis: Basis) -> Matched:
    """Matching over everything in the snapshot; the month of the question does not matter."""

    def run_matching() -> Matched:
        with _answered(basis.snapshot, basis.question, basis.decisions, MATCHING) as found:
            return _read_matched(found, basis.question.rules)

    return _MATCHED.of(known_key(basis), run_matching)


_ANSWERS: Final[Memo[WorkedOut]] = Memo()
_MATCHED: Final[Memo[Matched]] = Memo()


def _answer_key(basis: Basis) -> Hashable | None:
    """All that an answer is a function of; of the instant that is its day in the reporting zone."""
    known, question = known_key(basis), basis.question
    marked = None if basis.marks is None else fingerprint(basis.marks)
    if known is None or (marked is None and basis.marks is not None):
        return None
    month, zone, desk = (
        str(question.month),
        question.zone.key,
        (question.company, question.environment),
    )
    closes = None if basis.settling is None else basis.settling.closes
    return (known, marked, month, zone, question.today, desk, closes)


def known_key(basis: Basis) -> Hashable | None:
    """All that matching is a function of; None where that is not to be had, or much."""
    records = basis.snapshot.key()
    decided = fingerprint(*_decision_tables(basis.decisions).values())
    if records is None or decided is None:
        return None
    question = basis.question
    asked = (question.rules, question.accounts, question.credits_by_text)
    return records, decided, msgspec.json.encode(asked)


def _work_out(basis: Basis) -> WorkedOut:
    question, settling = basis.question, basis.settling
    found = None if settling is None else _work_out_unsettled(basis, settling)
    if found is not None:
        return found
    with _answered(basis.snapshot, question, basis.decisions, _STORED) as run_of_all:
        connection = run_of_all.connection
        _require_month(connection, question.month)
        run_of_all.bring(STEPS)
        _AT_CUT_OFF.of(
            _cut_off_key(basis.snapshot, question.month, question.zone),
            lambda: _read_cut_off(connection),
        )
        found = _read_answer(basis, run_of_all)
        if settling is not None:
            _settle(basis, settling, connection, None)
        return found


def _work_out_unsettled(basis: Basis, settling: Settling) -> WorkedOut | None:
    """The answer with what is settled left out; None where everything is to be matched."""
    settled = settling.read(basis.snapshot, _terms(basis.question))
    if settled is None:
        return None
    with basis.snapshot.connection(few=True) as connection:
        found = Run(connection)
        _give(found, basis.question, basis.decisions)
        steps = leave_out(connection, settled, STEPS)
        if steps is None:
            return None
        found.bring(steps)
        answer = _read_answer(basis, found)
        if settled.closes != settling.closes:
            _settle(basis, settling, connection, settled)
        return answer


def _settle(
    basis: Basis,
    settling: Settling,
    connection: duckdb.DuckDBPyConnection,
    former: Settled | None,
) -> None:
    """Keep what is settled after a run of all steps, where that is much."""
    stored_rows = count_stored(connection)
    if sum(stored_rows) < settling.least:
        return
    closed_to = _days_of(settling.month, basis.question.zone)
    tables = settle(connection, former, STEPS, closed_to)
    settling.write(basis.snapshot, _terms(basis.question), tables)


def _terms(question: Question) -> str:
    """The hash of all but records and decisions that tells what a line is, and what is settled."""
    asked = (question.rules, question.accounts, question.zone.key, question.credits_by_text)
    return hashlib.sha256(msgspec.json.encode(asked) + _steps_hash()).hexdigest()


@cache
def _steps_hash() -> bytes:
    steps = (*STEPS, *steps_of(SETTLE_PACKAGE).values())
    return hashlib.sha256("\0".join(f"{one.name}\0{one.sql}" for one in steps).encode()).digest()


def _read_answer(basis: Basis, found: Run) -> WorkedOut:
    question, connection = basis.question, found.connection
    answers = {name: connection.table(name).to_arrow_table() for name in ANSWERS}
    view = view_of(connection, question)
    funds = funding_table(connection, question.rules, question.today, basis.marks)
    matching = _read_matched(found, question.rules)
    answer = Reconciliation(
        month=question.month,
        company=question.company,
        environment=question.environment,
        as_of=question.as_of,
        known_at=_known_at(connection) or question.as_of,
        lines=answers["month_lines"],
        earlier_lines=answers["earlier_lines"],
        awaiting_funds=funds,
        virtual_accounts=answers["virtual_account_credits"],
        in_transit=view.in_transit,
        statements=answers["statement_proofs"],
        fee_requests=answers["fee_requests"],
        fee_accruals=answers["fee_accruals"],
        fee_totals=answers["fee_totals"],
        matches=matching.matches,
        conversions=view.conversions,
        differences=view.differences,
        internal_transfers=view.internal_transfers,
        bank_cutoffs=answers["bank_cutoffs"],
        excess_lines=answers["excess_lines"],
        rules=question.rules,
    )
    return WorkedOut(answer, matching)


def _read_matched(found: Run, rules: Rules) -> Matched:
    """What matching knew and said, of a run that its steps have run on."""
    tables = {name: found.table(name, order) for name, order in _KNEW.items()}
    return Matched(tables, read_matches(found.table, MATCHING, rules))


def requests_at_cut_off(snapshot: Snapshot, month: Month, zone: ZoneInfo) -> pa.Table:
    """Every ramp request that was made by a month's end, in the status that it had then."""
    key = _cut_off_key(snapshot, month, zone)
    return _AT_CUT_OFF.of(key, lambda: _requests_at_cut_off(snapshot, month, zone))


def _cut_off_key(snapshot: Snapshot, month: Month, zone: ZoneInfo) -> Hashable | None:
    """All that the requests of a month's end are a function of; None where it is not to be had."""
    records = snapshot.key()
    return None if records is None else (records, str(month), zone.key)


_AT_CUT_OFF: Final[Memo[pa.Table]] = Memo()


def _requests_at_cut_off(snapshot: Snapshot, month: Month, zone: ZoneInfo) -> pa.Table:
    with snapshot.connection() as connection:
        load(connection, {"asked": _days_of(month, zone)})
        run(connection, needed(STEPS, "requests_at_cut_off"))
        return _read_cut_off(connection)


def _read_cut_off(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """The requests of the month's end, from a connection on which their steps have run."""
    return connection.table("requests_at_cut_off").order("request_id").to_arrow_table()


def require_synced(snapshot: Snapshot) -> None:
    """NothingStored where the services were never read by the instant of the snapshot."""
    if synced_at(snapshot) is None:
        raise NothingStored(
            "what waits is not known: the services had never been read",
            do="run `treasury sync`, or ask for an instant after the first one",
        )


def synced_at(snapshot: Snapshot) -> datetime | None:
    """When the services were last read before the snapshot; None for never."""
    rows = snapshot.sql("SELECT max(\"at\") AS synced FROM commits WHERE kind LIKE 'sync%'")
    at: datetime | None = rows["synced"][0].as_py()
    return at


def awaiting_funds(
    snapshot: Snapshot,
    question: Question,
    decisions: TableLike | None = None,
    marks: pa.Table | None = None,
) -> pa.Table:
    """Requests that wait for their funds, whatever the month; columns as in `funding.FUNDING`.

    Raises NothingStored where the services were never read: then what waits is not known.
    """
    require_synced(snapshot)

    def work_out() -> pa.Table:
        steps = needed(STEPS, "funding")
        with _answered(snapshot, question, decisions, steps) as found:
            return funding_table(found.connection, question.rules, question.today, marks)

    return _FUNDS.of(_answer_key(Basis(snapshot, question, decisions, marks)), work_out)


_FUNDS: Final[Memo[pa.Table]] = Memo()


@contextmanager
def _answered(
    snapshot: Snapshot,
    question: Question,
    decisions: TableLike | None,
    steps: tuple[Step, ...] = STEPS,
) -> Iterator[Run]:
    """A run on which every step has run, or the first of them."""
    with kept_run(snapshot) as found:
        _give(found, question, decisions)
        found.bring(steps)
        yield found


def _give(found: Run, question: Question, decisions: TableLike | None) -> None:
    """Give a run all that the steps read beside the records."""
    found.give(
        {
            "declared_accounts": _accounts(question.accounts),
            "class_rules": _class_rules(
                question.rules, question.accounts, credits_by_text=question.credits_by_text
            ),
            **_decision_tables(decisions),
            "asked": _asked(question),
            "covered": _covered(found.connection, question),
            **rule_tables(question.rules),
        }
    )
    _require_currencies(found.connection)


def _decision_tables(decisions: TableLike | None) -> dict[str, pa.Table]:
    """People's decisions, and who made them and when."""
    return {
        "decisions": read_decisions(decisions),
        "decided": read_table(decisions, DECIDED, what="decisions"),
    }


_WITHOUT_CURRENCY = """
SELECT s.file_name, s.statement_id, s.account
FROM statement_entries AS e
JOIN statements AS s ON s.statement_id = e.statement_id
JOIN (
    SELECT account FROM declared_accounts GROUP BY account HAVING count(*) > 1
) AS d ON d.account = upper(replace(s.account, ' ', ''))
WHERE e.currency IS NULL AND s.currency IS NULL AND e.vanished_at IS NULL AND s.vanished_at IS NULL
LIMIT 1
"""
"""A movement without a currency on an account of several: a single one would count for it."""


def _require_currencies(connection: duckdb.DuckDBPyConnection) -> None:
    """StatementError where the currency of a stored movement cannot be known."""
    row = connection.execute(_WITHOUT_CURRENCY).fetchone()
    if row is not None:
        file, statement_id, account = (clean(text) for text in row)
        raise StatementError(
            f"{file} names no currency, and account {account} is declared in several",
            do=f"run `treasury statements withdraw {statement_id[:8]} --reason …`, say the currency"
            " in the profile of its CSV, and add it again",
        )


def _known_at(connection: duckdb.DuckDBPyConnection) -> datetime | None:
    """The instant of the last commit that this snapshot, or its view of an instant, shows."""
    last = connection.sql('SELECT max("at") AS known_at FROM commits').to_arrow_table()
    return last["known_at"][0].as_py()


def _require_month(connection: duckdb.DuckDBPyConnection, month: Month) -> None:
    booked = connection.execute(
        "SELECT 1 FROM bank_lines WHERE coalesce(entry_status, 'BOOK') = 'BOOK'"
        " AND booking_date <= ? LIMIT 1",
        [month.last],
    ).fetchone()
    covered = connection.execute("SELECT 1 FROM covered WHERE is_covered LIMIT 1").fetchone()
    completed = connection.execute("SELECT 1 FROM fee_requests LIMIT 1").fetchone()
    if booked or covered or completed:
        return
    found = connection.execute(
        "SELECT CAST(min(booking_date) AS VARCHAR), CAST(max(booking_date) AS VARCHAR)"
        " FROM bank_lines"
    ).fetchone()
    first, last = found or (None, None)
    stored = f"bank lines are stored from {first} to {last}" if first else "no bank line is stored"
    raise NothingStored(
        f"nothing is stored for {month}: {stored}",
        do="run `treasury sync` and `treasury statements add FILE…`, or ask for another month",
    )


def _asked(question: Question) -> pa.Table:
    """The question as a table of one row, which the steps read."""
    finished = question.today - timedelta(days=1)
    while not is_target_day(finished):
        finished -= timedelta(days=1)
    days = _days_of(question.month, question.zone)
    return days.append_column("last_finished_day", pa.array([finished]))


def _days_of(month: Month, zone: ZoneInfo) -> pa.Table:
    """The days and instants of a month, in one row."""
    row: dict[str, Any] = {
        "zone": pa.array([zone.key], TEXT),
        "month_first": pa.array([month.first]),
        "month_last": pa.array([month.last]),
        "month_start": pa.array([month.start(zone)], INSTANT),
        "month_end": pa.array([month.end(zone)], INSTANT),
        "next_business_day": pa.array([next_target_day(month.last)]),
    }
    return pa.table(row)


def _covered(connection: duckdb.DuckDBPyConnection, question: Question) -> pa.Table:
    """Which days the proved statements of each account have without a gap, and the month's."""
    stored, confirmed = (
        connection.sql(f"SELECT * FROM {name} WHERE {COUNTING}").to_arrow_table()  # noqa: S608
        for name in (STATEMENTS.name, BALANCE_CONFIRMATIONS.name)
    )
    return month_coverage(stored, question.accounts, confirmed, question.month)


def _accounts(accounts: tuple[BankAccount, ...]) -> pa.Table:
    return pa.table(
        {
            "account": pa.array([plain_account(account.account) for account in accounts], TEXT),
            "name": pa.array([account.name for account in accounts], TEXT),
            "currency": pa.array([account.currency for account in accounts], TEXT),
            "source": pa.array([account.source for account in accounts], TEXT),
        }
    )


def _class_rules(
    rules: Rules, accounts: tuple[BankAccount, ...], *, credits_by_text: bool = False
) -> pa.Table:
    """The class rules in their order, transfers between our own accounts first."""
    own = tuple(
        ClassRule(
            name="own transfer",
            line_class="own_transfer",
            source="own_bank",
            counterparty_account=plain_account(account.account),
        )
        for account in accounts
        if account.source == "own_bank"
    )
    names = ClassRule.__struct_fields__
    schema = pa.schema(
        [("turn", pa.int64()), ("meets_credits", pa.bool_()), *((name, TEXT) for name in names)]
    )
    return pa.Table.from_pylist(
        [
            {
                "turn": turn,
                "meets_credits": credits_by_text or not is_text_alone(rule),
                **_compared(rule),
            }
            for turn, rule in enumerate((*own, *rules.classes, *rules.standard_classes))
        ],
        schema=schema,
    )


def _compared(rule: ClassRule) -> dict[str, str | None]:
    """What lines are compared with: accounts as lines have them."""
    own: dict[str, str | None] = msgspec.structs.asdict(rule)
    accounts = ("account", "counterparty_account")
    return own | {name: plain_account(own[name] or "") or None for name in accounts}
