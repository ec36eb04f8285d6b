"""The morning's screen: open items by the work that they need, and by who acts next."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.close_words import NOT_USED
from treasury.close.result_words import environment_words, moment
from treasury.core.calendar import Month
from treasury.core.tables.table_view import folded, shortened
from treasury.core.text import clean, safe_html
from treasury.core.wording import instant_words
from treasury.month.items import OpenItems
from treasury.month.items.item_kinds import TASKS, Turn
from treasury.report.screens.funds_rows import funds_html, funds_lines
from treasury.report.screens.month_status import open_words
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

_WAITING_ORDER: Final[tuple[Turn, ...]] = ("provider", "bank", "colleague", "time")
"""The sides that are waited for, in the order of the screen."""
_COMMAND: Final = "treasury status"


class Morning(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of the morning's screen.

    `items` are the items that are open now. If they are not known, it is None, `why` is the reason
    and `next_step` what to do. `month` is the last one that ended, `verdict` its state in words,
    and `ended` its open items; None if it is closed or not known. `synced_at` is when the services
    were last read. `funds` are the totals of the position, as in FUNDS.
    """

    company: str
    environment: str
    now: datetime
    zone: ZoneInfo
    items: OpenItems | None
    month: Month
    verdict: str
    is_closed: bool
    ended: OpenItems | None
    synced_at: datetime | None
    are_services_used: bool
    funds: pa.Table
    why: str = ""
    next_step: str = ""

    def __repr__(self) -> str:
        return f"<morning of {clean(self.company)} at {self.now}>"


def morning_screen(morning: Morning) -> Status:
    """Return the screen of everything that is open now, by the work that it needs."""
    today = morning.now.astimezone(morning.zone).date()
    title = _title(morning)
    funds, funds_grid = funds_lines(morning.funds, today), funds_html(morning.funds, today)
    name = morning.month.title.split(" ")[0].upper()
    below = _labelled(name, morning.verdict, f"{_COMMAND} {morning.month}")
    if morning.items is None:
        facts = [("TODAY", f"not known: {clean(morning.why)}"), ("NEXT", morning.next_step)]
        work = [each for label, text in facts if text for each in _labelled(label, text, "")]
        html = f"<p>{safe_html(title)}</p>{funds_grid}{facts_html(facts)}"
        return Status([title, *funds, *work, *below], html)
    tasks, turns = morning_rows(morning.items)
    waiting_for = morning.items.where(lambda item: item.turn != "us")
    our_items = len(morning.items) - len(waiting_for)
    sides = " · ".join(f"{row.name} {len(row.items):,}" for row in turns)
    waiting = _labelled("WAITING FOR", sides or "nobody", f"{_COMMAND} waiting" if sides else "")
    head = f"TODAY {our_items:,} of {len(morning.items):,} open"
    if not len(morning.items):
        work = [line("TODAY", open_words(morning.items))]
    elif not tasks:
        work = [line("TODAY", "nothing for us: everything that could be open was checked")]
    else:
        # One line is for the title, and one for the state of `treasury watch`.
        room = SCREEN_LINES - 2 - len(funds) - len(waiting) - len(below)
        work = row_lines(tasks, head, "start with", today=today, room=room)
    call = "t.status()"
    html = (
        f"<p>{safe_html(title)}</p>{funds_grid}<p>{safe_html(head if tasks else work[0])}</p>"
        f"{tiles_html(tasks, today=today, call=call)}"
        f"<p>WAITING FOR {len(waiting_for):,}</p>{tiles_html(turns, today=today, call=call)}"
        f"<p>{name} {safe_html(morning.verdict)} · "
        f"<code>t.status({str(morning.month)!r})</code></p>"
    )
    lines = [title, *funds, *work, *waiting, *below]
    none = morning.items.where(lambda _: False)
    lists = dict.fromkeys(MORNING_ROWS, none) | {"waiting": waiting_for}
    return Status(lines, html, (*tasks, *turns), lists)


def morning_rows(items: OpenItems) -> tuple[tuple[ScreenRow, ...], tuple[ScreenRow, ...]]:
    """Return the rows of our work and of the sides that we wait for; each item is in one row."""
    turns = [(turn, turn, items.select(turn=turn)) for turn in _WAITING_ORDER]
    tasks = [(task, label, items.select(task=task)) for task, label in TASKS.items()]
    our_items, others = (
        tuple(
            ScreenRow(name=name, label=label, items=members, command=f"{_COMMAND} {name}")
            for name, label, members in rows
            if len(members)
        )
        for rows in (tasks, turns)
    )
    return our_items, others


MORNING_ROWS: Final = (*TASKS, *_WAITING_ORDER, "waiting")
"""The names of all rows of the morning's screen."""


def _title(morning: Morning) -> str:
    """Return the instant, the company, the environment and the last sync in one line."""
    local = morning.now.astimezone(morning.zone)
    instant = instant_words(local, f"%a {local.day} %b %Y %H:%M")
    synced = "services never read"
    if not morning.are_services_used:
        synced = f"services {NOT_USED}"
    elif morning.synced_at is not None:
        read = morning.synced_at.astimezone(morning.zone)
        is_today = read.date() == local.date()
        at = f"{read:%H:%M}" if is_today else moment(read, morning.zone, local.year)
        synced = f"synced {at}"
    other_words = [part for part in (environment_words(morning.environment), synced) if part]
    room = SCREEN_WIDTH - sum(len(part) + 3 for part in (instant, *other_words))
    return " · ".join([instant, shortened(clean(morning.company), room), *other_words])


def _labelled(label: str, text: str, command: str) -> list[str]:
    """Return a line with a label before and a command after it, folded to the screen's width."""
    first, *others = folded(f"{text}   {command}".rstrip(), SCREEN_WIDTH - LABEL_WIDTH)
    return [line(label, first), *(line("", other) for other in others)]
