"""What the finance service accepts in a request's body, field by field.

A body has exactly these fields: one that is missing, of another JSON type, unknown, or of the other
type of party is refused. The specification wants some amounts as decimal strings and others as JSON
numbers; either is read from its own digits, and the wrong one of the two is refused.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeAlias

import msgspec

from treasury.errors import InputError
from treasury.money import is_exact_in, parse_amount
from treasury.sandbox.http.exchange import invalid

__all__ = [
    "AccountChanges", "AccountFields", "AddressBody", "AddressParts", "AnyCryptoBody",
    "AnyFiatBody", "BankBlock", "CardReference", "Country", "CryptoBody", "FiatBody", "FiatFields",
    "IndividualBody", "IndividualFields", "InternalBody", "JsonBody", "Key", "Long", "NewAccount",
    "NewRole", "NewSession", "NewVirtualAccount", "NewWallet", "Number", "OrganisationBody",
    "OrganisationFields", "PartyBody", "PartyChangeFields", "PartyChanges", "PartyFields",
    "PaymentBody", "PaymentRequestBody", "Text", "amount_of_number", "amount_of_text",
    "exactly_one",
]  # fmt: skip

UUID4: Final = (
    "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"
)
_LARGEST: Final = Decimal(10) ** 10
"""More than this no practice company has; it keeps every sum within the ledger's integers."""
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
    """A JSON object without any field but those named."""


class AddressParts(JsonBody, frozen=True, kw_only=True):
    """An address, of which any part may be missing."""

    address_line1: Long | None = None
    address_line2: Long | None = None
    city: Long | None = None
    state: Long | None = None
    postal_code: Long | None = None
    country: Country | None = None


class AddressBody(AddressParts, frozen=True, kw_only=True):
    """An address; half of its fields are mandatory."""

    address_line1: Long
    city: Long
    postal_code: Long
    country: Country


class IndividualFields(
    JsonBody, frozen=True, kw_only=True, tag_field="partyType", tag="INDIVIDUAL"
):
    """A new natural person."""

    first_name: Name
    last_name: Name
    address: AddressParts | None = None
    external_id: Long | None = None
    idempotency_key: Key | None = None


class OrganisationFields(
    JsonBody, frozen=True, kw_only=True, tag_field="partyType", tag="ORGANISATION"
):
    """A new company."""

    name: Long
    vat_number: Annotated[str, msgspec.Meta(min_length=1, max_length=50)] | None = None
    address: AddressParts | None = None
    external_id: Long | None = None
    idempotency_key: Key | None = None


class IndividualBody(
    IndividualFields, frozen=True, kw_only=True, tag_field="partyType", tag="INDIVIDUAL"
):
    """A new natural person, whose address is whole."""

    address: AddressBody | None = None


class OrganisationBody(
    OrganisationFields, frozen=True, kw_only=True, tag_field="partyType", tag="ORGANISATION"
):
    """A new company, whose address is whole."""

    address: AddressBody | None = None


PartyBody: TypeAlias = IndividualBody | OrganisationBody
PartyFields: TypeAlias = IndividualFields | OrganisationFields


class PartyChangeFields(JsonBody, frozen=True, kw_only=True):
    """What may change on a party, and the version that the caller read."""

    version: int | None = None
    first_name: Name | None = None
    last_name: Name | None = None
    name: Long | None = None
    vat_number: Annotated[str, msgspec.Meta(min_length=1, max_length=50)] | None = None
    address: AddressParts | None = None


class PartyChanges(PartyChangeFields, frozen=True, kw_only=True):
    """What may change on a party, its address as a whole."""

    address: AddressBody | None = None


class AccountFields(JsonBody, frozen=True, kw_only=True):
    """A new account on any network."""

    external_id: Long
    name: Long | None = None
    chain: Literal["BASE", "AVALANCHE", "POLYGON"]
    party_id: str | None = None
    party: PartyFields | None = None
    idempotency_key: Key | None = None


class NewAccount(AccountFields, frozen=True, kw_only=True):
    """A new account for a known party or for a new one."""

    chain: Chain
    party: PartyBody | None = None


