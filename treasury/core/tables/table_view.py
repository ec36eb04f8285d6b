"""Shows tables in HTML and in a terminal, with the same rows, columns and texts.

Text from outside is never rendered as markup, no number is cut, and ids come last. A selection
keeps its columns and their order. The notebook's own colours are used, so that a table is readable
in light and dark themes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import zip_longest
from typing import Any, Final, Literal, TypeAlias

import msgspec
import pyarrow as pa
from rich.cells import cell_len, set_cell_size

from treasury.core.calendar import day_words
from treasury.core.money import format_amount
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.schemas import is_id
from treasury.core.text import clean, safe_html
from treasury.core.wording import in_words, instant_words

HTML_ROWS: Final = 200
"""Maximum number of rows shown in a notebook."""
TEXT_ROWS: Final = 20
"""Maximum number of rows shown in a terminal."""
_LONGEST: Final = (48, 40, 32, 24)
"""Maximum characters of a text in a terminal, from the widest to the narrowest layout."""
_LONGEST_WORD: Final = 80
"""Maximum characters of a word that is never cut: a reference, an id, a hash."""
_UNKNOWN_WIDTH: Final = 100
"""Characters of a line if the output is not a terminal, as in a notebook."""
_GAP: Final = 2
_WHOLE: Final = 48
"""Maximum characters of the texts of a column that a notebook never wraps: an entry id, an IBAN."""
_SHORT: Final = 16
"""Maximum characters of the texts of a column that stays unbroken in a grid that wraps: a date."""
_CELL: Final = "padding:.2em .8em;border-bottom:1px solid rgba(128,128,128,.35)"
"""Cell style, inline so that a notebook's style sheet (as in marimo) cannot override it."""

_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_UNBROKEN: Final = re.compile(
    r"[A-Z][A-Z0-9]{1,9} -?[0-9][0-9,.]*"  # An amount with its currency.
    rf"|\b[0-9]{{1,2}} {_MONTH}(?: [0-9]{{4}})?(?: [0-9]{{2}}:[0-9]{{2}}(?: [A-Z]{{2,5}}\b)?)?"
    r"|\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?: [A-Z]{2,5}\b)?"
    r"|\b[0-9][0-9,]* (?:TARGET|calendar|business) days?\b"
)
"""Pattern of texts that are not broken although they contain blanks."""
_BLANK: Final = "\u00a0"
"""Replaces a blank where a line must not break; texts never contain it, because `clean` removes it.
"""


Extent: TypeAlias = Literal["summary", "selection", "dictionary"]
"""The part of a table that is shown.

A summary has the first rows, and in a terminal the columns that fit. A selection has the first rows
with all columns, in their order. A dictionary has all rows with whole texts.
"""


class ShownRows(msgspec.Struct, frozen=True):
    """A table's first rows as texts, and which columns are aligned right or never wrapped."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    to_right: Sequence[bool]
    unbroken: Sequence[bool]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The way to show a table: the unit of each amount, the key columns and the extent.

    With `as_stored`, codes are not replaced by words. `most_rows` replaces the usual number of
    rows. The `notes` are shown below the rows.
    """

    units: Mapping[str, str]
    title: str = ""
    as_stored: bool = False
    keys: Sequence[str] = ()
    extent: Extent = "summary"
    most_rows: int | None = None
    notes: Sequence[str] = ()

    def row_limit(self, table: pa.Table, usual: int) -> int:
        """Return the maximum number of rows to show."""
        if self.extent == "dictionary":
            return max(table.num_rows, usual)
        return usual if self.most_rows is None else self.most_rows


