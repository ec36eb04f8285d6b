"""Terminal output as aligned plain text, and the rows of the first screens for programs.

The documentation fixes the layout and the words. `text.clean` removes control characters from
outside text, so that it cannot move the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.close.close_words import NOT_USED
from treasury.close.closing import Closing
from treasury.close.month_proof import in_transit, proof_of
from treasury.close.result_words import (
    amount_words,
    amounts_words,
    count,
    day,
    environment_words,
    moment,
    title_words,
)
from treasury.core.calendar import Month
from treasury.core.money import total
from treasury.core.tables.column_types import AMOUNT, DATE, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.core.text import clean
from treasury.core.wording import OUTCOMES
from treasury.lake import Snapshot
from treasury.month.funding import ACCOUNT_CHANGED
from treasury.month.items.evidence_items import NOT_PROVABLE, unprovable_accounts
from treasury.month.question import Question
from treasury.month.reconciliation import Reconciliation, synced_at
from treasury.report.screens.morning_status import Morning, morning_rows

_FUNDING_COLUMNS: Final = (
    "state", "due", "overdue", "ramp_type", "reference", "amount", "to", "approved", "seen",
    "evidence_to", "next_step", "request_id",
)  # fmt: skip


def unknown_screen(question: Question, snapshot: Snapshot, *, why: str) -> str:
    """Return the screen of a month without data: the missing data, and the next step.

    `why` is the reason in the error. Without services, the next step is not a sync.
    """
    zone, synced, has_services = question.zone, synced_at(snapshot), question.uses_services
    statements = _stored_statements(snapshot)
    title = (
        question.month.title, clean(question.company), environment_words(question.environment),
        f"asked at {moment(question.as_of, zone, question.month.year)}",
    )  # fmt: skip
    never = "not known: never read" if has_services else NOT_USED
    read = f"last read {moment(synced, zone)}" if synced else never
    stored = f"{count(statements, 'statement')} stored, none for this month"
    month_step = "choose a month that has statements, or add its own: treasury statements add FILE"
    return "\n".join(
        [
            " · ".join(part for part in title if part),
            f"STATEMENTS   {stored if statements else 'not known: no statement is stored'}",
            f"SERVICES     {read}",
            f"CLOSE        not known: {clean(why)}",
            f"NEXT         {missing_steps(snapshot, uses_services=has_services) or month_step}",
        ]
    )


def missing_steps(snapshot: Snapshot, *, uses_services: bool) -> str:
    """Return the commands that fetch what is not stored yet; empty if every source is stored."""
    is_unread = uses_services and synced_at(snapshot) is None
    steps = ["treasury sync"] if is_unread else []
    steps += [] if _stored_statements(snapshot) else ["treasury statements add FILE"]
    return ", then ".join(steps)


def _stored_statements(snapshot: Snapshot) -> int:
    query = "SELECT count(*) AS n FROM statements WHERE vanished_at IS NULL"
    number: int = snapshot.sql(query)["n"][0].as_py()
    return number


def reconciliation_summary(r: Reconciliation, *, zone: ZoneInfo) -> str:
    """Return the month's bank lines by outcome: counts, and amounts by currency with their sums."""
    reasons: dict[str, int] = {}
    for row in unprovable_accounts(r):
        reason = clean(row["proof"].removeprefix(NOT_PROVABLE).removeprefix(": "))
        reasons[reason] = reasons.get(reason, 0) + 1
    unprovable = [
        f"NOT PROVABLE  credits to {count(number, 'virtual account')}: {reason}"
        for reason, number in sorted(reasons.items())
    ]
    # Items, money in and money out by outcome: one block per currency, with its sum last.
    blocks: dict[str, dict[str, list[dict[str, Any]]]] = {}
    columns = ["outcome", "line_class", "currency", "direction", "amount"]
    for line in r.lines.arrow.select(columns).to_pylist():
        name = "other_business" if line["line_class"] else line["outcome"]
        blocks.setdefault(clean(line["currency"]), {}).setdefault(name, []).append(line)
    return "\n".join(
        [
            title_words(r, zone),
            *unprovable,
            *[
                row
                for currency in sorted(blocks)
                for row in _outcome_block(currency, blocks[currency])
            ],
        ]
    )


