"""The records of the ramp service, one class per resource of its specification."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Literal

import msgspec

from treasury.api.models.model_base import Id, Integer, Model
from treasury.core.statuses import REQUEST_FINAL

__all__ = [
    "CalculatedFee", "Chain", "Company", "CompanyBankAccount", "CompanyUser", "CompanyWallet",
    "ConfigEntry", "CryptoCurrency", "CurrencyPair", "DepositBankAccount", "DepositWallet", "Fee",
    "FiatCurrency", "RampEvent", "RampRequest",
]  # fmt: skip

CENT = Decimal("0.01")


class Company(Model, frozen=True):
    """Ramp service, "Company and company users": the company of the credential."""

    id: Id
    name: str | None = None
    kyb_status: str | None = None
    invoices_url: str | None = None
    sequence_customer_id: Id | None = None
    created_at: datetime | None = None


class CompanyUser(Model, frozen=True):
    """A user of the company. An invitation's link is a secret, so it is not a field."""

    id: Id
    username: str | None = None
    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    enabled: bool | None = None
    role: str | None = None
    invitation_status: str | None = None


class _BankDetails(Model, frozen=True, kw_only=True):
    """The details of a bank account; its type decides which fields have values."""

    bank_name: str | None = None
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
    bank_account_type: str | None = None
    iban: str | None = None
    bic: str | None = None
    intermediary_bic: str | None = None
    intermediary_bank_name: str | None = None
    intermediary_account_number: str | None = None
    account_number: str | None = None
    sort_code: str | None = None
    routing_number: str | None = None
    bank_street_address: str | None = None
    bank_city: str | None = None
    bank_postal_code: str | None = None


class CompanyBankAccount(_BankDetails, frozen=True, kw_only=True):
    """Ramp service, "Company bank account"; `iban` and `version` are None in a list item."""

    id: Id
    company_id: Id | None = None
    name: str | None = None
    supported_ramp_type: str | None = None
    verification_status: str | None = None
    verified_at: datetime | None = None
    currency: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: Integer | None = None


class CompanyWallet(Model, frozen=True):
    """Ramp service, "Company wallet"; `company_id` and `version` are None in a list item."""

    id: Id
    company_id: Id | None = None
    description: str | None = None
    address: str | None = None
    chain: str | None = None
    verification_status: str | None = None
    verified_at: datetime | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: Integer | None = None


class FiatCurrency(Model, frozen=True):
    """Reference data: a fiat currency."""

    id: Id
    currency: str | None = None
    label: str | None = None
    enabled: bool | None = None
    version: Integer | None = None


class CryptoCurrency(Model, frozen=True):
    """Reference data: a cryptocurrency on one chain."""

    id: Id
    currency: str | None = None
    chain: str | None = None
    label: str | None = None
    coingecko_id: Id | None = None
    enabled: bool | None = None
    version: Integer | None = None


class CurrencyPair(Model, frozen=True):
    """Reference data: two currencies that can be exchanged.

    The chain of a fiat currency is None.
    """

    source: CryptoCurrency = msgspec.field(name="from")
    target: CryptoCurrency = msgspec.field(name="to")


class Chain(Model, frozen=True):
    """Reference data: a blockchain network."""

    name: str


class ConfigEntry(Model, frozen=True):
    """Reference data: an account type, country or currency that a bank account may have."""

    kind: str
    code: str
    name: str | None = None


class Fee(Model, frozen=True):
    """A fee and the volumes for which it applies; the period of the volumes is not documented."""

    id: Id
    company_id: Id | None = None
    name: str | None = None
    type: str | None = None
    min_volume: Decimal | None = None
    max_volume: Decimal | None = None
    percentage: Decimal | None = None
    version: Integer | None = None


class CalculatedFee(Model, frozen=True):
    """The fee that the service calculated for an amount.

    The fee is in the same unit as the amount (on-ramp: fiat, off-ramp: crypto). The client sets
    `unit`, because the service does not state it.
    """

    amount: Decimal | None = None
    percentage: Decimal | None = None
    unit: Literal["fiat", "crypto"] | None = None


class DepositBankAccount(_BankDetails, frozen=True, kw_only=True):
    """The bank account to which the company pays the fiat of an on-ramp."""

    id: Id | None = None
    beneficiary: str | None = None
    fiat_currency: FiatCurrency | str | None = None
    label: str | None = None
    is_active: bool | None = None
    is_default: bool | None = None
    version: Integer | None = None

    @property
    def currency(self) -> str | None:
        """The account's currency code, which the service sends as an object or a text."""
        fiat = self.fiat_currency
        return fiat.currency if isinstance(fiat, FiatCurrency) else fiat


