"""The body types of both services, as the sandbox reads the specification.

The profile `spec` has the specification's fields, and fields that deployed services add. An amount
sent as a JSON number is an exact `Decimal`; an amount sent as a decimal string is a `str`. A field
that does not apply has the default None and is omitted. The client does not use these types.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

import msgspec

from treasury.core.decoding import decode_json

_ENCODER = msgspec.json.Encoder(decimal_format="number")

T = TypeVar("T")


def encode(value: Any) -> str:
    """Return JSON text; a Decimal becomes a JSON number with the same digits."""
    return _ENCODER.encode(value).decode()


def decode(text: str, shape: type[T]) -> T:
    """Return the decoded record with exact numbers."""
    return decode_json(text, shape)


def number(amount: Decimal) -> Decimal:
    """Return the amount for JSON, without trailing zeros or an exponent."""
    text = format(amount, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)


def bare(moment: datetime) -> str:
    """Format an instant as older resources do: in UTC, without a zone."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def zulu(moment: datetime) -> str:
    """Format an instant as newer resources do: in UTC, with Z."""
    return bare(moment) + "Z"


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A JSON object with camelCase names; fields that have their default value are omitted."""


class Address(Shape, frozen=True, kw_only=True):
    """The address of a party."""

    address_line1: str | None = None
    address_line2: str | None = None
    city: str | None = None
    state: str | None = None
    postal_code: str | None = None
    country: str | None = None


class Party(Shape, frozen=True, kw_only=True):
    """A person or an organisation."""

    id: str
    external_id: str | None = None
    party_type: str
    status: str
    first_name: str | None = None
    last_name: str | None = None
    name: str | None = None
    vat_number: str | None = None
    kyc_status: str | None = None
    kyb_status: str | None = None
    address: Address | None = None
    created_at: str
    updated_at: str
    version: int


class PartyRole(Shape, frozen=True, kw_only=True):
    """The role of a party in an account, with the embedded party."""

    party_id: str
    role_type: str
    status: str
    party: Party
    created_at: str
    updated_at: str


class Account(Shape, frozen=True, kw_only=True):
    """An account on one chain."""

    id: str
    external_id: str
    name: str | None = None
    chain: str
    kyc_status: str
    status: str
    party_roles: list[PartyRole]
    created_at: str
    version: int


class Amount(Shape, frozen=True, kw_only=True):
    """A balance as decimal strings: total = available + reserved."""

    total: str
    available: str
    reserved: str


class Balance(Shape, frozen=True, kw_only=True):
    """The balance of one asset in a wallet."""

    asset: str
    contract_address: str
    amount: Amount


class Wallet(Shape, frozen=True, kw_only=True):
    """A wallet of an account."""

    id: str
    account_id: str
    chain: str
    type: str
    address: str
    status: str
    balances: list[Balance]
    aml_status: str


class VirtualBankAccount(Shape, frozen=True, kw_only=True):
    """A virtual IBAN; euros sent to it are converted to stablecoin."""

    id: str
    account_id: str
    bank_account_type: str
    name: str
    status: str
    currency: str
    target_cryptocurrency: str
    iban: str
    bic: str
    bank_name: str
    beneficiary_name: str
    reference_code: str
    created_at: str
    updated_at: str


class FiatOrigin(Shape, frozen=True, kw_only=True):
    """The fiat amount ordered by a fiat transfer."""

    currency: str
    amount: Decimal
    exchange_rate: Decimal


class Transfer(Shape, frozen=True, kw_only=True):
    """A crypto or fiat transfer; a fiat one has `fiatOrigin`.

    Three fields are not in the specification: `destinationAddress` and `bankAccount` (recipients
    outside the service), and `networkFee` (a crypto transfer's chain fee, in `asset`, on top of
    `amount`).
    """

    id: str
    sender_account_id: str
    receiver_account_id: str | None = None
    destination_address: str | None = None
    bank_account: dict[str, str] | None = None
    chain: str
    asset: str
    amount: Decimal
    network_fee: Decimal | None = None
    description: str | None = None
    merchant_reference: str | None = None
    idempotency_key: str
    status: str
    created_at: str
    updated_at: str
    fiat_origin: FiatOrigin | None = None
    transaction_hash: str | None = None
    error_message: str | None = None
    failure_code: str | None = None
    failure_reason: str | None = None


class AccountTransfer(Shape, frozen=True, kw_only=True):
    """A transfer between two accounts inside the service; its amount is a decimal string."""

    id: str
    source_account_id: str
    destination_account_id: str
    amount: str
    cryptocurrency: str
    status: str
    created_at: str
    updated_at: str
    failure_code: str | None = None
    failure_reason: str | None = None


class Company(Shape, frozen=True, kw_only=True):
    """The company that the users belong to."""

    id: str
    name: str
    kyb_status: str
    invoices_url: str
    sequence_customer_id: str
    created_at: str


class User(Shape, frozen=True, kw_only=True):
    """A user of the company; the invitation's URL is a secret."""

    id: str
    username: str
    email: str
    first_name: str
    last_name: str
    enabled: bool
    role: str
    invitation_url: str | None = None
    invitation_status: str


class CompanyBankAccountItem(Shape, frozen=True, kw_only=True):
    """A company bank account in a list, without account numbers, addresses and version."""

    id: str
    name: str
    bank_name: str
    bank_country: str
    bank_account_type: str
    supported_ramp_type: str
    verification_status: str
    created_at: str
    updated_at: str


