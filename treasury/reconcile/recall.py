"""A question about an open month leaves settled lines and requests out, and takes up some again.

What is asked of every record is asked first. Then the texts of the unsettled lines are read against
all codes, settled ones too, by the steps of matching themselves; a family that any of them may
concern takes part as if it had never been settled. What the rest taught about payers stays known.
"""

# ruff: noqa: S608 - every name in these queries is one of ours

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.reconcile.pipeline import Step, in_order, load, needed, run, steps_of

__all__ = ["SETTLE_PACKAGE", "SETTLING", "leave_out"]

SETTLE_PACKAGE: Final = "treasury.reconcile.settle"
SETTLING: Final = ("settling_lines", "settling_requests", "settling_ties")
"""The steps that tell what a close may settle."""
OF_ALL: Final = ("hash_uses", "recorded_rates", "wallet_moves", "booked_entries")
"""The steps that are asked of every request and entry, settled or not."""
_WORD: Final = re.compile(r"\w+")
_TEXTS: Final = "recalled_texts"
_LINES: Final = "recalled_lines"
_FAMILIES: Final = "recalled_families"
_LEFT_OUT: Final = {"ramp_requests": "stored_requests", "statement_entries": "stored_lines"}
"""The tables of which settled records are left out, and where each record's family is."""
_KEYS: Final = {"ramp_requests": "id", "statement_entries": "entry_id"}
_TAUGHT: Final = {
    "known_payers": """{sql}
UNION ALL
SELECT expectation_id, party, is_account, since FROM settled_payers""",
    "known_counterparties": """SELECT kind, tie, party, min(since) AS since
FROM (
{sql}
UNION ALL
SELECT kind, tie, party, since FROM settled_counterparties
) AS taught
GROUP BY kind, tie, party""",
}
"""The steps that tell who is known, with what settled lines taught."""
_PAYERS: Final = """
CREATE TEMP TABLE settled_payers AS
WITH known AS (
    SELECT party, expectation_id, payer_since FROM settled_lines
    WHERE payer_since IS NOT NULL AND is_account
),
firsts AS (
    SELECT party, arg_min(expectation_id, payer_since) AS expectation_id, min(payer_since) AS since
    FROM known GROUP BY party
)
SELECT expectation_id, party, TRUE AS is_account, since FROM firsts
UNION ALL
SELECT arg_min(k.expectation_id, k.payer_since), k.party, TRUE, min(k.payer_since)
FROM known AS k JOIN firsts AS f ON f.party = k.party AND f.expectation_id <> k.expectation_id
GROUP BY k.party
"""
"""Of a payer's settled requests the two that made it known first: more tell no more."""
_COUNTERPARTIES: Final = """
CREATE TEMP TABLE settled_counterparties AS
SELECT kind, tie, party, min(booking_date) AS since
FROM settled_lines
WHERE kind IS NOT NULL AND party IS NOT NULL
GROUP BY kind, tie, party
"""
_VIEWS: Final = ("settled_lines", "settled_requests")
"""What is settled, as long as its family is not taken up again."""
_ADDED: Final = (
    "INSERT INTO expectations BY NAME SELECT expectation_id, amount FROM settled_requests",
    "CREATE TEMP TABLE every_open_code AS FROM every_code",
    """INSERT INTO every_code
SELECT expectation_id, code FROM settled_requests WHERE code IS NOT NULL""",
)
"""Settled requests beside the unsettled ones, so that texts are read against all codes."""


