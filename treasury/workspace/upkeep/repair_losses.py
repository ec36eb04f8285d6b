"""Rows lost in a repair: the bank files that restore them, and permanent losses.

A repair marks a table if rows are missing (`Commit.refetch`). For bank statements, the table's mark
is replaced by marks of the incomplete statements, and adding a file removes its marks. Past
observations cannot be repeated; the commits show which ones are lost.
"""

# ruff: noqa: S608 - every name in these queries is declared snake_case

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import msgspec

from treasury.core.files.package_files import step_sql
from treasury.lake import Lake, Snapshot, mark_of, split_mark
from treasury.statements import STATEMENT_ENTRIES, STATEMENTS

_HEADS: Final = STATEMENTS.name
_ROWS: Final = STATEMENT_ENTRIES.name

_SHORT: Final = step_sql("treasury.workspace.steps", "short_statements")
_HEADLESS: Final = (
    f"SELECT DISTINCT statement_id FROM {_ROWS} ANTI JOIN {_HEADS} USING (statement_id)"
)

_FILES: Final = step_sql("treasury.workspace.steps", "files_of_statements")


class Gap(msgspec.Struct, frozen=True):
    """A gap in the observations: consecutive syncs without a stored row.

    `after` and `before` are the instants of the stored observations around the gap.
    """

    table: str
    syncs: int
    after: datetime | None
    before: datetime | None


def narrow_marks(lake: Lake, now: datetime, lost: Mapping[str, int | None]) -> None:
    """Replace the mark on all statements by marks on incomplete statements, in a commit.

    `lost` is the number of missing rows by table; None if unknown. If the incomplete statements do
    not explain all lost rows, the mark on all statements stays.
    """
    last = lake.last_commit()
    if last is None or not {_HEADS, _ROWS} & set(last.refetch):
        return
    snapshot = lake.snapshot()
    short, headless = (
        snapshot.sql(query)["statement_id"].to_pylist() for query in (_SHORT, _HEADLESS)
    )
    refetch = set(last.refetch) - {_ROWS}
    refetch |= {mark_of(_ROWS, statement_id) for statement_id in short} | {
        mark_of(_HEADS, statement_id) for statement_id in headless
    }
    counted = lost.get(_HEADS)
    if counted is not None and counted <= len(headless):
        refetch -= {_HEADS}
    if refetch != set(last.refetch):
        with lake.writer("repair", now, note="statements with missing rows") as writer:
            writer.refetch = refetch


def missing_statements(snapshot: Snapshot) -> tuple[int, list[str]]:
    """Return the number of statements with missing rows, and the files they were read from."""
    refetch = () if snapshot.commit is None else snapshot.commit.refetch
    ids = sorted(
        {key for table, key in map(split_mark, refetch) if key and table in {_HEADS, _ROWS}}
    )
    if not ids:
        return 0, []
    return len(ids), snapshot.sql(_FILES, {"ids": ids})["file_name"].to_pylist()


def observation_gaps(snapshot: Snapshot, table: str) -> Iterator[Gap]:
    """Yield the gaps in a table's observations, where commits observed it but no row is stored."""
    stored = snapshot.sql(f"SELECT DISTINCT valid_from FROM {table}")
    instants = set(stored["valid_from"].to_pylist())
    query = 'SELECT "at", kind, versions FROM commits ORDER BY number'
    before: int | None = None
    after: datetime | None = None
    count = 0
    for row in snapshot.sql(query).to_pylist():
        version = msgspec.json.decode(row["versions"], type=dict[str, int]).get(table)
        if row["at"] in instants:
            if count:
                yield Gap(table, count, after, row["at"])
            after, count = row["at"], 0
        elif row["kind"] == "sync" and version is not None and version != before:
            count += 1
        before = version
    if count:
        yield Gap(table, count, after, None)
