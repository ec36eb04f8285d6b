"""The stages that a bank line passed in a matching run, read from the run's tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.errors import InputError, NothingStored
from treasury.core.files.package_files import package_rows, step_sql
from treasury.core.money import format_amount
from treasury.core.tables.schemas import table_of
from treasury.core.text import clean, is_it
from treasury.lake import Snapshot
from treasury.matching.engine.pipeline import needed
from treasury.matching.reference_matching import RESULTS
from treasury.matching.reference_matching import STEPS as MATCHING_STEPS
from treasury.month.explain.line_explanation import (
    CHOICES,
    FORMS,
    QUESTIONS,
    READINGS,
    RETURNS,
    SHARES,
    STAGES,
    LineExplanation,
)
from treasury.month.explain.stage_sentences import (
    allocation_sentences,
    candidate_sentences,
    form_sentences,
    line_sentences,
    outcome_sentences,
    question_sentences,
    reading_sentences,
    return_sentences,
)
from treasury.month.question import Question
from treasury.month.reconciliation import STEPS, run_on_question
from treasury.month.reconciliation import step_sql as matching_sql

_Row: TypeAlias = Mapping[str, Any]
_PACKAGE: Final = "treasury.month.explain"
_READ: Final = needed(STEPS, *RESULTS, "bank_lines", "line_deciders")
"""The steps that this folder's queries read, and the steps that those need."""
_QUESTIONS: Final = {
    int(row["number"]): row["question"]
    for row in package_rows("treasury.matching", "doubts/questions.csv")
}
_OTHER_LINES: Final = "Does anything else speak against it?"
_PAYER: Final = 5
"""The number of the question about the payer; it applies to credits only."""
_LINE_KEYS: Final = ("entry_id", "return_id", "original_id")
"""The columns of a step that contain the id of a bank line."""
_NO_DOUBT: Final = "no doubt"
_SHORTEST: Final = 6
"""Minimum number of characters to identify an id."""


def explain_line(
    snapshot: Snapshot,
    question: Question,
    decisions: pa.Table | None,
    name: str,
    *,
    within: Month | None = None,
) -> LineExplanation:
    """Explain the line with the id `name`, or the only line with an id that begins with it.

    `within` is the month in which the line must be booked. Raises InputError for an unknown or
    ambiguous id and for a line of another month, NothingStored for a month without bank lines.
    """
    with run_on_question(snapshot, question, decisions, _READ) as steps_run:
        entry_id = _find_line(steps_run.connection, name, within)
        return explanation_of(steps_run.connection, entry_id, question.zone)


def step_rows(
    snapshot: Snapshot,
    question: Question,
    decisions: pa.Table | None,
    name: str,
    step: str,
    *,
    within: Month | None = None,
) -> pa.Table:
    """Return the rows that one step of matching has for a line; `name` as in `explain_line`.

    Raises InputError for an unknown step and for a step without a column of line ids, and the
    errors of `explain_line`.
    """
    known = {each.name for each in MATCHING_STEPS}
    if step not in known:
        raise InputError(
            f"matching has no step {clean(step)[:60]!r}{is_it(step, known)}",
            do="give the name of a .sql file below treasury/matching",
        )
    with run_on_question(snapshot, question, decisions, _READ) as steps_run:
        entry_id = _find_line(steps_run.connection, name, within)
        rows = steps_run.connection.table(step)
        keys = [column for column in _LINE_KEYS if column in rows.columns]
        if not keys:
            raise InputError(
                f"the step {step} has no column with the id of a line",
                do="name a step with a row per line",
            )
        is_of_line = duckdb.ConstantExpression(entry_id).isin(*map(duckdb.ColumnExpression, keys))
        return rows.filter(is_of_line).order("ALL").to_arrow_table()


