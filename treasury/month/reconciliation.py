"""A month's reconciliation, computed from records, decisions and rules alone.

All records of the lake and the journal take part in matching, so that a payment of an earlier month
is recognised. The month then selects the rows that are shown. The current time is never read; the
question contains its own time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.errors import NothingStored
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import html_grid
from treasury.core.text import safe_html
from treasury.core.wording import EXPECTED_KINDS, instant_words
from treasury.lake import Snapshot
from treasury.matching.engine import pipeline
from treasury.matching.engine.memo import Memo, fingerprint
from treasury.matching.engine.pipeline import Step, needed, steps_of
from treasury.matching.input_tables import Field, read_table
from treasury.matching.reference_matching import (
    FEW,
    OUTCOMES,
    PACKAGE,
    RESULTS,
    Matches,
    read_decisions,
    read_matches,
)
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED
from treasury.month import month_refusals, question_tables
from treasury.month.conversion import CONVERSIONS
from treasury.month.differences import DIFFERENCES
from treasury.month.funding import FUNDING_KEYS, ages, to_pay
from treasury.month.funding_words import READ_FOR_FUNDING, funding_table, with_changed_accounts
from treasury.month.internal import INTERNAL_TRANSFERS
from treasury.month.kept_run import Run, kept_run
from treasury.month.question import Question
from treasury.month.settle import unsettled_run
from treasury.month.settle.settled_months import ClosedMonths
from treasury.month.treasury_view import (
    READ_FOR_VIEW,
    booked_credits,
    unread_statements,
    view_of,
)

if TYPE_CHECKING:
    from treasury.matching.input_tables import TableLike
    from treasury.matching.spark.spark_matching import SparkMatches

MONTH_PACKAGE = "treasury.month.steps"
_KNOWLEDGE: Final = {
    "bank_lines": "entry_id",
    "lines": "entry_id",
    "line_classes": "entry_id",
    "expectations": "expectation_id",
    "linked_returns": "return_id, original_id",
}
"""The tables that are stored with a matching result, and their sort columns."""
_ALL: Final = {**steps_of(PACKAGE), **steps_of(MONTH_PACKAGE)}
STEPS: tuple[Step, ...] = pipeline.stored(
    pipeline.in_order(_ALL, (*RESULTS, *steps_of(MONTH_PACKAGE)))
)
"""The matching steps over the month's own texts and lines, and the steps of the month's tables."""
MATCHING = needed(STEPS, *RESULTS, *_KNOWLEDGE)
_STORED = needed(STEPS, "bank_lines", "fee_requests")
"""The steps that show whether any record is stored for the month."""
_DECIDED = (
    Field("entry_id", TEXT),
    Field("verdict", TEXT),
    Field("decided_by", TEXT),
    Field("decided_at", INSTANT),
)
"""The columns of decisions that matching does not read: who decided, and when."""
_LINE_KEYS: Final = (
    "booking_date", "direction", "amount", "signed_amount", "currency", "source",
    "counterparty_name", "outcome", "reference", "kind", "statement_account",
)  # fmt: skip
"""The first columns of bank lines in an answer.

