"""The lake's storage status: size, files and rows of every table, pins and readers."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import msgspec
import pyarrow as pa

from treasury.core.tables.column_types import INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.lake.commits import Commit, tables_of
from treasury.lake.home.home_status import HomeStatus, home_status
from treasury.lake.lake import Lake
from treasury.lake.store.leases import leased

STATUS = pa.schema(
    [("table", TEXT)]
    + [(name, INTEGER) for name in ("rows", "files", "bytes", "earlier_versions", "kept_bytes")]
)
"""`bytes` is the size of the last commit's files, with history; `kept_bytes` is the size of all
files of the table on disk."""


class LakeStatus(Tables, msgspec.Struct, frozen=True):
    """The lake's current state; `tables` has one row per stored table."""

    commit: Commit | None
    commits: int
    size: int
    free: int
    pinned: tuple[int, ...]
    readers: int
    last_runs: dict[str, datetime]
    refetch: tuple[str, ...]
    tables: Table
    home: HomeStatus | None = None
    """State of this copy of the lake relative to the shared lake, if the lake is shared."""

    def __str__(self) -> str:
        """Return lines with the sizes, the last runs and the kept commits."""
        runs = (f"{kind} at {at:%F %T}Z" for kind, at in sorted(self.last_runs.items()))
        pins = ", ".join(map(str, self.pinned)) or "none"
        lines = [
            f"size     {self.size:,} bytes on disk, {self.free:,} free",
            f"commits  {self.commits:,}; last: {', '.join(runs) or 'none'}",
            f"kept     pinned {pins}; commits being read: {self.readers}",
        ]
        if self.refetch:
            lines.append(f"missing  {', '.join(tables_of(self.refetch))}: run `treasury doctor`")
        if self.home is not None:
            lines.append(str(self.home))
        return "\n".join(lines)


def lake_status(lake: Lake) -> LakeStatus:
    """Read the status from the folder, the logs, and the Parquet files of the table of commits."""
    commit = lake.last_commit()
    commits = lake.commits()
    stored = {} if commit is None else lake.snapshot().stored()
    rows = []
    for name, table in lake.catalogue.items():
        current, past = stored.get(name), stored.get(table.history)
        if current is None:
            continue
        files = [*current.files, *(past.files if past else ())]
        rows.append(
            {
                "table": name,
                "rows": current.row_count,
                "files": len(files),
                "bytes": sum(file.size for file in files),
                "earlier_versions": past.row_count if past else 0,
                "kept_bytes": sum(_size(lake.folder / n) for n in (name, table.history)),
            }
        )
    kinds, instants = (commits[name].to_pylist() for name in ("kind", "at"))
    return LakeStatus(
        commit=commit,
        commits=int(commits.num_rows),
        size=_size(lake.folder),
        free=shutil.disk_usage(lake.workspace).free,
        pinned=tuple(pin.commit.number for pin in lake.pins()),
        readers=len(leased(lake.folder)),
        last_runs=dict(zip(kinds, instants, strict=True)),
        refetch=() if commit is None else commit.refetch,
        tables=pa.Table.from_pylist(rows, STATUS),
        home=None if lake.sharing is None else home_status(lake.sharing.home),
    )


def _size(folder: Path) -> int:
    if not folder.is_dir():
        return 0
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
