"""A month's reconciliation: a snapshot of the lake, people's decisions and rules in; answers out.

Everything the lake and the journal hold takes part in matching, so that a payment of an earlier
month is known to be one; the month then selects what is shown. No clock is read: the instant that
the question is asked at is part of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.errors import NothingStored
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table, Tables
from treasury.core.text import safe_html
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
from treasury.month.funding_words import READ_FOR_FUNDING, funding_table
from treasury.month.internal import INTERNAL_TRANSFERS
from treasury.month.kept_run import Run, kept_run
from treasury.month.question import Question
from treasury.month.settle import unsettled_run
from treasury.month.settle.settled_months import ClosedMonths
from treasury.month.treasury_view import READ_FOR_VIEW, view_of

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
"""What a run of matching is kept with, and the order of its rows."""
_ALL: Final = {**steps_of(PACKAGE), **steps_of(MONTH_PACKAGE)}
STEPS: tuple[Step, ...] = pipeline.stored(
    pipeline.in_order(_ALL, (*RESULTS, *steps_of(MONTH_PACKAGE)))
)
"""The steps of matching, over the month's own texts and lines, and what a month shows of them."""
MATCHING = needed(STEPS, *RESULTS, *_KNOWLEDGE)
_STORED = needed(STEPS, "bank_lines", "fee_requests")
"""The steps that tell whether anything is stored for the month."""
_DECIDED = (
    Field("entry_id", TEXT),
    Field("verdict", TEXT),
    Field("decided_by", TEXT),
    Field("decided_at", INSTANT),
)
"""Who decided, beside what the matching reads of a decision."""
_NOTEBOOK_COLUMNS = ["state", "stage", "item", "amount", "currency", "since", "next_step"]
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
"""The tables of a reconciliation that are a step's rows, and that step."""
READ_FOR_ANSWER = (*_ANSWERS_OF.values(), *READ_FOR_VIEW, *READ_FOR_FUNDING)
"""The steps whose rows become an answer."""


_LAST: Final = (*READ_FOR_ANSWER, *RESULTS, *_KNOWLEDGE, "requests_at_cut_off")
"""The steps that are read once all have run."""
_BANK_CUTOFFS: Final = grouped_schema(
    (TEXT, "entry_id", "statement_account", "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency"),
    (DATE, "value_date", "booking_date"),
    (TEXT, "expectation_id", "reference", "counterparty_name"),
)
"""A row for each bank line that is a cut-off difference of the bank, amounts in `currency`."""
_EXCESS_LINES: Final = grouped_schema(
    (TEXT, "entry_id"),
    (DATE, "booking_date"),
    (TEXT, "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "expectation_id", "reference", "counterparty_name"),
)
"""A row for each matched line of more than was expected; `amount`, in `currency`, is what is above
it. `expectation_id` and `reference` are empty where it was matched to several."""


class Basis(Tables, msgspec.Struct, frozen=True, eq=False):
    """What an answer is a function of: the records, the question with its rules, the decisions.

    With `closed` what closed months settled is left out of matching: the answer is the same, but
    for `matches`, which has what takes part alone.
    """

    snapshot: Snapshot
    question: Question
    decisions: Any = None
    remarks: pa.Table | None = None
    closed: ClosedMonths | None = None


class Reconciliation(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What the bank's month amounts to; every table is Arrow, every amount exact.

    `lines`: the month's booked bank lines with their outcome (amount in `currency`, direction CRDT
    or DBIT). `awaiting_funds`: requests to fund, in the words of the desk. `virtual_accounts`:
    credits proved for each virtual account, or NOT PROVABLE. `in_transit`, `statements`,
    `fee_requests`, `fee_accruals`, `fee_totals`: as their names say. `matches` holds every line
    ever stored that closed months did not settle.
    """

    month: Month
    company: str
    environment: str
    as_of: datetime
    """The instant that the question was asked at: dues and overdues count to here."""
    known_at: datetime
    """The instant of the last commit that the answer rests on."""
    lines: Table
    earlier_lines: Table
    """Lines of earlier months that still need a person; columns as in `lines`."""
    awaiting_funds: Table
    virtual_accounts: Table
    in_transit: Table
    statements: Table
    fee_requests: Table
    fee_accruals: Table
    fee_totals: Table
    matches: Matches
    conversions: Table = msgspec.field(default_factory=CONVERSIONS.empty_table)
    """Euros that became coins, proved by balances: columns as in `conversion.Conversion`."""
    differences: Table = msgspec.field(default_factory=DIFFERENCES.empty_table)
    """What the bank and the services do not say alike, with its age and the next step."""
    internal_transfers: Table = msgspec.field(default_factory=INTERNAL_TRANSFERS.empty_table)
    """Transfers between own accounts and their two legs."""
    bank_cutoffs: Table = msgspec.field(default_factory=_BANK_CUTOFFS.empty_table)
    """Instant payments of the month that the bank booked after it; columns as in BANK_CUTOFFS."""
    excess_lines: Table = msgspec.field(default_factory=_EXCESS_LINES.empty_table)
    """What was received above what was expected, in any month; columns as in EXCESS_LINES."""
    rules: Rules = Rules()
    """The rules that the answer was given under."""
    basis: Basis | None = None
    """What it was made from, to make it again or to compare it."""
    is_partial: bool = False
    """Whether `matches` leave out what closed months settled, or what stays on Spark."""
    matches_on_spark: SparkMatches | None = None
    """Every line and expectation matched, where that was asked of Spark."""

    def sql(self, step: str) -> str:
        """The whole query behind one step ("month_lines", "funding", …), to read or run."""
        return step_sql(step)

    def has_tables_of(self, other: Reconciliation) -> bool:
        """Whether both are one answer, asked for at whatever instant and on whatever basis."""
        fields = (name for name in self.__struct_fields__ if name not in ("as_of", "basis"))
        return all(getattr(self, name) is getattr(other, name) for name in fields)

    def counts(self) -> dict[str, int]:
        """Lines of the month by outcome; other business, which matching leaves out, apart."""
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
        """Whether every virtual account's credits can be proved."""
        proofs = self.virtual_accounts.arrow["proof"].to_pylist()
        return not any(proof.startswith("NOT PROVABLE") for proof in proofs)

    def time_zone(self) -> ZoneInfo | None:
        """The reporting time zone; None for an answer without its basis."""
        return None if self.basis is None else self.basis.question.zone

    def sheets(self) -> Mapping[str, Table]:
        """The month's lines, then every other table."""
        return {title: getattr(self, name) for title, name in SHEETS.items()}

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in self.counts().items() if n)
        return f"<Reconciliation {self.month}: {len(self.lines)} lines: {counts or 'none'}>"

    def _repr_html_(self) -> str:
        counted = "".join(
            f"<tr><th scope='row' style='text-align:left'>{safe_html(name.replace('_', ' '))}</th>"
            f"<td style='text-align:right'>{count:,}</td></tr>"
            for name, count in self.counts().items()
            if count
        )
        caption = safe_html(f"{self.month.title}, {self.company}: {len(self.lines):,} bank lines")
        differences = self.differences[_NOTEBOOK_COLUMNS]._repr_html_()
        return f"<table><caption>{caption}</caption>{counted}</table>{differences}"


