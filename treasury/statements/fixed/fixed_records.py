"""What files of records of a fixed width share: lines in, rows out, statements at their end.

CODA and CFONB 120 are such formats. A reader takes a line at a time and gives the rows that are
complete by then, so that no more than an entry with its details is held.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final, Literal

import msgspec
import pyarrow as pa

from treasury.errors import InputError, StatementError
from treasury.statements.byte_stream import ByteSource, Stream
from treasury.statements.entry_identity import Ordinals
from treasury.statements.entry_rows import EntryRow, Problem, StatementRow, entry_batch
from treasury.statements.mt.mt_text import MtText
from treasury.statements.statement_draft import MOST_PROBLEMS, StatementDraft, check_number

__all__ = ["FixedFile", "FixedRecord", "set_parties", "six_digit_day"]

_BATCH: Final = 1024
_CENTURY: Final = 80
"""Two digits of a year from here on are of the 1900s."""


class FixedRecord(msgspec.Struct, frozen=True):
    """A line of the file and its number; slices of it are the fields."""

    text: str
    line: int

    def field(self, start: int, end: int) -> str:
        """The text of a field without the blanks around it."""
        return self.text[start:end].strip()


class FixedFile:
    """One file being read: exhaust `batches()`, then `statements`, `problems`, `format` hold.

    A format says what a line means (`take`) and what the end of the file leaves (`close`).
    StatementError where the file is refused as a whole; an entry that cannot be read is a problem
    and keeps its statement from being proved.
    """

    format: str
    width: int

    def __init__(self, source: ByteSource, file_name: str) -> None:
        self.file_name = file_name
        self.statements: tuple[StatementRow, ...] = ()
        self.problems: list[Problem] = []
        self.lost_count = 0
        self.ids = Ordinals()
        self._source = source if isinstance(source, Stream) else Stream(source)
        self._done: list[StatementRow] = []

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, once they are all read."""
        return self._source.sha256

    def take(self, record: FixedRecord) -> Iterator[EntryRow]:
        """The rows that are complete with this line."""
        raise NotImplementedError

    def close(self) -> Iterator[EntryRow]:
        """The rows that are complete with the end of the file."""
        raise NotImplementedError

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of `statement_entries`, some thousands at a time, in the file's order."""
        text = MtText(self._source, self.file_name)
        rows: list[EntryRow] = []
        for record in _records(text):
            rows.extend(self.take(record))
            if len(rows) >= _BATCH:
                yield entry_batch(rows)
                rows = []
        rows.extend(self.close())
        if rows:
            yield entry_batch(rows)
        if text.odd_lines:
            note = f"{text.odd_lines} lines are not UTF-8; read as {text.encoding.title()}"
            self.problems.append(Problem(self.file_name, "", note))
        if not self._done:
            self.problems.append(Problem(self.file_name, "", "there is no statement in the file"))
        self.statements = tuple(
            msgspec.structs.replace(row, file_sha256=self.sha256) for row in self._done
        )

    def finish(self, draft: StatementDraft, raw: str) -> None:
        """A statement is complete; `raw` is what of it stands outside its entries."""
        self._done.append(draft.finish(raw))
        self.lost_count += draft.lost_count
        self.problems += draft.problems[: max(0, MOST_PROBLEMS - len(self.problems))]
        check_number(len(self._done), self.file_name)

    def refused(self, record: FixedRecord, why: str) -> StatementError:
        """What is wrong with the file as a whole."""
        return StatementError(
            f"{self.file_name} line {record.line}: {why}",
            do="fetch the file from the bank again; nothing of it was stored",
        )


def _records(text: MtText) -> Iterator[FixedRecord]:
    number, unfinished = 0, ""
    for part in text:
        *lines, unfinished = (unfinished + part).split("\n")
        for line in lines:
            number += 1
            if line.strip():
                yield FixedRecord(line, number)
    if unfinished.strip():
        yield FixedRecord(unfinished, number + 1)


def six_digit_day(text: str) -> date | None:
    """The day in DDMMYY; None for zeros or blanks. InputError for what is no day."""
    if not text.strip("0 "):
        return None
    try:
        day, month, year = int(text[:2]), int(text[2:4]), int(text[4:6])
        return date(year + (1900 if year >= _CENTURY else 2000), month, day)
    except ValueError:
        raise InputError(f"{text!r} is not a date") from None


def set_parties(entry: EntryRow) -> None:
    """Let the counterparty be the one who pays a credit, or who is paid by a debit."""
    side: Literal["debtor", "creditor"] = "debtor" if entry.direction == "CRDT" else "creditor"
    for part in ("name", "account", "agent"):
        setattr(entry, f"{side}_{part}", getattr(entry, f"counterparty_{part}"))
