"""How much may stand with the provider, as `policy.toml` proposes it; two people put it in force.

Below [exposure] `total` is what may stand there in all, in euros by the reference rates; below
`currencies` is what
may stand there of one currency or coin. Amounts are whole numbers or digits in quotes: a number
with a point would be a float to other readers of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.errors import InputError
from treasury.money import EXPONENTS, typed_amount
from treasury.text import clean

_HEAD: Final = re.compile(r"[ \t]*\[\s*(?P<table>[A-Za-z0-9_.\s\"'-]+?)\s*\]\s*(#.*)?")
_KEY: Final = re.compile(r"[ \t]*[\"']?(?P<key>[^\s\"'=]+)[\"']?\s*=")


class ExposurePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of what stands with the provider: `total` in euros, `currencies` each in its own."""

    total: Decimal | None = None
    currencies: dict[str, Decimal] = {}


def with_exposure_amounts(limits: Any, text: str) -> None:
    """Read the limits exactly, in place; InputError names the line and the key."""
    if not isinstance(limits, dict):
        return
    if "total" in limits:
        limits["total"] = _limit(limits["total"], "exposure", "total", text)
    currencies, table = limits.get("currencies"), "exposure.currencies"
    if not isinstance(currencies, dict):
        return
    for currency, limit in currencies.items():
        if currency not in EXPONENTS:
            raise InputError(
                f"{_place(text, table, currency)}: {clean(currency)[:40]!r} is no currency or coin"
                " that the services name",
                do=f"name one of {', '.join(sorted(EXPONENTS))}",
            )
        currencies[currency] = _limit(limit, table, currency, text)


def _limit(value: Any, table: str, key: str, text: str) -> Decimal:
    place = _place(text, table, key)
    if isinstance(value, Decimal) and not value.is_finite():
        raise InputError(f"{place}: {value} is no limit", do="leave the line out for no limit")
    if isinstance(value, Decimal):  # TOML wrote it with a point
        raise InputError(
            f"{place}: {value} is a float in TOML", do=f'write it in quotes: {key} = "{value}"'
        )
    amount = typed_amount(value, name=place)
    if amount < 0:
        raise InputError(f"{place}: a limit of {amount} is below zero", do="give the most allowed")
    return amount


def _place(text: str, table: str, key: str) -> str:
    """`line 12: exposure.total`; without the line where the file writes the table another way."""
    name = f"{table}.{clean(key)[:40]}"
    line = next(_lines(text, table, key), None)
    return name if line is None else f"line {line}: {name}"


def _lines(text: str, table: str, key: str) -> Iterator[int]:
    """The lines of a table's key, by the heads above it."""
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        if head := _HEAD.fullmatch(line):
            inside = re.sub(r"[\s\"']", "", head["table"])
        elif found := _KEY.match(line):
            named = f"{inside}.{found['key']}" if inside else found["key"]
            if named == f"{table}.{key}":
                yield number
