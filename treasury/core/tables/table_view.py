"""Shows tables in HTML and in a terminal, with the same rows, columns and texts.

Text from outside is never rendered as markup, no number is cut, and ids come last. The notebook's
own colours are used, so that a table is readable in light and dark themes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa
from rich.cells import cell_len, set_cell_size

from treasury.core.money import format_amount
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.schemas import is_id
from treasury.core.text import clean, safe_html
from treasury.core.wording import in_words, instant_words

HTML_ROWS: Final = 200
"""Maximum number of rows shown in a notebook."""
TEXT_ROWS: Final = 20
"""Maximum number of rows shown in a terminal."""
_LONGEST: Final = 48
"""Maximum characters of a text in a terminal; a longer text is cut and ends in an ellipsis."""
_REFERENCE: Final = 66
"""Maximum characters of a word that a terminal never cuts; the longest is a transaction's hash."""
_UNKNOWN_WIDTH: Final = 100
"""Characters of a line if the output is not a terminal, as in a notebook."""
_GAP: Final = 2
_WHOLE: Final = 48
"""Maximum characters of the texts of a column that a notebook never wraps: an entry id, an IBAN."""
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


class ShownRows(msgspec.Struct, frozen=True):
    """A table's first rows as texts, by column, and the alignment of each column."""

    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    to_right: Sequence[bool]
    unbroken: Sequence[bool]


def grid(table: pa.Table, units: Mapping[str, str], limit: int, *, as_stored: bool) -> ShownRows:
    """Return the first rows as texts, without list columns if there are others.

    Amounts are shown with their currency, so currency columns come later, as do empty columns. Ids
    are last.
    """
    fields = [field for field in table.schema if not pa.types.is_nested(field.type)]
    fields = fields or list(table.schema)
    aside = {*units.values(), "credit_debit"}

    def place(field: pa.Field) -> int:
        column = table.column(field.name).slice(0, limit)
        is_empty = column.null_count == len(column) or column.unique().to_pylist() == [""]
        return 3 if is_id(field.name) else 2 if is_empty else 1 if field.name in aside else 0

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
        [cell_text(row, name, units, as_stored=as_stored) for name in names]
        for row in table.slice(0, limit).to_pylist()
    ]
    return ShownRows(names, rows, to_right, unbroken)


def cell_text(
    row: Mapping[str, Any], name: str, units: Mapping[str, str], *, as_stored: bool = False
) -> str:
    """Return a value of a row as text: an amount with its currency, an instant with its zone.

    A code is replaced by its word, unless values are shown `as_stored`.
    """
    value, currency = row[name], row.get(units.get(name, ""))
    if isinstance(value, Decimal) and currency:
        return format_amount(value, currency)
    if isinstance(value, datetime):
        return instant_words(value)
    return value_text(value if as_stored else in_words(name, value))


def html_table(
    table: pa.Table, units: Mapping[str, str], title: str = "", *, as_stored: bool = False
) -> str:
    """Return the first rows as HTML, in which text from outside is never markup."""
    shown = grid(table, units, HTML_ROWS, as_stored=as_stored)
    names = [name.replace("_", " ") for name in shown.names]
    to_right = [at for at, right in enumerate(shown.to_right) if right]
    cells = html_grid(shown.rows, names, title, to_right=to_right)
    return f"{cells}<p>{size_words(table, HTML_ROWS)}</p>"


def html_grid(
    rows: Iterable[Sequence[object]],
    head: Sequence[str] = (),
    caption: str = "",
    *,
    to_right: Collection[int] = (),
    has_row_heads: bool = False,
) -> str:
    """Return cells as an HTML table, in which text from outside is never markup.

    `to_right` are the indices of the columns aligned to the right. With `has_row_heads`, the first
    cell of a row is its heading.
    """
    lines = [[clean(text) for text in row] for row in rows]
    styles = []
    for at, texts in enumerate(zip(*([head] if head else []), *lines, strict=True)):
        is_whole = at in to_right or max(map(len, texts)) <= _WHOLE
        width = "white-space:nowrap" if is_whole else "min-width:20em"
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


def size_words(table: pa.Table, limit: int) -> str:
    """Return a sentence that states the number of rows, and how many are shown."""
    count = table.num_rows
    if count > limit:
        return f"{limit:,} of {count:,} rows; .df has them all"
    return f"{count:,} row{'s' * (count != 1)}"


def text_table(
    table: pa.Table, units: Mapping[str, str], title: str = "", *, as_stored: bool = False
) -> str:
    """Return the first rows as aligned text that fits the terminal.

    Columns that do not fit are named below the table. Amounts, dates and references are never cut.
    """
    shown = grid(table, units, TEXT_ROWS, as_stored=as_stored)
    columns = [
        [clean(text) for text in column] for column in zip(shown.names, *shown.rows, strict=True)
    ]
    widths = [
        _column_width(column, is_whole=whole)
        for column, whole in zip(columns, shown.unbroken, strict=True)
    ]
    kept = _fitting(widths, shown.to_right)
    lines = [title] if title else []
    for row in zip(*columns, strict=True):
        cells = (_filled(row[at], widths[at], shown.to_right[at]) for at in kept)
        lines.append((" " * _GAP).join(cells).rstrip())
    notes = size_words(table, TEXT_ROWS)
    if left_out := [name for at, name in enumerate(shown.names) if at not in kept]:
        notes += f"; not shown: {', '.join(left_out)}"
    return "\n".join([*lines, clean(notes)])


def _column_width(texts: Sequence[str], *, is_whole: bool) -> int:
    """Return a column's width, which is large enough for each amount, date and reference."""
    longest = max(map(text_width, texts))
    if is_whole or longest <= _LONGEST:
        return longest
    words = (text_width(word) for text in texts for word in pieces(text))
    unbroken = max((width for width in words if width <= _REFERENCE), default=0)
    return min(longest, max(_LONGEST, unbroken + _GAP))


def _fitting(widths: Sequence[int], to_right: Sequence[bool]) -> list[int]:
    """Return the indices of the columns that fit; the first column and numbers have priority."""
    room = (terminal_width() or _UNKNOWN_WIDTH) + _GAP
    kept: list[int] = []
    for at in sorted(range(len(widths)), key=lambda at: (at > 0, not to_right[at], at)):
        if not kept or widths[at] + _GAP <= room:
            kept.append(at)
            room -= widths[at] + _GAP
    return sorted(kept)


def _filled(text: str, width: int, to_right: bool) -> str:
    text = shortened(text, width)
    if text_width(text) > width:
        text = set_cell_size(text, width - 1) + "…"
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
    """Return the parts of a text at which a line may break."""
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