`source` distinguishes the lines of own banks from those of the provider's statements.
"""
_CREDIT_KEYS: Final = (
    "name", "iban", "reference", "credits", "amount", "matched_credits", "matched_amount", "proof",
)  # fmt: skip
"""The first columns of the credits by virtual account in an answer."""
_NOTEBOOK_COLUMNS = ["state", "stage", "item", "amount", "currency", "since", "next_step"]
"""The columns of the differences that a notebook shows."""
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
_ANSWERS_OF: Final = {
    "statements": "statement_proofs",
    "lines": "month_lines",
    "earlier_lines": "earlier_lines",
    "bank_cutoffs": "bank_cutoffs",
    "excess_lines": "excess_lines",
    "virtual_accounts": "virtual_account_credits",
    "fee_requests": "fee_requests",
    "fee_accruals": "fee_accruals",
    "fee_totals": "fee_totals",
}
"""The reconciliation tables that have the rows of a single step, each with that step."""
READ_FOR_ANSWER = (*_ANSWERS_OF.values(), *READ_FOR_VIEW, *READ_FOR_FUNDING)
"""The steps that supply rows of an answer."""


_LAST: Final = (*READ_FOR_ANSWER, *RESULTS, *_KNOWLEDGE, "requests_at_cut_off")
"""The steps with results that are read after a run."""
_BANK_CUTOFFS: Final = grouped_schema(
    (TEXT, "entry_id", "statement_account", "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency"),
    (DATE, "value_date", "booking_date"),
    (TEXT, "expectation_id", "reference", "counterparty_name"),
)
"""One row per bank line that is a cut-off difference of the bank; `amount` is in `currency`."""
_EXCESS_LINES: Final = grouped_schema(
    (TEXT, "entry_id"),
    (DATE, "booking_date"),
    (TEXT, "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "expectation_id", "reference", "counterparty_name"),
)
"""One row per matched line above the expected amount; `amount`, in `currency`, is the excess.

