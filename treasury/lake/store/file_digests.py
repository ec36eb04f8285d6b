"""The digest list of a lake: one line with path and hash for each stored file.

Records have content hashes, but observations, instants, commits and table logs have none, so whole
files are hashed too. For a file without a line, only the rows are checked. An incomplete line is
ignored. If a file has two lines, the later one is valid.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import WorkspaceDamaged
from treasury.core.files import durable
from treasury.core.files.regular_files import append_regular, open_regular, regular_bytes
from treasury.lake.store import disk

FILE_NAME: Final = "digests.jsonl"


class _Line(msgspec.Struct, frozen=True):
    path: str
    digest: str
    check: str
    """Hash of path and digest, so that a damaged line never makes an intact file look damaged."""


class Digests:
    """The digest list of one lake, in the folder `lake`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE_NAME

    def by_path(self) -> dict[str, str]:
        """Return the hash of each listed file, by its path below the lake's folder."""
        try:
            lines = regular_bytes(self._path).splitlines()
        except FileNotFoundError:
            return {}
        except PermissionError as error:
            raise disk.denied(self._path) from error
        except OSError as error:
            raise WorkspaceDamaged(
                f"the list of hashes {self._path} cannot be read ({error.strerror})",
                do="remove it: files without a hash are checked by their rows",
            ) from error
        digests = {}
        for text in lines:
            with suppress(msgspec.DecodeError):
                line = decode_json(text, _Line)
                if line.check == _check(line.path, line.digest):
                    digests[line.path] = line.digest
        return digests

    def keep(self, files: Iterable[str], log: Iterable[Path]) -> None:
        """Flush the unlisted files to disk, then add their hashes to the list.

        Log entries are hashed even if they are listed, because an undone run may have used the same
        names.
        """
        listed = self.by_path()
        fresh = [name for name in map(self.name, files) if name not in listed]
        fresh += map(self.name, log)
        if not fresh:
            return
        with disk.writing(self._path):
            durable.sync_files(map(self._folder.joinpath, fresh), self._folder.parent)
            self._add(_lined(name, digest_of(self._folder / name)) for name in fresh)

    def note(self, digests: Mapping[str, str]) -> None:
        """Add the hashes of files that are already on disk and verified."""
        if digests:
            with disk.writing(self._path):
                self._add(_lined(*entry) for entry in digests.items())

    def _add(self, lines: Iterable[bytes]) -> None:
        with append_regular(self._path) as file:
            if file.tell():
                # This ends a line that a crash left incomplete.
                file.write(b"\n")
            file.write(b"\n".join(lines))
        durable.sync_files([self._path], self._folder)

    def forget_removed(self) -> None:
        """Remove the lines of deleted files."""
        listed = self.by_path()
        present = {
            name: digest for name, digest in listed.items() if (self._folder / name).is_file()
        }
        if len(present) < len(listed):
            self._replace(present)

    def _replace(self, digests: Mapping[str, str]) -> None:
        with disk.writing(self._path):
            lines = (_lined(*item) for item in digests.items())
            durable.write_whole(self._path, b"\n".join(lines))

    def is_altered(self, file: str, digests: Mapping[str, str] | None = None) -> bool | None:
        """Return True if a file differs from its digest; None if it has none."""
        expected = (self.by_path() if digests is None else digests).get(self.name(file))
        return None if expected is None else digest_of(Path(file)) != expected

    def name(self, file: str | Path) -> str:
        """Return a stored file's path as written in the list."""
        return Path(file).relative_to(self._folder).as_posix()


def digest_of(path: Path) -> str:
    """Return the hash of a file's bytes."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lined(path: str, digest: str) -> bytes:
    return msgspec.json.encode(_Line(path, digest, _check(path, digest)))


def _check(path: str, digest: str) -> str:
    return hashlib.sha256(f"{digest} {path}".encode()).hexdigest()[:16]
