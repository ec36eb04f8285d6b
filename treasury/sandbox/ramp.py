"""The ramp service's operations, as a table, and the three decisions on a ramp request.

Who may do what follows the roles of the specification: an administrator approves and rejects (never
a request of their own making), a creator cancels their own. A decision is taken on the version that
the caller saw; a stale one is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from treasury.sandbox.http import (
    ADMIN,
    MANAGERS,
    Call,
    Handler,
    Refusal,
    Reply,
    Route,
    invalid,
    missing,
    result,
)
from treasury.sandbox.lists import Listing, all_of, detail_of, listing
from treasury.sandbox.ramps import Life
from treasury.sandbox.shapes import CryptoCurrency, FiatCurrency, RampRequest, User, decode, encode
from treasury.sandbox.world import World

__all__ = ["ROUTES"]

_Step = Callable[[Life, RampRequest, User, datetime], RampRequest]


def _decide(name: str, step: _Step, may: Callable[[RampRequest, User], str | None]) -> Handler:
    """The handler of a decision; `may` says why a user may not take it."""

    def serve(world: World, call: Call) -> Reply:
        text = world.store.detail("ramp_request", call.path["id"])
        if text is None:
            raise missing("ramp request")
        request = decode(text, RampRequest)
        if refused := may(request, call.user):
            raise Refusal(403, "FORBIDDEN", refused)
        version = call.body.get("version")
        if not isinstance(version, int) or isinstance(version, bool):
            raise invalid("version is required.")
        if version != request.version:
            raise Refusal(
                409, "OPTIMISTIC_LOCK_EXCEPTION", "Resource changed; read it again and retry."
            )
        if request.status != "AWAITING_APPROVAL":
            code = f"RAMP_REQUEST_NOT_IN_{name}_STATE"
            raise Refusal(400, code, f"The ramp request is {request.status}.")
        return result(
            encode(world.change(step(world.life, request, call.user, world.clock.tick())))
        )

    return serve


def _not_the_creator(request: RampRequest, user: User) -> str | None:
    same = request.creator.user_id == user.id
    return "The creator of a ramp request may not approve it." if same else None


def _only_the_creator(request: RampRequest, user: User) -> str | None:
    same = request.creator.user_id == user.id
    return None if same else "Only the creator of a ramp request may cancel it."


def _anyone(_: RampRequest, __: User) -> None:
    return None


def _pairs(*, on_ramp: bool) -> Handler:
    def serve(world: World, _: Call) -> Reply:
        euro, pairs = _named(world.cast.fiat[0]), []
        for crypto in map(_named, world.cast.crypto):
            ends = (euro, crypto) if on_ramp else (crypto, euro)
            pairs.append({"from": ends[0], "to": ends[1]})
        return result(encode(pairs))

    return serve


def _named(currency: FiatCurrency | CryptoCurrency) -> dict[str, Any]:
    named = {"id": currency.id, "currency": currency.currency}
    if isinstance(currency, CryptoCurrency):
        named["chain"] = currency.chain
    return named | {"label": currency.label}


def _constant(value: object) -> Handler:
    reply = result(encode(value))

    def serve(_: World, __: Call) -> Reply:
        return reply

    return serve


def _company(world: World, _: Call) -> Reply:
    return result(world.store.page("company", {}).items[0])


_CHAINS: Final = {"supportedChains": ["ETHEREUM", "POLYGON", "BASE", "ARBITRUM", "SUI"]}
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

_REQUESTS: Final = Listing(
    kind="ramp_request",
    filters={"rampType": "type", "status": "status", "paymentReference": "reference"},
    sort="",
    shows_sort=True,
    dated=True,
)
_BANK_ACCOUNTS: Final = Listing(
    kind="company_bank_account",
    filters={"verificationStatus": "status", "supportedRampTypes": "type"},
    sort="",
    shows_sort=True,
)
_WALLETS: Final = Listing(
    kind="company_wallet",
    filters={"chain": "chain", "verificationStatus": "status", "address": "reference"},
    sort="",
    shows_sort=True,
)

ROUTES: Final = (
    Route("GET", "/company", _company),
    Route("GET", "/company/users", all_of("user")),
    Route("GET", "/company-bank-accounts", listing(_BANK_ACCOUNTS)),
    Route("GET", "/company-bank-accounts/{id}", detail_of("company_bank_account", "bank account")),
    Route("GET", "/company-wallets", listing(_WALLETS)),
    Route("GET", "/company-wallets/{id}", detail_of("company_wallet", "wallet")),
    Route("GET", "/ramp-requests", listing(_REQUESTS)),
    Route("GET", "/ramp-requests/on-ramp/pairs", _pairs(on_ramp=True)),
    Route("GET", "/ramp-requests/off-ramp/pairs", _pairs(on_ramp=False)),
    Route("GET", "/ramp-requests/{id}", detail_of("ramp_request", "ramp request")),
    Route(
        "POST",
        "/ramp-requests/{id}/approve",
        _decide("APPROVABLE", Life.approve, _not_the_creator),
        ADMIN,
    ),
    Route("POST", "/ramp-requests/{id}/reject", _decide("REJECTABLE", Life.reject, _anyone), ADMIN),
    Route(
        "POST",
        "/ramp-requests/{id}/cancel",
        _decide("CANCELLABLE", Life.cancel, _only_the_creator),
        MANAGERS,
    ),
    Route("GET", "/fees", all_of("fee")),
    Route("GET", "/fiat-currencies", all_of("fiat_currency")),
    Route("GET", "/crypto-currencies", all_of("crypto_currency")),
    Route("GET", "/chains", _constant(_CHAINS)),
    Route("GET", "/bank-accounts/config", _constant(_BANK_CONFIG)),
)
