"""Read bank files into Arrow tables: from paths, folders, globs, archives and standard input.

The lake is not changed. A broken file is refused with one error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa

from treasury.core.errors import StatementError
from treasury.core.tables.table import Table as AnswerTable
from treasury.lake import Table
from treasury.statements.bank_file import (
    FileTerms,
    StatementFile,
    open_file,
    read_document,
    with_twins,
)
from treasury.statements.csv.profiles import Profile
from treasury.statements.entry_rows import Problem
from treasury.statements.file_sources import documents
from treasury.statements.pain.status_tables import PAYMENT_STATUSES
from treasury.statements.parallel_reading import read_in_processes
from treasury.statements.statement_tables import STATEMENT_ENTRIES, STATEMENTS


class Reading(msgspec.Struct, frozen=True):
    """The files of one call. `skipped` has notes on files in folders that are not statements.

    `refused` has the errors of refused files if the others were read all the same.
    """

    files: tuple[StatementFile, ...]
    skipped: tuple[Problem, ...] = ()
    refused: tuple[StatementError, ...] = ()

    @property
    def statements(self) -> AnswerTable:
        """Return all statements with the columns of the table `statements` and `raw`."""
        return _joined(STATEMENTS, (file.statements for file in self.files))

    @property
    def entries(self) -> AnswerTable:
        """Return all entries with the columns of the table `statement_entries` and `raw`."""
        return _joined(STATEMENT_ENTRIES, (file.entries for file in self.files))

    @property
    def statuses(self) -> AnswerTable:
        """Return the answers to payment files with the columns of `payment_statuses` and `raw`."""
        return _joined(PAYMENT_STATUSES, (file.statuses for file in self.files))

    @property
    def lost_count(self) -> int:
        """Return the number of entries that could not be read, in all files together."""
        return sum(file.lost_count for file in self.files)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the notes for people, file by file, then those on skipped files."""
        return (*(problem for file in self.files for problem in file.problems), *self.skipped)


def _joined(table: Table, parts: Iterable[pa.Table | None]) -> AnswerTable:
    rows = pa.concat_tables([table.row_schema.empty_table(), *filter(None, parts)])
    return AnswerTable(rows, title=table.title, as_stored=True)


def read_statements(
    paths: Iterable[Path | str],
    *,
    profiles: Sequence[Profile] = (),
    account: str | None = None,
    currencies: Mapping[str, str] | None = None,
    workers: int | None = None,
    go_on: bool = False,
) -> Reading:
    """Read bank files of any format without storing them.

    Parameters
    ----------
    paths
        Files, folders, globs and archives; `-` is standard input.
    profiles
        CSV profiles, tried before the built-in ones.
    account
        IBAN or account number for files that name none.
    currencies
        Map from an account to its only currency, or to an empty text, for files that state none.
    workers
        Number of processes that share large files; one for each core by default.
    go_on
        Read the other files if one is refused; the errors are in `refused` of the result.

    Returns
    -------
    Reading
        Tables of statements, entries and payment statuses; amounts are decimals in the currency of
        their row.

    Raises
    ------
    StatementError
        If a file is refused, without `go_on`.

    Examples
    --------
    >>> reading = read_statements(["october.xml", "exports/"])
    >>> len(reading.entries)
    """
    refused: list[StatementError] = []
    terms = FileTerms(tuple(profiles), account, currencies or {})
    files = list(
        read_in_processes(documents(paths), terms, workers, refused=refused if go_on else None)
    )
    return Reading(
        tuple(with_twins(file) for file in files if isinstance(file, StatementFile)),
        tuple(file for file in files if isinstance(file, Problem)),
        tuple(refused),
    )


def read_batches(
    path: Path, *, profiles: Sequence[Profile] = (), account: str | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield one file's entries in batches of about a thousand rows, for files of any size.

    Rows may be yielded before a fault is found: only after the last batch is the file known to be
    complete. `is_twin` is not set.

    Parameters
    ----------
    path
        The file, or an archive with it.
    profiles
        CSV profiles, tried before the built-in ones.
    account
        IBAN or account number for a file that names none.

    Yields
    ------
    pyarrow.RecordBatch
        Rows with the columns of the table `statement_entries` and `raw`.

    Raises
    ------
    StatementError
        With the reason, if the file is broken or not a bank statement.

    Examples
    --------
    >>> rows = sum(batch.num_rows for batch in read_batches(Path("year.xml")))
    """
    terms = FileTerms(tuple(profiles), account)
    for document in documents([path]):
        with document.open() as source:
            yield from open_file(source, document.name, terms).batches()


def read_file(
    path: Path, *, profiles: Sequence[Profile] = (), account: str | None = None
) -> StatementFile:
    """Read one file of bank statements. Raises StatementError with the reason if it is refused."""
    if path.is_dir():
        raise StatementError(f"{path}: a directory, not a file", do="use read_statements for it")
    several = list(documents([path]))
    if len(several) != 1:
        raise StatementError(
            f"{path}: an archive of {len(several)} files", do="use read_statements for it"
        )
    return with_twins(read_document(several[0], FileTerms(tuple(profiles), account)))