def step_sql(step: str) -> str:
    """The whole query behind one step of a month, to read or run."""
    return pipeline.compose(needed(STEPS, step), step)


def reconcile_month(
    snapshot: Snapshot,
    question: Question,
    decisions: TableLike | None = None,
    remarks: pa.Table | None = None,
) -> Reconciliation:
    """Reconcile a month from one snapshot of the lake, people's decisions and their remarks.

    Raises InputError for a month that has not begun, NothingStored for one by whose end no bank
    line is stored, of which no request was completed, and that no account's balances cover.
    """
    return worked_out(Basis(snapshot, question, decisions, remarks)).answer


def matched_in_full(answer: Reconciliation) -> Reconciliation:
    """The answer whose `matches` hold every line ever stored."""
    if answer.basis is None or not answer.is_partial:
        return answer
    return worked_out(answer.basis).answer


class Matched(Tables, msgspec.Struct, frozen=True, eq=False):
    """One run of matching: by name the tables that went in, and what came out."""

    tables: Mapping[str, pa.Table]
    matches: Matches

    @property
    def nbytes(self) -> int:
        """Bytes that its tables hold."""
        return self.matches.nbytes + sum(table.nbytes for table in self.tables.values())


class WorkedOut(msgspec.Struct, frozen=True, eq=False):
    """A month's answer, and the run of matching behind it."""

    answer: Reconciliation
    matched: Matched

    @property
    def nbytes(self) -> int:
        """Bytes that its tables hold."""
        tables = self.answer.sheets().values()
        return self.matched.nbytes + sum(table.arrow.nbytes for table in tables)


def worked_out(basis: Basis) -> WorkedOut:
    """The month's answer and what it rests on; errors as `reconcile_month`."""
    question, knowledge = basis.question, knowledge_key(basis)
    month_refusals.require_begun(question)
    answered = _ANSWERS.of(_answer_key(basis, knowledge), lambda: _work_out(basis))
    if basis.closed is None:
        _MATCHED.of(knowledge, lambda: answered.matched)
    everything = msgspec.structs.replace(basis, closed=None)
    answer = msgspec.structs.replace(answered.answer, as_of=question.as_of, basis=everything)
    return WorkedOut(answer, answered.matched)


def matched(basis: Basis) -> Matched:
    """Matching over everything in the snapshot; the month of the question does not matter."""

    def run_matching() -> Matched:
        with run_on_question(
            basis.snapshot, basis.question, basis.decisions, MATCHING
        ) as steps_run:
            return _read_matched(steps_run, basis.question.rules)

    return _MATCHED.of(knowledge_key(basis), run_matching)


