"""State (new, known or changed) and proof of each statement of a call.

A statement is proved if its own sum holds and no doubt remains: about its currency, the statement
before it, a competing version, or lost movements. Added statements may fill gaps, so each call also
checks stored statements again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa

from treasury.core.tables.column_types import BOOL, INSTANT, TEXT, TEXTS
from treasury.lake import Writer, mark_of
from treasury.statements.field_values import Currencies, account_number
from treasury.statements.statement_tables import COUNTING, STATEMENT_ENTRIES, STATEMENTS
from treasury.statements.store.continuity import Continuity, continuity
from treasury.statements.store.other_format import DaysByFormat, repeated_elsewhere
from treasury.statements.store.statement_facts import FACT_COLUMNS, StatementFacts, facts_of

State = Literal["new", "changed", "known"]
_Row = dict[str, Any]

HEAD: Final = (*FACT_COLUMNS, "file_sha256", "proof", "doubt", "added_at", "rivals")
"""Columns of a statement that the comparison needs, without `raw`."""
_COMPARED: Final = ("entry_count", "credit_total", "debit_total", "closing_balance", "proved")
_PROOF: Final = ("proved", "proof", "doubt", "rivals")
_STORED: Final = -1
"""File number that marks stored statements."""
_ROWS: Final = STATEMENT_ENTRIES.name


class Versions(msgspec.Struct, frozen=True):
    """Comparison of rows for statements with several versions."""

    superseded: frozenset[tuple[str, str]] = frozenset()
    """Id and file hash of each version ever stored, and of its rivals (competing versions)."""
    hashes: Mapping[tuple[int, str], str] = {}
    """Hash of the rows of each version, by file number and statement id."""
    extended: frozenset[tuple[str, int, int]] = frozenset()
    """Id of a CSV statement, and the numbers of two files: the first has all rows of the second."""
    contradictions: Mapping[tuple[int, str], str] = {}
    """Contradictions with stored CSV exports, by file number and statement id."""


class Heads(msgspec.Struct, frozen=True):
    """The incoming and the stored statements by id, before they are written.

    Several versions of a statement have the same result as if they were added one after the other.
    Rows have their current proof.
    """

    came: IncomingStatements
    incoming: dict[str, _Row]
    stored: dict[str, _Row]
    doubted: tuple[_Row, ...]
    """Stored statements with a changed proof."""
    listed: tuple[_Row, ...]
    """The incoming statements in the order of the files, each with its `state`."""
    repeated: frozenset[str]
    """Ids of statements that are valid, but whose movements are stored in another format."""

    @property
    def counting(self) -> dict[str, StatementFacts]:
        """Return all statements whose movements count after this call."""
        rows = {**self.stored, **{key: self.incoming[key] for key in self.came.accepted}}
        return {key: facts_of(row) for key, row in rows.items()}


def heads_of(
    writer: Writer, files: Sequence[pa.Table], declared: Currencies, versions: Versions
) -> Heads:
    """Compare incoming statements, one table per file, with stored ones.

    `declared` has the currencies of our accounts.
    """
    before = _stored(writer)
    alone = {key: _alone(row) for key, row in before.items()}
    came = IncomingStatements(alone, versions)
    for number, statements in enumerate(files):
        for row in statements.select(list(HEAD)).to_pylist():
            came.add(number, row)
    counting = {**alone, **{key: came.rows[key] for key in came.accepted}}
    lacking = {key for key in alone if mark_of(_ROWS, key) in writer.refetch} - came.rows.keys()
    now = _beside_others(counting, declared, lacking)
    standing = {key: now[key] for key in alone if came.states.get(key) != "changed"}
    return Heads(
        came,
        {**came.rows, **{key: now[key] for key in came.accepted}},
        {**alone, **standing},
        tuple(row for key, row in standing.items() if _proof(row) != _proof(before[key])),
        tuple(_listed(came, number, row, counting, now) for number, row in came.listed),
        repeated_elsewhere(map(facts_of, counting.values())),
    )


def _beside_others(
    counting: Mapping[str, _Row], declared: Currencies, lacking: Collection[str]
) -> dict[str, _Row]:
    """Return the statements that count, by id, with their proof after comparing them all."""
    remarks = doubts(counting.values(), declared, lacking)
    return {
        key: doubted(row, remarks.get(place)) for place, (key, row) in enumerate(counting.items())
    }


def _listed(
    came: IncomingStatements, number: int, row: _Row, counting: Mapping[str, _Row],
    now: Mapping[str, _Row],
) -> _Row:  # fmt: skip
    """Return an incoming statement with its own state and proof, not those of another version."""
    key = row["statement_id"]
    if holders := came.repeats.get((number, key)):
        names = ", ".join(dict.fromkeys(holder.file_name for holder in holders[:_MOST_NAMED]))
        more = f" and {len(holders) - _MOST_NAMED} more" if len(holders) > _MOST_NAMED else ""
        note = f"its days are in {names}{more} too, as {holders[0].format}: it is not added"
    else:
        counted = counting[key]
        if came.counts((number, key)) and all(row[name] == counted[name] for name in _COMPARED):
            return {**row, **_proof(now[key]), "state": came.states[key]}
        verdict = f"{counted['file_name']}, {'proved' if now[key]['proved'] else 'not proved'}"
        note = f"it does not count: another version of it does ({verdict})"
    return {**row, "proof": f"{row['proof']}; {note}", "state": "known"}


_MOST_NAMED: Final = 5


class IncomingStatements:
    """The statements of a call in order, compared with the versions that counted before.

    A version is identified by file number and statement id.
    """

    def __init__(self, stored: Mapping[str, _Row], versions: Versions) -> None:
        self.listed: list[tuple[int, _Row]] = []
        self.rows: dict[str, _Row] = {}
        self.states: dict[str, State] = {}
        self.overtaken: dict[tuple[int, str], None] = {}
        """Versions that do not count; their rows are not stored."""
        self.outvoted: dict[tuple[int, str], None] = {}
        """Versions replaced by a competing version; their rows are stored as superseded."""
        self.corrected: set[str] = set()
        """Ids of statements with a stored version that no longer counts."""
        self.repeats: dict[tuple[int, str], list[StatementFacts]] = {}
        """Statements with days stored in another format."""
        self._counts = dict(stored)
        self._days = DaysByFormat(map(facts_of, stored.values()))
        self._files: dict[str, int] = {}
        self._stored = stored
        self._versions = versions

    @property
    def accepted(self) -> tuple[str, ...]:
        """Return the ids of statements with new content."""
        return tuple(key for key, state in self.states.items() if state != "known")

    @property
    def places(self) -> Iterable[tuple[int, str]]:
        """Return file number and statement id of each version, in the order of the files."""
        return dict.fromkeys((number, row["statement_id"]) for number, row in self.listed)

    def add(self, number: int, row: _Row) -> None:
        """Add a statement of the file with this number."""
        self.listed.append((number, row))
        key = row["statement_id"]
        row["movements_hash"] = self._versions.hashes.get((number, key), "")
        if contradiction := self._versions.contradictions.get((number, key)):
            row["proved"], row["proof"] = False, f"{contradiction}; {row['proof']}"
        before = self._counts.get(key)
        if before is None:
            facts = facts_of(row)
            holders = self._days.holders(facts)
            if holders:
                self.repeats[number, key] = holders
                self.overtaken[number, key] = None
                return
            self._days.add(facts)
            self._count(number, row, "new")
            return
        row["added_at"] = before["added_at"]
        # Versions with the same movements, sums and proof are equal.
        hashes = {row["movements_hash"], before["movements_hash"] or row["movements_hash"]}
        is_read_anew = (
            row["file_sha256"] == before["file_sha256"] and row["proof"] != before["proof"]
        )
        # The same file was added before, and another version has replaced it.
        was_superseded = (
            key in self._stored
            and row["file_sha256"] != before["file_sha256"]
            and (key, row["file_sha256"]) in self._versions.superseded
        )
        if len(hashes) == 1 and not is_read_anew and all(row[n] == before[n] for n in _COMPARED):
            if key not in self._files:
                self.rows[key], self.states[key] = row, "known"
        elif was_superseded:
            self.overtaken[number, key] = None
            self._know(row)
        elif not (_is_whole(row) or _is_whole(before)):
            # Reports, and exports without proof, may each have movements that the other lacks.
            if facts_of(row).version[1:] >= facts_of(before).version[1:]:
                self._count(number, row, "changed" if key in self._stored else "new")
            else:
                self._know(row)
        else:
            self._choose(number, row, before)

    def _choose(self, number: int, row: _Row, before: _Row) -> None:
        """Choose between two versions, added in any order; the other one may still be right."""
        key, file = row["statement_id"], self._files.get(row["statement_id"], _STORED)
        version, counted_version = facts_of(row).version, facts_of(before).version
        is_same_file = row["file_sha256"] == before["file_sha256"]
        extended = {(key, number, file), (key, file, number)} & self._versions.extended
        is_rival = _age(row) == _age(before) and not (is_same_file or extended)
        wins = is_same_file or version > counted_version
        winner, loser = (row, before) if wins else (before, row)
        if is_rival:
            winner["rivals"] = sorted({*(before["rivals"] or ()), _rival(loser)})
        if not wins:
            (self.outvoted if is_rival else self.overtaken)[number, key] = None
            self._know(row)
            return
        if file != _STORED:
            (self.outvoted if is_rival else self.overtaken)[file, key] = None
        self._count(number, row, "changed" if key in self._stored else "new")
        if key in self._stored:
            self.corrected.add(key)

    def _know(self, row: _Row) -> None:
        self.rows.setdefault(row["statement_id"], row)
        self.states.setdefault(row["statement_id"], "known")

    def counts(self, place: tuple[int, str]) -> bool:
        """Return whether the rows of an incoming statement count."""
        return place not in self.overtaken and place not in self.outvoted

    def _count(self, number: int, row: _Row, state: State) -> None:
        key = row["statement_id"]
        self.rows[key] = self._counts[key] = row
        self._files[key] = number
        self.states[key] = state


def _is_whole(row: _Row) -> bool:
    """Return whether only one version of the statement counts.

    Reports, and exports without proof, may have only some of the movements, so all their versions
    count.
    """
    facts = facts_of(row)
    return not facts.is_provisional and (facts.proved or not facts.is_csv)


def doubts(
    rows: Iterable[_Row], declared: Currencies, lacking: Collection[str] = ()
) -> dict[int, Continuity]:
    """Return the reasons to doubt statements with a correct sum, by their position in `rows`.

    `lacking` has the ids of statements with movements that are no longer stored.
    """
    several = list(rows)
    remarks = continuity(map(facts_of, several))
    currencies = {account_number(account): codes for account, codes in declared.items()}
    for place, row in enumerate(several):
        codes = currencies.get(account_number(row["account"] or ""))
        if not row["proved"]:
            continue
        if row["rivals"]:
            remarks[place] = Continuity(rivals_of(row), holds=False)
        elif codes and row["currency"] not in {*codes, None}:
            codes_text = " and ".join(sorted(codes))
            text = f"account {row['account']} is declared in {codes_text}, not in {row['currency']}"
            remarks[place] = Continuity(text, holds=False)
        elif row["statement_id"] in lacking:
            remarks[place] = Continuity(_LACKING, holds=False)
    return remarks


def find_rivals(rows: Sequence[_Row], movements: Mapping[tuple[str, str], Counter[str]]) -> None:
    """Set the rivals of each version among those that are read together and not stored.

    `movements` counts the texts of each version's movements, by the file's SHA-256 and the
    statement's id.
    """
    versions: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        versions[row["statement_id"]].append(row)
    for row in rows:
        entries = movements.get((row["file_sha256"], row["statement_id"]), Counter())
        rivals: set[str] = set()
        for version in versions[row["statement_id"]]:
            version_entries = movements.get(
                (version["file_sha256"], row["statement_id"]), Counter()
            )
            is_same = entries == version_entries and all(
                row[name] == version[name] for name in _COMPARED
            )
            extends = facts_of(row).is_csv and (
                entries <= version_entries or version_entries <= entries
            )
            if not is_same and not extends and _age(row) == _age(version) and _is_whole(row):
                rivals.add(_rival(version))
        row["rivals"] = sorted(rivals) or None


def _age(row: _Row) -> tuple[bool, datetime]:
    """Return a sort key of versions, by proof and then by age."""
    facts = facts_of(row)
    return facts.proved, facts.written


def _rival(row: _Row) -> str:
    return f"{row['file_sha256']} {row['file_name']}"


def rivals_of(row: Mapping[str, Any]) -> str:
    """Return the doubt about a statement with rivals, versions that are equally proved and new."""
    names = [f"{rival[65:]} (SHA-256 {rival[:12]})" for rival in row["rivals"][:_MOST_NAMED]]
    more = len(row["rivals"]) - len(names)
    others = ", ".join([*names, *([f"{more} more"] if more else [])])
    return (
        f"{others} states it differently and neither version is newer: withdraw it, then add"
        " the right file"
    )


_LACKING: Final = "some of its movements are no longer stored: add its file again"


def _stored(writer: Writer) -> dict[str, _Row]:
    """Return the stored statements whose movements count, by id."""
    rows = writer.read(STATEMENTS, HEAD, COUNTING).to_pylist()
    return {row["statement_id"]: row for row in rows}


def restate(writer: Writer, declared: Currencies, without: str) -> None:
    """Update the proofs of stored statements after one of them was withdrawn."""
    before = _stored(writer)
    del before[without]
    lacking = {key for key in before if mark_of(_ROWS, key) in writer.refetch}
    now = _beside_others({key: _alone(row) for key, row in before.items()}, declared, lacking)
    _write_proofs(writer, [row for key, row in now.items() if _proof(row) != _proof(before[key])])


def doubted(row: _Row, remark: Continuity | None) -> _Row:
    """Return the statement with a doubt added to its proof; without doubt if it is not proved."""
    if remark is None or not row["proved"]:
        return {**row, "doubt": None}
    proof = f"{remark.text}; {row['proof']}"
    return {**row, "proved": remark.holds, "proof": proof, "doubt": remark.text}


def _alone(row: _Row) -> _Row:
    """Return a stored statement with the proof that it had before a doubt was added."""
    if row["doubt"] is None:
        return dict(row)
    return {**row, "proved": True, "proof": row["proof"].removeprefix(f"{row['doubt']}; ")}


def write_heads(writer: Writer, statements: pa.Table, heads: Heads) -> None:
    """Write new and changed statements, and stored ones with a changed proof."""
    came = heads.came
    versions = {key: came.rows[key] for key in came.accepted}
    places = [
        at for at, (_, row) in enumerate(came.listed) if row is versions.get(row["statement_id"])
    ]
    if places:
        rows = statements.take(pa.array(places, pa.int64()))
        heads_in_order = [heads.incoming[key] for key in rows["statement_id"].to_pylist()]
        writer.upsert(STATEMENTS, _with(rows, heads_in_order, writer.now))
    _write_proofs(writer, heads.doubted)


def _write_proofs(writer: Writer, doubted_rows: Sequence[_Row]) -> None:
    for start in range(0, len(doubted_rows), _AT_ONCE):
        several = {row["statement_id"]: row for row in doubted_rows[start : start + _AT_ONCE]}
        # The hashes are computed here, so they are safe in SQL.
        quoted = ", ".join(f"'{key}'" for key in several)
        names = STATEMENTS.row_schema.names
        rows = writer.read(STATEMENTS, names, f"statement_id IN ({quoted})")
        in_order = [several[key] for key in rows["statement_id"].to_pylist()]
        writer.upsert(STATEMENTS, _with(rows, in_order, writer.now).cast(STATEMENTS.row_schema))


_AT_ONCE: Final = 1000


def _with(statements: pa.Table, rows: Sequence[_Row], now: datetime) -> pa.Table:
    """Return the statements with their proof, rivals and hash, and their `added_at`."""
    for name, kind in _FOUND_OUT:
        values = [row[name] for row in rows]
        if name == "added_at":
            values = [value or now for value in values]
        at = statements.schema.get_field_index(name)
        statements = statements.set_column(at, name, pa.array(values, kind))
    return statements


_FOUND_OUT: Final = (
    ("proved", BOOL), ("proof", TEXT), ("doubt", TEXT), ("added_at", INSTANT),
    ("movements_hash", TEXT), ("rivals", TEXTS),
)  # fmt: skip


def _proof(row: _Row) -> _Row:
    return {name: row[name] for name in _PROOF}
