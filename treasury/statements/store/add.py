"""Adding bank files to the lake, in one commit for all files of a call.

Adding is safe to repeat. A stored movement is only changed by a better version: booked instead of
pending, proved instead of not proved, or different content in a later statement
(`movement_identity`). The rows are staged on disk until all comparisons are done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import date, datetime
from pathlib import Path

import msgspec
import pyarrow as pa

from treasury.core.decoding import convert
from treasury.core.errors import StatementError
from treasury.core.tables.column_types import schema_of
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.text import safe_html
from treasury.lake import Lake, mark_of
from treasury.lake.writer import Writer
from treasury.statements.balance_proof import is_provable
from treasury.statements.bank_file import FileTerms, StatementFile
from treasury.statements.csv.csv_file import GUESSED
from treasury.statements.csv.profiles import FOLDER, load_profiles
from treasury.statements.entry_rows import Problem
from treasury.statements.field_values import Currencies, account_number, declared_currencies
from treasury.statements.file_sources import KeptInput, documents
from treasury.statements.pain.status_tables import PAYMENT_STATUSES
from treasury.statements.parallel_reading import read_in_processes
from treasury.statements.statement_tables import STATEMENT_ENTRIES, TABLES
from treasury.statements.store import statement_heads
from treasury.statements.store.row_staging import Staging
from treasury.statements.store.written_rows import (
    doubtful_rows,
    moved_days,
    versions_of,
    write_rows,
)


class AddedStatement(msgspec.Struct, frozen=True):
    """One statement of the added files, and whether it is new, known or changed."""

    state: statement_heads.State
    statement_id: str
    file_name: str
    account: str | None
    currency: str | None
    from_date: date | None
    to_date: date | None
    entry_count: int
    proved: bool
    proof: str
    source: str | None
    """`own_bank` or `provider_report`; None if the account is not declared."""


_MOST_NAMED = 5
_ADDED = schema_of(AddedStatement)
"""Columns of a report's statements as a table."""
_SHOWN_COLUMNS = ["state", "file_name", "from_date", "to_date", "entry_count", "proved", "proof"]
"""Names of the columns that a notebook shows."""


class AddReport(Tables, msgspec.Struct, frozen=True):
    """Result of adding files: their statements in order, counts of rows, and problems."""

    statements: tuple[AddedStatement, ...]
    entries_new: int
    entries_changed: int
    entries_known: int
    problems: tuple[Problem, ...]
    statuses_new: int = 0
    """Number of new statuses in payment status reports."""
    statuses_known: int = 0
    statuses_lost: int = 0
    answered: tuple[tuple[str, str, frozenset[str | None]], ...] = ()
    """For each payment status report, its file name and the ids of the payment file and batches."""

    def sheets(self) -> Mapping[str, Table]:
        """Return a row for each statement of the files."""
        rows = list(map(msgspec.structs.asdict, self.statements))
        return {"Statements": Table(pa.Table.from_pylist(rows, schema=_ADDED))}

    def _repr_html_(self) -> str:
        lines = "<br>".join(map(safe_html, str(self).splitlines()))
        table = self.sheets()["Statements"][_SHOWN_COLUMNS]._repr_html_()
        return f"<p class='tex2jax_ignore'>{lines}</p>{table}"

    @property
    def sql(self) -> str:
        """Return a SQL query for all stored statements."""
        return "SELECT * FROM statements ORDER BY account, closing_date, statement_id"

    @property
    def statements_new(self) -> int:
        """Return the number of statements that are new."""
        return sum(statement.state == "new" for statement in self.statements)

    @property
    def not_proved(self) -> tuple[AddedStatement, ...]:
        """Return the statements without a valid proof of their balances."""
        return tuple(statement for statement in self.statements if not statement.proved)

    @property
    def failed(self) -> tuple[AddedStatement, ...]:
        """Return the statements with a failed proof, which are not matched automatically."""
        return tuple(statement for statement in self.not_proved if is_provable(statement.proof))

    def __str__(self) -> str:
        """Return a summary, a line for each statement not proved and each problem, and a step."""
        proved = len(self.statements) - len(self.not_proved)
        has_statuses = bool(self.statuses_new or self.statuses_known or self.statuses_lost)
        first = (
            f"{len(self.statements)} statements ({self.statements_new} new, {proved} proved),"
            f" {self.entries_new:,} entries new, {self.entries_changed:,} changed,"
            f" {self.entries_known:,} known before"
        )
        unproved = (
            f"NOT {'PROVED' if statement in self.failed else 'PROVABLE'} {statement.file_name}:"
            f" {statement.proof}"
            for statement in self.not_proved
        )
        step = (
            f"{len(self.failed)} not proved, so not matched automatically: add the right file,"
            " or take it out with `treasury statements withdraw ID --reason …`"
        )
        heads = [first] if self.statements or not has_statuses else []
        if has_statuses:
            lost = f", {self.statuses_lost:,} not read" if self.statuses_lost else ""
            heads.append(
                f"{self.statuses_new:,} statuses of payment files new,"
                f" {self.statuses_known:,} known before{lost}"
            )
        return "\n".join(
            (*heads, *unproved, *map(str, self.problems), *([step] if self.failed else []))
        )