class DepositWallet(Model, frozen=True):
    """The wallet to which the company sends the crypto of an off-ramp."""

    id: Id | None = None
    address: str | None = None
    chain: str | None = None
    label: str | None = None
    is_active: bool | None = None
    is_default: bool | None = None
    version: Integer | None = None


class RampEvent(Model, frozen=True):
    """An event in the history of a ramp request."""

    id: Id | None = None
    event_type: str | None = None
    user_id: Id | None = None
    username: str | None = None
    email: str | None = None
    role: str | None = None
    created_at: datetime | None = None
    version: Integer | None = None
    details: msgspec.Raw = msgspec.field(name="metadata", default=msgspec.Raw(b"null"))

    @property
    def metadata(self) -> msgspec.Raw | None:
        """The event's details as JSON; None if there are none."""
        return None if bytes(self.details) == b"null" else self.details


class RampRequest(Model, frozen=True):
    """Ramp service, "Ramp request": a detail, or a list item, which has fewer fields.

    `amount` is gross fiat for an on-ramp and gross crypto for an off-ramp. A list item has currency
    codes, but no version, fee, net amount or events. A detail has all of these, and currency
    objects instead of codes.
    """

    id: Id
    ramp_type: str | None = None
    status: str | None = None
    version: Integer | None = None
    payment_reference: str | None = None
    amount: Decimal | None = None
    net_amount: Decimal | None = None
    fiat_amount: Decimal | None = None
    fiat_net_amount: Decimal | None = None
    fiat_fee_amount: Decimal | None = None
    crypto_amount: Decimal | None = None
    exchange_rate: Decimal | None = None
    fee_percentage: Decimal | None = None
    fiat_currency: FiatCurrency | str | None = None
    fiat_currency_id: Id | None = None
    crypto_currency: CryptoCurrency | str | None = None
    crypto_currency_id: Id | None = None
    payment_received: bool | None = None
    amount_received: Decimal | None = None
    blockchain_transaction_hash: str | None = None
    company_id: Id | None = None
    company_name: str | None = None
    company_wallet: CompanyWallet | None = None
    company_wallet_id: Id | None = None
    company_bank_account: CompanyBankAccount | None = None
    company_bank_account_id: Id | None = None
    deposit_bank_account: DepositBankAccount | None = None
    deposit_wallet: DepositWallet | None = None
    events: tuple[RampEvent, ...] | None = None
    created_at: datetime | None = None
    created_by: str | None = None

    def event(self, *kinds: str) -> RampEvent | None:
        """Return the last event of one of these kinds; None if there is none."""
        events = [event for event in self.events or () if event.event_type in kinds]
        return events[-1] if events else None

    @property
    def is_final(self) -> bool:
        """True if the request cannot change any more.

        A request that is BLOCKED or has an undocumented status is not final.
        """
        return self.status in REQUEST_FINAL

    @property
    def maker(self) -> str | None:
        """The user who created the request, from the CREATED event or else from `createdBy`."""
        created = self.event("CREATED")
        by_event = created and (created.email or created.username or created.user_id)
        return by_event or self.created_by

    @property
    def changed_at(self) -> datetime | None:
        """The time of the last event or else of creation, because a request has no update time."""
        times = [event.created_at for event in self.events or () if event.created_at]
        return max(times, default=self.created_at)

    def doubts(self) -> tuple[str, ...]:
        """Describe each contradiction within the record; empty if there are none.

        Gross amount less fee may differ from the net amount by one cent at most, and the deposit
        wallet must be on the chain of the asset.
        """
        doubts = []
        parts = (self.fiat_amount, self.fiat_fee_amount, self.fiat_net_amount)
        gross, fee, net = parts
        if (
            gross is not None
            and fee is not None
            and net is not None
            and abs(gross - fee - net) > CENT
        ):
            doubts.append(f"gross {gross} less fee {fee} is not net {net}")
        asset, wallet = self.crypto_currency, self.deposit_wallet
        chain = asset.chain if isinstance(asset, CryptoCurrency) else None
        if wallet and wallet.chain and chain and wallet.chain != chain:
            doubts.append(f"the deposit wallet is on {wallet.chain}, the asset on {chain}")
        return tuple(doubts)
