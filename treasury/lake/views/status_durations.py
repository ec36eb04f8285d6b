"""Computes how long each record was in each status, from service events or our observations.

An event has the time at which the service changed the status. An observed status began between two
commits: the first one with this status, and the one before. Both instants are returned.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case or quoted

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.files.package_files import step_sql
from treasury.core.tables import duckdb_engine
from treasury.core.tables.column_types import INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.lake import engine
from treasury.lake.snapshot import Snapshot

DURATION: Final = grouped_schema(
    (TEXT, "id", "status"),
    (INSTANT, "entered_at", "left_at"),
    (INTEGER, "seconds"),
    (TEXT, "known_from"),
    (INSTANT, "entered_after"),
    (INTEGER, "at_least", "at_most"),
)
"""The columns of `durations`. `left_at` is null while the status lasts; in this case,
`seconds` is measured until the snapshot's instant.

`known_from` is `events` or `observation`. For an observed status, `entered_at` is the instant of
the first commit with this status. The status began after `entered_after`, the previous commit or
the record's `created_at`. `at_least` and `at_most` are the bounds of its duration in seconds, null
if unknown.
"""


class Events(msgspec.Struct, frozen=True):
    """A table's status events: `record` is the id column, `statuses` maps event types to statuses.

    Event types in `untold` do not state the status; it is taken from the record's stored version
    with the event's version number.
    """

    table: str
    record: str
    statuses: Mapping[str, str]
    untold: frozenset[str] = frozenset()


def durations(snapshot: Snapshot, name: str, events: Events | None = None) -> pa.Table:
    """Return one row for each period that a record spent in a status, ordered by record and time.

    A record with at least one event uses only events; any other record uses observations.
    """
    table = snapshot.declared(name)
    columns = table.schema.names
    if not {"id", "status"} <= set(columns) or not table.records:
        raise InputError(
            f"{name} has no status", do="name a table with a status, such as transfers"
        )
    if snapshot.commit is None:
        return DURATION.empty_table()
    now = snapshot.at or snapshot.commit.at
    created = "created_at" if "created_at" in columns else "NULL::TIMESTAMPTZ"
    query = f"""
WITH event_steps AS ({_event_steps(name, events)}), observed_rows AS (
    SELECT id, status, valid_from, {created} AS created FROM ({_versions(name)})
), spans AS (
{step_sql("treasury.lake.views.steps", "status_spans")})
SELECT id, status, entered_at, left_at,
    date_diff('second', entered_at, coalesce(left_at, $now)) AS seconds, known_from, entered_after,
    greatest(date_diff('second', entered_at, coalesce(left_after, $now)), 0) AS at_least,
    date_diff('second', entered_after, coalesce(left_at, $now)) AS at_most
FROM spans ORDER BY id, entered_at
"""
    return snapshot.sql(query, {"now": now}).select(DURATION.names).cast(DURATION)


def _versions(name: str) -> str:
    return (
        f"SELECT * EXCLUDE (valid_to) FROM {duckdb_engine.quoted(name + '_history')}"
        f" UNION ALL BY NAME FROM {duckdb_engine.quoted(name)}"
    )


def _event_steps(name: str, events: Events | None) -> str:
    """Return SQL for id, time and status from the events, one row per record and instant."""
    if events is None:
        return engine.scan((), DURATION, ())
    kinds = ", ".join(
        f"({duckdb_engine.literal(kind)}, {duckdb_engine.literal(status)})"
        for kind, status in events.statuses.items()
    )
    untold = ", ".join(map(duckdb_engine.literal, sorted(events.untold))) or "NULL"
    record = f"e.{duckdb_engine.quoted(events.record)}"
    return f"""
    SELECT {record} AS id, e.created_at AS entered_at,
        coalesce(max(k.status), max(v.status)) AS status
    FROM {duckdb_engine.quoted(events.table)} e
    LEFT JOIN (VALUES {kinds}) AS k(kind, status) ON k.kind = e.event_type
    LEFT JOIN ({_versions(name)}) v ON v.id = {record} AND v.version = e.version
    WHERE e.created_at IS NOT NULL AND (k.status IS NOT NULL OR e.event_type IN ({untold}))
    GROUP BY ALL
"""