def add_statements(
    lake: Lake,
    paths: Iterable[Path | str],
    now: datetime,
    *,
    declared: Mapping[str, str],
    currencies: Currencies | None = None,
    account: str | None = None,
    kept_input: KeptInput | None = None,
) -> AddReport:
    """Read bank statement files and add the new statements and movements in one commit.

    `declared` maps each account of the company to `own_bank` or `provider_report`, `currencies`
    to its currencies; a single currency is used if a file states none. `account` is used for files
    that name none; `kept_input` is the content of `-`. CSV profiles of the workspace's folder
    `profiles` are used too. Raises StatementError if a file is refused: then no file is stored.
    Raises WorkspaceLocked while another process writes.
    """
    declared_in = currencies or {}
    only_currencies = declared_currencies(declared, declared_in)
    terms = FileTerms(load_profiles(lake.folder.parent / FOLDER), account, only_currencies)
    # If a file is refused, closing the reading removes its temporary folder at once.
    reading_files = closing(read_in_processes(documents(paths, kept_input), terms, None))
    with Staging() as staging, reading_files as reading:
        files, skipped = _staged(staging, reading)
        if not files:
            raise StatementError(
                "the given files contain no bank statement",
                do="; ".join(map(str, skipped[:_MOST_NAMED])) or "name the bank's files",
            )
        tables = [file.statements for file in files]
        statements = pa.concat_tables(tables)
        with lake.writer("statements", now) as writer:
            versions = versions_of(writer.base, staging, tables)
            heads = statement_heads.heads_of(writer, tables, declared_in, versions)
            new, changed = write_rows(writer, staging, heads, statements)
            doubtful, moved = doubtful_rows(staging), moved_days(staging)
            statement_heads.write_heads(writer, statements, heads)
            statuses_new, statuses_known = _write_statuses(writer, files)
            # If a repair could not recover rows of these statements, they are no longer missing.
            writer.refetch -= {
                mark_of(table.name, key) for table in TABLES for key in heads.came.states
            }
        rows = staging.rows
    sources = {account_number(number): source for number, source in declared.items()}
    listed = convert(
        [{**row, "source": sources.get(str(row["account"]))} for row in heads.listed],
        tuple[AddedStatement, ...],
    )
    strangers = {s.account: s.file_name for s in listed if s.source is None and s.account}
    return AddReport(
        statements=listed,
        entries_new=new,
        entries_changed=changed,
        entries_known=max(rows - new - changed, 0),
        problems=(
            *(problem for file in files for problem in file.problems),
            *skipped,
            *(
                Problem(name, "", f"account {account} is not declared; add it to [[accounts]]")
                for account, name in strangers.items()
            ),
            *_in_doubt(heads),
            *(_alike_problem(files[number].name, days) for number, days in doubtful.items()),
            *(_moved_problem(files[number].name, days) for number, days in moved.items()),
        ),
        statuses_new=statuses_new,
        statuses_known=statuses_known,
        statuses_lost=sum(file.lost_count for file in files if file.statuses is not None),
        answered=tuple(
            (file.name, message, frozenset(file.statuses["original_batch_id"].to_pylist()))
            for file in files
            if file.statuses is not None
            for message in file.statuses["original_message_id"].unique().to_pylist()
        ),
    )


