"""What people decided about matches, as the table that the matching takes.

`match.accept`, `match.reject` and `match.ignore` close a pair of a bank line and an expectation;
`match.undo` opens it again. The latest word on a pair counts.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from treasury.journal.store import Journal

__all__ = ["DECISIONS", "decisions"]

DECISIONS: Final = pa.schema(
    [
        ("entry_id", pa.string()),
        ("expectation_id", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("decided_by", pa.string()),
        ("decided_at", pa.timestamp("us", tz="UTC")),
    ]
)

_KIND: Final = "match."
_UNDO: Final = "undo"


def decisions(journal: Journal) -> pa.Table:
    """The decision that stands for each bank line and expectation, by line then expectation."""
    latest: dict[tuple[str, str], dict[str, object]] = {}
    for entry in journal.entries(_KIND):
        line, expectation = entry.body.get("entry_id"), entry.body.get("expectation_id")
        pair = (line or entry.subject, expectation or "")
        latest.pop(pair, None)
        verdict = entry.kind.removeprefix(_KIND)
        if verdict != _UNDO:
            latest[pair] = {
                "entry_id": pair[0],
                "expectation_id": expectation,
                "verdict": verdict,
                "reason": entry.body.get("reason"),
                "decided_by": entry.actor.name,
                "decided_at": entry.at,
            }
    return pa.Table.from_pylist([latest[pair] for pair in sorted(latest)], schema=DECISIONS)