`expectation_id` and `reference` are empty if the line was matched to several expectations.
"""


class Basis(Tables, msgspec.Struct, frozen=True, eq=False):
    """The inputs of an answer: the records, the question with its rules, and people's decisions.

    With `closed`, matching leaves out the records that closed months settled. The answer is the
    same, except that `matches` contains only the records that were matched.
    """

    snapshot: Snapshot
    question: Question
    decisions: Any = None
    remarks: pa.Table | None = None
    closed: ClosedMonths | None = None


class Reconciliation(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The reconciliation of one month, with exact decimal amounts.

    `lines`: the month's booked bank lines of all accounts with their outcome; sums of
    `signed_amount` count own transfers too, so group them by `statement_account`.
    `awaiting_funds`: requests that wait for their funds, with state and next step.
    `virtual_accounts`: proved credits per virtual account, or NOT PROVABLE. `balances`: opening,
    movements and closing of each account and wallet. `matches`: the outcomes of all stored lines,
    or of some of them if `is_partial`.
    """

    printed: ClassVar[Sequence[str]] = ("lines", "differences")

    key_columns: ClassVar[Mapping[str, Sequence[str]]] = {
        "lines": _LINE_KEYS,
        "earlier_lines": _LINE_KEYS,
        "awaiting_funds": FUNDING_KEYS,
        "virtual_accounts": _CREDIT_KEYS,
    }
    code_columns: ClassVar[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
        "lines": {"kind": EXPECTED_KINDS},
        "earlier_lines": {"kind": EXPECTED_KINDS},
    }
    fiat_columns: ClassVar[Mapping[str, Sequence[str]]] = {
        "lines": ("amount", "matched_amount"),
        "earlier_lines": ("amount", "matched_amount"),
        "virtual_accounts": ("amount", "matched_amount"),
        "statements": ("opening_balance", "closing_balance"),
        "conversions": ("fiat",),
        "bank_cutoffs": ("amount",),
        "excess_lines": ("amount",),
    }

    month: Month
    company: str
    environment: str
    as_of: datetime
    """The time of the question; due and overdue days count up to it."""
    known_at: datetime
    """The time of the last commit that the answer uses."""
    lines: Table
    earlier_lines: Table
    """Lines of earlier months that still need a person's decision; columns as in `lines`."""
    awaiting_funds: Table
    virtual_accounts: Table
    in_transit: Table
    statements: Table
    fee_requests: Table
    fee_accruals: Table
    fee_totals: Table
    matches: Matches
    conversions: Table = msgspec.field(default_factory=CONVERSIONS.empty_table)
    """Conversions of fiat money to coins, inferred from balances; columns as in `Conversion`."""
    differences: Table = msgspec.field(default_factory=DIFFERENCES.empty_table)
    """Differences between the bank and the services, with their age and next step."""
    internal_transfers: Table = msgspec.field(default_factory=INTERNAL_TRANSFERS.empty_table)
    """Transfers between own accounts and their two legs."""
    bank_cutoffs: Table = msgspec.field(default_factory=_BANK_CUTOFFS.empty_table)
    """Instant payments of the month that the bank booked after it; columns as in _BANK_CUTOFFS."""
    excess_lines: Table = msgspec.field(default_factory=_EXCESS_LINES.empty_table)
    """Excess amounts of matched lines in any month; columns as in _EXCESS_LINES."""
    rules: Rules = Rules()
    """The rules of the answer."""
    zone: ZoneInfo | None = None
    """The reporting time zone."""
    basis: Basis | None = None
    """The inputs of the answer, from which it can be computed again or compared."""
    is_partial: bool = False
    """Whether `matches` leaves out records that closed months settled or that stay on Spark."""
    matches_on_spark: SparkMatches | None = None
    """The matches of all records, if Spark computed them."""
    balances_of: Callable[[Reconciliation], Table] | None = None
    """Computes `balances` on demand; the workspace sets it."""

    def sql(self, step: str) -> str:
        """Return the full SQL of one step ("month_lines", "funding", …), to read or to run."""
        return step_sql(step)

    def has_tables_of(self, other: Reconciliation) -> bool:
        """Return whether both answers have the same objects; their time and basis may differ."""
        others = ("as_of", "basis", "balances_of")
        fields = (name for name in self.__struct_fields__ if name not in others)
        return all(getattr(self, name) is getattr(other, name) for name in fields)

    @property
    def balances(self) -> Table:
        """Each account's opening, movements, closing and proof; also the view `balances` of SQL."""
        if self.balances_of is None:
            raise NothingStored("this answer has no balances", do="use t.reconcile(MONTH).balances")
        return self.balances_of(self)

    def counts(self) -> dict[str, int]:
        """Return the month's number of lines by outcome; classed lines are `other_business`."""
        counts = dict.fromkeys((*OUTCOMES, "other_business"), 0)
        counted = self.lines.arrow.group_by(["outcome", "line_class"]).aggregate(
            [([], "count_all")]
        )
        for row in counted.to_pylist():
            name = "other_business" if row["line_class"] else row["outcome"]
            counts[name] += row["count_all"]
        return counts

    @property
    def provable(self) -> bool:
        """Whether the credits of every virtual account can be proved."""
        proofs = self.virtual_accounts.arrow["proof"].to_pylist()
        return not any(proof.startswith("NOT PROVABLE") for proof in proofs)

    def time_zone(self) -> ZoneInfo | None:
        """Return the reporting time zone."""
        return self.zone

    def table_options(self, name: str) -> Mapping[str, Any]:
        """Return the columns and notes that explain a table, other than its computed values."""
        rows, zone = getattr(self, name), self.zone or ZoneInfo("UTC")
        local_as_of = self.as_of.astimezone(zone)
        now = instant_words(local_as_of)
        match name:
            case "differences":
                note = f"began by {self.month.last:%-d %b %Y}; state, stage and age as of {now}"
                return {"notes": [note]}
            case "awaiting_funds":
                shown = self.shown_funding
                return {
                    "notes": [f"requests of all months, as of {now}", to_pay(shown)],
                    "beside": lambda: {
                        "age": ages(rows, local_as_of.date(), zone),
                        **{name: shown[name] for name in ("state", "next_step")},
                    },
                }
            case "virtual_accounts":
                lines = self.lines.arrow
                return {
                    "renamed": {"credits": "matched_credits", "amount": "matched_amount"},
                    "beside": lambda: booked_credits(rows["iban"], lines),
                }
        return {}

    @property
    def shown_funding(self) -> pa.Table:
        """The rows of `awaiting_funds` for lists of what to pay (`with_changed_accounts`)."""
        # The field is still an Arrow table while the options of its `Table` are read.
        rows: pa.Table = getattr(self.awaiting_funds, "arrow", self.awaiting_funds)
        return with_changed_accounts(rows, None if self.basis is None else self.basis.snapshot)

    def unread(self) -> list[str]:
        """Return the sources that are not read up to the month's end, and where each gap begins."""
        sources = unread_statements(self.statements.arrow)
        if sources and self.basis is not None:
            at = synced_at(self.basis.snapshot)
            day = None if at is None else at.astimezone(self.zone or UTC).date()
            if day is None or day <= self.month.last:
                sources.append(f"the services{'' if day is None else f' after {day:%-d %b}'}")
        return sources

    def sheets(self) -> Mapping[str, Table]:
        """Return the tables by sheet name: the month's lines first."""
        return {title: getattr(self, name) for title, name in SHEETS.items()}

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in self.counts().items() if n)
        unread = ", ".join(self.unread())
        words = [f"{len(self.lines)} lines: {counts or 'none'}"]
        if unread:
            words.append(f"not read: {unread}")
        return f"<Reconciliation {self.month}: {'; '.join(words)}>"

    def _repr_html_(self) -> str:
        rows = [
            (name.replace("_", " "), f"{count:,}") for name, count in self.counts().items() if count
        ]
        caption = f"{self.month.title}, {self.company}: {len(self.lines):,} bank lines"
        counted = html_grid(rows, (), caption, to_right=[1], has_row_heads=True)
        if unread := ", ".join(self.unread()):
            counted += f"<p>{safe_html(f'Not read: {unread}')}</p>"
        return counted + self.differences[_NOTEBOOK_COLUMNS]._repr_html_()


