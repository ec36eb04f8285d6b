"""Declarations of the ramp service's tables, with columns in reading order.

A declaration states the endpoint, the key and the columns of a table, and whether its rows become
final. A column's source names a heading of the ramp service's specification. A ramp request's
`amount` is gross fiat for an on-ramp and gross crypto for an off-ramp; prefer the columns that name
their unit. Rates are fiat per crypto, and percentages are in per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from treasury.api.models import (
    Company,
    CompanyBankAccount,
    CompanyUser,
    CompanyWallet,
    CryptoCurrency,
    CurrencyPair,
    Fee,
    FiatCurrency,
    RampEvent,
    RampRequest,
)
from treasury.core.statuses import REQUEST_FINAL
from treasury.core.tables.column_types import BOOL, INTEGER, TEXT
from treasury.extract.record_rows import (
    ReceivedRecord,
    RecordField,
    Whole,
    amount,
    flag,
    form,
    forms,
    instant,
    integer,
    text,
)

if TYPE_CHECKING:
    from treasury.api import Client

_ID = text("id", "the service's id")
_CREATED = instant("created_at", "when the service created it")
_UPDATED = instant("updated_at", "when the service last changed it")
_VERSION = integer("version", "version number, which each change increases")


class ReceivedRequest(ReceivedRecord, frozen=True, kw_only=True):
    """A ramp request from its detail, or from the list if its detail was not fetched."""

    has_detail: bool
    listed_by: str | None = None
    """`createdBy` of the list item; a detail has it only in its first event."""


def _fiat(record: ReceivedRecord) -> FiatCurrency:
    """Return the fiat currency, which the service states as an object, a code or an id."""
    request: RampRequest = record.value
    if isinstance(request.fiat_currency, FiatCurrency):
        return request.fiat_currency
    return FiatCurrency(id=request.fiat_currency_id or "", currency=request.fiat_currency)


def _crypto(record: ReceivedRecord) -> CryptoCurrency:
    request: RampRequest = record.value
    if isinstance(request.crypto_currency, CryptoCurrency):
        return request.crypto_currency
    return CryptoCurrency(id=request.crypto_currency_id or "", currency=request.crypto_currency)


def _id_of(field: str) -> Callable[[ReceivedRecord], str | None]:
    """Return a function that reads the id of a nested record."""
    return lambda record: (
        getattr(record.value, f"{field}_id") or getattr(getattr(record.value, field), "id", None)
    )


def _event(record: ReceivedRecord, *kinds: str) -> RampEvent:
    request: RampRequest = record.value
    return request.event(*kinds) or RampEvent()


def _part(prefix: str, path: str, **fields: tuple[pa.DataType, str]) -> Iterator[RecordField]:
    """Yield the columns of a nested record, each named after its field."""
    for name, (kind, meaning) in fields.items():
        yield RecordField(f"{prefix}_{name}", kind, f"{path}.{name}", meaning)


RAMP_REQUESTS: Final = form(
    "ramp_requests",
    "Ramp request",
    _ID,
    text("payment_reference", "reference that the payment for the request must carry"),
    text("ramp_type", "ON_RAMP (fiat to crypto) or OFF_RAMP"),
    text("status", "status of the request, from AWAITING_APPROVAL to SUCCEEDED"),
    flag("is_open", "true if the request may still change; BLOCKED counts as open",
         lambda f: f.value.status not in REQUEST_FINAL, "status"),
    amount("amount",
           "gross amount: fiat for an on-ramp, crypto for an off-ramp; show it with its unit",
           unit="`fiat_currency` on-ramp, `crypto_currency` off-ramp"),
    amount("net_amount", "amount after the fee; prefer columns with a named unit",
           unit="that of `amount`"),
    text("fiat_currency", "currency of the fiat amounts",
         lambda f: _fiat(f).currency, "fiatCurrency"),
    text("fiat_currency_id", "id of the fiat currency",
         lambda f: _fiat(f).id or None, "fiatCurrencyId"),
    amount("fiat_amount", "gross amount in `fiat_currency`", unit="`fiat_currency`"),
    amount("fiat_net_amount", "amount after the fee, in `fiat_currency`", unit="`fiat_currency`"),
    amount("fiat_fee_amount", "the fee, in `fiat_currency`", unit="`fiat_currency`"),
    text("crypto_currency", "coin of the crypto amount",
         lambda f: _crypto(f).currency, "cryptoCurrency"),
    text("crypto_currency_id", "id of the coin",
         lambda f: _crypto(f).id or None, "cryptoCurrencyId"),
    text("crypto_chain", "blockchain network of the coin",
         lambda f: _crypto(f).chain, "cryptoCurrency.chain"),
    amount("crypto_amount", "amount in units of `crypto_currency`", unit="`crypto_currency`"),
    amount("exchange_rate", "fiat per crypto", unit="`fiat_currency` per `crypto_currency`"),
    amount("fee_percentage", "fee in per cent of the gross amount", unit="per cent"),
    flag("payment_received", "true if the service has received the payment"),
    amount("amount_received", "amount received, in the unit of `amount`", unit="that of `amount`"),
    text("blockchain_transaction_hash", "hash of the blockchain transaction that moves the crypto"),
    text("company_id", "company that made the request"),
    text("company_name", "name of the company that made the request"),
    text("company_wallet_id", "wallet that receives the crypto of an on-ramp",
         _id_of("company_wallet"), "companyWalletId"),
    text("company_wallet_address", "address of that wallet", "company_wallet.address"),
    text("company_wallet_chain", "blockchain network of that wallet", "company_wallet.chain"),
    text("company_bank_account_id", "bank account that receives the fiat of an off-ramp",
         _id_of("company_bank_account"), "companyBankAccountId"),
    text("company_bank_account_iban", "IBAN of that bank account", "company_bank_account.iban"),
    text("deposit_bank_account_id", "bank account to which we pay fiat (deposit account)",
         "deposit_bank_account.id"),
    text("deposit_iban", "IBAN of the deposit account", "deposit_bank_account.iban"),
    text("deposit_bic", "BIC of the deposit account's bank", "deposit_bank_account.bic"),
    text("deposit_beneficiary", "holder of the deposit account",
         "deposit_bank_account.beneficiary"),
    text("deposit_bank_name", "name of the deposit account's bank",
         "deposit_bank_account.bank_name"),
    text("deposit_account_number", "account number, if the account is not SEPA",
         "deposit_bank_account.account_number"),
    text("deposit_sort_code", "sort code, for an account in pounds",
         "deposit_bank_account.sort_code"),
    text("deposit_routing_number", "routing number, for an account in dollars",
         "deposit_bank_account.routing_number"),
    text("deposit_currency", "currency of payments to the deposit account",
         "deposit_bank_account.currency"),
    *_part(
        "deposit",
        "deposit_bank_account",
        bank_account_type=(TEXT, "type of account: EUR_SEPA, GBP_FPS, …"),
        label=(TEXT, "the provider's name for the account"),
        is_active=(BOOL, "true if the account accepts payments; do not pay if false"),
        is_default=(BOOL, "true if the account is the provider's default"),
        version=(INTEGER, "version number, which each change of the account increases"),
        intermediary_bank_name=(TEXT, "name of the intermediary bank"),
        intermediary_bic=(TEXT, "BIC of the intermediary bank"),
        intermediary_account_number=(TEXT, "account number at the intermediary bank"),
        company_name=(TEXT, "company that holds the account"),
        email=(TEXT, "payee's e-mail address"),
        phone_number=(TEXT, "payee's phone number"),
        bank_country=(TEXT, "two-letter code of the bank's country"),
        bank_street_address=(TEXT, "street address of the bank"),
        bank_city=(TEXT, "city of the bank"),
        bank_postal_code=(TEXT, "postal code of the bank"),
        beneficiary_address_line1=(TEXT, "payee's street address, first line"),
        beneficiary_address_line2=(TEXT, "payee's street address, second line"),
        beneficiary_city=(TEXT, "city of the payee's address"),
        beneficiary_state=(TEXT, "state or region of the payee's address"),
        beneficiary_postal_code=(TEXT, "postal code of the payee's address"),
        beneficiary_country=(TEXT, "two-letter country code of the payee's address"),
    ),
    *_part(
        "deposit_wallet",
        "deposit_wallet",
        id=(TEXT, "wallet to which we send crypto (deposit wallet)"),
        address=(TEXT, "address of the deposit wallet"),
        chain=(TEXT, "blockchain network of the deposit wallet"),
        label=(TEXT, "the provider's name for the wallet"),
        is_active=(BOOL, "true if the wallet accepts payments; do not pay if false"),
        is_default=(BOOL, "true if the wallet is the provider's default"),
        version=(INTEGER, "version number, which each change of the wallet increases"),
    ),
    _CREATED,
    text("created_by", "user of the service who created the request",
         lambda f: _event(f, "CREATED").email or _event(f, "CREATED").username or f.listed_by
         or f.value.created_by, "createdBy"),
    instant("approved_at", "time of the approval", lambda f: _event(f, "APPROVED").created_at,
            "events[APPROVED].createdAt"),
    instant("completed_at", "time of completion, which decides the month of the fee",
            lambda f: _event(f, "COMPLETED").created_at, "events[COMPLETED].createdAt"),
    instant(
        "updated_at",
        "time of the last event",
        lambda f: max((e.created_at for e in f.value.events or () if e.created_at), default=None),
        "events[].createdAt",
    ),
    _VERSION,
    flag("has_detail", "false if only the list item is stored", lambda f: f.has_detail),
    title="Requests to exchange fiat for crypto, or crypto for fiat",
    settles=True,
    model=RampRequest,
)  # fmt: skip


class ReceivedEvent(ReceivedRecord, frozen=True, kw_only=True):
    """One event of a ramp request; `place` is its position in the list, from 0."""

    request_id: str
    place: int


def _metadata(record: ReceivedRecord) -> str | None:
    event: RampEvent = record.value
    metadata = bytes(event.metadata).decode() if event.metadata is not None else "null"
    return None if metadata == "null" else metadata


RAMP_REQUEST_EVENTS: Final = form(
    "ramp_request_events",
    "Ramp request",
    text(
        "id",
        "the service's id, or the request's id and the event's position if it has none",
        lambda f: f.value.id or f"{f.request_id}#{f.place}",
        "events[].id",
    ),
    text("ramp_request_id", "the request", lambda f: f.request_id, "id"),
    text("event_type", "type of event: CREATED, APPROVED, …", source="events[].eventType"),
    text("user_id", "id of the user who acted", source="events[].userId"),
    text("username", "login name of the user who acted", source="events[].username"),
    text("email", "e-mail address of the user who acted", source="events[].email"),
    text("role", "role of the user at that time", source="events[].role"),
    instant("created_at", "time of the event", source="events[].createdAt"),
    integer("version", "version of the request after the event", source="events[].version"),
    text("metadata", "details of the event as JSON, as received", _metadata, "events[].metadata"),
    title="Events of ramp requests: what happened, when and by whom",
    model=RampEvent,
)

FEES: Final = form(
    "fees",
    "Endpoints",
    _ID,
    text("company_id", "company for which the fee applies"),
    text("name", "name of the fee tier"),
    text("type", "ON_RAMP or OFF_RAMP"),
    amount(
        "min_volume", "minimum volume; its currency and period are not stated", unit="not stated"
    ),
    amount(
        "max_volume", "maximum volume; its currency and period are not stated", unit="not stated"
    ),
    amount("percentage", "fee in per cent", unit="per cent"),
    _VERSION,
    title="Fee tiers",
    model=Fee,
    source=Whole(lambda client: client.ramp.fees.all()),
)


class ReceivedPair(ReceivedRecord, frozen=True, kw_only=True):
    """A currency pair, and the direction of its list (on-ramp or off-ramp)."""

    ramp_type: str


def _pairs(client: Client) -> Iterator[ReceivedRecord]:
    listed = {"ON_RAMP": client.ramp.on_ramp_pairs, "OFF_RAMP": client.ramp.off_ramp_pairs}
    for ramp_type, pairs in listed.items():
        for record in pairs.all():
            yield ReceivedPair(value=record.value, raw=record.raw, ramp_type=ramp_type)


CURRENCY_PAIRS: Final = form(
    "currency_pairs",
    "Endpoints",
    text("ramp_type", "ON_RAMP or OFF_RAMP", lambda f: f.ramp_type, "the list requested"),
    text("from_id", "id of the currency paid", "source.id", "from.id"),
    text("from_currency", "currency paid", "source.currency", "from.currency"),
    text("from_chain", "blockchain network of that currency", "source.chain", "from.chain"),
    text("from_label", "name of that currency", "source.label", "from.label"),
    text("to_id", "id of the currency received", "target.id", "to.id"),
    text("to_currency", "currency received", "target.currency", "to.currency"),
    text("to_chain", "blockchain network of that currency", "target.chain", "to.chain"),
    text("to_label", "name of that currency", "target.label", "to.label"),
    key=("ramp_type", "from_id", "to_id"),
    title="Currency pairs that can be exchanged",
    model=CurrencyPair,
    source=Whole(_pairs),
)

FIAT_CURRENCIES: Final = form(
    "fiat_currencies",
    "Endpoints",
    _ID,
    text("currency", "ISO code"),
    text("label", "name of the currency"),
    flag("enabled", "true if the currency can be used"),
    _VERSION,
    title="Fiat currencies of the ramp service",
    model=FiatCurrency,
    source=Whole(lambda client: client.ramp.fiat_currencies.all()),
)

CRYPTO_CURRENCIES: Final = form(
    "crypto_currencies",
    "Endpoints",
    _ID,
    text("currency", "code of the coin"),
    text("chain", "blockchain network; a coin has one row for each"),
    text("label", "name of the coin"),
    text("coingecko_id", "name of the coin in CoinGecko's public price list"),
    flag("enabled", "true if the coin can be used"),
    _VERSION,
    title="Cryptocurrencies of the ramp service, by network",
    model=CryptoCurrency,
    source=Whole(lambda client: client.ramp.crypto_currencies.all()),
)

CHAINS: Final = form(
    "chains",
    "Endpoints",
    text("name", "name of the network"),
    key=("name",),
    title="Blockchain networks of the ramp service",
    source=Whole(lambda client: client.ramp.chains.all()),
)

BANK_ACCOUNT_CONFIG: Final = form(
    "bank_account_config",
    "Endpoints",
    text("kind", "account_type, country or currency"),
    text("code", "code of the account type, country or currency"),
    text("name", "name of the account type, country or currency"),
    key=("kind", "code"),
    title="Allowed values for a company bank account",
    source=Whole(lambda client: client.ramp.bank_config.all()),
)

COMPANY: Final = form(
    "company",
    "Company and company users",
    _ID,
    text("name", "registered name"),
    text("kyb_status", "VERIFIED is needed for ramp requests"),
    text("invoices_url", "address of the provider's invoices"),
    text("sequence_customer_id", "the provider's customer number"),
    _CREATED,
    title="The company of the credential",
    model=Company,
    source=Whole(lambda client: [client.ramp.company.get()]),
)

COMPANY_USERS: Final = form(
    "company_users",
    "Company and company users",
    _ID,
    text("username", "login name"),
    text("email", "e-mail address"),
    text("first_name", "first name"),
    text("last_name", "last name"),
    flag("enabled", "true if the user may sign in"),
    text("role", "COMPANY_ADMIN, COMPANY_MANAGER, COMPANY_VIEWER"),
    text("invitation_status", "PENDING, ACCEPTED"),
    title="Users of the company; the link of an invitation is not stored",
    model=CompanyUser,
    source=Whole(lambda client: client.ramp.users.all()),
)

COMPANY_BANK_ACCOUNTS: Final = form(
    "company_bank_accounts",
    "Company bank account",
    _ID,
    text("company_id", "the company"),
    text("name", "name, as the company set it"),
    text("bank_name", "name of the bank"),
    text("company_name", "holder of the account"),
    text("email", "contact e-mail address"),
    text("phone_number", "contact phone number"),
    text("bank_country", "two-letter country code of the bank"),
    *(
        text(f"beneficiary_{part}", "part of the holder's address")
        for part in ("address_line1", "address_line2", "city", "state", "postal_code")
    ),
    text("beneficiary_country", "two-letter country code of the holder's address"),
    text("bank_account_type", "type of account: EUR_SEPA, GBP_FPS, …"),
    text("supported_ramp_type", "ON_RAMP, OFF_RAMP or both"),
    text("verification_status", "PENDING, VERIFIED, DENIED"),
    instant("verified_at", "when it was verified"),
    text("iban", "IBAN of a SEPA account"),
    text("bic", "BIC of the bank"),
    text("intermediary_bic", "BIC of the intermediary bank"),
    text("account_number", "account number, if the account is not SEPA"),
    text("sort_code", "sort code, for an account in pounds"),
    text("routing_number", "routing number, for an account in dollars"),
    text("currency", "currency of the account, if its type does not state it"),
    text("intermediary_bank_name", "name of the intermediary bank"),
    text("intermediary_account_number", "account number at the intermediary bank"),
    text("bank_street_address", "street address of the bank"),
    text("bank_city", "city of the bank"),
    text("bank_postal_code", "postal code of the bank"),
    _CREATED,
    _UPDATED,
    _VERSION,
    title="Bank accounts that the company registered",
    model=CompanyBankAccount,
    source=Whole(
        lambda client: client.ramp.bank_accounts.iterate(),
        detail=lambda client, account: client.ramp.bank_accounts.get(account),
    ),
)

COMPANY_WALLETS: Final = form(
    "company_wallets",
    "Company wallet",
    _ID,
    text("company_id", "the company"),
    text("description", "description, as the company set it"),
    text("address", "address on the blockchain"),
    text("chain", "blockchain network"),
    text("verification_status", "PENDING, VERIFIED, DENIED"),
    instant("verified_at", "when it was verified"),
    _CREATED,
    _UPDATED,
    _VERSION,
    title="Wallets that the company registered; the service does not report their balances",
    model=CompanyWallet,
    source=Whole(
        lambda client: client.ramp.wallets.iterate(),
        detail=lambda client, wallet: client.ramp.wallets.get(wallet),
    ),
)

RAMP: Final = forms(globals())
