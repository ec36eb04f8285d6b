"""Sources of bank files: paths, folders, globs, standard input, and archives of them.

Each file becomes a `Document`, which has a name to show and opens as a bounded stream of bytes.
Archives are unpacked while they are read; an archive that expands beyond the limits is refused.
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import IO, Final, NoReturn, cast

import msgspec

from treasury.core.errors import StatementError
from treasury.core.files.regular_files import NotRegular, kind_of_file, open_regular
from treasury.core.files.zip_methods import unbounded_method
from treasury.core.text import is_it, visible
from treasury.statements.byte_stream import ByteSource, UnknownFormat

STDIN: Final = "-"

_ZIP: Final = b"PK\x03\x04"
_EMPTY_ZIP: Final = b"PK\x05\x06"
_GZIP: Final = b"\x1f\x8b"

_WORKBOOK: Final = "xl/workbook.xml"
_MOST_MEMBERS: Final = 100_000
_LONGEST_LIST: Final = 16 << 20
"""Maximum bytes of an archive's member list; zipfile needs ten times as much memory for it."""
_MOST_BYTES: Final = 8 << 30
"""Maximum unpacked bytes of one file, including nested archives."""
_FREE_BYTES: Final = 64 << 20
_MOST_SWELLING: Final = 250
"""Maximum ratio of unpacked to packed bytes; for bank XML it is 10 to 40."""
_DEEPEST: Final = 2
_IN_MEMORY: Final = 16 << 20

_BROKEN: Final = (
    OSError, EOFError, ValueError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error
)  # fmt: skip
"""Exceptions that the standard library raises for broken archives."""

_DO: Final = "fetch the file from the bank again; the file was not stored"


class Document(msgspec.Struct, frozen=True):
    """A file to read.

    `is_asked_for` is true if a person named this file, and not its folder, glob or zip archive.
    """

    name: str
    open: Callable[[], AbstractContextManager[ByteSource]]
    is_asked_for: bool = True
    path: Path | None = None
    """Path of the file; None if it comes from an archive or from standard input."""

    @property
    def size(self) -> int:
        """Return the size on disk in bytes; 0 if it is unknown."""
        try:
            return self.path.stat().st_size if self.path else 0
        except OSError:
            return 0


class KeptInput(ExitStack):
    """A copy of standard input, so that it can be read more than once."""

    _spooled: IO[bytes] | None = None

    def documents(self) -> Iterator[Document]:
        """Yield the input as a document, or the documents packed in it.

        Raises StatementError if the input is a device other than a terminal, or too large.
        """
        if self._spooled is None:
            try:
                kind = kind_of_file(os.fstat(sys.stdin.fileno()).st_mode)
            # Standard input may be a text in memory, which has no file descriptor.
            except io.UnsupportedOperation:
                kind = None
            if kind == "a device" and not sys.stdin.isatty():
                raise StatementError(
                    "standard input: is a device, not a file", do="give it a bank file"
                )
            spooled = tempfile.SpooledTemporaryFile[bytes](max_size=_IN_MEMORY)
            _copy("standard input", sys.stdin.buffer, self.enter_context(spooled))
            self._spooled = spooled
        whole = self._spooled

        @contextmanager
        def opened() -> Iterator[ByteSource]:
            whole.seek(0)
            yield whole

        yield from _unpacked(Document("standard input", opened))


def documents(
    paths: Iterable[Path | str], kept_input: KeptInput | None = None
) -> Iterator[Document]:
    """Yield the files of paths, folders, globs and `-`; folders are listed in order of names.

    To read `-` more than once, pass `kept_input`. For a missing path or a broken archive, yield a
    document that raises the error when it is opened, so that the other files are still read.
    """
    for path in paths:
        if str(path) == STDIN:
            with KeptInput() if kept_input is None else nullcontext(kept_input) as given:
                yield from _or_why(given.documents(), "standard input")
        elif Path(path).is_dir():
            yield from _or_why(_in_folder(Path(path)), str(path))
        elif not Path(path).exists() and has_magic(str(path)):
            yield from _or_why(_matching(str(path)), str(path))
        else:
            yield from _unpacked(plain_file(Path(path)))


def _or_why(
    sources: Iterator[Document], name: str, is_asked_for: bool = True
) -> Iterator[Document]:
    """Yield the documents found; after an error, yield a document that raises it when opened."""
    try:
        yield from sources
    except StatementError as error:
        yield Document(name, partial(_raise, error), is_asked_for)


