"""Bank XML read safely, piece by piece: the one place that feeds a parser with outside bytes.

No DOCTYPE, hence no entities; no network; only encodings that say plainly what they are. What may
pass between two used elements is bounded, so memory is too, whatever the file holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Protocol

from lxml import etree

from treasury.errors import StatementError

__all__ = ["Element", "Pull", "Source", "local_name", "serialise"]

Element = etree._Element  # noqa: SLF001 - lxml gives its element class no public name

_CHUNK: Final = 1 << 16
_MOST_BETWEEN: Final = 4 << 20
"""Bytes that may pass between two used elements; a bank's entry takes one or two thousand."""

_DOCTYPE: Final = b"<!DOCTYPE"
_DECLARED: Final = re.compile(rb"""\s*<\?xml[^>]*?\sencoding\s*=\s*["']([^"']*)["']""")
_PLAIN: Final = re.compile(
    rb"utf-?8|utf-?16(le|be)?|(us-)?ascii|iso-?8859-?\d{1,2}|latin-?1|(windows-|cp)125\d",
    re.IGNORECASE,
)


class Source(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


class Pull:
    """The finished elements of a file with certain local names, one at a time.

    Whoever iterates calls `used()` for an element that was what it seemed; an element that was not
    does not earn the file more memory. `root` is the document's root, afterwards.
    """

    root: Element

    def __init__(self, source: Source, file_name: str, names: tuple[str, ...]) -> None:
        self._source = source
        self._file_name = file_name
        self._between = 0
        self._parser = etree.XMLPullParser(
            events=("end",),
            tag=[f"{{*}}{name}" for name in names],
            resolve_entities=False,
            load_dtd=False,
            no_network=True,
            huge_tree=False,
            remove_comments=True,
            remove_pis=True,
        )

    def used(self) -> None:
        """The element last given was what it seemed, so reading may go on."""
        self._between = 0

    def __iter__(self) -> Iterator[Element]:
        """StatementError, naming file and line, for anything but plain, well-formed XML."""
        try:
            yield from self._elements()
            self.root = self._parser.close()
        except etree.XMLSyntaxError as error:
            raise StatementError(
                f"{self._file_name}: not well-formed XML, {_where(error)}",
                do="fetch the file from the bank again; nothing of it was stored",
            ) from None

    def _elements(self) -> Iterator[Element]:
        in_prolog, last = True, b""
        while chunk := self._source.read(_CHUNK):
            if in_prolog:
                self._check_prolog(last + chunk, at_start=not last)
                last = chunk[-64:]
            self._between += len(chunk)
            self._parser.feed(chunk)
            for _, element in self._parser.read_events():
                in_prolog = False
                yield element
            if self._between > _MOST_BETWEEN:
                raise self._refused(f"more than {_MOST_BETWEEN >> 20} MB without an entry")

    def _check_prolog(self, head: bytes, *, at_start: bool) -> None:
        plain = head.replace(b"\0", b"")  # UTF-16 shows its ASCII characters between zeros
        if _DOCTYPE in plain:
            raise self._refused("it has a DOCTYPE, which no bank statement needs")
        declared = _DECLARED.match(plain.lstrip(b"\xef\xbb\xbf\xff\xfe")) if at_start else None
        if declared and not _PLAIN.fullmatch(declared[1]):
            raise self._refused(f"its encoding {declared[1][:20].decode('latin-1')!r} is not used")
        if at_start and b"<" not in plain:
            raise self._refused("it does not begin like XML")

    def _refused(self, why: str) -> StatementError:
        return StatementError(
            f"{self._file_name}: {why}",
            do="ask the bank for a plain camt.053 file; nothing of this one was stored",
        )


def _where(error: etree.XMLSyntaxError) -> str:
    line, column = error.position
    return f"line {line}, column {column}: {(error.msg or 'it ends too early')[:120]}"


def local_name(element: Element) -> str:
    """The element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def serialise(element: Element) -> str:
    """The element as text, its namespaces declared on it."""
    return etree.tostring(element, encoding="unicode", with_tail=False)
