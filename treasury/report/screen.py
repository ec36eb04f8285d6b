"""The first screen and other terminal output, as aligned plain text or as rows.

The documentation fixes the layout and the words. `text.clean` removes control characters from
outside text, so that it cannot move the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.close.close_words import (
    NOT_USED,
    fees_words,
    signature_words,
    statements_words,
    transit_words,
    unread_words,
)
from treasury.close.closing import Closing
from treasury.close.month_proof import in_transit, proof_of
from treasury.close.result_words import (
    amount_words,
    amounts_words,
    bank_lines_words,
    count,
    day,
    environment_words,
    moment,
    title_words,
)
from treasury.core.money import total
from treasury.core.tables.column_types import AMOUNT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.core.text import clean
from treasury.core.wording import OUTCOMES
from treasury.lake import Snapshot
from treasury.month.items import TURNS, ItemGroup, OpenItems
from treasury.month.items.evidence_items import NOT_PROVABLE, unprovable_accounts
from treasury.month.question import Question
from treasury.month.reconciliation import Reconciliation, synced_at

_FUNDING_COLUMNS: Final = (
    "state", "due", "overdue", "direction", "reference", "send", "to", "approved", "seen",
    "evidence_to", "next_step", "request",
)  # fmt: skip


def first_screen(
    closing: Closing, *, report: Path | None = None, width: int | None = None, late: int = 0
) -> str:
    """Return the month on one screen; `report` is the path of report.html, if written.

    With a small `width`, the list of open items omits the commands, then the ages. `late` is the
    number of later facts about a closed month, which do not change it.
    """
    r, zone = closing.r, closing.zone
    to_read = clean(report) if report else f"treasury close {r.month}"
    late_words = f"{count(late, 'item')} since the close: treasury periods late"
    late_rows = [_row("LATE", late_words)] if late else []
    close, unread = close_words(closing.items), unread_words(closing)
    if closing.period is not None:
        number = len(closing.items)
        carried = f", {count(number, 'open item')} carried" if number else ""
        verdict = exception_words(closing.items)
        close = f"{signature_words(closing)}{carried}{f'; {verdict}' if verdict else ''}"
    elif closing.preparation is not None:
        close = f"{close}; {signature_words(closing)}"
    lines = [
        *_head(r, zone),
        *_items_table(closing.items, width),
        _row(f"IN TRANSIT {day(r.month.last)}", unread or transit_words(r)),
        _row("FEES", unread or fees_words(closing.fees)),
        _row("CLOSE", close),
        *late_rows,
        _row("REPORT", f"{to_read} · treasury notebook"),
    ]
    return "\n".join(lines)


SERVICES_ADD: Final = """\
the services would add what is to be paid, what was delivered,
            coins, balances and fees: docs/setup.md"""
"""The line of the first screen for a workspace that has only bank files."""


def unknown_screen(
    question: Question, snapshot: Snapshot, *, why: str, has_services: bool = True
) -> str:
    """Return the first screen of a month without data: the missing data, and the next step.

    `why` is the reason in the error. Without services, the next step is not a sync.
    """
    zone, synced = question.zone, synced_at(snapshot)
    statements: int = snapshot.sql(
        "SELECT count(*) AS n FROM statements WHERE vanished_at IS NULL"
    )["n"][0].as_py()
    title = (
        question.month.title, clean(question.company), environment_words(question.environment),
        f"asked at {moment(question.as_of, zone, question.month.year)}",
    )  # fmt: skip
    never = "not known: never read" if has_services else NOT_USED
    read = f"last read {moment(synced, zone)}" if synced else never
    stored = f"{count(statements, 'statement')} stored, none for this month"
    steps = [] if synced is not None or not has_services else ["treasury sync"]
    steps += [] if statements else ["treasury statements add FILE"]
    month_step = "choose a month that has statements, or add its own: treasury statements add FILE"
    return "\n".join(
        [
            " · ".join(part for part in title if part),
            f"STATEMENTS  {stored if statements else 'not known: no statement is stored'}",
            f"SERVICES    {read}",
            _row("OPEN", f"not known: {clean(why)}"),
            _row("CLOSE", "not known"),
            _row("NEXT", ", then ".join(steps) or month_step),
        ]
    )


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
            *_head(r, zone),
            *unprovable,
            *[
                row
                for currency in sorted(blocks)
                for row in _outcome_block(currency, blocks[currency])
            ],
        ]
    )


_CHANGED: Final = "details changed, compare them first: "


def funding_view(rows: pa.Table, *, zone: ZoneInfo) -> pa.Table:
    """Return requests awaiting funds for display: text only, in the columns of the screen."""
    as_stored = ("state", "direction", "reference", "to", "seen")
    displayed = [
        {
            **{name: clean(row[name]) for name in as_stored},
            "due": day(row["due"]),
            "overdue": overdue_words(row),
            "send": amount_words(row["send"], row["currency"]),
            "approved": moment(row["approved"], zone),
            "evidence_to": day(row["evidence_to"]),
            "request": f"{clean(row['request'])[:4]}…",
            "next_step": clean(f"{_CHANGED if row.get('differs') else ''}{row['next_step']}"),
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


def close_words(items: OpenItems) -> str:
    """Return `ready` or `BLOCKED by 27 of them`, with the exceptions and the waiting items."""
    blocking = items.blocking
    if not blocking:
        return ": ".join(filter(None, ("ready", exception_words(items))))
    words = (
        f"BLOCKED by {len(blocking):,} of them", exception_words(items), waiting_words(items),
    )  # fmt: skip
    return "; ".join(part for part in words if part)


def waiting_words(items: OpenItems) -> str:
    """Return in words how many items are proposed to be carried but not accepted yet."""
    waiting = sum(item.proposed_by is not None for item in items.blocking)
    verb = "waits" if waiting == 1 else "wait"
    return (
        f"{waiting:,} proposed to be carried {verb} for a second person:"
        f" treasury items list {items.month}"
        if waiting
        else ""
    )


def exception_words(items: OpenItems) -> str:
    """Return `reconciled except credits not provable` if only unproved items block.

    If nothing blocks, but lines of accounts without expectations are not reconciled, return
    `balances proved, lines not reconciled`; otherwise an empty text.
    """
    blocking = items.blocking
    if not blocking and len(items.select(kind="not_reconciled")):
        return "balances proved, lines not reconciled"
    if not blocking or any(item.kind not in _NOT_PROVED for item in blocking):
        return ""
    names = ", ".join(dict.fromkeys(group.words.label.lower() for group in blocking.groups))
    return f"reconciled except {names}"


_NOT_PROVED: Final = ("balance_not_proved", "credits_not_provable", "payout_not_provable")


def _head(r: Reconciliation, zone: ZoneInfo) -> list[str]:
    return [
        title_words(r, zone),
        f"STATEMENTS  {statements_words(proof_of(r))}",
        f"BANK LINES  {bank_lines_words(r)}",
    ]


def _row(label: str, text: str) -> str:
    return f"{label:<20}{text}"


def open_words(items: OpenItems) -> str:
    """Return `58 items = 31 yours + 4 colleague's`, with all parts."""
    if not len(items):
        return "nothing: everything that could be open was asked"
    parts = " + ".join(f"{number:,} {TURNS[turn]}" for turn, number in items.turns.items())
    return f"{count(len(items), 'item')} = {parts}"


def _items_table(items: OpenItems, width: int | None) -> list[str]:
    """Return a line per kind and currency, by who acts next; together they count every item."""
    if not len(items):
        return [_row("OPEN", open_words(items))]
    lines = [f"{_row('OPEN', open_words(items))}   treasury exceptions"]
    rows = [_group_cells(group) for group in items.groups]
    for left_out in _LEFT_OUT:
        if width is None or max(map(len, _group_lines(rows))) <= width:
            break
        rows = [(*row[:left_out], "", *row[left_out + 1 :]) for row in rows]
    if width is None or max(map(len, _group_lines(rows))) <= width:
        return [*lines, *_group_lines(rows)]
    below = _group_lines([("", *row[1:]) for row in rows])
    turns = [row[0] for row in rows]
    for at, line in enumerate(below):
        if at == 0 or turns[at] != turns[at - 1]:
            lines.append(f"  {turns[at]}")
        lines.append(f"  {line}")
    return lines


def _group_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Align the cells of all groups; empty columns are omitted."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines, before = [], ""
    for row in rows:
        turn, label, number, currency, amount, *others = (
            f"{cell:>{space}}" if at in _TO_RIGHT else f"{cell:<{space}}"
            for at, (cell, space) in enumerate(zip(row, widths, strict=True))
        )
        turn_cell = turn if row[0] != before else " " * widths[0]
        filled = [cell for cell in others if cell]
        lines.append(
            "  ".join(("", turn_cell, label, number, f"{currency} {amount}", *filled)).rstrip()
        )
        before = row[0]
    return lines


_SIGNS: Final = {"in": "+", "out": "-"}
"""The sign before an amount that consists of money in and money out."""
_TO_RIGHT: Final = (2, 4)
_LEFT_OUT: Final = (7, 5)
"""The cells of a group to omit on a narrow screen: the command, then the age."""


def _group_cells(group: ItemGroup) -> tuple[str, ...]:
    currency = clean(group.currency)
    signs = _SIGNS if group.amount is None else {}
    amount = " ".join(
        signs.get(way, "") + amount_words(money, currency).removeprefix(f"{currency} ")
        for way, money in group.sums
    )
    if group.unstated:
        amount = f"{amount} and {group.unstated:,} not recorded".removeprefix(" and ")
    unit = group.clock if group.oldest == 1 else f"{group.clock}s"
    oldest = f"oldest {group.oldest:,} {unit}" if group.oldest else ""
    if group.earlier:
        oldest = f"{oldest}, {group.earlier:,} of earlier months".removeprefix(", ")
    blocks = "" if not group.blocking else "blocks"
    if 0 < group.blocking < group.items:
        blocks = f"{group.blocking:,} block"
    if group.carried:
        blocks = f"{blocks}, {group.carried:,} carried".removeprefix(", ")
    return (
        TURNS[group.turn],
        group.words.label,
        f"{group.items:,}",
        currency,
        amount,
        oldest,
        blocks,
        group.words.command,
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
    """Return `1 TARGET day`, or an empty text if it is not overdue."""
    return count(row["overdue"], row["overdue_unit"]) if row["overdue"] > 0 else ""


FACTS: Final = grouped_schema(
    (TEXT, "month", "fact", "name"),
    (INTEGER, "items"),
    (AMOUNT, "amount", "coming", "going"),
    (TEXT, "currency", "turn"),
    (INTEGER, "blocking", "oldest"),
    (TEXT, "clock", "command"),
)
"""One row per fact of the first screen; `items` and `blocking` count all and blocking items.

`amount` is null if there is money in and money out; then `coming` and `going` have the amounts.
"""


def screen_facts(closing: Closing) -> pa.Table:
    """Return statements, bank lines, open items, transit, fees and the close; as in FACTS."""
    month = str(closing.r.month)
    rows = [{"month": month, **row} for row in _facts(closing)]
    return pa.Table.from_pylist(rows, schema=FACTS)


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
