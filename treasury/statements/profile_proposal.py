"""Proposal of a profile for the CSV of an unknown bank, derived from one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.errors import StatementError
from treasury.core.tables.result_tables import Tables
from treasury.core.text import clean
from treasury.statements.bank_file import FileTerms, open_file
from treasury.statements.csv.csv_file import CsvFile
from treasury.statements.csv.csv_layout import SAMPLE, CsvQuestion, samples
from treasury.statements.csv.csv_text import CsvRow, CsvText
from treasury.statements.csv.csv_values import cell
from treasury.statements.csv.profiles import Profile
from treasury.statements.entry_rows import Problem, statement_table
from treasury.statements.file_sources import documents
from treasury.statements.statement_tables import STATEMENT_ENTRIES

_EXAMPLE_ROWS: Final = 3
_LONGEST: Final = 40


class Proposal(Tables, msgspec.Struct, frozen=True):
    """A profile for a CSV file, and the rows that are read from the file with it.

    While a question is open there are no rows, and the profile must not be saved.
    """

    profile: Profile
    is_known: bool
    statements: pa.Table
    entries: pa.Table
    problems: tuple[Problem, ...]
    questions: tuple[CsvQuestion, ...] = ()
    """Questions that are still open."""
    unused: tuple[tuple[str, str], ...] = ()
    """Header and first value of each column that the profile leaves out."""


def propose_profile(
    path: Path,
    name: str = "",
    *,
    account: str | None = None,
    answers: Mapping[str, str] | None = None,
) -> Proposal:
    """Return the known profile that fits a CSV file, or propose a new one.

    Parameters
    ----------
    path
        One CSV file of the bank.
    name
        Name of a new profile.
    account
        IBAN or account number for a file that names none.
    answers
        Map from the name of a question to the answer; an answer may open a further question.

    Returns
    -------
    Proposal
        The profile, the open questions, and the rows that it reads.

    Raises
    ------
    StatementError
        If the path is not one CSV file, or has no day column or no amount column.
    InputError
        If an answer is unknown.

    Examples
    --------
    >>> propose_profile(Path("bank.csv"), answers={"days": "dmy"}).questions
    """
    files = list(documents([path]))
    if len(files) != 1:
        raise StatementError(f"{path}: not one file", do="give one CSV file")
    with files[0].open() as source:
        file = open_file(source, files[0].name, FileTerms(account=account, answers=answers or {}))
        if not isinstance(file, CsvFile):
            raise StatementError(
                f"{files[0].name}: not a CSV; only a CSV needs a profile",
                do=f"read it without a profile: treasury statements read {files[0].name}",
            )
        batches = list(file.batches())
    layout = file.layout
    assert layout is not None
    profile = layout.profile
    if layout.is_proposed:
        profile = msgspec.structs.replace(profile, name=name or path.stem, **file.found())
    return Proposal(
        profile,
        not layout.is_proposed,
        statement_table(file.statements),
        pa.Table.from_batches(batches, schema=STATEMENT_ENTRIES.row_schema),
        tuple(file.problems),
        file.questions,
        layout.unused,
    )


def sketch_profile(path: Path) -> str:
    """Return a template of a TOML profile for a CSV with unrecognised days and amounts.

    Comments in the template list the columns with their numbers and first values. Raises
    StatementError if the file has no table.
    """
    (document, *_) = documents([path])
    with document.open() as source, CsvText.opened(source, document.name) as text:
        tables = [rows for _, rows in samples(list(islice(text.lines(), SAMPLE)), document.name)]
    widest = max(tables, key=_width, default=[])
    count = _width(widest)
    if count < _EXAMPLE_ROWS:
        raise StatementError(
            f"{document.name}: no table with columns in it",
            do="give the bank's CSV export, not another kind of file",
        )
    examples = [row for row in widest if len(row.cells) >= _EXAMPLE_ROWS][:_EXAMPLE_ROWS]
    columns = (
        f"#   #{place + 1}: "
        + " | ".join(
            clean(cell("".join(row.cells[place : place + 1])))[:_LONGEST] for row in examples
        )
        for place in range(count)
    )
    return "\n".join((_SKETCH.format(name=document.name), *columns))


_SKETCH: Final = """\
# The day and amount columns in {name} are not recognised. Name them below: a header as the file has
# it or, without headers, #1 for the first column; then keep this as a file in the workspace's
# folder profiles, or read with --profile.
name = "my bank"
needs = []                 # headers that only this bank's files have together
day_order = "dmy"          # dmy, mdy or ymd
# shape = "dta"            # without headers: d day, a amount, t text, * anything, one letter per
# cell

[columns]
booking_date = []
amount = []                # signed; or debit and credit, or amount and sign
balance = []
text = []

# The columns and their first values:"""


def _width(rows: Sequence[CsvRow]) -> int:
    return max((len(row.cells) for row in rows), default=0)
