"""The fields of an MT940 or MT942 file, in order: SWIFT's envelope off, line breaks put right.

A field begins where a line begins with one of the tags there are. Any other line goes on with the
field before it, also one that only looks like a tag: banks cut their texts at 65 characters, and a
time of day may land at the beginning of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from treasury.errors import StatementError
from treasury.statements.stream import Source

__all__ = ["END", "ENVELOPE", "Field", "Fields", "looks_like_mt"]

END: Final = "-"
"""The tag given for the end of a message."""
ENVELOPE: Final = "{"
"""The tag given for SWIFT's blocks before one."""

_TAGS: Final = r"20|21|25P?|28C?|34F|13[DC]?|60[FM]|61|86|62[FM]|64|65[A-Z]?|90[CD]|NS|94[02]"
_TAG: Final = re.compile(rf"\s*:({_TAGS}):")
_SEEN: Final = re.compile(
    rb"(?:^|[\r\n])\s*(?:\{1:F01|:20:|:25P?:|:28C?:|:60[FM]:|:61:)", re.MULTILINE
)
_CONTROL: Final = dict.fromkeys([0, 1, 2, 3, 4, 26])
_CHUNK: Final = 1 << 18
_LONGEST_LINE: Final = 1 << 16
_LONGEST_FIELD: Final = 1 << 16


class Field(msgspec.Struct, frozen=True, gc=False):
    """A field: its tag, its lines joined by line breaks, the line of the file it begins on."""

    tag: str
    text: str
    line: int


def looks_like_mt(head: bytes) -> bool:
    """Whether a file that begins like this has SWIFT's fields."""
    return _SEEN.search(head) is not None


class Fields:
    """The fields of a file. `odd_lines` counts lines that were not UTF-8."""

    def __init__(self, source: Source, file_name: str) -> None:
        self.odd_lines = 0
        self._source = source
        self._file_name = file_name

    def __iter__(self) -> Iterator[Field]:
        """StatementError for lines and fields of a length that no bank writes."""
        tag, begun, size = "", 0, 0
        parts: list[str] = []
        for number, line in enumerate(self._lines(), 1):
            found = _TAG.match(line) if ":" in line[:12] else None
            ends = found is None and line.startswith(("-", "{")) and _ends(line)
            if found is None and not ends:
                if tag:
                    parts.append(line)
                    size += len(line)
                    if size > _LONGEST_FIELD:
                        raise self._refused(f"line {number}: a field of more than 64 KB")
                continue
            if tag:
                yield Field(tag, "\n".join(parts), begun)
            tag, parts, begun, size = "", [], number, 0
            if found is not None:
                tag, parts = found[1], [line[found.end() :]]
                continue
            yield Field(END, "", number)
            if "{" in line:
                yield Field(ENVELOPE, line, number)
        if tag:
            yield Field(tag, "\n".join(parts), begun)

    def _lines(self) -> Iterator[str]:
        rest = b""
        broken = False  # a line of only ":" is the first character of the next one
        while True:
            chunk = self._source.read(_CHUNK)
            lines = (rest + chunk).splitlines(keepends=True)
            rest = b""
            if chunk and lines:
                rest = lines.pop()
                if len(rest) > _LONGEST_LINE:
                    raise self._refused("a line of more than 64 KB")
            for data in lines:
                line = self._text(data)
                if line == ":":
                    broken = True
                    continue
                yield f":{line}" if broken else line
                broken = False
            if not chunk:
                return

    def _text(self, data: bytes) -> str:
        if len(data) > _LONGEST_LINE:
            raise self._refused("a line of more than 64 KB")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            self.odd_lines += 1
            text = data.decode("cp1252", "replace") if _is_1252(data) else data.decode("latin-1")
        text = text.rstrip("\r\n")
        return text if text.isprintable() else text.translate(_CONTROL)

    def _refused(self, why: str) -> StatementError:
        return StatementError(
            f"{self._file_name}: {why}",
            do="ask the bank for a plain MT940 file; nothing of this one was stored",
        )


def _ends(line: str) -> bool:
    """Whether the line ends a message, or is SWIFT's envelope around one."""
    stripped = line.strip()
    return stripped in {"-", "--"} or stripped.startswith(("-}", "{1:", "{2:", "{4:", "-{"))


_NOT_1252: Final = frozenset(b"\x81\x8d\x8f\x90\x9d")


def _is_1252(data: bytes) -> bool:
    return _NOT_1252.isdisjoint(data)
