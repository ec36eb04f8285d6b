"""The report's sections on lines that need attention, and on people's decisions about lines.

The best candidate of a line is shown; the other candidates, scores and the margin can be expanded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.result_words import (
    amount_words,
    amounts_words,
    count,
    day,
    moment,
    outcome_word,
    reason_words,
)
from treasury.core.identifiers import plain_account
from treasury.core.tables.column_types import AMOUNT, DATE, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.core.text import clean
from treasury.core.wording import DIRECTIONS, OUTCOME_MEANINGS, OUTCOMES
from treasury.month.funding import short_account
from treasury.month.items.item_facts import needing_a_person
from treasury.month.reconciliation import Reconciliation
from treasury.report.grids import Cell, Grid, Section, amount_cell, filled, make_cell, make_grid

_EXCEPTIONS: Final = {
    "suggested": f"{OUTCOMES['suggested']}: candidates of each line",
    "conflict": f"{OUTCOMES['conflict']}: a fact contradicts the reference",
    **{outcome: OUTCOMES[outcome] for outcome in ("duplicate", "unreferenced", "returned")},
}


OPEN_LINES: Final = grouped_schema(
    (DATE, "booking_date"),
    (TEXT, "on_screen", "account", "direction"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "counterparty_name", "reference", "why"),
)


def exceptions_section(r: Reconciliation) -> Section:
    """Return a table for each outcome that needs attention."""
    table = r.lines.arrow.filter(pc.is_null(r.lines.arrow["line_class"]))
    is_exception = pc.is_in(table["outcome"], pa.array(list(_EXCEPTIONS), pa.string()))
    lines = table.filter(is_exception).to_pylist()
    grids = []
    for outcome, caption in _EXCEPTIONS.items():
        own = [line for line in lines if line["outcome"] == outcome]
        grids.append(_lines_grid(r, f"{caption}, {count(len(own), 'line')}", own, "Lines"))
    lead = "" if lines else "Every line of the month is matched or is other business."
    legend = tuple(
        f"{OUTCOMES[outcome]}: {OUTCOME_MEANINGS[outcome]}."
        for outcome in _EXCEPTIONS
        if any(line["outcome"] == outcome for line in lines)
    )
    return Section("exceptions", "Exceptions", lead, filled(*grids), legend)


def open_lines(r: Reconciliation) -> pa.Table:
    """Return the lines that need a person, those of earlier months first; columns as in OPEN_LINES.

    `on_screen` is the outcome in words, `why` the reasons for the suggested candidate. Amounts are
    in `currency`.
    """
    rows = [
        {
            **{name: line[name] for name in OPEN_LINES.names if name in line},
            "on_screen": outcome_word(line),
            "direction": DIRECTIONS.get(line["direction"], line["direction"]),
            "account": short_account(line["account"]),
            "why": reason_words(line["reason"]) if line["outcome"] == "suggested" else "",
        }
        for table in (r.earlier_lines, r.lines)
        for line in needing_a_person(table.arrow).to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=OPEN_LINES)


def earlier_section(r: Reconciliation, late: pa.Table, zone: ZoneInfo) -> Section:
    """Return the open lines of earlier months, and facts known only after a month's close."""
    lines, year = r.earlier_lines.arrow.to_pylist(), r.month.year
    lead = "No line of an earlier month is open."
    if lines:
        sums = amounts_words((line["amount"], line["currency"]) for line in lines)
        lead = f"{count(len(lines), 'line')}, {sums}; open items of this month too."
    grids = filled(
        _lines_grid(r, "Open lines of earlier months", lines, "Earlier lines"),
        make_grid(
            "Facts about closed months that came after their close",
            "Booked | Month | >Amount | What | Known from | Posts to",
            late,
            lambda row: (
                day(row["booking_date"], year),
                make_cell(row["month"], f"close: entry {row['close_entry']}"),
                amount_cell(row),
                make_cell(row["change"], row["what"]),
                moment(row["known_from"], zone, year),
                row["posts_to"],
            ),
            sheet="Late items",
        ),
    )
    title = "Open lines of earlier months, and late facts"
    return Section("earlier", title, lead, grids)


def _lines_grid(
    r: Reconciliation, caption: str, lines: Sequence[Mapping[str, Any]], sheet: str
) -> Grid:
    suggested = [line for line in lines if line["outcome"] == "suggested"]
    candidates = _candidates(r, [line["entry_id"] for line in suggested])
    rows = (*suggested, *(row for rows in candidates.values() for row in rows))
    references = _references(r, {row["expectation_id"] for row in rows})

    def row(line: Mapping[str, Any]) -> tuple[object, ...]:
        reached = line["account"] != plain_account(line["statement_account"])
        account = short_account(line["account"])
        sign = "+" if line["direction"] == "CRDT" else "−"
        return (
            day(line["booking_date"], r.month.year),
            make_cell(line["counterparty_name"] or "no name", line["remittance"]),
            f"virtual {account}" if reached else account,
            f"{sign} {amount_words(line['amount'], line['currency'])}",
            _finding(line, candidates.get(line["entry_id"], ()), references),
        )

    heads = "Booked | Counterparty | Account | >Amount | Finding"
    return make_grid(caption, heads, lines, row, sheet=sheet, widths=(7, 36, 12, 15, 30))


