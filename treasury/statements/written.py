"""The rows of a call that are written: those of movements that are new, or known less well.

Most rows are either of a movement that nothing else is like, or word for word what is stored; they
are told by their ids alone, all at once. Only the others are compared one by one (`movements`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.lake import BOOL, TEXT, Lake, Writer
from treasury.statements.heads import Heads
from treasury.statements.movements import Facts, Movements, Version, facts_of
from treasury.statements.staging import INDEX, RAW_HASH, Staging
from treasury.statements.tables import STATEMENT_ENTRIES

__all__ = ["write_rows"]

_AROUND: Final = timedelta(days=20)
_AT_ONCE: Final = 16 << 20
"""Bytes of rows that are written together."""


def write_rows(lake: Lake, writer: Writer, staging: Staging, heads: Heads) -> tuple[int, int]:
    """Write the movements that are new, or better than the version known; how many of each."""
    facts = heads.counting
    came = pa.concat_tables([INDEX.empty_table(), *staging.indexes])
    stored = _stored(lake, came, heads)
    looked_at = _looked_at(heads, facts)
    fresh, compared, known = _parted(came, stored, looked_at)
    incoming = {key: facts_of(row) for key, row in heads.came.items()}
    before = {key: facts_of(row) for key, row in heads.stored.items()}
    movements = Movements(_versions(stored.filter(known), {**incoming, **before}, None))
    for statement_id, rows in _by_statement(staging, compared, incoming):
        used = movements.add(rows)
        if heads.states[statement_id] == "changed" and incoming[statement_id].is_final:
            movements.correct(incoming[statement_id], used)
    movements.settle(facts.values())
    _write(writer, staging, fresh, movements)
    changed = (movements.chosen.keys() & movements.stored) | movements.patches.keys()
    new = len(movements.chosen.keys() - movements.stored) + (pc.sum(fresh).as_py() or 0)
    return new, len(changed)


def _looked_at(heads: Heads, facts: Mapping[str, Facts]) -> pa.Array:
    """Statements whose rows may change whatever they are like: reports, and corrected ones."""
    reports = {key for key, one in facts.items() if one.is_provisional}
    reports |= {k for k, row in heads.came.items() if facts_of(row).is_provisional}
    changed = {key for key, state in heads.states.items() if state == "changed"}
    return pa.array(sorted(reports | changed), TEXT)


def _stored(lake: Lake, came: pa.Table, heads: Heads) -> pa.Table:
    """The stored movements that the incoming ones could be: those of days not far from theirs."""
    days = list(pc.min_max(came["booking_date"]).as_py().values())
    for row in heads.came.values():
        facts = facts_of(row)
        days += [facts.first, facts.last]
    known = [day for day in days if day]
    if not known:
        return INDEX.empty_table()
    first, last = min(known), max(known)
    first = first - _AROUND if first - date.min > _AROUND else date.min
    last = last + _AROUND if date.max - last > _AROUND else date.max
    names = ", ".join(INDEX.names[:-1])
    rows = lake.snapshot().sql(
        f"SELECT {names}, {RAW_HASH} AS raw FROM statement_entries"  # noqa: S608 - names of our own
        " WHERE booking_date BETWEEN $first AND $last",
        {"first": first, "last": last},
    )
    return rows.cast(INDEX)


def _parted(
    came: pa.Table, stored: pa.Table, looked_at: pa.Array
) -> tuple[pa.ChunkedArray, pa.ChunkedArray, pa.ChunkedArray]:
    """Three masks: rows like no other; rows to compare; stored rows to compare them with."""
    mine, theirs = _contents(came), _contents(stored)
    counts = pc.value_counts(pa.concat_arrays([mine, theirs]))
    single = counts.field("values").filter(pc.equal(counts.field("counts"), 1))
    pairs = counts.field("values").filter(pc.equal(counts.field("counts"), 2))
    special = pc.is_in(came["statement_id"], looked_at)
    fresh = pc.and_(pc.is_in(mine, single), pc.invert(special))
    both = pc.and_(pc.is_in(mine, pairs), pc.is_in(_whole(came), _whole(stored)))
    same = pc.and_(both, pc.invert(special))
    compared = pc.invert(pc.or_(fresh, same))
    known = pc.or_(
        pc.is_in(theirs, mine.filter(compared)), pc.is_in(stored["statement_id"], looked_at)
    )
    return fresh, compared, known


def _contents(index: pa.Table) -> pa.Array:
    ids = index["entry_id"].combine_chunks()
    return pc.binary_slice(pc.cast(ids, pa.binary()), 0, 32)


def _whole(index: pa.Table) -> pa.Array:
    """All that a row and its statement say, as one text."""
    names = ("entry_id", "statement_id", "entry_status", "raw")
    columns = [pc.fill_null(index[name].combine_chunks(), "") for name in names]
    return pc.binary_join_element_wise(*columns, "\n")


def _by_statement(
    staging: Staging, compared: pa.ChunkedArray, facts: Mapping[str, Facts]
) -> Iterator[tuple[str, Sequence[Version]]]:
    """The rows to compare of each statement of each file, in order."""
    behind = 0
    for index in staging.indexes:
        here = compared.slice(behind, index.num_rows)
        places = pc.indices_nonzero(here).to_pylist()
        versions = _versions(index.filter(here), facts, [behind + at for at in places])
        behind += index.num_rows
        several: dict[str, list[Version]] = defaultdict(list)
        for version in versions:
            several[version.statement.statement_id].append(version)
        yield from several.items()


def _versions(
    index: pa.Table, statements: Mapping[str, Facts], places: Sequence[int] | None
) -> Iterator[Version]:
    columns = (index[name].to_pylist() for name in INDEX.names)
    for at, (entry_id, statement_id, status, booked, is_twin, raw) in enumerate(
        zip(*columns, strict=True)
    ):
        facts = statements.get(statement_id) or _unknown(statement_id)
        place = None if places is None else places[at]
        yield Version(entry_id, facts, status, booked, raw, bool(is_twin), place)


def _unknown(statement_id: str) -> Facts:
    return Facts(
        statement_id, None, None, "", False, datetime.min.replace(tzinfo=UTC), None, None, None,
        None, None,
    )  # fmt: skip


def _write(writer: Writer, staging: Staging, fresh: pa.ChunkedArray, movements: Movements) -> None:
    """The rows like no other, the chosen ones, and the stored ones that are marked otherwise."""
    chosen = {one.place: one for one in movements.chosen.values() if one.place is not None}
    outgoing: list[pa.Table] = []
    for batch in _wanted(staging, fresh, chosen):
        outgoing.append(batch)
        if sum(table.nbytes for table in outgoing) > _AT_ONCE:
            writer.upsert(STATEMENT_ENTRIES, pa.concat_tables(outgoing))
            outgoing = []
    if movements.patches:
        outgoing.append(_patched(writer, movements.patches))
    if outgoing:
        writer.upsert(STATEMENT_ENTRIES, pa.concat_tables(outgoing))


def _wanted(
    staging: Staging, fresh: pa.ChunkedArray, chosen: Mapping[int, Version]
) -> Iterator[pa.Table]:
    behind = 0
    is_fresh = fresh.to_pylist()
    for batch in staging.batches():
        wanted = [
            at for at in range(batch.num_rows) if is_fresh[behind + at] or behind + at in chosen
        ]
        if wanted:
            rows = pa.Table.from_batches([batch]).take(pa.array(wanted, pa.int64()))
            marks = [chosen.get(behind + at) for at in wanted]
            yield _marked(rows, marks) if any(marks) else rows
        behind += batch.num_rows


def _patched(writer: Writer, patches: Mapping[str, Version]) -> pa.Table:
    quoted = ", ".join(f"'{entry_id}'" for entry_id in patches)  # hashes of our own
    names = STATEMENT_ENTRIES.row_schema.names
    rows = writer.read(STATEMENT_ENTRIES, names, f"entry_id IN ({quoted})")
    marks = [patches[entry_id] for entry_id in rows["entry_id"].to_pylist()]
    return _marked(rows, marks).cast(STATEMENT_ENTRIES.row_schema)


_MARKS: Final = (
    ("entry_id", TEXT, "entry_id"), ("entry_status", TEXT, "status"), ("is_twin", BOOL, "is_twin"),
)  # fmt: skip


def _marked(rows: pa.Table, marks: Sequence[Version | None]) -> pa.Table:
    """The rows with what was found out about each; one without a mark stays as it is."""
    for name, kind, attribute in _MARKS:
        values = [
            value if mark is None else getattr(mark, attribute)
            for value, mark in zip(rows[name].to_pylist(), marks, strict=True)
        ]
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, kind))
    return rows
