"""Reading of one bank file into Arrow tables; the format is recognised by the content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.tables.column_types import BOOL
from treasury.core.tables.result_tables import Tables
from treasury.statements.byte_stream import ByteSource, Stream, UnknownFormat
from treasury.statements.camt.camt_file import CamtFile
from treasury.statements.csv.csv_file import CsvFile
from treasury.statements.csv.profiles import Profile
from treasury.statements.entry_rows import Problem, statement_table
from treasury.statements.file_sources import Document
from treasury.statements.fixed.cfonb import CfonbFile
from treasury.statements.fixed.coda import CodaFile
from treasury.statements.mt.mt_file import MtFile
from treasury.statements.mt.mt_tags import looks_like_mt
from treasury.statements.mt.mt_text import plain_head
from treasury.statements.pain.pain002 import StatusReportFile, looks_like_status_report
from treasury.statements.statement_draft import BankFile
from treasury.statements.statement_tables import STATEMENT_ENTRIES


class FileTerms(msgspec.Struct, frozen=True):
    """A company's settings for facts that a file may not state, such as the currency.

    `profiles` are CSV profiles, tried before the built-in ones. `account` is used for files that
    name no account. `currencies` maps each account to its only currency, or to an empty text, for
    files that state no currency. An account number contained in the IBAN of one of these accounts
    means that account. `answers` maps the names of questions about a CSV without a profile to their
    answers.
    """

    profiles: tuple[Profile, ...] = ()
    account: str | None = None
    currencies: Mapping[str, str] = {}
    answers: Mapping[str, str] = {}


class StatementFile(Tables, msgspec.Struct, frozen=True):
    """A file that was read: its statements, their entries, and notes for people."""

    name: str
    sha256: str
    format: str
    statements: pa.Table
    entries: pa.Table
    problems: tuple[Problem, ...]
    rows: str = ""
    """Path of the Arrow stream with the rows, if there are many; `entries` maps it into memory."""
    lost_count: int = 0
    """Number of entries that could not be read."""
    statuses: pa.Table | None = None
    """The rows of `payment_statuses` if the file is a payment status report."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the entries in batches; those of an Arrow stream on disk have no `is_twin` yet."""
        if not self.rows:
            yield from self.entries.to_batches()
            return
        with pa.OSFile(self.rows, "rb") as source, pa.ipc.open_stream(source) as reader:
            yield from reader


def read_document(
    document: Document, terms: FileTerms, *, rows: str = "", few: int = 16 << 20
) -> StatementFile:
    """Read a file from any source; `is_twin` is not set yet.

    If `rows` is a path, and more rows follow after the first `few` bytes, all rows are written to
    that path.
    """
    with document.open() as source:
        file = open_file(source, document.name, terms)
        batches = file.batches()
        schema, size = STATEMENT_ENTRIES.row_schema, 0
        first_batches: list[pa.RecordBatch] = []
        for batch in batches:
            first_batches.append(batch)
            size += batch.nbytes
            if rows and size > few:
                break
        following = next(batches, None)
        if following is not None:
            write_stream(chain(first_batches, (following,), batches), schema, rows)
    if following is None:
        rows, entries = "", pa.Table.from_batches(first_batches, schema=schema)
    else:
        entries = mapped(rows)
    problems, lost = list(file.problems), file.lost_count
    if lost:
        words = "1 entry is" if lost == 1 else f"{lost} entries are"
        problems.append(Problem(document.name, "", f"{words} not read"))
    return StatementFile(
        name=document.name,
        sha256=file.sha256,
        format=file.format,
        statements=statement_table(file.statements),
        entries=entries,
        problems=tuple(problems),
        rows=rows,
        lost_count=lost,
        statuses=file.status_table() if isinstance(file, StatusReportFile) else None,
    )


