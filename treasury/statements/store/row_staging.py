"""Staging of incoming rows on disk, so that memory holds neither the rows nor an index.

The columns that identify a movement are inserted into a database with bounded memory, where they
are compared with stored rows (`written_rows`). Afterwards the rows to write are read from disk,
some megabytes at a time. A row is identified by its position among the rows of the call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import reduce
from hashlib import md5
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import StorageError
from treasury.core.tables.column_types import BOOL, DATE, INTEGER, TEXT
from treasury.statements.arrow_columns import column
from treasury.statements.statement_tables import STATEMENT_ENTRIES

_INDEX: Final = pa.schema(
    [
        ("place", INTEGER), ("file", INTEGER), ("entry_id", TEXT), ("statement_id", TEXT),
        ("entry_status", TEXT), ("booking_date", DATE), ("raw", TEXT), ("is_bare", BOOL),
        ("has_words", BOOL),
    ]
)  # fmt: skip
"""Columns that identify the movement of a row.

`raw` is a hash of the bank's text without spaces; `is_bare` marks a row without any text about the
payment, `has_words` a row with a text or a reference of the payer.
"""

_TEXTS: Final = ("end_to_end_id", "counterparty_name", "counterparty_account")
_TEXT_LISTS: Final = ("remittance", "structured_references")
WORDLESS: Final = " AND ".join(
    ("end_to_end_id IS NULL", *(f"len({name}) = 0" for name in _TEXT_LISTS))
)
"""SQL condition for a stored row without a text or a reference of the payer."""
BARE: Final = f"{WORDLESS} AND counterparty_name IS NULL AND counterparty_account IS NULL"
"""SQL condition for a stored row without any text about the payment."""

PART: Final = (
    "list_contains(inferred, 'amount') AND charges_amount IS NULL AND instructed_amount IS NULL"
    " AND NOT contains(position, '/')"
)
"""SQL condition for a sole detail whose amount differs from the entry's: its texts are partial."""

EXPORT_COLUMNS: Final = (
    "entry_id", "statement_id", "account", "currency", "booking_date", "direction", "amount",
    "entry_status", "account_servicer_reference", "balance_after", "counterparty_account",
    "counterparty_name", "end_to_end_id", "remittance", "structured_references",
)  # fmt: skip
"""Columns by which rows of CSV exports are compared."""

RAW_HASH: Final = "md5(translate(raw, e' \\t\\r\\n', ''))"
"""SQL expression of a stored row's text hash, to see whether the text is unchanged."""

_SPACES: Final = b" \t\r\n"
_AT_ONCE: Final = 4 << 20
"""Number of bytes of rows that are processed together."""
_MEMORY: Final = "64MB"
"""Memory limit of the database, which spills to disk beyond it."""


def _is_part(batch: pa.RecordBatch) -> pa.Array:
    """Return for incoming rows whether the condition `PART` holds."""
    states_whole = [
        pc.is_valid(batch["charges_amount"]),
        pc.is_valid(batch["instructed_amount"]),
        pc.match_substring(batch["position"], "/"),
        column(["amount" not in names for names in batch["inferred"].to_pylist()], BOOL),
    ]
    return pc.invert(reduce(pc.or_, states_whole))


