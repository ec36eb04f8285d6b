"""Texts of a bank file as values: days, instants, account numbers, references that are none.

A bank's day is the day as written, in the bank's own zone: it is never moved to another. Only an
instant in UTC is the day that it is where the bank is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from functools import lru_cache
from typing import Final

from treasury.core.errors import InputError
from treasury.core.identifiers import is_iban
from treasury.core.money import parse_amount

Currencies = Mapping[str, Collection[str]]
"""Account -> the currencies that it is declared in."""

# A date, or a date and a time, each with or without a zone: `Dt` may hold a `DtTm` and vice versa.
_DAY: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ][\d:.,]+)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_INSTANT: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.:,](\d+))?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
# ISO 20022 makes some references mandatory; these are what banks write where there is none.
_NO_REFERENCE: Final = frozenset(
    {"NOTPROVIDED", "NOTPROVIDE", "NONREF", "NOREF", "NOTAVAILABLE", "NONE"}
)
_LONGEST: Final = 16
_LETTERS: Final = re.compile(r"[^A-Z0-9]")


# The time of an instant in UTC; a whole day that a bank only marks as UTC begins or ends with it.
_IN_UTC: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](?!00:00(?::00)?(?:[.,]0+)?[Z+-]|23:59(?::59)?(?:[.,]9+)?[Z+-])"
    r"(\d\d:\d\d(?::\d\d)?)[\d.,]*(?:Z|[+-]00:?00)",
    re.ASCII,
)


@lru_cache(maxsize=4096)
def day(text: str, zone: tzinfo | None = None) -> date:
    """Return the day in a date or a date-time, as written; InputError where there is none.

    An instant in UTC is the day that it is in `zone`, unless its time is the edge of a day.
    """
    matched = _DAY.fullmatch(text.strip())
    in_utc = _IN_UTC.fullmatch(text.strip()) if zone is not None else None
    try:
        if in_utc is not None:
            return datetime.fromisoformat(f"{in_utc[1]}T{in_utc[2]}Z").astimezone(zone).date()
        if matched is not None:
            return date.fromisoformat(matched[1])
    except (ValueError, OverflowError):
        pass  # 30 February: said below, like any other text that is no day
    raise InputError(f"{text[:40]!r} is not a date", do="write it as 2026-10-31")


def instant(text: str | None) -> datetime | None:
    """A date-time in UTC, without a zone taken as UTC; None where it cannot be read as one.

    Nothing is proved or matched by it, so an odd one costs nothing; `raw` keeps the text.
    """
    matched = _INSTANT.fullmatch((text or "").strip())
    if matched is None:
        return None
    seconds, fraction, zone = matched.groups()
    try:
        parsed = datetime.fromisoformat(f"{seconds}.{(fraction or '0')[:6]:0<6}{zone or 'Z'}")
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


_EDGE: Final = re.compile(r"([+-]?)(?:([0-9]+)\.|\.([0-9]+))", re.ASCII)


def amount_in_xml(text: str, *, label: str = "amount") -> Decimal:
    """The amount in an XML decimal, which may lack the digits on one side of its point.

    InputError for anything else, `1e3` too: XML decimals have no exponent.
    """
    if edge := _EDGE.fullmatch(text):
        text = f"{edge[1]}{edge[2] or 0}.{edge[3] or 0}"
    if "e" in text.lower():
        raise InputError(f"{label}: {text[:40]!r} is not a number", do="write it as 1234.56")
    return parse_amount(text, name=label)


def count_in(text: str | None) -> int | None:
    """The number in up to 18 digits; None for anything else."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def account_number(text: str) -> str:
    """An account number as banks agree on it: no spaces, upper case."""
    return "".join(text.split()).upper()


def declared_currencies(accounts: Iterable[str], declared: Currencies) -> dict[str, str]:
    """Account -> the only currency that it is declared in, or nothing for several or none."""
    several = {
        account_number(account): next(iter(codes)) if len(codes) == 1 else ""
        for account, codes in declared.items()
    }
    return {**dict.fromkeys(map(account_number, accounts), ""), **several}


def own_account(number: str, declared: Collection[str]) -> str:
    """The account of ours that a bank names, as it is declared; the number as stated if none is.

    MT940 has the number of the bank and the account where camt has the IBAN that is made of them.
    """
    if number in declared:
        return number
    matching = [
        account
        for account in declared
        if _is_made_of(account, number)
        or _is_made_of(number, account)
        or _parts(account) == _parts(number)
    ]
    return matching[0] if len(matching) == 1 else number


def _parts(number: str) -> tuple[str, str]:
    """The numbers of a bank and an account, without the zeros that fill the latter up."""
    bank, _, account = number.rpartition("/")
    return bank, account.lstrip("0") if bank else account


def _is_made_of(iban: str, number: str) -> bool:
    """Whether an IBAN has this number of a bank and an account in its country."""
    bank, _, account = number.rpartition("/")
    basic, account = iban[4:], account.replace("-", "").replace(".", "")
    if not account.isalnum() or len(account) < _SHORTEST or is_iban(number) or not is_iban(iban):
        return False
    if bank:
        return basic == bank + account.zfill(len(basic) - len(bank))
    if iban.startswith("NL"):
        return basic[4:] == account.zfill(10)
    return account in {basic, iban[2:]}


_SHORTEST: Final = 5


def reference(text: str | None) -> str | None:
    """The reference, or None where the text only says that there is none (NOTPROVIDED)."""
    if text is not None and text[:1] in "Nn" and len(text) < _LONGEST and _says_none(text):
        return None
    return text


@lru_cache(maxsize=1024)
def _says_none(text: str) -> bool:
    return _LETTERS.sub("", text.upper()) in _NO_REFERENCE


def is_true(text: str | None) -> bool:
    """An XML boolean; absent is false."""
    return text is not None and text.strip().lower() in {"true", "1"}
