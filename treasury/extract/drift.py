"""Finds drift: unexpected changes to records that were considered final (settled).

Only a full comparison with the services can find drift. It is read from the lake after the commit:
a settled record with a new version has changed, a new record that is older than the newest stored
one came late, and a record that is no longer in any list has vanished.
"""

# ruff: noqa: S608 - table names are declared, values are bound

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from treasury.extract.sync_run import Drift
from treasury.extract.synced_tables import TABLES
from treasury.lake import Snapshot

_EXAMPLES: Final = 5

_SETTLING: Final = tuple(table.name for table in TABLES if table.settles)

_CHANGED: Final = """
    SELECT h.id FROM {table}_history h JOIN {table} c USING (id)
    WHERE h.valid_to = $at AND NOT h.is_open AND h.vanished_at IS NULL AND c.vanished_at IS NULL
"""
_LATE: Final = """
    SELECT id FROM {table} WHERE valid_from = $at AND created_at <= $newest
    AND id NOT IN (SELECT id FROM {table}_history)
"""
_VANISHED: Final = "SELECT id FROM {table} WHERE vanished_at = $at"
_QUESTIONS: Final = {"changed": _CHANGED, "late": _LATE, "vanished": _VANISHED}


def newest_created(snapshot: Snapshot) -> Mapping[str, datetime | None]:
    """Return the newest record's creation time for each table whose records become final."""
    return {
        name: snapshot.sql(f"SELECT max(created_at) AS newest FROM {name}")["newest"][0].as_py()
        for name in _SETTLING
    }


def find_drift(
    snapshot: Snapshot, at: datetime, newest: Mapping[str, datetime | None]
) -> tuple[Drift, ...]:
    """Return the differences that the commit at `at` corrected, by table."""
    drifts = []
    for table in _SETTLING:
        for kind, query in _QUESTIONS.items():
            values = {"at": at} | ({"newest": newest[table]} if "$newest" in query else {})
            ids = snapshot.sql(query.format(table=table) + " ORDER BY id", values)["id"]
            if len(ids):
                examples = tuple(ids.slice(0, _EXAMPLES).to_pylist())
                drifts.append(Drift(table, kind, len(ids), examples))
    return tuple(drifts)
