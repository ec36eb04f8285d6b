"""A table for a person: in columns where they fit the terminal, else every row as a block of lines.

An amount, a date, a reference or an account is never broken: only the words between them are put on
several lines. Where the columns do not fit, those that matter least are left out and named with the
way to see them; where the others still do not fit, the rows stand one below the other.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final

import click
import msgspec
import pyarrow as pa
from rich.cells import cell_len

from treasury.core.tables.schemas import units_of
from treasury.core.tables.table_view import cell_text
from treasury.core.text import clean

_WIDTH: Final = 240
"""Characters of a line where there is no terminal."""
_FOLDED: Final = 200_000
"""Characters of a table up to which its texts are put on several lines."""
_TEXT_LEAST: Final = 20
"""Characters that a column of sentences has at least, where they are put on several lines."""
_GAP: Final = 2
_INDENT: Final = 4
_TOGETHER: Final = 1_000
"""Lines that are written at a time."""
_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_WHOLE: Final = re.compile(
    r"[A-Z][A-Z0-9]{1,9} -?[0-9][0-9,.]*"  # an amount with its currency
    rf"|\b[0-9]{{1,2}} {_MONTH}(?: [0-9]{{4}})?(?: [0-9]{{2}}:[0-9]{{2}}(?: [A-Z]{{2,5}}\b)?)?"
    r"|\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(?::[0-9]{2})?(?: [A-Z]{2,5}\b)?"
    r"|\b[0-9][0-9,]* (?:TARGET|calendar|business) days?\b"
)
"""What is not broken although it has blanks in it."""
_BLANK: Final = "\u00a0"
"""Stands for a blank that a line is not broken at; `clean` leaves none in a text."""


class _Grid(msgspec.Struct, frozen=True):
    """A table as text, nothing hidden in it; `to_right` says which columns are of amounts."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    to_right: Sequence[bool]

    @property
    def heads(self) -> list[str]:
        """The columns' names as words."""
        return [clean(name.replace("_", " ")) for name in self.names]

    @property
    def size(self) -> int:
        """Characters of all cells."""
        return sum(len(text) for row in self.rows for text in row)

    def without(self, left_out: Sequence[str]) -> _Grid:
        """The table without some of its columns."""
        places = [at for at, name in enumerate(self.names) if name not in left_out]
        return _Grid(
            self.title,
            [self.names[at] for at in places],
            [[row[at] for at in places] for row in self.rows],
            [self.to_right[at] for at in places],
        )


def print_table(
    table: pa.Table,
    columns: Sequence[str],
    title: str,
    empty: str,
    spare: Sequence[str] = (),
    *,
    as_stored: bool = False,
) -> None:
    """Print every row with these columns; `empty` where there is none.

    `spare` are the columns that are left out of a narrow terminal, the first of them first.
    """
    if not table.num_rows:
        click.echo(f"{title}: {empty}" if title else empty)
        return
    units = units_of(table.schema)
    grid = _Grid(
        title,
        columns,
        [
            [clean(cell_text(row, name, units, as_stored=as_stored)) for name in columns]
            for row in table.to_pylist()
        ],
        [pa.types.is_decimal(table.schema.field(name).type) for name in columns],
    )
    if title:
        echo_folded(f"{title}\n")
    terminal = terminal_width()
    width = terminal or _WIDTH
    if grid.size > _FOLDED:
        widths = _natural_widths(grid)
        fits = sum(widths) + _GAP * len(widths) <= _WIDTH
        _print_lines(_aligned(grid, widths) if fits else _one_below_the_other(grid, None))
        return
    left_out = _left_out(grid, spare, width)
    if left_out is None:
        _print_lines(_one_below_the_other(grid, terminal))
        return
    narrow = grid.without(left_out)
    _print_lines(_aligned(narrow, _widths(narrow, width, spare)))
    if left_out:
        names = ", ".join(name.replace("_", " ") for name in left_out)
        echo_folded(f"not shown in {width} columns: {names}; --format csv or json has them")


