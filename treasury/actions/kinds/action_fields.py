"""Converts the fields that a person or a program entered to the struct of the action's kind.

Field names are the services' names, in snake_case. Amounts are exact and never become floats. A
text must be one line of visible characters, so that people see exactly what is sent. An error
begins with the field's name and a colon, so that a form can show it next to the field.
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
from treasury.core.money import parse_amount, typed_amount
from treasury.core.text import visible

T = TypeVar("T", bound=msgspec.Struct)
LONGEST: Final = 500
_WORDS: Final = re.compile(r"\w+")

# Account numbers lose their blanks, so that equal numbers are equal texts.
_WITHOUT_BLANKS: Final = frozenset(
    {"iban", "bic", "intermediary_bic", "intermediary_account_number"}
)
_IN_CAPITALS: Final = frozenset(
    {"asset", "bank_account_type", "chain", "crypto_currency", "cryptocurrency", "currency"}
    | {"fiat_currency", "in_currency", "out_cryptocurrency", "ramp_type", "target_cryptocurrency"}
)


def field_names(kind: type[msgspec.Struct]) -> Mapping[str, bool]:
    """Return the names of the fields in order, and whether each is required."""
    return _declared(kind)[0]


@cache
def _declared(kind: type[msgspec.Struct]) -> tuple[Mapping[str, bool], frozenset[str]]:
    """Return whether each field of a struct is required, and which fields are amounts."""
    needed = {field.name: field.required for field in msgspec.structs.fields(kind)}
    hints = {name: hint for name, hint in get_type_hints(kind).items() if name in needed}
    unions = {Union, types.UnionType}
    parts = {n: get_args(h) if get_origin(h) in unions else (h,) for n, h in hints.items()}
    return needed, frozenset(name for name, kinds in parts.items() if Decimal in kinds)


def typed_fields(kind: type[T], values: Mapping[str, object]) -> T:
    """Build the struct from fields that a person typed, with amounts such as `1,234.56`."""
    _, amounts = _declared(kind)
    return read_fields(
        kind,
        {
            name: typed_amount(value, name=name)
            if name in amounts and isinstance(value, str) and value.strip()
            else value
            for name, value in values.items()
        },
    )


def read_fields(kind: type[T], values: Mapping[str, object]) -> T:
    """Build the struct from these fields; raise InputError naming the first invalid field."""
    declared, amounts = _declared(kind)
    for name in values:
        if name not in declared:
            raise InputError(
                f"{name}: is not a field of this action", do=f"give: {', '.join(declared)}"
            )
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
    """Return the error of a request body with the field's name in place of the body's.

    The field is found by its name or its value in the error's text.
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
        # Raises InputError if the value is not an amount.
        amount = parse_amount(cast("str", value), name=name)
        if amount <= 0:
            raise InputError(f"{name}: {amount} is not positive", do="give a positive amount")
        return amount
    if not isinstance(value, str):
        raise InputError(f"{name}: {type(value).__name__} is not text", do="give it as text")
    text = value.strip()
    if visible(text) != text:
        raise InputError(
            f"{name}: holds a line break or an invisible character: {visible(text)[:60]}",
            do="type it again, on one line",
        )
    if len(text) > LONGEST:
        raise InputError(f"{name}: is longer than {LONGEST} characters", do="shorten it")
    if name in _WITHOUT_BLANKS:
        return plain_account(text)
    return text.upper() if name in _IN_CAPITALS else text
