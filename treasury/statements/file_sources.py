"""Where bank files come from: paths, folders, globs, standard input, and archives of any of them.

Every file ends up as a `Document`: a name to show, and a way to open a bounded stream of bytes. An
archive is unpacked as it is read, never to disk; one that swells beyond reason is refused.
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
from treasury.core.text import visible
from treasury.statements.byte_stream import ByteSource, UnknownFormat

STDIN: Final = "-"

_ZIP: Final = b"PK\x03\x04"
_EMPTY_ZIP: Final = b"PK\x05\x06"
_GZIP: Final = b"\x1f\x8b"

_WORKBOOK: Final = "xl/workbook.xml"
_MOST_MEMBERS: Final = 100_000
_LONGEST_LIST: Final = 16 << 20
"""Bytes of the list of members: the standard library takes ten times as many for it."""
_MOST_BYTES: Final = 8 << 30
"""Bytes that may come out of one file, those of archives in it included."""
_FREE_BYTES: Final = 64 << 20
_MOST_SWELLING: Final = 250
"""How many times larger than packed a file may be; bank XML packs 10 to 40 times."""
_DEEPEST: Final = 2
_IN_MEMORY: Final = 16 << 20

_BROKEN: Final = (
    OSError, EOFError, ValueError, RuntimeError, struct.error, zipfile.BadZipFile, zlib.error
)  # fmt: skip
"""What the standard library raises for archives that are none."""

_DO: Final = "fetch the file from the bank again; nothing of it was stored"


class Document(msgspec.Struct, frozen=True):
    """A file to read. `is_asked_for`: a person named it, rather than the folder it lies in."""

    name: str
    open: Callable[[], AbstractContextManager[ByteSource]]
    is_asked_for: bool = True
    path: Path | None = None
    """The plain file that it is; None for one from an archive or from standard input."""

    @property
    def size(self) -> int:
        """Bytes on disk; 0 where that is not known."""
        try:
            return self.path.stat().st_size if self.path else 0
        except OSError:
            return 0


class KeptInput(ExitStack):
    """Standard input, kept as it is read, so that it can be looked at, read, and read again."""

    _spooled: IO[bytes] | None = None

    def documents(self) -> Iterator[Document]:
        """The files in it: itself, or those packed in it.

        StatementError where it is a device or has no end.
        """
        if self._spooled is None:
            try:
                kind = kind_of_file(os.fstat(sys.stdin.fileno()).st_mode)
            except io.UnsupportedOperation:  # a text in memory is in its place
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
    """The files that paths, folders, globs and `-` stand for, folders in the order of names.

    Whoever reads them more than once gives the `kept_input` that `-` stands for. Where there is
    nothing at a path, or nothing comes out of an archive, there is a document that says so when it
    is opened: what is wrong with one is no reason to pass over the next.
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
    """What is found, then a document that raises what ended it."""
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
        raise StatementError(f"{folder}: no file is in that folder", do="check the path")


def _matching(pattern: str) -> Iterator[Document]:
    names = sorted(glob(pattern, recursive=True))
    if not names:
        raise StatementError(f"{pattern}: no file has such a name", do="check the path")
    for name in names:
        if Path(name).is_dir():
            yield from _in_folder(Path(name))
        else:
            yield from _unpacked(plain_file(Path(name), is_asked_for=False))