def _raise(error: StatementError) -> NoReturn:
    raise error


def _in_folder(folder: Path) -> Iterator[Document]:
    is_empty = True
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not any(part.startswith((".", "__")) for part in inside.parts):
            is_empty = False
            yield from _unpacked(plain_file(path, is_asked_for=False))
    if is_empty:
        raise StatementError(f"{folder}: the folder contains no file", do="check the path")


def _matching(pattern: str) -> Iterator[Document]:
    names = sorted(glob(pattern, recursive=True))
    if not names:
        raise StatementError(f"{pattern}: no such file", do="check the path")
    for name in names:
        if Path(name).is_dir():
            yield from _in_folder(Path(name))
        else:
            yield from _unpacked(plain_file(Path(name), is_asked_for=False))


def plain_file(path: Path, *, is_asked_for: bool = True) -> Document:
    """Return the document of a file; opening it raises StatementError if it cannot be read."""

    @contextmanager
    def opened() -> Iterator[ByteSource]:
        try:
            with open_regular(path) as source:
                yield source
        except OSError as error:
            why = error.strerror or "cannot be read"
            if isinstance(error, FileNotFoundError) and path.parent.is_dir():
                why += is_it(path.name, (each.name for each in path.parent.iterdir()))
            do = "name a file; - reads standard input"
            raise StatementError(
                f"{path}: {why}",
                do=do if isinstance(error, NotRegular) else "check the path of the file",
            ) from None

    return Document(visible(path.name), opened, is_asked_for, path)


def _copy(name: str, source: ByteSource, spooled: IO[bytes]) -> None:
    size = 0
    while chunk := source.read(1 << 20):
        size += len(chunk)
        if size > _MOST_BYTES:
            raise StatementError(f"{name}: more than {_MOST_BYTES >> 30} GB", do="give it in parts")
        spooled.write(chunk)


