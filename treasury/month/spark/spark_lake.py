"""The lake's Delta files as Spark tables, read in place at the commit of a snapshot.

The snapshot names the Parquet files of each table's version. Spark therefore needs no Delta support
and is not affected by concurrent writers. The cluster reads the lake's folder at this machine's
path, or a copy of its files, such as the shared storage that the lake is pushed to.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from treasury.core.errors import StorageError
from treasury.lake import Snapshot
from treasury.lake.store.delta import StoredFile, StoredTable, with_paths
from treasury.lake.table_declaration import HISTORY, OPEN, VALID_FROM, VALID_TO
from treasury.matching.spark.spark_run import (
    first_line,
    literal_path,
    spark_columns,
    spark_types,
    without_rows,
)


class LakeOnCluster(msgspec.Struct, frozen=True):
    """The folder of the lake on this machine, and its path for the cluster if that differs."""

    folder: Path
    for_cluster: str | None = None

    def named(self, path: str) -> str:
        """Return the path at which the cluster finds a file of the lake."""
        if self.for_cluster is None:
            return f"file://{literal_path(path)}"
        inside = Path(path).relative_to(self.folder).as_posix()
        return f"{self.for_cluster.rstrip('/')}/{literal_path(inside)}"


def read_lake(
    session: Any, snapshot: Snapshot, names: Iterable[str], place: LakeOnCluster
) -> dict[str, Any]:
    """Return the snapshot's tables and histories as Spark tables.

    Raise StorageError if the cluster does not find a file of the commit.
    """
    from pyspark.errors import AnalysisException

    versions = {name: with_paths(table, place.named) for name, table in snapshot.stored().items()}
    try:
        return {name: _shown(session, snapshot, versions, name) for name in names}
    except AnalysisException as error:
        raise StorageError(
            f"the cluster does not find the lake ({first_line(error)})",
            do='set [engine] lake = "…" to its path on the cluster; if it has a home, push first',
        ) from error


def _shown(session: Any, snapshot: Snapshot, versions: dict[str, StoredTable], name: str) -> Any:
    is_history = name.endswith(HISTORY)
    table = snapshot.declared(name.removesuffix(HISTORY))
    schema = table.history_schema if is_history else table.schema
    rows = _scan(session, versions.get(name), schema)
    if snapshot.at is None:
        return rows
    instant = f"TIMESTAMP'{snapshot.at.isoformat()}'"
    if is_history:
        return rows.where(f"{VALID_TO.name} <= {instant}")
    if table.records:
        former = _scan(session, versions.get(table.history), table.history_schema)
        now = rows.selectExpr("*", f"CAST(NULL AS timestamp) AS {VALID_TO.name}")
        rows = now.unionByName(former).where(
            f"{VALID_TO.name} IS NULL OR {VALID_TO.name} > {instant}"
        )
    return rows.where(f"{VALID_FROM.name} <= {instant}").select(*schema.names)


def _scan(session: Any, stored: StoredTable | None, schema: pa.Schema) -> Any:
    """Return the rows of one table's version with the wanted columns; missing columns are null."""
    if stored is None or not stored.files:
        return without_rows(session, spark_types(schema))
    parts = [
        _files(session, [file for file in stored.files if file.is_open is is_open], stored, schema)
        for is_open in {file.is_open for file in stored.files}
    ]
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.unionByName(part)
    return rows


def _files(session: Any, files: list[StoredFile], stored: StoredTable, schema: pa.Schema) -> Any:
    """Return the rows of one partition; if files lack the column OPEN, their path gives it."""
    is_open = files[0].is_open
    inside = pa.schema(
        field
        for field in schema
        if field.name in stored.columns and (field.name != OPEN or is_open is None)
    )
    paths = (file.path for file in files)
    rows = session.read.schema(spark_columns(inside)).parquet(*paths)
    columns = []
    for name, kind in spark_types(schema).items():
        if name in inside.names:
            columns.append(f"`{name}`")
            continue
        known = str(is_open).upper() if name == OPEN and is_open is not None else "NULL"
        columns.append(f"CAST({known} AS {kind}) AS `{name}`")
    return rows.selectExpr(*columns)