def _finding(
    line: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]], references: Mapping[str, str]
) -> Cell:
    if line["outcome"] != "suggested":
        reference = f"for {line['reference']}" if line["reference"] else ""
        return make_cell(outcome_word(line), reference)
    candidate_words: tuple[str, ...] = ()
    for row in candidates:
        named = references.get(row["expectation_id"], row["expectation_id"])
        words = clean(f"{named}: {reason_words(row['reason'])} ({row['score']:.2f})")
        candidate_words = (*candidate_words, words)
    if line["margin"] is not None:
        candidate_words = (*candidate_words, f"Margin over the runner-up: {line['margin']:.2f}")
    best = line["reference"] or references.get(line["expectation_id"], "unknown")
    details = candidate_words if len(candidate_words) > 1 else ()
    return Cell(clean(f"May be {best}"), reason_words(line["reason"]), details=details)


def _candidates(r: Reconciliation, entries: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the candidates of each of these lines, best first."""
    if not entries:
        return {}
    table = r.matches.candidates.arrow
    candidates = table.filter(pc.is_in(table["entry_id"], pa.array(entries, pa.string())))
    by_entry: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(candidates.to_pylist(), key=lambda row: row["rank"]):
        by_entry.setdefault(row["entry_id"], []).append(row)
    return by_entry


def _references(r: Reconciliation, records: Collection[str | None]) -> dict[str, str]:
    """Return these expectations' references, as far as the reconciliation's tables have them."""
    references: dict[str, str] = {}
    if not records:
        return references
    ids = pa.array(sorted(filter(None, records)), pa.string())
    for table, key in (
        (r.fee_requests, "request_id"),
        (r.in_transit, "request_id"),
        (r.awaiting_funds, "request"),
        (r.virtual_accounts, "virtual_bank_account_id"),
        (r.lines, "expectation_id"),
    ):
        rows = table.arrow.filter(pc.is_in(table.arrow[key], ids))
        for row in rows.select([key, "reference"]).to_pylist():
            if row["reference"]:
                references[row[key]] = row["reference"]
    return references


def decisions_section(r: Reconciliation, zone: ZoneInfo) -> Section:
    """Return people's decisions about lines of the month and requests: who, what, why."""
    # A rule that classifies a line is not a decision; the section on assumptions lists the rules.
    closed = pc.and_(
        pc.equal(r.lines.arrow["outcome"], "ignored"), pc.is_null(r.lines.arrow["rule_name"])
    )
    is_decided = pc.or_(pc.is_valid(r.lines.arrow["decided_by"]), closed)
    decided = r.lines.arrow.filter(pc.fill_null(is_decided, fill_value=False))
    year = r.month.year
    lines = make_grid(
        "Decisions about lines of the month",
        "Who | Booked | Counterparty | >Amount | What and why",
        decided,
        lambda line: (
            make_cell(line["decided_by"] or "not recorded", moment(line["decided_at"], zone, year)),
            day(line["booking_date"], year),
            make_cell(line["counterparty_name"] or "no name", line["remittance"]),
            amount_cell(line),
            make_cell(outcome_word(line), line["reference"] or ""),
        ),
        sheet="Lines",
    )
    grids = filled(lines, _remarks_grid(r, zone))
    lead = "" if grids else "There are no decisions about this month."
    return Section("decisions", "Decisions", lead, grids)


def _remarks_grid(r: Reconciliation, zone: ZoneInfo) -> Grid:
    remarks = None if r.basis is None else r.basis.remarks
    rows = [] if remarks is None else remarks.to_pylist()
    references = _references(r, {row["request_id"] for row in rows})
    return make_grid(
        "Remarks on ramp requests; a remark is not evidence",
        "Who | When | Request | Remark | Payment file",
        rows,
        lambda row: (
            row["marked_by"] or row["filed_by"],
            moment(row["marked_at"] or row["filed_at"], zone),
            references.get(row["request_id"], row["request_id"]),
            make_cell(
                "–" if row["mark"] is None else row["mark"].replace("_", " "), row["reason"] or ""
            ),
            make_cell("–")
            if row["file"] is None
            else make_cell(row["file"], f"by {row['filed_by']}, {moment(row['filed_at'], zone)}"),
        ),
        sheet="Remarks",
    )