class _Budget:
    """Number of bytes and members that may still be unpacked from one file with nested archives."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bytes, self._members = _MOST_BYTES, _MOST_MEMBERS

    def take_members(self, number: int, size: int) -> None:
        """Count the members that an archive lists. Raises StatementError above the limits."""
        self._members -= number
        if self._members < 0 or size > self._bytes:
            raise self._spent()

    def take_bytes(self, number: int) -> None:
        """Count unpacked bytes. Raises StatementError if there are too many."""
        self._bytes -= number
        if self._bytes < 0:
            raise self._spent()

    def _spent(self) -> StatementError:
        return StatementError(
            f"{self._name}: more than {_MOST_BYTES >> 30} GB or {_MOST_MEMBERS:,} files are in"
            " it, which is too much for one archive",
            do="unpack it and add the files that you need",
        )


class _Unpacked:
    """Limits of one file in an archive; bytes that are read twice count once."""

    def __init__(self, name: str, budget: _Budget) -> None:
        self.name = name
        self._budget = budget
        self._counted = 0

    def count(self, size: int, packed: int) -> None:
        """Count the bytes up to position `size` that are not counted yet.

        Raises StatementError if they exceed a limit, or are too many for `packed` bytes.
        """
        most = max(_FREE_BYTES, packed * _MOST_SWELLING)
        if size > most:
            raise StatementError(
                f"{self.name}: a small archive that unpacks to more than {most >> 20} MB",
                do="unpack it and check its content; the file was not stored",
            )
        if size > self._counted:
            self._budget.take_bytes(size - self._counted)
            self._counted = size


def _unpacked(
    document: Document, depth: int = 0, budget: _Budget | None = None
) -> Iterator[Document]:
    """Yield the document itself, or the documents packed in it."""
    shared = budget or _Budget(document.name)
    yield from _or_why(_out_of(document, depth, shared), document.name, document.is_asked_for)


def _out_of(document: Document, depth: int, budget: _Budget) -> Iterator[Document]:
    with document.open() as source:
        head = source.read(4)
    if head.startswith(_GZIP):
        unpacked = _Unpacked(document.name, budget)

        @contextmanager
        def opened() -> Iterator[ByteSource]:
            with document.open() as packed:
                counted = _Counted(packed)
                with gzip.GzipFile(fileobj=io.BufferedReader(counted)) as plain:
                    yield _Bounded(plain, unpacked, lambda: counted.count)

        name = document.name.removesuffix(".gz")
        yield from _deeper(Document(name, opened, document.is_asked_for), depth, budget)
    elif head in {_ZIP, _EMPTY_ZIP}:
        yield from _members(document, depth, budget)
    else:
        yield document


def _deeper(document: Document, depth: int, budget: _Budget) -> Iterator[Document]:
    """Yield the documents in a member of an archive, which may be an archive itself."""
    if depth >= _DEEPEST:
        raise StatementError(f"{document.name}: archives are nested too deeply", do=_DO)
    yield from _unpacked(document, depth + 1, budget)


def _members(document: Document, depth: int, budget: _Budget) -> Iterator[Document]:
    with document.open() as source, tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spooled:
        seekable: IO[bytes] = spooled
        if isinstance(source, io.BufferedReader):
            seekable = source
        # A zip file lists its members at its end, so a source that cannot seek is copied first.
        else:
            _copy(document.name, source, spooled)
        try:
            archive = zipfile.ZipFile(cast(IO[bytes], _Catalogue(seekable)))
        except _BROKEN as error:
            raise StatementError(f"{document.name}: a broken zip file ({error})", do=_DO) from None
        with archive:
            members = [m for m in archive.infolist() if not m.filename.endswith("/")]
            if not members:
                raise StatementError(f"{document.name}: the archive contains no file", do=_DO)
            if any(member.filename == _WORKBOOK for member in members):
                raise UnknownFormat(
                    f"{document.name}: an Excel workbook, which is not read",
                    do="save its sheet as CSV, or ask the bank for camt.053",
                )
            if sum(member.compress_size for member in members) > seekable.seek(0, io.SEEK_END):
                raise StatementError(
                    f"{document.name}: a broken zip file (its files overlap)", do=_DO
                )
            budget.take_members(len(members), sum(member.file_size for member in members))
            for member in sorted(members, key=lambda m: m.filename):
                if not Path(member.filename).name.startswith((".", "__")):
                    yield from _deeper(_member(document, archive, member, budget), depth, budget)


def _member(
    document: Document, archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: _Budget
) -> Document:
    name = f"{document.name}/{visible(member.filename)}"
    bounds = _Unpacked(name, budget)

    @contextmanager
    def opened() -> Iterator[ByteSource]:
        if method := unbounded_method(member):
            raise StatementError(
                f"{name}: packed with {method}, which is not supported",
                do="unpack it, then add the files inside",
            )
        try:
            unpacked = archive.open(member)
        except (RuntimeError, NotImplementedError) as error:
            raise StatementError(
                f"{name}: it cannot be unpacked ({error})",
                do="unpack it, then add the files inside",
            ) from None
        except _BROKEN as error:
            raise StatementError(f"{name}: a broken archive ({error})", do=_DO) from None
        with unpacked:
            yield _Bounded(unpacked, bounds, lambda: member.compress_size)

    return Document(name, opened, is_asked_for=False)


class _Catalogue:
    """A zip file that limits the length of its member list, which `zipfile` reads in one go."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def seekable(self) -> bool:
        """Return true: `zipfile` reads the list at the end first."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return at most `size` bytes. Raises BadZipFile if the member list is too long."""
        if size > _LONGEST_LIST:
            raise zipfile.BadZipFile("it lists too many files")
        return self._file.read(size)


class _Counted(io.RawIOBase):
    """A source that counts the bytes read, with the methods that `io` expects."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.count = 0

    def readable(self) -> bool:
        """Return true: the source is readable."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # any buffer has it
        """Read into the buffer; return the number of bytes, 0 at the end."""
        chunk = self._source.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.count += len(chunk)
        return len(chunk)


class _Bounded:
    """Stream of unpacked bytes, limited in proportion to the packed ones."""

    def __init__(self, source: ByteSource, bounds: _Unpacked, packed: Callable[[], int]) -> None:
        self._source = source
        self._bounds = bounds
        self._packed = packed
        self._count = 0

    def read(self, size: int, /) -> bytes:
        """Return at most `size` bytes.

        Raises StatementError if the archive is broken or too large.
        """
        try:
            chunk = self._source.read(size)
        except _BROKEN as error:
            raise StatementError(
                f"{self._bounds.name}: a broken archive ({error})", do=_DO
            ) from None
        self._count += len(chunk)
        self._bounds.count(self._count, self._packed())
        return chunk
