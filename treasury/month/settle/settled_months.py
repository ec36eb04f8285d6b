"""Records settled by closed months, stored in the workspace so that later questions leave them out.

    settled/settled-5f0c….duckdb, settled/settled.json

The database is a cache: all its rows can be computed from records, journal and rules. If one of
them has changed, or the database is missing or damaged, all records are matched and it is rebuilt.
A question reads the database in place; DuckDB checks the checksum of each block as it reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

import msgspec
import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.files import durable
from treasury.core.tables import duckdb_engine
from treasury.lake.store import disk
from treasury.matching.settled_tables import SETTLED, UNSETTLED

if TYPE_CHECKING:
    from treasury.journal.period_history import Period
    from treasury.lake import Snapshot

LEAST: Final = 20_000
"""Number of lines and requests below which nothing is settled: small runs stay in memory."""
_FOLDER: Final = "settled"
_CONTENTS: Final = "settled.json"


class SettledMonths(msgspec.Struct, frozen=True, kw_only=True):
    """The settled records at a point in time: their database and the row counts of its tables."""

    commit: int
    """The number of the lake's last commit at that time."""
    known_at: datetime
    database: str
    rows: dict[str, int]


class _Contents(SettledMonths, frozen=True, kw_only=True):
    """The content of settled.json: the database's name, and the terms and closes it is based on."""

    terms: str
    closes: tuple[str, ...]


class ClosedMonths(msgspec.Struct, frozen=True, kw_only=True):
    """The closed months before a month, and the workspace that stores their settled records."""

    workspace: Path
    month: Month
    """The last closed month."""
    closes: tuple[str, ...]
    """The hashes of the closes' entries in the journal, the earliest month first."""
    least: int = LEAST

    @classmethod
    def before(
        cls, month: Month, closed: Iterable[Period], workspace: Path, *, least: int = LEAST
    ) -> ClosedMonths | None:
        """Return the months of `closed` before `month`, or None if there are none."""
        earlier = [period for period in closed if period.month < str(month)]
        if not earlier:
            return None
        return cls(
            workspace=workspace,
            month=Month.parse(earlier[-1].month),
            closes=tuple(period.entry.hash for period in earlier),
            least=least,
        )

    def read(self, snapshot: Snapshot, terms: str) -> SettledMonths | None:
        """Return the records settled by these closes, or None if all records must be matched.

        A damaged file counts as missing. Raise StorageError if the file may not be read.
        """
        path = self.workspace / _FOLDER / _CONTENTS
        try:
            contents = msgspec.json.decode(path.read_bytes(), type=_Contents)
        except PermissionError as error:
            raise disk.denied(path) from error
        except (OSError, msgspec.DecodeError):
            # The file is missing, damaged or from a different version: it is rebuilt.
            return None
        if (
            (contents.terms, contents.closes) != (terms, self.closes)
            or snapshot.at is not None
            or snapshot.commit is None
            or snapshot.commit.number < contents.commit
            or contents.rows.keys() != {*SETTLED, *UNSETTLED.values()}
            or Path(contents.database).name != contents.database
        ):
            return None
        database = self.workspace / _FOLDER / contents.database
        return msgspec.structs.replace(contents, database=str(database))

    def write(self, snapshot: Snapshot, terms: str, tables: Mapping[str, pa.Table]) -> None:
        """Store the settled records; they replace the stored ones.

        If the database cannot be written (no access, full disk, another writer), the question is
        answered without it, and a partly written file is removed. Nothing is stored for a snapshot
        of an earlier time.
        """
        if snapshot.at is not None or snapshot.commit is None:
            return
        folder = self.workspace / _FOLDER
        database = folder / f"settled-{uuid4().hex}.duckdb"
        try:
            durable.make_folder(folder)
            with duckdb_engine.new_database(database) as connection:
                for name, table in tables.items():
                    connection.register("given", table)
                    connection.execute(f"CREATE TABLE {name} AS FROM given")
                    connection.unregister("given")
            contents = _Contents(
                terms=terms,
                closes=self.closes,
                commit=snapshot.commit.number,
                known_at=snapshot.commit.at,
                database=database.name,
                rows={name: table.num_rows for name, table in tables.items()},
            )
            durable.write_whole(folder / _CONTENTS, msgspec.json.encode(contents))
        except (OSError, *duckdb_engine.UNWRITTEN):
            unneeded = folder.glob(f"{database.name}*")
        else:
            unneeded = (path for path in folder.glob("settled-*") if path.name != database.name)
        with suppress(OSError):
            for path in unneeded:
                path.unlink(missing_ok=True)
