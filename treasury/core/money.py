"""Exact amounts: the one parser, the one formatter, the only place that multiplies amounts.

An amount is a `Decimal` beside the currency or asset it is in. A float is refused at the door.
Products and ratios round once, half up, at the scale of the unit they are in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Context, Decimal, Inexact
from fractions import Fraction
from functools import lru_cache
from typing import Final, TypeVar

from treasury.core.errors import InputError
from treasury.core.files.package_files import package_rows

Key = TypeVar("Key")

PRECISION: Final = 38
SCALE: Final = 18
"""Every amount is stored as DECIMAL(38, 18): 20 digits before the point, 18 after it."""

_UNITS: Final = package_rows("treasury.core", "currencies.csv")
EXPONENTS: Final = {row["code"]: int(row["decimals"]) for row in _UNITS}
"""The decimals of each currency and coin: ISO 4217 minor units, on-chain decimals."""
CURRENCIES: Final = frozenset(row["code"] for row in _UNITS if row["kind"] != "coin")
"""Currencies of ISO 4217, and those that the euro replaced."""

_POINTS: Final = Decimal("0.01")
_STORED: Final = Decimal(1).scaleb(-SCALE)
_WIDE: Final = Context(prec=80, rounding=ROUND_HALF_UP)
_PLAIN: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)


def exponent(currency: str) -> int:
    """Return the decimals of a currency or coin; 2 for an unknown one."""
    return EXPONENTS.get(currency, 2)


@lru_cache(64)  # a currency is outside text
def minor_unit(currency: str) -> Decimal:
    """The smallest amount of a currency or asset: 0.01 of EUR."""
    return Decimal(1).scaleb(-exponent(currency))


def parse_amount(value: str | int | Decimal, *, name: str = "amount") -> Decimal:
    """The exact decimal of a JSON number's or string's digits; at most 20 + 18 digits.

    Raises InputError for a float, a grouped or localised number, NaN, infinity, or digits that a
    DECIMAL(38, 18) cannot hold. An unreadable amount is never 0.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise InputError(
            f"{name}: {type(value).__name__} is not an exact amount",
            do="give a Decimal, an int or a string of digits",
        )
    if isinstance(value, str):
        value = value.strip()
        if not _PLAIN.fullmatch(value):
            raise InputError(f"{name}: {value[:40]!r} is not a number", do="write it as 1234.56")
    amount = Decimal(value)
    if not amount.is_finite():
        raise InputError(f"{name}: {amount} is not a number", do="write it as 1234.56")
    _, digits, power = amount.as_tuple()
    assert isinstance(power, int)
    trimmed = len(digits)
    while trimmed > 1 and digits[trimmed - 1] == 0:
        trimmed -= 1
    power += len(digits) - trimmed
    if any(digits) and (-power > SCALE or trimmed + power > PRECISION - SCALE):
        raise InputError(
            f"{name}: {amount!s:.40} has more than {PRECISION - SCALE} digits before the point"
            f" or {SCALE} after it",
            do="check the record; nothing was rounded",
        )
    return amount


def typed_amount(value: str | int | Decimal, *, name: str = "amount") -> Decimal:
    """An amount as a person writes it: as `parse_amount`, and without an exponent."""
    if isinstance(value, str) and "e" in value.lower():
        raise InputError(f"{name}: {value.strip()[:40]!r} is no amount", do="write it as 1234.56")
    return parse_amount(value, name=name)


def quantize(amount: Decimal, currency: str, *, rounding: str = ROUND_HALF_UP) -> Decimal:
    """The amount at the decimals of its currency, rounded half up if nothing else is said."""
    return amount.quantize(minor_unit(currency), rounding, context=_WIDE)


def stored(amount: Decimal) -> Decimal:
    """The amount at the 18 decimals that a column holds, half up."""
    return amount.quantize(_STORED, context=_WIDE)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """The exact sum; the interpreter's own context would round it at 28 digits."""
    result = Decimal(0)
    for amount in amounts:
        result = _WIDE.add(result, amount)
    return result


