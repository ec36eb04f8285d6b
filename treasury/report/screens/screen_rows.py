"""The parts of a first screen: rows that each count a list of open items, as text and as HTML.

A row's list is what its command prints, so that the row and the list cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, Self

import msgspec

from treasury.close.result_words import count, day
from treasury.core.errors import InputError
from treasury.core.nearest_names import Screen
from treasury.core.tables.table_view import html_grid, shortened
from treasury.core.text import clean, is_it, one_of, safe_html
from treasury.core.wording import state_words
from treasury.month.items import OpenItems
from treasury.month.items.open_items import flow_words

SCREEN_LINES: Final = 24
SCREEN_WIDTH: Final = 100
"""The size of a first screen, in lines and columns."""
LABEL_WIDTH: Final = 13
"""The width of the word that a line begins with, in characters."""
_INDENT: Final = "  "
_GAPS: Final = 7
"""The blanks between the columns of a row."""
_MOST_LISTED: Final = 50
"""Maximum number of items that a tile lists in a notebook."""
_STYLE: Final = """\
<style>
.treasury-status { max-width: 100%; overflow-wrap: anywhere; }
.treasury-tiles { display: flex; flex-wrap: wrap; gap: .5em; margin: .25em 0 .75em; }
.treasury-tiles details { flex: 1 1 11em; min-width: 0; padding: .4em .8em;
  border: 1px solid rgba(128,128,128,.5); border-radius: 4px; }
.treasury-tiles details[open] { flex-basis: 100%; }
.treasury-tiles summary { cursor: pointer; }
.treasury-tiles strong { font-size: 1.3em; }
.treasury-tiles small { display: block; }
</style>"""


class Status(Screen):
    """A first screen: text for a terminal, tiles for a notebook.

    `lists` has the open items of each row by the row's name, and `rows` the rows in their order.
    """

    rows: Sequence[ScreenRow]
    lists: Mapping[str, OpenItems]
    _html: str

    __slots__ = ("_html", "lists", "rows")

    def __new__(
        cls,
        lines: Sequence[str],
        html: str = "",
        rows: Sequence[ScreenRow] = (),
        more: Mapping[str, OpenItems] | None = None,
    ) -> Self:
        """Make a screen of lines; `more` are the lists of rows that are empty or a sum of rows."""
        status = super().__new__(cls, "\n".join(lines))
        status._html = html
        status.rows = rows
        status.lists = {**(more or {}), **{row.name: row.items for row in rows}}
        return status

    def listed(self, row: str) -> OpenItems:
        """Return the open items that a row counts; raise InputError if there is no such row."""
        if row not in self.lists:
            raise InputError(
                f"{row!r:.60} is not a row of this screen{is_it(row, self.lists)}",
                do=one_of(row, self.lists, "give") if self.lists else "give a month like 2026-10",
            )
        return self.lists[row]

    def _repr_html_(self) -> str:
        if not self._html:
            return f"<pre>{safe_html(self)}</pre>"
        return f"{_STYLE}<div class='treasury-status tex2jax_ignore'>{self._html}</div>"


class ScreenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a first screen: a name, words, the open items that it counts, and their command."""

    name: str
    label: str
    items: OpenItems
    command: str

    @property
    def amounts(self) -> list[str]:
        """The money of the items in words, one text per currency."""
        words = [flow_words(sums, currency) for currency, sums in self.items.by_currency.items()]
        unstated = sum(group.unstated for group in self.items.groups)
        return [*map(clean, words), *([f"{unstated:,} not recorded"] if unstated else [])]

    def oldest(self, today: date) -> str:
        """Return the calendar days since the oldest item began, such as `3 days`."""
        since = min((item.since for item in self.items if item.since is not None), default=today)
        return count((today - since).days, "day") if since < today else ""


def line(label: str, text: str) -> str:
    """Return a line that begins with a word in capitals."""
    return f"{label:<{LABEL_WIDTH}}{text}"


