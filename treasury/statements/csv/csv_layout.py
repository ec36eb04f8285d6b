"""Choice of the profile for a CSV file with a header row, and the positions of its columns.

For a file without a matching profile, `csv_proposal` proposes a layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from treasury.core.errors import StatementError
from treasury.statements.csv.csv_text import CsvRow, rows_of
from treasury.statements.csv.csv_values import cell, is_amount, is_day
from treasury.statements.csv.csv_words import SIGNS
from treasury.statements.csv.profiles import Profile, plain

_DELIMITERS: Final = (";", ",", "\t", "|")
MOST_BEFORE_HEADER: Final = 60
SAMPLE: Final = 200
"""Number of lines at the beginning of a file from which its layout is recognised."""


class Answer(msgspec.Struct, frozen=True):
    """A possible answer to a question: the word to type, its meaning, and the changes it makes."""

    word: str
    meaning: str
    changes: dict[str, object] = {}
    """Changed fields of the profile; `columns` maps a role to positions, () to remove it.
    """


class CsvQuestion(msgspec.Struct, frozen=True):
    """A question about a file that its headers and values leave open."""

    name: str
    text: str
    answers: tuple[Answer, ...]


class Layout(msgspec.Struct, frozen=True):
    """The layout of a file: its profile, and the columns of each role."""

    profile: Profile
    delimiter: str
    header: int
    """Index of the header row, from 0; -1 without a header row."""
    columns: dict[str, tuple[int, ...]]
    header_currency: str | None = None
    is_proposed: bool = False
    headers: list[str] = []
    """The header row in normalised form; empty if there is none."""
    questions: tuple[CsvQuestion, ...] = ()
    """Questions that must be answered before a file with a proposed layout is read."""
    unused: tuple[tuple[str, str], ...] = ()
    """Header and first value of each column that a proposed layout leaves out."""
    is_card: bool = False
    """Whether a proposed layout is for a card, whose purchases may be positive amounts."""


def layout_of(lines: Sequence[str], profiles: Iterable[Profile], file_name: str) -> Layout | None:
    """Return the layout of a file with a header row, by the best matching profile; else None."""
    candidates = [profile for profile in profiles if not profile.shape]
    layouts = []
    for delimiter, sample in samples(lines, file_name):
        for number, row in enumerate(sample[:MOST_BEFORE_HEADER]):
            headers = [plain(text) for text in row.cells]
            if sum(map(bool, headers)) < 3:
                continue
            for profile in candidates:
                columns = _columns(headers, profile)
                if is_complete(columns):
                    currency = header_currency(row.cells, columns)
                    layouts.append(
                        Layout(profile, delimiter, number, columns, currency, headers=headers)
                    )
    return max(layouts, key=lambda one: len(one.columns) + len(one.profile.needs), default=None)


def samples(lines: Sequence[str], file_name: str) -> Iterator[tuple[str, list[CsvRow]]]:
    """Yield for each delimiter in the file the first rows split by it."""
    head = lines[:SAMPLE]
    for delimiter in _DELIMITERS:
        if any(delimiter in line for line in head):
            rows: list[CsvRow] = []
            # The sample may end within a cell, and a wrong delimiter causes errors, so errors are
            # ignored here. The file itself is parsed strictly.
            with suppress(StatementError):
                rows.extend(rows_of(iter(head), delimiter, file_name))
            yield delimiter, rows


def is_same(header: str, name: str) -> bool:
    """Return whether two headers are equal; a replacement character matches any or no character."""
    if "\ufffd" not in header:
        return header == name
    return re.fullmatch(re.escape(header).replace("\ufffd", ".?"), name) is not None


def _columns(headers: Sequence[str], profile: Profile) -> dict[str, tuple[int, ...]]:
    """Return the positions of a profile's columns; empty if a required header is missing."""
    needs = profile.needs or map("|".join, profile.columns.values())
    if not all(
        any(is_same(header, plain(name)) for name in need.split("|") for header in headers)
        for need in needs
    ):
        return {}
    columns = {
        role: dict.fromkeys(
            place
            for name in names
            for place, header in enumerate(headers)
            if name == f"#{place + 1}" or (header and is_same(header, plain(name)))
        )
        for role, names in profile.columns.items()
    }
    return {role: tuple(places) for role, places in columns.items() if places}


def is_header(row: CsvRow) -> bool:
    """Return whether a row can be a header: at least three texts, no day and no amount."""
    texts = [text for text in map(cell, row.cells) if text]
    return len(texts) > 2 and not any(is_day(text) or is_amount(text) for text in texts)


def is_complete(columns: dict[str, tuple[int, ...]]) -> bool:
    """Return whether the columns include a booking date and an amount."""
    return "booking_date" in columns and bool({"amount", "debit", "credit"} & columns.keys())


def header_currency(cells: Sequence[str], columns: dict[str, tuple[int, ...]]) -> str | None:
    """Return the currency in a header such as `Gutschrift in CHF`."""
    places = [p for role in ("amount", "debit", "credit", "balance") for p in columns.get(role, ())]
    matches = (_IN_HEADER.search(cells[place].strip()) for place in places)
    return next((matched[1] for matched in matches if matched), None)


_IN_HEADER: Final = re.compile(
    rf"(?:\bin |\ben |[ (])([A-Z]{{3}}|{'|'.join(map(re.escape, SIGNS))})\)?$"
)
