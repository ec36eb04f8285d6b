"""Operations on the company's own bank accounts and wallets.

The specification lists the required fields of each account type; profile `b` requires those of the
published generation. A bank account is reviewed on the next TARGET day; a wallet stays pending
until a driver verifies it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from treasury.core.calendar import next_target_day
from treasury.sandbox.http.body_fields import Country, KeyedBody, Long, Text, fields_of
from treasury.sandbox.http.exchange import Call, Write, invalid, stale, stored
from treasury.sandbox.http.idempotency import create_route, write_route
from treasury.sandbox.http.lists import Listing, detail_of, list_route, read_route
from treasury.sandbox.state import shapes
from treasury.sandbox.state.clock import at
from treasury.sandbox.state.ids import is_iban
from treasury.sandbox.state.shapes import CompanyBankAccount, CompanyWallet, zulu
from treasury.sandbox.story.cast import CHAINS
from treasury.sandbox.story.world import World

_REVIEW: Final = "company_bank_account.review"

_CompanyRecord = TypeVar("_CompanyRecord", bound=CompanyBankAccount | CompanyWallet)
Verification = Literal["PENDING", "VERIFIED", "DENIED"]


class NewBankAccount(KeyedBody, frozen=True, kw_only=True):
    """A new bank account; its type determines the required fields."""

    bank_account_type: Literal[
        "EUR_SEPA", "USD_WIRE", "USD_ACH", "USD_SWIFT", "GBP_FPS", "GBP_CHAPS", "OTHER_SWIFT"
    ]
    supported_ramp_type: Literal["ON_RAMP", "OFF_RAMP", "ON_AND_OFF_RAMP"]
    name: Long
    bank_name: Long
    company_name: Long
    bank_country: Country
    beneficiary_address_line1: Long
    beneficiary_address_line2: Long | None = None
    beneficiary_city: Long
    beneficiary_state: Long | None = None
    beneficiary_postal_code: Long
    beneficiary_country: Country
    email: Long | None = None
    phone_number: Long | None = None
    iban: Long | None = None
    bic: Long | None = None
    intermediary_bic: Long | None = None
    intermediary_bank_name: Long | None = None
    intermediary_account_number: Long | None = None
    account_number: Long | None = None
    sort_code: Long | None = None
    routing_number: Long | None = None
    currency: Long | None = None
    bank_street_address: Long | None = None
    bank_city: Long | None = None
    bank_postal_code: Long | None = None


class NewCompanyWallet(KeyedBody, frozen=True, kw_only=True):
    """A new wallet."""

    address: Long
    chain: str
    description: Text = ""


class Renaming(KeyedBody, frozen=True, kw_only=True):
    """A bank account's new name, and the version that the caller read."""

    version: int
    name: Long | None = None


class Describing(KeyedBody, frozen=True, kw_only=True):
    """A wallet's new description, and the version that the caller read."""

    version: int
    description: Text | None = None


_Check = Callable[[str], object]


def _matches(pattern: str) -> _Check:
    return re.compile(pattern, re.ASCII).fullmatch