_CHANGED: Final = "details changed, compare them first: "
"""What precedes the next step of a payable request with other details, but the same account."""


def funding_view(rows: pa.Table, *, zone: ZoneInfo) -> pa.Table:
    """Return requests awaiting funds for display: text only, in the columns of the screen."""
    as_stored = ("state", "reference", "to", "seen")

    def is_other(row: dict[str, Any]) -> bool:
        return bool(row.get("differs")) and row["state"] != ACCOUNT_CHANGED

    displayed = [
        {
            **{name: clean(row[name]) for name in as_stored},
            "due": day(row["due"]),
            "overdue": overdue_words(row),
            "ramp_type": clean(row["direction"]),
            "amount": amount_words(row["send"], row["currency"]),
            "approved": moment(row["approved"], zone),
            "evidence_to": day(row["evidence_to"]),
            "request_id": f"{clean(row['request'])[:4]}…",
            "next_step": clean(f"{_CHANGED if is_other(row) else ''}{row['next_step']}"),
        }
        for row in rows.to_pylist()
    ]
    schema = pa.schema([(name, TEXT) for name in _FUNDING_COLUMNS])
    return pa.Table.from_pylist(displayed, schema=schema)


def funding_totals(rows: pa.Table) -> str:
    """Return `PAY: 2, EUR 40,000.00 · SENT: 1, EUR 25,000.00`: totals by state and currency."""
    groups: dict[tuple[str, str], list[Decimal | None]] = {}
    for row in rows.select(["state", "currency", "send"]).to_pylist():
        groups.setdefault((row["state"], row["currency"] or "?"), []).append(row["send"])
    return " · ".join(
        f"{state}: {len(amounts)}, {amounts_words((amount, currency) for amount in amounts)}"
        for (state, currency), amounts in groups.items()
    )


def _outcome_block(currency: str, block: dict[str, list[dict[str, Any]]]) -> list[str]:
    outcomes = [(f"  {OUTCOMES[name]}", block[name]) for name in OUTCOMES if name in block]
    everything = [line for _, lines in outcomes for line in lines]
    block_rows: list[tuple[str, ...]] = [(currency, "items", "in", "out")]
    for label, lines in (*outcomes, ("  All lines", everything)):
        sums = (
            total(line["amount"] for line in lines if line["direction"] == direction)
            for direction in ("CRDT", "DBIT")
        )
        bare = (amount_words(amount, currency).removeprefix(f"{currency} ") for amount in sums)
        block_rows.append((label, f"{len(lines):,}", *bare))
    widths = [max(len(row[at]) for row in block_rows) for at in range(4)]
    return [_aligned(row, widths) for row in block_rows]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = f"{cells[0]:<{widths[0]}}"
    padded = (f"{cell:>{width}}" for cell, width in zip(cells[1:], widths[1:], strict=True))
    return "   ".join((first, *padded))


def overdue_words(row: dict[str, Any]) -> str:
    """Return `1 TARGET day`, or an empty text if the request is not overdue."""
    return count(row["overdue"], row["overdue_unit"]) if row["overdue"] > 0 else ""


FACTS: Final = grouped_schema(
    (TEXT, "month", "fact", "name"),
    (INTEGER, "items"),
    (AMOUNT, "amount", "coming", "going"),
    (TEXT, "currency", "turn"),
    (INTEGER, "blocking", "oldest"),
    (TEXT, "clock", "command"),
    (DATE, "proved_to"),
)
"""One row per fact of a first screen; `items` and `blocking` count all and blocking items.

`amount` is null if there is money in and money out; then `coming` and `going` have the amounts.
`proved_to` is the oldest day that an amount of the funds rests on.
"""


