"""The records of the finance service, one class per resource of its specification."""

from __future__ import annotations

from datetime import datetime
from decimal import Context, Decimal
from typing import Final

import msgspec

from treasury.api.models.model_base import Id, Integer, Model
from treasury.core.statuses import TRANSFER_FINAL

__all__ = [
    "Account", "Address", "Allowance", "Balance", "DepositRail", "FiatOrigin", "Holding", "Party",
    "PartyRole", "PaymentAmount", "PaymentExecution", "PaymentRequest", "PaymentSession", "Permit",
    "Token", "Transfer", "VirtualBankAccount", "Wallet",
]  # fmt: skip

UNLOCKED = frozenset({"VERIFIED", "NOT_REQUIRED"})
"""The values of kycStatus that allow outgoing transfers; any other value blocks them.
"""


class Address(Model, frozen=True):
    """Finance service, "Address": a postal address."""

    address_line1: str | None = None
    address_line2: str | None = None
    city: str | None = None
    state: str | None = None
    postal_code: str | None = None
    country: str | None = None


class Party(Model, frozen=True):
    """Finance service, "Party": a natural person or a company."""

    id: Id
    external_id: Id | None = None
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
    version: Integer | None = None

    @property
    def may_send(self) -> bool | None:
        """True if outbound transfers are unlocked; None if unknown."""
        return _unlocked(self.kyc_status)


def _unlocked(kyc_status: str | None) -> bool | None:
    return None if kyc_status is None else kyc_status in UNLOCKED


class PartyRole(Model, frozen=True):
    """Finance service, "Party role": the role of a party in an account."""

    party_id: Id
    role_type: str
    status: str | None = None
    party: Party | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class Account(Model, frozen=True):
    """Finance service, "Account": an account on one blockchain network."""

    id: Id
    external_id: Id | None = None
    name: str | None = None
    chain: str | None = None
    status: str | None = None
    party_roles: tuple[PartyRole, ...] | None = None
    kyc_status: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    version: Integer | None = None

    @property
    def may_send(self) -> bool | None:
        """True if outbound transfers are unlocked; None if unknown."""
        return _unlocked(self.kyc_status)


class _AmountSplit(Model, frozen=True):
    total: Decimal | None = None
    available: Decimal | None = None
    reserved: Decimal | None = None


class Balance(Model, frozen=True):
    """The balance of one asset in a wallet, in any documented shape.

    `holding` reads each of these shapes: {token, balance, availableBalance, pendingBalance} as
    strings; {asset, contractAddress, amount{total, available, reserved}} as strings or as numbers;
    and the second shape flattened.
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
        """Return total, available and reserved units of the asset."""
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
    """A balance in units of `asset`, in one shape for all services; missing values are None."""

    asset: str | None
    contract_address: str | None
    total: Decimal | None
    available: Decimal | None
    reserved: Decimal | None

    @property
    def ties(self) -> bool | None:
        """True if available and reserved add up to the total; None if one is missing."""
        if self.total is None or self.available is None or self.reserved is None:
            return None
        return self.total == self.available + self.reserved


def _first(*values: Decimal | None) -> Decimal | None:
    return next((value for value in values if value is not None), None)


class Wallet(Model, frozen=True):
    """Finance service, "Wallet (custodial)"; `id` is None if only balances were listed."""

    id: Id | None = None
    account_id: Id | None = None
    chain: str | None = None
    address: str | None = None
    type: str | None = None
    status: str | None = None
    aml_status: str | None = None
    balances: tuple[Balance, ...] = ()


class VirtualBankAccount(Model, frozen=True):
    """Finance service, "Virtual bank account": a bank account for deposits by customers."""

    id: Id
    account_id: Id | None = None
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
    deposit_rails: tuple[DepositRail, ...] | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def rail_references(self) -> tuple[str, ...]:
        """The payment references of the deposit rails, except the account's own reference code."""
        rails = (rail.payment_reference for rail in self.deposit_rails or ())
        return tuple(dict.fromkeys(r for r in rails if r and r != self.reference_code))


class DepositRail(Model, frozen=True):
    """One way to pay into a virtual bank account; only the newest generation states these."""

    rail_type: str | None = None
    payment_reference: str | None = None
    iban: str | None = None
    bic: str | None = None
    account_number: str | None = None
    routing_number: str | None = None
    bank_name: str | None = None
    beneficiary_name: str | None = None


