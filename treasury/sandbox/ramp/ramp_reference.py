"""The shapes of the ramp's reference data: pairs, a calculated fee, chains, bank configuration."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec

from treasury.sandbox.http.body_fields import Key
from treasury.sandbox.state.shapes import Shape

__all__ = [
    "AccountType", "BankConfiguration", "BankCountry", "BankCurrency", "CryptoName", "FeeAnswer",
    "FeeQuestion", "FiatName", "JsonAmount", "OffRampPair", "OnRampPair", "RampBody",
    "SupportedChains", "fields_of",
]  # fmt: skip

JsonAmount = Annotated[
    msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "number", "exclusiveMinimum": 0})
]
"""An amount as a JSON number, read from its own digits."""


class RampBody(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """A request's body: exactly the fields named, and a key where the caller gives one."""

    idempotency_key: Key | None = None


def fields_of(body: RampBody) -> dict[str, Any]:
    """What a body says of a record: its fields without the key."""
    fields = msgspec.structs.asdict(body)
    del fields["idempotency_key"]
    return fields


class FiatName(Shape, frozen=True, kw_only=True):
    """A fiat currency as a pair names it."""

    id: str
    currency: str
    label: str


class CryptoName(Shape, frozen=True, kw_only=True):
    """A cryptocurrency as a pair names it."""

    id: str
    currency: str
    chain: str
    label: str


class OnRampPair(Shape, frozen=True, kw_only=True, rename={"from_": "from"}):
    """What a fiat currency can be turned into."""

    from_: FiatName
    to: CryptoName


class OffRampPair(Shape, frozen=True, kw_only=True, rename={"from_": "from"}):
    """What a cryptocurrency can be turned into."""

    from_: CryptoName
    to: FiatName


class FeeQuestion(RampBody, frozen=True, kw_only=True):
    """An amount whose fee is asked for."""

    amount: JsonAmount
    type: Literal["ON_RAMP", "OFF_RAMP"]


class FeeAnswer(Shape, frozen=True, kw_only=True):
    """A fee, in the unit of the amount."""

    amount: Decimal
    percentage: Decimal


class SupportedChains(Shape, frozen=True, kw_only=True):
    """The networks."""

    supported_chains: list[str]


class AccountType(Shape, frozen=True, kw_only=True):
    """A type of bank account."""

    type: str
    description: str


class BankCountry(Shape, frozen=True, kw_only=True):
    """A country in which a bank may be."""

    country_code: str
    country_name: str


class BankCurrency(Shape, frozen=True, kw_only=True):
    """A currency that an account may be in."""

    code: str
    name: str


class BankConfiguration(Shape, frozen=True, kw_only=True):
    """The types, countries and currencies that a company bank account may have."""

    enabled_account_types: list[AccountType]
    supported_countries: list[BankCountry]
    supported_currencies: list[BankCurrency]
