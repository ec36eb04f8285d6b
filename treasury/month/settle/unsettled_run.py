"""Matching of the records that are not settled, with the stored results of closed months.

First the settled records are compared with the stored records and decisions. Then the texts of
unsettled lines are compared with every code, including those of settled requests. A settled request
that a text may name, and a settled line with money that may have come back, are matched again. Such
a line keeps its request as if a person had accepted it, and its text is not read.
"""

# ruff: noqa: S608 - names in these queries are declared table and column names

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.files.package_files import step_sql
from treasury.core.tables import duckdb_engine
from treasury.core.tables.column_types import AMOUNT, TEXT
from treasury.core.tables.duckdb_engine import quoted
from treasury.lake.lake_folder import REPAIRED
from treasury.matching.engine.pipeline import Step, drop, in_order, load, needed, run, steps_of
from treasury.matching.settled_tables import SETTLED, UNSETTLED
from treasury.month.kept_run import Run
from treasury.month.settle.settled_months import SettledMonths

DATABASE: Final = "settled"
"""The name under which this run's connection attaches the settled records."""
_SETTLE_PACKAGE: Final = "treasury.month.settle"
_SOURCES: Final = {
    "settled_lines": "settling_lines",
    "settled_requests": "settling_requests",
    "settled_payers": "settling_payers",
    "settled_counterparties": "settling_counterparties",
    "settled_lessons": "settling_lessons",
    "settled_statements": "settling_statements",
    "settled_verdicts": "settling_verdicts",
    "settled_standing": "standing_terms",
}
"""The step that computes each table of settled records."""
_OF_ALL: Final = ("recorded_rates", "wallet_moves", "booked_entries")
"""The steps that need every request and entry, settled or not."""
_CHANGED: Final = "changed_terms"
_REJOINING: Final = ("concerned_requests", "rejoining_lines")
"""The steps that find the settled requests and lines that are matched again."""
_OF_RECORDS: Final = (
    "expectations", "bank_lines", "classed_lines", "line_classes", "lines", "line_parties",
    "hash_uses",
)  # fmt: skip
"""The steps that run again once settled lines and requests are added.

All other steps that have run read the texts of unsettled lines only, which stay the same.
"""
_PAID: Final = (
    "provisional_pairs", "reference_pairs", "inexact_readings", "sent_amounts", "payable_amounts",
    "neighbour_codes",
)  # fmt: skip
"""The step that computes the amounts paid by decisions, and the steps that use these amounts.

While texts are read, no amount counts as paid; these steps run again afterwards.
"""
_NOTHING_PAID: Final = pa.schema(
    [("expectation_id", TEXT), ("expected", AMOUNT), ("before", AMOUNT), ("amount", AMOUNT)]
)
_UNSETTLING: Final = "unsettling_lines"
_OF_EVERY_CODE: Final = ("compared_codes", "code_bodies")
"""Steps with a row per code that ever existed: reading them twice is cheaper than storing them."""
_RECORDS: Final = {
    "statement_entries": ("entry_id", "settled_lines", "entry_id", "valid_from"),
    "ramp_requests": ("id", "settled_requests", "expectation_id", "valid_from"),
    "ramp_requests_history": ("id", "settled_requests", "expectation_id", "valid_to"),
    "ramp_request_events": ("ramp_request_id", "settled_requests", "expectation_id", "valid_from"),
}
"""The tables that settled records are left out of.

For each: its id column, the table of settled ids, the id column of that table, and the column with
the time at which a row was written.
"""
_CURRENT: Final = ("statement_entries", "ramp_requests")
"""The tables in which newer rows replace older ones.

Rows of the other tables, versions and events, never change.
"""
_WORD: Final = re.compile(r"\w+")
_DECIDED: Final = step_sql("treasury.month.queries", "decisions_with_settled")


_SETTLE: Final = steps_of(_SETTLE_PACKAGE)
SETTLE_STEPS: Final = tuple(_SETTLE.values())


def is_much(connection: duckdb.DuckDBPyConnection, least: int) -> bool:
    """Return whether at least `least` entries and requests are stored."""
    counted = connection.execute(
        "SELECT (SELECT count(*) FROM statement_entries) + (SELECT count(*) FROM ramp_requests)"
    ).fetchone()
    return counted is not None and counted[0] >= least


def settled_now(
    connection: duckdb.DuckDBPyConnection, every: Sequence[Step], closed_to: pa.Table
) -> dict[str, pa.Table]:
    """Return the settled records, found on a connection on which all records were matched.

    `closed_to` is the last closed month, in one row. Tables that are added to the connection are
    dropped at the end.
    """
    load(connection, {"closed_to": closed_to})
    there = _tables(connection)
    steps = [step for step in _with_settling(every, _SOURCES.values()) if step.name not in there]
    run(connection, steps)
    tables = {
        name: connection.table(source).select(*SETTLED[name].names).to_arrow_table()
        for name, source in _SOURCES.items()
    }
    tables = {name: table.cast(SETTLED[name]) for name, table in tables.items()}
    totals = {name: connection.table(name).shape[0] for name in _RECORDS}
    tables["settled_totals"] = pa.table(
        [[*totals.keys()], [*totals.values()]], schema=SETTLED["settled_totals"]
    )
    words = _words(tuple(every))
    for name, (key, settled, settled_key, _) in _RECORDS.items():
        columns = _columns(connection, name, words)
        tables[UNSETTLED[name]] = connection.sql(
            f"SELECT {columns} FROM {name} AS t"
            f" ANTI JOIN {_SOURCES[settled]} AS s ON s.{settled_key} = t.{key}"
        ).to_arrow_table()
    for name in (*(step.name for step in reversed(steps)), "closed_to"):
        drop(connection, name)
    return tables


