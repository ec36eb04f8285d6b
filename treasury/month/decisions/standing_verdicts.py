"""Two lists: decisions in force with later changes, and bank lines that need a decision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.journal.decision_history import Decision
from treasury.month.decisions.verdict_facts import expectation_facts, line_facts, moved
from treasury.month.standing_knowledge import Knowledge

_OF_LINE: Final = ("booking_date", "direction", "amount", "currency")
NEEDS_A_PERSON: Final = ("suggested", "conflict", "duplicate", "unreferenced")
STANDING: Final = grouped_schema(
    (TEXT, "entry_id", "verb"),
    (DATE, "booking_date"),
    (TEXT, "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "reference", "expectation_id", "reason", "to", "decided_by"),
    (INSTANT, "decided_at"),
    (TEXT, "moved"),
    (INTEGER, "seq"),
    (TEXT, "proposed_by"),
)
"""One row per decision in force and expectation.

`moved` lists the facts that have changed since the decision; it is empty if none has. `seq` is the
decision's place in the journal. `proposed_by` is the person that a sheet names as the proposer,
empty for a decision without a sheet.
"""
OPEN_LINES: Final = grouped_schema(
    (TEXT, "entry_id"),
    (DATE, "booking_date"),
    (TEXT, "statement_account", "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "outcome", "suggestion", "reason", "counterparty_name", "assigned_to"),
)
OPEN_LINE_KEYS: Final = (
    "booking_date", "direction", "amount", "signed_amount", "currency", "outcome", "suggestion",
    "counterparty_name", "reason",
)  # fmt: skip
"""The columns of OPEN_LINES to show first."""


def standing_table(stand: Iterable[Decision], knowledge: Knowledge) -> pa.Table:
    """Return the decisions in force by time, with changed facts; columns as in STANDING."""
    stand = list(stand)
    lines = knowledge.line_rows([decision.entry_id for decision in stand])
    rows = []
    for decision in stand:
        line = lines.get(decision.entry_id)
        facts = {
            name: expectation_facts(knowledge.expectation_rows[name])
            for name in decision.expectations
            if name in knowledge.expectation_rows
        }
        changes = moved(decision.facts, line_facts(line) if line else None, facts, knowledge.rules)
        for expectation in decision.expectations or (None,):
            record = knowledge.expectation_rows.get(expectation or "", {})
            rows.append(
                {
                    "entry_id": decision.entry_id,
                    "verb": decision.verb,
                    **{name: line[name] if line else None for name in _OF_LINE},
                    "reference": record.get("code"),
                    "expectation_id": expectation,
                    "reason": decision.reason,
                    "to": decision.to,
                    "decided_by": decision.by,
                    "decided_at": decision.at,
                    "moved": "; ".join(changes),
                    "seq": decision.seq,
                    "proposed_by": decision.proposed_by or None,
                }
            )
    return pa.Table.from_pylist(rows, schema=STANDING)


def open_lines(knowledge: Knowledge, stand: Iterable[Decision]) -> pa.Table:
    """Return the booked lines that need a decision, oldest first; columns as in OPEN_LINES."""
    assigned = {decision.entry_id: decision.to for decision in stand if decision.verb == "assign"}
    outcomes = knowledge.matches.lines
    is_open = pc.is_in(outcomes.arrow["outcome"], pa.array(NEEDS_A_PERSON))
    needed = outcomes.arrow.filter(is_open).to_pylist()
    lines = knowledge.line_rows([row["entry_id"] for row in needed])
    rows = []
    for row in needed:
        line = lines[row["entry_id"]]
        if (line["entry_status"] or "BOOK") != "BOOK":
            continue
        record = knowledge.expectation_rows.get(row["expectation_id"] or "", {})
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