def grid(table: pa.Table, view: View, limit: int) -> ShownRows:
    """Return the first rows as texts.

    Unless the columns are a selection, list columns are left out if there are others. Amounts are
    shown with their currency, so currency columns come later, as do empty columns. Ids are last.
    """
    fields, units = list(table.schema), view.units
    aside = {*units.values(), "credit_debit"}

    def place(field: pa.Field) -> int:
        column = table.column(field.name).slice(0, limit)
        is_empty = column.null_count == len(column) or column.unique().to_pylist() == [""]
        if is_id(field.name) and field.name not in view.keys:
            return 3
        return 2 if is_empty else 1 if field.name in aside else 0

    if view.extent != "selection":
        fields = [field for field in fields if not pa.types.is_nested(field.type)] or fields
        fields.sort(key=place)
    kind = pa.types
    to_right = [
        kind.is_decimal(field.type) or kind.is_integer(field.type) or kind.is_floating(field.type)
        for field in fields
    ]
    unbroken = [
        right or pa.types.is_temporal(field.type)
        for field, right in zip(fields, to_right, strict=True)
    ]
    names = [field.name for field in fields]
    rows = [
        [cell_text(row, name, units, as_stored=view.as_stored) for name in names]
        for row in table.slice(0, limit).to_pylist()
    ]
    return ShownRows(names, rows, to_right, unbroken)


def cell_text(
    row: Mapping[str, Any], name: str, units: Mapping[str, str], *, as_stored: bool = False
) -> str:
    """Return a value of a row as text: an amount with its currency, an instant with its zone.

    A code is replaced by its word and a day is `2 Nov 2026`, unless values are shown `as_stored`.
    """
    value, currency = row[name], row.get(units.get(name, ""))
    if isinstance(value, Decimal) and currency:
        return format_amount(value, currency)
    if isinstance(value, datetime):
        return instant_words(value, "%Y-%m-%d %H:%M") if as_stored else instant_words(value)
    if isinstance(value, date) and not as_stored:
        return day_words(value)
    return value_text(value if as_stored else in_words(name, value))


def html_table(table: pa.Table, view: View) -> str:
    """Return the first rows as HTML, in which text from outside is never markup."""
    limit = view.row_limit(table, HTML_ROWS)
    shown = grid(table, view, limit)
    names = [name.replace("_", " ") for name in shown.names]
    to_right = [at for at, right in enumerate(shown.to_right) if right]
    cells = html_grid(shown.rows, names, view.title, to_right=to_right)
    notes = map(safe_html, (*size_notes(table, shown.names, limit), *view.notes))
    return f"{cells}<p>{'<br>'.join(notes)}</p>"


def html_grid(
    rows: Iterable[Sequence[object]],
    head: Sequence[str] = (),
    caption: str = "",
    *,
    to_right: Collection[int] = (),
    has_row_heads: bool = False,
    wraps: bool = False,
) -> str:
    """Return cells as an HTML table, in which text from outside is never markup.

    `to_right` are the indices of the columns aligned to the right. With `has_row_heads`, the first
    cell of a row is its heading. With `wraps`, long texts are broken, except in `to_right` columns.
    """
    lines = [[clean(text) for text in row] for row in rows]
    styles = []
    for at, texts in enumerate(zip(*([head] if head else []), *lines, strict=True)):
        is_whole = at in to_right or max(map(len, texts)) <= _WHOLE
        width = "white-space:nowrap" if is_whole else "min-width:20em"
        if wraps and at not in to_right and max(map(len, texts)) > _SHORT:
            width = "white-space:normal;overflow-wrap:anywhere"
        styles.append(f"{_CELL};{width};text-align:{'right' if at in to_right else 'left'}")

    def line(texts: Sequence[str], *, is_head: bool = False) -> str:
        cells = ""
        for at, text in enumerate(texts):
            scope = "col" if is_head else "row" if has_row_heads and not at else ""
            tag, scoped = ("th", f" scope='{scope}'") if scope else ("td", "")
            cells += f"<{tag}{scoped} style='{styles[at]}'>{safe_html(text)}</{tag}>"
        return f"<tr>{cells}</tr>"

    body = (line(head, is_head=True) if head else "") + "".join(map(line, lines))
    # A caption may be wider than a table of two short columns.
    style = "text-align:left;white-space:nowrap"
    named = f"<caption style='{style}'>{safe_html(caption)}</caption>" if caption else ""
    # Jupyter would render "$5 and $6" as mathematics.
    return (
        "<div class='tex2jax_ignore' style='overflow-x:auto'>"
        "<table style='border-collapse:collapse;color:inherit;background:transparent'>"
        f"{named}{body}</table></div>"
    )


