"""What closed months settled, kept beside the lake so that later questions leave it out.

    settled/settled.json, settled/lines-5f0c….arrow, …

It holds nothing that the records, the journal and the rules do not give again: where any of them is
not as it was, or a file is not, everything is matched and it is made anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from treasury.calendar import Month
from treasury.ground import durable
from treasury.lake import disk
from treasury.reconcile.settle.settled_tables import SETTLED, UNSETTLED

if TYPE_CHECKING:
    from treasury.journal.period_history import Period
    from treasury.lake import Snapshot

__all__ = ["LEAST", "ClosedMonths", "SettledMonths"]

LEAST: Final = 20_000
"""Lines and requests below which nothing is settled: a run over so few is kept in memory."""
_FOLDER: Final = "settled"
_CONTENTS: Final = "settled.json"


class _Contents(msgspec.Struct, frozen=True):
    """What the folder holds: by which terms and closes it was settled, and the files' digests."""

    terms: str
    closes: tuple[str, ...]
    commit: int
    known_at: datetime
    files: dict[str, str]


class SettledMonths(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What was settled, as known at an instant."""

    known_at: datetime
    tables: Mapping[str, pa.Table]


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
        content = self._content(_CONTENTS)
        try:
            contents = None if content is None else msgspec.json.decode(content, type=_Contents)
        except msgspec.DecodeError:
            return None  # another version wrote it, or it was cut off: it is made again
        if (
            contents is None
            or (contents.terms, contents.closes) != (terms, self.closes)
            or snapshot.at is not None
            or snapshot.commit is None
            or snapshot.commit.number < contents.commit
            or contents.files.keys() != {*SETTLED, *UNSETTLED.values()}
        ):
            return None
        tables = {}
        for name, digest in contents.files.items():
            content = self._content(_file_name(name, digest))
            if content is None or _digest(content) != digest:
                return None
            tables[name] = pa.ipc.open_file(pa.BufferReader(content)).read_all()
        return SettledMonths(known_at=contents.known_at, tables=tables)

    def write(self, snapshot: Snapshot, terms: str, tables: Mapping[str, pa.Table]) -> None:
        """Keep what is settled, in the place of what was kept before.

        Whoever may not write here, or writes beside another, is answered all the same.
        """
        if snapshot.at is not None or snapshot.commit is None:
            return
        folder = self.workspace / _FOLDER
        with suppress(OSError):
            durable.make_folder(folder)
            files = {}
            for name, table in tables.items():
                sink = pa.BufferOutputStream()
                options = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=True)
                with pa.ipc.new_file(sink, table.schema, options=options) as file:
                    file.write_table(table.combine_chunks())
                content = sink.getvalue().to_pybytes()
                files[name] = _digest(content)
                durable.write_whole(folder / _file_name(name, files[name]), content)
            contents = _Contents(
                terms=terms,
                closes=self.closes,
                commit=snapshot.commit.number,
                known_at=snapshot.commit.at,
                files=files,
            )
            durable.write_whole(folder / _CONTENTS, msgspec.json.encode(contents))
            current = {_file_name(name, digest) for name, digest in files.items()}
            for path in folder.glob("*.arrow"):
                if path.name not in current:
                    path.unlink(missing_ok=True)

    def _content(self, name: str) -> bytes | None:
        """A file's bytes; None where it is not there, as after another process wrote others."""
        path = self.workspace / _FOLDER / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise disk.denied(path) from error


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _file_name(name: str, digest: str) -> str:
    return f"{name}-{digest[:16]}.arrow"
