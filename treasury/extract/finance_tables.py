"""Declarations of the finance service's tables, with columns in reading order.

A declaration states the endpoint, the key and the columns of a table, and whether its rows become
final. A column's source names a heading of the finance service's specification. Times are in UTC.
The meaning of an amount names its asset or currency.
"""

from __future__ import annotations

from datetime import datetime
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
from treasury.core.statuses import TRANSFER_FINAL
from treasury.extract.record_rows import (
    PerAccount,
    ReceivedRecord,
    Whole,
    amount,
    flag,
    form,
    forms,
    instant,
    integer,
    text,
    texts,
)

ACCOUNT_TO_ACCOUNT: Final = "account_to_account"

_CREATED = instant("created_at", "when the service created it")
_UPDATED = instant("updated_at", "when the service last changed it")
_VERSION = integer("version", "version number, which each change increases")
_ID = text("id", "the service's id")

PARTIES: Final = form(
    "parties",
    "Party",
    _ID,
    text("external_id", "our own id of the party"),
    text("party_type", "INDIVIDUAL or ORGANISATION"),
    text("status", "ACTIVE, SUSPENDED, BLOCKED"),
    text("first_name", "first name of a person"),
    text("last_name", "last name of a person"),
    text("name", "name of an organisation"),
    text("vat_number", "VAT number of an organisation"),
    text("kyc_status", "identity check of a person; VERIFIED unlocks payouts"),
    text("kyb_status", "identity check of an organisation"),
    text("address_line1", "street address, first line", "address.address_line1"),
    text("address_line2", "street address, second line", "address.address_line2"),
    text("city", "city of the address", "address.city"),
    text("state", "state or region of the address", "address.state"),
    text("postal_code", "postal code of the address", "address.postal_code"),
    text("country", "two-letter country code of the address", "address.country"),
    _CREATED,
    _UPDATED,
    _VERSION,
    title="Persons and companies that hold accounts",
    model=Party,
    source=Whole(
        lambda client: client.finance.parties.iterate(),
        detail=lambda client, party: client.finance.parties.get(party),
        lacks=lambda party: party.kyc_status is None and party.kyb_status is None,
    ),
)

ACCOUNTS: Final = form(
    "accounts",
    "Account",
    _ID,
    text("external_id", "our own id of the account"),
    text("name", "name, as set when the account was opened"),
    text("chain", "blockchain network; null in some generations"),
    text("status", "ACTIVE, SUSPENDED, BLOCKED, CLOSED"),
    text("kyc_status", "identity check of the account holder"),
    _CREATED,
    _VERSION,
    title="Accounts at the finance service",
    model=Account,
    source=Whole(lambda client: client.finance.accounts.iterate()),
    # This field repeats rows of `party_roles` and `parties`.
    volatile=("partyRoles",),
)

PARTY_ROLES: Final = form(
    "party_roles",
    "Party role",
    text("account_id", "the account", lambda r: r.account_id, "accountId"),
    text("party_id", "the party"),
    text("role_type", "role of the party: ACCOUNT_HOLDER"),
    text("status", "ACTIVE, INACTIVE"),
    _CREATED,
    _UPDATED,
    key=("account_id", "party_id", "role_type"),
    title="Roles of parties in accounts, such as account holder",
    model=PartyRole,
    source=PerAccount(lambda client, account: client.finance.party_roles.all(account)),
    # This field repeats a row of `parties`.
    volatile=("party",),
)

WALLETS: Final = form(
    "wallets",
    "Wallet (custodial)",
    _ID,
    text("account_id", "the account", lambda r: r.account_id, "accountId"),
    text("chain", "blockchain network"),
    text("address", "address on the blockchain"),
    text("type", "type of wallet: CUSTODIAL"),
    text("status", "ACTIVE"),
    text("aml_status", "result of the anti-money-laundering check of the address"),
    title="Custodial wallets",
    model=Wallet,
    source=PerAccount(lambda client, account: client.finance.wallets.iterate(account)),
    # Balances are stored in `wallet_balances`, one row per sync.
    volatile=("balances",),
)


class ReceivedBalance(ReceivedRecord, frozen=True, kw_only=True):
    """The balance of one asset in a wallet, as read by one sync."""

    wallet_id: str | None
    chain: str | None
    observed_at: datetime


