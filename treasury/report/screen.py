"""The first screen and the other answers that a terminal shows, as aligned plain text.

The layout is the desk's, to the word. Nothing here moves a cursor: outside text comes through
`words.clean`.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.journal.periods import Period
from treasury.money import total
from treasury.reconcile.monthly import Reconciliation
from treasury.report.fees import Fees, fees_of
from treasury.report.verdict import Need, Verdict, in_transit, verdict
from treasury.report.words import (
    OUTCOMES,
    amount_words,
    amounts_words,
    bank_lines_words,
    count,
    day,
    moment,
    title_words,
)
from treasury.text import clean

__all__ = ["first_screen", "funding_totals", "funding_view", "reconciliation_summary"]

_TEXT: Final = pa.string()
_FUNDING_COLUMNS: Final = (
    "state",
    "due",
    "overdue",
    "direction",
    "reference",
    "send",
    "to",
    "approved",
    "seen",
    "evidence_to",
    "next_step",
    "request",
)


def first_screen(
    r: Reconciliation,
    *,
    zone: ZoneInfo,
    report: Path | None = None,
    period: Period | None = None,
) -> str:
    """The month on one screen; `report` is the report.html to open, where it has been written.

    `period` is the close that locked the month, where one did.
    """
    found = verdict(r, zone)
    opened = clean(report) if report else f"treasury close --month {r.month}"
    lines = [
        *_head(r, found, zone),
        *_needs_table(found.needs),
        _row(f"IN TRANSIT {day(r.month.last)}", transit_words(r)),
        _row("FEES", fees_words(fees_of(r))),
        _row("CLOSE", _close_words(found) if period is None else _closed_words(period, zone)),
        _row("OPEN", f"{opened} · make notebook"),
    ]
    return "\n".join(lines)


def reconciliation_summary(r: Reconciliation, *, zone: ZoneInfo) -> str:
    """What became of the month's bank lines: counts, and sums that tie in each currency."""
    return "\n".join([*_head(r, verdict(r, zone), zone), *_outcome_table(r)])


def funding_view(rows: pa.Table, *, zone: ZoneInfo) -> pa.Table:
    """Requests awaiting funds as a person reads them: text only, in the desk's columns."""
    shown = [_funding_row(row, zone) for row in rows.to_pylist()]
    schema = pa.schema([(name, _TEXT) for name in _FUNDING_COLUMNS])
    return pa.Table.from_pylist(shown, schema=schema)


def funding_totals(rows: pa.Table) -> str:
    """`PAY: 2, EUR 40,000.00 · SENT: 1, EUR 25,000.00`: totals by state and currency."""
    groups: dict[tuple[str, str], list[Decimal | None]] = {}
    for row in rows.select(["state", "currency", "send"]).to_pylist():
        groups.setdefault((row["state"], row["currency"] or "?"), []).append(row["send"])
    return " · ".join(
        f"{state}: {len(amounts)}, {amounts_words((amount, currency) for amount in amounts)}"
        for (state, currency), amounts in groups.items()
    )


def fees_words(fees: Fees) -> str:
    """`EUR 1,912.40 on 18 completed requests`, each currency apart."""
    parts = [
        f"{amount_words(sums.fee, sums.currency)} on "
        + count(sums.requests, "completed request")
        + (f", {sums.without_fee} without a recorded fee" if sums.without_fee else "")
        for sums in fees.by_currency()
    ]
    return " · ".join(parts) or "no request completed"


def transit_words(r: Reconciliation) -> str:
    """`EUR 25,000.00 · USDC 10,000.000000`, and how many more may have arrived."""
    sure, maybe = in_transit(r)
    words = amounts_words((row["amount"], row["currency"]) for row in sure) or "nothing"
    return f"{words}; {len(maybe)} more may have arrived: decide them" if maybe else words


def statements_words(found: Verdict) -> str:
    """`3 of 3 proved, to 31 Oct`."""
    if not found.accounts:
        return "no account is declared in treasury.toml"
    reach = f", to {day(found.proved_to)}" if found.proved_to else ""
    return f"{found.proved} of {found.accounts} proved{reach}"


def _head(r: Reconciliation, found: Verdict, zone: ZoneInfo) -> list[str]:
    lines = [
        title_words(r, zone),
        f"STATEMENTS  {statements_words(found)}",
        f"BANK LINES  {bank_lines_words(r.counts())}",
    ]
    if found.exceptions:
        lines.append(f"NOT PROVABLE   {found.exceptions}")
    return lines


