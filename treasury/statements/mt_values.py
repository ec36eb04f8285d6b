"""What SWIFT writes in fields 60 to 65 and 61: balances, and the line of a movement."""

from __future__ import annotations

import re
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final

import msgspec

from treasury.errors import InputError
from treasury.money import parse_amount
from treasury.statements.proof import Balance

__all__ = ["Line", "amount_of", "balance_of", "line_of", "near", "short_day", "with_currency"]

_BALANCE: Final = re.compile(r"\s*(R?[CD])\s*(\d{6})\s*([A-Z]{3})?\s*([0-9.,' ]+?)\s*$", re.ASCII)
_LINE: Final = re.compile(
    r"(\d{6}|\d{8})(\d{4})? *(R[CD]|E[CD]|[CD])([A-Z])?"
    r"([0-9][0-9.,]*) ?"
    r"([A-Z][A-Z0-9 ]{3}|[A-Z][A-Z0-9]{2}|)(.*)",
    re.DOTALL | re.ASCII,
)
_MONEY: Final = re.compile(r"([A-Z]{3})?\s*([0-9][0-9.,]*)", re.ASCII)
_PLAIN: Final = re.compile(r"[0-9]{1,18},[0-9]{0,18}", re.ASCII)
_HALF_A_YEAR: Final = 183
_CENTURY: Final = 80
"""Two digits of a year from here on are of the 1900s: no bank has older statements in a file."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """A field 61. `mark`: C, D, RC, RD, EC or ED; `reference` the customer's, `own` the bank's."""

    value_date: date
    booking_date: date
    mark: str
    amount: Decimal
    kind: str
    reference: str
    own: str
    more: str
    inferred: tuple[str, ...]


def line_of(text: str) -> Line:
    """What a field 61 says. InputError where it has not got the shape of one."""
    matched = _LINE.match(text.lstrip())
    if matched is None:
        # Some files break the line within the amount; SWIFT itself does not.
        matched = _LINE.match(text.replace("\n", "", 1).lstrip())
    if matched is None:
        raise InputError(f"{text[:40]!r} is not a movement")
    day, booked, mark, _, amount, kind, rest = matched.groups()
    value_date, moved = short_day(day)
    inferred = ("value_date",) if moved else ()
    booking_date = near(value_date, booked) if booked else value_date
    first, _, more = rest.partition("\n")
    reference, _, own = first.partition("//")
    return Line(
        value_date,
        booking_date,
        mark,
        amount_of(amount),
        kind.strip(),
        reference.strip(),
        own.strip(),
        more,
        (*inferred, "booking_date"),  # a day without its year, or none at all
    )


def balance_of(text: str, code: str, currency: str | None) -> tuple[Balance, bool]:
    """A balance, and whether it lacks the currency that it then gets.

    InputError where it cannot be read.
    """
    matched = _BALANCE.match(text.partition("\n")[0])
    if matched is None:
        raise InputError(f"{text[:40]!r} is not a balance")
    mark, day, stated, amount = matched.groups()
    if stated is None and currency is None:
        raise InputError(f"{text[:40]!r} has no currency")
    sign = -1 if mark in {"D", "RC"} else 1
    value = amount_of(amount)
    known = stated or currency or ""
    return Balance(code, -value if sign < 0 else value, known, short_day(day)[0]), stated is None


@lru_cache(maxsize=4096)
def short_day(text: str) -> tuple[date, bool]:
    """The day in YYMMDD or YYYYMMDD, and whether it had to be moved back to one that exists.

    Banks that count 30 days to a month write 30 February.
    """
    if len(text) == 8:
        year, rest = int(text[:4]), text[4:]
    else:
        year, rest = int(text[:2]), text[2:]
        year += 1900 if year >= _CENTURY else 2000
    month, day = int(rest[:2]), int(rest[2:])
    if 1 <= month <= 12 and 1 <= day <= 31 and year:
        for back in range(4):
            try:
                return date(year, month, day - back), back > 0
            except ValueError:
                continue
    raise InputError(f"{text!r} is not a date")


@lru_cache(maxsize=4096)
def near(known: date, month_day: str) -> date:
    """The day with this month and day that is nearest to a known one: its year is not stated."""
    month, day = int(month_day[:2]), int(month_day[2:])
    found: list[date] = []
    for year in (known.year, known.year - 1, known.year + 1):
        try:
            found.append(date(year, month, day))
        except ValueError:
            continue
    if not found:
        last = date(known.year, 3, 1) - timedelta(days=1)
        if month == 2 and day in {29, 30}:
            return last
        raise InputError(f"{month_day!r} is not a day")
    return min(found, key=lambda one: abs((one - known).days))


def amount_of(text: str) -> Decimal:
    """An amount as SWIFT writes it, with a comma; one with a point is understood too."""
    if _PLAIN.fullmatch(text):
        return Decimal(text.replace(",", "."))
    plain = text.replace(" ", "").replace("'", "")
    comma, point = plain.rfind(","), plain.rfind(".")
    group, sign = (".", ",") if comma > point else (",", ".")
    plain = plain.replace(group, "").replace(sign, ".")
    return parse_amount(plain.rstrip("."))


def with_currency(text: str | None) -> tuple[Decimal | None, str | None]:
    """`EUR11,85` as amount and currency; nothing where it is something else."""
    matched = _MONEY.match(text or "")
    if matched is None:
        return None, None
    try:
        return amount_of(matched[2]), matched[1]
    except InputError:
        return None, None
