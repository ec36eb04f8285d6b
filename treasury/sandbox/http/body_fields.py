"""Base types of request bodies, and their amounts.

A body is refused if a required field is missing, if a field is unknown or belongs to the other
party type, or if a value has the wrong JSON type. The specification requires some amounts as
decimal strings and others as JSON numbers; the wrong form is refused. Amounts are read exactly.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import is_exact_in, parse_amount
from treasury.sandbox.http.exchange import invalid

UUID4: Final = (
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
)
_LARGEST: Final = Decimal(10) ** 10
"""Maximum amount, which keeps every sum within the ledger's integers."""
_DIGITS: Final = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,18})?", re.ASCII)

Key: TypeAlias = Annotated[str, msgspec.Meta(pattern=UUID4)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
Long: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=500)]
Country: TypeAlias = Annotated[str, msgspec.Meta(pattern="^[A-Z]{2}$")]
Chain: TypeAlias = Literal["BASE", "AVALANCHE"]
Coin: TypeAlias = Literal["USDC", "EURC", "USDT"]
Number: TypeAlias = Annotated[
    msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "number", "exclusiveMinimum": 0})
]
DecimalText: TypeAlias = Annotated[
    str, msgspec.Meta(extra_json_schema={"pattern": "^[0-9]{1,20}([.][0-9]{1,18})?$"})
]


class JsonBody(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A JSON object with only the declared fields."""


class KeyedBody(JsonBody, frozen=True, kw_only=True):
    """A request body with only the declared fields and an optional idempotency key."""

    idempotency_key: Key | None = None


def fields_of(body: KeyedBody) -> dict[str, Any]:
    """Return the fields of a body without its idempotency key."""
    fields = msgspec.structs.asdict(body)
    del fields["idempotency_key"]
    return fields


def amount_of_number(raw: msgspec.Raw, unit: str) -> Decimal:
    """Return the exact amount of a JSON number."""
    text = bytes(raw).decode()
    if not text[:1].isdigit() and text[:1] != "-":
        raise invalid("amount must be a JSON number.")
    return _bounded(text, unit, "amount")


def amount_of_text(text: str, unit: str, field: str = "amount") -> Decimal:
    """Return the exact amount of a decimal string."""
    if not _DIGITS.fullmatch(text.removeprefix("-")):
        raise invalid(f"{field} must be a decimal string.")
    return _bounded(text, unit, field)


def _bounded(text: str, unit: str, field: str) -> Decimal:
    try:
        amount = parse_amount(text, name=field)
    except InputError:
        raise invalid(f"{field} has too many digits.") from None
    if amount <= 0:
        raise invalid(f"{field} must be positive.")
    if not is_exact_in(amount, unit):
        raise invalid(f"{field} has more decimals than {unit}.")
    if amount > _LARGEST:
        raise invalid(f"{field} is too large.")
    return amount


def exactly_one(**fields: object) -> None:
    """Raise a 400 unless exactly one of these fields has a value."""
    if sum(value is not None for value in fields.values()) != 1:
        raise invalid(f"Give exactly one of {', '.join(fields)}.")