def plain_file(path: Path, *, is_asked_for: bool = True) -> Document:
    """The file at a path; StatementError says why where it cannot be opened."""

    @contextmanager
    def opened() -> Iterator[ByteSource]:
        try:
            with open_regular(path) as source:
                yield source
        except OSError as error:
            why = error.strerror or "cannot be read"
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
    """Bytes and members left to unpack from one file, shared by the archives in it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._bytes, self._members = _MOST_BYTES, _MOST_MEMBERS

    def take_members(self, number: int, size: int) -> None:
        """Count the members that an archive lists; StatementError if they are too many or large."""
        self._members -= number
        if self._members < 0 or size > self._bytes:
            raise self._spent()

    def take_bytes(self, number: int) -> None:
        """Count unpacked bytes; StatementError if they are too many."""
        self._bytes -= number
        if self._bytes < 0:
            raise self._spent()

    def _spent(self) -> StatementError:
        return StatementError(
            f"{self._name}: more than {_MOST_BYTES >> 30} GB or {_MOST_MEMBERS:,} files are in"
            " it, which is too much for one archive",
            do="unpack it and add what is needed",
        )


class _Unpacked:
    """Bounds of one file from an archive; bytes that are read again are counted once."""

    def __init__(self, name: str, budget: _Budget) -> None:
        self.name = name
        self._budget = budget
        self._counted = 0

    def count(self, size: int, packed: int) -> None:
        """Count the first `size` bytes, once however often they are read."""
        most = max(_FREE_BYTES, packed * _MOST_SWELLING)
        if size > most:
            raise StatementError(
                f"{self.name}: more than {most >> 20} MB come out of so small an archive",
                do="unpack it and look at what it holds; nothing of it was stored",
            )
        if size > self._counted:
            self._budget.take_bytes(size - self._counted)
            self._counted = size


def _unpacked(
    document: Document, depth: int = 0, budget: _Budget | None = None
) -> Iterator[Document]:
    """The document itself, or those packed in it."""
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
    """What is in a file out of an archive, which may be an archive."""
    if depth >= _DEEPEST:
        raise StatementError(f"{document.name}: an archive in an archive in an archive", do=_DO)
    yield from _unpacked(document, depth + 1, budget)


def _members(document: Document, depth: int, budget: _Budget) -> Iterator[Document]:
    with document.open() as source, tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as spooled:
        seekable: IO[bytes] = spooled
        if isinstance(source, io.BufferedReader):  # a plain file
            seekable = source
        else:  # a zip lists its files at its end, so all of it has to be there
            _copy(document.name, source, spooled)
        try:
            archive = zipfile.ZipFile(cast(IO[bytes], _Catalogue(seekable)))
        except _BROKEN as error:
            raise StatementError(f"{document.name}: a broken zip file ({error})", do=_DO) from None
        with archive:
            members = [m for m in archive.infolist() if not m.filename.endswith("/")]
            if not members:
                raise StatementError(f"{document.name}: no file is in that archive", do=_DO)
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
                f"{name}: packed with {method}, which is not unpacked here",
                do="unpack it, then add what is inside",
            )
        try:
            unpacked = archive.open(member)
        except (RuntimeError, NotImplementedError) as error:
            raise StatementError(
                f"{name}: it cannot be unpacked ({error})", do="unpack it, then add what is inside"
            ) from None
        except _BROKEN as error:
            raise StatementError(f"{name}: a broken archive ({error})", do=_DO) from None
        with unpacked:
            yield _Bounded(unpacked, bounds, lambda: member.compress_size)

    return Document(name, opened, is_asked_for=False)


class _Catalogue:
    """A zip file of which the list of members, which is read at once, may not be endless."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def seekable(self) -> bool:
        """A zip file is read from its end."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; BadZipFile for more than any list of members takes."""
        if size > _LONGEST_LIST:
            raise zipfile.BadZipFile("it lists too many files")
        return self._file.read(size)


class _Counted(io.RawIOBase):
    """A source that counts what is read of it, as the standard library wants one."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.count = 0

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # any buffer has it
        """Fill the buffer; 0 at the end."""
        chunk = self._source.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.count += len(chunk)
        return len(chunk)


class _Bounded:
    """Unpacked bytes, up to what is credible for the packed ones."""

    def __init__(self, source: ByteSource, bounds: _Unpacked, packed: Callable[[], int]) -> None:
        self._source = source
        self._bounds = bounds
        self._packed = packed
        self._count = 0

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; StatementError where they are broken or too many."""
        try:
            chunk = self._source.read(size)
        except _BROKEN as error:
            raise StatementError(
                f"{self._bounds.name}: a broken archive ({error})", do=_DO
            ) from None
        self._count += len(chunk)
        self._bounds.count(self._count, self._packed())
        return chunk