def step_sql(step: str) -> str:
    """Return the full SQL of one step of a month, to read or to run."""
    return pipeline.compose(needed(STEPS, step), step)


def reconcile_month(
    snapshot: Snapshot,
    question: Question,
    decisions: TableLike | None = None,
    remarks: pa.Table | None = None,
) -> Reconciliation:
    """Reconcile a month from a snapshot of the lake, people's decisions and their remarks.

    Raise InputError if the month has not begun. Raise NothingStored if no stored line was booked by
    its end, no request was completed in it and no account's balances cover it. Raise StatementError
    if the currency of a movement cannot be known.
    """
    return worked_out(Basis(snapshot, question, decisions, remarks)).answer


def matched_in_full(answer: Reconciliation) -> Reconciliation:
    """Return the answer with `matches` that contain every stored line, including settled ones."""
    if answer.basis is None or not answer.is_partial:
        return answer
    return worked_out(answer.basis).answer


class Matched(Tables, msgspec.Struct, frozen=True, eq=False):
    """One matching run: its input tables by name, and its result."""

    tables: Mapping[str, pa.Table]
    matches: Matches

    @property
    def nbytes(self) -> int:
        """The size of the tables in bytes."""
        return self.matches.nbytes + sum(table.nbytes for table in self.tables.values())


class WorkedOut(msgspec.Struct, frozen=True, eq=False):
    """A month's answer and the matching run behind it."""

    answer: Reconciliation
    matched: Matched

    @property
    def nbytes(self) -> int:
        """The size of the tables in bytes."""
        tables = self.answer.sheets().values()
        return self.matched.nbytes + sum(table.arrow.nbytes for table in tables)


def worked_out(basis: Basis) -> WorkedOut:
    """Return the month's answer and its matching; raise the errors of `reconcile_month`."""
    question, knowledge = basis.question, knowledge_key(basis)
    month_refusals.require_begun(question)
    answered = _ANSWERS.of(_answer_key(basis, knowledge), lambda: _work_out(basis))
    if basis.closed is None:
        _MATCHED.of(knowledge, lambda: answered.matched)
    everything = msgspec.structs.replace(basis, closed=None)
    answer = msgspec.structs.replace(answered.answer, as_of=question.as_of, basis=everything)
    return WorkedOut(answer, answered.matched)


