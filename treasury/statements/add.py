"""Adding bank files to the lake: all of a call's files in one commit, or none of them.

Adding is safe to repeat. A movement that is known stays as it is, unless it comes better: booked
after pending, proved after not proved, or in a later statement with other content (`movements`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Literal

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.errors import StatementError
from treasury.lake import BOOL, INSTANT, TEXT, Lake, Writer, mark_of
from treasury.statements.csv_file import GUESSED
from treasury.statements.movements import Facts, Movements, Version, facts_of
from treasury.statements.profiles import FOLDER, load_profiles
from treasury.statements.read import Reading, read_statements
from treasury.statements.rows import Problem
from treasury.statements.tables import STATEMENT_ENTRIES, STATEMENTS, TABLES
from treasury.statements.values import account_number

__all__ = ["AddReport", "AddedStatement", "add_statements"]

State = Literal["new", "changed", "known"]


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


def add_statements(
    lake: Lake,
    paths: Iterable[Path | str],
    now: datetime,
    *,
    declared: Mapping[str, str],
    currencies: Mapping[str, str] | None = None,
    account: str | None = None,
    workers: int | None = None,
) -> AddReport:
    """Read files of bank statements and add what is new in one commit.

    `declared` maps each account of ours to `own_bank` or `provider_report`, `currencies` to its
    currency; `account` is that of files that name none. CSV profiles of the workspace's own lie in
    its folder `profiles`. StatementError if a file is refused: then nothing of any file is stored.
    WorkspaceLocked while another writes.
    """
    profiles = load_profiles(lake.folder.parent / FOLDER)
    reading = read_statements(paths, profiles=profiles, account=account, workers=workers)
    _refuse_guesses(reading)
    with lake.writer("statements", now) as writer:
        known = _known_statements(writer)
        states = _upsert_statements(writer, reading.statements, known)
        new, changed = _upsert_entries(writer, reading, known, states)
        # What a repair could not find again of these statements has now been read again.
        writer.refetch -= {mark_of(t.name, one) for t in TABLES for one in states}
    sources = {account_number(number): source for number, source in declared.items()}
    listed = tuple(_added(row, states, sources) for row in _head(reading.statements).to_pylist())
    return AddReport(
        statements=listed,
        entries_new=new,
        entries_changed=changed,
        entries_known=max(reading.entries.num_rows - new - changed, 0),
        problems=(*reading.problems, *_undeclared(listed), *_in_wrong(listed, currencies or {})),
    )


def _refuse_guesses(reading: Reading) -> None:
    for file in reading.files:
        if file.format == GUESSED:
            raise StatementError(
                f"{file.name}: a CSV of a bank without a profile",
                do=f"keep what `treasury statements profile {file.name}` proposes, then add it",
            )


_HEAD = (
    "statement_id", "file_name", "format", "account", "currency", "from_date", "to_date",
    "opening_date", "closing_date", "opening_balance", "closing_balance", "sequence_number",
    "created_at", "entry_count", "credit_total", "debit_total", "proved", "proof", "added_at",
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
        state = "new" if before is None else _compared(row, before)
        states.setdefault(row["statement_id"], state)
        kept.append(not repeated and state != "known")
        added.append(writer.now if before is None else before["added_at"])
    column = incoming.schema.get_field_index("added_at")
    stamped = incoming.set_column(column, "added_at", pa.array(added, INSTANT))
    if any(kept):
        writer.upsert(STATEMENTS, stamped.filter(pa.array(kept, pa.bool_())))
    return states


def _compared(row: Mapping[str, object], before: Mapping[str, object]) -> State:
    """Whether a statement says something else than before, and may."""
    if all(row[name] == before[name] for name in _SAME):
        return "known"
    if before["proved"] and not row["proved"]:
        return "known"  # a version that is not proved is no correction of one that is
    return "known" if facts_of(row).written < facts_of(before).written else "changed"


def _upsert_entries(
    writer: Writer,
    reading: Reading,
    known: Mapping[str, dict[str, object]],
    states: Mapping[str, State],
) -> tuple[int, int]:
    """Write the movements that are new, or better than the version known; how many of each."""
    entries, heads = reading.entries, _head(reading.statements).to_pylist()
    before = {key: facts_of(row) for key, row in known.items()}
    incoming = {row["statement_id"]: facts_of(row) for row in heads}
    stored = _stored_entries(writer, entries, heads)
    movements = Movements(_versions(stored, {**incoming, **before}, None))
    for statement_id, rows in _by_statement(reading, incoming):
        used = movements.add(rows)
        if states[statement_id] == "changed" and incoming[statement_id].is_final:
            movements.correct(incoming[statement_id], used)
    movements.settle({**before, **_accepted(incoming, states, before)}.values())
    _write(writer, entries, movements)
    changed = (movements.chosen.keys() & movements.stored) | movements.patches.keys()
    return len(movements.chosen.keys() - movements.stored), len(changed)


def _by_statement(
    reading: Reading, statements: Mapping[str, Facts]
) -> Iterator[tuple[str, Iterator[Version]]]:
    """The incoming rows of each statement of each file, in order."""
    behind = 0
    for file in reading.files:
        versions = _versions(file.entries, statements, behind)
        yield from groupby(versions, key=lambda version: version.statement.statement_id)
        behind += file.entries.num_rows


def _accepted(
    incoming: Mapping[str, Facts], states: Mapping[str, State], before: Mapping[str, Facts]
) -> dict[str, Facts]:
    return {k: v for k, v in incoming.items() if states[k] != "known" or k not in before}


def _write(writer: Writer, entries: pa.Table, movements: Movements) -> None:
    """The chosen rows and the stored ones that are marked otherwise now."""
    chosen = list(movements.chosen.values())
    rows = entries.take(pa.array([version.place for version in chosen], pa.int64()))
    outgoing = [_marked(rows, chosen)]
    if movements.patches:
        quoted = ", ".join(f"'{entry_id}'" for entry_id in movements.patches)
        names = STATEMENT_ENTRIES.row_schema.names
        patched = writer.read(STATEMENT_ENTRIES, names, f"entry_id IN ({quoted})")
        versions = [movements.patches[entry_id] for entry_id in patched["entry_id"].to_pylist()]
        outgoing.append(_marked(patched, versions))
    together = pa.concat_tables([table.cast(STATEMENT_ENTRIES.row_schema) for table in outgoing])
    if together.num_rows:
        writer.upsert(STATEMENT_ENTRIES, together)


def _marked(rows: pa.Table, versions: Sequence[Version]) -> pa.Table:
    """The rows with what was found out about each."""
    for name, kind, values in (
        ("entry_id", TEXT, [version.entry_id for version in versions]),
        ("entry_status", TEXT, [version.status for version in versions]),
        ("is_twin", BOOL, [version.is_twin for version in versions]),
    ):
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, kind))
    return rows


_VERSION = ("entry_id", "statement_id", "entry_status", "booking_date", "is_twin", "raw")
_AROUND = timedelta(days=20)


def _stored_entries(
    writer: Writer, incoming: pa.Table, heads: Sequence[Mapping[str, object]]
) -> pa.Table:
    """The stored movements that the incoming ones could be: those of days not far from theirs."""
    days = pc.min_max(incoming["booking_date"]).as_py()
    facts = [facts_of(row) for row in heads]
    known = [day for one in facts for day in (one.first, one.last) if day]
    known += [day for day in days.values() if day]
    if not known:
        return incoming.slice(0, 0).select(list(_VERSION))
    first, last = min(known), max(known)
    first = first - _AROUND if first - date.min > _AROUND else date.min
    last = last + _AROUND if date.max - last > _AROUND else date.max
    where = f"booking_date BETWEEN DATE '{first}' AND DATE '{last}'"
    return writer.read(STATEMENT_ENTRIES, _VERSION, where)


def _versions(
    entries: pa.Table, statements: Mapping[str, Facts], first_place: int | None
) -> Iterator[Version]:
    columns = (entries[name].to_pylist() for name in _VERSION)
    for place, (entry_id, statement_id, status, booked, is_twin, raw) in enumerate(
        zip(*columns, strict=True)
    ):
        facts = statements.get(statement_id) or _unknown(statement_id)
        at = None if first_place is None else first_place + place
        yield Version(entry_id, facts, status, booked, raw, bool(is_twin), at)


def _unknown(statement_id: str) -> Facts:
    return Facts(
        statement_id, None, None, "", False, datetime.min.replace(tzinfo=UTC), None, None, None,
        None, None,
    )  # fmt: skip


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


def _in_wrong(
    statements: Iterable[AddedStatement], currencies: Mapping[str, str]
) -> tuple[Problem, ...]:
    """Statements in another currency than their account is declared to have."""
    declared = {account_number(number): currency for number, currency in currencies.items()}
    return tuple(
        Problem(s.file_name, "", f"account {s.account} is declared in {wanted}, not {s.currency}")
        for s in statements
        if s.account
        and s.currency
        and (wanted := declared.get(s.account, s.currency)) != s.currency
    )
