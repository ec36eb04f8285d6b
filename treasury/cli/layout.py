"""Print tables for people: as columns if they fit the terminal, else one block of lines per row.

An amount, a date, a reference or an account is never broken across lines; other texts may be. If
the columns do not fit, the least important ones are omitted, and a note names the format that has
them. If the other columns still do not fit, the rows are printed as blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final

import click
import msgspec
import pyarrow as pa

from treasury.core.tables.schemas import units_of
from treasury.core.tables.table_view import (
    cell_text,
    folded,
    padded,
    pieces,
    shortened,
    terminal_width,
    text_width,
)
from treasury.core.text import clean

_WIDTH: Final = 240
"""Number of characters in a line if the output is not a terminal."""
_FOLDED: Final = 200_000
"""Maximum size of a table with wrapped texts, in characters."""
_TEXT_LEAST: Final = 20
"""Minimum width of a wrapped text column, in characters."""
_GAP: Final = 2
_INDENT: Final = 4
_TOGETHER: Final = 1_000
"""Number of lines written at a time."""


class _Grid(msgspec.Struct, frozen=True):
    """A table as clean text; `to_right` marks the amount columns."""

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
        """The number of characters in all cells."""
        return sum(len(text) for row in self.rows for text in row)

    def without(self, left_out: Sequence[str]) -> _Grid:
        """Return the table without some of its columns."""
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
    brief: Sequence[str] = (),
    as_stored: bool = False,
) -> None:
    """Print all rows with these columns; without rows, print the text `empty`.

    On a narrow terminal, the `spare` columns are omitted, in this order. If texts would still wrap,
    each row takes two lines with the `brief` columns.
    """
    if not table.num_rows:
        echo_folded(f"{title}: {empty}" if title else empty)
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
    if brief and terminal is not None and not _fits(_natural_widths(grid), width):
        left_out = [name for name in grid.names if name not in brief]
        _print_lines(_on_two_lines(grid, brief, width))
        _say_left_out(left_out, width)
        return
    if left_out is None:
        _print_lines(_one_below_the_other(grid, terminal))
        return
    narrow = grid.without(left_out)
    _print_lines(_aligned(narrow, _widths(narrow, width, spare)))
    if left_out:
        _say_left_out(left_out, width)


def _say_left_out(names: Sequence[str], width: int) -> None:
    listed = ", ".join(name.replace("_", " ") for name in names)
    echo_folded(f"not shown in {width} columns: {listed}; --format csv or json has them")


def echo_folded(text: str, *, err: bool = False) -> None:
    """Print lines of text; wrap and indent lines wider than the terminal.

    An indented line moves to the left if one of its unbroken parts would not fit.
    """
    width = terminal_width()
    for line in text.split("\n"):
        if width is None or text_width(line) <= width:
            click.echo(line, err=err)
            continue
        words = line.lstrip(" ")
        longest = max(map(text_width, pieces(words)))
        start = max(0, min(len(line) - len(words), width - _INDENT - longest))
        first, *more = folded(words, width - start - _INDENT)
        click.echo(" " * start + first.rstrip(), err=err)
        for each in more:
            click.echo(" " * (start + _INDENT) + each.rstrip(), err=err)


def _left_out(grid: _Grid, spare: Sequence[str], width: int) -> list[str] | None:
    """Return the spare columns to omit so that the other columns fit; None if those do not fit.

    Empty columns are omitted first.
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
    return [max(map(text_width, column)) for column in zip(grid.heads, *grid.rows, strict=True)]


def _least_widths(grid: _Grid) -> list[int]:
    """Return the minimum widths at which no whole text breaks and sentences stay readable."""
    widths = []
    for at, natural in enumerate(_natural_widths(grid)):
        parts = [part for row in grid.rows for part in pieces(row[at])]
        parts += grid.heads[at].split()
        longest = max(map(text_width, parts), default=0)
        widths.append(max(longest, min(natural, _TEXT_LEAST)))
    return widths


def _widths(grid: _Grid, width: int, spare: Sequence[str]) -> list[int]:
    """Return widths that fit the terminal: spare columns shrink first, then the widest others."""
    widths, least = _natural_widths(grid), _least_widths(grid)
    while not _fits(widths, width):
        wide = [at for at in range(len(widths)) if widths[at] > least[at]]
        at = max([at for at in wide if grid.names[at] in spare] or wide, key=widths.__getitem__)
        over = sum(widths) + _GAP * (len(widths) - 1) - width
        others = sorted({each for each in widths if each < widths[at]}, reverse=True)
        level = max(others[0] if others else 0, least[at], widths[at] - over)
        widths[at] = min(level, widths[at] - 1)
    return widths


def _aligned(grid: _Grid, widths: Sequence[int]) -> Iterator[str]:
    """Yield the aligned lines of a table: the headings, then the rows."""
    rule = ["─" * width for width in widths]
    for row in (grid.heads, rule, *grid.rows):
        cells = [folded(text, width) for text, width in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            filled = map(padded, line, widths, grid.to_right)
            yield (" " * _GAP).join(filled).rstrip()


def _one_below_the_other(grid: _Grid, width: int | None) -> Iterator[str]:
    """Yield a block of lines for each row: column names with their values."""
    heads = grid.heads
    indent = max(map(text_width, heads))
    for number, row in enumerate(grid.rows, start=1):
        yield f"-- row {number:,} of {len(grid.rows):,}"
        for head, text in zip(heads, row, strict=True):
            lines = [text] if width is None else folded(text, width - indent - _GAP)
            for at, line in enumerate(lines):
                label = padded("" if at else head, indent, to_right=False)
                yield f"{label}  {line}".rstrip()


def _on_two_lines(grid: _Grid, brief: Sequence[str], width: int) -> Iterator[str]:
    """Yield two lines for each row: its first two `brief` columns, then the others.

    The first column and the second line are shortened at a blank if they do not fit.
    """
    places = [grid.names.index(name) for name in brief]
    for row in grid.rows:
        name, amount, *others = (row[at] for at in places)
        room = width - text_width(amount) - _GAP
        yield f"{padded(shortened(name, room), room, to_right=False)}  {amount}".rstrip()
        rest = ", ".join(filter(None, others))
        yield f"{' ' * _INDENT}{shortened(rest, width - _INDENT)}".rstrip()


def _print_lines(lines: Iterator[str]) -> None:
    while together := list(islice(lines, _TOGETHER)):
        click.echo("\n".join(together))
