"""Conversion of bank texts to values: days, instants, account numbers, placeholder references.

A day stays as the bank writes it, in the bank's time zone. Only an instant in UTC is converted, to
the day in the bank's country.
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
"""Type of a map from an account to its declared currencies."""

# Dates with and without a time are accepted everywhere, because banks write a `DtTm` in a `Dt`.
_DAY: Final = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ][\d:.,]+)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_INSTANT: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.:,](\d+))?(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
# Some references are mandatory in ISO 20022, so banks write a placeholder for a missing one.
_NO_REFERENCE: Final = frozenset(
    {"NOTPROVIDED", "NOTPROVIDE", "NONREF", "NOREF", "NOTAVAILABLE", "NONE"}
)
_LONGEST: Final = 16
_LETTERS: Final = re.compile(r"[^A-Z0-9]")


# An instant in UTC, except at 00:00 or 23:59: banks also write whole days with these times.
_IN_UTC: Final = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](?!00:00(?::00)?(?:[.,]0+)?[Z+-]|23:59(?::59)?(?:[.,]9+)?[Z+-])"
    r"(\d\d:\d\d(?::\d\d)?)[\d.,]*(?:Z|[+-]00:?00)",
    re.ASCII,
)


@lru_cache(maxsize=4096)
def day(text: str, zone: tzinfo | None = None) -> date:
    """Return the day of a date or a date-time, as written. Raises InputError for other texts.

    An instant in UTC gives the day in `zone`, unless its time is the first or last of a day.
    """
    matched = _DAY.fullmatch(text.strip())
    in_utc = _IN_UTC.fullmatch(text.strip()) if zone is not None else None
    try:
        if in_utc is not None:
            return datetime.fromisoformat(f"{in_utc[1]}T{in_utc[2]}Z").astimezone(zone).date()
        if matched is not None:
            return date.fromisoformat(matched[1])
    except (ValueError, OverflowError):
        # A day such as 30 February gets the error below, like every invalid text.
        pass
    raise InputError(f"{text[:40]!r} is not a date", do="write it as 2026-10-31")


def instant(text: str | None) -> datetime | None:
    """Return a date-time in UTC, which is also the default zone; None if missing or invalid.

    No proof and no match depends on the value, so an invalid text is harmless; `raw` has it.
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
    """Return the amount of an XML decimal, which may lack the digits on one side of its point.

    Raises InputError for anything else, including `1e3`: XML decimals have no exponent.
    """
    if edge := _EDGE.fullmatch(text):
        text = f"{edge[1]}{edge[2] or 0}.{edge[3] or 0}"
    if "e" in text.lower():
        raise InputError(f"{label}: {text[:40]!r} is not a number", do="write it as 1234.56")
    return parse_amount(text, name=label)


def count_in(text: str | None) -> int | None:
    """Return a number of up to 18 digits; None for any other text."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def account_number(text: str) -> str:
    """Return an account number in upper case and without spaces."""
    return "".join(text.split()).upper()


def declared_currencies(accounts: Iterable[str], declared: Currencies) -> dict[str, str]:
    """Map each account to its only declared currency, or to "" if it has several or none."""
    several = {
        account_number(account): next(iter(codes)) if len(codes) == 1 else ""
        for account, codes in declared.items()
    }
    return {**dict.fromkeys(map(account_number, accounts), ""), **several}


def own_account(number: str, declared: Collection[str]) -> str:
    """Return the only declared account that matches a bank's number, else the number as stated.

    MT940 states bank code and account number, camt the IBAN, which contains both.
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
    """Return the bank code and the account number, which after a code has no padding zeros."""
    bank, _, account = number.rpartition("/")
    return bank, account.lstrip("0") if bank else account


def _is_made_of(iban: str, number: str) -> bool:
    """Return whether an IBAN consists of the bank code and account number in `number`."""
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
    """Return the reference; None if it is missing or a placeholder such as NOTPROVIDED."""
    if text is not None and text[:1] in "Nn" and len(text) < _LONGEST and _says_none(text):
        return None
    return text


@lru_cache(maxsize=1024)
def _says_none(text: str) -> bool:
    return _LETTERS.sub("", text.upper()) in _NO_REFERENCE


def is_true(text: str | None) -> bool:
    """Return the value of an XML boolean; false if it is missing."""
    return text is not None and text.strip().lower() in {"true", "1"}
