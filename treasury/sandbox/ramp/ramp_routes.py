"""The ramp service's operations, as a table, and its reference data."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import convert

from treasury.money import fee_of
from treasury.sandbox.http.exchange import Call, Handler, Reply, Route, result
from treasury.sandbox.http.idempotency import once
from treasury.sandbox.http.lists import Listing, all_of, detail_of, list_route, read_route
from treasury.sandbox.ramp.company_records import (
    Describing,
    NewBankAccount,
    NewCompanyWallet,
    Renaming,
    change_bank_account,
    change_wallet,
    create_bank_account,
    create_wallet,
)
from treasury.sandbox.ramp.people import Invitation, invite
from treasury.sandbox.ramp.published_ramp import NEEDS_SCOPE, PUBLISHED
from treasury.sandbox.ramp.ramp_reference import (
    BankConfiguration,
    CryptoName,
    FeeAnswer,
    FeeQuestion,
    FiatName,
    OffRampPair,
    OnRampPair,
    SupportedChains,
)
from treasury.sandbox.ramp.ramp_requests import (
    AddingHash,
    ChangingAmount,
    Deciding,
    NewRampRequest,
    add_hash,
    amount_of,
    anyone,
    change_amount,
    create,
    decide,
    not_the_creator,
    only_the_creator,
    pairs_of,
)
from treasury.sandbox.state.shapes import (
    Company,
    CompanyBankAccount,
    CompanyBankAccountItem,
    CompanyWallet,
    CompanyWalletItem,
    CryptoCurrency,
    Fee,
    FiatCurrency,
    RampItem,
    RampRequest,
    User,
    encode,
    number,
)
from treasury.sandbox.story.cast import CHAINS
from treasury.sandbox.story.request_life import Life, tier_percentage
from treasury.sandbox.story.world import World

__all__ = ["routes"]


def _pairs(*, on_ramp: bool) -> Handler:
    def serve(world: World, _: Call) -> Reply:
        pairs = [
            (
                convert(fiat, FiatName, from_attributes=True),
                convert(crypto, CryptoName, from_attributes=True),
            )
            for fiat, crypto in pairs_of(world)
        ]
        if on_ramp:
            return result(encode([OnRampPair(from_=fiat, to=coin) for fiat, coin in pairs]))
        return result(encode([OffRampPair(from_=coin, to=fiat) for fiat, coin in pairs]))

    return serve


def _constant(value: object) -> Handler:
    reply = result(encode(value))

    def serve(_: World, __: Call) -> Reply:
        return reply

    return serve


def _calculate(world: World, call: Call) -> Reply:
    """The fee on an amount, in the amount's own unit: euros on-ramp, coins off-ramp."""
    question = call.read(FeeQuestion)
    unit = "EUR" if question.type == "ON_RAMP" else "USDC"
    amount = amount_of(world, question.amount, unit)
    percentage = tier_percentage(question.type, amount)
    fee = FeeAnswer(amount=number(fee_of(amount, percentage, unit)), percentage=number(percentage))
    return result(encode(fee))


_CHAINS: Final = {"supportedChains": CHAINS}
_BANK_CONFIG: Final = {
    "enabledAccountTypes": [
        {"type": "EUR_SEPA", "description": "SEPA credit transfer"},
        {"type": "USD_WIRE", "description": "US wire"},
        {"type": "USD_ACH", "description": "US automated clearing house"},
        {"type": "USD_SWIFT", "description": "US dollars by SWIFT"},
        {"type": "GBP_FPS", "description": "UK Faster Payments"},
        {"type": "GBP_CHAPS", "description": "UK CHAPS"},
        {"type": "OTHER_SWIFT", "description": "Other currencies by SWIFT"},
    ],
    "supportedCountries": [
        {"countryCode": code, "countryName": name}
        for code, name in (
            ("BE", "Belgium"), ("DE", "Germany"), ("FR", "France"), ("GB", "United Kingdom"),
            ("LT", "Lithuania"), ("NL", "Netherlands"), ("US", "United States"),
        )
    ],
    "supportedCurrencies": [
        {"code": "EUR", "name": "Euro"},
        {"code": "GBP", "name": "Pound Sterling"},
        {"code": "USD", "name": "US Dollar"},
    ],
}  # fmt: skip

_VERIFICATION: Final = ("PENDING", "VERIFIED", "DENIED")
_REQUESTS: Final = Listing(
    kind="ramp_request",
    filters={"rampType": "type", "status": "status", "paymentReference": "reference"},
    values={
        "rampType": ("ON_RAMP", "OFF_RAMP"),
        "status": (
            "AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING", "SUCCEEDED", "FAILED", "CANCELLED",
            "REJECTED", "DENIED", "BLOCKED",
        ),
    },
    sort="",
    shows_sort=True,
    dated=True,
)  # fmt: skip
_BANK_ACCOUNTS: Final = Listing(
    kind="company_bank_account",
    filters={"verificationStatus": "status", "supportedRampTypes": "type"},
    values={
        "verificationStatus": _VERIFICATION,
        "supportedRampTypes": ("ON_RAMP", "OFF_RAMP", "ON_AND_OFF_RAMP"),
    },
    sort="",
    shows_sort=True,
)
_WALLETS: Final = Listing(
    kind="company_wallet",
    filters={"chain": "chain", "verificationStatus": "status", "address": "reference"},
    values={"chain": tuple(CHAINS), "verificationStatus": _VERIFICATION},
    sort="",
    shows_sort=True,
)


