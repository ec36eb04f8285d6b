"""Field changes: one row per field that differs in a new version of a record.

Consecutive versions of a record are compared column by column. The old and the new value are texts
with all digits; the typed values are in the table and its history.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

from datetime import datetime
from typing import Final

import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.files.package_files import step_sql
from treasury.core.tables import duckdb_engine
from treasury.core.tables.column_types import AMOUNT, INSTANT, TEXT, TEXTS
from treasury.lake.snapshot import Snapshot
from treasury.lake.table_declaration import RAW, VANISHED, Table

CHANGE: Final = pa.schema(
    [("changed_at", INSTANT), ("change", TEXT), ("field", TEXT), ("before", TEXT), ("after", TEXT)]
)
"""The columns after the record's key. `change` is `new`, `changed`, `vanished` or `back`."""


def changes(
    snapshot: Snapshot, name: str, since: datetime, until: datetime | None = None
) -> pa.Table:
    """Return the changes in a table of records after `since`, up to `until`, ordered by time.

    `changed_at` is the instant of the commit that stored the change. A record that is new, vanished
    or came back gives one row without a field, in addition to a row for each changed field. If only
    parts of the received record that have no column differ, the field is `raw`.
    """
    table = snapshot.declared(name)
    if not table.records:
        raise InputError(
            f"{name} holds observations, which never change",
            do=f"read them by their time: SELECT * FROM {name} WHERE valid_from > …",
        )
    for instant in (since, until):
        if instant is not None and instant.tzinfo is None:
            raise InputError(f"{instant} has no time zone", do="write it as 2026-11-01T09:00Z")
    if until is not None and until < since:
        raise InputError(
            f"{until.isoformat()} is before {since.isoformat()}", do="write the earlier as --since"
        )
    rows = snapshot.sql(_query(table), {"since": since, "until": until})
    return rows.select([*table.key, *CHANGE.names])


def _query(table: Table) -> str:
    key = ", ".join(map(duckdb_engine.quoted, table.key))
    same_key = " AND ".join(
        f"n.{duckdb_engine.quoted(k)} = o.{duckdb_engine.quoted(k)}" for k in table.key
    )
    fields = ", ".join(
        f"{{'field': '{c.name}', 'before': {text.format(f'o.{duckdb_engine.quoted(c.name)}')},"
        f" 'after': {text.format(f'n.{duckdb_engine.quoted(c.name)}')}}}"
        for c in table.columns
        if c.name not in (*table.key, *table.volatile)
        for text in [_AS_TEXT.get(c.type, "{}::VARCHAR")]
    )
    keys = ", ".join(f"n.{duckdb_engine.quoted(k)}" for k in table.key)
    return f"""
WITH versions AS (
    SELECT *, NULL::TIMESTAMPTZ AS valid_to FROM {duckdb_engine.quoted(table.name)}
    UNION ALL BY NAME FROM {duckdb_engine.quoted(table.history)}
), pairs AS (
    SELECT {keys}, n.valid_from AS changed_at,
        CASE WHEN o.valid_from IS NULL THEN 'new'
            WHEN n.{VANISHED.name} IS NOT NULL AND o.{VANISHED.name} IS NULL THEN 'vanished'
            WHEN n.{VANISHED.name} IS NULL AND o.{VANISHED.name} IS NOT NULL THEN 'back'
            ELSE 'changed' END AS change,
        [{fields}] AS fields,
        {{'field': '{RAW.name}', 'before': o.{RAW.name}, 'after': n.{RAW.name}}} AS whole
    FROM versions n
    LEFT JOIN versions o ON {same_key} AND o.valid_to = n.valid_from
    WHERE n.valid_from > $since AND ($until IS NULL OR n.valid_from <= $until)
), listed AS (
{step_sql("treasury.lake.views.steps", "changed_fields")})
SELECT {key}, changed_at, change, t.field AS field, t.before AS before, t.after AS after
FROM listed ORDER BY changed_at, {key}, field NULLS FIRST
"""


_AS_TEXT: Final = {
    # An amount keeps every digit, without trailing zeros.
    AMOUNT: "rtrim(rtrim({}::VARCHAR, '0'), '.')",
    INSTANT: "strftime({}, '%Y-%m-%dT%H:%M:%S.%fZ')",
    TEXTS: "to_json({})::VARCHAR",
}
"""SQL that converts a value to text, for types that a cast would write differently."""
