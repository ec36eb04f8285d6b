"""The inputs of an answer as Parquet files, from which it can be recomputed.

The tables that the steps read are written in full, sorted by their keys, without the raw text of
the records. They can be read as a snapshot like that of the lake, so that the same steps run on
them without a workspace.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from treasury.close.evidence import LakeState
from treasury.close.valuation.coins.coin_events import STEPS as COIN_STEPS
from treasury.close.valuation.exposure.provider_exposure import STEPS as EXPOSURE_STEPS
from treasury.extract import TABLES as SERVICE_TABLES
from treasury.journal.decision_history import DECISIONS
from treasury.lake import Snapshot, Table
from treasury.lake.commits import SCHEMA as COMMITS
from treasury.lake.commits import Commit
from treasury.lake.store.delta import StoredFile, StoredTable
from treasury.month.decisions.remark_rows import REQUEST_REMARKS
from treasury.month.reconciliation import STEPS, Basis
from treasury.rates.rate_table import TABLES as RATE_TABLES
from treasury.statements import TABLES as STATEMENT_TABLES

DECIDED: Final = "decisions"
MARKED: Final = "request_marks"
_RAW: Final = "raw"
_BESIDE: Final = frozenset(
    {"accounts", "wallets", "statements", "balance_confirmations", "wallet_evidence"}
    | {"wallet_movements", "wallet_gas", "payment_statuses", "sync_findings"}
    | {"transfers", "ramp_requests", "virtual_bank_accounts"}
    | {"company_wallets", "company_bank_accounts", "reference_rates"}
)
"""The tables that the report reads in addition to the tables of the steps."""
_GROUP: Final = 100_000
"""Number of rows per row group of a file."""
_READ: Final = 20_000
"""Number of rows that are read at a time for writing."""


def write_inputs(basis: Basis, folder: Path) -> dict[str, int]:
    """Write every input table of the answer into `folder`; return their row counts."""
    folder.mkdir()
    with basis.snapshot.connection(one_thread=True) as connection:
        rows = {
            name: _write(connection, name, order, folder / f"{name}.parquet")
            for name, order in read_tables().items()
        }
        rows["commits"] = _write(connection, "commits", ("number",), folder / "commits.parquet")
    for name, table in ((DECIDED, basis.decisions), (MARKED, basis.remarks)):
        if isinstance(table, pa.Table):
            write_table(table, folder / f"{name}.parquet")
            rows[name] = table.num_rows
    return rows


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table as a Parquet file; the same rows give the same bytes."""
    pq.write_table(table, path, compression="zstd", row_group_size=_GROUP)


def stored_snapshot(folder: Path, lake: LakeState) -> Snapshot:
    """Return the tables in `folder` as a snapshot, like that of the lake they come from."""
    paths = {path.stem: path for path in folder.glob("*.parquet")}

    def opened(name: str, version: int) -> StoredTable:
        path = paths.get(name)
        if path is None or name not in read_tables():
            return StoredTable(version, (), ())
        columns = tuple(pq.read_schema(path).names)
        return StoredTable(version, (StoredFile(str(path), path.stat().st_size),), columns)

    def commits() -> pa.Table:
        return pq.read_table(paths["commits"]).cast(COMMITS)

    commit = Commit(lake.commit, lake.at, "pack", lake.versions)
    return Snapshot(_catalogue(), commit, None, opened, commits)


def read_decided_tables(folder: Path) -> dict[str, pa.Table]:
    """Return people's decisions and remarks, as the answer used them."""
    return {
        DECIDED: _read_or(folder / f"{DECIDED}.parquet", DECISIONS),
        MARKED: _read_or(folder / f"{MARKED}.parquet", REQUEST_REMARKS),
    }


def _read_or(path: Path, schema: pa.Schema) -> pa.Table:
    """Return a stored table, or an empty one without a file; missing columns are null."""
    empty = schema.empty_table()
    if not path.is_file():
        return empty
    return pa.concat_tables([empty, pq.read_table(path)], promote_options="permissive").cast(schema)


def _catalogue() -> dict[str, Table]:
    return {table.name: table for table in (*SERVICE_TABLES, *STATEMENT_TABLES, *RATE_TABLES)}


@cache
def read_tables() -> dict[str, tuple[str, ...]]:
    """Return the tables and histories that the steps or the report read, with sort columns."""
    read = _BESIDE.union(*(step.reads for step in (*STEPS, *COIN_STEPS, *EXPOSURE_STEPS)))
    tables: dict[str, tuple[str, ...]] = {}
    for table in _catalogue().values():
        if table.records:
            tables |= {table.name: table.key, table.history: (*table.key, "valid_from")}
        else:
            tables[table.name] = tuple(column.name for column in table.columns)
    return {name: tables[name] for name in sorted(tables) if name in read}


def _write(
    connection: duckdb.DuckDBPyConnection, name: str, order: tuple[str, ...], path: Path
) -> int:
    """Write one table in order, a batch of rows at a time, and return the number of rows."""
    relation = connection.table(name)
    columns = ", ".join(f'"{column}"' for column in relation.columns if column != _RAW)
    ordered = relation.project(columns).order(", ".join(f'"{column}"' for column in order))
    rows = 0
    reader = ordered.to_arrow_reader(_READ)
    with pq.ParquetWriter(path, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)
            rows += batch.num_rows
    return rows
