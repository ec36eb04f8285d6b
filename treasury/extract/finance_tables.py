"""The tables of the finance service: one declaration each, its columns in the order people read.

A declaration is all it takes: what is asked for, the key, what stays open, the columns.
Sources name the headings of the finance service's specification. Times are instants in UTC; an
amount is in units of the asset or currency that its meaning names.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Final

from treasury.api.models import (
    Account,
    FiatOrigin,
    Party,
    PartyRole,
    Transfer,
    VirtualBankAccount,
    Wallet,
)
from treasury.extract.record_rows import Field, ReceivedRecord, form, forms
from treasury.extract.record_sources import PerAccount, whole
from treasury.lake import AMOUNT, BOOL, INSTANT, INTEGER, TEXT, TEXTS

__all__ = [
    "ACCOUNTS",
    "FINANCE",
    "PARTIES",
    "PARTY_ROLES",
    "TRANSFERS",
    "TRANSFERS_FINAL",
    "TRANSFERS_KNOWN",
    "VIRTUAL_BANK_ACCOUNTS",
    "WALLETS",
    "WALLET_BALANCES",
    "ReceivedBalance",
    "ReceivedTransfer",
    "kind_of",
]

TRANSFERS_FINAL: Final = frozenset({"COMPLETED", "FAILED"})
TRANSFERS_KNOWN: Final = TRANSFERS_FINAL | {"PENDING", "PROCESSING"}
"""Any other status counts as open, and is reported."""

ACCOUNT_TO_ACCOUNT: Final = "account_to_account"

_CREATED = Field("created_at", INSTANT, "created_at", "when the service created it")
_UPDATED = Field("updated_at", INSTANT, "updated_at", "when the service last changed it")
_VERSION = Field("version", INTEGER, "version", "counter that every change raises")
_ID = Field("id", TEXT, "id", "the service's id")

PARTIES: Final = form(
    "parties",
    "Party",
    _ID,
    Field("external_id", TEXT, "external_id", "our own name for it"),
    Field("party_type", TEXT, "party_type", "INDIVIDUAL or ORGANISATION"),
    Field("status", TEXT, "status", "ACTIVE, SUSPENDED, BLOCKED"),
    Field("first_name", TEXT, "first_name", "of a person"),
    Field("last_name", TEXT, "last_name", "of a person"),
    Field("name", TEXT, "name", "of an organisation"),
    Field("vat_number", TEXT, "vat_number", "of an organisation"),
    Field("kyc_status", TEXT, "kyc_status", "identity check of a person; VERIFIED unlocks payouts"),
    Field("kyb_status", TEXT, "kyb_status", "identity check of an organisation"),
    Field("address_line1", TEXT, "address.address_line1", "of the address"),
    Field("address_line2", TEXT, "address.address_line2", "of the address"),
    Field("city", TEXT, "address.city", "of the address"),
    Field("state", TEXT, "address.state", "of the address"),
    Field("postal_code", TEXT, "address.postal_code", "of the address"),
    Field("country", TEXT, "address.country", "two-letter code of the address"),
    _CREATED,
    _UPDATED,
    _VERSION,
    title="Persons and companies that hold accounts",
    model=Party,
    source=whole(
        lambda client: client.finance.parties.iterate(),
        detail=lambda client, party: client.finance.parties.get(party),
        lacks=lambda party: party.kyc_status is None and party.kyb_status is None,
    ),
)

ACCOUNTS: Final = form(
    "accounts",
    "Account",
    _ID,
    Field("external_id", TEXT, "external_id", "our own name for it"),
    Field("name", TEXT, "name", "as given when it was opened"),
    Field("chain", TEXT, "chain", "blockchain network; not every generation says"),
    Field("status", TEXT, "status", "ACTIVE, SUSPENDED, BLOCKED, CLOSED"),
    Field("kyc_status", TEXT, "kyc_status", "identity check of its holder"),
    _CREATED,
    _VERSION,
    title="Accounts at the finance service",
    model=Account,
    source=whole(lambda client: client.finance.accounts.iterate()),
    volatile=("partyRoles",),  # copies of what `party_roles` and `parties` hold
)

PARTY_ROLES: Final = form(
    "party_roles",
    "Party role",
    Field("account_id", TEXT, lambda record: record.account_id, "the account", "accountId"),
    Field("party_id", TEXT, "party_id", "the party"),
    Field("role_type", TEXT, "role_type", "ACCOUNT_HOLDER"),
    Field("status", TEXT, "status", "ACTIVE, INACTIVE"),
    _CREATED,
    _UPDATED,
    key=("account_id", "party_id", "role_type"),
    title="Who holds which account",
    model=PartyRole,
    source=PerAccount(lambda client, account: client.finance.party_roles.all(account)),
    volatile=("party",),  # a copy of what `parties` holds
)

WALLETS: Final = form(
    "wallets",
    "Wallet (custodial)",
    _ID,
    Field("account_id", TEXT, lambda record: record.account_id, "the account", "accountId"),
    Field("chain", TEXT, "chain", "blockchain network"),
    Field("address", TEXT, "address", "on the chain"),
    Field("type", TEXT, "type", "CUSTODIAL"),
    Field("status", TEXT, "status", "ACTIVE"),
    Field("aml_status", TEXT, "aml_status", "screening of the address"),
    title="Custodial wallets",
    model=Wallet,
    source=PerAccount(lambda client, account: client.finance.wallets.iterate(account)),
    volatile=("balances",),  # observations of their own, in `wallet_balances`
)


class ReceivedBalance(ReceivedRecord, frozen=True, kw_only=True):
    """One asset in a wallet, at the instant of the sync that saw it."""

    wallet_id: str | None
    chain: str | None
    observed_at: datetime


WALLET_BALANCES: Final = form(
    "wallet_balances",
    "Wallet (custodial)",
    Field("wallet_id", TEXT, lambda record: record.wallet_id, "the wallet", "id"),
    Field("account_id", TEXT, lambda record: record.account_id, "the account", "accountId"),
    Field("chain", TEXT, lambda record: record.chain, "blockchain network", "chain"),
    Field("asset", TEXT, "asset", "the coin", "balances[].asset"),
    Field(
        "contract_address", TEXT, "contract_address", "of the coin", "balances[].contractAddress"
    ),
    Field("total", AMOUNT, "total", "units of `asset`", "balances[].amount.total", unit="`asset`"),
    Field(
        "available",
        AMOUNT,
        "available",
        "units of `asset`",
        "balances[].amount.available",
        unit="`asset`",
    ),
    Field(
        "reserved",
        AMOUNT,
        "reserved",
        "units of `asset`",
        "balances[].amount.reserved",
        unit="`asset`",
    ),
    Field("observed_at", INSTANT, lambda record: record.observed_at, "the sync that saw it"),
    title="What each wallet held at each sync, also where nothing moved",
    observations=True,
)

VIRTUAL_BANK_ACCOUNTS: Final = form(
    "virtual_bank_accounts",
    "Virtual bank account",
    _ID,
    Field("account_id", TEXT, lambda record: record.account_id, "the account", "accountId"),
    Field("bank_account_type", TEXT, "bank_account_type", "EUR_SEPA"),
    Field("name", TEXT, "name", "as given when it was opened"),
    Field("status", TEXT, "status", "ACTIVE, CLOSED; a credit on a closed one is an exception"),
    Field("currency", TEXT, "currency", "what arrives"),
    Field("target_cryptocurrency", TEXT, "target_cryptocurrency", "what it is converted into"),
    Field("iban", TEXT, "iban", "where customers pay to"),
    Field("bic", TEXT, "bic", "of its bank"),
    Field("account_number", TEXT, "account_number", "of accounts in dollars"),
    Field("routing_number", TEXT, "routing_number", "of accounts in dollars"),
    Field("bank_name", TEXT, "bank_name", "its bank"),
    Field("beneficiary_name", TEXT, "beneficiary_name", "whom the payer pays"),
    Field("reference_code", TEXT, "reference_code", "what a wire must carry"),
    Field(
        "rail_references",
        TEXTS,
        lambda record: record.value.rail_references,
        "what a wire may carry instead, by its deposit rails; empty for accounts without any",
        "depositRails[].paymentReference",
    ),
    _CREATED,
    _UPDATED,
    title="Virtual bank accounts and their reference codes",
    model=VirtualBankAccount,
    source=PerAccount(
        lambda client, account: client.finance.virtual_bank_accounts.iterate(account)
    ),
)


class ReceivedTransfer(ReceivedRecord, frozen=True, kw_only=True):
    """A transfer, which of the three kinds it is, and when we first met it."""

    kind: str
    first_seen_at: datetime


def kind_of(transfer: Transfer) -> str:
    """`fiat` or `crypto`, for a transfer in an account's list."""
    in_fiat = transfer.currency is not None and transfer.asset is None
    return "fiat" if transfer.fiat_origin is not None or in_fiat else "crypto"