def leave_out(
    connection: duckdb.DuckDBPyConnection,
    steps: Sequence[Step],
    settled: Mapping[str, pa.Table],
    every: Sequence[Step],
) -> tuple[Step, ...]:
    """Leave what is settled out of the connection's tables; the steps that are then to be run.

    `settled` are the tables of `Settled.tables`, `every` all steps of matching and of a month. On
    the connection stay `settled_lines` and `settled_requests`, what is left out, and
    `recalled_families`, what was taken up again.
    """
    asked_of_all = needed(steps, *(step.name for step in steps if step.name in OF_ALL))
    run(connection, asked_of_all)
    load(connection, {name: table for name, table in settled.items() if name not in _VIEWS})
    connection.execute(f"CREATE TEMP TABLE {_FAMILIES} (family BIGINT)")
    for name in _VIEWS:
        connection.register(f"given_{name}", settled[name])
        connection.execute(
            f"CREATE TEMP VIEW {name} AS FROM given_{name} ANTI JOIN {_FAMILIES} USING (family)"
        )
    changed = in_order(_settle_steps(), ("recalled_records",))
    run(connection, [step for step in changed if step.name in _LEFT_OUT.values()])
    if not _are_lost(connection):  # then the search for them is spared
        connection.execute("CREATE TEMP TABLE lost_records (family BIGINT)")
    made = _tables(connection)
    run(connection, [step for step in changed if step.name not in made])
    _recall(connection, "FROM recalled_records")
    named = _words(tuple(every))
    for name, stored in _LEFT_OUT.items():
        columns = ", ".join(
            f't."{column}"' for column in connection.table(name).columns if column in named
        )
        connection.execute(
            f"CREATE TEMP TABLE {name} AS SELECT {columns} FROM {name} AS t SEMI JOIN ("
            f"SELECT id FROM {stored} WHERE family IS NULL"
            f" UNION ALL SELECT id FROM {stored} SEMI JOIN {_FAMILIES} USING (family)"
            f") AS i ON i.id = t.{_KEYS[name]}"
        )
    _take_up(connection, every)
    for step in changed:
        connection.execute(f'DROP TABLE "{step.name}"')
    connection.execute(_PAYERS)
    connection.execute(_COUNTERPARTIES)
    done = {step.name for step in asked_of_all}
    return tuple(_taught(step) for step in steps if step.name not in done)


def _take_up(connection: duckdb.DuckDBPyConnection, every: Sequence[Step]) -> None:
    """Take up again the families that an unsettled line or expectation may concern."""
    there = _tables(connection)
    known = {step.name: step for step in every} | dict(_settle_steps())
    steps = [step for step in in_order(known, (_TEXTS, _LINES)) if step.name not in there]
    first = {step.name for step in needed(steps, "every_code")}
    run(connection, [step for step in steps if step.name in first])
    for added in _ADDED:
        connection.execute(added)
    run(connection, [step for step in steps if step.name not in first])
    connection.execute(f"CREATE TEMP TABLE taken AS FROM {_TEXTS} UNION FROM {_LINES}")
    for name in ("every_open_code", *(step.name for step in reversed(steps))):
        connection.execute(f'DROP TABLE "{name}"')
    if connection.execute("SELECT 1 FROM taken LIMIT 1").fetchone():
        for name, stored in _LEFT_OUT.items():
            columns = ", ".join(f't."{column}"' for column in connection.table(name).columns)
            connection.execute(
                f"INSERT INTO {name} SELECT {columns} FROM memory.main.{name} AS t SEMI JOIN ("
                f"SELECT id FROM {stored} SEMI JOIN taken USING (family)"
                f") AS i ON i.id = t.{_KEYS[name]}"
            )
        _recall(connection, "FROM taken")
    connection.execute("DROP TABLE taken")


def _are_lost(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether fewer settled records are stored than were settled."""
    counted = connection.execute(
        "SELECT (SELECT count(*) FROM settled_lines), (SELECT count(*) FROM settled_requests),"
        " (SELECT count(family) FROM stored_lines), (SELECT count(family) FROM stored_requests)"
    ).fetchone()
    return counted is None or counted[:2] != counted[2:]


def _tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables that were made on the connection."""
    made = connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    return {name for (name,) in made}


def _recall(connection: duckdb.DuckDBPyConnection, families: str) -> None:
    """Settle these families no more."""
    connection.execute(f"CREATE TEMP TABLE recalled_now AS {families}")
    connection.execute(f"INSERT INTO {_FAMILIES} FROM recalled_now")
    connection.execute("DROP TABLE recalled_now")


def _taught(step: Step) -> Step:
    """The step with what settled lines taught, where it tells who is known."""
    sql = _TAUGHT.get(step.name)
    return step if sql is None else msgspec.structs.replace(step, sql=sql.format(sql=step.sql))


@cache
def _words(steps: tuple[Step, ...]) -> frozenset[str]:
    """Every word in the steps: a column that is none of them is read by nobody."""
    texts = (step.sql for step in (*steps, *_settle_steps().values()))
    return frozenset(_WORD.findall("\n".join(texts)))


@cache
def _settle_steps() -> Mapping[str, Step]:
    return steps_of(SETTLE_PACKAGE)
