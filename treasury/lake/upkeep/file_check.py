"""Checks stored files by reading every file of the last commit and of each pin completely.

This finds missing, truncated and altered files. A file is compared with its hash in the digest
list. If it is not listed, each of its records is compared with the record's content hash.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from treasury.core.errors import WorkspaceDamaged
from treasury.lake.commits import COMMITS, LAST
from treasury.lake.incoming_rows import RULE, with_hash
from treasury.lake.lake import Lake
from treasury.lake.pins import PINS, read_pins
from treasury.lake.snapshot import Snapshot
from treasury.lake.store import delta
from treasury.lake.store.disk import REPAIR, problem_of
from treasury.lake.table_declaration import HASH, OPEN, Table

_BATCH: Final = 65_536


class Damage(msgspec.Struct, frozen=True):
    """A damaged file of a table, a history or the table `commits`, or a damaged pin."""

    table: str
    path: str
    problem: str
    pinned: int | None = None
    """The pinned commit that needs the file, if the last commit does not."""

    def __str__(self) -> str:
        needed = self.pinned is not None
        where = f"pinned commit {self.pinned}, {self.table}" if needed else self.table
        return f"{where}: {self.path} {self.problem}"


def damages(lake: Lake) -> list[Damage]:
    """Return all damage to files of the last commit and of pins.

    Raise StorageError if a file may not be read.
    """
    lake.require_readable()
    damages_found: list[Damage] = []
    check = FileCheck(lake)
    try:
        last = lake.last()
        # As long as the snapshot exists, its lease protects its files from removal.
        reading = None if last is None else lake.snapshot()
    except WorkspaceDamaged as error:
        damages_found.append(Damage(COMMITS, str(lake.folder / LAST), error.what))
    else:
        if last is not None:
            damages_found += check.tables({COMMITS: last.listed, **last.commit.versions})
        del reading
    pins, broken = read_pins(lake.folder)
    damages_found += [
        Damage(PINS, str(path), problem, int(path.stem) if path.stem.isdecimal() else 0)
        for path, problem in broken
    ]
    for pin in pins:
        for (name, _), table in pin.opened(lake.folder).items():
            damages_found += [
                msgspec.structs.replace(damage, pinned=pin.commit.number)
                for damage in check.files(name, table)
            ]
    return damages_found


def require_unaltered(lake: Lake, snapshot: Snapshot, names: Collection[str]) -> None:
    """Compare these tables' files with their hashes; raise WorkspaceDamaged if one differs.

    Reading alone would only detect a missing or unparsable file; the hash also detects a changed
    amount.
    """
    check, is_last = FileCheck(lake), snapshot.commit == lake.last_commit()
    for name, stored in snapshot.stored().items():
        if name not in names:
            continue
        log = check.log(name, stored.version) if is_last else ()
        for damage in chain(log, check.files(name, stored)):
            raise WorkspaceDamaged(
                f"{damage.path} {damage.problem}: the close was refused", do=REPAIR
            )


class FileCheck:
    """Checks each stored file once."""

    def __init__(self, lake: Lake) -> None:
        self._folder = lake.folder
        self._catalogue = lake.catalogue
        self._digests = lake.digests
        self._listed = lake.digests.by_path()
        self._checked: set[str] = set()

    def tables(self, versions: Mapping[str, int]) -> Iterator[Damage]:
        """Yield the damage to versions of tables, including their logs."""
        for name, version in versions.items():
            yield from self.log(name, version)
            try:
                stored = delta.load(self._folder / name, version)
            except WorkspaceDamaged:
                continue
            yield from self.files(name, stored)

    def log(self, name: str, version: int) -> Iterator[Damage]:
        """Yield the damage to a table's log; an altered entry could name other files."""
        folder = self._folder / name
        try:
            delta.load(folder, version)
        except WorkspaceDamaged as error:
            yield Damage(name, str(folder / delta.LOG), f"cannot be read ({error.what})")
            return
        later = set(delta.log_after(folder, version))
        for path in delta.log_after(folder, None):
            if path not in later and self._digests.is_altered(str(path), self._listed):
                yield Damage(name, str(path), "was changed after it was written")
        hint = delta.wrong_hint(folder)
        if hint is not None:
            yield Damage(name, str(hint), "names a missing checkpoint")

    def files(self, name: str, stored: delta.StoredTable) -> Iterator[Damage]:
        """Yield the damage to a table's files that were not checked before."""
        for file in stored.files:
            if file.path not in self._checked:
                self._checked.add(file.path)
                problem = problem_of(Path(file.path), file.size) or self._altered(name, file.path)
                if problem:
                    yield Damage(name, file.path, problem)

    def _altered(self, name: str, path: str) -> str:
        """Return how a file's content was altered; empty if it is intact."""
        altered = self._digests.is_altered(path, self._listed)
        if altered is not None:
            return "was changed after it was written" if altered else ""
        tables = self._catalogue.values()
        declared = next((t for t in tables if name in (t.name, t.history)), None)
        try:
            wrong = sum(
                rows.num_rows - whole.num_rows for rows, whole in whole_rows(Path(path), declared)
            )
        except (OSError, ValueError, pa.ArrowException) as error:
            return f"cannot be read ({error})"
        return f"has {wrong} rows that are not as written" if wrong else ""


def whole_rows(path: Path, declared: Table | None) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield a file's rows in batches: all rows, and the intact ones among them.

    A row without a hash, or with a hash by an earlier rule, cannot be checked and counts as intact.
    """
    file = pq.ParquetFile(path)
    # A batch has rows of one row group, which limits its size.
    groups = ([group] for group in range(file.num_row_groups))
    for batch in chain.from_iterable(file.iter_batches(_BATCH, group) for group in groups):
        rows = pa.Table.from_batches([batch])
        if path.parent.name.startswith(f"{OPEN}="):
            is_open = path.parent.name == f"{OPEN}=true"
            rows = rows.append_column(OPEN, pa.array([is_open] * rows.num_rows))
        if declared is None:
            yield rows, rows
            continue
        # Merged files store texts as string views, which few Arrow functions support.
        rows = shaped(rows, [f for f in declared.history_schema if f.name in rows.column_names])
        if not declared.records:
            yield rows, rows
            continue
        content = shaped(rows, declared.row_schema)
        again = with_hash(content, declared.volatile)
        unaltered = pc.equal(rows[HASH.name], again[HASH.name])
        earlier = pc.invert(pc.starts_with(rows[HASH.name], RULE))
        yield rows, rows.filter(pc.or_(unaltered, earlier))


def shaped(rows: pa.Table, fields: Iterable[pa.Field]) -> pa.Table:
    """Return rows with a schema's columns; columns declared after the file was written are null."""
    schema = pa.schema(fields)
    columns = [
        rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