def row_lines(
    rows: Sequence[ScreenRow], head: str, command: str, *, room: int, today: date | None = None
) -> list[str]:
    """Return the rows as aligned lines; `head` and `command` head the first and last column.

    Amounts that do not fit the line continue on the next; if that takes more than `room` lines, a
    row shows only the number of its other amounts. With `today`, the rows have the age of their
    oldest item and their whole command; otherwise their name, which `command` takes.
    """
    texts = [
        (
            f"{_INDENT}{row.label}",
            f"{len(row.items):,}",
            "" if today is None else row.oldest(today),
            row.name if today is None else row.command,
        )
        for row in rows
    ]
    number, amount, oldest = "items", "amount", "" if today is None else "oldest"
    widths = [max(map(len, column)) for column in zip((head, number, oldest, command), *texts,
                                                      strict=True)]  # fmt: skip
    space = max(SCREEN_WIDTH - sum(widths) - _GAPS, len(amount))
    packed = [_packed(row.amounts, space) for row in rows]
    if 1 + sum(map(len, packed)) > room:
        packed = [[_first(row.amounts, space)] for row in rows]
    # A label gives way to an amount, which is never cut.
    excess = max((len(text) for amounts in packed for text in amounts), default=0) - space
    if excess > 0:
        widths[0] -= excess
        space = widths[0] - len(_INDENT)
        texts = [
            (f"{_INDENT}{shortened(row.label, space)}", *text[1:])
            for row, text in zip(rows, texts, strict=True)
        ]
        head = shortened(head, widths[0])
    table = [(head, number, amount, oldest, command)]
    for (label, items, since, call), amounts in zip(texts, packed, strict=True):
        table.append((label, items, amounts[0], since, call))
        table += [("", "", more, "", "") for more in amounts[1:]]
    lines = []
    for cells in table:
        label, items, money, since, call = cells
        space = max(len(row[2]) for row in table)
        lines.append(
            f"{label:<{widths[0]}} {items:>{widths[1]}}  {money:>{space}}"
            f"{f'  {since:<{widths[2]}}' if widths[2] else ''}  {call}".rstrip()
        )
    return lines


def _packed(amounts: Sequence[str], width: int) -> list[str]:
    """Return the amounts on as few lines of a width as possible; an amount is never cut."""
    lines = [""]
    # Money in and money out of one currency are on two lines if one is too short.
    for amount in (
        part for each in amounts for part in ([each] if len(each) <= width else each.split(", "))
    ):
        longer = f"{lines[-1]} · {amount}" if lines[-1] else amount
        if lines[-1] and len(longer) > width:
            lines.append(amount)
        else:
            lines[-1] = longer
    return lines


def _first(amounts: Sequence[str], width: int) -> str:
    """Return as many amounts as fit a width and the number of the others; an amount is not cut."""
    for fitting in range(len(amounts), 0, -1):
        others = len(amounts) - fitting
        text = " · ".join(amounts[:fitting]) + (f" + {others:,} more" if others else "")
        if len(text) <= width:
            return text
    return f"in {len(amounts):,} currencies" if amounts else ""


def tiles_html(rows: Sequence[ScreenRow], *, today: date, call: str) -> str:
    """Return a tile per row, which opens the list of its items; `call` returns the screen."""
    tiles = []
    for row in rows:
        oldest = row.oldest(today)
        notes = [*row.amounts, *([f"oldest {oldest}"] if oldest else [])]
        small = "".join(f"<small>{safe_html(note)}</small>" for note in notes)
        code = f"{call}.lists[{row.name!r}]"
        tiles.append(
            f"<details><summary>{safe_html(row.label)} <strong>{len(row.items):,}</strong>{small}"
            f"</summary>{_list_html(row.items, today.year)}"
            f"<p><code>{safe_html(code)}</code> · <code>{safe_html(row.command)}</code></p>"
            "</details>"
        )
    return f"<div class='treasury-tiles'>{''.join(tiles)}</div>" if tiles else ""


def _list_html(items: OpenItems, year: int) -> str:
    """Return the first items as a grid without wide columns."""
    cells: list[Sequence[Any]] = [
        (
            f"{state_words(item.state)}: {item.name}",
            ""
            if item.amount is None
            else f"{flow_words([('', item.amount)], item.currency)} {item.direction}".rstrip(),
            day(item.since, year),
            item.next_step,
        )
        for item in items.items[:_MOST_LISTED]
    ]
    heads = ("Item", "Amount", "Since", "Next step")
    more = len(items) - len(cells)
    note = f"<p>and {more:,} more</p>" if more > 0 else ""
    return html_grid(cells, heads, to_right=[1], wraps=True) + note


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Return facts as a grid with the first cell of each row as its heading."""
    return html_grid(facts, has_row_heads=True, wraps=True)
