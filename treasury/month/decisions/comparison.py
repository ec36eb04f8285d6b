"""The changes between two answers and their causes: records, decisions or rules.

A reconciliation depends on records, decisions and rules alone. The comparison starts from the first
answer and replaces records, decisions and rules one after the other by those of the second. If a
line changes at one of these steps, the step is the cause. If records are the cause, the change is
attributed to the line itself, to its expectations or to other lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import ClassVar, Final

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.money import format_amount, total
from treasury.core.tables.column_types import AMOUNT, DATE, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.core.text import safe_html
from treasury.core.wording import instant_words
from treasury.month.decisions.verdict_facts import expectation_facts, line_facts, moved
from treasury.month.reconciliation import Basis, step_sql
from treasury.month.standing_knowledge import Knowledge, run_knowledge

MOVES: Final = grouped_schema(
    (TEXT, "entry_id"),
    (DATE, "booking_date"),
    (TEXT, "account", "direction"),
    (AMOUNT, "amount"),
    (
        TEXT,
        "currency",
        "from_outcome",
        "from_reference",
        "to_outcome",
        "to_reference",
        "cause",
        "why",
    ),
)
"""One row per bank line whose outcome, expectation, matched amount or class changes.

`from_outcome` is null for a new line, `to_outcome` for a line that was removed. For a classed line
they are its class.