WALLET_BALANCES: Final = form(
    "wallet_balances",
    "Wallet (custodial)",
    text("wallet_id", "the wallet", lambda r: r.wallet_id, "id"),
    text("account_id", "the account", lambda r: r.account_id, "accountId"),
    text("chain", "blockchain network", lambda r: r.chain, "chain"),
    text("asset", "the coin", source="balances[].asset"),
    text("contract_address", "token contract of the coin", source="balances[].contractAddress"),
    amount(
        "total",
        "whole balance, in units of `asset`",
        source="balances[].amount.total",
        unit="`asset`",
    ),
    amount(
        "available",
        "part that can be spent, in units of `asset`",
        source="balances[].amount.available",
        unit="`asset`",
    ),
    amount(
        "reserved",
        "part that is reserved, in units of `asset`",
        source="balances[].amount.reserved",
        unit="`asset`",
    ),
    instant("observed_at", "time of the sync that read the balance", lambda r: r.observed_at),
    title="Balances of each wallet at each sync, even if unchanged",
    observations=True,
)

VIRTUAL_BANK_ACCOUNTS: Final = form(
    "virtual_bank_accounts",
    "Virtual bank account",
    _ID,
    text("account_id", "the account", lambda r: r.account_id, "accountId"),
    text("bank_account_type", "type of account: EUR_SEPA"),
    text("name", "name, as set when the account was opened"),
    text("status", "ACTIVE, CLOSED; a deposit to a closed account is an exception"),
    text("currency", "currency of the deposits"),
    text("target_cryptocurrency", "coin into which deposits are converted"),
    text("iban", "IBAN to which customers pay"),
    text("bic", "BIC of the bank"),
    text("account_number", "account number, for an account in dollars"),
    text("routing_number", "routing number, for an account in dollars"),
    text("bank_name", "name of the bank"),
    text("beneficiary_name", "name that the payer states as the beneficiary"),
    text("reference_code", "reference that a payment must carry"),
    texts(
        "rail_references",
        "other references, one per way to pay (deposit rail); empty if there are none",
        lambda r: r.value.rail_references,
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
    """A transfer with its kind and the time of the first sync that received it."""

    kind: str
    first_seen_at: datetime


def kind_of(transfer: Transfer) -> str:
    """Return whether a transfer in an account's list is `fiat` or `crypto`."""
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


def _failure(record: ReceivedRecord) -> str | None:
    transfer: Transfer = record.value
    return transfer.failure_reason or transfer.error_message


TRANSFERS: Final = form(
    "transfers",
    "Transfer",
    _ID,
    text("kind", "crypto, fiat or account_to_account", lambda r: r.kind,
         "the list with the transfer; fiatOrigin"),
    text("status", "PENDING, PROCESSING, COMPLETED, FAILED"),
    flag("is_open", "true if the transfer may still change: neither COMPLETED nor FAILED",
         lambda r: r.value.status not in TRANSFER_FINAL, "status"),
    text("sender_account_id", "the account that pays",
         lambda r: r.value.sender_account_id or r.value.source_account_id, "senderAccountId"),
    text("receiver_account_id", "the account that receives; null for an external payee",
         lambda r: r.value.receiver_account_id or r.value.destination_account_id,
         "receiverAccountId"),
    text("destination_address", "address outside the service that receives the coins"),
    text("chain", "blockchain network"),
    text("asset", "coin of the transfer", _asset, "asset"),
    amount("amount", "amount in units of `asset`",
           lambda r: None if _asset(r) is None else r.value.amount,
           "amount", unit="`asset`"),
    text("fiat_currency", "currency of `fiat_amount`",
         lambda r: _fiat(r).currency, "fiatOrigin.currency"),
    amount("fiat_amount", "amount in `fiat_currency`", lambda r: _fiat(r).amount,
           "fiatOrigin.amount", unit="`fiat_currency`"),
    amount("exchange_rate", "exchange rate, as the service states it",
           lambda r: _fiat(r).exchange_rate,
           "fiatOrigin.exchangeRate", unit="as the service states it"),
    text("description", "description by the sender"),
    text("merchant_reference", "reference of the sender"),
    text("idempotency_key", "idempotency key with which the transfer was created"),
    text("transaction_hash", "hash of the blockchain transaction"),
    text("failure_code", "code of the reason for a failure"),
    text("failure_reason", "reason for a failure, in words", _failure, "failureReason"),
    _CREATED,
    _UPDATED,
    instant("first_seen_at", "time of the first sync with the transfer", lambda r: r.first_seen_at),
    model=Transfer,
    # This field has the other party's account outside the service.
    unread=("bankAccount",),
    title="Crypto, fiat and account-to-account transfers",
    settles=True,
)  # fmt: skip

FINANCE: Final = forms(globals())
