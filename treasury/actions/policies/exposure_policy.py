"""Limits on the balances held with the provider; two people put those of `policy.toml` in force.

Below [exposure], `total` limits the whole balance, in euros at the reference rates; each key of
`currencies` limits one currency or coin. Write amounts as whole numbers or in quotes, because TOML
parsers read a number with a point as a float.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import EXPONENTS, written_amount
from treasury.core.text import clean, nearest
from treasury.core.toml_text import at_key


class ExposurePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits on balances with the provider: `total` in EUR, others in their own currency."""

    total: Decimal | None = None
    currencies: dict[str, Decimal] = {}


def with_exposure_amounts(limits: Any, text: str) -> None:
    """Replace the limits by exact Decimals; raise InputError naming the line and the key."""
    if not isinstance(limits, dict):
        return
    if "total" in limits:
        with at_key(text, "exposure", "total") as name:
            limits["total"] = _limit(limits["total"], name)
    currencies = limits.get("currencies")
    if not isinstance(currencies, dict):
        return
    for currency, limit in currencies.items():
        with at_key(text, "exposure", "currencies", currency) as name:
            if currency not in EXPONENTS:
                near = nearest(currency, EXPONENTS)
                raise InputError(
                    f"{name}: {clean(currency)[:40]!r} is not a currency or coin",
                    do=f"write {near} if you mean that"
                    if near
                    else "write a currency or coin code",
                )
            currencies[currency] = _limit(limit, name)


def _limit(value: Any, name: str) -> Decimal:
    if isinstance(value, Decimal) and not value.is_finite():
        raise InputError(f"{name}: {value} is not a limit", do="delete the line for no limit")
    if isinstance(value, Decimal):  # A number with a point is a float in TOML.
        key = name.rpartition(".")[2]
        raise InputError(
            f"{name}: {value} is a float in TOML", do=f'write it in quotes: {key} = "{value}"'
        )
    amount = written_amount(value, name=name)
    if amount < 0:
        raise InputError(
            f"{name}: a limit of {amount} is below zero", do="give the largest amount allowed"
        )
    return amount
