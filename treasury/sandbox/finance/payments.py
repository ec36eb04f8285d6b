"""Payment requests, which reserve an amount for a card payment in a wallet.

The specification does not state to which account a card belongs. Here it is the account created
with the card, or the account with an id or externalId equal to the card's reference; any other card
gives a 404. The provider settles or reverses a request: the specification has no operation for
this. The operations of the published generation (profile `b`) are in `published_payments`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from treasury.core.money import net_crypto
from treasury.sandbox.finance import finance_records
from treasury.sandbox.finance.finance_records import account_named, account_of, move, spendable
from treasury.sandbox.http.body_fields import JsonBody, Key, Long, Number, Text, amount_of_number
from treasury.sandbox.http.exchange import Call, Refusal, missing, stored
from treasury.sandbox.http.idempotency import create_route
from treasury.sandbox.state.ledger import WORLD, Posting, available, reserved
from treasury.sandbox.state.shapes import Account, Shape, number, zulu
from treasury.sandbox.state.store import Record, make_record
from treasury.sandbox.story.rates import payout_rate
from treasury.sandbox.story.world import World

ASSET: Final = "USDC"
"""The asset that pays for every card payment."""
_RATES: Final = {"USD": Decimal(1), "EUR": payout_rate(ASSET)}


class CardReference(JsonBody, frozen=True, kw_only=True):
    """The card of a payment request; its type may be any text and is case-sensitive."""

    type: Long
    reference_id: Long


class PaymentBody(JsonBody, frozen=True, kw_only=True):
    """The payment in the body of a payment request."""

    amount: Number
    currency: Literal["EUR", "USD"]
    idempotency_key: Key
    external_id: Long | None = None
    description: Text | None = None


class PaymentRequestBody(JsonBody, frozen=True, kw_only=True):
    """The body of a new payment request."""

    card_provider_reference: CardReference
    payment_request: PaymentBody


class BothAmounts(Shape, frozen=True, kw_only=True):
    """An amount in fiat (a number) and in coins (a decimal string)."""

    fiat: Decimal
    crypto: str


class Execution(Shape, frozen=True, kw_only=True):
    """A step of a payment request, such as its authorisation, with its blockchain transaction."""

    id: str
    wallet_pair_id: str
    type: str
    chain: str
    asset: str
    amount: Decimal
    exchange_rate: Decimal
    status: str
    transaction_hash: str | None = None
    error_message: str | None = None
    created_at: str
    updated_at: str


class PaymentRequest(Shape, frozen=True, kw_only=True):
    """A payment request in an answer."""

    id: str
    account_id: str
    amount: BothAmounts
    original_amount: BothAmounts
    currency: str
    external_id: str | None = None
    description: str | None = None
    status: str
    executions: list[Execution]
    settlement_amount: BothAmounts | None = None
    settled_amount: BothAmounts | None = None
    shortfall_amount: BothAmounts | None = None
    settled_at: str | None = None
    reversal_reason: str | None = None
    reversal_description: str | None = None
    reversed_at: str | None = None
    created_at: str
    updated_at: str


def create_payment(world: World, call: Call) -> PaymentRequest:
    """POST /payment-requests: reserve an amount for a card."""
    body = call.read(PaymentRequestBody)
    body_payment, card = body.payment_request, body.card_provider_reference
    reference = card.reference_id
    owner = world.store.owner("card", f"{card.type}/{reference}")
    account = account_named(world, reference) if owner is None else account_of(world, owner)
    if account is None:
        if world.store.detail("account", reference) is None:
            raise missing("card")
        account = account_of(world, reference)
    payment = create_for(
        world, account, body_payment.amount, body_payment.currency,
        external_id=body_payment.external_id, description=body_payment.description,
    )  # fmt: skip
    record = Record(
        kind="payment_card", id=payment.id, item=payment.id, detail=payment.id, type=card.type,
        peer=reference, reference=payment.external_id or "",
    )  # fmt: skip
    world.store.put([record])
    return payment


def create_for(
    world: World,
    account: Account,
    amount: msgspec.Raw,
    currency: str,
    *,
    external_id: str | None,
    description: str | None,
) -> PaymentRequest:
    """Create a payment request for an account, and reserve its amount."""
    fiat, rate = amount_of_number(amount, currency), _RATES[currency]
    finance_records.require_active(account)
    if not finance_records.is_verified(account):
        raise Refusal(422, "KYC_NOT_VERIFIED", "The account's party is not verified.")
    both, now = both_amounts(fiat, currency), zulu(world.clock.tick())
    coins = Decimal(both.crypto)
    execution = Execution(
        id=world.ids.uuid(), wallet_pair_id=world.ids.uuid(), type="AUTHORIZATION",
        chain=account.chain, asset=ASSET, amount=number(coins), exchange_rate=number(rate),
        status="RESERVED", transaction_hash=world.ids.hash(), created_at=now, updated_at=now,
    )  # fmt: skip
    payment = PaymentRequest(
        id=world.ids.uuid(), account_id=account.id, amount=both, original_amount=both,
        currency=currency, external_id=external_id, description=description, status="RESERVED",
        executions=[execution], created_at=now, updated_at=now,
    )  # fmt: skip
    reserve_coins(world, account.id, payment.id, coins)
    return put_payment(world, payment)


def both_amounts(fiat: Decimal, currency: str) -> BothAmounts:
    """Return an amount in fiat, and in coins at a fixed rate."""
    coins = net_crypto(fiat, Decimal(0), _RATES[currency], ASSET)
    return BothAmounts(fiat=number(fiat), crypto=f"{coins:.6f}")


def settle_payment(world: World, payment_id: str) -> PaymentRequest:
    """Settle up to the reserved amount at the card scheme, and release the rest."""
    payment = _in_status(world, payment_id, "RESERVED", "SETTLING")
    requested = payment.settlement_amount or payment.amount
    is_short = Decimal(requested.crypto) > Decimal(payment.amount.crypto)
    settled = payment.amount if is_short else requested
    for place, asset, amount in world.ledger.under_way(payment.id):
        coins = Decimal(settled.crypto)
        move(world, "deliver", payment.id, Posting(place, WORLD, asset, coins))
        if amount > coins:
            back = Posting(place, available(place.split("/")[1]), asset, amount - coins)
            move(world, "give_back", payment.id, back)
    changes: dict[str, Any] = {"settled_amount": settled, "settled_at": zulu(world.clock.now)}
    if is_short:
        changes["shortfall_amount"] = both_amounts(requested.fiat - settled.fiat, payment.currency)
    ended = "SETTLED_WITH_SHORTFALL" if is_short else "SETTLED"
    return _set_status(world, payment, ended, "SETTLED", **changes)


def reverse_payment(world: World, payment_id: str, reason: str) -> PaymentRequest:
    """Reverse a payment request, which releases its reserved amount."""
    payment = _in_status(world, payment_id, "RESERVED", "REVERSING")
    for place, asset, amount in world.ledger.under_way(payment.id):
        back = available(place.split("/")[1])
        move(world, "give_back", payment.id, Posting(place, back, asset, amount))
    changes = {"reversal_reason": reason, "reversed_at": zulu(world.clock.now)}
    return _set_status(world, payment, "REVERSED", "REVERSED", **changes)


def keep_card(world: World, account_id: str, card: CardReference) -> None:
    """Store which account a card belongs to."""
    name = f"{card.type}/{card.reference_id}"
    world.store.put([Record(kind="card", id=name, item="", detail="{}", owner=account_id)])


def find_payment(world: World, card_type: str, card: str, external_id: str) -> str | None:
    """Return the id of a card's latest payment request with this external id."""
    where = {"type": [card_type], "peer": [card], "reference": [external_id]}
    ids = world.store.page("payment_card", where, descending=True, limit=1).items
    return ids[0] if ids else None