def explanation_of(
    connection: duckdb.DuckDBPyConnection, entry_id: str, zone: ZoneInfo
) -> LineExplanation:
    """Return the explanation of a line, from a connection on which matching has run."""
    (line,) = _table(connection, "explained_line", entry_id).to_pylist()
    forms = _table(connection, "text_forms", entry_id).cast(FORMS)
    readings = _table(connection, "text_readings", entry_id).cast(READINGS)
    reasons = _table(connection, "question_reasons", entry_id).to_pylist()
    returns = _table(connection, "line_returns", entry_id).cast(RETURNS)
    candidates = _table(connection, "line_choices", entry_id).cast(CHOICES)
    allocations = _table(connection, "line_shares", entry_id).cast(SHARES)
    questions = tuple(_questions(line, readings.to_pylist(), reasons))
    sentences = (
        *line_sentences(line),
        *form_sentences(forms.to_pylist()),
        *reading_sentences(readings.to_pylist()),
        *question_sentences(questions),
        *return_sentences(returns.to_pylist(), entry_id),
        *candidate_sentences(candidates.to_pylist()),
        *allocation_sentences(allocations.to_pylist()),
        *outcome_sentences(line, zone),
    )
    way = "credit" if line["direction"] == "CRDT" else "debit"
    amount = format_amount(line["amount"], line["currency"])
    booked = "booked" if line["entry_status"] in {None, "BOOK"} else "pending, not booked,"
    return LineExplanation(
        entry_id=entry_id,
        title=f"{way} of {amount} {booked} on {line['booking_date']:%-d %b %Y}, {entry_id}",
        stages=table_of(sentences, STAGES),
        forms=forms,
        readings=readings,
        questions=table_of(questions, QUESTIONS),
        returns=returns,
        candidates=candidates,
        allocations=allocations,
        outcome=line["outcome"],
        expectation_id=line["expectation_id"],
        reason=line["reason"],
        sql=matching_sql("outcomes"),
        zone=zone,
    )


def _find_line(connection: duckdb.DuckDBPyConnection, name: str, within: Month | None) -> str:
    """Return the id of the line with the id `name`, or with an id that begins with it."""
    if within is not None:
        days = [within.first, within.last]
        booked = "SELECT 1 FROM bank_lines WHERE booking_date BETWEEN ? AND ? LIMIT 1"
        if connection.execute(booked, days).fetchone() is None:
            raise NothingStored(
                f"no bank line is stored for {within}",
                do="run `treasury statements add FILE…`, or leave out the month",
            )
    query = connection.execute(step_sql(_PACKAGE, "lines_of_name"), {"name": name})
    lines = {entry_id: (day, is_meant) for entry_id, day, is_meant in query.fetchall()}
    named_ids = [entry_id for entry_id, (_, is_meant) in lines.items() if is_meant]
    if name in named_ids:
        named_ids = [name]
    if len(name) < _SHORTEST and named_ids != [name]:
        named_ids = []
    if not named_ids:
        nearest = next(iter(lines), "")
        raise InputError(
            f"there is no bank line {clean(name)[:60]!r}",
            do=f"the nearest id is {clean(nearest)}" if nearest else "add bank statements first",
        )
    if len(named_ids) > 1:
        raise InputError(
            f"{len(named_ids)} ids begin with {clean(name)[:60]!r}", do="give more of the id"
        )
    (entry_id,) = named_ids
    day = lines[entry_id][0]
    if within is not None and not within.first <= day <= within.last:
        raise InputError(
            f"the line {clean(entry_id)} was booked on {day}, not in {within}",
            do=f"give the month {Month.of(day)}, or none",
        )
    return entry_id


def _table(connection: duckdb.DuckDBPyConnection, name: str, entry_id: str) -> pa.Table:
    """Return the rows that a query of this folder finds for a line."""
    return connection.sql(step_sql(_PACKAGE, name), params=[entry_id]).to_arrow_table()


def _questions(
    line: _Row, readings: Sequence[_Row], reasons: Collection[_Row]
) -> Iterator[tuple[int | None, str, bool, bool, str]]:
    """Yield a tuple per answer, with the columns of QUESTIONS.

    Doubts that belong to no question have no number.
    """
    is_asked = any(reading["needs"] != "person" for reading in readings)
    not_asked = "not applicable: no reading could prove the line"
    if line["line_class"] is not None:
        not_asked = "not applicable: the line takes no part in matching"
    for number, words in _QUESTIONS.items():
        doubts = [reason["why"] for reason in reasons if reason["question"] == number]
        for why in doubts:
            yield number, words, True, True, why
        if not doubts and is_asked and number == _PAYER and line["direction"] != "CRDT":
            yield number, words, False, False, "not applicable: the payment is our own"
        elif not doubts:
            yield number, words, is_asked, False, _NO_DOUBT if is_asked else not_asked
    for reason in reasons:
        if reason["question"] is None:
            yield None, _OTHER_LINES, True, True, reason["why"]