def matched(basis: Basis) -> Matched:
    """Match all records of the snapshot; the month of the question has no effect."""

    def run_matching() -> Matched:
        with run_on_question(
            basis.snapshot, basis.question, basis.decisions, MATCHING
        ) as steps_run:
            return _read_matched(steps_run, basis.question.rules)

    return _MATCHED.of(knowledge_key(basis), run_matching)


_ANSWERS: Final[Memo[WorkedOut]] = Memo()
_MATCHED: Final[Memo[Matched]] = Memo()


def _answer_key(basis: Basis, knowledge: Hashable | None) -> Hashable | None:
    """Return the cache key of an answer: the inputs of matching, and the answer's other inputs.

    The key contains the day of the question in the reporting time zone, not its time. Return None
    if one of the inputs has no key.
    """
    question = basis.question
    remarked = None if basis.remarks is None else fingerprint(basis.remarks)
    if knowledge is None or (remarked is None and basis.remarks is not None):
        return None
    month, zone = str(question.month), question.zone.key
    return (
        knowledge,
        remarked,
        month,
        zone,
        question.today,
        question.company,
        question.environment,
        None if basis.closed is None else basis.closed.closes,
    )


def knowledge_key(basis: Basis) -> Hashable | None:
    """Return the cache key of matching, or None if its inputs have no key or are too large."""
    records = basis.snapshot.key()
    decided = fingerprint(*_decision_tables(basis.decisions).values())
    if records is None or decided is None:
        return None
    question = basis.question
    terms = (question.rules, question.accounts)
    return records, decided, msgspec.json.encode(terms)


def _work_out(basis: Basis) -> WorkedOut:
    question, closed = basis.question, basis.closed
    answered = None if closed is None else _work_out_unsettled(basis, closed)
    if answered is not None:
        return answered
    with run_on_question(basis.snapshot, question, basis.decisions, _STORED) as steps_run:
        connection = steps_run.connection
        month_refusals.require_month(_first_row(connection), question.month)
        settling = closed
        if closed is not None and not unsettled_run.is_much(connection, closed.least):
            settling = None
        steps_run.bring(STEPS, last=_LAST if settling is None else ())
        _AT_CUT_OFF.of(
            _cut_off_key(basis.snapshot, question.month, question.zone),
            lambda: _read_cut_off(connection),
        )
        if settling is not None:
            closed_to = question_tables.month_days(settling.month, question.zone)
            settled = unsettled_run.settled_now(connection, STEPS, closed_to)
            settling.write(basis.snapshot, settling_terms(question), settled)
        return _read_answer(basis, steps_run)


_NOT_AS_WRITTEN: Final = (duckdb.IOException, duckdb.FatalException, duckdb.SerializationException)
"""DuckDB's errors for a database file that is missing or damaged."""


def _work_out_unsettled(basis: Basis, closed: ClosedMonths) -> WorkedOut | None:
    """Return the answer computed without settled records, or None if all must be matched."""
    settled = closed.read(basis.snapshot, settling_terms(basis.question))
    if settled is None:
        return None
    beside = {unsettled_run.DATABASE: Path(settled.database)}
    try:
        with basis.snapshot.connection(one_thread=True, beside=beside) as connection:
            steps_run = Run(connection)
            _give_question(steps_run, basis.question, basis.decisions)
            if not unsettled_run.bring_unsettled(steps_run, settled, STEPS):
                return None
            month_refusals.require_month(_first_row(connection), basis.question.month)
            answered = _read_answer(basis, steps_run)
    # An error of the lake's own files is raised again when all records are matched.
    except _NOT_AS_WRITTEN:
        return None
    answer = msgspec.structs.replace(answered.answer, is_partial=True)
    return WorkedOut(answer, answered.matched)


