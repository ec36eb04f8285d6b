"""What each stored file was when it was written: a list of paths and hashes, a line for each file.

A record carries the hash of its own content; an observation, an instant and a commit carry none, so
the bytes of whole files are hashed as well. The list is an aid: a file that it lacks is checked by
its rows alone, and a line that was cut off is a line that is not there.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from treasury.lake import disk

__all__ = ["FILE_NAME", "Digests"]

FILE_NAME: Final = "digests.jsonl"


class _Line(msgspec.Struct, frozen=True):
    path: str
    digest: str


class Digests:
    """The list of one lake, in the folder `lake`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / FILE_NAME

    def noted(self) -> dict[str, str]:
        """The hash of each file that was noted, by its path below the lake's folder."""
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise disk.denied(self._path) from error
        return {line.path: line.digest for line in map(_line, text.splitlines()) if line}

    def note(self, files: Iterable[str]) -> None:
        """Add these files, as they are now, where they are not noted yet."""
        noted = self.noted()
        fresh = [name for name in map(self.name, files) if name not in noted]
        if not fresh:
            return
        with disk.writing(self._path):
            lines = [_Line(name, digest_of(self._folder / name)) for name in fresh]
            with self._path.open("ab") as file:
                if file.tell():
                    file.write(b"\n")  # whatever a crash left of the last line ends here
                file.write(b"\n".join(map(msgspec.json.encode, lines)))

    def forget_removed(self) -> None:
        """Drop the lines of files that are there no longer."""
        noted = self.noted()
        there = {name: digest for name, digest in noted.items() if (self._folder / name).is_file()}
        if len(there) == len(noted):
            return
        draft = self._path.with_suffix(".new")
        with disk.writing(self._path):
            lines = (msgspec.json.encode(_Line(*item)) for item in there.items())
            draft.write_bytes(b"\n".join(lines))
            os.replace(draft, self._path)

    def is_altered(self, file: str, noted: Mapping[str, str] | None = None) -> bool | None:
        """Whether a file is other than was noted; None where nothing was noted of it."""
        expected = (self.noted() if noted is None else noted).get(self.name(file))
        return None if expected is None else digest_of(Path(file)) != expected

    def name(self, file: str) -> str:
        """A stored file's path as it is noted."""
        return Path(file).relative_to(self._folder).as_posix()


def digest_of(path: Path) -> str:
    """The hash of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _line(text: bytes) -> _Line | None:
    try:
        return msgspec.json.decode(text, type=_Line)
    except msgspec.DecodeError:
        return None
