"""Conversion of CSV cells: days in any usual order, amounts with either decimal sign.

The decimal sign is derived from the whole file and then applied strictly: an amount that does not
fit raises an error and is never misread.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Final, Literal

from treasury.core.errors import InputError
from treasury.core.money import parse_amount, total
from treasury.statements.csv.csv_words import CURRENCY_MARK
from treasury.statements.csv.profiles import plain

_EXCEL: Final = re.compile(r'="?(.*?)"?', re.DOTALL)
_YEAR_FIRST: Final = re.compile(
    r"(\d{4})(?:(\d{2})(\d{2})|([-./:]) ?(\d{1,2})\4 ?(\d{1,2})\.?)(?:[T ].*)?", re.ASCII
)
_YEAR_LAST: Final = re.compile(
    r"(\d{1,2})[-./ ] ?(\d{1,2})[-./ ] ?(\d{4}|\d{2})\.?(?:[,T ].*)?", re.ASCII
)
_MONTH_NAMED: Final = re.compile(
    r"(\d{1,2})\.?[-./ ]?([^\W\d_]{3,12})\.?[-./ ,]+(\d{4}|\d{2})(?: .*)?"
)
_MONTH_NAMED_FIRST: Final = re.compile(r"([^\W\d_]{3,12})\.? (\d{1,2}),? (\d{4})(?: .*)?")
_MONTHS: Final = {
    name: number
    for number, names in enumerate(
        ("jan ene gen", "feb fev", "mar mrz mrt maa", "apr avr abr", "may mai mei maj mag",
         "jun juin giu", "jul juil lug", "aug aou ago", "sep set", "oct okt ott out",
         "nov", "dec dez dic des"), 1
    )
    for name in names.split()
}  # fmt: skip
"""First letters of month names in the languages of most banks, without accents."""
_PLAIN: Final = re.compile(r"-?[0-9]+(?:[.,][0-9]+)?", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9](?:[0-9.,'’ \u00a0\u202f]*[0-9])?[.,]?", re.ASCII)
_WITHOUT_ZERO: Final = re.compile(r"[.,][0-9]+", re.ASCII)
_CURRENCY: Final = re.compile(rf"^(?:{CURRENCY_MARK})\s*|\s*(?:{CURRENCY_MARK})$")
_WAY: Final = re.compile(r"(?<=[0-9.,])\s*(?:(DR|Dr|D|S)|CR|Cr|C|H)$", re.ASCII)
"""Mark for debit or credit after an amount, as in `12,50 S`."""
_BREAK: Final = re.compile(r"<br ?/?>", re.IGNORECASE)
_LONGEST: Final = 60
"""Maximum length of a cell with an amount."""
_GROUPING: Final = str.maketrans("", "", "'’ \u00a0\u202f")
_SPACES: Final = "'’ \u00a0\u202f"


def cell(text: str) -> str:
    """Return a cell's text, without the spreadsheet formula that some banks write around it."""
    text = text.strip().strip("|")
    if text.startswith("="):
        formula = _EXCEL.fullmatch(text)
        text = formula[1].strip() if formula else text
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    return text


def day_in(text: str, order: str) -> date:
    """Return the day in a cell, by the order dmy, mdy or ymd. Raises InputError without a day."""
    if first := _YEAR_FIRST.fullmatch(text):
        return _date(first[1], first[2] or first[5], first[3] or first[6], text)
    if last := _YEAR_LAST.fullmatch(text):
        if order == "mdy":
            return _date(last[3], last[1], last[2], text)
        if order == "ymd" and len(last[3]) == 2:
            return _date(last[1], last[2], last[3], text)
        return _date(last[3], last[2], last[1], text)
    if matched := _MONTH_NAMED.fullmatch(text):
        return _date(matched[3], _month(matched[2]), matched[1], text)
    if matched := _MONTH_NAMED_FIRST.fullmatch(text):
        return _date(matched[3], _month(matched[1]), matched[2], text)
    raise InputError(f"{text[:40]!r} is not a date")


def _month(name: str) -> str:
    """Return the number of the month with this name; 0 if it is unknown."""
    letters = plain(name)
    return str(_MONTHS.get(letters[:4]) or _MONTHS.get(letters[:3], 0))


def _date(year: str, month: str, day: str, text: str) -> date:
    full = int(year) + (2000 if len(year) <= 2 else 0)
    try:
        return date(full, int(month), int(day))
    except ValueError:
        raise InputError(f"{text[:40]!r} is not a date") from None


def is_day(text: str) -> bool:
    """Return whether a cell is a day in any known order."""
    for order in ("dmy", "mdy"):
        try:
            day_in(text, order)
        except InputError:
            continue
        return True
    return False