class AccountChanges(JsonBody, frozen=True, kw_only=True):
    """What may change on an account, and the version that the caller read."""

    external_id: Long | None = None
    name: Long | None = None
    version: int | None = None


class NewRole(JsonBody, frozen=True, kw_only=True):
    """A party's part in an account."""

    party_id: str
    role_type: Literal["ACCOUNT_HOLDER"]
    idempotency_key: Key | None = None


class NewWallet(JsonBody, frozen=True, kw_only=True):
    """A new custodial wallet."""

    chain: Chain
    idempotency_key: Key | None = None


class NewVirtualAccount(JsonBody, frozen=True, kw_only=True):
    """A new virtual bank account."""

    name: Long
    in_currency: Literal["EUR"]
    target_cryptocurrency: Coin
    idempotency_key: Key


class NewSession(JsonBody, frozen=True, kw_only=True):
    """A new hosted payment."""

    in_amount: DecimalText
    in_currency: Literal["EUR"]
    out_cryptocurrency: Coin
    callback_url: str
    success_redirect_url: str | None = None
    failure_redirect_url: str | None = None
    idempotency_key: Key


class InternalBody(JsonBody, frozen=True, kw_only=True):
    """A transfer between two accounts inside the service."""

    source_account_id: str
    destination_account_id: str
    amount: DecimalText
    cryptocurrency: Literal["USDC"]
    idempotency_key: Key | None = None


class _Outward(JsonBody, frozen=True, kw_only=True):
    """What crypto and fiat transfers have in common."""

    amount: Number
    receiver_account_id: str | None = None
    receiver_external_id: str | None = None
    description: Text | None = None
    idempotency_key: Key


class CryptoBody(_Outward, frozen=True, kw_only=True):
    """A transfer in an asset; `destinationAddress` is our own name for a wallet outside."""

    chain: Long
    asset: Long
    destination_address: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{40}$")] | None = None


class BankBlock(JsonBody, frozen=True, kw_only=True):
    """A bank account outside; our own shape, since the specification names none."""

    iban: str
    beneficiary_name: Long
    bic: Long | None = None


class FiatFields(_Outward, frozen=True, kw_only=True):
    """A transfer asked for in fiat."""

    currency: Literal["EUR", "USD", "GBP"]
    bank_account: BankBlock | None = None


class FiatBody(FiatFields, frozen=True, kw_only=True):
    """A transfer asked for in euros."""

    currency: Literal["EUR"]


class AnyCryptoBody(CryptoBody, frozen=True, kw_only=True):
    """A crypto transfer whose sender stands in the body."""

    sender_account_id: str


class AnyFiatBody(FiatBody, frozen=True, kw_only=True):
    """A fiat transfer whose sender stands in the body."""

    sender_account_id: str


class CardReference(JsonBody, frozen=True, kw_only=True):
    """The card that a payment request is for; the type is free and case-sensitive."""

    type: Long
    reference_id: Long


class PaymentBody(JsonBody, frozen=True, kw_only=True):
    """The payment within a payment request."""

    amount: Number
    currency: Literal["EUR", "USD"]
    idempotency_key: Key
    external_id: Long | None = None
    description: Text | None = None


class PaymentRequestBody(JsonBody, frozen=True, kw_only=True):
    """A payment request."""

    card_provider_reference: CardReference
    payment_request: PaymentBody


def amount_of_number(raw: msgspec.Raw, unit: str, field: str = "amount") -> Decimal:
    """The exact amount of a JSON number."""
    text = bytes(raw).decode()
    if not text[:1].isdigit() and text[:1] != "-":
        raise invalid(f"{field} must be a JSON number.")
    return _bounded(text, unit, field)


def amount_of_text(text: str, unit: str, field: str = "amount") -> Decimal:
    """The exact amount of a decimal string."""
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


def exactly_one(**given: object) -> str:
    """The name of the only one that is given; 400 where none or several are."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        raise invalid(f"Give exactly one of {', '.join(given)}.")
    return names[0]
