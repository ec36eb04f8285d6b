"""Exact amounts: how they are parsed, formatted, computed and rounded.

An amount is a `Decimal` together with its currency or asset. Floats are refused. Products and
ratios are rounded only once, half up, to the decimals of their unit.
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
"""Number of decimals by currency or coin: ISO 4217 minor units, on-chain decimals."""
CURRENCIES: Final = frozenset(row["code"] for row in _UNITS if row["kind"] != "coin")
"""ISO 4217 currencies, and the currencies that the euro replaced."""

_POINTS: Final = Decimal("0.01")
_STORED: Final = Decimal(1).scaleb(-SCALE)
_WIDE: Final = Context(prec=80, rounding=ROUND_HALF_UP)
_ANY_BLANK: Final = re.compile(r"[\u00a0\u2009\u202f]")
_WITH_POINT: Final = re.compile(
    r"[+-]?(?:[0-9]+|[0-9]{1,3}(?P<group>[ ',])[0-9]{3}(?:(?P=group)[0-9]{3})*)(?:\.[0-9]+)?"
)
_WITH_COMMA: Final = re.compile(
    r"[+-]?(?:[0-9]+|[0-9]{1,3}(?P<group>[ '.])[0-9]{3}(?:(?P=group)[0-9]{3})*)(?:,[0-9]+)?"
)
_DOUBTFUL: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
_PLAIN: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?", re.ASCII)


def exponent(currency: str) -> int:
    """Return the number of decimals of a currency or coin; 2 if it is unknown."""
    return EXPONENTS.get(currency, 2)


# The cache is limited, because currency codes come from outside.
@lru_cache(64)
def minor_unit(currency: str) -> Decimal:
    """Return the smallest amount of a currency or asset: 0.01 for EUR."""
    return Decimal(1).scaleb(-exponent(currency))


def parse_amount(value: str | int | Decimal, *, name: str = "amount") -> Decimal:
    """Parse a JSON number or string as an exact decimal with at most 20 + 18 digits.

    Raise InputError for a float, a grouped or localised number, NaN, infinity, or digits that a
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


def written_amount(value: str | int | Decimal, *, name: str = "amount") -> Decimal:
    """Parse an amount of a settings file, as `parse_amount` but without exponents."""
    if isinstance(value, str) and "e" in value.lower():
        raise InputError(
            f"{name}: {value.strip()[:40]!r} is not an amount", do="write it as 1234.56"
        )
    return parse_amount(value, name=name)


def typed_amount(value: str | int | Decimal, *, name: str = "amount") -> Decimal:
    """Parse an amount as people type it: `1,234.56`, `1.234,56`, `1 234,56`, `1234.5` or `10k`.

    Raise InputError for other text, and for `1.234` and `1,234`, which may be a thousand or a
    fraction.
    """
    if not isinstance(value, str):
        return parse_amount(value, name=name)
    typed = value.strip()
    digits = _ANY_BLANK.sub(" ", typed)
    thousands = digits[-1:] in {"k", "K"}
    digits = digits.removesuffix("k").removesuffix("K").rstrip()
    if _DOUBTFUL.fullmatch(digits):
        whole, fraction = (re.sub("[.,]", to, digits) for to in ("", "."))
        raise InputError(
            f"{name}: {typed[:40]!r} has two meanings", do=f"write {whole} or {fraction}0"
        )
    if _WITH_POINT.fullmatch(digits):
        plain = re.sub("[ ',]", "", digits)
    elif _WITH_COMMA.fullmatch(digits):
        plain = re.sub("[ '.]", "", digits).replace(",", ".")
    else:
        raise InputError(f"{name}: {typed[:40]!r} is not an amount", do="write it as 1234.56")
    amount = parse_amount(plain, name=name)
    return product(amount, Decimal(1000)) if thousands else amount


def quantize(amount: Decimal, currency: str, *, rounding: str = ROUND_HALF_UP) -> Decimal:
    """Round the amount to the decimals of its currency, half up by default."""
    return amount.quantize(minor_unit(currency), rounding, context=_WIDE)


def stored(amount: Decimal) -> Decimal:
    """Round the amount to the 18 decimals of a column, half up."""
    return amount.quantize(_STORED, context=_WIDE)


