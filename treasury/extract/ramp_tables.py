"""The tables of the ramp service: one declaration each, its columns in reading order.

A declaration holds everything about a table: the endpoint, the key, the rows that stay open and the
columns. Sources name the headings of the ramp service's specification. `amount` of a ramp request
is gross fiat on-ramp and gross crypto off-ramp; use the columns that name their unit instead. Rates
are fiat per crypto, percentages are per cent.
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
_VERSION = integer("version", "counter that every change raises")


class ReceivedRequest(ReceivedRecord, frozen=True, kw_only=True):
    """A ramp request from its detail, or from the list if the detail could not be fetched."""

    has_detail: bool
    listed_by: str | None = None
    """`createdBy` of the list item; a detail has it only in its first event."""


def _fiat(record: ReceivedRecord) -> FiatCurrency:
    """Return the fiat currency, given as an object, a code or an id."""
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
    """Return a function that reads a nested record's id, from its id field or from the record."""
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
    text("payment_reference", "reference that the payment must carry"),
    text("ramp_type", "ON_RAMP (fiat to crypto) or OFF_RAMP"),
    text("status", "AWAITING_APPROVAL … SUCCEEDED"),
    flag("is_open", "whether it may still change; BLOCKED is on hold and counts as open",
         lambda f: f.value.status not in REQUEST_FINAL, "status"),
    amount("amount", "fiat gross on-ramp, crypto gross off-ramp: never show bare",
           unit="`fiat_currency` on-ramp, `crypto_currency` off-ramp"),
    amount("net_amount", "after the fee, in the unit of `amount`; prefer columns with a named unit",
           unit="that of `amount`"),
    text("fiat_currency", "of fiat amounts", lambda f: _fiat(f).currency, "fiatCurrency"),
    text("fiat_currency_id", "its id", lambda f: _fiat(f).id or None, "fiatCurrencyId"),
    amount("fiat_amount", "gross, in `fiat_currency`", unit="`fiat_currency`"),
    amount("fiat_net_amount", "after the fee, in `fiat_currency`", unit="`fiat_currency`"),
    amount("fiat_fee_amount", "the fee, in `fiat_currency`", unit="`fiat_currency`"),
    text("crypto_currency", "the coin", lambda f: _crypto(f).currency, "cryptoCurrency"),
    text("crypto_currency_id", "its id", lambda f: _crypto(f).id or None, "cryptoCurrencyId"),
    text("crypto_chain", "its network", lambda f: _crypto(f).chain, "cryptoCurrency.chain"),
    amount("crypto_amount", "units of `crypto_currency`", unit="`crypto_currency`"),
    amount("exchange_rate", "fiat per crypto", unit="`fiat_currency` per `crypto_currency`"),
    amount("fee_percentage", "per cent", unit="per cent"),
    flag("payment_received", "whether the service saw the payment"),
    amount("amount_received", "in the unit of `amount`", unit="that of `amount`"),
    text("blockchain_transaction_hash", "the crypto payment"),
    text("company_id", "company that made the request"),
    text("company_name", "name of that company"),
    text("company_wallet_id", "wallet that receives crypto on-ramp", _id_of("company_wallet"),
         "companyWalletId"),
    text("company_wallet_address", "its address", "company_wallet.address"),
    text("company_wallet_chain", "its network", "company_wallet.chain"),
    text("company_bank_account_id", "bank account that receives fiat off-ramp",
         _id_of("company_bank_account"), "companyBankAccountId"),
    text("company_bank_account_iban", "its IBAN", "company_bank_account.iban"),
    text("deposit_bank_account_id", "bank account that we send fiat to", "deposit_bank_account.id"),
    text("deposit_iban", "its IBAN", "deposit_bank_account.iban"),
    text("deposit_bic", "its bank's code", "deposit_bank_account.bic"),
    text("deposit_beneficiary", "the payee", "deposit_bank_account.beneficiary"),
    text("deposit_bank_name", "name of its bank", "deposit_bank_account.bank_name"),
    text("deposit_account_number", "not SEPA", "deposit_bank_account.account_number"),
    text("deposit_sort_code", "in pounds", "deposit_bank_account.sort_code"),
    text("deposit_routing_number", "in dollars", "deposit_bank_account.routing_number"),
    text("deposit_currency", "currency of payments to it", "deposit_bank_account.currency"),
    *_part(
        "deposit",
        "deposit_bank_account",
        bank_account_type=(TEXT, "EUR_SEPA, GBP_FPS, …"),
        label=(TEXT, "the provider's name for it"),
        is_active=(BOOL, "whether it accepts payments; do not pay if false"),
        is_default=(BOOL, "whether it is the provider's default"),
        version=(INTEGER, "counter that every change of the account raises"),
        intermediary_bank_name=(TEXT, "the bank before its own"),
        intermediary_bic=(TEXT, "of the bank before its own"),
        intermediary_account_number=(TEXT, "at the bank before its own"),
        company_name=(TEXT, "company that holds the account"),
        email=(TEXT, "payee's e-mail address"),
        phone_number=(TEXT, "payee's phone number"),
        bank_country=(TEXT, "two-letter code of the bank's country"),
        bank_street_address=(TEXT, "of its bank"),
        bank_city=(TEXT, "of its bank"),
        bank_postal_code=(TEXT, "of its bank"),
        beneficiary_address_line1=(TEXT, "payee's address"),
        beneficiary_address_line2=(TEXT, "payee's address"),
        beneficiary_city=(TEXT, "payee's address"),
        beneficiary_state=(TEXT, "payee's address"),
        beneficiary_postal_code=(TEXT, "payee's address"),
        beneficiary_country=(TEXT, "payee's address, two-letter code"),
    ),
    *_part(
        "deposit_wallet",
        "deposit_wallet",
        id=(TEXT, "wallet that we send crypto to"),
        address=(TEXT, "its address"),
        chain=(TEXT, "its network"),
        label=(TEXT, "the provider's name for it"),
        is_active=(BOOL, "whether it accepts payments; do not pay if false"),
        is_default=(BOOL, "whether it is the provider's default"),
        version=(INTEGER, "counter that every change of the account raises"),
    ),
    _CREATED,
    text("created_by", "the service's user who created it",
         lambda f: _event(f, "CREATED").email or _event(f, "CREATED").username or f.listed_by
         or f.value.created_by, "createdBy"),
    instant("approved_at", "time of the approval", lambda f: _event(f, "APPROVED").created_at,
            "events[APPROVED].createdAt"),
    instant("completed_at", "time of completion; decides the month of the fee",
            lambda f: _event(f, "COMPLETED").created_at, "events[COMPLETED].createdAt"),
    instant(
        "updated_at",
        "time of the last event",
        lambda f: max((e.created_at for e in f.value.events or () if e.created_at), default=None),
        "events[].createdAt",
    ),
    _VERSION,
    flag("has_detail", "false if only the list item is stored", lambda f: f.has_detail),
    title="Requests that exchange fiat for crypto or back",
    settles=True,
    model=RampRequest,
)  # fmt: skip


