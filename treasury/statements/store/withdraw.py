"""Withdrawal of a stored statement: it no longer counts, but its rows are not deleted.

A movement in two files is stored with the statement of one of them. If that statement is withdrawn,
the other one lacks the movement: it is no longer proved, and its file has to be added again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.decoding import convert
from treasury.core.errors import InputError
from treasury.core.files.package_files import step_sql
from treasury.core.tables.column_types import TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.lake import Lake, Snapshot, mark_of
from treasury.statements.field_values import Currencies
from treasury.statements.statement_tables import COUNTING, STATEMENT_ENTRIES, STATEMENTS
from treasury.statements.store.statement_heads import restate

_SHORTEST: Final = 6
"""Minimum length of a prefix accepted in place of an id."""

_STANDING: Final = f"""
SELECT statement_id, file_name, account, currency, coalesce(from_date, opening_date) AS first_day,
    coalesce(to_date, closing_date) AS last_day, entry_count
FROM statements WHERE {COUNTING} ORDER BY account, closing_date, statement_id
"""  # noqa: S608 - names of our own
_MOVEMENTS: Final = f"""
SELECT entry_id FROM statement_entries WHERE {COUNTING} AND statement_id = $id
"""  # noqa: S608 - names of our own
_LACKING: Final = step_sql("treasury.statements.store.steps", "lacking_statements")
"""Query of the statements that would lack movements after the withdrawal."""


class StoredStatement(msgspec.Struct, frozen=True):
    """A stored statement, with the values by which a person recognises it."""

    statement_id: str
    file_name: str | None
    account: str | None
    currency: str | None
    first_day: date | None
    last_day: date | None
    entry_count: int

    def __str__(self) -> str:
        name = " ".join(filter(None, (clean(self.file_name), self.statement_id[:8])))
        of = " ".join(filter(None, (clean(self.account), self.currency))) or "no account"
        return f"{name} ({of}, {self.first_day} to {self.last_day})"


_WITHDRAWN: Final = pa.schema([("withdrawn", TEXT), ("add_again", TEXT)])


class Withdrawal(Tables, msgspec.Struct, frozen=True, kw_only=True):
    """The withdrawn statement, and the files to add again because they lack movements now.

    `entry_ids` are its movements, including pending ones; `is_planned` is true for a preview that
    changed nothing.
    """

    statement: StoredStatement
    entry_ids: tuple[str, ...]
    add_again: tuple[str, ...]
    is_planned: bool = False

    @property
    def movements(self) -> int:
        """Return the number of movements that no longer count."""
        return len(self.entry_ids)

    def sheets(self) -> Mapping[str, Table]:
        """Return a row for each file to add again, or a single row if there is none."""
        withdrawn = str(self.statement)
        rows = [{"withdrawn": withdrawn, "add_again": file} for file in self.add_again or (None,)]
        return {"Withdrawn": Table(pa.Table.from_pylist(rows, schema=_WITHDRAWN))}

    @property
    def sql(self) -> str:
        """Return a SQL query for all statements that no longer count."""
        return "SELECT * FROM statements WHERE vanished_at IS NOT NULL ORDER BY vanished_at"

    def __str__(self) -> str:
        """Return a summary line, then a line for each file to add again."""
        verb = "would be withdrawn" if self.is_planned else "withdrawn"
        first = f"{verb}: {self.statement}, {self.movements:,} movements no longer count"
        files = (
            f"add {clean(file)} again: it has movements of the same days" for file in self.add_again
        )
        return "\n".join((first, *files))


def find_statement(snapshot: Snapshot, name: str) -> StoredStatement:
    """Return the stored statement with this id, prefix of an id, or file name.

    Raises InputError if there is none, or several.
    """
    typed = name.strip()
    rows = convert(snapshot.sql(_STANDING).to_pylist(), list[StoredStatement])
    matching = [row for row in rows if row.statement_id == typed]
    if not matching and len(typed) >= _SHORTEST:
        matching = [row for row in rows if row.statement_id.startswith(typed)]
    matching = matching or [row for row in rows if row.file_name == typed]
    if len(matching) == 1:
        return matching[0]
    if matching:
        ids = ", ".join(str(row) for row in matching[:_SHORTEST])
        raise InputError(
            f"{clean(typed)!r} stands for {len(matching)}: {ids}", do="give the id of the statement"
        )
    raise InputError(
        f"no stored statement has the id or the file name {clean(typed)[:60]!r}",
        do="run `treasury statements list`: it shows the id of each",
    )


def planned_withdrawal(snapshot: Snapshot, statement: StoredStatement) -> Withdrawal:
    """Return the effect of a withdrawal without writing it."""
    return _withdrawal(snapshot, statement, is_planned=True)[0]


def _withdrawal(
    snapshot: Snapshot, statement: StoredStatement, *, is_planned: bool
) -> tuple[Withdrawal, list[dict[str, Any]]]:
    """Return the withdrawal of a statement, with the statements that would lack movements."""
    movements, lacking = (
        snapshot.sql(query, {"id": statement.statement_id}).to_pylist()
        for query in (_MOVEMENTS, _LACKING)
    )
    withdrawal = Withdrawal(
        statement=statement,
        entry_ids=tuple(row["entry_id"] for row in movements),
        add_again=tuple(dict.fromkeys(row["file_name"] or row["statement_id"] for row in lacking)),
        is_planned=is_planned,
    )
    return withdrawal, lacking


def withdraw_statement(
    lake: Lake, statement: StoredStatement, now: datetime, declared: Currencies
) -> Withdrawal:
    """Withdraw a stored statement and its movements in one commit.

    `declared` has the currencies of our accounts. Raises WorkspaceLocked while another process
    writes.
    """
    with lake.writer("withdrawal", now, note=f"{statement.statement_id} withdrawn") as writer:
        withdrawal, lacking = _withdrawal(writer.base, statement, is_planned=False)
        writer.refetch |= {mark_of(STATEMENT_ENTRIES.name, row["statement_id"]) for row in lacking}
        writer.refetch -= {
            mark_of(table.name, statement.statement_id) for table in (STATEMENTS, STATEMENT_ENTRIES)
        }
        restate(writer, declared, statement.statement_id)
        entry_ids = pa.array(withdrawal.entry_ids, TEXT)
        writer.vanish(STATEMENT_ENTRIES, pa.table({"entry_id": entry_ids}))
        writer.vanish(STATEMENTS, pa.table({"statement_id": [statement.statement_id]}))
    return withdrawal
