"""Base class of the readers of formats with fixed-width records, CODA and CFONB 120.

A reader gets one record at a time and yields the rows that are complete by then, so memory holds
one entry with its details. A record is a line, but files fetched by EBICS may lack line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from itertools import chain
from typing import Final, Literal

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError, StatementError
from treasury.statements.byte_stream import ByteSource
from treasury.statements.entry_rows import EntryRow, entry_batches
from treasury.statements.mt.mt_text import MtText
from treasury.statements.statement_draft import BankFile

_CENTURY: Final = 80
"""Two-digit years from this one on belong to the 1900s."""


class FixedRecord(msgspec.Struct, frozen=True):
    """A line of the file and its number; fields are slices of the line."""

    text: str
    line: int

    def field(self, start: int, end: int) -> str:
        """Return the text of a field without surrounding blanks."""
        return self.text[start:end].strip()

    def require_width(self, width: int) -> None:
        """Raise InputError unless the line has this number of characters."""
        if len(self.text) != width:
            count = len(self.text)
            raise InputError(f"line {self.line} has {count} characters instead of {width}")


class FixedFile(BankFile):
    """A file of records; a format implements `take` for each record and `close` for the end."""

    begins: re.Pattern[bytes]
    """Pattern of the first bytes of a file in the format."""
    width: int
    """Number of characters in a record."""
    most_records: int
    """Maximum number of records of one entry."""

    def __init__(self, source: ByteSource, file_name: str) -> None:
        super().__init__(source, file_name)
        self._entry: list[FixedRecord] = []

    def take(self, record: FixedRecord) -> Iterator[EntryRow]:
        """Read a record, and yield the rows that are complete by then."""
        raise NotImplementedError

    def close(self) -> Iterator[EntryRow]:
        """Yield the rows that are complete at the end of the file."""
        raise NotImplementedError

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `statement_entries` in batches, in the file's order."""
        text = MtText(self._source, self.file_name, whole_lines=False)
        taken = map(self.take, _records(text, self.width))
        yield from entry_batches(chain.from_iterable(chain(taken, [self.close()])))
        if text.odd_lines:
            self.note(f"{text.odd_lines} lines are not UTF-8; read as {text.encoding.title()}")
        self.end()

    def keep(self, record: FixedRecord) -> None:
        """Hold a record until its entry is complete."""
        self._entry.append(record)
        if len(self._entry) > self.most_records:
            raise self.refused(record, f"more than {self.most_records} records in one entry")

    def refused(self, record: FixedRecord, why: str) -> StatementError:
        """Return the error that refuses the whole file."""
        return StatementError(
            f"{self.file_name} line {record.line}: {why}",
            do="fetch the file from the bank again; the file was not stored",
        )


def _records(text: MtText, width: int) -> Iterator[FixedRecord]:
    """Yield the records, which are lines, or parts of a line if the file has no line ends."""
    number, unfinished, is_run = 0, "", False
    for part in chain(text, ["\n"]):
        # A file made for printing has a form feed at the start of each page.
        *lines, unfinished = (unfinished + part.replace("\f", "")).split("\n")
        for line in lines:
            is_run = is_run or len(line) >= 2 * width
            for record in _cut(line, width) if is_run else [line]:
                number += 1
                if record.strip():
                    yield FixedRecord(record[:width] + record[width:].rstrip(), number)
            is_run = False
        # Without line ends the line is the whole file, so it is split while it is read.
        is_run = is_run or len(unfinished) >= 2 * width
        whole = len(unfinished) // width * width if is_run else 0
        for record in _cut(unfinished[:whole], width):
            number += 1
            yield FixedRecord(record, number)
        unfinished = unfinished[whole:]


def _cut(run: str, width: int) -> list[str]:
    return [run[at : at + width] for at in range(0, len(run), width)]


def six_digit_day(text: str) -> date | None:
    """Return the day in the form DDMMYY; None for zeros or blanks. Raises InputError otherwise."""
    if not text.strip("0 "):
        return None
    try:
        day, month, year = int(text[:2]), int(text[2:4]), int(text[4:6])
        return date(year + (1900 if year >= _CENTURY else 2000), month, day)
    except ValueError:
        raise InputError(f"{text!r} is not a date") from None


def set_parties(entry: EntryRow) -> None:
    """Set the counterparty: the payer of a credit, the payee of a debit."""
    side: Literal["debtor", "creditor"] = "debtor" if entry.direction == "CRDT" else "creditor"
    for part in ("name", "account", "agent"):
        setattr(entry, f"{side}_{part}", getattr(entry, f"counterparty_{part}"))
