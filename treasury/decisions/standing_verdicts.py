"""Decisions that stand, beside what is known now; and the lines that still need one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.decisions.verdict_facts import expectation_facts, line_facts, moved
from treasury.journal.decision_history import Decision
from treasury.lake import AMOUNT, DATE, INSTANT, TEXT
from treasury.reconcile.standing_knowledge import Known

__all__ = ["NEEDS_A_PERSON", "OPEN_LINES", "STANDING", "open_lines", "standing_table"]

NEEDS_A_PERSON: Final = ("suggested", "conflict", "duplicate", "unreferenced")
STANDING: Final = pa.schema(
    [
        ("entry_id", TEXT),
        ("verb", TEXT),
        ("booking_date", DATE),
        ("direction", TEXT),
        ("amount", AMOUNT),
        ("currency", TEXT),
        ("reference", TEXT),
        ("expectation_id", TEXT),
        ("reason", TEXT),
        ("to", TEXT),
        ("decided_by", TEXT),
        ("decided_at", INSTANT),
        ("moved", TEXT),
        ("seq", pa.int64()),
    ]
)
"""A row for each decision that stands and each expectation of it; `moved` says what of its facts
is no longer as it was seen, empty where all is; `seq` is its place in the journal."""
OPEN_LINES: Final = pa.schema(
    [
        ("entry_id", TEXT),
        ("booking_date", DATE),
        ("statement_account", TEXT),
        ("direction", TEXT),
        ("amount", AMOUNT),
        ("currency", TEXT),
        ("outcome", TEXT),
        ("suggestion", TEXT),
        ("reason", TEXT),
        ("counterparty_name", TEXT),
        ("assigned_to", TEXT),
    ]
)


def standing_table(stand: Iterable[Decision], seen: Known) -> pa.Table:
    """Decisions that stand, by time, beside what is known now; columns as in STANDING."""
    stand = list(stand)
    lines = seen.line_rows([one.entry_id for one in stand])
    rows = []
    for one in stand:
        line = lines.get(one.entry_id)
        facts = {
            name: expectation_facts(seen.expectation_rows[name])
            for name in one.expectations
            if name in seen.expectation_rows
        }
        changes = moved(one.facts, line_facts(line) if line else None, facts, seen.rules)
        for expectation in one.expectations or (None,):
            record = seen.expectation_rows.get(expectation or "", {})
            rows.append(
                {
                    "entry_id": one.entry_id,
                    "verb": one.verb,
                    "booking_date": line["booking_date"] if line else None,
                    "direction": line["direction"] if line else None,
                    "amount": line["amount"] if line else None,
                    "currency": line["currency"] if line else None,
                    "reference": record.get("code"),
                    "expectation_id": expectation,
                    "reason": one.reason,
                    "to": one.to,
                    "decided_by": one.by,
                    "decided_at": one.at,
                    "moved": "; ".join(changes),
                    "seq": one.seq,
                }
            )
    return pa.Table.from_pylist(rows, schema=STANDING)


def open_lines(seen: Known, stand: Iterable[Decision]) -> pa.Table:
    """The booked lines that need a person, oldest first; columns as in OPEN_LINES."""
    assigned = {one.entry_id: one.to for one in stand if one.verb == "assign"}
    outcomes = seen.matches.lines
    open_ones = pc.is_in(outcomes["outcome"], pa.array(NEEDS_A_PERSON))
    needed = outcomes.filter(open_ones).to_pylist()
    lines = seen.line_rows([row["entry_id"] for row in needed])
    rows = []
    for row in needed:
        line = lines[row["entry_id"]]
        if (line["entry_status"] or "BOOK") != "BOOK":
            continue
        record = seen.expectation_rows.get(row["expectation_id"] or "", {})
        rows.append(
            {name: line.get(name) for name in OPEN_LINES.names}
            | {
                "outcome": row["outcome"],
                "suggestion": record.get("code"),
                "reason": row["reason"],
                "assigned_to": assigned.get(row["entry_id"]),
            }
        )
    rows.sort(key=lambda row: (row["booking_date"], row["statement_account"], row["entry_id"]))
    return pa.Table.from_pylist(rows, schema=OPEN_LINES)
