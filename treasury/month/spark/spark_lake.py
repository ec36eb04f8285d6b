"""The lake's own Delta files as Spark's tables, read in place at the commit of a snapshot.

The snapshot names the Parquet files of each table's version, so that Spark needs nothing of Delta's
and neither sees nor disturbs what a writer does meanwhile. The cluster sees the lake's folder where
this machine does, or the same files in another place: in the lake's home.
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
    """Where the lake's tables are for this machine, and for the cluster where that differs."""

    folder: Path
    for_cluster: str | None = None

    def named(self, path: str) -> str:
        """A file of the lake as the cluster is told of it."""
        if self.for_cluster is None:
            return f"file://{literal_path(path)}"
        inside = Path(path).relative_to(self.folder).as_posix()
        return f"{self.for_cluster.rstrip('/')}/{literal_path(inside)}"


def read_lake(
    session: Any, snapshot: Snapshot, names: Iterable[str], place: LakeOnCluster
) -> dict[str, Any]:
    """Each of the tables and histories as the snapshot shows it: at its commit, at its instant.

    StorageError where the cluster does not find a file of the commit.
    """
    from pyspark.errors import AnalysisException

    versions = {name: with_paths(table, place.named) for name, table in snapshot.stored().items()}
    try:
        return {name: _shown(session, snapshot, versions, name) for name in names}
    except AnalysisException as error:
        raise StorageError(
            f"the cluster does not find the lake ({first_line(error)})",
            do='name where it does in [engine] lake = "…"; of a home, push first',
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
    """The files of one version with the wanted columns; one that they lack reads as null."""
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
    """Files of one partition; whether their records are open stands in their names alone."""
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
