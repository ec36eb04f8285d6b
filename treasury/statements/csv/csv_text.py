"""Text of a CSV file that can be read several times in bounded memory.

The decimal sign and the order of the rows depend on the whole file, so it is read more than once.
Its bytes are spooled, in memory or on disk, while the encoding is determined.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import IO, Final, Self

import msgspec

from treasury.core.errors import StatementError
from treasury.statements.byte_stream import ByteSource
from treasury.statements.csv.csv_words import REGION_HEADERS
from treasury.statements.csv.profiles import plain
from treasury.statements.text_encoding import (
    REGIONS,
    Letters,
    plausible_readings,
    region_of,
    utf_16,
)

_CHUNK: Final = 1 << 18
_IN_MEMORY: Final = 16 << 20
_LONGEST_LINE: Final = 1 << 20
_MOST_NUL: Final = 1000
"""Minimum number of bytes of text for each zero byte; with more zeros the file is binary."""
_SAMPLE: Final = 60
"""Number of lines at the beginning that are searched for the account and the headers."""
_IBAN: Final = re.compile(r"(?<![A-Z0-9])[A-Z]{2}\d\d[A-Z0-9]{11,30}(?![A-Z0-9])")
_PARTS: Final = re.compile(r"[;,\t|]")
_MOST_WORDS: Final = 1000
_WORD: Final = re.compile(rb"[A-Za-z]*[\x80-\xff][A-Za-z\x80-\xff]*")
_DO: Final = "export it from the bank again; the file was not stored"


class CsvRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the file: its cells, its text as written, and the number of its first line."""

    cells: list[str]
    raw: str
    line: int


class CsvText:
    """The text of a file in `encoding`; `has_nul` is true for a binary file.

    `readings` maps each plausible single-byte encoding to the words that differ in the other
    encodings; it is empty for a file in UTF-8 or UTF-16.
    """

    def __init__(self, source: ByteSource, file_name: str, kept: IO[bytes]) -> None:
        self.encoding = ""
        self.readings: dict[str, tuple[str, ...]] = {}
        self._nul_count = self._size = 0
        self._file_name = file_name
        self._kept = kept
        self._keep(source)

    @classmethod
    @contextmanager
    def opened(cls, source: ByteSource, file_name: str) -> Iterator[Self]:
        """Read a source to its end, and yield its text, which is lost when the context ends."""
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as kept:
            yield cls(source, file_name, kept)

    @property
    def has_nul(self) -> bool:
        """Return whether the file is binary; a few zero bytes in a text are removed instead."""
        return not self.encoding.startswith("utf-16") and self._nul_count * _MOST_NUL > self._size

    def lines(self) -> Iterator[str]:
        """Yield the lines from the start. Raises StatementError for a line that is too long."""
        self._kept.seek(0)
        byte_decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        decoder = io.IncrementalNewlineDecoder(byte_decoder, translate=True)
        unfinished = ""
        while chunk := self._kept.read(_CHUNK):
            *lines, unfinished = (unfinished + decoder.decode(chunk).replace("\0", "")).split("\n")
            for line in lines:
                yield f"{line}\n"
            if len(unfinished) > _LONGEST_LINE:
                raise StatementError(
                    f"{self._file_name}: a line of more than {_LONGEST_LINE >> 20} MB", do=_DO
                )
        if unfinished := unfinished + decoder.decode(b"", final=True):
            yield unfinished

    def rows(self, delimiter: str) -> Iterator[CsvRow]:
        """Yield the rows of the file, from its first line on."""
        return rows_of(self.lines(), delimiter, self._file_name)

    def bank_regions(self, account: str) -> set[str]:
        """Return the parts of Europe in which the bank of the file may be.

        The countries of these IBANs decide: `account` (an IBAN, or empty), and any IBAN in more
        than half of the first lines, which is the account's own. If they give no region, the
        headers decide, as read in each plausible encoding.
        """
        lines = list(islice(self.lines(), _SAMPLE))
        ibans = Counter(iban for line in lines for iban in set(_IBAN.findall(line)))
        own = [iban for iban, count in ibans.items() if 2 * count > len(lines)]
        regions = {region_of(iban) for iban in (account, *own)} - {""}
        if regions:
            return regions
        usual = self.encoding
        for name in self.readings:
            self.encoding = name
            head = islice(self.lines(), _SAMPLE)
            words = {plain(part) for line in head for part in _PARTS.split(line)}
            if words & REGION_HEADERS[REGIONS[name]]:
                regions.add(REGIONS[name])
        self.encoding = usual
        return regions

    def _keep(self, source: ByteSource) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        is_utf8 = True
        letters = Letters()
        first = b""
        while chunk := source.read(_CHUNK):
            if not first:
                first = chunk
                self.encoding = utf_16(first)
            self._kept.write(chunk)
            self._nul_count += chunk.count(b"\0")
            self._size += len(chunk)
            letters.add(chunk)
            is_utf8 = is_utf8 and _decodes(decoder, chunk, final=False)
        is_utf8 = is_utf8 and _decodes(decoder, b"", final=True)
        self.encoding = self.encoding or ("utf-8-sig" if is_utf8 else letters.encoding)
        if not self.encoding.startswith("utf"):
            words: dict[bytes, None] = {}
            self._kept.seek(0)
            while len(words) < _MOST_WORDS and self._kept.tell() < min(self._size, _IN_MEMORY):
                chunk = self._kept.read(_CHUNK) + self._kept.readline(_CHUNK)
                words |= dict.fromkeys(_WORD.findall(chunk))
            # A currency in the text is better evidence of the language than its spelling.
            sample = [] if letters.is_hinted else list(words)[:_MOST_WORDS]
            self.readings = plausible_readings(sample, self.encoding)
            self.encoding = next(iter(self.readings))


def _decodes(decoder: codecs.IncrementalDecoder, data: bytes, *, final: bool) -> bool:
    try:
        decoder.decode(data, final)
    except UnicodeDecodeError:
        return False
    return True


def rows_of(lines: Iterator[str], delimiter: str, file_name: str) -> Iterator[CsvRow]:
    """Yield the rows in lines of text; a quoted cell may span several lines.

    Raises StatementError if a quote is still open at the end: its cell would have swallowed rows.
    """
    consumed: list[str] = []
    ended = False

    def consumed_lines() -> Iterator[str]:
        nonlocal ended
        for line in lines:
            consumed.append(line)
            yield line
        ended = True
        yield "\n"  # After a blank line the parser starts a new row, unless a quoted cell is open.

    reader = csv.reader(consumed_lines(), delimiter=delimiter)
    before = 0
    try:
        for cells in reader:
            if ended and not cells:
                return
            if ended:
                reason = f"{file_name} line {before + 1}: a quote that begins there is not closed"
                raise StatementError(reason, do=_DO)
            yield CsvRow(cells, "".join(consumed).rstrip("\n"), before + 1)
            before = reader.line_num
            consumed.clear()
    except csv.Error as error:
        raise StatementError(
            f"{file_name} line {reader.line_num}: not a CSV file ({error})", do=_DO
        ) from None
