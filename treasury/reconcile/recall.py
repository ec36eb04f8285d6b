"""A question about an open month leaves settled lines and requests out, and takes up some again.

First what is settled is held against what is stored and decided now. Then the texts of the
unsettled lines are read against all codes, settled ones too, by the steps of matching themselves; a
family that any of them may concern takes part as if it had never been settled. What the rest taught
about payers stays known.
"""

# ruff: noqa: S608 - every name in these queries is one of ours

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Final

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.lake import INSTANT, INTEGER
from treasury.reconcile.pipeline import Step, in_order, load, needed, run, steps_of
from treasury.reconcile.settled import SCHEMAS, Settled, families_of

__all__ = ["SETTLE_PACKAGE", "count_stored", "leave_out", "settle"]

SETTLE_PACKAGE: Final = "treasury.reconcile.settle"
SETTLING_STEPS: Final = (
    "settling_lines", "settling_requests", "settling_lessons", "settling_ties", "standing_terms",
    "verdicts",
)  # fmt: skip
"""The steps that tell what may be settled, and what that rests on."""
_OF_ALL: Final = ("recorded_rates", "wallet_moves", "booked_entries")
"""The steps that are asked of every request and entry, settled or not."""
_CHANGED: Final = "changed_records"
_TAKEN: Final = ("recalled_texts", "recalled_lines")
_FAMILIES: Final = "recalled_families"
_WORD: Final = re.compile(r"\w+")
_LEFT_OUT: Final = {
    "statement_entries": ("entry_id", "lines"),
    "ramp_requests": ("id", "requests"),
    "ramp_requests_history": ("id", "requests"),
    "ramp_request_events": ("ramp_request_id", "requests"),
}
"""The tables of which settled records are left out: the column and the kind of the id."""
_SETTLED_IDS: Final = {
    "lines": "SELECT entry_id AS id, family FROM settled_lines",
    "requests": "SELECT expectation_id AS id, family FROM settled_requests",
}
_TAUGHT: Final = {
    "known_payers": """{sql}
UNION ALL
SELECT expectation_id, party, is_account, since FROM settled_payers""",
    "expectation_owners": """{sql}
UNION
SELECT expectation_id, expectation_id AS owner FROM settled_payers""",
    "known_counterparties": """SELECT kind, tie, party, min(since) AS since
FROM (
{sql}
UNION ALL
SELECT kind, tie, party, since FROM settled_counterparties
) AS taught
GROUP BY kind, tie, party""",
    "lessons": """{sql}
UNION ALL
SELECT s.* EXCLUDE (family)
FROM settled_lessons AS s
JOIN (SELECT DISTINCT currency, direction FROM unplaced_payments) AS u
    ON u.currency = s.currency AND u.direction = s.direction""",
}
"""The steps that tell who is known and what is learnt, with what settled lines taught."""
_PAYERS: Final = """
CREATE TEMP TABLE settled_payers AS
WITH known AS (
    SELECT party, expectation_id, payer_since FROM settled_lines
    WHERE payer_since IS NOT NULL AND is_account
),
firsts AS (
    SELECT party, min(ROW(payer_since, expectation_id)) AS first FROM known GROUP BY party
)
SELECT first[2] AS expectation_id, party, TRUE AS is_account, first[1] AS since FROM firsts
UNION ALL
SELECT second[2], party, TRUE, second[1]
FROM (
    SELECT k.party, min(ROW(k.payer_since, k.expectation_id)) AS second
    FROM known AS k JOIN firsts AS f ON f.party = k.party AND f.first[2] <> k.expectation_id
    GROUP BY k.party
)
"""
"""Of a payer's settled requests the two that made it known first: more tell no more."""
_COUNTERPARTIES: Final = """
CREATE TEMP TABLE settled_counterparties AS
SELECT kind, tie, party, min(booking_date) AS since
FROM settled_lines
WHERE kind IS NOT NULL AND party IS NOT NULL
GROUP BY kind, tie, party
"""
_VIEWS: Final = ("settled_lines", "settled_requests", "settled_lessons")
"""What is settled, as long as its family is not taken up again."""
_ADDED: Final = (
    "INSERT INTO expectations BY NAME SELECT expectation_id, amount FROM settled_requests",
    "CREATE TEMP TABLE every_open_code AS FROM every_code",
    """INSERT INTO every_code
SELECT expectation_id, code FROM settled_requests WHERE code IS NOT NULL""",
)
"""Settled requests beside the unsettled ones, so that texts are read against all codes."""
_STATE: Final = pa.schema([("known_at", INSTANT)])