_ANSWERS: Final[Memo[WorkedOut]] = Memo()
_MATCHED: Final[Memo[Matched]] = Memo()


def _answer_key(basis: Basis, knowledge: Hashable | None) -> Hashable | None:
    """All that an answer is a function of, beside all that matching is one of.

    Of the instant that is its day in the reporting zone.
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
    """All that matching is a function of; None where that is not to be had, or much."""
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
"""What DuckDB raises of a database that is not there, or is not as it was written."""


def _work_out_unsettled(basis: Basis, closed: ClosedMonths) -> WorkedOut | None:
    """The answer with what is settled left out; None where everything is to be matched."""
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
    except _NOT_AS_WRITTEN:  # what else is wrong is met again where everything is matched
        return None
    answer = msgspec.structs.replace(answered.answer, is_partial=True)
    return WorkedOut(answer, answered.matched)


def settling_terms(question: Question) -> str:
    """The hash of all but records and decisions that tells what a line is, and what is settled."""
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
    """The month's answer, from a connection that has the rows of the steps READ_FOR_ANSWER."""
    question = basis.question
    tables = {name: connection.table(step).to_arrow_table() for name, step in _ANSWERS_OF.items()}
    tables |= view_of(connection, question)
    return Reconciliation(
        month=question.month,
        company=question.company,
        environment=question.environment,
        as_of=question.as_of,
        known_at=_known_at(connection) or question.as_of,
        awaiting_funds=funding_table(
            connection, question.rules, question.today, basis.remarks, question.zone
        ),
        matches=matches,
        rules=question.rules,
        **tables,
    )


def _read_matched(steps_run: Run, rules: Rules) -> Matched:
    """What matching knew and said, of a run that its steps have run on."""
    tables = {name: steps_run.table(name, order) for name, order in _KNOWLEDGE.items()}
    matches = read_matches(lambda name: steps_run.table(name, RESULTS[name]), MATCHING, rules)
    return Matched(tables, matches)


def requests_at_cut_off(snapshot: Snapshot, month: Month, zone: ZoneInfo) -> pa.Table:
    """Every ramp request that was made by a month's end, in the status that it had then."""

    def work_out() -> pa.Table:
        with snapshot.connection() as connection:
            pipeline.load(connection, {"asked": question_tables.month_days(month, zone)})
            pipeline.run(connection, needed(STEPS, "requests_at_cut_off"))
            return _read_cut_off(connection)

    return _AT_CUT_OFF.of(_cut_off_key(snapshot, month, zone), work_out)


def _cut_off_key(snapshot: Snapshot, month: Month, zone: ZoneInfo) -> Hashable | None:
    """All that the requests of a month's end are a function of; None where it is not to be had."""
    records = snapshot.key()
    return None if records is None else (records, str(month), zone.key)


_AT_CUT_OFF: Final[Memo[pa.Table]] = Memo()


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
    rows = snapshot.select("SELECT max(\"at\") AS synced FROM commits WHERE kind LIKE 'sync%'")
    at: datetime | None = rows["synced"][0].as_py()
    return at


def awaiting_funds(
    snapshot: Snapshot,
    question: Question,
    decisions: TableLike | None = None,
    remarks: pa.Table | None = None,
) -> pa.Table:
    """Requests that wait for their funds, whatever the month; columns as in `funding.FUNDING`.

    Raises NothingStored where the services were never read: then what waits is not known.
    """
    require_synced(snapshot)

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
    """A run on which every step has run, or the first of them."""
    with kept_run(snapshot) as steps_run:
        steps_run.give(NOTHING_SETTLED)
        _give_question(steps_run, question, decisions)
        steps_run.bring(steps)
        yield steps_run


@contextmanager
def run_on_matched(basis: Basis, steps: tuple[Step, ...], *targets: str) -> Iterator[Run]:
    """A run on which the targets among the steps have run; of many lines none is matched again.

    What matching has given of the same records, question and decisions stands there as it was.
    """
    matching = matched(basis)
    if len(matching.matches.lines) < FEW:  # such a run is kept for what is decided next
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
    """Give a run all that the steps read beside the records and what is settled of them."""
    connection = steps_run.connection
    steps_run.give(question_inputs(connection, question, decisions))
    month_refusals.require_currency(_first_row(connection))


def question_inputs(
    connection: duckdb.DuckDBPyConnection, question: Question, decisions: TableLike | None
) -> dict[str, pa.Table]:
    """All that the steps read beside the records and what is settled, by name.

    The connection has the statements and the confirmed balances.
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
    """People's decisions, and who made them and when."""
    return {
        "decisions": read_decisions(decisions),
        "decided": read_table(decisions, _DECIDED, name="decisions"),
    }


def _known_at(connection: duckdb.DuckDBPyConnection) -> datetime | None:
    """The instant of the last commit that this snapshot, or its view of an instant, shows."""
    last = connection.sql('SELECT max("at") AS known_at FROM commits').to_arrow_table()
    return last["known_at"][0].as_py()