def totals(parts: Iterable[tuple[Key, Decimal]]) -> dict[Key, Decimal]:
    """The exact sum of the amounts of each key, in the order in which the keys come."""
    groups: dict[Key, list[Decimal]] = {}
    for key, amount in parts:
        groups.setdefault(key, []).append(amount)
    return {key: total(amounts) for key, amounts in groups.items()}


def added(amount: Decimal, addend: Decimal) -> Decimal:
    """The two together, exact. A bare plus sign would round at 28 digits."""
    return _WIDE.add(amount, addend)


def half_up(numerator: int, denominator: int) -> int:
    """The whole number next to a ratio, half up from zero; the denominator is above zero."""
    whole = (2 * abs(numerator) + denominator) // (2 * denominator)
    return -whole if numerator < 0 else whole


def mean(amounts: Iterable[Decimal]) -> Decimal:
    """The mean; exact for one amount or two."""
    values = list(amounts)
    return _WIDE.divide(total(values), Decimal(len(values)))


def difference(amount: Decimal, subtrahend: Decimal) -> Decimal:
    """`amount` less `other`, exact. A bare minus sign rounds at 28 digits too: `copy_negate()`."""
    return _WIDE.subtract(amount, subtrahend)


def format_amount(amount: Decimal, currency: str) -> str:
    """`EUR 25,000.00`, `USDC 10,000.000000`: the currency, then every digit the amount has.

    An amount with more decimals than its currency keeps them all; nothing is rounded for show.
    """
    rounded = amount.quantize(minor_unit(currency), context=_WIDE)
    if rounded != amount:
        rounded = amount.normalize(_WIDE)
    return f"{currency} {rounded:,f}"


def plain_digits(amount: Decimal) -> str:
    """Every digit of a decimal and none that is idle: the same text for equal amounts."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def fee_of(
    gross: Decimal, percentage: Decimal, currency: str, *, rounding: str = ROUND_HALF_UP
) -> Decimal:
    """`percentage` per cent of `gross`, at the decimals of `currency`; half up if not said."""
    share = _WIDE.scaleb(_WIDE.multiply(gross, percentage), -2)
    return quantize(share, currency, rounding=rounding)


def net_crypto(fiat_gross: Decimal, fee: Decimal, rate: Decimal, asset: str) -> Decimal:
    """Crypto that an on-ramp delivers: (gross - fee) / rate, where rate is fiat per crypto."""
    return quantize(_WIDE.divide(_WIDE.subtract(fiat_gross, fee), rate), asset)


def convert(crypto: Decimal, rate: Decimal, currency: str) -> Decimal:
    """Fiat gross of an off-ramp: crypto x rate, where rate is fiat per crypto."""
    return quantize(_WIDE.multiply(crypto, rate), currency)


def implied_rate(fiat: Decimal, coins: Decimal) -> Decimal | None:
    """Fiat per coin, fee and all, at eight decimals; None where `coins` is zero."""
    if coins == 0:
        return None
    return _WIDE.divide(fiat, coins).quantize(Decimal("1e-8"), context=_WIDE)


def product(amount: Decimal, factor: Decimal) -> Decimal:
    """The amount times a rate or a share, unrounded: for comparing, never for booking."""
    return _WIDE.multiply(amount, factor)


def basis_points(part: Decimal, whole: Decimal) -> Decimal | None:
    """`part` over `whole` in basis points, two decimals; None where `whole` is zero."""
    if whole == 0:
        return None
    ratio = _WIDE.divide(_WIDE.scaleb(part, 4), whole)
    return ratio.quantize(_POINTS, context=_WIDE)


def rounded(exact: Fraction, places: int) -> Decimal:
    """A fraction at so many decimals, half up as every product and ratio."""
    return Decimal(f"{half_up(exact.numerator * 10**places, exact.denominator)}E-{places}")


def is_exact_in(amount: Decimal, currency: str) -> bool:
    """Whether the amount has no more decimals than its currency."""
    context = Context(prec=80, traps=[Inexact])
    try:
        amount.quantize(minor_unit(currency), context=context)
    except Inexact:
        return False
    return True