def leave_out(
    connection: duckdb.DuckDBPyConnection, settled: Settled, every: Sequence[Step]
) -> tuple[Step, ...] | None:
    """Leave what is settled out of the connection's tables; the steps that are then to be run.

    None where anything settled is not as it was: then everything is to be matched, on another
    connection. `every` are all steps of matching and of a month. On the connection stay the views
    `settled_lines` and `settled_requests` of what is left out, and `recalled_families`.
    """
    _give(connection, settled)
    if not _stands(connection, every):
        return None
    asked_of_all = needed(every, *_OF_ALL)
    run(connection, [step for step in asked_of_all if step.name not in _tables(connection)])
    named = _words(tuple(every))
    for name, (key, kind) in _LEFT_OUT.items():
        columns = ", ".join(
            f't."{column}"' for column in connection.table(name).columns if column in named
        )
        connection.execute(
            f"CREATE TEMP TABLE {name} AS SELECT {columns} FROM {name} AS t"
            f" SEMI JOIN open_{kind} AS i ON i.id = t.{key}"
        )
    drop_all(connection, [step.name for step in asked_of_all if step.name not in _OF_ALL])
    _take_up(connection, every)
    connection.execute(_PAYERS)
    connection.execute(_COUNTERPARTIES)
    return tuple(_taught(step) for step in every if step.name not in _OF_ALL)


def settle(
    connection: duckdb.DuckDBPyConnection,
    former: Settled | None,
    every: Sequence[Step],
    closed_to: pa.Table,
) -> dict[str, pa.Table]:
    """The tables of what is settled after a run of all steps.

    `former` is what was left out of the run; `closed_to` the end of the closed months, in one row.
    """
    load(connection, {"closed_to": closed_to})
    known = {step.name: step for step in every} | dict(_settle_steps())
    made = _tables(connection)
    steps = [one for one in in_order(known, SETTLING_STEPS) if one.name not in made]
    run(connection, steps)
    lines, requests, lessons, ties, standing, _ = (
        connection.table(name).to_arrow_table() for name in SETTLING_STEPS
    )
    line_ids, request_ids = lines["entry_id"].to_pylist(), requests["expectation_id"].to_pylist()
    family = families_of(line_ids, request_ids, ties)
    first = 0 if former is None else 1 + _last_family(former)

    def joined(name: str, table: pa.Table, kind: str, ids: Sequence[str]) -> pa.Table:
        numbers = [family.get((kind, one)) for one in ids]
        column = pa.array([None if one is None else first + one for one in numbers], INTEGER)
        newly = table.append_column("family", column).filter(pc.is_valid(column))
        newly = newly.select(SCHEMAS[name].names).cast(SCHEMAS[name])
        if former is None:
            return newly
        stays = connection.table(name).to_arrow_table().cast(SCHEMAS[name])
        return pa.concat_tables([stays, newly]).unify_dictionaries()

    tables = {
        "settled_lines": joined("settled_lines", lines, "line", line_ids),
        "settled_requests": joined("settled_requests", requests, "request", request_ids),
        "settled_lessons": joined(
            "settled_lessons", lessons, "line", lessons["entry_id"].to_pylist()
        ),
        "settled_standing": standing,
    }
    connection.register("settled_now", tables["settled_lines"])
    connection.register("requests_now", tables["settled_requests"])
    asked = {
        "settled_accounts": "SELECT account, min(family) AS family FROM settled_now"
        " GROUP BY account",
        "settled_sizes": "SELECT length(code) AS size, min(family) AS family FROM requests_now"
        " WHERE code IS NOT NULL GROUP BY length(code)",
        "settled_statements": "SELECT DISTINCT statement_id, proof_state FROM counted_statements"
        " SEMI JOIN (SELECT statement_id FROM memory.main.statement_entries"
        " SEMI JOIN settled_now USING (entry_id)) USING (statement_id)",
        "settled_verdicts": "FROM verdicts SEMI JOIN settled_now USING (entry_id)",
        "unsettled_lines": "SELECT entry_id AS id FROM statement_entries"
        " ANTI JOIN settled_now USING (entry_id)",
        "unsettled_requests": "SELECT r.id FROM ramp_requests AS r"
        " ANTI JOIN requests_now AS n ON n.expectation_id = r.id",
    }
    tables |= {name: connection.sql(query).to_arrow_table() for name, query in asked.items()}
    drop_all(connection, ["closed_to", *(step.name for step in steps)])
    return {name: table.cast(SCHEMAS[name]) for name, table in tables.items()}


