"""Reads the fields of an action as a person or a program gives them, into their typed struct.

Names are the services' own in snake_case. An amount is exact and has no float behind it; a text is
one line in which every character shows, so that what a person reads is what is sent. An error
begins with the field's name and a colon, so that a form can put it beside the field.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from treasury.core.errors import InputError
from treasury.core.identifiers import plain_account
from treasury.core.money import parse_amount
from treasury.core.text import visible

T = TypeVar("T", bound=msgspec.Struct)
LONGEST: Final = 500
_WORDS: Final = re.compile(r"\w+")

# How an identifier is written, so that the same one is the same text.
_WITHOUT_BLANKS: Final = frozenset(
    {"iban", "bic", "intermediary_bic", "intermediary_account_number"}
)
_IN_CAPITALS: Final = frozenset(
    {"asset", "bank_account_type", "chain", "crypto_currency", "cryptocurrency", "currency"}
    | {"fiat_currency", "in_currency", "out_cryptocurrency", "ramp_type", "target_cryptocurrency"}
)


def field_names(kind: type[msgspec.Struct]) -> Mapping[str, bool]:
    """The fields of a struct in their order, and whether each must be given."""
    return _declared(kind)[0]


@cache
def _declared(kind: type[msgspec.Struct]) -> tuple[Mapping[str, bool], frozenset[str]]:
    """The fields of a struct with whether each must be given, and those that are amounts."""
    needed = {field.name: field.required for field in msgspec.structs.fields(kind)}
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in needed}
    unions = {Union, types.UnionType}
    parts = {n: get_args(h) if get_origin(h) in unions else (h,) for n, h in hints.items()}
    return needed, frozenset(name for name, kinds in parts.items() if Decimal in kinds)


def read_fields(kind: type[T], values: Mapping[str, object]) -> T:
    """The struct of these fields; InputError names the first that cannot be taken."""
    declared, amounts = _declared(kind)
    for name in values:
        if name not in declared:
            raise InputError(f"{name}: there is no such field", do=f"give: {', '.join(declared)}")
    read = {
        name: _value(name, values[name], is_amount=name in amounts)
        for name in declared
        if values.get(name) not in {None, ""}
    }
    missing = [name for name, required in declared.items() if required and name not in read]
    if missing:
        raise InputError(f"{missing[0]}: is missing", do=f"give {', '.join(missing)}")
    try:
        return kind(**read)
    except InputError as error:
        raise beside_field(error, declared, read) from None


def beside_field(
    error: InputError, declared: Iterable[str], values: Mapping[str, object]
) -> InputError:
    """What a body says of a field, begun with that field as a form needs it.

    A body begins with its own name; the field is in its sentence, or what was given for it is.
    """
    problem = error.what.partition(": ")[2] or error.what
    names = set(declared)
    mentioned = (word for word in _WORDS.findall(problem) if word in names)
    quoted = (
        name for name, value in values.items() if isinstance(value, str) and repr(value) in problem
    )
    field = next(mentioned, None) or next(quoted, None)
    if field is None:
        return InputError(problem, do=error.do)
    return InputError(f"{field}: {problem.removeprefix(f'{field} ')}", do=error.do)


def _value(name: str, value: object, *, is_amount: bool) -> Any:
    if is_amount:
        amount = parse_amount(cast("str", value), name=name)  # it refuses whatever is none
        if amount <= 0:
            raise InputError(f"{name}: {amount} is not positive", do="give a positive amount")
        return amount
    if not isinstance(value, str):
        raise InputError(f"{name}: {type(value).__name__} is not text", do="give it as text")
    text = value.strip()
    if visible(text) != text:
        raise InputError(
            f"{name}: holds a line break or a character that does not show: {visible(text)[:60]}",
            do="type it again, on one line",
        )
    if len(text) > LONGEST:
        raise InputError(f"{name}: is longer than {LONGEST} characters", do="shorten it")
    if name in _WITHOUT_BLANKS:
        return plain_account(text)
    return text.upper() if name in _IN_CAPITALS else text
