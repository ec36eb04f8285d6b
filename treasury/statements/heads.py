"""Which statements of a call are new or say something else now, and what each of them proves.

A statement is proved by its own sum, if it is in the currency that its account is declared to have,
and if it goes on where the statement before it ended. The last depends on what is stored: each call
looks again at the stored statements too, for what it adds may stand between two of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa

from treasury.lake import BOOL, INSTANT, TEXT, Writer
from treasury.statements.continuity import Continuity, continuity
from treasury.statements.movements import Facts, facts_of
from treasury.statements.tables import STATEMENTS

__all__ = ["HEAD", "Heads", "State", "doubted", "doubts", "heads_of", "write_heads"]

State = Literal["new", "changed", "known"]
Row = dict[str, Any]

HEAD: Final = (
    "statement_id", "file_name", "format", "account", "currency", "from_date", "to_date",
    "opening_date", "closing_date", "opening_balance", "closing_balance", "sequence_number",
    "created_at", "entry_count", "credit_total", "debit_total", "proved", "proof", "doubt",
    "added_at",
)  # fmt: skip
"""The columns of a statement that decide; not its text."""
_SAME: Final = ("entry_count", "credit_total", "debit_total", "proved", "proof")
_PROOF: Final = ("proved", "proof", "doubt")


class Heads(msgspec.Struct, frozen=True):
    """The statements that came and those that were stored, by statement id; nothing written yet.

    Of several versions of one the first counts. Rows have the proof that they have now.
    """

    states: dict[str, State]
    came: dict[str, Row]
    stored: dict[str, Row]
    doubted: tuple[Row, ...]
    """Stored ones whose proof is another now."""
    listed: tuple[Row, ...]
    """Those that came, in the order of the files."""

    @property
    def accepted(self) -> tuple[str, ...]:
        """The ids of those that came and say something that was not known."""
        return tuple(key for key, state in self.states.items() if state != "known")

    @property
    def counting(self) -> dict[str, Facts]:
        """What every statement says that counts from now on."""
        rows = {**self.stored, **{key: self.came[key] for key in self.accepted}}
        return {key: facts_of(row) for key, row in rows.items()}


def heads_of(writer: Writer, statements: pa.Table, declared: Mapping[str, str]) -> Heads:
    """What the statements that came are beside the stored ones.

    `declared` has the currency of our accounts.
    """
    before = {row["statement_id"]: row for row in writer.read(STATEMENTS, HEAD).to_pylist()}
    alone = {key: _alone(row) for key, row in before.items()}
    listed = statements.select(list(HEAD)).to_pylist()
    came: dict[str, Row] = {}
    states: dict[str, State] = {}
    for row in listed:
        key = row["statement_id"]
        if key not in came:
            came[key] = row
            states[key] = _compared(row, alone[key]) if key in alone else "new"
    counting = {**alone, **{key: row for key, row in came.items() if states[key] != "known"}}
    found = doubts(counting.values(), declared)
    now = {key: doubted(row, found.get(key)) for key, row in counting.items()}
    stored = {key: now[key] if states.get(key) != "changed" else row for key, row in alone.items()}
    return Heads(
        states,
        {key: now[key] if states[key] != "known" else row for key, row in came.items()},
        stored,
        tuple(row for key, row in stored.items() if _is_other(row, before[key], states.get(key))),
        tuple({**row, **_proof(now[row["statement_id"]])} for row in listed),
    )


def doubts(rows: Iterable[Row], declared: Mapping[str, str]) -> dict[str, Continuity]:
    """What makes statements doubtful though each by itself adds up, by statement id."""
    several = list(rows)
    found = continuity(map(facts_of, several))
    for row in several:
        wanted = declared.get(row["account"] or "")
        if row["proved"] and wanted and row["currency"] not in {wanted, None}:
            said = f"account {row['account']} is declared in {wanted}, not in {row['currency']}"
            found[row["statement_id"]] = Continuity(said, holds=False)
    return found


def doubted(row: Row, said: Continuity | None) -> Row:
    """The statement with the proof that it has beside others."""
    if said is None:
        return {**row, "doubt": None}
    proof = f"{said.said}; {row['proof']}"
    return {**row, "proved": said.holds, "proof": proof, "doubt": said.said}


def _alone(row: Row) -> Row:
    """A stored statement as it is by itself: only one that is proved can be in doubt."""
    if row["doubt"] is None:
        return row
    return {**row, "proved": True, "proof": row["proof"].removeprefix(f"{row['doubt']}; ")}


def _is_other(row: Row, before: Row, state: State | None) -> bool:
    return state != "changed" and _proof(row) != _proof(before)


def write_heads(writer: Writer, statements: pa.Table, heads: Heads) -> None:
    """Write the statements that are new or changed, and the stored ones with another proof now."""
    wanted, ids = set(heads.accepted), statements["statement_id"].to_pylist()
    places = sorted(ids.index(key) for key in wanted)
    if places:
        rows = statements.take(pa.array(places, pa.int64()))
        heads_in_order = [heads.came[ids[at]] for at in places]
        writer.upsert(STATEMENTS, _with(rows, heads_in_order, writer.now))
    for start in range(0, len(heads.doubted), _AT_ONCE):
        several = {row["statement_id"]: row for row in heads.doubted[start : start + _AT_ONCE]}
        quoted = ", ".join(f"'{key}'" for key in several)  # hashes of our own
        names = STATEMENTS.row_schema.names
        rows = writer.read(STATEMENTS, names, f"statement_id IN ({quoted})")
        in_order = [several[key] for key in rows["statement_id"].to_pylist()]
        writer.upsert(STATEMENTS, _with(rows, in_order, writer.now).cast(STATEMENTS.row_schema))


_AT_ONCE: Final = 1000


def _with(statements: pa.Table, rows: Sequence[Row], now: datetime) -> pa.Table:
    """The statements with the proof that the rows have, and when they were first added."""
    for name, kind in (("proved", BOOL), ("proof", TEXT), ("doubt", TEXT), ("added_at", INSTANT)):
        values = [row[name] for row in rows]
        if name == "added_at":
            values = [value or now for value in values]
        at = statements.schema.get_field_index(name)
        statements = statements.set_column(at, name, pa.array(values, kind))
    return statements


def _compared(row: Row, before: Row) -> State:
    """Whether a statement says something else than before, and may."""
    row["added_at"] = before["added_at"]
    if all(row[name] == before[name] for name in _SAME):
        return "known"
    if before["proved"] and not row["proved"]:
        return "known"  # a version that is not proved is no correction of one that is
    return "known" if facts_of(row).written < facts_of(before).written else "changed"


def _proof(row: Row) -> Row:
    return {name: row[name] for name in _PROOF}