class ReceivedEvent(ReceivedRecord, frozen=True, kw_only=True):
    """One event of a ramp request; `place` counts from 0."""

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
        "the service's id; request and place if it has none",
        lambda f: f.value.id or f"{f.request_id}#{f.place}",
        "events[].id",
    ),
    text("ramp_request_id", "the request", lambda f: f.request_id, "id"),
    text("event_type", "CREATED, APPROVED, …", source="events[].eventType"),
    text("user_id", "the service's user", source="events[].userId"),
    text("username", "the service's user", source="events[].username"),
    text("email", "the service's user", source="events[].email"),
    text("role", "the user's role then", source="events[].role"),
    instant("created_at", "when it happened", source="events[].createdAt"),
    integer("version", "of the request after it", source="events[].version"),
    text("metadata", "JSON, as received", _metadata, "events[].metadata"),
    title="What happened to each ramp request, by whom",
    model=RampEvent,
)

FEES: Final = form(
    "fees",
    "Endpoints",
    _ID,
    text("company_id", "the company it is for"),
    text("name", "of the tier"),
    text("type", "ON_RAMP or OFF_RAMP"),
    amount("min_volume", "from; currency and period are not stated", unit="not stated"),
    amount("max_volume", "to; currency and period are not stated", unit="not stated"),
    amount("percentage", "per cent", unit="per cent"),
    _VERSION,
    title="Fee tiers",
    model=Fee,
    source=Whole(lambda client: client.ramp.fees.all()),
)


