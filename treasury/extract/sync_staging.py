"""Stores fetched details until the commit, so that the next sync can use them after a crash.

Only details of requests in a final status are stored, because others may change. The file consists
of frames, each with a length and the bytes of a detail. An incomplete last frame is ignored.
Readers of the lake do not see these details.
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
    """Details on disk until the commit: `clear` them after it, and close this object after use."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.details"
        self._file: IO[bytes] | None = None

    def __iter__(self) -> Iterator[bytes]:
        """Yield the details left by an unfinished sync."""
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
        """Store a detail until the commit."""
        with storing(self._path):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = append_regular(self._path)
            self._file.write(len(detail).to_bytes(LENGTH, "big") + detail)

    def close(self) -> None:
        """Flush and close the file."""
        if self._file is not None:
            with storing(self._path):
                self._file.close()
            self._file = None

    def clear(self) -> None:
        """Delete all stored details, because they are committed or no longer needed."""
        self.close()
        with storing(self._path):
            self._path.unlink(missing_ok=True)


class Spool:
    """Rows buffered on disk, so that a long list needs little memory; close it after use."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            # The file must stay open until its rows are read, so no `with` block is used. It has no
            # name and disappears with the process.
            self._file = TemporaryFile(dir=folder)  # noqa: SIM115
        self._writer = pa.ipc.new_stream(self._file, schema)

    def add(self, rows: pa.Table) -> None:
        """Append rows."""
        with storing(self._folder):
            self._writer.write_table(rows)

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield all rows once, a batch at a time."""
        with storing(self._folder):
            self._writer.close()
            # Seeking flushes the buffer.
            self._file.seek(0)
        with pa.ipc.open_stream(self._file) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])

    def close(self) -> None:
        """Delete the rows."""
        # A failed flush does not matter, because the rows are not needed any more.
        with suppress(OSError):
            self._file.close()


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Convert an OSError raised while writing to `path` into a StorageError."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error}",
            do="free disk space, then run this again; what was stored is unchanged",
        ) from error
