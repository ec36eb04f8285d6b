"""The records of both services as frozen structs: the contract, one class for each resource.

A model takes what any documented generation of the service sends: only what identifies a record is
mandatory, enums are open strings, an amount is an exact Decimal whether it came as a number or as a
string, and a time without a zone is UTC. What a model does not name is not lost: every record
travels with its own bytes (`codec.Record`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import msgspec

from treasury.errors import InputError
from treasury.money import PRECISION, SCALE, parse_amount

__all__ = [
    "Account",
    "Address",
    "Balance",
    "Chain",
    "Company",
    "CompanyBankAccount",
    "CompanyUser",
    "CompanyWallet",
    "ConfigEntry",
    "CryptoCurrency",
    "CurrencyPair",
    "DepositBankAccount",
    "DepositWallet",
    "Fee",
    "FiatCurrency",
    "FiatOrigin",
    "Holding",
    "Model",
    "Party",
    "PartyRole",
    "RampEvent",
    "RampRequest",
    "Transfer",
    "VirtualBankAccount",
    "Wallet",
]


class Model(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A record of a service: instants are brought to UTC, amounts are checked to be storable."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, datetime):
                msgspec.structs.force_setattr(self, name, _in_utc(value))
            elif isinstance(value, Decimal):
                _check_amount(value, name)


def _in_utc(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _check_amount(value: Decimal, name: str) -> None:
    exponent = value.as_tuple().exponent
    plain = isinstance(exponent, int) and exponent >= -SCALE
    if plain and value.adjusted() < PRECISION - SCALE:
        return
    try:
        parse_amount(value, what=name)
    except InputError as error:
        raise ValueError(error.what) from None  # msgspec adds where in the record it stands


# ---- finance service -----------------------------------------------------------------------------


class Address(Model, frozen=True):
    """Finance service, "Address"."""

    address_line1: str | None = None
    address_line2: str | None = None
    city: str | None = None
    state: str | None = None
    postal_code: str | None = None
    country: str | None = None


class Party(Model, frozen=True):
    """Finance service, "Party": a natural person or a company."""

    id: str
    external_id: str | None = None
    party_type: str | None = None
    status: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    name: str | None = None
    vat_number: str | None = None
    kyc_status: str | None = None
    kyb_status: str | None = None
    address: Address | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = None


class PartyRole(Model, frozen=True):
    """Finance service, "Party role": what a party is to an account."""

    party_id: str
    role_type: str
    status: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Account(Model, frozen=True):
    """Finance service, "Account"."""

    id: str
    external_id: str | None = None
    name: str | None = None
    chain: str | None = None
    status: str | None = None
    kyc_status: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = None


class _AmountSplit(Model, frozen=True):
    total: Decimal | None = None
    available: Decimal | None = None
    reserved: Decimal | None = None


class Balance(Model, frozen=True):
    """One asset in a wallet, in whichever documented shape it came (`gaps.md`, balances element).

    `holding` reads all of them: {token, balance, availableBalance, pendingBalance} as strings;
    {asset, contractAddress, amount{total, available, reserved}} as strings or as numbers; and the
    second laid flat.
    """

    asset: str | None = None
    token: str | None = None
    contract_address: str | None = None
    amount: _AmountSplit | Decimal | None = None
    balance: Decimal | None = None
    available_balance: Decimal | None = None
    pending_balance: Decimal | None = None
    total: Decimal | None = None
    available: Decimal | None = None
    reserved: Decimal | None = None

    def holding(self) -> Holding:
        """Total, available and reserved units of the asset."""
        split = self.amount if isinstance(self.amount, _AmountSplit) else _AmountSplit()
        whole = self.amount if isinstance(self.amount, Decimal) else None
        return Holding(
            asset=self.asset or self.token,
            contract_address=self.contract_address,
            total=_first(split.total, whole, self.balance, self.total),
            available=_first(split.available, self.available_balance, self.available),
            reserved=_first(split.reserved, self.pending_balance, self.reserved),
        )


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """A balance as it is meant: units of `asset`; None where the service did not say."""

    asset: str | None
    contract_address: str | None
    total: Decimal | None
    available: Decimal | None
    reserved: Decimal | None

    @property
    def ties(self) -> bool | None:
        """Whether available and reserved make the total; None where one is not given."""
        if self.total is None or self.available is None or self.reserved is None:
            return None
        return self.total == self.available + self.reserved


def _first(*values: Decimal | None) -> Decimal | None:
    return next((value for value in values if value is not None), None)


class Wallet(Model, frozen=True):
    """Finance service, "Wallet (custodial)"; `id` is None where only balances were listed."""

    id: str | None = None
    account_id: str | None = None
    chain: str | None = None
    address: str | None = None
    type: str | None = None
    status: str | None = None
    aml_status: str | None = None
    balances: tuple[Balance, ...] = ()


class VirtualBankAccount(Model, frozen=True):
    """Finance service, "Virtual bank account": where a customer's euros arrive."""

    id: str
    account_id: str | None = None
    bank_account_type: str | None = None
    name: str | None = None
    status: str | None = None
    currency: str | None = None
    target_cryptocurrency: str | None = None
    iban: str | None = None
    bic: str | None = None
    account_number: str | None = None
    routing_number: str | None = None
    bank_name: str | None = None
    beneficiary_name: str | None = None
    reference_code: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class FiatOrigin(Model, frozen=True):
    """The fiat side of a fiat transfer."""

    currency: str | None = None
    amount: Decimal | None = None
    exchange_rate: Decimal | None = None