def reserve_coins(world: World, account_id: str, reference: str, coins: Decimal) -> None:
    """Reserve an account's coins for a payment request. Raises a 402 if there are too few."""
    holding = spendable(world, account_id, ASSET)
    if holding is None:
        raise Refusal(402, "INSUFFICIENT_FUNDS", f"Balance too low: the account has no {ASSET}.")
    wallet, _ = holding
    posting = Posting(available(wallet.id), reserved(wallet.id), ASSET, coins)
    move(world, "reserve", reference, posting, lacking=402)


def payment_of(world: World, payment_id: str) -> PaymentRequest:
    """Return a payment request by its id. Raises a 404 if it does not exist."""
    return stored(world, "payment_request", payment_id, PaymentRequest)


def _in_status(world: World, payment_id: str, *statuses: str) -> PaymentRequest:
    payment = payment_of(world, payment_id)
    if payment.status not in statuses:
        raise Refusal(409, "CONFLICT", f"The payment request is {payment.status}.")
    return payment


def _set_status(
    world: World, payment: PaymentRequest, status: str, step: str, **more: Any
) -> PaymentRequest:
    """Set the final status of the request and of its open transactions."""
    now = zulu(world.clock.now)
    steps = [
        replace(execution, status=step, updated_at=now)
        if execution.status in {"PENDING", "RESERVED"}
        else execution
        for execution in payment.executions
    ]
    changed = replace(payment, status=status, executions=steps, updated_at=now, **more)
    return put_payment(world, changed)


def put_payment(world: World, payment: PaymentRequest) -> PaymentRequest:
    """Write a payment request."""
    world.store.put([make_record("payment_request", payment, owner=payment.account_id)])
    return payment


PAYMENT_ROUTES: Final = (
    create_route(
        "/payment-requests", create_payment, PaymentRequestBody, PaymentRequest,
        "Reserve an amount for a card.", 402, 404,
    ),
)  # fmt: skip