`cause`: new statement, line changed, record changed, another line, decision, rule; several are
joined by `+`.
"""
TOTALS: Final = grouped_schema(
    (TEXT, "currency", "direction", "from_outcome", "to_outcome", "cause"),
    (INTEGER, "lines"),
    (AMOUNT, "amount"),
)
"""The moves by currency, direction (CRDT or DBIT), outcomes and cause; amounts in `currency`."""

_TOTALLED: Final = ("currency", "direction", "from_outcome", "to_outcome", "cause")
_OUTCOME_COLUMNS: Final = ("outcome", "expectation_id", "matched_amount", "line_class")
_Within = Callable[[date], bool]


class Comparison(Tables, msgspec.Struct, frozen=True, eq=False):
    """The changes between two answers: `moves` as in MOVES, `totals` as in TOTALS."""

    printed: ClassVar[Sequence[str]] = ("totals", "moves")

    title: str
    moves: Table
    totals: Table

    def sheets(self) -> Mapping[str, Table]:
        """Return the lines that moved, and their sums, by sheet name."""
        return {"Moved": self.moves, "Totals": self.totals}

    @property
    def sql(self) -> str:
        """The SQL that computes the outcomes; both answers run it on their own inputs."""
        return step_sql("outcomes")

    def __len__(self) -> int:
        return len(self.moves)

    def __repr__(self) -> str:
        return f"<Comparison {self.title}: {len(self)} lines moved>"

    def _repr_html_(self) -> str:
        head = f"<p>{safe_html(self.title)}: {len(self)} lines moved</p>"
        if not len(self):
            return head
        return head + self.totals._repr_html_() + self.moves._repr_html_()


def compare_bases(a: Basis, b: Basis) -> Comparison:
    """Compare the answers from two sets of inputs; raise InputError if their months differ."""
    month = a.question.month
    if month != b.question.month:
        raise InputError(
            f"{month} and {b.question.month} have different lines", do="compare one month"
        )

    def within(day: date) -> bool:
        return month.first <= day <= month.last

    old_rules = msgspec.structs.replace(b.question, rules=a.question.rules)
    first = run_knowledge(a)
    records = run_knowledge(Basis(b.snapshot, old_rules, a.decisions))
    decided = records
    if not a.decisions.equals(b.decisions):
        decided = run_knowledge(Basis(b.snapshot, old_rules, b.decisions))
    last = decided if a.question.rules == b.question.rules else run_knowledge(b)
    steps = (
        ("records", first, records),
        ("decision", records, decided),
        ("rule", decided, last),
    )
    moves = _moves(first, last, steps, within)
    zone = b.question.zone
    first_at, last_at = (basis.question.as_of.astimezone(zone) for basis in (a, b))
    title = f"{month}, {instant_words(first_at)} to {instant_words(last_at)}"
    return Comparison(title, moves, totals_of(moves))


def moves_between(first: Knowledge, last: Knowledge, cause: str) -> pa.Table:
    """Return the lines of all months that change if the input `cause` is replaced; as in MOVES."""
    return _moves(first, last, ((cause, first, last),), lambda _: True)


def totals_of(moves: pa.Table) -> pa.Table:
    """Sum the moves by currency, direction, outcomes and cause; as in TOTALS."""
    groups: dict[tuple[str, ...], list[Decimal]] = {}
    for row in moves.to_pylist():
        key = tuple(row[name] or "" for name in _TOTALLED)
        groups.setdefault(key, []).append(row["amount"])
    rows = [
        {
            **{name: part or None for name, part in zip(_TOTALLED, key, strict=True)},
            "lines": len(amounts),
            "amount": total(amounts),
        }
        for key, amounts in sorted(groups.items())
    ]
    return pa.Table.from_pylist(rows, schema=TOTALS)


def _moves(
    first: Knowledge,
    last: Knowledge,
    steps: Iterable[tuple[str, Knowledge, Knowledge]],
    within: _Within,
) -> pa.Table:
    causes: dict[str, list[tuple[str, Knowledge, Knowledge]]] = {}
    for step in steps:
        if step[1] is step[2]:
            continue
        before, after = _outcome_rows(step[1]), _outcome_rows(step[2])
        for entry in sorted({*before, *after}):
            if before.get(entry) != after.get(entry):
                causes.setdefault(entry, []).append(step)
    lines = first.line_rows(causes) | last.line_rows(causes)
    rows = []
    for entry, of in causes.items():
        line = lines.get(entry)
        if line is None or not within(line["booking_date"]):
            continue
        reasons = [_cause_of_move(entry, *step) for step in of]
        rows.append(
            {
                **{name: line[name] for name in ("entry_id", "booking_date", "direction")},
                **{name: line[name] for name in ("amount", "currency")},
                "account": line["statement_account"],
                **_end("from", first, entry),
                **_end("to", last, entry),
                "cause": " + ".join(dict.fromkeys(cause for cause, _ in reasons)),
                "why": "; ".join(why for _, why in reasons if why),
            }
        )
    rows.sort(key=lambda row: (row["booking_date"], row["account"], row["entry_id"]))
    return pa.Table.from_pylist(rows, schema=MOVES)


def _outcome_rows(run: Knowledge) -> dict[str, tuple[object, ...]]:
    lines = run.matches.lines
    columns = (lines.arrow[name].to_pylist() for name in _OUTCOME_COLUMNS)
    return dict(zip(lines.arrow["entry_id"].to_pylist(), zip(*columns, strict=True), strict=True))


def _end(side: str, run: Knowledge, entry: str) -> dict[str, str | None]:
    row = run.outcomes.get(entry) or {}
    record = run.expectation_rows.get(row.get("expectation_id") or "", {})
    outcome = row.get("line_class") or row.get("outcome")
    return {f"{side}_outcome": outcome, f"{side}_reference": record.get("code")}


def _cause_of_move(entry: str, cause: str, first: Knowledge, last: Knowledge) -> tuple[str, str]:
    """Return the cause of a line's move at one step, and its explanation."""
    outcome = last.outcomes.get(entry)
    reason = str(outcome["reason"]) if outcome else ""
    if cause != "records":
        return cause, reason
    before = first.line_rows([entry]).get(entry)
    after = last.line_rows([entry]).get(entry)
    if before is None and after is not None:
        return "new statement", f"read from {after['file_name']}"
    if before is None or after is None:
        return "line changed", "a later statement no longer contains it"
    facts = {"line": line_facts(before)}
    changes = moved(facts, line_facts(after), {}, last.rules)
    if changes:
        return "line changed", "; ".join(changes)
    # The line's earlier expectation or its current one may have changed.
    records = (run.outcomes[entry]["expectation_id"] for run in (first, last))
    for name in dict.fromkeys(record for record in records if record):
        before, after = (run.expectation_rows.get(name) for run in (first, last))
        if before is None and after is not None:
            amount = after["amount"]
            worth = "" if amount is None else f" of {format_amount(amount, after['currency'])}"
            changes.append(f"{after['code'] or name}{worth} is new")
        elif before is not None and after is None:
            changes.append(f"{before['code'] or name}: the record is gone")
        elif before is not None and after is not None:
            then, now = expectation_facts(before), expectation_facts(after)
            changes += [
                f"{then['code'] or name}: {key} was {then[key] or 'none'}, is {now[key] or 'none'}"
                for key in then
                if then[key] != now[key]
            ]
    return ("record changed", "; ".join(changes)) if changes else ("another line", reason)
