"""The screen of one month: verdict, signatures, proof, lines by outcome, and what blocks the close.

The same facts head the report, so that both word a figure alike.
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Final

from treasury.close.close_words import (
    fees_words,
    signature_words,
    statements_words,
    transit_words,
    unread_words,
)
from treasury.close.closing import Closing
from treasury.close.month_proof import proof_of
from treasury.close.result_words import bank_lines_words, count, day, title_words
from treasury.core.tables.table_view import folded
from treasury.core.text import clean, safe_html
from treasury.core.wording import shown_code
from treasury.month.items import KINDS, TURNS, OpenItems
from treasury.report.screens.screen_rows import (
    LABEL_WIDTH,
    SCREEN_LINES,
    SCREEN_WIDTH,
    ScreenRow,
    Status,
    facts_html,
    line,
    row_lines,
    tiles_html,
)

_MOST_KINDS: Final = 8
"""Maximum number of kinds of items with a row of their own; the others are in the row `other`."""
_COUNTED: Final = re.compile(r"(?<=[0-9]) (?=[a-z])")
_BLANK: Final = "\u00a0"
"""Replaces a blank where a line must not break; texts have none, because `clean` removes it."""
_NOT_PROVED: Final = ("balance_not_proved", "credits_not_provable", "payout_not_provable")


def month_screen(closing: Closing, *, report: Path | None = None, late: int = 0) -> Status:
    """Return the month's screen; `report` is the path of report.html, if it is written.

    `late` is the number of later facts about a closed month, which do not change it.
    """
    today = _today(closing)
    facts = month_facts(closing, late=late)
    last = [("REPORT", clean(report) if report else f"treasury close {closing.r.month}")]
    last.append(("NEXT", next_command(closing, late=late)))
    title = title_words(closing.r, closing.zone)
    above = [*_folded(title, ""), *(each for fact in facts for each in _folded(fact[1], fact[0]))]
    below = [each for label, text in last for each in _folded(text, label)]
    room = SCREEN_LINES - len(above) - len(below)
    rows = blocking_rows(closing.items, most=min(_MOST_KINDS, room - 2))
    command = f"treasury status {closing.r.month} …"
    blocks = row_lines(rows, "BLOCKS", command, room=room) if rows else []
    month = str(closing.r.month)
    html = (
        f"<p>{safe_html(title)}</p>{facts_html([*facts, *last])}"
        f"{f'<p>BLOCKS {len(closing.items.blocking):,}</p>' if rows else ''}"
        f"{tiles_html(rows, today=today, call=f't.status({month!r})')}"
    )
    return Status([*above, *blocks, *below], html, rows)


def month_facts(closing: Closing, *, late: int = 0) -> list[tuple[str, str]]:
    """Return the facts of a month in words: the head of its screen and of its report."""
    r, unread = closing.r, unread_words(closing)
    facts = [
        ("CLOSE", verdict_words(closing)),
        ("SIGNED", signature_words(closing)),
        ("STATEMENTS", statements_words(proof_of(r))),
        ("BANK LINES", bank_lines_words(r)),
        ("FEES", unread or fees_words(closing.fees)),
        ("IN TRANSIT", unread or f"at {day(r.month.last)}: {transit_words(r)}"),
    ]
    if late:
        facts.append(("LATE", f"{count(late, 'item')} since the close: treasury periods late"))
    return facts


def blocking_rows(items: OpenItems, *, most: int = _MOST_KINDS) -> tuple[ScreenRow, ...]:
    """Return a row per kind of item that blocks the close: at most `most` rows and `other`.

    Kinds that cannot be accepted have the first claim to a row, then those with the most items.
    """
    blocking, rank = items.blocking, list(KINDS)
    kinds = list(dict.fromkeys(item.kind for item in blocking))
    claims = sorted(
        kinds,
        key=lambda kind: (
            all(item.blocks != "never acceptable" for item in blocking if item.kind == kind),
            -sum(item.kind == kind for item in blocking),
            rank.index(kind),
        ),
    )
    own = set(claims[:most])
    rows = [
        _row(shown_code("kind", kind), KINDS[kind].label, blocking.select(kind=kind))
        for kind in kinds
        if kind in own
    ]
    others = blocking.where(lambda item: item.kind not in own)
    if len(others):
        rows.append(_row("other", f"other: {count(len(claims) - most, 'kind')}", others))
    return tuple(rows)


def _row(name: str, label: str, items: OpenItems) -> ScreenRow:
    """Return the row of these items; BANK LINES counts only those of the month."""
    command, month = f"treasury status {items.month} {name}", str(items.month)
    earlier = sum(item.subject == "line" and item.month < month for item in items)
    label = f"{label}, {earlier:,} earlier" if earlier else label
    return ScreenRow(name=name, label=label, items=items, command=command)


def verdict_words(closing: Closing) -> str:
    """Return whether the month is closed, ready to close or blocked, with the exceptions."""
    items = closing.items
    exception = exception_words(items)
    if closing.period is not None:
        carried = sum(item.is_accepted for item in items)
        parts = [f"{count(carried, 'open item')} carried"] if carried else []
        if len(items) > carried:
            more = f"{len(items) - carried:,} more" if carried else count(len(items), "open item")
            parts.append(f"{more} did not block")
        return f"{', '.join(('closed', *parts))}{f'; {exception}' if exception else ''}"
    if not items.blocking:
        verdict = ": ".join(filter(None, ("ready to close", exception)))
    else:
        parts = [blocked_words(items), exception, waiting_words(items)]
        verdict = "; ".join(part for part in parts if part)
    if closing.r.month.last >= _today(closing):
        return f"runs until {day(closing.r.month.last)}; {verdict}"
    return verdict


def blocked_words(items: OpenItems) -> str:
    """Return `not ready to close: 44 of 75 open items block it, 2 carried`."""
    verb = "blocks" if len(items.blocking) == 1 else "block"
    carried = sum(item.is_accepted for item in items)
    return (
        f"not ready to close: {len(items.blocking):,} of {count(len(items), 'open item')} {verb} it"
        + (f", {carried:,} carried" if carried else "")
    )


def open_words(items: OpenItems) -> str:
    """Return `58 items = 31 yours + 4 colleague's`, with all parts."""
    if not len(items):
        return "nothing: everything that could be open was checked"
    parts = " + ".join(f"{number:,} {TURNS[turn]}" for turn, number in items.turns.items())
    return f"{count(len(items), 'item')} = {parts}"


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


def next_command(closing: Closing, *, late: int = 0) -> str:
    """Return the command that the month needs next."""
    month = closing.r.month
    if closing.period is not None:
        return "treasury periods late" if late else "treasury status"
    if closing.preparation is not None and not closing.items.blocking:
        return f"treasury close {month} --sign"
    if closing.items.blocking:
        return f"treasury exceptions {month} --blocking"
    if month.last >= _today(closing):
        return "treasury status"
    return f"treasury close {month}"


def _today(closing: Closing) -> date:
    return closing.r.as_of.astimezone(closing.zone).date()


def _folded(text: str, label: str) -> list[str]:
    """Return a text as lines of the screen's width, the first after its label.

    A number stays with the word that it counts.
    """
    width = SCREEN_WIDTH - (LABEL_WIDTH if label else 0)
    first, *others = folded(_COUNTED.sub(_BLANK, text), width)
    lines = [line(label, first) if label else first, *(line("", other) for other in others)]
    return [each.replace(_BLANK, " ") for each in lines]
