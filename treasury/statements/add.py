"""Adding bank files to the lake: all of a call's files in one commit, or none of them.

Adding is safe to repeat. A movement that is known stays as it is, unless it comes better: booked
after pending, proved after not proved, or in a later statement with other content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.lake import INSTANT, Lake, Writer
from treasury.statements.read import Reading, read_statements
from treasury.statements.rows import Problem
from treasury.statements.tables import STATEMENT_ENTRIES, STATEMENTS
from treasury.statements.values import account_number

__all__ = ["AddReport", "AddedStatement", "add_statements"]

State = Literal["new", "changed", "known"]

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class AddedStatement(msgspec.Struct, frozen=True):
    """One statement of the files that were added, and whether it was known already."""

    state: State
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
    """`own_bank` or `provider_report`; None where the account is not declared."""


class AddReport(msgspec.Struct, frozen=True):
    """What adding did: the statements in the order of the files, entries in rows, problems."""

    statements: tuple[AddedStatement, ...]
    entries_new: int
    entries_changed: int
    entries_known: int
    problems: tuple[Problem, ...]

    @property
    def statements_new(self) -> int:
        """How many statements were not known before."""
        return sum(statement.state == "new" for statement in self.statements)

    @property
    def not_proved(self) -> tuple[AddedStatement, ...]:
        """The statements whose balances do not prove what is in them."""
        return tuple(statement for statement in self.statements if not statement.proved)

    def __str__(self) -> str:
        """What was added in a line; then a line for each statement not proved and each problem."""
        proved = len(self.statements) - len(self.not_proved)
        first = (
            f"{len(self.statements)} statements ({self.statements_new} new, {proved} proved),"
            f" {self.entries_new:,} entries new, {self.entries_changed:,} changed,"
            f" {self.entries_known:,} known before"
        )
        unproved = (f"NOT PROVED {one.file_name}: {one.proof}" for one in self.not_proved)
        return "\n".join((first, *unproved, *map(str, self.problems)))


class _Standing(msgspec.Struct, frozen=True):
    """How good a version of a movement is: which of two to keep."""

    is_booked: bool
    is_proved: bool
    written: datetime


class _Version(msgspec.Struct, frozen=True):
    """A movement as one statement has it."""

    statement_id: str
    standing: _Standing
    raw: str

    def replaces(self, known: _Version) -> bool:
        """Whether this version is better than the one that is known."""
        mine, theirs = self.standing, known.standing
        if (mine.is_booked, mine.is_proved) != (theirs.is_booked, theirs.is_proved):
            return (mine.is_booked, mine.is_proved) > (theirs.is_booked, theirs.is_proved)
        if self.raw == known.raw:
            return False
        return self.statement_id == known.statement_id or mine.written > theirs.written


def add_statements(
    lake: Lake, paths: Iterable[Path | str], now: datetime, *, declared: Mapping[str, str]
) -> AddReport:
    """Read files of bank statements and add what is new in one commit.

    `declared` maps each account of ours to `own_bank` or `provider_report`. StatementError if a
    file is refused: then nothing of any file is stored. WorkspaceLocked while another writes.
    """
    reading = read_statements(paths)
    with lake.writer("statements", now) as writer:
        known = _known_statements(writer)
        states = _upsert_statements(writer, reading.statements, known)
        new, changed = _upsert_entries(writer, reading, known)
    sources = {account_number(account): source for account, source in declared.items()}
    listed = tuple(_added(row, states, sources) for row in _head(reading.statements).to_pylist())
    return AddReport(
        statements=listed,
        entries_new=new,
        entries_changed=changed,
        entries_known=reading.entries.num_rows - new - changed,
        problems=(*reading.problems, *_undeclared(listed)),
    )


_HEAD = (
    "statement_id", "file_name", "account", "currency", "from_date", "to_date", "created_at",
    "entry_count", "credit_total", "debit_total", "proved", "proof", "added_at",
)  # fmt: skip
_SAME = ("entry_count", "credit_total", "debit_total", "proved", "proof")


def _head(statements: pa.Table) -> pa.Table:
    return statements.select(list(_HEAD))


def _known_statements(writer: Writer) -> dict[str, dict[str, object]]:
    rows = writer.read(STATEMENTS, _HEAD).to_pylist()
    return {row["statement_id"]: row for row in rows}


def _upsert_statements(
    writer: Writer, incoming: pa.Table, known: Mapping[str, dict[str, object]]
) -> dict[str, State]:
    """Write the statements that are new or say something else now; the state of each by id."""
    states: dict[str, State] = {}
    kept: list[bool] = []
    added: list[object] = []
    for row in _head(incoming).to_pylist():
        before = known.get(row["statement_id"])
        repeated = row["statement_id"] in states
        if before is None:
            state: State = "new"
        else:
            state = "known" if all(row[n] == before[n] for n in _SAME) else "changed"
        states.setdefault(row["statement_id"], state)
        kept.append(not repeated and state != "known")
        added.append(writer.now if before is None else before["added_at"])
    column = incoming.schema.get_field_index("added_at")
    stamped = incoming.set_column(column, "added_at", pa.array(added, INSTANT))
    writer.upsert(STATEMENTS, stamped.filter(pa.array(kept, pa.bool_())))
    return states


def _upsert_entries(
    writer: Writer, reading: Reading, known: Mapping[str, dict[str, object]]
) -> tuple[int, int]:
    """Write the movements that are new, or better than the version known; how many of each."""
    entries = reading.entries
    statements = {**known, **{r["statement_id"]: r for r in _head(reading.statements).to_pylist()}}
    best = _versions(_stored_entries(writer, entries), statements)
    stored = frozenset(best)
    chosen: dict[str, int] = {}
    for place, (entry_id, version) in enumerate(_each_version(entries, statements)):
        if entry_id not in best or version.replaces(best[entry_id]):
            best[entry_id] = version
            chosen[entry_id] = place
    writer.upsert(STATEMENT_ENTRIES, entries.take(pa.array(chosen.values(), pa.int64())))
    changed = len(chosen.keys() & stored)
    return len(chosen) - changed, changed


_VERSION = ("entry_id", "statement_id", "entry_status", "raw")


def _stored_entries(writer: Writer, incoming: pa.Table) -> pa.Table:
    """The stored movements that the incoming ones could be: those of the same days."""
    days = pc.min_max(incoming["booking_date"]).as_py()
    if days["min"] is None:
        return incoming.slice(0, 0)
    where = f"booking_date BETWEEN DATE '{days['min']}' AND DATE '{days['max']}'"
    return writer.read(STATEMENT_ENTRIES, _VERSION, where)


def _versions(
    entries: pa.Table, statements: Mapping[str, dict[str, object]]
) -> dict[str, _Version]:
    return dict(_each_version(entries, statements))


def _each_version(
    entries: pa.Table, statements: Mapping[str, dict[str, object]]
) -> Iterable[tuple[str, _Version]]:
    columns = (entries[name].to_pylist() for name in _VERSION)
    for entry_id, statement_id, status, raw in zip(*columns, strict=True):
        statement = statements.get(statement_id, {})
        written = statement.get("created_at")
        standing = _Standing(
            status == "BOOK",
            bool(statement.get("proved")),
            written if isinstance(written, datetime) else _LONG_AGO,
        )
        yield entry_id, _Version(statement_id, standing, raw)


def _added(
    row: Mapping[str, object],
    states: Mapping[str, State],
    sources: Mapping[str, str],
) -> AddedStatement:
    fields = {name: row[name] for name in AddedStatement.__struct_fields__ if name in row}
    state = states[str(row["statement_id"])]
    return msgspec.convert(
        {**fields, "state": state, "source": sources.get(str(row["account"]))}, AddedStatement
    )


def _undeclared(statements: Iterable[AddedStatement]) -> tuple[Problem, ...]:
    strangers = {s.account: s.file_name for s in statements if s.source is None and s.account}
    return tuple(
        Problem(name, "", f"account {account} is not declared; add it to [[accounts]]")
        for account, name in strangers.items()
    )