def terminal_width() -> int | None:
    """Columns of the terminal, by $COLUMNS first; None where output goes elsewhere."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError):  # no terminal, or no file at all
        return None


def echo_folded(text: str) -> None:
    """Print lines of text; one that is wider than the terminal goes on below, indented."""
    width = terminal_width()
    for line in text.split("\n"):
        if width is None or _width(line) <= width:
            click.echo(line)
            continue
        start = len(line) - len(line.lstrip(" "))
        first, *more = _folded(line[start:], width - start - _INDENT)
        click.echo(" " * start + first.rstrip())
        for each in more:
            click.echo(" " * (start + _INDENT) + each.rstrip())


def _left_out(grid: _Grid, spare: Sequence[str], width: int) -> list[str] | None:
    """The spare columns that have to go until the others fit; None where even that is not enough.

    A column that says nothing in any row goes first.
    """
    blank = [
        name
        for at, name in enumerate(grid.names)
        if name in spare and not any(row[at] for row in grid.rows)
    ]
    order = [*blank, *(name for name in spare if name in grid.names and name not in blank)]
    for number in range(len(order) + 1):
        if _fits(_least_widths(grid.without(order[:number])), width):
            return order[:number]
    return None


def _fits(widths: Sequence[int], width: int) -> bool:
    return sum(widths) + _GAP * (len(widths) - 1) <= width


def _natural_widths(grid: _Grid) -> list[int]:
    return [max(map(_width, column)) for column in zip(grid.heads, *grid.rows, strict=True)]


def _least_widths(grid: _Grid) -> list[int]:
    """The width below which a column would break what is whole, or fold sentences into a sliver."""
    widths = []
    for at, natural in enumerate(_natural_widths(grid)):
        pieces = [piece for row in grid.rows for piece in _pieces(row[at])]
        pieces += grid.heads[at].split()
        longest = max(map(_width, pieces), default=0)
        widths.append(max(longest, min(natural, _TEXT_LEAST)))
    return widths


def _widths(grid: _Grid, width: int, spare: Sequence[str]) -> list[int]:
    """Widths that fit: spare columns give way first, then the widest of the others."""
    widths, least = _natural_widths(grid), _least_widths(grid)
    while not _fits(widths, width):
        wide = [at for at in range(len(widths)) if widths[at] > least[at]]
        at = max([at for at in wide if grid.names[at] in spare] or wide, key=widths.__getitem__)
        over = sum(widths) + _GAP * (len(widths) - 1) - width
        others = sorted({each for each in widths if each < widths[at]}, reverse=True)
        level = max(others[0] if others else 0, least[at], widths[at] - over)
        widths[at] = min(level, widths[at] - 1)
    return widths


def _pieces(text: str) -> list[str]:
    """The parts of a text that a line is not broken in."""
    return _WHOLE.sub(lambda found: found[0].replace(" ", _BLANK), text).split(" ")


def _folded(text: str, width: int) -> list[str]:
    """The lines of a text in a column; a part that is longer than the column stays whole."""
    if _width(text) <= width:
        return [text]
    lines, line = [], ""
    for piece in _pieces(text):
        longer = f"{line} {piece}" if line else piece
        if line and _width(longer) > width:
            lines.append(line)
            line = piece
        else:
            line = longer
    return [each.replace(_BLANK, " ") for each in (*lines, line)]


def _aligned(grid: _Grid, widths: Sequence[int]) -> Iterator[str]:
    """The rows of a table below its heads, their cells below each other."""
    rule = ["─" * width for width in widths]
    for row in (grid.heads, rule, *grid.rows):
        cells = [_folded(text, width) for text, width in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            filled = map(_filled, line, widths, grid.to_right)
            yield (" " * _GAP).join(filled).rstrip()


def _filled(text: str, width: int, to_right: bool) -> str:
    blanks = " " * (width - _width(text))
    return f"{blanks}{text}" if to_right else f"{text}{blanks}"


def _one_below_the_other(grid: _Grid, width: int | None) -> Iterator[str]:
    """A block of lines for each row: the name of a column and what is in it."""
    heads = grid.heads
    indent = max(map(_width, heads))
    for number, row in enumerate(grid.rows, start=1):
        yield f"-- row {number:,} of {len(grid.rows):,}"
        for head, text in zip(heads, row, strict=True):
            lines = [text] if width is None else _folded(text, width - indent - _GAP)
            for at, line in enumerate(lines):
                label = _filled("" if at else head, indent, to_right=False)
                yield f"{label}  {line}".rstrip()


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return len(text) if text.isascii() else cell_len(text)


def _print_lines(lines: Iterator[str]) -> None:
    while together := list(islice(lines, _TOGETHER)):
        click.echo("\n".join(together))