class Staging(ExitStack):
    """The rows of a call in a file on disk, and their identifying columns in the table `came`."""

    def __init__(self) -> None:
        super().__init__()
        self.files = 0
        self.rows = 0
        self._held: list[pa.RecordBatch] = []
        self._holds = 0
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._folder = self.enter_context(folder)
        self._path = Path(self._folder) / "rows.arrow"
        self._sink = pa.OSFile(str(self._path), "wb")
        self._writer = pa.ipc.new_stream(self._sink, STATEMENT_ENTRIES.row_schema)
        database = duckdb.connect(
            config={
                "memory_limit": _MEMORY,
                "temp_directory": self._folder,
                "threads": "1",
                "preserve_insertion_order": "false",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "python_enable_replacements": "false",
            }
        )
        self._database = self.enter_context(database)
        self.callback(self._end)
        self._database.register("index", _INDEX.empty_table())
        self._database.execute("CREATE TABLE came AS FROM index")
        exports = STATEMENT_ENTRIES.row_schema.empty_table().select(list(EXPORT_COLUMNS))
        self._database.register("exports_schema", exports)
        self._database.execute(
            "CREATE TABLE export_rows AS SELECT 0::BIGINT AS file, 0::BIGINT AS place, *"
            " FROM exports_schema"
        )
        self._database.execute(
            "CREATE TABLE doubtful (file BIGINT, place BIGINT, entry_id VARCHAR);"
            "CREATE TABLE moved_rows"
            " (file BIGINT, place BIGINT, entry_id VARCHAR, booking_date DATE, known_date DATE)"
        )

    def _end(self) -> None:
        if not self._sink.closed:
            self._writer.close()
            self._sink.close()

    def add(self, batches: Iterable[pa.RecordBatch], *, is_export: bool = False) -> None:
        """Add the rows of the next bank file; files are numbered from 0.

        Rows of a CSV export are also added to the table `export_rows`.
        """
        for batch in batches:
            self._writer.write_batch(batch)
            places = column(range(self.rows, self.rows + batch.num_rows), INTEGER)
            files = column([self.files] * batch.num_rows, INTEGER)
            if is_export:
                rows = pa.Table.from_batches([batch.select(list(EXPORT_COLUMNS))])
                rows = rows.append_column("place", places).append_column("file", files)
                self.keep("export_rows", rows)
            raws = batch["raw"].cast(pa.binary()).to_pylist()
            hashes = [
                md5(raw.translate(None, _SPACES), usedforsecurity=False).hexdigest() for raw in raws
            ]
            is_part = _is_part(batch)
            missing = [pc.or_(is_part, pc.is_null(batch[name])) for name in _TEXTS]
            lengths = [pc.list_value_length(batch[name]) for name in _TEXT_LISTS]
            empty = [pc.or_(is_part, pc.equal(pc.fill_null(n, 0), 0)) for n in lengths]
            computed = {
                "place": places,
                "file": files,
                "raw": column(hashes, TEXT),
                "is_bare": reduce(pc.and_, (*missing, *empty)),
                "has_words": pc.invert(reduce(pc.and_, (missing[0], *empty))),
            }
            arrays = [computed[name] if name in computed else batch[name] for name in _INDEX.names]
            self._held.append(pa.RecordBatch.from_arrays(arrays, schema=_INDEX))
            self.rows += batch.num_rows
            # Slices of some columns would hold the whole batch in memory.
            self._holds += batch.nbytes
            if self._holds > _AT_ONCE:
                self._flush()
        self.files += 1

    def _flush(self) -> None:
        if self._held:
            self.keep("came", pa.Table.from_batches(self._held))
            self._held, self._holds = [], 0

    def keep(self, table: str, rows: pa.Table) -> None:
        """Insert rows into a table of the database; columns are matched by name."""
        self._database.register("held", rows)
        self._execute(f"INSERT INTO {table} BY NAME FROM held")
        self._database.unregister("held")

    def run(
        self, query: str, values: Mapping[str, object] | None = None
    ) -> duckdb.DuckDBPyConnection:
        """Run trusted SQL on the table `came` and the tables derived from it.

        Raises StorageError if disk or memory do not suffice.
        """
        self._flush()
        return self._execute(query, values)

    def _execute(
        self, query: str, values: Mapping[str, object] | None = None
    ) -> duckdb.DuckDBPyConnection:
        try:
            return self._database.execute(query, values)
        except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
            raise StorageError(
                f"comparing the rows failed in {self._folder}: {error}",
                do="free space on that disk, or set TMPDIR to a larger one, and add them again",
            ) from error

    def parts(self) -> Iterator[tuple[int, pa.Table]]:
        """Yield all rows from disk, some megabytes at a time, each part with its position."""
        self._end()
        place = size = 0
        batches: list[pa.RecordBatch] = []
        with pa.OSFile(str(self._path), "rb") as source, pa.ipc.open_stream(source) as reader:
            for batch in reader:
                batches.append(batch)
                size += batch.nbytes
                if size > _AT_ONCE:
                    part = pa.Table.from_batches(batches)
                    yield place, part
                    place, size, batches = place + part.num_rows, 0, []
        if batches:
            yield place, pa.Table.from_batches(batches)
