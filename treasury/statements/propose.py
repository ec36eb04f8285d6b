"""A profile for the CSV of a bank that is not known, worked out from one of its files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa

from treasury.errors import StatementError
from treasury.statements.csv_file import CsvFile
from treasury.statements.files import open_file
from treasury.statements.profiles import Profile
from treasury.statements.rows import Problem, statement_table
from treasury.statements.sources import documents
from treasury.statements.tables import STATEMENT_ENTRIES

__all__ = ["Proposal", "propose_profile"]


class Proposal(msgspec.Struct, frozen=True):
    """A profile, whether it is known already, and what it reads from the file it is made from."""

    profile: Profile
    is_known: bool
    statements: pa.Table
    entries: pa.Table
    problems: tuple[Problem, ...]


def propose_profile(path: Path, name: str = "", *, account: str | None = None) -> Proposal:
    """The profile that a CSV file has or seems to have; `name` is what to call a new one.

    StatementError where days and amounts cannot be told from the rest of its columns.
    """
    found = list(documents([path]))
    if len(found) != 1:
        raise StatementError(f"{path}: not one file", do="give one CSV file")
    with found[0].open() as source:
        file = open_file(source, found[0].name, account=account)
        if not isinstance(file, CsvFile):
            raise StatementError(
                f"{found[0].name}: not a CSV; only that needs a profile",
                do=f"read it as it is: treasury statements read {found[0].name}",
            )
        batches = list(file.batches())
    layout = file.layout
    assert layout is not None
    profile = layout.profile
    if layout.is_proposed:
        profile = msgspec.structs.replace(profile, name=name or path.stem, decimal=file.decimal)
    return Proposal(
        profile,
        not layout.is_proposed,
        statement_table(file.statements),
        pa.Table.from_batches(batches, schema=STATEMENT_ENTRIES.row_schema),
        tuple(file.problems),
    )
