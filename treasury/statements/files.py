"""One bank file in, Arrow out: its format is recognised from what it holds, not from its name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.lake import BOOL
from treasury.statements.camt import CamtFile
from treasury.statements.csv_file import CsvFile
from treasury.statements.mt import MtFile
from treasury.statements.mt_tags import looks_like_mt
from treasury.statements.profiles import Profile
from treasury.statements.rows import Problem, StatementRow, statement_table
from treasury.statements.sources import Document
from treasury.statements.stream import Source, Stream
from treasury.statements.tables import STATEMENT_ENTRIES

__all__ = ["BankFile", "StatementFile", "open_file", "read_document", "with_twins"]


class BankFile(Protocol):
    """A file being read: exhaust `batches()`, then the rest holds."""

    @property
    def format(self) -> str:
        """camt.053, MT940, CSV and its profile."""

    @property
    def statements(self) -> Sequence[StatementRow]:
        """The statements' own rows."""

    @property
    def problems(self) -> Sequence[Problem]:
        """What a person should know."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The entries, some thousands at a time."""


class StatementFile(msgspec.Struct, frozen=True):
    """A file as read: its statements, their entries, and what a person should know about it."""

    name: str
    sha256: str
    format: str
    statements: pa.Table
    entries: pa.Table
    problems: tuple[Problem, ...]


def read_document(
    document: Document, *, profiles: Sequence[Profile] = (), account: str | None = None
) -> StatementFile:
    """Read a file wherever it comes from."""
    with document.open() as source:
        file = open_file(source, document.name, profiles=profiles, account=account)
        batches = list(file.batches())
    entries = pa.Table.from_batches(batches, schema=STATEMENT_ENTRIES.row_schema)
    return StatementFile(
        name=document.name,
        sha256=file.sha256,
        format=file.format,
        statements=statement_table(file.statements),
        entries=with_twins(entries),
        problems=tuple(file.problems),
    )


_SPACE: Final = b"\xef\xbb\xbf \t\r\n\x0b\x0c"


def open_file(
    source: Source, name: str, *, profiles: Sequence[Profile] = (), account: str | None = None
) -> BankFile:
    """The reader for a stream of bytes, chosen by how it begins.

    It holds no more of the file than a batch of entries at a time, for camt and MT. A reader of the
    whole refuses what is none of the formats.
    """
    stream = Stream(source)
    head = stream.head
    start = head.lstrip(_SPACE)[:16].replace(b"\0", b"").lstrip(b"\xff\xfe\xfe\xff" + _SPACE)
    if start.startswith(b"<") or not head.strip(_SPACE):
        return CamtFile(stream, name)
    if looks_like_mt(head):
        return MtFile(stream, name)
    return CsvFile(stream, name, profiles, account)


def with_twins(entries: pa.Table) -> pa.Table:
    """The entries with `is_twin` where another of the same statement has the same content and day.

    Their ids differ only in the counter at the end.
    """
    if not entries.num_rows:
        return entries
    ids = entries["entry_id"].combine_chunks()
    content = pc.binary_slice(pc.cast(ids, pa.binary()), 0, _CONTENT_AND_DAY)
    keys = pc.binary_join_element_wise(pc.cast(entries["statement_id"], pa.binary()), content, b"")
    counts = pc.value_counts(keys)
    several = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if not len(several):
        return entries
    place = entries.schema.get_field_index("is_twin")
    return entries.set_column(place, "is_twin", pc.is_in(keys, several).cast(BOOL))


_CONTENT_AND_DAY: Final = len("0" * 32 + ".2026-10-31")