class PaymentSession(Model, frozen=True):
    """Finance service, "Payment session": a hosted checkout, returned only when it is created."""

    id: Id | None = None
    account_id: Id | None = None
    status: str | None = None
    in_amount: Decimal | None = None
    in_currency: str | None = None
    out_cryptocurrency: str | None = None
    payment_url: str | None = None
    external_ref: str | None = None
    wallet_id: Id | None = None
    blockchain_tx_id: Id | None = None
    cancellable: bool | None = None
    expires_at: datetime | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"null")
    """Data that the caller attached, as JSON."""
    idempotency_key: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class FiatOrigin(Model, frozen=True):
    """A fiat transfer's amount, currency and exchange rate."""

    currency: str | None = None
    amount: Decimal | None = None
    exchange_rate: Decimal | None = None


class Transfer(Model, frozen=True):
    """Finance service, "Transfer".

    One class for crypto, fiat and account-to-account transfers, with the fields of all three.
    """

    id: Id
    status: str | None = None
    sender_account_id: Id | None = None
    receiver_account_id: Id | None = None
    source_account_id: Id | None = None
    destination_account_id: Id | None = None
    destination_address: str | None = None
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

    @property
    def is_final(self) -> bool:
        """True if the transfer cannot change any more; False for an undocumented status."""
        return self.status in TRANSFER_FINAL

    @property
    def failure(self) -> str | None:
        """The code and text of a failure; None if no field states one."""
        reasons = (self.failure_code, self.failure_reason, self.error_message)
        return ": ".join(dict.fromkeys(text for text in reasons if text)) or None


class PaymentAmount(Model, frozen=True):
    """An amount of a payment request in fiat, crypto, or both."""

    fiat: Decimal | None = None
    crypto: Decimal | None = None


class PaymentExecution(Model, frozen=True):
    """A blockchain transaction of a payment request; `amount` is in units of `asset`."""

    id: Id | None = None
    wallet_pair_id: Id | None = None
    type: str | None = None
    chain: str | None = None
    asset: str | None = None
    amount: Decimal | None = None
    exchange_rate: Decimal | None = None
    status: str | None = None
    transaction_hash: str | None = None
    error_message: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class PaymentRequest(Model, frozen=True):
    """Finance service, "Payment request", returned only when it is created.

    An amount is a number in the first generation. In later generations it is an object with `fiat`
    and `crypto`, each a number or a string.
    """

    id: Id | None = None
    account_id: Id | None = None
    amount: PaymentAmount | Decimal | None = None
    original_amount: PaymentAmount | Decimal | None = None
    settlement_amount: PaymentAmount | Decimal | None = None
    settled_amount: PaymentAmount | Decimal | None = None
    shortfall_amount: PaymentAmount | Decimal | None = None
    currency: str | None = None
    external_id: Id | None = None
    description: str | None = None
    status: str | None = None
    settled_at: datetime | None = None
    reversal_reason: str | None = None
    reversal_description: str | None = None
    reversed_at: datetime | None = None
    executions: tuple[msgspec.Raw, ...] | None = None
    """The executions as JSON; decode each as a `PaymentExecution`."""

    idempotency_key: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def fiat_amount(self) -> Decimal | None:
        """The amount in `currency`."""
        return self.amount.fiat if isinstance(self.amount, PaymentAmount) else self.amount


class Permit(Model, frozen=True):
    """A signature that allows tokens to be spent.

    The specification only announces this resource.
    """

    supported_asset_id: Id | None = None
    asset: str | None = None
    contract_address: str | None = None
    status: str | None = None
    typed_data: msgspec.Raw = msgspec.Raw(b"null")
    """The typed data to sign (EIP-712) as JSON; amounts are in the token's smallest units."""


class Token(Model, frozen=True):
    """The asset of an allowance."""

    name: str | None = None
    contract_address: str | None = None
    decimals: Integer | None = None


UNLIMITED: Final = Decimal(2**256 - 1)
"""The largest number in a token contract; as an allowance it means "unlimited"."""


_WIDE: Final = Context(prec=100)


class Allowance(Model, frozen=True):
    """The amount of an asset that others may spend from a wallet.

    The specification only announces this resource. It does not state whether `allowance` counts
    tokens or their smallest units.
    """

    UNSTORED = frozenset({"allowance"})

    asset: Token | None = None
    allowance: Decimal | None = None
    orchestration_wallet: str | None = None

    @property
    def is_unlimited(self) -> bool:
        """True if the allowance is the largest number, in tokens or in their smallest units."""
        if self.allowance is None:
            return False
        decimals = (self.asset and self.asset.decimals) or 0
        return self.allowance in {UNLIMITED, UNLIMITED.scaleb(-decimals, _WIDE)}
