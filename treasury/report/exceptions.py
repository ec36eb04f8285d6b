"""The lines of a month that are not simply matched, and what people decided about lines.

The best candidate is shown; the others, their scores and the margin open only when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.reconcile.monthly import Reconciliation
from treasury.report.grids import Cell, Section, amount_cell, make_cell, make_grid
from treasury.report.words import (
    amount_words,
    clean,
    count,
    day,
    outcome_word,
    plain_account,
    short_account,
)

__all__ = ["UNEXPLAINED", "decisions_section", "exceptions_section"]

UNEXPLAINED: Final = ("suggested", "conflict", "duplicate", "unreferenced")
"""Outcomes that somebody has still to explain."""
EXCEPTIONS: Final = {
    "suggested": "Needs decision: what each line may belong to",
    "conflict": "Contradicted: something speaks against the reference",
    "duplicate": "Paid twice",
    "unreferenced": "No reference",
    "returned": "Returned",
}


def exceptions_section(r: Reconciliation) -> Section:
    """A table for each outcome that needs a look."""
    lines = [line for line in r.lines.to_pylist() if not line["line_class"]]
    candidates = _candidates(
        r, [line["entry_id"] for line in lines if line["outcome"] == "suggested"]
    )
    named = _references(r)
    booked = {line["entry_id"]: line["booking_date"] for line in lines}
    grids = []
    for outcome, caption in EXCEPTIONS.items():
        own = [line for line in lines if line["outcome"] == outcome]
        if own:
            grids.append(
                make_grid(
                    f"{caption}, {count(len(own), 'line')}",
                    "Booked | Counterparty | Account | >Amount | Finding",
                    own,
                    lambda line: _exception_row(line, booked, candidates, named),
                    sheet="Lines",
                    widths=(7, 36, 12, 15, 30),
                )
            )
    lead = "" if grids else "Every line of the month is matched or is other business."
    return Section("exceptions", "Exceptions", lead, tuple(grids))


def _exception_row(
    line: Mapping[str, Any],
    booked: Mapping[str, date],
    candidates: Mapping[str, list[dict[str, Any]]],
    named: Mapping[str, str],
) -> tuple[Cell, ...]:
    reached = line["account"] != plain_account(line["statement_account"])
    account = (
        f"virtual {short_account(line['account'])}" if reached else short_account(line["account"])
    )
    sign = "+" if line["direction"] == "CRDT" else "−"
    return (
        make_cell(day(line["booking_date"])),
        make_cell(line["counterparty_name"] or "no name", line["remittance"]),
        make_cell(account),
        make_cell(f"{sign} {amount_words(line['amount'], line['currency'])}"),
        _finding(line, booked, candidates.get(line["entry_id"], []), named),
    )


def _finding(
    line: Mapping[str, Any],
    booked: Mapping[str, date],
    candidates: Sequence[Mapping[str, Any]],
    named: Mapping[str, str],
) -> Cell:
    if line["outcome"] != "suggested":
        reference = f"for {line['reference']}" if line["reference"] else ""
        return make_cell(outcome_word(line, booked), reference)
    shown: tuple[str, ...] = tuple(_candidate(candidate, named) for candidate in candidates)
    if line["runner_up_id"] is not None:
        shown = (*shown, f"Margin over the runner-up: {line['margin']:.2f}")
    best = f"May be {line['reference'] or named.get(line['expectation_id'], 'unknown')}"
    return Cell(clean(best), clean(line["reason"]), details=shown if len(shown) > 1 else ())


def _candidate(row: Mapping[str, Any], named: Mapping[str, str]) -> str:
    called = named.get(row["expectation_id"], row["expectation_id"])
    return clean(f"{called}: {row['reason']} ({row['score']:.2f})")


def _candidates(r: Reconciliation, entries: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """The candidates of some lines, best first."""
    table = r.matches.candidates
    wanted = table.filter(pc.is_in(table["entry_id"], pa.array(entries, pa.string())))
    found: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(wanted.to_pylist(), key=lambda row: row["rank"]):
        found.setdefault(row["entry_id"], []).append(row)
    return found


def _references(r: Reconciliation) -> dict[str, str]:
    """What a person calls an expectation, where some table of the answer says it."""
    named: dict[str, str] = {}
    for table, key in (
        (r.fee_requests, "request_id"),
        (r.in_transit, "request_id"),
        (r.awaiting_funds, "request"),
        (r.virtual_accounts, "virtual_bank_account_id"),
        (r.lines, "expectation_id"),
    ):
        for row in table.select([key, "reference"]).to_pylist():
            if row[key] and row["reference"]:
                named[row[key]] = row["reference"]
    return named


def decisions_section(r: Reconciliation) -> list[Section]:
    """Lines that a person accepted or closed; no section where there are none."""
    rows = [
        line
        for line in r.lines.to_pylist()
        if not line["line_class"]
        and (line["outcome"] == "ignored" or (line["reason"] or "").startswith("accepted"))
    ]
    if not rows:
        return []
    grid = make_grid(
        "What people decided about lines of the month",
        "Booked | Counterparty | >Amount | Decision",
        rows,
        lambda line: (
            make_cell(day(line["booking_date"])),
            make_cell(line["counterparty_name"] or "no name", line["remittance"]),
            amount_cell(line),
            make_cell(outcome_word(line), line["reference"] or ""),
        ),
        sheet="Lines",
    )
    return [Section("decisions", "Decisions", "", (grid,))]