class Transfer(Model, frozen=True):
    """Finance service, "Transfer", of all three kinds: every documented field, none mandatory."""

    id: str
    status: str | None = None
    sender_account_id: str | None = None
    receiver_account_id: str | None = None
    source_account_id: str | None = None
    destination_account_id: str | None = None
    chain: str | None = None
    asset: str | None = None
    cryptocurrency: str | None = None
    currency: str | None = None
    amount: Decimal | None = None
    fiat_origin: FiatOrigin | None = None
    description: str | None = None
    merchant_reference: str | None = None
    idempotency_key: str | None = None
    transaction_hash: str | None = None
    failure_code: str | None = None
    failure_reason: str | None = None
    error_message: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


# ---- ramp service --------------------------------------------------------------------------------


class Company(Model, frozen=True):
    """Ramp service, "Company and company users": the company of the credential."""

    id: str
    name: str | None = None
    kyb_status: str | None = None
    created_at: datetime | None = None


class CompanyUser(Model, frozen=True):
    """A user of the company. The link of an invitation is a secret and is no field here."""

    id: str
    username: str | None = None
    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    enabled: bool | None = None
    role: str | None = None
    invitation_status: str | None = None


class CompanyBankAccount(Model, frozen=True):
    """Ramp service, "Company bank account"; a list leaves out `iban` and `version`."""

    id: str
    company_id: str | None = None
    name: str | None = None
    bank_name: str | None = None
    company_name: str | None = None
    bank_country: str | None = None
    bank_account_type: str | None = None
    supported_ramp_type: str | None = None
    verification_status: str | None = None
    verified_at: datetime | None = None
    iban: str | None = None
    bic: str | None = None
    account_number: str | None = None
    sort_code: str | None = None
    routing_number: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = None


class CompanyWallet(Model, frozen=True):
    """Ramp service, "Company wallet"; a list leaves out `company_id` and `version`."""

    id: str
    company_id: str | None = None
    description: str | None = None
    address: str | None = None
    chain: str | None = None
    verification_status: str | None = None
    verified_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: int | None = None


class FiatCurrency(Model, frozen=True):
    """Reference data: a fiat currency."""

    id: str
    currency: str | None = None
    label: str | None = None
    enabled: bool | None = None
    version: int | None = None


class CryptoCurrency(Model, frozen=True):
    """Reference data: a cryptocurrency on one chain."""

    id: str
    currency: str | None = None
    chain: str | None = None
    label: str | None = None
    coingecko_id: str | None = None
    enabled: bool | None = None
    version: int | None = None


class CurrencyPair(Model, frozen=True):
    """What can be exchanged for what; a fiat side has no chain."""

    source: CryptoCurrency = msgspec.field(name="from")
    target: CryptoCurrency = msgspec.field(name="to")


class Chain(Model, frozen=True):
    """Reference data: a blockchain network."""

    name: str


class ConfigEntry(Model, frozen=True):
    """Reference data: one line of the bank account configuration."""

    kind: str
    code: str
    name: str | None = None


class Fee(Model, frozen=True):
    """A fee tier; the period that its volumes count is not stated."""

    id: str
    company_id: str | None = None
    name: str | None = None
    type: str | None = None
    min_volume: Decimal | None = None
    max_volume: Decimal | None = None
    percentage: Decimal | None = None
    version: int | None = None


class DepositBankAccount(Model, frozen=True):
    """Where the company sends fiat for an on-ramp."""

    id: str | None = None
    bank_name: str | None = None
    beneficiary: str | None = None
    label: str | None = None
    bank_account_type: str | None = None
    iban: str | None = None
    bic: str | None = None
    account_number: str | None = None
    sort_code: str | None = None
    routing_number: str | None = None
    is_active: bool | None = None
    version: int | None = None


class DepositWallet(Model, frozen=True):
    """Where the company sends crypto for an off-ramp."""

    id: str | None = None
    address: str | None = None
    chain: str | None = None
    label: str | None = None
    is_active: bool | None = None
    version: int | None = None


class RampEvent(Model, frozen=True):
    """One line of a ramp request's history."""

    id: str | None = None
    event_type: str | None = None
    user_id: str | None = None
    username: str | None = None
    email: str | None = None
    role: str | None = None
    created_at: datetime | None = None
    version: int | None = None
    metadata: msgspec.Raw | None = None


class RampRequest(Model, frozen=True):
    """Ramp service, "Ramp request": the detail and the list item, which holds less.

    `amount` is fiat gross for an on-ramp and crypto gross for an off-ramp. A list item has the
    currencies as their codes and no version, fee, net amount or event; a detail has them as
    objects.
    """

    id: str
    ramp_type: str | None = None
    status: str | None = None
    version: int | None = None
    payment_reference: str | None = None
    amount: Decimal | None = None
    fiat_amount: Decimal | None = None
    fiat_net_amount: Decimal | None = None
    fiat_fee_amount: Decimal | None = None
    crypto_amount: Decimal | None = None
    exchange_rate: Decimal | None = None
    fee_percentage: Decimal | None = None
    fiat_currency: FiatCurrency | str | None = None
    fiat_currency_id: str | None = None
    crypto_currency: CryptoCurrency | str | None = None
    crypto_currency_id: str | None = None
    payment_received: bool | None = None
    amount_received: Decimal | None = None
    blockchain_transaction_hash: str | None = None
    company_id: str | None = None
    company_wallet: CompanyWallet | None = None
    company_wallet_id: str | None = None
    company_bank_account: CompanyBankAccount | None = None
    company_bank_account_id: str | None = None
    deposit_bank_account: DepositBankAccount | None = None
    deposit_wallet: DepositWallet | None = None
    events: tuple[RampEvent, ...] | None = None
    created_at: datetime | None = None
    created_by: str | None = None

    def event(self, *kinds: str) -> RampEvent | None:
        """The last event of one of these kinds."""
        found = [event for event in self.events or () if event.event_type in kinds]
        return found[-1] if found else None
