"""Is what is stored what was written? Every file of the last commit and of each pin is read whole.

A file can be gone, cut short, not be read, or read and hold other values than were written: the
content hash that each version of a record carries is computed again and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from treasury.errors import WorkspaceDamaged
from treasury.lake import delta, engine
from treasury.lake.commits import COMMITS, Commit
from treasury.lake.declare import HASH, OPEN, Table
from treasury.lake.disk import problem_of
from treasury.lake.lake import Lake
from treasury.lake.pins import PINS, read_pins
from treasury.lake.rows import with_hash

__all__ = ["Damage", "damages", "shaped", "whole_rows"]

BATCH: Final = 65_536


class Damage(msgspec.Struct, frozen=True):
    """Something stored that is not as it was written; `table` may be a history, or `commits`."""

    table: str
    path: str
    problem: str
    pinned: int | None = None
    """The pinned commit that needs it, where the last commit does not."""

    def __str__(self) -> str:
        needed = self.pinned is not None
        where = f"pinned commit {self.pinned}, {self.table}" if needed else self.table
        return f"{where}: {self.path} {self.problem}"


def damages(lake: Lake) -> list[Damage]:
    """Everything of the last commit, and of the pins, that is not as it was written."""
    found: list[Damage] = []
    try:
        reading = lake.snapshot()  # its files stay for as long as it lives
        commit = reading.commit
        lake.commits()
    except WorkspaceDamaged as error:
        return [Damage(COMMITS, str(lake.folder / COMMITS), error.what)]
    pins, broken = read_pins(lake.folder)
    found += [Damage(PINS, str(path), what, _commit_of(path)) for path, what in broken]
    seen: set[str] = set()
    with engine.connect() as connection:
        if commit is not None:
            for name, stored in _tables(lake, commit, found).items():
                seen |= {file.path for file in stored.files}
                found += _damaged(lake.catalogue, name, stored, connection)
        for pin in pins:
            for (name, _), stored in pin.opened(lake.folder).items():
                left = [file for file in stored.files if file.path not in seen]
                seen |= {file.path for file in left}
                only = msgspec.structs.replace(stored, files=tuple(left))
                found += [
                    msgspec.structs.replace(damage, pinned=pin.commit.number)
                    for damage in _damaged(lake.catalogue, name, only, connection)
                ]
    return found


def _commit_of(pin: Path) -> int:
    return int(pin.stem) if pin.stem.isdecimal() else 0


def _tables(lake: Lake, commit: Commit, found: list[Damage]) -> dict[str, delta.StoredTable]:
    tables: dict[str, delta.StoredTable] = {}
    for name, version in sorted(commit.versions.items()):
        folder = lake.folder / name
        try:
            tables[name] = delta.load(folder, version)
        except WorkspaceDamaged as error:
            found.append(Damage(name, str(folder / delta.LOG), f"does not read ({error.what})"))
    return tables


def _damaged(
    catalogue: Mapping[str, Table],
    name: str,
    stored: delta.StoredTable,
    connection: duckdb.DuckDBPyConnection,
) -> Iterator[Damage]:
    declared = next((t for t in catalogue.values() if name in (t.name, t.history)), None)
    for file in stored.files:
        path = Path(file.path)
        problem = problem_of(path, file.size)
        if problem:
            yield Damage(name, file.path, problem)
        else:
            try:
                wrong = sum(
                    rows.num_rows - whole.num_rows
                    for rows, whole in whole_rows(path, declared, connection)
                )
            except (OSError, ValueError, pa.ArrowException) as error:
                yield Damage(name, file.path, f"does not read ({error})")
            else:
                if wrong:
                    yield Damage(name, file.path, f"has {wrong} rows that are not as written")


def whole_rows(
    path: Path, declared: Table | None, connection: duckdb.DuckDBPyConnection
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The rows of a file batch by batch, and those of them that are as they were written."""
    file = pq.ParquetFile(path)
    for batch in file.iter_batches(BATCH):
        rows = pa.Table.from_batches([batch])
        if path.parent.name.startswith(f"{OPEN}="):
            is_open = path.parent.name == f"{OPEN}=true"
            rows = rows.append_column(OPEN, pa.array([is_open] * rows.num_rows))
        if declared is None:
            yield rows, rows
            continue
        # A merge writes text as views, for which Arrow has few functions.
        rows = shaped(rows, [f for f in declared.history_schema if f.name in rows.column_names])
        if not declared.records:
            yield rows, rows
            continue
        content = shaped(rows, declared.row_schema)
        again = with_hash(content, declared.volatile, connection)
        yield rows, rows.filter(pc.equal(rows[HASH.name], again[HASH.name]))


def shaped(rows: pa.Table, fields: Iterable[pa.Field]) -> pa.Table:
    """The columns of a schema; one that was declared after the file was written is empty."""
    schema = pa.schema(fields)
    columns = [
        rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
