"""Operations on ramp requests: create, decide, change the amount, add the transaction hash.

Managers and administrators create and change requests. An administrator approves requests of other
people and rejects any request; only its creator may cancel a request. Every change requires the
current version; another version is a conflict.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Final, Literal

import msgspec
from msgspec.structs import replace

from treasury.core.money import exponent, is_exact_in
from treasury.sandbox.http import exchange
from treasury.sandbox.http.body_fields import KeyedBody, Number
from treasury.sandbox.http.exchange import Call, Handler, Refusal, Reply, Write, invalid, result
from treasury.sandbox.http.idempotency import create_route, write_route
from treasury.sandbox.http.lists import Listing, detail_of, list_route, read_route
from treasury.sandbox.ramp.company_records import company_bank_account, company_wallet
from treasury.sandbox.state import shapes
from treasury.sandbox.state.shapes import CryptoCurrency, FiatCurrency, RampRequest, User, encode
from treasury.sandbox.story.request_life import Life
from treasury.sandbox.story.world import World

_SMALLEST: Final = Decimal("1e-8")
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class NewRampRequest(KeyedBody, frozen=True, kw_only=True):
    """A new request; `amount` is fiat for an on-ramp, crypto for an off-ramp."""

    ramp_type: Literal["ON_RAMP", "OFF_RAMP"]
    amount: Number
    fiat_currency_id: _Id
    crypto_currency_id: _Id
    company_wallet_id: _Id | None = None
    company_bank_account_id: _Id | None = None


class Deciding(KeyedBody, frozen=True, kw_only=True):
    """The version that the decider read, and a reason, which is not stored."""

    version: int
    reason: str | None = None


class ChangingAmount(KeyedBody, frozen=True, kw_only=True):
    """A new amount, and the version that the caller read."""

    amount: Number
    version: int


class AddingHash(KeyedBody, frozen=True, kw_only=True):
    """The hash of the crypto transaction, and the version that the caller read."""

    blockchain_transaction_hash: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]
    version: int


class OnRampPair(shapes.Shape, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A pair of currencies for an on-ramp: fiat to crypto."""

    from_: shapes.FiatName
    to: shapes.CryptoName