class CompanyBankAccount(Shape, frozen=True, kw_only=True):
    """A company bank account."""

    id: str
    company_id: str
    name: str
    bank_name: str
    company_name: str
    email: str | None = None
    phone_number: str | None = None
    bank_country: str
    beneficiary_address_line1: str
    beneficiary_address_line2: str | None = None
    beneficiary_city: str
    beneficiary_state: str | None = None
    beneficiary_postal_code: str
    beneficiary_country: str
    bank_account_type: str
    supported_ramp_type: str
    verification_status: str
    verified_at: str | None = None
    created_at: str
    updated_at: str
    version: int
    iban: str | None = None
    bic: str | None = None
    account_number: str | None = None
    sort_code: str | None = None
    routing_number: str | None = None
    intermediary_bic: str | None = None
    intermediary_bank_name: str | None = None
    intermediary_account_number: str | None = None
    currency: str | None = None
    bank_street_address: str | None = None
    bank_city: str | None = None
    bank_postal_code: str | None = None


class CompanyWalletItem(Shape, frozen=True, kw_only=True):
    """A company wallet in a list."""

    id: str
    description: str
    address: str
    chain: str
    verification_status: str
    created_at: str
    updated_at: str


class CompanyWallet(Shape, frozen=True, kw_only=True):
    """A company wallet."""

    id: str
    company_id: str
    description: str
    address: str
    chain: str
    verification_status: str
    verified_at: str | None = None
    created_at: str
    updated_at: str
    version: int


class FiatName(Shape, frozen=True, kw_only=True):
    """A fiat currency in a conversion pair."""

    id: str
    currency: str
    label: str


class FiatCurrency(FiatName, frozen=True, kw_only=True):
    """A fiat currency of the ramp service."""

    enabled: bool
    version: int


class CryptoName(Shape, frozen=True, kw_only=True):
    """A cryptocurrency in a conversion pair."""

    id: str
    currency: str
    chain: str
    label: str


class CryptoCurrency(CryptoName, frozen=True, kw_only=True):
    """A cryptocurrency on one chain."""

    enabled: bool
    version: int
    coingecko_id: str


class Fee(Shape, frozen=True, kw_only=True):
    """One fee tier."""

    id: str
    company_id: str
    name: str
    type: str
    min_volume: Decimal
    max_volume: Decimal
    percentage: Decimal
    version: int


class DepositBankAccount(Shape, frozen=True, kw_only=True):
    """The account to which the company sends fiat; fields from `bic` on depend on the type."""

    id: str
    bank_name: str
    beneficiary: str
    fiat_currency: FiatCurrency
    label: str
    is_active: bool
    is_default: bool
    bank_account_type: str
    version: int
    bic: str | None = None
    iban: str | None = None
    intermediary_bic: str | None = None
    account_number: str | None = None
    sort_code: str | None = None
    routing_number: str | None = None
    company_name: str | None = None
    email: str | None = None
    phone_number: str | None = None
    bank_country: str | None = None
    beneficiary_address_line1: str | None = None
    beneficiary_address_line2: str | None = None
    beneficiary_city: str | None = None
    beneficiary_state: str | None = None
    beneficiary_postal_code: str | None = None
    beneficiary_country: str | None = None


class DepositWallet(Shape, frozen=True, kw_only=True):
    """The wallet to which the company sends crypto."""

    id: str
    address: str
    chain: str
    label: str
    is_default: bool
    is_active: bool
    version: int


class Event(Shape, frozen=True, kw_only=True):
    """One event in the history of a ramp request."""

    id: str
    event_type: str
    user_id: str
    username: str
    email: str
    role: str
    created_at: str
    version: int
    metadata: dict[str, Decimal] | None = None


class RampRequest(Shape, frozen=True, kw_only=True):
    """A complete ramp request. `amount` is gross: fiat for an on-ramp, crypto for an off-ramp."""

    BEYOND: ClassVar[frozenset[str]] = frozenset(
        {"fiatCurrencyId", "cryptoCurrencyId", "companyWalletId", "companyBankAccountId"}
    )
    """Sent names of the fields that the specification's examples and the published contract lack.

    The sandbox returns them in every profile.
    """

    id: str
    company_id: str
    company_name: str
    ramp_type: str
    status: str
    amount: Decimal
    net_amount: Decimal
    fiat_amount: Decimal
    fiat_net_amount: Decimal
    crypto_amount: Decimal
    fiat_fee_amount: Decimal
    exchange_rate: Decimal
    fee_percentage: Decimal
    payment_reference: str
    payment_received: bool
    created_at: str
    fiat_currency_id: str
    crypto_currency_id: str
    company_wallet_id: str | None = None
    company_wallet: CompanyWallet | None = None
    company_bank_account_id: str | None = None
    company_bank_account: CompanyBankAccount | None = None
    fiat_currency: FiatCurrency
    crypto_currency: CryptoCurrency
    events: list[Event]
    version: int
    deposit_bank_account: DepositBankAccount | None = None
    deposit_wallet: DepositWallet | None = None
    amount_received: Decimal | None = None
    blockchain_transaction_hash: str | None = None

    @property
    def creator(self) -> Event:
        """Return the first event, which names the maker."""
        return self.events[0]


class RampItem(Shape, frozen=True, kw_only=True):
    """A ramp request in a list: currencies as text, without version, fee and net amount."""

    id: str
    payment_reference: str
    ramp_type: str
    status: str
    fiat_amount: Decimal
    fiat_currency: str
    crypto_amount: Decimal
    crypto_currency: str
    created_at: str
    created_by: str


def brief(record: msgspec.Struct, item: type[T], **changed: object) -> T:
    """Return the short form of `record` for lists; `changed` replaces fields."""
    names = getattr(item, "__struct_fields__", ())
    return item(**{n: changed[n] if n in changed else getattr(record, n) for n in names})