def size_notes(table: pa.Table, columns: Collection[str], limit: int) -> list[str]:
    """Return the number of rows, and the columns that are not shown, as one sentence each."""
    count, names = table.num_rows, table.column_names
    if count > limit:
        notes = [f"{limit:,} of {count:,} rows; .df has them all"]
    else:
        notes = [f"{count:,} row{'s' * (count != 1)}"]
    if left_out := [name for name in names if name not in columns]:
        notes.append(
            f"{len(left_out)} of {len(names)} columns are not shown; to see them, select them by"
            f' name, as in table[["{left_out[0]}"]]: {", ".join(left_out)}'
        )
    return [clean(note) for note in notes]


def text_table(table: pa.Table, view: View) -> str:
    """Return the first rows as aligned text that fits the terminal.

    The columns of a selection continue in further blocks, with the number of each row. For other
    tables, the columns that do not fit are named below. Amounts, dates and references are never
    cut. Other long texts are, and a note says how to see a whole one.
    """
    limit = view.row_limit(table, TEXT_ROWS)
    grid_rows = grid(table, view, limit)
    columns = [
        [clean(text) for text in column]
        for column in zip(grid_rows.names, *grid_rows.rows, strict=True)
    ]
    numbers = ["", *map(str, range(len(grid_rows.rows)))]
    room = (terminal_width() or _UNKNOWN_WIDTH) + _GAP
    layouts = [_widths(columns, grid_rows.unbroken, longest) for longest in _LONGEST]
    if view.extent == "selection":
        widths = min(layouts, key=lambda widths: len(_blocks(widths, room)))
        blocks = _blocks(widths, room)
        if len(blocks) > 1:
            room -= len(numbers[-1]) + _GAP
            blocks = _blocks(widths, room)
    else:
        is_money = [pa.types.is_decimal(table.schema.field(name).type) for name in grid_rows.names]
        # The amount already shows the currency, and its sign repeats the direction.
        aside = {*view.units.values(), *(["signed_amount"] if "amount" in grid_rows.names else [])}
        important = [
            at
            for at, column in enumerate(columns)
            if grid_rows.names[at] in view.keys and grid_rows.names[at] not in aside
            if any(column[1:])
        ]
        widths, fitting = _fitting(layouts, important, is_money, room)
        blocks = [fitting]
    widths = _grown(widths, blocks, columns, room)
    fit = folded if view.extent == "dictionary" else _cut
    lines = [view.title] if view.title else []
    for block in blocks:
        if block is not blocks[0]:
            lines.append("")
        for number, row in zip(numbers, zip(*columns, strict=True), strict=True):
            for texts in zip_longest(*(fit(row[at], widths[at]) for at in block), fillvalue=""):
                cells = [
                    padded(text, widths[at], grid_rows.to_right[at])
                    for at, text in zip(block, texts, strict=True)
                ]
                if len(blocks) > 1:
                    cells.insert(0, number.rjust(len(numbers[-1])))
                lines.append((" " * _GAP).join(cells).rstrip())
    names = [grid_rows.names[at] for block in blocks for at in block]
    notes = size_notes(table, names, limit)
    if fit is _cut:
        notes[0] += _cut_note(grid_rows.names, columns, widths, blocks)
    return "\n".join([*lines, *notes, *map(clean, view.notes)])


def _widths(columns: Sequence[Sequence[str]], unbroken: Sequence[bool], longest: int) -> list[int]:
    """Return the width of each column, in which a text is cut only between words."""

    def width(text: str, *, is_whole: bool) -> int:
        natural = text_width(text)
        if is_whole or natural <= longest:
            return natural
        first_word = min(text_width(pieces(text)[0]), _LONGEST_WORD)
        return min(natural, max(longest, first_word + _GAP))

    return [
        max(width(text, is_whole=is_whole) for text in column)
        for column, is_whole in zip(columns, unbroken, strict=True)
    ]


