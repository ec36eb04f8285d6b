"""The ECB's `eurofxref-hist.csv`: what one euro cost, a line for each day, a column a currency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from treasury.errors import InputError
from treasury.rates.file_rate import FileRate, exact_rate, read_at
from treasury.tables.csv_input import day

__all__ = ["NOT_PUBLISHED", "banks_rates", "is_banks_file"]

NOT_PUBLISHED: Final = frozenset({"", "N/A"})
"""What stands in the file for a currency that was not published that day."""


def is_banks_file(head: Sequence[str]) -> bool:
    """Whether these headings are the ECB's: Date, then a column for each currency."""
    names = [name.strip().lower() for name in head]
    return names[0] == "date" and "rate" not in names


def banks_rates(path: Path, rows: Sequence[tuple[int, list[str]]]) -> Iterator[FileRate]:
    """The rates of its lines, the headings first; InputError names a line that is not whole."""
    number, head = rows[0]
    codes = [name.strip().upper() for name in head[1:]]
    twice = next((code for code in codes if code and codes.count(code) > 1), "")
    if twice:
        raise InputError(f"{path}, line {number}: {twice!r:.40} twice", do="fetch the file again")
    for line, cells in rows[1:]:
        where = f"{path}, line {line}"
        if len(cells) != len(head):
            raise InputError(
                f"{where}: {len(cells)} cells for {len(head)} columns", do="fetch the file again"
            )
        published_on = read_at(where, partial(day, cells[0].strip(), "Date"))
        for code, cell in zip(codes, map(str.strip, cells[1:]), strict=True):
            if cell not in NOT_PUBLISHED:
                rate = exact_rate(where, cell, code)
                yield FileRate(line, published_on, None, "EUR", code, rate, cell)