def total(amounts: Iterable[Decimal]) -> Decimal:
    """Return the exact sum of amounts; Python's `sum` would round to 28 digits."""
    result = Decimal(0)
    for amount in amounts:
        result = _WIDE.add(result, amount)
    return result


def totals(parts: Iterable[tuple[Key, Decimal]]) -> dict[Key, Decimal]:
    """Return the exact sum of each key's amounts, with keys in the order of first occurrence."""
    groups: dict[Key, list[Decimal]] = {}
    for key, amount in parts:
        groups.setdefault(key, []).append(amount)
    return {key: total(amounts) for key, amounts in groups.items()}


def added(amount: Decimal, addend: Decimal) -> Decimal:
    """Return the exact sum of two amounts; the plus operator would round to 28 digits."""
    return _WIDE.add(amount, addend)


def half_up(numerator: int, denominator: int) -> int:
    """Return a ratio as a whole number, rounded half away from zero.

    The denominator must be positive.
    """
    whole = (2 * abs(numerator) + denominator) // (2 * denominator)
    return -whole if numerator < 0 else whole


def mean(amounts: Iterable[Decimal]) -> Decimal:
    """Return the mean, which is exact for one or two amounts."""
    values = list(amounts)
    return _WIDE.divide(total(values), Decimal(len(values)))


def difference(amount: Decimal, subtrahend: Decimal) -> Decimal:
    """Return the exact difference; the minus operator would round to 28 digits."""
    return _WIDE.subtract(amount, subtrahend)


def format_amount(amount: Decimal, currency: str) -> str:
    """Format as `EUR 25,000.00` or `USDC 10,000.000000`: the currency, then every digit.

    The amount is not rounded: decimals beyond those of its currency are shown too.
    """
    rounded = amount.quantize(minor_unit(currency), context=_WIDE)
    if rounded != amount:
        rounded = amount.normalize(_WIDE)
    return f"{currency} {rounded:,f}"


def plain_digits(amount: Decimal) -> str:
    """Return a decimal with every digit but without trailing zeros.

    Equal amounts have equal texts.
    """
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def fee_of(
    gross: Decimal, percentage: Decimal, currency: str, *, rounding: str = ROUND_HALF_UP
) -> Decimal:
    """Return `percentage` per cent of `gross`, rounded to the decimals of `currency`."""
    share = _WIDE.scaleb(_WIDE.multiply(gross, percentage), -2)
    return quantize(share, currency, rounding=rounding)


def net_crypto(fiat_gross: Decimal, fee: Decimal, rate: Decimal, asset: str) -> Decimal:
    """Return the crypto of an on-ramp: (gross - fee) / rate, with the rate in fiat per crypto."""
    return quantize(_WIDE.divide(_WIDE.subtract(fiat_gross, fee), rate), asset)


def convert(crypto: Decimal, rate: Decimal, currency: str) -> Decimal:
    """Return the gross fiat of an off-ramp: crypto x rate, with the rate in fiat per crypto."""
    return quantize(_WIDE.multiply(crypto, rate), currency)


def implied_rate(fiat: Decimal, coins: Decimal) -> Decimal | None:
    """Return the rate in fiat per coin, fee included, with eight decimals; None for zero coins."""
    if coins == 0:
        return None
    return _WIDE.divide(fiat, coins).quantize(Decimal("1e-8"), context=_WIDE)


def product(amount: Decimal, factor: Decimal) -> Decimal:
    """Return an amount times a rate or a share, without rounding.

    Use the result only for comparisons; an amount to book has to be rounded.
    """
    return _WIDE.multiply(amount, factor)


def basis_points(part: Decimal, whole: Decimal) -> Decimal | None:
    """Return `part` / `whole` in basis points with two decimals; None if `whole` is zero."""
    if whole == 0:
        return None
    ratio = _WIDE.divide(_WIDE.scaleb(part, 4), whole)
    return ratio.quantize(_POINTS, context=_WIDE)


def rounded(exact: Fraction, places: int) -> Decimal:
    """Return a fraction rounded to `places` decimals, half up."""
    return Decimal(f"{half_up(exact.numerator * 10**places, exact.denominator)}E-{places}")


def is_exact_in(amount: Decimal, currency: str) -> bool:
    """Return True if the amount has no more decimals than its currency."""
    context = Context(prec=80, traps=[Inexact])
    try:
        amount.quantize(minor_unit(currency), context=context)
    except Inexact:
        return False
    return True