def _grown(
    widths: Sequence[int],
    blocks: Sequence[Sequence[int]],
    columns: Sequence[Sequence[str]],
    room: int,
) -> list[int]:
    """Return the widths, with the unused room of each block given to its cut texts, in order."""
    grown = list(widths)
    for block in blocks:
        free = room - sum(widths[at] + _GAP for at in block)
        for at in block:
            more = max(map(text_width, columns[at])) - widths[at]
            extra = max(0, min(more, free))
            grown[at] += extra
            free -= extra
    return grown


def _cut_note(
    names: Sequence[str],
    columns: Sequence[Sequence[str]],
    widths: Sequence[int],
    blocks: Sequence[Sequence[int]],
) -> str:
    """Return how to see a whole text of the first column with a cut text; empty if none is cut."""
    for at in (at for block in blocks for at in block):
        if max(map(text_width, columns[at])) > widths[at]:
            whole = f'table["{clean(names[at])}"].iloc[0]'
            return f"; a text that ends in … is cut: {whole} is a whole one"
    return ""


def _blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Return the indices of the columns of each block, in order; each block fits the terminal."""
    blocks: list[list[int]] = []
    free = 0
    for at, width in enumerate(widths):
        if not blocks or width + _GAP > free:
            blocks.append([])
            free = room
        blocks[-1].append(at)
        free -= width + _GAP
    return blocks


def _fitting(
    layouts: Sequence[list[int]],
    important: Sequence[int],
    is_money: Sequence[bool],
    room: int,
) -> tuple[list[int], list[int]]:
    """Return the widths and the indices of the columns that fit.

    The layout is the widest in which all important columns fit, or else the narrowest. The first
    column and the first amount have priority. Other columns fill the room only if no important one
    is left out.
    """
    every = important or range(len(is_money))
    widths = next(
        (each for each in layouts if sum(each[at] + _GAP for at in every) <= room), layouts[-1]
    )
    first_amount = is_money.index(True) if any(is_money) else 0
    kept: set[int] = set()
    order = (*every, *(at for at in range(len(widths)) if at not in every))
    for at in sorted(order, key=lambda at: (at > 0, at != first_amount)):
        if kept and at not in every and not kept.issuperset(every):
            break
        if not kept or widths[at] + _GAP <= room:
            kept.add(at)
            room -= widths[at] + _GAP
    return widths, sorted(kept)


def _cut(text: str, width: int) -> list[str]:
    """Return a text as one line of a column, cut between words if possible.

    A part of a reference would be misleading.
    """
    text = shortened(text, width)
    return [text if text_width(text) <= width else set_cell_size(text, width - 1) + "…"]


def padded(text: str, width: int, to_right: bool) -> str:
    """Return a text with blanks up to this width, before it or after it."""
    blanks = " " * (width - text_width(text))
    return f"{blanks}{text}" if to_right else f"{text}{blanks}"


def terminal_width() -> int | None:
    """Return the terminal's width, from $COLUMNS first; None if output is redirected."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):  # The output is not a terminal, or has no file number.
        return None


def pieces(text: str) -> list[str]:
    """Return the parts of a text between which a line may break."""
    return _UNBROKEN.sub(lambda found: found[0].replace(" ", _BLANK), text).split(" ")


def folded(text: str, width: int) -> list[str]:
    """Return the lines of a text in a column; a part wider than the column stays whole."""
    if text_width(text) <= width:
        return [text]
    lines, line = [], ""
    for piece in pieces(text):
        longer = f"{line} {piece}" if line else piece
        if line and text_width(longer) > width:
            lines.append(line)
            line = piece
        else:
            line = longer
    return [each.replace(_BLANK, " ") for each in (*lines, line)]


def shortened(text: str, width: int) -> str:
    """Return the text, or as many of its unbroken parts as fit, and an ellipsis."""
    if text_width(text) <= width:
        return text
    return f"{folded(text, width - _GAP)[0]} …"


def text_width(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    return len(text) if text.isascii() else cell_len(text)
