"""A month's reconciliation on Apache Spark: the steps of DuckDB's, over the lake's files in place.

Records and matches stay where they are. What an answer is made of comes home and is laid into a
DuckDB database whose steps have run over tables without a row, so that its types and what is worded
of it are DuckDB's own.
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
"""The steps by which matches come home: of the lines that the answer shows."""
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
    """The month's answer, worked out in a Spark session; errors as `worked_out`.

    Everything that was matched is written to `into`, where it is given. What the steps hand on is
    else below `folder` until the run ends. The cluster reads the records at `lake`.
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
    # From its text, and not from what was written, whose files keep no order.
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
    # An answer that read another table of the lake past the steps would find it without a row.
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
    """What the steps read: the lake's tables on Spark, and what is small beside them."""
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
    """Make the table of every step, so that what comes home has its types."""
    empty = {
        name: table.slice(0, 0) for name, table in inputs.items() if isinstance(table, pa.Table)
    }
    empty_run = Run(home)
    empty_run.give(empty)
    empty_run.bring(_STEPS)