class OffRampPair(shapes.Shape, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A pair of currencies for an off-ramp: crypto to fiat."""

    from_: shapes.CryptoName
    to: shapes.FiatName


def ramp_request(world: World, id: str) -> RampRequest:  # noqa: A002 - the services' word
    """Return the ramp request with this id. Raises a 404 if it does not exist."""
    return exchange.stored(world, "ramp_request", id, RampRequest)


def create(world: World, call: Call) -> RampRequest:
    """Create a request awaiting approval."""
    user, new = call.user, call.read(NewRampRequest)
    company = shapes.decode(world.store.page("company", {}).items[0], shapes.Company)
    if company.kyb_status != "VERIFIED":
        raise Refusal(403, "KYB_NOT_VERIFIED", f"The company's KYB is {company.kyb_status}.")
    fiat, crypto = pair_of(world, new.fiat_currency_id, new.crypto_currency_id)
    asset, on_ramp = crypto.currency, new.ramp_type == "ON_RAMP"
    moment = world.clock.tick()
    request = world.life.create(
        new.ramp_type, amount_of(world, new.amount, fiat.currency if on_ramp else asset),
        world.quotes.rate(asset, world.clock.today, fiat.currency, on_ramp=on_ramp), asset,
        reference=next_reference(world), user=user, at=moment,
        wallet=_wallet(world, new, crypto) if on_ramp else None,
        bank=None if on_ramp else _bank_account(world, new, fiat), fiat=fiat,
    )  # fmt: skip
    return world.change(request)


def pairs_of(world: World) -> list[tuple[FiatCurrency, CryptoCurrency]]:
    """Return all possible pairs of currencies; a euro coin only pairs with euros."""
    return [
        (fiat, crypto)
        for fiat in world.cast.fiat
        for crypto in world.cast.crypto
        if fiat.currency == "EUR" or crypto.currency != "EURC"
    ]


def pair_of(world: World, fiat_id: str, crypto_id: str) -> tuple[FiatCurrency, CryptoCurrency]:
    """Return the currencies with these ids. Raises a 400 if they are unknown or not a pair."""
    fiat = next((f for f in world.cast.fiat if f.id == fiat_id), None)
    crypto = next((c for c in world.cast.crypto if c.id == crypto_id), None)
    if fiat is None or crypto is None:
        name = "fiatCurrencyId" if fiat is None else "cryptoCurrencyId"
        raise invalid(f"{name} names no currency.")
    if (fiat, crypto) not in pairs_of(world):
        text = f"{fiat.currency} and {crypto.currency} on {crypto.chain} are not a pair."
        raise Refusal(400, "UNSUPPORTED_CURRENCY_PAIR", text)
    return fiat, crypto


def _wallet(world: World, new: NewRampRequest, crypto: CryptoCurrency) -> shapes.CompanyWallet:
    if new.company_wallet_id is None:
        raise invalid("companyWalletId is required for ON_RAMP.")
    if new.company_bank_account_id is not None:
        raise invalid("companyBankAccountId is not for ON_RAMP.")
    wallet = company_wallet(world, new.company_wallet_id)
    if wallet.verification_status != "VERIFIED":
        text = f"The company wallet is {wallet.verification_status}."
        raise Refusal(400, "WALLET_NOT_VERIFIED", text)
    if wallet.chain != crypto.chain:
        raise invalid(f"companyWalletId is a wallet on {wallet.chain}, not on {crypto.chain}.")
    return wallet


_MONEY: Final = {"EUR_": "EUR", "USD_": "USD", "GBP_": "GBP"}
"""Currency by the first letters of the account type; other types have a currency field."""


def _bank_account(
    world: World, new: NewRampRequest, fiat: FiatCurrency
) -> shapes.CompanyBankAccount:
    if new.company_bank_account_id is None:
        raise invalid("companyBankAccountId is required for OFF_RAMP.")
    if new.company_wallet_id is not None:
        raise invalid("companyWalletId is not for OFF_RAMP.")
    account = company_bank_account(world, new.company_bank_account_id)
    if account.verification_status != "VERIFIED":
        text = f"The company bank account is {account.verification_status}."
        raise Refusal(400, "BANK_ACCOUNT_NOT_VERIFIED", text)
    if account.supported_ramp_type == "ON_RAMP":
        raise invalid("companyBankAccountId is an account for ON_RAMP only.")
    if _MONEY.get(account.bank_account_type[:4], account.currency) != fiat.currency:
        raise invalid(f"companyBankAccountId is not an account in {fiat.currency}.")
    return account


def amount_of(world: World, text: msgspec.Raw, unit: str) -> Decimal:
    """Return a JSON number as an amount.

    Raises a 400 unless it is positive, within the limits, and has no more decimals than the unit.
    """
    written = bytes(text).decode()
    if not written[:1].isdigit() and written[:1] != "-":
        raise invalid("amount must be a number.")
    amount = Decimal(written)
    if amount <= 0:
        raise invalid("amount must be positive.")
    smallest, largest = world.bounds
    if amount < max(smallest, _SMALLEST):
        raise Refusal(400, "AMOUNT_BELOW_MINIMUM", f"The minimum is {max(smallest, _SMALLEST):f}.")
    if amount > largest:
        raise Refusal(400, "AMOUNT_ABOVE_MAXIMUM", f"The maximum is {largest:f}.")
    if not is_exact_in(amount, unit):
        raise invalid(f"amount must have at most {exponent(unit)} decimals in {unit}.")
    return amount


def next_reference(world: World) -> str:
    """Return the next payment reference; other companies use the skipped numbers."""
    year = f"PAY-{world.clock.today.year}-"
    last = world.store.last_reference("ramp_request", year)
    number = int(last.removeprefix(year)) if last else 0
    return f"{year}{number + 1 + world.ids.below(10):06d}"


def _in_state(request: RampRequest, version: int, status: str, name: str) -> None:
    if version != request.version:
        raise exchange.stale()
    if request.status != status:
        code = f"RAMP_REQUEST_NOT_IN_{name}_STATE"
        raise Refusal(400, code, f"The ramp request is {request.status}.")


_REFUSED: Final = {
    True: "Only the creator of a ramp request may cancel it.",
    False: "The creator of a ramp request may not approve it.",
}
_Step = Callable[[Life, RampRequest, User, datetime], RampRequest]


def decide(name: str, step: _Step, *, by_creator: bool | None = None) -> Write:
    """Return a decision's handler.

    `by_creator` is True if only the creator may decide, False if only others may (four eyes).
    """

    def serve(world: World, call: Call) -> RampRequest:
        request = ramp_request(world, call.path["id"])
        is_creator = request.creator.user_id == call.user.id
        if by_creator is not None and by_creator is not is_creator:
            raise Refusal(403, "FORBIDDEN", _REFUSED[by_creator])
        version = call.read(Deciding).version
        _in_state(request, version, "AWAITING_APPROVAL", name)
        return world.change(step(world.life, request, call.user, world.clock.tick()))

    return serve


def change_amount(world: World, call: Call) -> RampRequest:
    """Change the amount of an undecided request."""
    request, body = ramp_request(world, call.path["id"]), call.read(ChangingAmount)
    _in_state(request, body.version, "AWAITING_APPROVAL", "EDITABLE")
    on_ramp = request.ramp_type == "ON_RAMP"
    unit = request.fiat_currency.currency if on_ramp else request.crypto_currency.currency
    amount = amount_of(world, body.amount, unit)
    step = world.life.change_amount(request, call.user, amount, world.clock.tick())
    return world.change(step)


def adding_hash(act: str, **changes: str) -> Write:
    """Return the handler that stores an off-ramp's transaction hash and applies `changes`."""

    def serve(world: World, call: Call) -> RampRequest:
        request, body = ramp_request(world, call.path["id"]), call.read(AddingHash)
        _in_state(request, body.version, "AWAITING_FUNDS", "AWAITING_FUNDS")
        if request.ramp_type != "OFF_RAMP":
            raise invalid(f"Only an off-ramp request {act}.")
        tx_hash, moment = body.blockchain_transaction_hash, world.clock.tick()
        step = world.life.add_hash(request, call.user, tx_hash, moment)
        return world.change(replace(step, **changes))

    return serve


def _pairs(*, on_ramp: bool) -> Handler:
    def serve(world: World, _: Call) -> Reply:
        named = [
            (shapes.brief(fiat, shapes.FiatName), shapes.brief(coin, shapes.CryptoName))
            for fiat, coin in pairs_of(world)
        ]
        if on_ramp:
            return result(encode([OnRampPair(from_=fiat, to=coin) for fiat, coin in named]))
        return result(encode([OffRampPair(from_=coin, to=fiat) for fiat, coin in named]))

    return serve


_LIST: Final = Listing(
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
_BY_ID: Final = "/ramp-requests/{id}"
REQUEST_ROUTES: Final = (
    list_route("/ramp-requests", _LIST, shapes.RampItem, "List the ramp requests."),
    create_route(
        "/ramp-requests", create, NewRampRequest, RampRequest,
        "Create a ramp request, awaiting approval.", 404, scope="create:ramp-request",
    ),
    read_route(
        "/ramp-requests/on-ramp/pairs", _pairs(on_ramp=True), list[OnRampPair],
        "List the possible conversions of fiat.",
    ),
    read_route(
        "/ramp-requests/off-ramp/pairs", _pairs(on_ramp=False), list[OffRampPair],
        "List the possible conversions of crypto.",
    ),
    read_route(
        _BY_ID, detail_of("ramp_request", "ramp request"), RampRequest, "Get a ramp request."
    ),
    write_route(
        f"POST {_BY_ID}/approve", decide("APPROVABLE", Life.approve, by_creator=False), Deciding,
        RampRequest, "Approve a ramp request; its creator may not.", 409,
        scope="approve:ramp-request",
    ),
    write_route(
        f"POST {_BY_ID}/reject", decide("REJECTABLE", Life.reject), Deciding, RampRequest,
        "Reject a ramp request.", 409, scope="reject:ramp-request",
    ),
    write_route(
        f"POST {_BY_ID}/cancel", decide("CANCELLABLE", Life.cancel, by_creator=True), Deciding,
        RampRequest, "Cancel a ramp request; only its creator may do so.", 409,
        scope="cancel:ramp-request",
    ),
    write_route(
        f"PUT {_BY_ID}/amount", change_amount, ChangingAmount, RampRequest,
        "Change the amount of an undecided request.", 409, scope="edit:ramp-request",
    ),
    write_route(
        f"PATCH {_BY_ID}/tx-hash", adding_hash("takes a transaction hash"), AddingHash,
        RampRequest, "Submit the hash of the crypto transaction.", 409, scope="edit:ramp-request",
    ),
)  # fmt: skip