def bring_unsettled(steps_run: Run, settled: SettledMonths, every: Sequence[Step]) -> bool:
    """Run every step over the unsettled records; `steps_run` needs its own connection.

    Return False if settled records have changed, or if a settled line would no longer be settled.
    The caller must then match all records on another connection.
    """
    connection = steps_run.connection
    every = [
        msgspec.structs.replace(step, is_stored=step.name not in _OF_EVERY_CODE) for step in every
    ]
    steps_run.attach(DATABASE, settled.rows)
    if not _stands(connection, settled, every):
        return False
    of_all = needed(every, *_OF_ALL)
    steps_run.bring(of_all)
    for name in _RECORDS:
        connection.execute(
            f"CREATE TEMP TABLE {name} AS FROM new_{name} UNION ALL FROM former_{name}"
        )
    steps_run.give({_PAID[0]: _NOTHING_PAID.empty_table()})
    unpaid = [step for step in every if step.name != _PAID[0]]
    reading = [step for step in _with_settling(unpaid, _REJOINING) if step not in of_all]
    steps_run.bring(reading)
    if any(_has_rows(connection, concerned) for concerned in _REJOINING):
        _take_up(steps_run, duckdb_engine.moment(settled.known_at))
        steps_run.forget(_OF_RECORDS)
    ready = {step.name for step in (*of_all, *reading)} - {*_OF_RECORDS, *_PAID}
    steps_run.bring([step for step in every if step.name not in ready])
    steps_run.bring([_SETTLE[_UNSETTLING]])
    return not _has_rows(connection, _UNSETTLING)


def _stands(
    connection: duckdb.DuckDBPyConnection, settled: SettledMonths, every: Sequence[Step]
) -> bool:
    """Return whether all settled records and the decisions about them are unchanged."""
    moment, words = duckdb_engine.moment(settled.known_at), _words(tuple(every))
    # A restored or repaired lake may contain older versions of rows.
    same = connection.execute(
        "SELECT count(*) FILTER (WHERE number > $commit AND kind = $repaired) = 0"
        f' AND count(*) FILTER (WHERE number = $commit AND "at" = {moment}) = 1 FROM commits',
        {"repaired": REPAIRED, "commit": settled.commit},
    ).fetchone()
    if same != (True,):
        return False
    for name, (key, _, _, written) in _RECORDS.items():
        columns, unsettled = _columns(connection, name, words), UNSETTLED[name]
        connection.execute(
            f"CREATE TEMP TABLE new_{name} AS"
            f" SELECT {columns} FROM {name} AS t WHERE {written} > {moment}"
        )
        superseded = f"AS t ANTI JOIN new_{name} AS n ON n.{key} = t.{key}"
        connection.execute(
            f"CREATE TEMP TABLE former_{name} AS"
            f" FROM {unsettled} {superseded if name in _CURRENT else ''}"
        )
        stands = connection.execute(
            f"SELECT (SELECT count(*) FROM {name} WHERE {written} <= {moment})"
            f" = (SELECT total FROM settled_totals WHERE name = '{name}')"
            f" - (SELECT count(*) FROM {unsettled}) + (SELECT count(*) FROM former_{name})"
        ).fetchone()
        if stands != (True,):
            return False
    there = _tables(connection)
    steps = [step for step in _with_settling(every, [_CHANGED]) if step.name not in there]
    run(connection, steps)
    is_as_it_was = not _has_rows(connection, _CHANGED)
    for step in reversed(steps):
        drop(connection, step.name)
    return is_as_it_was


def _take_up(steps_run: Run, moment: str) -> None:
    """Add the settled lines and requests that are matched again, with their stored results."""
    connection = steps_run.connection
    sources = {"settled_lines": "rejoining_lines", "settled_requests": "concerned_requests"}
    for name, (key, settled, settled_key, written) in _RECORDS.items():
        if not _has_rows(connection, sources[settled]):
            continue
        columns = ", ".join(f"t.{quoted(read)}" for read in connection.table(name).columns)
        connection.execute(
            f"INSERT INTO {name} SELECT {columns} FROM memory.main.{name} AS t"
            f" SEMI JOIN {sources[settled]} AS s ON s.{settled_key} = t.{key}"
            f" WHERE t.{written} <= {moment}"
        )
    steps_run.give({"decisions": connection.sql(_DECIDED).to_arrow_table()})


def _has_rows(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    return connection.table(name).limit(1).fetchall() != []


@cache
def _words(steps: tuple[Step, ...]) -> frozenset[str]:
    """Return all words in the SQL of the steps; a column that is not among them is not needed."""
    return frozenset(_WORD.findall("\n".join(step.sql for step in (*steps, *SETTLE_STEPS))))


def _with_settling(every: Sequence[Step], targets: Iterable[str]) -> tuple[Step, ...]:
    """Return the month steps and the settling steps that the targets need."""
    return in_order({step.name: step for step in every} | dict(_SETTLE), targets)


def _tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Return the names of the tables that were made on the connection."""
    rows = connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    return {name for (name,) in rows}


def _columns(connection: duckdb.DuckDBPyConnection, name: str, words: Collection[str]) -> str:
    """Return the columns of a table that any step reads, for a SELECT."""
    read = [column for column in connection.table(name).columns if column in words]
    return ", ".join(f"t.{quoted(column)}" for column in read)