def _bare(text: str) -> tuple[str, bool]:
    """Return an amount without currency and sign, and whether it is negative."""
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return text.lstrip("-"), text.startswith("-")
    negative = False
    if text.startswith("(") and text.endswith(")"):
        text, negative = text[1:-1], True
    if way := _WAY.search(text):
        text, negative = text[: way.start()], negative or way[1] is not None
    text = _CURRENCY.sub("", _CURRENCY.sub("", text, count=1).strip(), count=1).strip()
    for minus in ("-", "\u2212"):
        if text.startswith(minus):
            text, negative = text[len(minus) :], True
        elif text.endswith(minus):
            text, negative = text[: -len(minus)], True
    text = text.removeprefix("+").removesuffix("+").strip()
    text = _CURRENCY.sub("", text, count=1).strip()
    return f"0{text}" if _WITHOUT_ZERO.fullmatch(text) else text, negative


def is_amount(text: str) -> bool:
    """Return whether a cell can be an amount."""
    return len(text) < _LONGEST and all(
        _NUMBER.fullmatch(_bare(part)[0]) is not None for part in _BREAK.split(text)
    )


def is_signed(text: str) -> bool:
    """Return whether an amount states its direction by a sign, brackets or a mark such as `S`."""
    if len(text) >= _LONGEST:
        return False
    return _bare(text)[1] or "+" in text or _WAY.search(text) is not None


def decimal_sign(texts: Iterable[str]) -> Literal["", ",", ".", "none"]:
    """Return the decimal sign of a file's amounts, a comma or a point.

    A sign groups thousands if another sign follows it or it occurs twice; it separates decimals if
    not exactly three digits follow. The majority decides. The result is empty if every sign may
    have either meaning, as in `1.234`, and "none" if no amount has a sign.
    """
    votes = Counter(map(_vote, texts))
    if votes[","] or votes["."]:
        return "," if votes[","] > votes["."] else "."
    return "" if votes["open"] else "none"


def without_breaks(text: str) -> str:
    """Return a text with blanks in place of HTML line breaks."""
    return _BREAK.sub(" ", text)


def _vote(text: str) -> str:
    """Return an amount's decimal sign or ""; `open` if the sign may also group thousands."""
    text = _BREAK.split(text)[0]
    bare = _bare(text)[0]
    points, commas = bare.count("."), bare.count(",")
    if points and commas:
        return "." if bare.rfind(".") > bare.rfind(",") else ","
    if points + commas > 1:
        return "," if points else "."
    if points + commas == 0:
        return ""
    sign = "." if points else ","
    grouped = any(space in bare for space in _SPACES)
    if grouped or len(bare) - bare.index(sign) - 1 != 3 or bare.startswith("0"):
        return sign
    return "open"


def amount_in(text: str, decimal: str) -> Decimal:
    """Return the signed amount in a cell. Raises InputError if it does not fit the decimal sign."""
    if len(text) >= _LONGEST:
        raise InputError(f"{text[:40]!r}... is not an amount")
    if _BREAK.search(text):
        return _total_in(text, decimal)
    bare, negative = _bare(text)
    pattern = _STRICT.get(decimal)
    if pattern is None:
        if set(bare) & {".", ","}:
            raise InputError(
                f"{text[:40]!r}: its sign may separate decimals or group thousands",
                do='set decimal = "," or "." in a profile',
            )
        pattern = _STRICT["."]
    if not pattern.fullmatch(bare):
        raise InputError(f"{text[:40]!r} is not an amount with {decimal or '.'!r} for decimals")
    digits = bare.translate(_GROUPING)
    if decimal == ",":
        digits = digits.replace(".", "").replace(",", ".")
    else:
        digits = digits.replace(",", "")
    amount = parse_amount(digits.rstrip("."))
    return -amount if negative else amount


def _total_in(text: str, decimal: str) -> Decimal:
    """Return the total in a cell such as `702.00<br />2.00<br />700.00`, which also has the parts.

    Raises InputError if no amount in it is the sum of the others.
    """
    amounts = [amount_in(part, decimal) for part in _BREAK.split(text)]
    totals = {
        one for at, one in enumerate(amounts) if one == total(amounts[:at] + amounts[at + 1 :])
    }
    if len(totals) != 1:
        raise InputError(f"{text[:40]!r} has several amounts, and none is the sum of the others")
    return totals.pop()


def _strict(decimal: str, group: str) -> re.Pattern[str]:
    groups = rf"[{re.escape(group + _SPACES)}]"
    return re.compile(
        rf"(?:[0-9]{{1,3}}(?:{groups}[0-9]{{3}})+|[0-9]+)(?:{re.escape(decimal)}[0-9]*)?", re.ASCII
    )


_STRICT: Final = {".": _strict(".", ","), ",": _strict(",", ".")}
