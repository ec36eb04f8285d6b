"""The verdicts on bank lines at an entry of the journal, kept beside what closed months settled.

    settled/verdicts.arrow

Years of decisions are read once: a question about a later month reads those that came after. The
file holds nothing that the journal does not give again. Where it is not as it was written, where
the journal does not hold the entry that it names, or where something before it was taken back,
every decision is read.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.files import durable
from treasury.journal.chain import Head
from treasury.journal.decision_history import DECISIONS, MATCH, decision_table, standing
from treasury.journal.journal_store import Journal

_PLACE: Final = Path("settled", "verdicts.arrow")
_LATER: Final = 1_000
"""Decisions after those that are kept, from which on they are kept anew."""
_UNDO: Final = f"{MATCH}undo"
_PAIR: Final = ("entry_id", "expectation_id")


def verdicts_at(journal: Journal, head: Head, workspace: Path) -> pa.Table:
    """The verdict that stands at an end of the journal for each line and expectation.

    Columns and order as `decision_table` has them. What is read is kept in the workspace, where it
    can be written.
    """
    kept = _read(workspace / _PLACE)
    if kept is None or kept[0].seq > head.seq or not journal.holds(kept[0]):
        kept = Head(0, ""), DECISIONS.empty_table()
    before, table = kept
    later = [one for one in journal.entries(MATCH, since=before.seq) if one.seq <= head.seq]
    takes_back = any(one.kind == _UNDO for one in later)
    if takes_back and before.seq:
        later = [one for one in journal.entries(MATCH) if one.seq <= head.seq]
        table = DECISIONS.empty_table()
    table = _superseded(table, decision_table(standing(later)))
    if len(later) >= _LATER:
        _write(workspace / _PLACE, head, table)
    return table


def _superseded(former: pa.Table, later: pa.Table) -> pa.Table:
    """The rows of both, the later one of each pair, in their order."""
    if not later.num_rows or not former.num_rows:
        return later if later.num_rows else former
    without = pc.invert(pc.is_in(_pairs(former), value_set=_pairs(later).combine_chunks()))
    rows = pa.concat_tables([former.filter(without), later])
    line, expectation = _PAIR
    named = rows.select([line]).append_column(expectation, pc.fill_null(rows[expectation], ""))
    return rows.take(pc.sort_indices(named, [(column, "ascending") for column in _PAIR]))


def _pairs(table: pa.Table) -> pa.ChunkedArray:
    line, expectation = (table[column] for column in _PAIR)
    length = pc.cast(pc.binary_length(line), pa.string())
    return pc.binary_join_element_wise(length, line, pc.fill_null(expectation, ""), " ")


def _read(path: Path) -> tuple[Head, pa.Table] | None:
    """The end of the journal that is kept, and the verdicts; None without, or of another form."""
    try:
        content = path.read_bytes()
        digest, rows = content[:32], content[32:]
        if hashlib.sha256(rows).digest() != digest:
            return None
        table = pa.ipc.open_file(pa.BufferReader(rows)).read_all()
    except (OSError, pa.ArrowException):
        return None
    named = table.schema.metadata or {}
    if not table.schema.equals(DECISIONS) or {b"seq", b"hash"} - named.keys():
        return None  # another version wrote it
    return Head(int(named[b"seq"]), named[b"hash"].decode()), table.replace_schema_metadata()


def _write(path: Path, head: Head, table: pa.Table) -> None:
    """Keep the verdicts; whoever may not write here is answered all the same."""
    named = table.replace_schema_metadata({"seq": str(head.seq), "hash": head.hash})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, named.schema) as file:
        file.write_table(named.combine_chunks())
    rows = sink.getvalue().to_pybytes()
    with suppress(OSError):
        durable.make_folder(path.parent)
        durable.write_whole(path, hashlib.sha256(rows).digest() + rows)
