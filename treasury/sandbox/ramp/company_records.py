"""The company's own bank accounts and wallets: created, renamed, verified.

What an account needs follows from its type, by one table: the specification's fields and those that
deployed services ask for besides, so that whatever passes here passes there. A bank account is
reviewed by the next TARGET day; a wallet waits until somebody proves it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from treasury.calendar import next_target_day
from treasury.sandbox.http.exchange import Call, Reply, invalid, result, stale, stored
from treasury.sandbox.ramp.ramp_reference import RampBody, fields_of
from treasury.sandbox.state.clock import at
from treasury.sandbox.state.ids import is_iban
from treasury.sandbox.state.shapes import (
    CompanyBankAccount,
    CompanyWallet,
    encode,
    zulu,
)
from treasury.sandbox.story.cast import CHAINS
from treasury.sandbox.story.world import World

__all__ = [
    "Describing", "NewBankAccount", "NewCompanyWallet", "Renaming", "Verification",
    "change_bank_account", "change_wallet", "company_bank_account", "company_wallet",
    "create_bank_account", "create_wallet", "schedule_reviews", "verify",
]  # fmt: skip

REVIEW: Final = "company_bank_account.review"

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
_Country = Annotated[str, msgspec.Meta(pattern="^[A-Z]{2}$")]
_CompanyRecord = TypeVar("_CompanyRecord", bound=CompanyBankAccount | CompanyWallet)
Verification = Literal["PENDING", "VERIFIED", "DENIED"]


class NewBankAccount(RampBody, frozen=True, kw_only=True):
    """A new bank account; what it needs follows from its type."""

    bank_account_type: Literal[
        "EUR_SEPA", "USD_WIRE", "USD_ACH", "USD_SWIFT", "GBP_FPS", "GBP_CHAPS", "OTHER_SWIFT"
    ]
    supported_ramp_type: Literal["ON_RAMP", "OFF_RAMP", "ON_AND_OFF_RAMP"]
    name: _Text
    bank_name: _Text
    company_name: _Text
    bank_country: _Country
    beneficiary_address_line1: _Text
    beneficiary_address_line2: _Text | None = None
    beneficiary_city: _Text
    beneficiary_state: _Text | None = None
    beneficiary_postal_code: _Text
    beneficiary_country: _Country
    email: _Text | None = None
    phone_number: _Text | None = None
    iban: _Text | None = None
    bic: _Text | None = None
    intermediary_bic: _Text | None = None
    intermediary_bank_name: _Text | None = None
    intermediary_account_number: _Text | None = None
    account_number: _Text | None = None
    sort_code: _Text | None = None
    routing_number: _Text | None = None
    currency: _Text | None = None
    bank_street_address: _Text | None = None
    bank_city: _Text | None = None
    bank_postal_code: _Text | None = None


class NewCompanyWallet(RampBody, frozen=True, kw_only=True):
    """A new wallet."""

    address: _Text
    chain: str
    description: Annotated[str, msgspec.Meta(max_length=500)] = ""


class Renaming(RampBody, frozen=True, kw_only=True):
    """Another name, and the version seen."""

    version: int
    name: _Text | None = None


class Describing(RampBody, frozen=True, kw_only=True):
    """Another description, and the version seen."""

    version: int
    description: Annotated[str, msgspec.Meta(max_length=500)] | None = None


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
    "USD_WIRE": {**_US, "email": _ANY, "beneficiary_state": _ANY},
    "USD_ACH": {**_US, "email": _ANY, "beneficiary_state": _ANY},
    "USD_SWIFT": {
        "bic": _BIC, "account_number": _FOREIGN_NUMBER, "bank_street_address": _ANY,
        "bank_city": _ANY, "bank_postal_code": _ANY, "beneficiary_state": _ANY,
    },
    "GBP_FPS": _UK,
    "GBP_CHAPS": _UK,
    "OTHER_SWIFT": {"currency": _matches("[A-Z]{3}"), "bic": _BIC},
}  # fmt: skip
"""What each type must have, and what it must look like."""
_OPTIONAL: Final = {("b", "EUR_SEPA", "bic")}
"""What a profile does without, against the specification."""


def create_bank_account(world: World, call: Call) -> Reply:
    """A bank account, to be reviewed by the next TARGET day."""
    body = call.read(NewBankAccount)
    for name, check in _NEEDS[body.bank_account_type].items():
        if (world.profile, body.bank_account_type, name) in _OPTIONAL and body.bic is None:
            continue
        _require_valid(body, name, check)
    if body.bank_account_type == "OTHER_SWIFT":
        if body.iban is None or body.account_number is not None:
            _require_valid(body, "account_number", _FOREIGN_NUMBER)
        if body.iban is not None:
            _require_valid(body, "iban", is_iban)
    account = world.keep(CompanyBankAccount(**_pending(world), **fields_of(body)))
    review = at(next_target_day(world.clock.today), "10:00")
    world.agenda.add(review, REVIEW, account.id)
    return result(encode(account), 201)


def _pending(world: World) -> dict[str, Any]:
    """What a new record has that awaits its verification."""
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


def create_wallet(world: World, call: Call) -> Reply:
    """A wallet, to be verified once its owner has proved that it is theirs."""
    body = call.read(NewCompanyWallet)
    if body.chain not in CHAINS:
        raise invalid(f"chain must be one of {', '.join(CHAINS)}.")
    wallet = world.keep(CompanyWallet(**_pending(world), **fields_of(body)))
    return result(encode(wallet), 201)


def change_bank_account(world: World, call: Call) -> Reply:
    """Another name for a bank account; the rest of it stands."""
    return _change(world, company_bank_account(world, call.path["id"]), call.read(Renaming))


def change_wallet(world: World, call: Call) -> Reply:
    """Another description for a wallet."""
    return _change(world, company_wallet(world, call.path["id"]), call.read(Describing))


def _change(
    world: World, record: CompanyBankAccount | CompanyWallet, change: Renaming | Describing
) -> Reply:
    if change.version != record.version:
        raise stale()
    changes = {name: value for name, value in fields_of(change).items() if value is not None}
    changed = msgspec.structs.replace(
        record,
        **changes | {"version": record.version + 1, "updated_at": zulu(world.clock.tick())},
    )
    return result(encode(world.keep(changed)))


def company_bank_account(world: World, id: str) -> CompanyBankAccount:  # noqa: A002 - the services' word
    """The bank account of an id; 404 where there is none."""
    return stored(world, "company_bank_account", id, CompanyBankAccount)


def company_wallet(world: World, id: str) -> CompanyWallet:  # noqa: A002 - the services' word
    """The wallet of an id; 404 where there is none."""
    return stored(world, "company_wallet", id, CompanyWallet)


def verify(world: World, record: _CompanyRecord, status: Verification) -> _CompanyRecord:
    """The provider's review of a record has come to a result."""
    moment = zulu(world.clock.tick())
    changed = msgspec.structs.replace(
        record,
        verification_status=status,
        verified_at=moment if status == "VERIFIED" else None,
        updated_at=moment,
        version=record.version + 1,
    )
    return world.keep(changed)


def schedule_reviews(world: World) -> None:
    """Let the agenda's reviews verify whatever is still pending when their time comes."""

    def review(id: str) -> None:  # noqa: A002 - the services' word
        account = company_bank_account(world, id)
        if account.verification_status == "PENDING":
            verify(world, account, "VERIFIED")

    world.agenda.on(REVIEW, review)