class ReceivedPair(ReceivedRecord, frozen=True, kw_only=True):
    """A currency pair and the direction it was listed for."""

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
    text("from_id", "id of the currency given", "source.id", "from.id"),
    text("from_currency", "the currency given", "source.currency", "from.currency"),
    text("from_chain", "its network", "source.chain", "from.chain"),
    text("from_label", "its name", "source.label", "from.label"),
    text("to_id", "id of the currency received", "target.id", "to.id"),
    text("to_currency", "the currency received", "target.currency", "to.currency"),
    text("to_chain", "its network", "target.chain", "to.chain"),
    text("to_label", "its name", "target.label", "to.label"),
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
    text("label", "name"),
    flag("enabled", "whether it can be used"),
    _VERSION,
    title="Fiat currencies of the ramp service",
    model=FiatCurrency,
    source=Whole(lambda client: client.ramp.fiat_currencies.all()),
)

CRYPTO_CURRENCIES: Final = form(
    "crypto_currencies",
    "Endpoints",
    _ID,
    text("currency", "the coin"),
    text("chain", "its network; one id for each"),
    text("label", "name"),
    text("coingecko_id", "its name in a public price list"),
    flag("enabled", "whether it can be used"),
    _VERSION,
    title="Cryptocurrencies of the ramp service, by network",
    model=CryptoCurrency,
    source=Whole(lambda client: client.ramp.crypto_currencies.all()),
)

CHAINS: Final = form(
    "chains",
    "Endpoints",
    text("name", "of the network"),
    key=("name",),
    title="Blockchain networks of the ramp service",
    source=Whole(lambda client: client.ramp.chains.all()),
)

BANK_ACCOUNT_CONFIG: Final = form(
    "bank_account_config",
    "Endpoints",
    text("kind", "account_type, country or currency"),
    text("code", "its code"),
    text("name", "its name"),
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
    text("invoices_url", "where the provider's invoices are"),
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
    text("email", "address"),
    text("first_name", "of the person"),
    text("last_name", "of the person"),
    flag("enabled", "whether the user may sign in"),
    text("role", "COMPANY_ADMIN, COMPANY_MANAGER, COMPANY_VIEWER"),
    text("invitation_status", "PENDING, ACCEPTED"),
    title="Users of the company; the link of an invitation is not kept",
    model=CompanyUser,
    source=Whole(lambda client: client.ramp.users.all()),
)

COMPANY_BANK_ACCOUNTS: Final = form(
    "company_bank_accounts",
    "Company bank account",
    _ID,
    text("company_id", "the company"),
    text("name", "as given"),
    text("bank_name", "its bank"),
    text("company_name", "holder"),
    text("email", "contact e-mail address"),
    text("phone_number", "contact phone number"),
    text("bank_country", "two-letter code"),
    *(
        text(f"beneficiary_{part}", "of the holder's address")
        for part in ("address_line1", "address_line2", "city", "state", "postal_code")
    ),
    text("beneficiary_country", "of the holder's address, two-letter code"),
    text("bank_account_type", "EUR_SEPA, GBP_FPS, …"),
    text("supported_ramp_type", "ON_RAMP, OFF_RAMP or both"),
    text("verification_status", "PENDING, VERIFIED, DENIED"),
    instant("verified_at", "when it was verified"),
    text("iban", "of SEPA accounts"),
    text("bic", "of its bank"),
    text("intermediary_bic", "of the bank before it"),
    text("account_number", "not SEPA"),
    text("sort_code", "in pounds"),
    text("routing_number", "in dollars"),
    text("currency", "of accounts in other currencies"),
    text("intermediary_bank_name", "the bank before it"),
    text("intermediary_account_number", "at the bank before it"),
    text("bank_street_address", "of its bank"),
    text("bank_city", "of its bank"),
    text("bank_postal_code", "of its bank"),
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
    text("description", "as given"),
    text("address", "on the chain"),
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