def settling_terms(question: Question) -> str:
    """Return the hash of the rules, accounts, zone and steps on which settled records depend."""
    steps = [(step.name, step.sql) for step in (*STEPS, *unsettled_run.SETTLE_STEPS)]
    digest = hashlib.sha256(msgspec.json.encode((question.zone.key, steps)))
    digest.update(fingerprint(*question_tables.question_terms(question).values()) or b"")
    return digest.hexdigest()


def _read_answer(basis: Basis, steps_run: Run) -> WorkedOut:
    matching = _read_matched(steps_run, basis.question.rules)
    return WorkedOut(answer_on(steps_run.connection, basis, matching.matches), matching)


def answer_on(
    connection: duckdb.DuckDBPyConnection, basis: Basis, matches: Matches
) -> Reconciliation:
    """Return the month's answer from a connection with the rows of the steps READ_FOR_ANSWER."""
    question = basis.question
    tables = {name: connection.table(step).to_arrow_table() for name, step in _ANSWERS_OF.items()}
    tables |= view_of(connection, question)
    answer = Reconciliation(
        month=question.month,
        company=question.company,
        environment=question.environment,
        as_of=question.as_of,
        basis=basis,
        known_at=_known_at(connection) or question.as_of,
        awaiting_funds=funding_table(
            connection, question.rules, question.today, basis.remarks, question.zone
        ),
        matches=matches,
        rules=question.rules,
        zone=question.zone,
        **tables,
    )
    # The tables have read what explains them. The answer is cached, and must not keep the snapshot.
    return msgspec.structs.replace(answer, basis=None)


def _read_matched(steps_run: Run, rules: Rules) -> Matched:
    """Read matching's inputs and results from a finished run."""
    tables = {name: steps_run.table(name, order) for name, order in _KNOWLEDGE.items()}
    matches = read_matches(lambda name: steps_run.table(name, RESULTS[name]), MATCHING, rules)
    return Matched(tables, matches)


def requests_at_cut_off(snapshot: Snapshot, month: Month, zone: ZoneInfo) -> pa.Table:
    """Return every ramp request made by the month's end, with its status at that time."""

    def work_out() -> pa.Table:
        with snapshot.connection() as connection:
            pipeline.load(connection, {"asked": question_tables.month_days(month, zone)})
            pipeline.run(connection, needed(STEPS, "requests_at_cut_off"))
            return _read_cut_off(connection)

    return _AT_CUT_OFF.of(_cut_off_key(snapshot, month, zone), work_out)


def _cut_off_key(snapshot: Snapshot, month: Month, zone: ZoneInfo) -> Hashable | None:
    """Return the cache key of the requests at a month's end, or None if the records have no key."""
    records = snapshot.key()
    return None if records is None else (records, str(month), zone.key)


_AT_CUT_OFF: Final[Memo[pa.Table]] = Memo()