def _write(
    scope: str,
    operation: str,
    handler: Handler,
    takes_gives: tuple[Any, Any],
    says: str,
    *refuses: int,
    status: int = 200,
) -> Route:
    """A write, for those who hold the scope, and once for a key where it carries one."""
    method, path = operation.split()
    takes, gives = takes_gives
    return Route(
        method, path, once(handler), scope=scope, says=says, takes=takes, gives=gives,
        status=status, refuses=refuses, writes=handler,
    )  # fmt: skip


_ROUTES: Final = (
    read_route(
        "/company", lambda world, _: result(world.store.page("company", {}).items[0]), Company,
        "Get the company and where its verification stands.",
    ),
    read_route("/company/users", all_of("user"), list[User], "List the company's users."),
    _write(
        "manage:company-users", "POST /company/users/invite", invite, (Invitation, User),
        "Invite a user.",
    ),
    list_route(
        "/company-bank-accounts", _BANK_ACCOUNTS, CompanyBankAccountItem,
        "List the company's bank accounts.",
    ),
    _write(
        "manage:company-bank-account", "POST /company-bank-accounts", create_bank_account,
        (NewBankAccount, CompanyBankAccount), "Create a bank account, to be reviewed.", status=201,
    ),
    read_route(
        "/company-bank-accounts/{id}", detail_of("company_bank_account", "bank account"),
        CompanyBankAccount, "Get a bank account.",
    ),
    _write(
        "manage:company-bank-account", "PATCH /company-bank-accounts/{id}", change_bank_account,
        (Renaming, CompanyBankAccount), "Rename a bank account.", 409,
    ),
    list_route("/company-wallets", _WALLETS, CompanyWalletItem, "List the company's wallets."),
    _write(
        "manage:company-wallet", "POST /company-wallets", create_wallet,
        (NewCompanyWallet, CompanyWallet), "Create a wallet, to be verified.", status=201,
    ),
    read_route(
        "/company-wallets/{id}", detail_of("company_wallet", "wallet"), CompanyWallet,
        "Get a wallet.",
    ),
    _write(
        "manage:company-wallet", "PATCH /company-wallets/{id}", change_wallet,
        (Describing, CompanyWallet), "Describe a wallet anew.", 409,
    ),
    list_route("/ramp-requests", _REQUESTS, RampItem, "List the ramp requests."),
    _write(
        "create:ramp-request", "POST /ramp-requests", create, (NewRampRequest, RampRequest),
        "Create a ramp request, awaiting approval.", 404, status=201,
    ),
    read_route(
        "/ramp-requests/on-ramp/pairs", _pairs(on_ramp=True), list[OnRampPair],
        "List what fiat can be turned into.",
    ),
    read_route(
        "/ramp-requests/off-ramp/pairs", _pairs(on_ramp=False), list[OffRampPair],
        "List what crypto can be turned into.",
    ),
    read_route(
        "/ramp-requests/{id}", detail_of("ramp_request", "ramp request"), RampRequest,
        "Get a ramp request.",
    ),
    _write(
        "approve:ramp-request", "POST /ramp-requests/{id}/approve",
        decide("APPROVABLE", Life.approve, not_the_creator), (Deciding, RampRequest),
        "Approve a ramp request; its creator may not.", 409,
    ),
    _write(
        "reject:ramp-request", "POST /ramp-requests/{id}/reject",
        decide("REJECTABLE", Life.reject, anyone), (Deciding, RampRequest),
        "Reject a ramp request.", 409,
    ),
    _write(
        "cancel:ramp-request", "POST /ramp-requests/{id}/cancel",
        decide("CANCELLABLE", Life.cancel, only_the_creator), (Deciding, RampRequest),
        "Withdraw a ramp request; only its creator may.", 409,
    ),
    _write(
        "edit:ramp-request", "PUT /ramp-requests/{id}/amount", change_amount,
        (ChangingAmount, RampRequest),
        "Change the amount while nobody has decided.", 409,
    ),
    _write(
        "edit:ramp-request", "PATCH /ramp-requests/{id}/tx-hash", add_hash,
        (AddingHash, RampRequest),
        "Say which transaction carries the crypto.", 409,
    ),
    read_route("/fees", all_of("fee"), list[Fee], "List the fees' tiers."),
    Route(
        "POST", "/fees/calculate", _calculate, takes=FeeQuestion, gives=FeeAnswer,
        says="Calculate the fee on an amount, in the amount's own unit.",
    ),
    read_route(
        "/fiat-currencies", all_of("fiat_currency"), list[FiatCurrency],
        "List the fiat currencies.",
    ),
    read_route(
        "/crypto-currencies", all_of("crypto_currency"), list[CryptoCurrency],
        "List the cryptocurrencies, one for each chain.",
    ),
    read_route("/chains", _constant(_CHAINS), SupportedChains, "List the networks."),
    read_route(
        "/bank-accounts/config", _constant(_BANK_CONFIG), BankConfiguration,
        "List the types, countries and currencies of bank accounts.",
    ),
)  # fmt: skip


def routes(profile: str) -> tuple[Route, ...]:
    """The operations that a profile serves; a key means nothing in the published generation."""
    if profile != "b":
        return _ROUTES
    specified = [
        msgspec.structs.replace(
            route,
            handler=route.handler if route.writes is None else once(route.writes, keyed=False),
            scope=NEEDS_SCOPE.get((route.method, route.path), route.scope),
        )
        for route in _ROUTES
    ]
    first = [route for route in PUBLISHED if "{" not in route.path]
    return (*first, *specified, *(route for route in PUBLISHED if "{" in route.path))