def _row(label: str, text: str) -> str:
    return f"{label:<20}{text}"


def _close_words(found: Verdict) -> str:
    apart = f" ({count(found.apart, 'item')} of other months apart)" if found.apart else ""
    return found.close + apart


def _closed_words(period: Period, zone: ZoneInfo) -> str:
    """Who closed the month, and what was open then; what came later stands above."""
    close = period.close
    still = sum(item["items"] for item in close.open_items)
    return clean(
        f"closed by {close.prepared_by}, reviewed by {close.reviewed_by},"
        f" {moment(period.closed_at, zone)}" + (f", {count(still, 'item')} open" if still else "")
    )


def _needs_table(needs: Sequence[Need]) -> list[str]:
    """The desk's table; columns widen for what is in them and never run into each other."""
    if not needs:
        return [_row("NEEDS YOU", "nothing")]
    figures = [_figures(need) for need in needs]
    label = max(27, *(len(need.words.label) + 2 for need in needs))
    unit = max(len(currency) for currency, _ in figures)
    number = max(10, *(len(amount) for _, amount in figures))
    lines = [f"{'NEEDS YOU':<{label}}{'items':>7}{'amount':>{4 + unit + 1 + number}}   command"]
    for need, (currency, amount) in zip(needs, figures, strict=True):
        left = f"  {need.words.label:<{label - 2}}{need.items:>7,}"
        lines.append(f"{left}    {currency:<{unit}} {amount:>{number}}   {need.words.command}")
    return lines


def _figures(need: Need) -> tuple[str, str]:
    currency = clean(need.currency)
    if need.amount is None:
        return currency, "not recorded"
    return currency, amount_words(need.amount, currency).removeprefix(f"{currency} ")


def _outcome_table(r: Reconciliation) -> list[str]:
    """Items, money in and money out by outcome, a block for each currency, ending in its sum."""
    blocks: dict[str, dict[str, list[dict[str, Any]]]] = {}
    columns = ["outcome", "line_class", "currency", "direction", "amount"]
    for line in r.lines.select(columns).to_pylist():
        name = "other_business" if line["line_class"] else line["outcome"]
        blocks.setdefault(clean(line["currency"]), {}).setdefault(name, []).append(line)
    return [
        row for currency in sorted(blocks) for row in _outcome_block(currency, blocks[currency])
    ]


def _outcome_block(currency: str, block: dict[str, list[dict[str, Any]]]) -> list[str]:
    named = [(f"  {OUTCOMES[name]}", block[name]) for name in OUTCOMES if name in block]
    everything = [line for _, lines in named for line in lines]
    shown: list[tuple[str, ...]] = [(currency, "items", "in", "out")]
    for label, lines in (*named, ("  All lines", everything)):
        sums = (
            total(line["amount"] for line in lines if line["direction"] == direction)
            for direction in ("CRDT", "DBIT")
        )
        shown.append((label, f"{len(lines):,}", *(_bare(amount, currency) for amount in sums)))
    widths = [max(len(row[at]) for row in shown) for at in range(4)]
    return [_aligned(row, widths) for row in shown]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = f"{cells[0]:<{widths[0]}}"
    rest = (f"{cell:>{width}}" for cell, width in zip(cells[1:], widths[1:], strict=True))
    return "   ".join((first, *rest))


def _bare(amount: Decimal, currency: str) -> str:
    return amount_words(amount, currency).removeprefix(f"{currency} ")


def overdue_words(row: dict[str, Any]) -> str:
    """`1 TARGET day`, or nothing while it is not overdue."""
    return count(row["overdue"], row["overdue_unit"]) if row["overdue"] > 0 else ""


def _funding_row(row: dict[str, Any], zone: ZoneInfo) -> dict[str, str]:
    texts = {name: clean(row[name]) for name in ("state", "direction", "reference", "to", "seen")}
    return {
        **texts,
        "due": day(row["due"]),
        "overdue": overdue_words(row),
        "send": amount_words(row["send"], row["currency"]),
        "approved": moment(row["approved"], zone),
        "evidence_to": day(row["evidence_to"]),
        "next_step": clean(row["next_step"]),
        "request": f"{clean(row['request'])[:4]}…",
    }
