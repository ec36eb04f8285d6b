"""A month's reconciliation on Apache Spark, with the same steps as on DuckDB.

Records and matches stay on the cluster. The rows that an answer needs are copied to a local DuckDB
database. Its tables were made by running the steps over empty inputs, so types and sentences are
the same as without Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.files import durable
from treasury.core.files.package_files import step_sql
from treasury.core.settings import Secret
from treasury.core.tables import duckdb_engine
from treasury.matching.engine.pipeline import drop, load, needed
from treasury.matching.reference_matching import RESULTS, read_matches
from treasury.matching.settled_tables import NOTHING_SETTLED
from treasury.matching.spark.spark_matching import KEPT, kept_matches
from treasury.matching.spark.spark_run import SparkRun, session_of, side_by_side, spark_settings
from treasury.month.funding_words import STORED_FOR_FUNDING
from treasury.month.kept_run import Run
from treasury.month.month_refusals import (
    require_begun,
    require_currency,
    require_month,
)
from treasury.month.reconciliation import (
    READ_FOR_ANSWER,
    STEPS,
    Basis,
    Reconciliation,
    answer_on,
    question_inputs,
)
from treasury.month.spark.spark_lake import LakeOnCluster, read_lake
from treasury.statements.statement_tables import BALANCE_CONFIRMATIONS, COUNTING, STATEMENTS

_STEPS: Final = needed(STEPS, *READ_FOR_ANSWER, *RESULTS)
_SHOWN: Final = ("month_lines", "earlier_lines")
"""The steps that select which matches are copied: those of lines in the answer."""
_OF_LINES: Final = """
SELECT s.* FROM {step} AS s
WHERE s.entry_id IN (SELECT entry_id FROM month_lines UNION ALL SELECT entry_id FROM earlier_lines)
"""
_OF_EXPECTATIONS: Final = step_sql("treasury.month.queries", "shown_expectations")


def month_on_spark(
    basis: Basis,
    *,
    engine: Any,
    into: str | Path | None,
    folder: Path,
    lake: LakeOnCluster,
    token: Secret | None = None,
) -> Reconciliation:
    """Answer the month in a Spark session; raise the errors of `worked_out`.

    All matches are written to `into`, if it is given. Otherwise the steps' tables are stored below
    `folder` until the run ends. The cluster reads the records at `lake`.
    """
    require_begun(basis.question)
    session = session_of(engine, token)
    if into is None:
        durable.make_folder(folder)
    with (
        spark_settings(session),
        basis.snapshot.without_rows().connection(one_thread=True) as home,
    ):
        place = f"file://{folder.resolve()}" if into is None else into
        run = SparkRun(session, place, _STEPS, (*READ_FOR_ANSWER, *RESULTS, *_SHOWN))
        try:
            if into is not None:
                run.require_free(KEPT)
            return _answer(run, home, basis, lake, is_kept=into is not None)
        finally:
            run.end()


def _answer(
    run: SparkRun,
    home: duckdb.DuckDBPyConnection,
    basis: Basis,
    lake: LakeOnCluster,
    *,
    is_kept: bool,
) -> Reconciliation:
    question = basis.question
    inputs = _inputs(run, home, basis, lake)
    run.give(inputs)
    require_currency(run.first_row)
    _run_without_rows(home, inputs)
    begin = needed(_STEPS, "bank_lines", "fee_requests")
    run.bring(begin)
    require_month(run.first_row, question.month)
    read_later = frozenset[str]().union(*(step.reads for step in _STEPS), RESULTS, _SHOWN)
    run.bring(step for step in _STEPS if step not in begin and step.name in read_later)
    # The order comes from the step's SQL, because written files have no order.
    brought = {step.name: run.rows(step.sql) for step in _STEPS if step.name in READ_FOR_ANSWER}
    for name in RESULTS:
        query = _OF_EXPECTATIONS if name == "expectation_states" else _OF_LINES.format(step=name)
        brought[name] = run.rows(query)
    tables = side_by_side(lambda rows: rows.toArrow(), brought.values())
    for name, table in zip(brought, tables, strict=True):
        home.register("brought", table)
        home.execute(f'DELETE FROM "{name}"')  # noqa: S608 - a step's name
        home.execute(f'INSERT INTO "{name}" BY NAME FROM brought')
        home.unregister("brought")
    # The views are dropped, so that reading any other lake table fails instead of finding no rows.
    for view in basis.snapshot.views():
        home.execute(f"DROP VIEW {duckdb_engine.quoted(view)}")
    funding = {
        name: basis.snapshot.select(f"FROM {duckdb_engine.quoted(name)}")
        for name in STORED_FOR_FUNDING
    }
    load(home, funding)
    matches = read_matches(
        lambda name: home.table(name).order(RESULTS[name]).to_arrow_table(), STEPS, question.rules
    )
    return msgspec.structs.replace(
        answer_on(home, basis, matches),
        basis=msgspec.structs.replace(basis, closed=None),
        is_partial=True,
        matches_on_spark=kept_matches(run, question.rules) if is_kept else None,
    )


def _inputs(
    run: SparkRun, home: duckdb.DuckDBPyConnection, basis: Basis, lake: LakeOnCluster
) -> dict[str, Any]:
    """Return the input tables of the steps: the lake's tables on Spark, and small local ones."""
    counting = (STATEMENTS.name, BALANCE_CONFIRMATIONS.name)
    read = frozenset[str]().union(*(step.reads for step in _STEPS))
    declared = {name for name in read | {*counting} if basis.snapshot.declares(name)}
    stored = basis.snapshot.stored()
    sizes = (stored[name].row_count for name in declared & stored.keys())
    run.suit(max(sizes, default=0))
    records = read_lake(run.session, basis.snapshot, sorted(declared), lake)
    load(home, {name: records[name].where(COUNTING).toArrow() for name in counting})
    small = question_inputs(home, basis.question, basis.decisions)
    for name in counting:
        drop(home, name)
    return {**records, **NOTHING_SETTLED, **small}


def _run_without_rows(home: duckdb.DuckDBPyConnection, inputs: dict[str, Any]) -> None:
    """Run every step over empty inputs, so that copied rows get the types of the step's table."""
    empty = {
        name: table.slice(0, 0) for name, table in inputs.items() if isinstance(table, pa.Table)
    }
    empty_run = Run(home)
    empty_run.give(empty)
    empty_run.bring(_STEPS)
