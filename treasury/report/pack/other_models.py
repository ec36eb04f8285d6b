"""Checks of a pack made by a different version of the models, with results that differ now.

The current models no longer reproduce the pack's results, so only the version that made the pack
can recompute it. For a prepared or closed month, the journal has hashes of some tables: the
outcomes of the lines, the roll-forward, and the tables stored at the close. All other files are
proved only by the pack's own seal, which anyone can write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from treasury.close.evidence import Code, Evidence, code_of, table_hash
from treasury.close.period_pins import journaled_roll_forward, outcomes_hash
from treasury.close.roll_forward import ROLL_FORWARD
from treasury.close.stored_answers import read_answers
from treasury.core.errors import TreasuryError
from treasury.core.tables.column_texts import rows_hash
from treasury.core.text import clean
from treasury.journal.period_history import Close
from treasury.lake import Lake
from treasury.report.pack.sealed_pack import Finding

_ITEMS: Final = "requests_rolled_forward"
_PACK_NAMES: Final = {
    "rolled_items": _ITEMS,
    "coin_coins": "coins",
    "coin_unproved": "coins_unproved",
    "exposure_positions": "exposure",
}
"""Pack names of the tables that a close stores under a different name."""
_NOT_IN_PACK: Final = frozenset({"coin_lots", "coin_events", "positions", "shares"})
"""Tables that a close stores for later months."""
_JOURNALED: Final = "differs from what the close journaled"


def has_other_models(code: Code) -> bool:
    """Return True if a pack was made by a different version of the models."""
    return code.models != code_of().models


def close_in(evidence: Evidence) -> Close | None:
    """Return the journal entry of the month's close or preparation; None if it has neither."""
    signed = evidence.period or evidence.preparation or None
    return signed.close if signed else None


def unlike_journaled(folder: Path, evidence: Evidence) -> Iterator[Finding]:
    """Yield the tables that differ from the hashes in the journal entry of the close."""
    close = close_in(evidence)
    if close is None:
        return
    if outcomes_hash(pq.read_table(_path(folder, "lines"))) != close.outcomes_hash:
        yield Finding("table lines", _JOURNALED)
    if rows_hash(pq.read_table(_path(folder, _ITEMS))) != close.items_hash:
        yield Finding(f"table {_ITEMS}", _JOURNALED)
    rows = pq.read_table(_path(folder, "roll_forward")).to_pylist()
    none_moved = dict.fromkeys(ROLL_FORWARD.names, 0)
    if [none_moved | row for row in rows] != journaled_roll_forward(close):
        yield Finding("table roll_forward", _JOURNALED)


def unlike_stored(folder: Path, stored: Mapping[str, pa.Table]) -> Iterator[Finding]:
    """Yield the tables that differ from those that the close stored."""
    for name in sorted(stored.keys() - _NOT_IN_PACK):
        path = _path(folder, name)
        if not path.is_file():
            yield Finding(f"table {path.stem}", "is missing")
        elif table_hash(pq.read_table(path)) != table_hash(stored[name]):
            yield Finding(f"table {path.stem}", _JOURNALED)


def proved_tables(folder: Path, close: Close) -> list[str]:
    """Return the names of the tables in a pack that the journal's hashes prove."""
    stored = {file.name for file in close.answers} - _NOT_IN_PACK
    return sorted(_path(folder, name).stem for name in stored)


def _path(folder: Path, name: str) -> Path:
    return folder / "tables" / f"{_PACK_NAMES.get(name, name)}.parquet"


def version_needed(code: Code, differing: Sequence[str] = ()) -> str:
    """Return the note that names the only version that recomputes the pack."""
    answers = f" ({', '.join(differing)} differ here)" if differing else ""
    return (
        f"not computed again: that needs the version that made the pack, {clean(code.version)},"
        f" source {clean(code.source):.12}{answers}"
    )


def proved_by_seal(close: Close | None) -> str:
    """Return the note on a pack that was not compared with a journal."""
    note = "only its own seal proves its files, and a changed pack can be sealed again"
    if close is None:
        return note
    return f"{note}; `treasury verify --with-workspace` compares it with the journal's hashes"


def proved_by_journal(tables: Sequence[str]) -> str:
    """Return the note on a pack that was compared with the journal."""
    if not tables:
        return (
            "the month was not closed, so the journal has no hashes of stored tables: only the"
            " pack's own seal proves its files"
        )
    return (
        f"the journal's hashes prove {', '.join(tables)}; only the pack's own seal proves its other"
        " files"
    )


def compare_with_journal(
    folder: Path, evidence: Evidence, lake: Lake
) -> tuple[list[Finding], list[str]]:
    """Compare a pack made by other models with the tables that the close stored.

    Return the differences, and notes on what the journal's hashes prove.
    """
    close = close_in(evidence)
    notes = [version_needed(evidence.code)]
    if close is None:
        return [], [*notes, proved_by_journal(())]
    try:
        findings = [*unlike_stored(folder, read_answers(lake.workspace, close))]
    except TreasuryError as error:
        return [Finding("workspace", error.what)], notes
    return findings, [*notes, proved_by_journal(proved_tables(folder, close))]
