"""The ramp service's operations, as a table, and its reference data."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from treasury.money import fee_of
from treasury.sandbox.cast import CHAINS
from treasury.sandbox.company_records import (
    change_bank_account,
    change_wallet,
    create_bank_account,
    create_wallet,
)
from treasury.sandbox.http import Call, Handler, Reply, Route, result
from treasury.sandbox.idempotency import once
from treasury.sandbox.lists import Listing, all_of, detail_of, listing
from treasury.sandbox.people import invite
from treasury.sandbox.ramp_requests import (
    add_hash,
    amount_of,
    anyone,
    change_amount,
    create,
    decide,
    not_the_creator,
    only_the_creator,
)
from treasury.sandbox.ramps import Life, tier_percentage
from treasury.sandbox.shapes import CryptoCurrency, FiatCurrency, encode, number
from treasury.sandbox.world import World

__all__ = ["ROUTES"]


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


class _Asked(msgspec.Struct, frozen=True):
    amount: msgspec.Raw
    type: Literal["ON_RAMP", "OFF_RAMP"]


def _calculate(world: World, call: Call) -> Reply:
    """The fee on an amount, in the amount's own unit: euros on-ramp, coins off-ramp."""
    asked = call.read(_Asked)
    unit = "EUR" if asked.type == "ON_RAMP" else "USDC"
    amount = amount_of(world, asked.amount, unit)
    percentage = tier_percentage(asked.type, amount)
    fee: dict[str, Decimal] = {
        "amount": number(fee_of(amount, percentage, unit)),
        "percentage": number(percentage),
    }
    return result(encode(fee))


def _company(world: World, _: Call) -> Reply:
    return result(world.store.page("company", {}).items[0])


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
    Route("POST", "/company/users/invite", once(invite), scope="manage:company-users"),
    Route("GET", "/company-bank-accounts", listing(_BANK_ACCOUNTS)),
    Route(
        "POST",
        "/company-bank-accounts",
        once(create_bank_account),
        scope="manage:company-bank-account",
    ),
    Route("GET", "/company-bank-accounts/{id}", detail_of("company_bank_account", "bank account")),
    Route(
        "PATCH",
        "/company-bank-accounts/{id}",
        once(change_bank_account),
        scope="manage:company-bank-account",
    ),
    Route("GET", "/company-wallets", listing(_WALLETS)),
    Route("POST", "/company-wallets", once(create_wallet), scope="manage:company-wallet"),
    Route("GET", "/company-wallets/{id}", detail_of("company_wallet", "wallet")),
    Route("PATCH", "/company-wallets/{id}", once(change_wallet), scope="manage:company-wallet"),
    Route("GET", "/ramp-requests", listing(_REQUESTS)),
    Route("POST", "/ramp-requests", once(create), scope="create:ramp-request"),
    Route("GET", "/ramp-requests/on-ramp/pairs", _pairs(on_ramp=True)),
    Route("GET", "/ramp-requests/off-ramp/pairs", _pairs(on_ramp=False)),
    Route("GET", "/ramp-requests/{id}", detail_of("ramp_request", "ramp request")),
    Route(
        "POST",
        "/ramp-requests/{id}/approve",
        once(decide("APPROVABLE", Life.approve, not_the_creator)),
        scope="approve:ramp-request",
    ),
    Route(
        "POST",
        "/ramp-requests/{id}/reject",
        once(decide("REJECTABLE", Life.reject, anyone)),
        scope="reject:ramp-request",
    ),
    Route(
        "POST",
        "/ramp-requests/{id}/cancel",
        once(decide("CANCELLABLE", Life.cancel, only_the_creator)),
        scope="cancel:ramp-request",
    ),
    Route("PUT", "/ramp-requests/{id}/amount", once(change_amount), scope="edit:ramp-request"),
    Route("PATCH", "/ramp-requests/{id}/tx-hash", once(add_hash), scope="edit:ramp-request"),
    Route("GET", "/fees", all_of("fee")),
    Route("POST", "/fees/calculate", _calculate),
    Route("GET", "/fiat-currencies", all_of("fiat_currency")),
    Route("GET", "/crypto-currencies", all_of("crypto_currency")),
    Route("GET", "/chains", _constant(_CHAINS)),
    Route("GET", "/bank-accounts/config", _constant(_BANK_CONFIG)),
)
