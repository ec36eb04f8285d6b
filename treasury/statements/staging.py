"""Rows on their way to the lake, kept on disk: adding holds an index of them, never the rows.

The index has what decides which movement a row is; the rows themselves are read again, a batch at a
time, when it is known which of them are to be written.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Final, Self

import pyarrow as pa

from treasury.lake import BOOL, DATE, TEXT
from treasury.statements.arrow import column
from treasury.statements.files import with_twins
from treasury.statements.tables import STATEMENT_ENTRIES

__all__ = ["INDEX", "RAW_HASH", "Staging"]

INDEX: Final = pa.schema(
    [
        ("entry_id", TEXT), ("statement_id", TEXT), ("entry_status", TEXT), ("booking_date", DATE),
        ("is_twin", BOOL), ("raw", TEXT),
    ]
)  # fmt: skip
"""What says which movement a row is; `raw` is a hash of what the bank sent."""

RAW_HASH: Final = "md5(raw)"
"""The same hash of a stored row, in SQL; it only tells whether a text is the same as before."""


class Staging:
    """A file of rows; `indexes` has a table for each bank file, in the order of the rows."""

    def __init__(self) -> None:
        self.indexes: list[pa.Table] = []
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._path = Path(self._folder.name) / "rows.arrow"
        self._sink = pa.OSFile(str(self._path), "wb")
        self._writer = pa.ipc.new_stream(self._sink, STATEMENT_ENTRIES.row_schema)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._folder.cleanup()

    def _end(self) -> None:
        if not self._sink.closed:
            self._writer.close()
            self._sink.close()

    def add(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Keep the rows of one bank file."""
        slim: list[pa.RecordBatch] = []
        for batch in batches:
            self._writer.write_batch(batch)
            slim.append(_indexed(batch))
        self.indexes.append(with_twins(pa.Table.from_batches(slim, INDEX)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows again, in the order in which they came; nothing can be added after."""
        self._end()
        with pa.OSFile(str(self._path), "rb") as source, pa.ipc.open_stream(source) as reader:
            yield from reader


def _indexed(batch: pa.RecordBatch) -> pa.RecordBatch:
    raws = batch["raw"].cast(pa.binary()).to_pylist()
    hashes = [md5(raw, usedforsecurity=False).hexdigest() for raw in raws]
    slim = batch.select(INDEX.names)
    return slim.set_column(slim.schema.get_field_index("raw"), "raw", column(hashes, TEXT))
