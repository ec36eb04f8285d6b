"""The tables of the ramp service: one declaration each, its columns in the order people read.

A declaration is all it takes: what is asked for, the key, what stays open, the columns.
Sources name the headings of the ramp service's specification. `amount` of a ramp request is fiat
gross on-ramp and crypto gross off-ramp; the columns whose names say what they hold are the ones to
use. Rates are fiat per crypto, percentages are per cent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
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
from treasury.extract.record_rows import Field, ReceivedRecord, form, forms
from treasury.extract.record_sources import Whole, whole
from treasury.lake import AMOUNT, BOOL, INSTANT, INTEGER, TEXT

if TYPE_CHECKING:
    from treasury.api import Client

__all__ = [
    "BANK_ACCOUNT_CONFIG",
    "CHAINS",
    "COMPANY",
    "COMPANY_BANK_ACCOUNTS",
    "COMPANY_USERS",
    "COMPANY_WALLETS",
    "CRYPTO_CURRENCIES",
    "CURRENCY_PAIRS",
    "FEES",
    "FIAT_CURRENCIES",
    "RAMP",
    "RAMP_FINAL",
    "RAMP_KNOWN",
    "RAMP_REQUESTS",
    "RAMP_REQUEST_EVENTS",
    "ReceivedEvent",
    "ReceivedPair",
    "ReceivedRequest",
]

RAMP_FINAL: Final = frozenset({"SUCCEEDED", "CANCELLED", "REJECTED", "DENIED", "FAILED"})
RAMP_KNOWN: Final = RAMP_FINAL | {"AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING", "BLOCKED"}
"""BLOCKED is held and may go on; any other status counts as open, and is reported."""

_ID = Field("id", TEXT, "id", "the service's id")
_CREATED = Field("created_at", INSTANT, "created_at", "when the service created it")
_UPDATED = Field("updated_at", INSTANT, "updated_at", "when the service last changed it")
_VERSION = Field("version", INTEGER, "version", "counter that every change raises")


class ReceivedRequest(ReceivedRecord, frozen=True, kw_only=True):
    """A ramp request as detail, or as list item where the detail could not be had."""

    has_detail: bool
    listed_by: str | None = None
    """`createdBy` of the list item; a detail says it in its first event only."""


def _fiat(record: ReceivedRecord) -> FiatCurrency:
    """The fiat currency, whether it came as an object, as a code, or beside it as an id."""
    request: RampRequest = record.value
    if isinstance(request.fiat_currency, FiatCurrency):
        return request.fiat_currency
    return FiatCurrency(id=request.fiat_currency_id or "", currency=request.fiat_currency)


def _crypto(record: ReceivedRecord) -> CryptoCurrency:
    request: RampRequest = record.value
    if isinstance(request.crypto_currency, CryptoCurrency):
        return request.crypto_currency
    return CryptoCurrency(id=request.crypto_currency_id or "", currency=request.crypto_currency)


def _wallet_id(record: ReceivedRecord) -> str | None:
    request: RampRequest = record.value
    wallet = request.company_wallet
    return request.company_wallet_id or (None if wallet is None else wallet.id)


def _bank_account_id(record: ReceivedRecord) -> str | None:
    request: RampRequest = record.value
    account = request.company_bank_account
    return request.company_bank_account_id or (None if account is None else account.id)


def _event(record: ReceivedRecord, *kinds: str) -> RampEvent:
    request: RampRequest = record.value
    return request.event(*kinds) or RampEvent()


def _creator(record: ReceivedRequest) -> str | None:
    event = _event(record, "CREATED")
    return event.email or event.username or record.listed_by or record.value.created_by


def _last_change(record: ReceivedRecord) -> datetime | None:
    request: RampRequest = record.value
    times = [event.created_at for event in request.events or () if event.created_at is not None]
    return max(times, default=None)


def _deposit_fields(**fields: tuple[pa.DataType, str]) -> Iterator[Field]:
    """The columns of a deposit bank account, each named after its field."""
    for name, (kind, meaning) in fields.items():
        yield Field(f"deposit_{name}", kind, f"deposit_bank_account.{name}", meaning)


RAMP_REQUESTS: Final = form(
    "ramp_requests",
    "Ramp request",
    _ID,
    Field("payment_reference", TEXT, "payment_reference", "what the payment must carry"),
    Field("ramp_type", TEXT, "ramp_type", "ON_RAMP (fiat to crypto) or OFF_RAMP"),
    Field("status", TEXT, "status", "AWAITING_APPROVAL … SUCCEEDED"),
    Field(
        "is_open",
        BOOL,
        lambda record: record.value.status not in RAMP_FINAL,
        "whether it may still change; BLOCKED is held and counts as open",
        "status",
    ),
    Field(
        "amount",
        AMOUNT,
        "amount",
        "fiat gross on-ramp, crypto gross off-ramp: never show bare",
        unit="`fiat_currency` on-ramp, `crypto_currency` off-ramp",
    ),
    Field(
        "net_amount",
        AMOUNT,
        "net_amount",
        "after the fee, in the unit of `amount`; use the columns that name theirs",
        unit="that of `amount`",
    ),
    Field("fiat_currency", TEXT, lambda f: _fiat(f).currency, "of fiat amounts", "fiatCurrency"),
    Field("fiat_currency_id", TEXT, lambda f: _fiat(f).id or None, "its id", "fiatCurrencyId"),
    Field(
        "fiat_amount", AMOUNT, "fiat_amount", "gross, in `fiat_currency`", unit="`fiat_currency`"
    ),
    Field(
        "fiat_net_amount",
        AMOUNT,
        "fiat_net_amount",
        "after the fee, in `fiat_currency`",
        unit="`fiat_currency`",
    ),
    Field(
        "fiat_fee_amount",
        AMOUNT,
        "fiat_fee_amount",
        "the fee, in `fiat_currency`",
        unit="`fiat_currency`",
    ),
    Field("crypto_currency", TEXT, lambda f: _crypto(f).currency, "the coin", "cryptoCurrency"),
    Field(
        "crypto_currency_id", TEXT, lambda f: _crypto(f).id or None, "its id", "cryptoCurrencyId"
    ),
    Field("crypto_chain", TEXT, lambda f: _crypto(f).chain, "its network", "cryptoCurrency.chain"),
    Field(
        "crypto_amount",
        AMOUNT,
        "crypto_amount",
        "units of `crypto_currency`",
        unit="`crypto_currency`",
    ),
    Field(
        "exchange_rate",
        AMOUNT,
        "exchange_rate",
        "fiat per crypto",
        unit="`fiat_currency` per `crypto_currency`",
    ),
    Field("fee_percentage", AMOUNT, "fee_percentage", "per cent", unit="per cent"),
    Field("payment_received", BOOL, "payment_received", "whether the service saw the payment"),
    Field(
        "amount_received",
        AMOUNT,
        "amount_received",
        "in the unit of `amount`",
        unit="that of `amount`",
    ),
    Field("blockchain_transaction_hash", TEXT, "blockchain_transaction_hash", "the crypto payment"),
    Field("company_id", TEXT, "company_id", "whose request it is"),
    Field("company_name", TEXT, "company_name", "whose request it is"),
    Field("company_wallet_id", TEXT, _wallet_id, "where crypto goes on-ramp", "companyWalletId"),
    Field("company_wallet_address", TEXT, "company_wallet.address", "its address"),
    Field("company_wallet_chain", TEXT, "company_wallet.chain", "its network"),
    Field(
        "company_bank_account_id",
        TEXT,
        _bank_account_id,
        "where fiat goes off-ramp",
        "companyBankAccountId",
    ),
    Field("company_bank_account_iban", TEXT, "company_bank_account.iban", "its IBAN"),
    Field("deposit_bank_account_id", TEXT, "deposit_bank_account.id", "where we send fiat"),
    Field("deposit_iban", TEXT, "deposit_bank_account.iban", "its IBAN"),
    Field("deposit_bic", TEXT, "deposit_bank_account.bic", "its bank's code"),
    Field("deposit_beneficiary", TEXT, "deposit_bank_account.beneficiary", "whom we pay"),
    Field("deposit_bank_name", TEXT, "deposit_bank_account.bank_name", "its bank"),
    Field("deposit_account_number", TEXT, "deposit_bank_account.account_number", "not SEPA"),
    Field("deposit_sort_code", TEXT, "deposit_bank_account.sort_code", "in pounds"),
    Field("deposit_routing_number", TEXT, "deposit_bank_account.routing_number", "in dollars"),
    Field("deposit_currency", TEXT, "deposit_bank_account.currency", "what is paid there"),
    *_deposit_fields(
        bank_account_type=(TEXT, "EUR_SEPA, GBP_FPS, …"),
        label=(TEXT, "the provider's name for it"),
        is_active=(BOOL, "whether it may be paid to; never where false"),
        is_default=(BOOL, "whether the provider gives it by default"),
        version=(INTEGER, "counter that every change of it raises"),
        intermediary_bank_name=(TEXT, "the bank before its own"),
        intermediary_bic=(TEXT, "of the bank before its own"),
        intermediary_account_number=(TEXT, "at the bank before its own"),
        company_name=(TEXT, "whose account it is"),
        email=(TEXT, "of whom we pay"),
        phone_number=(TEXT, "of whom we pay"),
        bank_country=(TEXT, "of its bank, two-letter code"),
        bank_street_address=(TEXT, "of its bank"),
        bank_city=(TEXT, "of its bank"),
        bank_postal_code=(TEXT, "of its bank"),
        beneficiary_address_line1=(TEXT, "of whom we pay"),
        beneficiary_address_line2=(TEXT, "of whom we pay"),
        beneficiary_city=(TEXT, "of whom we pay"),
        beneficiary_state=(TEXT, "of whom we pay"),
        beneficiary_postal_code=(TEXT, "of whom we pay"),
        beneficiary_country=(TEXT, "of whom we pay, two-letter code"),
    ),
    Field("deposit_wallet_id", TEXT, "deposit_wallet.id", "where we send crypto"),
    Field("deposit_wallet_address", TEXT, "deposit_wallet.address", "its address"),
    Field("deposit_wallet_chain", TEXT, "deposit_wallet.chain", "its network"),
    Field("deposit_wallet_label", TEXT, "deposit_wallet.label", "the provider's name for it"),
    Field(
        "deposit_wallet_is_active",
        BOOL,
        "deposit_wallet.is_active",
        "whether it may be paid to; never where false",
    ),
    Field(
        "deposit_wallet_is_default",
        BOOL,
        "deposit_wallet.is_default",
        "whether the provider gives it by default",
    ),
    Field(
        "deposit_wallet_version",
        INTEGER,
        "deposit_wallet.version",
        "counter that every change of it raises",
    ),
    _CREATED,
    Field("created_by", TEXT, _creator, "the service's user who asked for it", "createdBy"),
    Field(
        "approved_at",
        INSTANT,
        lambda f: _event(f, "APPROVED").created_at,
        "time of the approval",
        "events[APPROVED].createdAt",
    ),
    Field(
        "completed_at",
        INSTANT,
        lambda f: _event(f, "COMPLETED").created_at,
        "time of completion: the month of the fee",
        "events[COMPLETED].createdAt",
    ),
    Field("updated_at", INSTANT, _last_change, "time of the last event", "events[].createdAt"),
    _VERSION,
    Field("has_detail", BOOL, lambda f: f.has_detail, "false: known from the list only"),
    title="Requests that exchange fiat for crypto or back",
    settles=True,
    model=RampRequest,
)


class ReceivedEvent(ReceivedRecord, frozen=True, kw_only=True):
    """One event of a ramp request, `place` counted from 0."""

    request_id: str
    place: int


def _metadata(record: ReceivedRecord) -> str | None:
    event: RampEvent = record.value
    text = bytes(event.metadata).decode() if event.metadata is not None else "null"
    return None if text == "null" else text


RAMP_REQUEST_EVENTS: Final = form(
    "ramp_request_events",
    "Ramp request",
    Field(
        "id",
        TEXT,
        lambda f: f.value.id or f"{f.request_id}#{f.place}",
        "the service's id; request and place where it gives none",
        "events[].id",
    ),
    Field("ramp_request_id", TEXT, lambda f: f.request_id, "the request", "id"),
    Field("event_type", TEXT, "event_type", "CREATED, APPROVED, …", "events[].eventType"),
    Field("user_id", TEXT, "user_id", "the service's user", "events[].userId"),
    Field("username", TEXT, "username", "the service's user", "events[].username"),
    Field("email", TEXT, "email", "the service's user", "events[].email"),
    Field("role", TEXT, "role", "that the user had", "events[].role"),
    Field("created_at", INSTANT, "created_at", "when it happened", "events[].createdAt"),
    Field("version", INTEGER, "version", "of the request after it", "events[].version"),
    Field("metadata", TEXT, _metadata, "JSON, as received", "events[].metadata"),
    title="What happened to each ramp request, by whom",
    model=RampEvent,
)

FEES: Final = form(
    "fees",
    "Endpoints",
    _ID,
    Field("company_id", TEXT, "company_id", "the company it is for"),
    Field("name", TEXT, "name", "of the tier"),
    Field("type", TEXT, "type", "ON_RAMP or OFF_RAMP"),
    Field(
        "min_volume",
        AMOUNT,
        "min_volume",
        "from; currency and period are not stated",
        unit="not stated",
    ),
    Field(
        "max_volume",
        AMOUNT,
        "max_volume",
        "to; currency and period are not stated",
        unit="not stated",
    ),
    Field("percentage", AMOUNT, "percentage", "per cent", unit="per cent"),
    _VERSION,
    title="Fee tiers",
    model=Fee,
    source=whole(lambda client: client.ramp.fees.all()),
)


class ReceivedPair(ReceivedRecord, frozen=True, kw_only=True):
    """A currency pair and the direction that it was listed for."""

    ramp_type: str


def _pairs(client: Client) -> Iterator[ReceivedRecord]:
    listed = {"ON_RAMP": client.ramp.on_ramp_pairs, "OFF_RAMP": client.ramp.off_ramp_pairs}
    for ramp_type, pairs in listed.items():
        for record in pairs.all():
            yield ReceivedPair(value=record.value, raw=record.raw, ramp_type=ramp_type)


CURRENCY_PAIRS: Final = form(
    "currency_pairs",
    "Endpoints",
    Field("ramp_type", TEXT, lambda f: f.ramp_type, "ON_RAMP or OFF_RAMP", "the list asked"),
    Field("from_id", TEXT, "source.id", "id of the currency given", "from.id"),
    Field("from_currency", TEXT, "source.currency", "the currency given", "from.currency"),
    Field("from_chain", TEXT, "source.chain", "its network", "from.chain"),
    Field("from_label", TEXT, "source.label", "its name", "from.label"),
    Field("to_id", TEXT, "target.id", "id of the currency received", "to.id"),
    Field("to_currency", TEXT, "target.currency", "the currency received", "to.currency"),
    Field("to_chain", TEXT, "target.chain", "its network", "to.chain"),
    Field("to_label", TEXT, "target.label", "its name", "to.label"),
    key=("ramp_type", "from_id", "to_id"),
    title="What can be exchanged for what",
    model=CurrencyPair,
    source=Whole(_pairs),
)

FIAT_CURRENCIES: Final = form(
    "fiat_currencies",
    "Endpoints",
    _ID,
    Field("currency", TEXT, "currency", "ISO code"),
    Field("label", TEXT, "label", "name"),
    Field("enabled", BOOL, "enabled", "whether it can be used"),
    _VERSION,
    title="Fiat currencies of the ramp service",
    model=FiatCurrency,
    source=whole(lambda client: client.ramp.fiat_currencies.all()),
)

CRYPTO_CURRENCIES: Final = form(
    "crypto_currencies",
    "Endpoints",
    _ID,
    Field("currency", TEXT, "currency", "the coin"),
    Field("chain", TEXT, "chain", "its network; one id for each"),
    Field("label", TEXT, "label", "name"),
    Field("coingecko_id", TEXT, "coingecko_id", "its name in a public price list"),
    Field("enabled", BOOL, "enabled", "whether it can be used"),
    _VERSION,
    title="Cryptocurrencies of the ramp service, by network",
    model=CryptoCurrency,
    source=whole(lambda client: client.ramp.crypto_currencies.all()),
)

CHAINS: Final = form(
    "chains",
    "Endpoints",
    Field("name", TEXT, "name", "of the network"),
    key=("name",),
    title="Blockchain networks of the ramp service",
    source=whole(lambda client: client.ramp.chains.all()),
)

BANK_ACCOUNT_CONFIG: Final = form(
    "bank_account_config",
    "Endpoints",
    Field("kind", TEXT, "kind", "account_type, country or currency"),
    Field("code", TEXT, "code", "its code"),
    Field("name", TEXT, "name", "its name"),
    key=("kind", "code"),
    title="What a company bank account may be",
    source=whole(lambda client: client.ramp.bank_config.all()),
)

COMPANY: Final = form(
    "company",
    "Company and company users",
    _ID,
    Field("name", TEXT, "name", "registered name"),
    Field("kyb_status", TEXT, "kyb_status", "VERIFIED is needed for ramp requests"),
    Field("invoices_url", TEXT, "invoices_url", "where the provider's invoices are"),
    Field("sequence_customer_id", TEXT, "sequence_customer_id", "the provider's customer number"),
    _CREATED,
    title="The company of the credential",
    model=Company,
    source=whole(lambda client: [client.ramp.company.get()]),
)

COMPANY_USERS: Final = form(
    "company_users",
    "Company and company users",
    _ID,
    Field("username", TEXT, "username", "login name"),
    Field("email", TEXT, "email", "address"),
    Field("first_name", TEXT, "first_name", "of the person"),
    Field("last_name", TEXT, "last_name", "of the person"),
    Field("enabled", BOOL, "enabled", "whether the user may sign in"),
    Field("role", TEXT, "role", "COMPANY_ADMIN, COMPANY_MANAGER, COMPANY_VIEWER"),
    Field("invitation_status", TEXT, "invitation_status", "PENDING, ACCEPTED"),
    title="Users of the company; the link of an invitation is not kept",
    model=CompanyUser,
    source=whole(lambda client: client.ramp.users.all()),
)

COMPANY_BANK_ACCOUNTS: Final = form(
    "company_bank_accounts",
    "Company bank account",
    _ID,
    Field("company_id", TEXT, "company_id", "the company"),
    Field("name", TEXT, "name", "as given"),
    Field("bank_name", TEXT, "bank_name", "its bank"),
    Field("company_name", TEXT, "company_name", "holder"),
    Field("email", TEXT, "email", "whom the service writes to about it"),
    Field("phone_number", TEXT, "phone_number", "whom the service calls about it"),
    Field("bank_country", TEXT, "bank_country", "two-letter code"),
    *(
        Field(f"beneficiary_{part}", TEXT, f"beneficiary_{part}", meaning)
        for part, meaning in (
            ("address_line1", "of the holder's address"),
            ("address_line2", "of the holder's address"),
            ("city", "of the holder's address"),
            ("state", "of the holder's address"),
            ("postal_code", "of the holder's address"),
            ("country", "of the holder's address, two-letter code"),
        )
    ),
    Field("bank_account_type", TEXT, "bank_account_type", "EUR_SEPA, GBP_FPS, …"),
    Field("supported_ramp_type", TEXT, "supported_ramp_type", "ON_RAMP, OFF_RAMP or both"),
    Field("verification_status", TEXT, "verification_status", "PENDING, VERIFIED, DENIED"),
    Field("verified_at", INSTANT, "verified_at", "when it was verified"),
    Field("iban", TEXT, "iban", "of SEPA accounts"),
    Field("bic", TEXT, "bic", "of its bank"),
    Field("intermediary_bic", TEXT, "intermediary_bic", "of the bank before it"),
    Field("account_number", TEXT, "account_number", "not SEPA"),
    Field("sort_code", TEXT, "sort_code", "in pounds"),
    Field("routing_number", TEXT, "routing_number", "in dollars"),
    Field("currency", TEXT, "currency", "of accounts in other currencies"),
    Field("intermediary_bank_name", TEXT, "intermediary_bank_name", "the bank before it"),
    Field(
        "intermediary_account_number",
        TEXT,
        "intermediary_account_number",
        "at the bank before it",
    ),
    Field("bank_street_address", TEXT, "bank_street_address", "of its bank"),
    Field("bank_city", TEXT, "bank_city", "of its bank"),
    Field("bank_postal_code", TEXT, "bank_postal_code", "of its bank"),
    _CREATED,
    _UPDATED,
    _VERSION,
    title="Bank accounts that the company registered",
    model=CompanyBankAccount,
    source=whole(
        lambda client: client.ramp.bank_accounts.iterate(),
        detail=lambda client, account: client.ramp.bank_accounts.get(account),
    ),
)

COMPANY_WALLETS: Final = form(
    "company_wallets",
    "Company wallet",
    _ID,
    Field("company_id", TEXT, "company_id", "the company"),
    Field("description", TEXT, "description", "as given"),
    Field("address", TEXT, "address", "on the chain"),
    Field("chain", TEXT, "chain", "blockchain network"),
    Field("verification_status", TEXT, "verification_status", "PENDING, VERIFIED, DENIED"),
    Field("verified_at", INSTANT, "verified_at", "when it was verified"),
    _CREATED,
    _UPDATED,
    _VERSION,
    title="Wallets that the company registered; the service shows no balance of them",
    model=CompanyWallet,
    source=whole(
        lambda client: client.ramp.wallets.iterate(),
        detail=lambda client, wallet: client.ramp.wallets.get(wallet),
    ),
)

RAMP: Final = forms(globals())