def write_stream(batches: Iterable[pa.RecordBatch], schema: pa.Schema, path: str) -> None:
    """Write rows to disk as an Arrow stream."""
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def mapped(path: str) -> pa.Table:
    """Return the rows of an Arrow stream on disk, mapped into memory."""
    with pa.memory_map(path) as source:
        return pa.ipc.open_stream(source).read_all()


_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = _BOM + b" \t\r\n\x0b\x0c"
_BLANK: Final = _SPACE + b"\xff\xfe\0\x1a"
_NOT_READ: Final = tuple(
    (name, re.compile(pattern, re.DOTALL))
    for name, pattern in (
        ("OFX", rb"\s*(?:OFXHEADER:|<\?OFX\b|<\?xml[^>]*>\s*(?:<\?OFX\b|<OFX>)|<OFX>)"),
        ("QIF", rb"\s*!(?:Type|Account|Option):"),
        ("BAI2", rb"01,[^,\r\n]*,[^,\r\n]*,\d{6},\d{0,4},"),
        ("AEB43 (Norma 43)", rb"11\d{18}\d{12}[12]\d{14}\d{3}"),
        ("PDF", rb"%PDF-"),
        ("an Excel workbook", rb"\xd0\xcf\x11\xe0"),
        ("PSD2 JSON", rb'\s*[{\[].{0,4000}"(?:transactions|booked|transactionAmount)"\s*:'),
        ("JSON", rb'\s*(?:\{\s*"|\[\s*[{\[])'),
    )
)
"""Formats that are recognised but not supported; the first pattern that matches a file wins."""


_NO_TERMS: Final = FileTerms()


def open_file(source: ByteSource, name: str, terms: FileTerms = _NO_TERMS) -> BankFile:
    """Return the reader for a stream of bytes, chosen by its first bytes.

    The reader holds one batch of entries in memory at a time. Raises UnknownFormat for an empty
    file or a format that is not supported; the reader raises it for unknown content.
    """
    stream = Stream(source)
    head = stream.head
    if not head.strip(_BLANK):
        emptiness = "the file is blank" if head else "an empty file"
        raise UnknownFormat(f"{name}: {emptiness}", do="fetch the file from the bank again")
    for format_name, begins in _NOT_READ:
        if begins.match(head.removeprefix(_BOM)):
            raise UnknownFormat(
                f"{name}: {format_name}, which is not read", do="ask the bank for camt.053 or MT940"
            )
    start = head.lstrip(_SPACE)[:16].replace(b"\0", b"").lstrip(b"\xff\xfe\xfe\xff" + _SPACE)
    if start.startswith(b"<"):
        if looks_like_status_report(head):
            return StatusReportFile(stream, name)
        return CamtFile(stream, name, terms.currencies)
    if looks_like_mt(head):
        return MtFile(stream, name, terms.currencies)
    first = plain_head(head).lstrip(_SPACE)
    if CodaFile.begins.match(first):
        return CodaFile(stream, name, terms.account, terms.currencies)
    if CfonbFile.begins.match(first):
        return CfonbFile(stream, name)
    return CsvFile(
        stream, name, terms.profiles, terms.account, terms.currencies, answers=terms.answers
    )


def with_twins(file: StatementFile) -> StatementFile:
    """Return the file with `is_twin` set for rows of one statement with equal content and day."""
    entries = file.entries
    if not entries.num_rows:
        return file
    # The ids of such rows differ only in the counter at the end.
    ids = entries["entry_id"].combine_chunks()
    content = pc.binary_slice(pc.cast(ids, pa.binary()), 0, _CONTENT_AND_DAY)
    keys = pc.binary_join_element_wise(pc.cast(entries["statement_id"], pa.binary()), content, b"")
    counts = pc.value_counts(keys)
    several = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if not len(several):
        return file
    place = entries.schema.get_field_index("is_twin")
    marked = entries.set_column(place, "is_twin", pc.is_in(keys, several).cast(BOOL))
    return msgspec.structs.replace(file, entries=marked)


_CONTENT_AND_DAY: Final = len("0" * 32 + ".2026-10-31")