def _alike_problem(file_name: str, days: Sequence[date]) -> Problem:
    count = "1 movement has" if len(days) == 1 else f"{len(days)} movements have"
    named = ", ".join(map(str, days[:_MOST_NAMED])) + (" ..." if len(days) > _MOST_NAMED else "")
    what = (
        f"{count} the same amount as one known from another export, but different words or a"
        f" different day ({named}): if they are the same, withdraw one of the two statements;"
        " until then a person matches them"
    )
    return Problem(file_name, "", what)


def _moved_problem(file_name: str, days: Sequence[tuple[date, date]]) -> Problem:
    count = "1 movement is" if len(days) == 1 else f"{len(days)} movements are"
    named = ", ".join(f"{day}, known on {known_day}" for day, known_day in days[:_MOST_NAMED])
    more = " ..." if len(days) > _MOST_NAMED else ""
    what = (
        f"{count} known from another export on another day, as the balances show ({named}{more});"
        " the known day stays unless that statement is withdrawn"
    )
    return Problem(file_name, "", what)


def _write_statuses(writer: Writer, files: Iterable[StatementFile]) -> tuple[int, int]:
    """Store the banks' answers to payment files; return the numbers of new and of known ones."""
    reports = [file.statuses for file in files if file.statuses is not None]
    if not reports:
        return 0, 0
    known = set(writer.read(PAYMENT_STATUSES, columns=["status_id"])["status_id"].to_pylist())
    statuses = pa.concat_tables(reports)
    is_new = []
    for status_id in statuses["status_id"].to_pylist():
        is_new.append(status_id not in known)
        known.add(status_id)
    new = statuses.filter(pa.array(is_new, pa.bool_()))
    writer.upsert(PAYMENT_STATUSES, new)
    return new.num_rows, statuses.num_rows - new.num_rows


def _staged(
    staging: Staging, reading: Iterable[StatementFile | Problem]
) -> tuple[list[StatementFile], list[Problem]]:
    """Stage the rows of the files; return the files without rows, and notes on other files.

    Raises StatementError for a CSV without a profile.
    """
    files: list[StatementFile] = []
    skipped: list[Problem] = []
    nothing = STATEMENT_ENTRIES.row_schema.empty_table()
    for file in reading:
        if isinstance(file, Problem):
            skipped.append(file)
            continue
        if file.format == GUESSED:
            raise StatementError(
                f"{file.name}: a CSV from a bank that has no profile",
                do=f"save the profile that `treasury statements profile {file.name}` proposes, then"
                " add the file",
            )
        staging.add(file.batches(), is_export=file.format.startswith("CSV"))
        files.append(msgspec.structs.replace(file, entries=nothing, rows=""))
    return files, skipped


def _in_doubt(heads: statement_heads.Heads) -> tuple[Problem, ...]:
    """Return notes on accepted statements with a doubt or rivals, and on changed stored proofs."""
    incoming = (heads.incoming[key] for key in heads.came.accepted)
    doubtful = (row for row in incoming if (row["proved"] and row["doubt"]) or row["rivals"])
    return tuple(
        Problem(
            row["file_name"],
            "",
            row["doubt"]
            or (statement_heads.rivals_of(row) if row["rivals"] else f"proved now: {row['proof']}"),
        )
        for row in (*doubtful, *heads.doubted)
    )