def screen_facts(closing: Closing) -> pa.Table:
    """Return statements, bank lines, open items, transit, fees and the close; as in FACTS."""
    month = str(closing.r.month)
    rows = [{"month": month, **row} for row in _facts(closing)]
    return pa.Table.from_pylist(rows, schema=FACTS)


def morning_facts(morning: Morning) -> pa.Table:
    """Return the rows of the morning's screen by currency, and the last ended month; as in FACTS.

    `month` is the current month, and for the fact `month` the last one that ended.
    """
    items, month = morning.items, str(Month.of(morning.now.astimezone(morning.zone).date()))
    facts: list[dict[str, Any]] = [
        {
            "month": month,
            "fact": "funds",
            "name": row["funds"],
            "items": row["positions"],
            "amount": row["amount"],
            "currency": row["currency"] or None,
            "proved_to": row["proved_to"],
            "command": "treasury cash",
        }
        for row in morning.funds.to_pylist()
    ]
    blocks = (
        () if items is None else zip(("today", "waiting for"), morning_rows(items), strict=True)
    )
    for fact, rows in blocks:
        for row in rows:
            for currency in dict.fromkeys(item.currency for item in row.items):
                part = row.items.select(currency=currency)
                sums = dict(part.by_currency.get(currency, ()))
                facts.append(
                    {
                        "month": month,
                        "fact": fact,
                        "name": row.name,
                        "items": len(part),
                        "amount": next(iter(sums.values())) if len(sums) == 1 else None,
                        "coming": sums.get("in"),
                        "going": sums.get("out"),
                        "currency": currency or None,
                        "blocking": len(part.blocking),
                        "command": row.command,
                    }
                )
    ended, state = {}, "closed" if morning.is_closed else "not known"
    if morning.ended is not None:
        ended = {"items": len(morning.ended), "blocking": len(morning.ended.blocking)}
        state = "open"
    facts.append(
        {
            "month": str(morning.month),
            "fact": "month",
            "name": state,
            **ended,
            "command": f"treasury status {morning.month}",
        }
    )
    return pa.Table.from_pylist(facts, schema=FACTS)


def _facts(closing: Closing) -> Iterator[dict[str, Any]]:
    r, proof = closing.r, proof_of(closing.r)
    yield {"fact": "statements", "name": "accounts", "items": proof.accounts}
    yield {"fact": "statements", "name": "proved", "items": proof.proved}
    for outcome, lines in r.counts().items():
        yield {"fact": "bank lines", "name": outcome, "items": lines}
    for group in closing.items.groups:
        yield {
            "fact": "open",
            "name": group.words.name,
            "items": group.items,
            "amount": group.amount,
            "coming": group.coming,
            "going": group.going,
            "currency": group.currency or None,
            "turn": group.turn,
            "blocking": group.blocking,
            "oldest": group.oldest,
            "clock": group.clock,
            "command": group.words.command,
        }
    if not closing.is_unread:
        yield from _money(closing)
    state = "closed" if closing.period is not None else "open"
    blocking = len(closing.items.blocking)
    yield {"fact": "close", "name": state, "items": len(closing.items), "blocking": blocking}


def _money(closing: Closing) -> Iterator[dict[str, Any]]:
    sure, maybe = in_transit(closing.r)
    for name, rows in (("sure", sure), ("may have arrived", maybe)):
        for currency in sorted({row["currency"] for row in rows}):
            amounts = [row["amount"] for row in rows if row["currency"] == currency]
            stated = [amount for amount in amounts if amount is not None]
            yield {
                "fact": "in transit",
                "name": name,
                "items": len(amounts),
                "amount": total(stated) if stated else None,
                "currency": currency,
            }
    for sums in closing.fees.by_currency():
        yield {
            "fact": "fees",
            "name": "completed requests",
            "items": sums.requests,
            "amount": sums.fee,
            "currency": sums.currency,
        }