_BIC: Final = _matches(r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?")
_ANY: Final = _matches(r"(?s).+")
_US: Final = {"account_number": _matches(r"\d{8,17}"), "routing_number": _matches(r"\d{9}")}
_UK: Final = {"account_number": _matches(r"\d{8}"), "sort_code": _matches(r"\d{6}")}
_FOREIGN_NUMBER: Final = _matches(r"[A-Z0-9]{1,34}")
_NEEDS: Final[dict[str, dict[str, _Check]]] = {
    "EUR_SEPA": {"iban": is_iban, "bic": _BIC},
    "USD_WIRE": _US,
    "USD_ACH": _US,
    "USD_SWIFT": {
        "bic": _BIC, "account_number": _FOREIGN_NUMBER, "bank_street_address": _ANY,
        "bank_city": _ANY, "bank_postal_code": _ANY,
    },
    "GBP_FPS": _UK,
    "GBP_CHAPS": _UK,
    "OTHER_SWIFT": {"currency": _matches("[A-Z]{3}"), "bic": _BIC},
}  # fmt: skip
"""Required fields of each account type, each with a check of its value."""
_US_CONTACT: Final[dict[str, _Check]] = {"email": _ANY, "beneficiary_state": _ANY}
_ALSO_NEEDS_IN_B: Final[dict[str, dict[str, _Check]]] = {
    "USD_WIRE": _US_CONTACT,
    "USD_ACH": _US_CONTACT,
    "USD_SWIFT": {"beneficiary_state": _ANY},
}
"""Further fields that profile `b` requires."""


def create_bank_account(world: World, call: Call) -> CompanyBankAccount:
    """Create a bank account, which is reviewed on the next TARGET day."""
    body = call.read(NewBankAccount)
    needs = dict(_NEEDS[body.bank_account_type])
    if world.profile == "b":
        needs |= _ALSO_NEEDS_IN_B.get(body.bank_account_type, {})
        if body.bank_account_type == "EUR_SEPA" and body.bic is None:
            # The BIC is optional in the published generation.
            del needs["bic"]
    for name, check in needs.items():
        _require_valid(body, name, check)
    if body.bank_account_type == "OTHER_SWIFT":
        if body.iban is None or body.account_number is not None:
            _require_valid(body, "account_number", _FOREIGN_NUMBER)
        if body.iban is not None:
            _require_valid(body, "iban", is_iban)
    account = world.keep(CompanyBankAccount(**_pending(world), **fields_of(body)))
    review = at(next_target_day(world.clock.today), "10:00")
    world.agenda.add(review, _REVIEW, account.id)
    return account


def _pending(world: World) -> dict[str, Any]:
    """Return the initial fields of a record that awaits verification."""
    moment = zulu(world.clock.tick())
    return {
        "id": world.ids.uuid(), "company_id": world.cast.company.id, "version": 0,
        "verification_status": "PENDING", "created_at": moment, "updated_at": moment,
    }  # fmt: skip


def _require_valid(body: NewBankAccount, name: str, check: _Check) -> None:
    value = getattr(body, name)
    fields = msgspec.structs.fields(NewBankAccount)
    field = next(field.encode_name for field in fields if field.name == name)
    if value is None:
        raise invalid(f"{field} is required for {body.bank_account_type}.")
    if not check(value):
        raise invalid(f"{field} is not valid for {body.bank_account_type}.")


def create_wallet(world: World, call: Call) -> CompanyWallet:
    """Create a wallet, which stays pending until a driver verifies it."""
    body = call.read(NewCompanyWallet)
    if body.chain not in CHAINS:
        raise invalid(f"chain must be one of {', '.join(CHAINS)}.")
    return world.keep(CompanyWallet(**_pending(world), **fields_of(body)))


def company_bank_account(world: World, id: str) -> CompanyBankAccount:  # noqa: A002 - the services' word
    """Return the bank account with this id. Raises a 404 if it does not exist."""
    return stored(world, "company_bank_account", id, CompanyBankAccount)


def company_wallet(world: World, id: str) -> CompanyWallet:  # noqa: A002 - the services' word
    """Return the wallet with this id. Raises a 404 if it does not exist."""
    return stored(world, "company_wallet", id, CompanyWallet)


def changing(
    find: Callable[[World, str], CompanyBankAccount | CompanyWallet],
    shape: type[Renaming | Describing],
) -> Write:
    """Return a handler that changes a record's text, if the sent version is current."""

    def serve(world: World, call: Call) -> CompanyBankAccount | CompanyWallet:
        record, change = find(world, call.path["id"]), call.read(shape)
        if change.version != record.version:
            raise stale()
        fields = {name: value for name, value in fields_of(change).items() if value is not None}
        fields |= {"version": record.version + 1, "updated_at": zulu(world.clock.tick())}
        return world.keep(replace(record, **fields))

    return serve


def verify(world: World, record: _CompanyRecord, status: Verification) -> _CompanyRecord:
    """Set the result of a record's review by the provider."""
    moment = zulu(world.clock.tick())
    changed = replace(
        record,
        verification_status=status,
        verified_at=moment if status == "VERIFIED" else None,
        updated_at=moment,
        version=record.version + 1,
    )
    return world.keep(changed)


def schedule_reviews(world: World) -> None:
    """Register the review step, which verifies a bank account that is still pending."""

    def review(id: str) -> None:  # noqa: A002 - the services' word
        account = company_bank_account(world, id)
        if account.verification_status == "PENDING":
            verify(world, account, "VERIFIED")

    world.agenda.on(_REVIEW, review)


_STATUSES: Final = ("PENDING", "VERIFIED", "DENIED")
_BANK_ACCOUNTS: Final = Listing(
    kind="company_bank_account",
    filters={"verificationStatus": "status", "supportedRampTypes": "type"},
    values={
        "verificationStatus": _STATUSES,
        "supportedRampTypes": ("ON_RAMP", "OFF_RAMP", "ON_AND_OFF_RAMP"),
    },
    sort="",
    shows_sort=True,
)
_WALLETS: Final = Listing(
    kind="company_wallet",
    filters={"chain": "chain", "verificationStatus": "status", "address": "reference"},
    values={"chain": CHAINS, "verificationStatus": _STATUSES},
    sort="",
    shows_sort=True,
)
COMPANY_ROUTES: Final = (
    list_route(
        "/company-bank-accounts", _BANK_ACCOUNTS, shapes.CompanyBankAccountItem,
        "List the company's bank accounts.",
    ),
    create_route(
        "/company-bank-accounts", create_bank_account, NewBankAccount, CompanyBankAccount,
        "Create a bank account, to be reviewed.", scope="manage:company-bank-account",
    ),
    read_route(
        "/company-bank-accounts/{id}", detail_of("company_bank_account", "bank account"),
        CompanyBankAccount, "Get a bank account.",
    ),
    write_route(
        "PATCH /company-bank-accounts/{id}", changing(company_bank_account, Renaming), Renaming,
        CompanyBankAccount, "Rename a bank account.", 409, scope="manage:company-bank-account",
    ),
    list_route(
        "/company-wallets", _WALLETS, shapes.CompanyWalletItem, "List the company's wallets."
    ),
    create_route(
        "/company-wallets", create_wallet, NewCompanyWallet, CompanyWallet,
        "Create a wallet, to be verified.", scope="manage:company-wallet",
    ),
    read_route(
        "/company-wallets/{id}", detail_of("company_wallet", "wallet"), CompanyWallet,
        "Get a wallet.",
    ),
    write_route(
        "PATCH /company-wallets/{id}", changing(company_wallet, Describing), Describing,
        CompanyWallet, "Change a wallet's description.", 409, scope="manage:company-wallet",
    ),
)  # fmt: skip
