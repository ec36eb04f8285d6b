"""Staging keeps details fetched and not committed yet, so that a killed sync need not ask again.

Only what cannot change any more is kept: the detail of a request in a final status is as good as
one fetched now, that of any other is not. A frame is a length and a detail's bytes; what a kill
left unfinished at the end is cut off. A reader of the lake sees nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import pyarrow as pa

from treasury.core.errors import StorageError
from treasury.core.files.regular_files import append_regular

LENGTH = 4


class Staged:
    """Details on their way into the lake; use as a context, `clear` once they are committed."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.details"
        self._file: IO[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        """The details that an unfinished sync left."""
        with storing(self._path):
            if self._path.is_symlink() or not self._path.is_file():
                return
            with self._path.open("r+b") as file:
                whole = 0
                while len(head := file.read(LENGTH)) == LENGTH:
                    size = int.from_bytes(head, "big")
                    detail = file.read(size)
                    if len(detail) < size:
                        break
                    whole += LENGTH + size
                    yield detail
                file.truncate(whole)

    def keep(self, detail: bytes) -> None:
        """Keep a detail until the commit."""
        with storing(self._path):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = append_regular(self._path)
            self._file.write(len(detail).to_bytes(LENGTH, "big") + detail)

    def close(self) -> None:
        """Write out what is held in memory."""
        if self._file is not None:
            with storing(self._path):
                self._file.close()
            self._file = None

    def clear(self) -> None:
        """Forget everything: it is committed, or not wanted."""
        self.close()
        with storing(self._path):
            self._path.unlink(missing_ok=True)


class Spool:
    """Rows that wait on the disk, in batches, so that a long list needs little memory; close it."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            # Without a name: gone with the process. Open until the rows were read: no context.
            self._file = TemporaryFile(dir=folder)  # noqa: SIM115
        self._writer = pa.ipc.new_stream(self._file, schema)

    def add(self, rows: pa.Table) -> None:
        """Put rows at the end."""
        with storing(self._folder):
            self._writer.write_table(rows)

    def __iter__(self) -> Iterator[pa.Table]:
        """All the rows, once, a batch at a time."""
        with storing(self._folder):
            self._writer.close()
            self._file.seek(0)  # writes out what is held in memory
        with pa.ipc.open_stream(self._file) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])

    def close(self) -> None:
        """Forget the rows."""
        with suppress(OSError):  # what could not be written out is not wanted any more
            self._file.close()


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn what a disk says while something is kept at `path` into a StorageError."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error}",
            do="free disk space, then run this again; what was stored is unchanged",
        ) from error
