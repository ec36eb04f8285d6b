"""Read bank files into Arrow tables: from paths, folders, globs, archives and standard input.

Reading stores nothing. A file is read as a whole or refused with one error that names it.
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
    """Files read together. `skipped` names those in folders and archives that are not statements.

    `refused` has the error of each refused file, if reading continued with the others.
    """

    files: tuple[StatementFile, ...]
    skipped: tuple[Problem, ...] = ()
    refused: tuple[StatementError, ...] = ()

    @property
    def statements(self) -> AnswerTable:
        """All statements, in the columns of the table `statements` and `raw`."""
        return _joined(STATEMENTS, (file.statements for file in self.files))

    @property
    def entries(self) -> AnswerTable:
        """All entries, in the columns of the table `statement_entries` and `raw`."""
        return _joined(STATEMENT_ENTRIES, (file.entries for file in self.files))

    @property
    def statuses(self) -> AnswerTable:
        """Return the answers to payment files, in the columns of `payment_statuses` and `raw`."""
        return _joined(PAYMENT_STATUSES, (file.statuses for file in self.files))

    @property
    def lost_count(self) -> int:
        """Return the number of entries in all files that could not be read."""
        return sum(file.lost_count for file in self.files)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Return the notes for people, file by file."""
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
    """Read bank files of any format from files, folders, globs, archives and `-`.

    `profiles` are CSV profiles, tried before the built-in ones; `account` is used for files that
    name none; `currencies` maps each account to its only currency, or to an empty text, for files
    that state none. Large files are shared among `workers` processes, by default one for each core.
    Raises StatementError if a file is refused; with `go_on` the other files are read all the same.
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
    """Yield the entries of one file of any size in batches of some thousands.

    Rows may be yielded before the file proves to be broken: only after the last batch is it known
    to be complete. Twins are not marked. Raises StatementError with the reason for a broken file.
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