def _read_cut_off(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Read the requests at the month's end from a connection on which their steps have run."""
    return connection.table("requests_at_cut_off").order("request_id").to_arrow_table()


def require_synced(snapshot: Snapshot, *, uses_services: bool) -> None:
    """Raise NothingStored if the services were never read before the snapshot."""
    if synced_at(snapshot) is not None:
        return
    if not uses_services:
        raise NothingStored(
            "not used here: the workspace has no payment services",
            do="if the company uses them, name them under [services] in treasury.toml",
        )
    raise NothingStored(
        "the waiting requests are not known: the services were never read",
        do="run `treasury sync`, or ask for a time after the first sync",
    )


def synced_at(snapshot: Snapshot) -> datetime | None:
    """Return when the services were last read before the snapshot, or None if never."""
    rows = snapshot.select("SELECT max(\"at\") AS synced FROM commits WHERE kind LIKE 'sync%'")
    at: datetime | None = rows["synced"][0].as_py()
    return at


def awaiting_funds(
    snapshot: Snapshot,
    question: Question,
    decisions: TableLike | None = None,
    remarks: pa.Table | None = None,
) -> pa.Table:
    """Return the requests that wait for their funds in any month; columns as in `funding.FUNDING`.

    Raise NothingStored if the services were never read: the waiting requests are then unknown, or
    the services are not used.
    """
    require_synced(snapshot, uses_services=question.uses_services)

    def work_out() -> pa.Table:
        steps = needed(STEPS, *READ_FOR_FUNDING)
        with run_on_question(snapshot, question, decisions, steps) as steps_run:
            return funding_table(
                steps_run.connection, question.rules, question.today, remarks, question.zone
            )

    basis = Basis(snapshot, question, decisions, remarks)
    return _FUNDS.of(_answer_key(basis, knowledge_key(basis)), work_out)


_FUNDS: Final[Memo[pa.Table]] = Memo()


@contextmanager
def run_on_question(
    snapshot: Snapshot,
    question: Question,
    decisions: TableLike | None,
    steps: tuple[Step, ...] = STEPS,
) -> Iterator[Run]:
    """Yield a run on which the given steps have run."""
    with kept_run(snapshot) as steps_run:
        steps_run.give(NOTHING_SETTLED)
        _give_question(steps_run, question, decisions)
        steps_run.bring(steps)
        yield steps_run


@contextmanager
def run_on_matched(basis: Basis, steps: tuple[Step, ...], *targets: str) -> Iterator[Run]:
    """Yield a run on which the steps `targets` have run, without running matching twice.

    Matching results for the same records, question and decisions are reused.
    """
    matching = matched(basis)
    # A run this small is cached, and the next decision reuses it.
    if len(matching.matches.lines) < FEW:
        with run_on_question(basis.snapshot, basis.question, basis.decisions, steps) as steps_run:
            yield steps_run
        return
    answers = (table.arrow for table in matching.matches.sheets().values())
    results = dict(zip(RESULTS, answers, strict=True))
    given = {**matching.tables, **results}
    unmatched = tuple(step for step in steps if step.name not in given)
    with basis.snapshot.connection(alone=True) as connection:
        steps_run = Run(connection)
        steps_run.give(NOTHING_SETTLED)
        _give_question(steps_run, basis.question, basis.decisions)
        steps_run.show(given)
        steps_run.bring(needed(unmatched, *targets), last=targets)
        yield steps_run


def _give_question(steps_run: Run, question: Question, decisions: TableLike | None) -> None:
    """Load every input of the steps into a run, except records and settled records."""
    connection = steps_run.connection
    steps_run.give(question_inputs(connection, question, decisions))
    month_refusals.require_currency(_first_row(connection))


def question_inputs(
    connection: duckdb.DuckDBPyConnection, question: Question, decisions: TableLike | None
) -> dict[str, pa.Table]:
    """Return every input of the steps, other than records and settled records, by name.

    The connection must have the statements and the confirmed balances.
    """
    return {
        **question_tables.question_terms(question),
        **_decision_tables(decisions),
        "asked": question_tables.question_table(question),
        "covered": question_tables.coverage_table(connection, question),
    }


def _first_row(connection: duckdb.DuckDBPyConnection) -> Callable[[str], tuple[Any, ...] | None]:
    return lambda query: next(iter(connection.execute(query).fetchall()), None)


def _decision_tables(decisions: TableLike | None) -> dict[str, pa.Table]:
    """Return people's decisions as two tables: the verdicts, and who decided when."""
    return {
        "decisions": read_decisions(decisions),
        "decided": read_table(decisions, _DECIDED, name="decisions"),
    }


def _known_at(connection: duckdb.DuckDBPyConnection) -> datetime | None:
    """Return the time of the last commit that the snapshot shows, or None without a commit."""
    last = connection.sql('SELECT max("at") AS known_at FROM commits').to_arrow_table()
    return last["known_at"][0].as_py()
