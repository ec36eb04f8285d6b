"""What closed months settled, kept beside the lake so that later questions leave it out.

    settled/settled-5f0c….duckdb, settled/settled.json

It holds nothing that the records, the journal and the rules do not give again: where any of them is
not as it was, or the database is not, everything is matched and it is made anew. A question reads
the database in place; each of its blocks has a checksum, which DuckDB compares as it reads it.
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
"""Lines and requests below which nothing is settled: a run over so few is kept in memory."""
_FOLDER: Final = "settled"
_CONTENTS: Final = "settled.json"


class SettledMonths(msgspec.Struct, frozen=True, kw_only=True):
    """What was settled, as known at an instant: a database, and how many rows its tables have."""

    commit: int
    """The number of the commit that was the last one then."""
    known_at: datetime
    database: str
    rows: dict[str, int]


class _Contents(SettledMonths, frozen=True, kw_only=True):
    """The same as it is written down, its database by name: by which terms and closes it was."""

    terms: str
    closes: tuple[str, ...]


class ClosedMonths(msgspec.Struct, frozen=True, kw_only=True):
    """The closed months before a question, and the workspace where what they settled is kept."""

    workspace: Path
    month: Month
    """The last of them."""
    closes: tuple[str, ...]
    """The hashes of the closes' entries in the journal, the earliest month first."""
    least: int = LEAST

    @classmethod
    def before(
        cls, month: Month, closed: Iterable[Period], workspace: Path, *, least: int = LEAST
    ) -> ClosedMonths | None:
        """Those of `closed`, in their order, that are earlier than a month; None without any."""
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
        """What was settled by these closes on these terms; None where everything is to be matched.

        A file that is not as it was written counts as none.
        """
        path = self.workspace / _FOLDER / _CONTENTS
        try:
            contents = msgspec.json.decode(path.read_bytes(), type=_Contents)
        except PermissionError as error:
            raise disk.denied(path) from error
        except (OSError, msgspec.DecodeError):
            return None  # another version wrote it, or it was cut off: it is made again
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
        """Keep what is settled, in the place of what was kept before.

        Whoever may not write here, finds the disk full, or writes beside another, is answered all
        the same; what is written in part does not stay.
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
