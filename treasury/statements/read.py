"""Bank files in, Arrow out: the format is recognised from what the file holds, not from its name.

Nothing is stored here. A file is read whole or refused whole, with one error that names it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pyarrow as pa

from treasury.errors import StatementError
from treasury.statements.camt import CamtFile
from treasury.statements.rows import Problem, statement_table
from treasury.statements.tables import STATEMENT_ENTRIES

__all__ = ["Reading", "StatementFile", "read_file", "read_statements"]


class StatementFile(msgspec.Struct, frozen=True):
    """A file as read: its statements, their entries, and what a person should know about it."""

    name: str
    sha256: str
    format: str
    statements: pa.Table
    entries: pa.Table
    problems: tuple[Problem, ...]


class Reading(msgspec.Struct, frozen=True):
    """Files read together."""

    files: tuple[StatementFile, ...]

    @property
    def statements(self) -> pa.Table:
        """All statements, in the columns of the table `statements` and `raw`."""
        return pa.concat_tables([statement_table([]), *(file.statements for file in self.files)])

    @property
    def entries(self) -> pa.Table:
        """All entries, in the columns of the table `statement_entries` and `raw`."""
        empty = STATEMENT_ENTRIES.row_schema.empty_table()
        return pa.concat_tables([empty, *(file.entries for file in self.files)])

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What a person should know, file by file."""
        return tuple(problem for file in self.files for problem in file.problems)


def read_statements(paths: Iterable[Path | str]) -> Reading:
    """Read files of bank statements (camt.052, .053, .054); StatementError if one is refused."""
    return Reading(tuple(read_file(Path(path)) for path in paths))


def read_file(path: Path) -> StatementFile:
    """Read one file of bank statements; StatementError says what is wrong with it."""
    try:
        with path.open("rb") as source:
            camt = CamtFile(source, path.name)
            batches = list(camt.batches())
    except OSError as error:
        raise StatementError(
            f"{path}: {error.strerror or 'cannot be read'}", do="check the path of the file"
        ) from None
    return StatementFile(
        name=path.name,
        sha256=camt.sha256,
        format=camt.format,
        statements=statement_table(camt.statements),
        entries=pa.Table.from_batches(batches, schema=STATEMENT_ENTRIES.row_schema),
        problems=tuple(camt.problems),
    )