def _fiat(record: ReceivedRecord) -> FiatOrigin:
    transfer: Transfer = record.value
    if transfer.fiat_origin is not None:
        return transfer.fiat_origin
    if kind_of(transfer) == "fiat":
        return FiatOrigin(currency=transfer.currency, amount=transfer.amount)
    return FiatOrigin()


def _asset(record: ReceivedRecord) -> str | None:
    transfer: Transfer = record.value
    return transfer.asset or transfer.cryptocurrency


def _asset_amount(record: ReceivedRecord) -> Decimal | None:
    transfer: Transfer = record.value
    return transfer.amount if _asset(record) is not None else None


def _failure(record: ReceivedRecord) -> str | None:
    transfer: Transfer = record.value
    return transfer.failure_reason or transfer.error_message


TRANSFERS: Final = form(
    "transfers",
    "Transfer",
    _ID,
    Field(
        "kind",
        TEXT,
        lambda record: record.kind,
        "crypto, fiat or account_to_account",
        "the list it is in; fiatOrigin",
    ),
    Field("status", TEXT, "status", "PENDING, PROCESSING, COMPLETED, FAILED"),
    Field(
        "is_open",
        BOOL,
        lambda record: record.value.status not in TRANSFERS_FINAL,
        "whether it may still change: neither COMPLETED nor FAILED",
        "status",
    ),
    Field(
        "sender_account_id",
        TEXT,
        lambda record: record.value.sender_account_id or record.value.source_account_id,
        "the account that pays",
        "senderAccountId",
    ),
    Field(
        "receiver_account_id",
        TEXT,
        lambda record: record.value.receiver_account_id or record.value.destination_account_id,
        "the account that receives; none for a payee outside",
        "receiverAccountId",
    ),
    Field("chain", TEXT, "chain", "blockchain network"),
    Field("asset", TEXT, _asset, "the coin that moves", "asset"),
    Field("amount", AMOUNT, _asset_amount, "units of `asset`", "amount", unit="`asset`"),
    Field(
        "fiat_currency",
        TEXT,
        lambda record: _fiat(record).currency,
        "of `fiat_amount`",
        "fiatOrigin.currency",
    ),
    Field(
        "fiat_amount",
        AMOUNT,
        lambda record: _fiat(record).amount,
        "units of `fiat_currency`",
        "fiatOrigin.amount",
        unit="`fiat_currency`",
    ),
    Field(
        "exchange_rate",
        AMOUNT,
        lambda record: _fiat(record).exchange_rate,
        "as the service states it",
        "fiatOrigin.exchangeRate",
        unit="as the service states it",
    ),
    Field("description", TEXT, "description", "text of the sender"),
    Field("merchant_reference", TEXT, "merchant_reference", "reference of the sender"),
    Field("idempotency_key", TEXT, "idempotency_key", "key that it was created with"),
    Field("transaction_hash", TEXT, "transaction_hash", "on the chain"),
    Field("failure_code", TEXT, "failure_code", "why it failed, as a code"),
    Field("failure_reason", TEXT, _failure, "why it failed, in words", "failureReason"),
    _CREATED,
    _UPDATED,
    Field("first_seen_at", INSTANT, lambda record: record.first_seen_at, "our first sync with it"),
    model=Transfer,
    title="Transfers of all three kinds",
    settles=True,
)

FINANCE: Final = forms(globals())
