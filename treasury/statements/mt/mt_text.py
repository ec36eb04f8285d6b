"""Decoded text of a file in whole lines, with uniform line breaks.

The encoding is determined once for the whole file. ASCII is passed on directly. From the first
piece with other bytes on, the file is spooled, in memory or on disk.
"""

from __future__ import annotations

import codecs
import re
import tempfile
from collections.abc import Iterator
from itertools import chain
from typing import IO, Final

from treasury.core.errors import StatementError
from treasury.statements.byte_stream import ByteSource
from treasury.statements.text_encoding import Letters, utf_16

_CONTROL: Final = bytes([0, 1, 2, 3, 4, 26])
_BOM: Final = b"\xef\xbb\xbf"
_CHUNK: Final = 1 << 18
_LONGEST_LINE: Final = 1 << 16
_IN_MEMORY: Final = 16 << 20
_UNFINISHED: Final = b"\r" + bytes(range(0x80, 0x100))
_AT_SIGNS: Final = re.compile(rb"@@:\d\d[A-Z]?:")
_BREAKS: Final = b"@@"
"""Bytes that some banks write in place of a line break."""


def plain_head(head: bytes) -> bytes:
    """Return the beginning of a file in UTF-8, with line breaks in place of `@@`."""
    encoding = utf_16(head)
    if encoding:
        head = codecs.getincrementaldecoder(encoding)("replace").decode(head).encode()
    return head.replace(_BREAKS, b"\n") if _AT_SIGNS.search(head) else head


class MtText:
    """The lines of a file. `odd_lines` counts the lines beyond ASCII that are read as `encoding`.

    With `whole_lines` false a line of any length is allowed and yielded in parts.
    """

    def __init__(self, source: ByteSource, file_name: str, *, whole_lines: bool = True) -> None:
        self._whole_lines = whole_lines
        self.odd_lines = 0
        self.encoding = ""
        self._source = source
        self._file_name = file_name
        self._is_mixed = False

    def __iter__(self) -> Iterator[str]:
        """Yield texts of many whole lines, with uniform line breaks.

        Raises StatementError for a line that is too long.
        """
        unfinished, lines = b"", 0
        # A line with only ":" belongs to the beginning of the next line.
        broken = ""
        first = True
        for chunk in chain(self._decided(), (b"",)):
            data = (unfinished + chunk).removeprefix(_BOM) if first else unfinished + chunk
            first = False
            end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1 if chunk else len(data)
            if not end and not self._whole_lines:
                # Do not split a character or a line end of two bytes.
                end = len(data.rstrip(_UNFINISHED))
            data, unfinished = data[:end], data[end:]
            lines += data.count(b"\n")
            if len(unfinished) > _LONGEST_LINE:
                raise StatementError(
                    f"{self._file_name}: line {lines + 1}: a line of more than 64 KB",
                    do="ask the bank for a plain text file; this one was not stored",
                )
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").translate(None, _CONTROL)
            text = f"\n{broken}{self._text(data)}"
            while "\n:\n" in text:
                text = text.replace("\n:\n", "\n:")
            broken = ":" if text.endswith("\n:") else ""
            yield text.removesuffix(":")[1:] if broken else text[1:]

    def _text(self, data: bytes) -> str:
        if not self.encoding:
            return data.decode()
        if not self._is_mixed:
            return data.decode(self.encoding)
        return "\n".join(
            line.decode("utf-8" if _is_utf_8(line) else self.encoding) for line in data.split(b"\n")
        )

    def _decided(self) -> Iterator[bytes]:
        """Yield the bytes; bytes beyond ASCII only after the encoding is known."""
        chunks = self._plain()
        for chunk in chunks:
            if chunk.isascii():
                yield chunk
                continue
            with tempfile.SpooledTemporaryFile[bytes](max_size=_IN_MEMORY) as spooled:
                for piece in chain((chunk,), chunks):
                    spooled.write(piece)
                self._decide(spooled)
                spooled.seek(0)
                while data := spooled.read(_CHUNK):
                    yield data

    def _decide(self, spooled: IO[bytes]) -> None:
        spooled.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while data := spooled.read(_CHUNK):
                decoder.decode(data)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            self._judge(spooled)

    def _judge(self, spooled: IO[bytes]) -> None:
        """Determine the encoding of a file that is not UTF-8, or of the few lines that are not."""
        everything, odd = Letters(), Letters()
        utf_8_count = odd_count = 0
        spooled.seek(0)
        while data := spooled.read(_CHUNK):
            data += spooled.readline(_LONGEST_LINE)
            everything.add(data)
            lines = [line for line in data.splitlines() if not line.isascii()]
            others = [line for line in lines if not _is_utf_8(line)]
            odd.add(b"\n".join(others))
            odd_count += len(others)
            utf_8_count += len(lines) - len(others)
        self._is_mixed = utf_8_count > odd_count
        self.odd_lines = odd_count if self._is_mixed else odd_count + utf_8_count
        self.encoding = (odd if self._is_mixed else everything).encoding

    def _plain(self) -> Iterator[bytes]:
        """Yield the bytes, with UTF-16 converted to UTF-8 and replaced line breaks restored."""
        chunk, at_sign = self._source.read(_CHUNK), b""
        encoding = utf_16(chunk)
        decode = codecs.getincrementaldecoder(encoding or "utf-8")("replace").decode
        has_signs = _AT_SIGNS.search(chunk) is not None
        while chunk:
            data = at_sign + (decode(chunk).encode() if encoding else chunk)
            if has_signs:
                at_sign = b"@" * (len(data) - len(data.rstrip(b"@")) == 1)
                data = data.removesuffix(at_sign).replace(_BREAKS, b"\n")
            yield data
            chunk = self._source.read(_CHUNK)
        if at_sign:
            yield at_sign


def _is_utf_8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
