"""Values of SWIFT's fields: balances (60, 62, 64, 65), and the line of a movement (61)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import parse_amount
from treasury.statements.balance_proof import StatementBalance

_BALANCE: Final = re.compile(r"\s*(R?[CD])\s*(\d{6})\s*([A-Z]{3})?\s*([0-9.,' ]+?)\s*$", re.ASCII)
_LONGEST: Final = 100
"""Maximum length of a field with a balance."""
_LINE: Final = (
    r"[^\S\n]*(\d{6}|\d{8})(\d{4})? *(R[CD]|E[CD]|[CD])[A-Z]?"
    r"(,[0-9][0-9.]*|[0-9][0-9.]*,[0-9.]*|[0-9]+\.[0-9]+|[0-9]+(?=[NSF][A-Z0-9]{3})) ?"
    r"((?!NONREF)[A-NP-Z](?:[A-Z0-9 ]{3}|[A-Z0-9]{2}))"
    r"([^\n/]*(?:/(?!/)[^\n/]*)*)(?://([^\n]*))?"
)
"""Pattern of field 61: days, mark, amount, kind, owner's reference, bank's reference after `//`.

A decimal sign or one of SWIFT's kinds must follow the digits of an amount, and no kind begins with
O: otherwise a letter O typed for a zero would end the amount.
"""
_LINES: Final = re.compile(f"^{_LINE}$", re.ASCII | re.MULTILINE)
_ONE_LINE: Final = re.compile(rf"{_LINE}(?:\n(.*))?", re.ASCII | re.DOTALL)
_MONEY: Final = re.compile(r"([A-Z]{3})?\s*([0-9][0-9.,]*)", re.ASCII)
_PLAIN: Final = re.compile(r"[0-9]{1,18},[0-9]{0,18}", re.ASCII)
_ALL_PLAIN: Final = re.compile(r"(?:[0-9]{1,18},[0-9]{0,18}(?: |$))+", re.ASCII)
_CENTURY: Final = 80
"""Two-digit years from this one on belong to the 1900s; files have no older statements."""


class Lines(msgspec.Struct, frozen=True):
    """The parts of fields 61, one list per part. `sides` has C, D, RC, RD, EC or ED.

    `references` has the customer's references, `own` the bank's, `more` the further lines, `moved`
    the positions of movements with a value date that does not exist.
    """

    value_dates: list[date]
    booking_dates: list[date]
    sides: Sequence[str]
    amounts: list[Decimal]
    kinds: Sequence[str]
    references: Sequence[str]
    own: Sequence[str]
    more: dict[int, str]
    moved: frozenset[int]


def lines_of(texts: Sequence[str]) -> Lines:
    """Return the parts of several fields 61. Raises InputError for a text of any other form."""
    together = "\n".join(texts)
    rows = _LINES.findall(together) if together.count("\n") < len(texts) else []
    more: dict[int, str] = {}
    if len(rows) != len(texts):
        matches = []
        for text in texts:
            # Some files have a line break within the amount, which SWIFT does not allow.
            unbroken = text.replace("\n", "", 1)
            matched = _ONE_LINE.fullmatch(text.lstrip()) or _ONE_LINE.fullmatch(unbroken.lstrip())
            if matched is None:
                raise InputError(f"{text[:40]!r} is not a movement")
            matches.append(matched)
        rows = [matched.groups("")[:-1] for matched in matches]
        more = {at: matched[8] for at, matched in enumerate(matches) if matched[8]}
    days, booked, sides, amounts, kinds, references, own = zip(*rows, strict=True)
    days_by_text = {day: short_day(day) for day in set(days)}
    pairs = {
        pair: near(days_by_text[pair[0]][0], pair[1]) if pair[1] else days_by_text[pair[0]][0]
        for pair in set(zip(days, booked, strict=True))
    }
    moved = {day for day, (_, was_moved) in days_by_text.items() if was_moved}
    return Lines(
        [days_by_text[day][0] for day in days],
        [pairs[pair] for pair in zip(days, booked, strict=True)],
        sides,
        amounts_of(amounts),
        list(map(str.strip, kinds)),
        list(map(str.strip, references)),
        list(map(str.strip, own)),
        more,
        frozenset(at for at, day in enumerate(days) if day in moved) if moved else frozenset(),
    )


def balance_of(text: str, code: str, currency: str | None) -> tuple[StatementBalance, bool]:
    """Return a balance, and whether its currency was missing and replaced by the default.

    Raises InputError if it cannot be read.
    """
    line = text.partition("\n")[0].strip()
    matched = _BALANCE.match(line) if len(line) < _LONGEST else None
    if matched is None:
        raise InputError(f"{text[:40]!r} is not a balance")
    side, day, stated, amount = matched.groups()
    if stated is None and currency is None:
        raise InputError(f"{text[:40]!r} has no currency")
    sign = -1 if side in {"D", "RC"} else 1
    value = amount_of(amount)
    return StatementBalance(
        code, -value if sign < 0 else value, stated or currency or "", short_day(day)[0]
    ), stated is None


@lru_cache(maxsize=4096)
def short_day(text: str) -> tuple[date, bool]:
    """Return the day in YYMMDD or YYYYMMDD, and whether a day that does not exist was moved back.

    Banks that count 30 days per month write 30 February.
    """
    if len(text) == 8:
        year, month_day = int(text[:4]), text[4:]
    else:
        year, month_day = int(text[:2]), text[2:]
        year += 1900 if year >= _CENTURY else 2000
    month, day = int(month_day[:2]), int(month_day[2:])
    if 1 <= month <= 12 and 1 <= day <= 31 and year:
        for back in range(4):
            with suppress(ValueError):
                return date(year, month, day - back), back > 0
    raise InputError(f"{text!r} is not a date")


@lru_cache(maxsize=4096)
def near(reference_day: date, month_day: str) -> date:
    """Return the date with this month and day, in the year that is nearest to a known date."""
    month, day = int(month_day[:2]), int(month_day[2:])
    candidates: list[date] = []
    for year in (reference_day.year, reference_day.year - 1, reference_day.year + 1):
        with suppress(ValueError):
            candidates.append(date(year, month, day))
    if not candidates:
        last = date(reference_day.year, 3, 1) - timedelta(days=1)
        if month == 2 and day in {29, 30}:
            return last
        raise InputError(f"{month_day!r} is not a day")
    return min(candidates, key=lambda one: abs((one - reference_day).days))


def amounts_of(texts: Sequence[str]) -> list[Decimal]:
    """Return the amounts in texts, fast if all have SWIFT's form."""
    if _ALL_PLAIN.fullmatch(" ".join(texts)):
        return [Decimal(text.replace(",", ".")) for text in texts]
    return [amount_of(text) for text in texts]


def amount_of(text: str) -> Decimal:
    """Return an amount as SWIFT writes it, with a comma; a point is accepted too."""
    if _PLAIN.fullmatch(text):
        return Decimal(text.replace(",", "."))
    plain = text.replace(" ", "").replace("'", "")
    comma, point = plain.rfind(","), plain.rfind(".")
    group, sign = (".", ",") if comma > point else (",", ".")
    plain = plain.replace(group, "").replace(sign, ".").rstrip(".")
    return parse_amount(f"0{plain}" if plain.startswith(".") else plain)


def with_currency(text: str | None) -> tuple[Decimal | None, str | None]:
    """Return the amount and currency of a text such as `EUR11,85`; a missing part is None."""
    matched = _MONEY.match(text or "")
    if matched is None:
        return None, None
    try:
        return amount_of(matched[2]), matched[1]
    except InputError:
        return None, None