def drop_all(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    """Drop the tables of steps, the last first."""
    for name in reversed(names):
        connection.execute(f'DROP TABLE "{name}"')


def _give(connection: duckdb.DuckDBPyConnection, settled: Settled) -> None:
    """Give the connection what is settled, and the ids of what is not."""
    connection.execute(f"CREATE TEMP TABLE {_FAMILIES} (family BIGINT)")
    for name, table in settled.tables.items():
        if name in _VIEWS:
            connection.register(f"given_{name}", table)
            connection.execute(
                f"CREATE TEMP VIEW {name} AS FROM given_{name} ANTI JOIN {_FAMILIES} USING (family)"
            )
        else:
            load(connection, {name: table})
    load(connection, {"settled_state": pa.table([[settled.known_at]], schema=_STATE)})
    for name in ("statement_entries", "ramp_requests"):
        key, kind = _LEFT_OUT[name]
        connection.execute(
            f"CREATE TEMP TABLE open_{kind} AS SELECT {key} AS id FROM {name}"
            f" WHERE valid_from > {_moment(settled.known_at)} UNION FROM unsettled_{kind}"
        )


def _stands(connection: duckdb.DuckDBPyConnection, every: Sequence[Step]) -> bool:
    """Whether every settled record is stored as it was, and decided as it was."""
    known = {step.name: step for step in every} | dict(_settle_steps())
    steps = in_order(known, (_CHANGED,))
    lines, requests = _LEFT_OUT["statement_entries"][0], _LEFT_OUT["ramp_requests"][0]
    there = connection.execute(
        f"SELECT (SELECT count({lines}) FROM statement_entries)"
        " - (SELECT count(*) FROM open_lines) = (SELECT count(*) FROM given_settled_lines)"
        f" AND (SELECT count({requests}) FROM ramp_requests)"
        " - (SELECT count(*) FROM open_requests) = (SELECT count(*) FROM given_settled_requests)"
    ).fetchone()
    if there is None or not there[0]:
        return False
    run(connection, steps)
    changed = connection.execute(f"SELECT 1 FROM {_CHANGED} LIMIT 1").fetchone()
    drop_all(connection, [step.name for step in steps])
    return changed is None


def _take_up(connection: duckdb.DuckDBPyConnection, every: Sequence[Step]) -> None:
    """Take up again the families that an unsettled line or expectation may concern."""
    there = _tables(connection)
    known = {step.name: step for step in every} | dict(_settle_steps())
    steps = [step for step in in_order(known, _TAKEN) if step.name not in there]
    first = {step.name for step in needed(steps, "every_code", "hash_uses")}
    run(connection, [step for step in steps if step.name in first])
    for added in _ADDED:
        connection.execute(added)
    run(connection, [step for step in steps if step.name not in first])
    connection.execute("CREATE TEMP TABLE taken AS " + " UNION ".join(f"FROM {n}" for n in _TAKEN))
    drop_all(connection, [*(step.name for step in steps), "every_open_code"])
    for kind, ids in _SETTLED_IDS.items():
        connection.execute(
            f"CREATE TEMP TABLE taken_{kind} AS {ids} SEMI JOIN taken USING (family)"
        )
    for name, (key, kind) in _LEFT_OUT.items():
        columns = ", ".join(f't."{column}"' for column in connection.table(name).columns)
        connection.execute(
            f"INSERT INTO {name} SELECT {columns} FROM memory.main.{name} AS t"
            f" SEMI JOIN taken_{kind} AS i ON i.id = t.{key}"
        )
    connection.execute(f"INSERT INTO {_FAMILIES} FROM taken")
    drop_all(connection, ["taken", *(f"taken_{kind}" for kind in _SETTLED_IDS)])


def count_stored(connection: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    """How many lines and requests are stored."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM memory.main.statement_entries),"
        " (SELECT count(*) FROM memory.main.ramp_requests)"
    ).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _last_family(settled: Settled) -> int:
    found = (pc.max(settled.tables[name]["family"]).as_py() for name in _VIEWS)
    return max((one for one in found if one is not None), default=-1)


def _tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables that were made on the connection."""
    made = connection.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall()
    return {name for (name,) in made}


def _moment(instant: datetime) -> str:
    return f"TIMESTAMPTZ '{instant.isoformat()}'"


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
