"""How the CSV of a bank that is not known seems to be laid out: by its headers and its values.

A header is told by the words in it, in the languages of most banks, and by what stands below it. A
proposal is a guess: a person has to look at it before a file is stored by it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal

from treasury.identifiers import is_iban
from treasury.statements.csv import csv_layout
from treasury.statements.csv.csv_layout import Layout
from treasury.statements.csv.csv_text import CsvRow
from treasury.statements.csv.csv_values import cell, is_amount, is_day
from treasury.statements.csv.csv_words import HEADERS, IN, OUT, POSTAGE
from treasury.statements.csv.profiles import Profile, plain
from treasury.statements.field_values import account_number


def proposal(lines: Sequence[str], file_name: str) -> Layout | None:
    """The layout that an unknown file seems to have: by the words of its headers and its values.

    None where days or amounts cannot be told from the rest.
    """
    layouts = (
        _proposed(row, sample[number + 1 :], delimiter, number)
        for delimiter, sample in csv_layout.samples(lines, file_name)
        for number, row in enumerate(sample[: csv_layout.MOST_BEFORE_HEADER])
    )
    return max(filter(None, layouts), key=lambda one: len(one.columns), default=None)


def _proposed(
    header: CsvRow, below: Sequence[CsvRow], delimiter: str, number: int
) -> Layout | None:
    names = [cell(text) for text in header.cells]
    rows = [row.cells for row in below if len(row.cells) >= len(names) - 1 > 0]
    if not rows or not csv_layout.is_header(header):
        return None
    columns = _roles(names, rows)
    has_one_side = len({"debit", "credit"} & columns.keys()) == 1 and "amount" not in columns
    if not csv_layout.is_complete(columns) or has_one_side:
        return None
    order, is_shown = _day_order(rows, columns["booking_date"][0])
    profile = Profile(
        name="proposed",
        columns={role: tuple(names[p] for p in places) for role, places in columns.items()},
        needs=tuple(filter(None, names)),
        day_order=order,
    )
    return Layout(
        profile,
        delimiter,
        number,
        columns,
        csv_layout.header_currency(names, columns),
        headers=[plain(text) for text in header.cells],
        is_proposed=True,
        are_days_shown=is_shown,
    )


def _roles(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, tuple[int, ...]]:
    """The columns that have a role, by the words in their names and by what stands in them."""
    kinds = [_kind(rows, place) for place in range(len(names))]
    others = [
        place
        for place, name in enumerate(names)
        if kinds[place] == "i"
        and any(_has(plain(name), word) for word in HEADERS["counterparty_name"])
    ]
    columns: dict[str, tuple[int, ...]] = {"counterparty_account": (others[0],)} if others else {}
    used_places = set(others[:1])
    for role, words in HEADERS.items():
        allowed = _KINDS.get(role, "")
        places = [
            place
            for word in words
            for place, name in enumerate(names)
            if place not in used_places
            and (not allowed or kinds[place] in allowed)
            and _fits_role(role, name, word, rows, place)
        ]
        if places and role not in columns:
            several = tuple(dict.fromkeys(places)) if role == "text" else (places[0],)
            columns[role] = several
            used_places.update(several)
    if {"debit", "credit"} <= columns.keys():
        columns.pop("amount", None)
    elif "amount" in columns:
        columns.pop("debit", None)
        columns.pop("credit", None)
        informative = {p for role in _MORE_THAN_SIGN & columns.keys() for p in columns[role]}
        signs = [p for p in range(len(names)) if p not in informative and _says_sign(rows, p)]
        if signs and "sign" not in columns:
            columns = {
                role: places for role, places in columns.items() if signs[0] not in places
            } | {"sign": (signs[0],)}
    # The other party's account is another one in nearly every row.
    accounts = [
        text
        for cells in rows
        for place in columns.get("account", ())
        if place < len(cells) and (text := cell(cells[place]))
    ]
    if len(set(accounts)) > max(1, len(accounts) // 2):
        columns.setdefault("counterparty_account", columns.pop("account"))
    return columns


def _fits_role(role: str, name: str, word: str, rows: Sequence[Sequence[str]], place: int) -> bool:
    header = plain(name)
    if not header or not _has(header, word):
        return False
    if role in {"fee", "amount"} and any(word in header for word in POSTAGE):
        return False
    if word == "net":
        return header == word
    if role in {"debit", "credit"}:
        return not all(any(_has(header, w) for w in HEADERS[way]) for way in ("debit", "credit"))
    return role != "sign" or _says_sign(rows, place)


def _has(header: str, word: str) -> bool:
    """Whether a word is in a header; a lost letter stands for any one."""
    if "\ufffd" not in header:
        return word in header
    parts = (header[at : at + len(word)] for at in range(len(header) - len(word) + 1))
    return any(csv_layout.is_same(part, word) for part in parts)


def _says_sign(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Whether all that a column says is debit or credit, in whatever words."""
    values = {text for cells in rows if place < len(cells) and (text := cell(cells[place]))}
    return bool(values) and all(text in {"+", "-"} or plain(text) in IN | OUT for text in values)


def _kind(rows: Sequence[Sequence[str]], place: int) -> str:
    """What most cells of a column are: d day, a amount, i IBAN, t text, - nothing."""

    def letter(text: str) -> str:
        if is_day(text):
            return "d"
        if is_amount(text):
            return "a"
        return "i" if is_iban(account_number(text)) else "t"

    texts = (cell(cells[place]) for cells in rows[:100] if place < len(cells))
    kinds = Counter(map(letter, filter(None, texts)))
    return kinds.most_common(1)[0][0] if kinds else "-"


def _day_order(
    rows: Sequence[Sequence[str]], place: int
) -> tuple[Literal["dmy", "mdy", "ymd"], bool]:
    """The order of the days' parts, and whether the values show it.

    One above twelve does. Else the order counts in which the days are closer together.
    """
    firsts: set[int] = set()
    seconds: set[int] = set()
    for cells in rows:
        parts = _PARTS.match(cell(cells[place])) if place < len(cells) else None
        if parts is None:
            continue
        if len(parts[1]) == 4:
            return "ymd", True
        if parts[0][len(parts[1])] == ".":
            return "dmy", True  # nobody writes the month first with points
        firsts.add(int(parts[1]))
        seconds.add(int(parts[2]))
    if not firsts or max(firsts) > 12 or max(seconds) > 12:
        return ("mdy" if seconds and max(seconds) > 12 else "dmy"), True
    return ("mdy" if len(firsts) < len(seconds) else "dmy"), False


_PARTS: Final = re.compile(r"(\d{1,4})[-./: ](\d{1,2})[-./: ](\d{1,4})")
_MORE_THAN_SIGN: Final = frozenset({
    "booking_date", "value_date", "amount", "balance", "fee", "currency", "account",
    "counterparty_account", "counterparty_name", "reference",
})  # fmt: skip
"""Roles of columns that say something else even where debit and credit is all that they say."""
_KINDS: Final = {
    "booking_date": "d", "value_date": "d-", "amount": "a", "debit": "a-", "credit": "a-",
    "balance": "a-", "currency": "t-", "sign": "t-", "status": "t-",
}  # fmt: skip
