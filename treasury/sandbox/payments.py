"""Payment requests: an amount on a card, reserved in the wallet of the card's account.

Which account a card belongs to is nowhere specified: here a card whose reference is an account's id
or externalId belongs to that account, and every other card to the first account that holds USDC.
The provider settles or reverses a request; no operation of the specification does.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.money import net_crypto
from treasury.sandbox.finance_bodies import PaymentRequestBody, amount_of_number
from treasury.sandbox.finance_records import (
    account_named,
    account_of,
    is_verified,
    move,
    spendable,
    usable,
)
from treasury.sandbox.http import Call, Refusal, Reply, missing, result
from treasury.sandbox.ledger import WORLD, Posting, available, reserved
from treasury.sandbox.rates import payout_rate
from treasury.sandbox.shapes import Account, Shape, decode, encode, number, zulu
from treasury.sandbox.store import make_record
from treasury.sandbox.world import World

__all__ = [
    "BothAmounts",
    "Execution",
    "PaymentRequest",
    "create_payment",
    "reverse_payment",
    "settle_payment",
]

_ASSET: Final = "USDC"
_RATES: Final = {"USD": Decimal(1), "EUR": payout_rate(_ASSET)}


class BothAmounts(Shape, frozen=True, kw_only=True):
    """An amount on the card and in coins: a number and a decimal string."""

    fiat: Decimal
    crypto: str


class Execution(Shape, frozen=True, kw_only=True):
    """A step on the chain."""

    id: str
    wallet_pair_id: str
    type: str
    chain: str
    asset: str
    amount: Decimal
    exchange_rate: Decimal
    status: str
    transaction_hash: str
    created_at: str
    updated_at: str


class PaymentRequest(Shape, frozen=True, kw_only=True):
    """A payment request as it is answered."""

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
    reversal_reason: str | None = None
    created_at: str
    updated_at: str


def create_payment(world: World, call: Call) -> Reply:
    """POST /payment-requests."""
    body = call.read(PaymentRequestBody)
    asked = body.payment_request
    fiat, rate = amount_of_number(asked.amount, asked.currency), _RATES[asked.currency]
    account = _account_of_card(world, body.card_provider_reference.reference_id)
    usable(account)
    if not is_verified(account):
        raise Refusal(422, "KYC_NOT_VERIFIED", "The account's party is not verified.")
    coins, now = net_crypto(fiat, Decimal(0), rate, _ASSET), zulu(world.clock.tick())
    both = BothAmounts(fiat=number(fiat), crypto=f"{coins:.6f}")
    execution = Execution(
        id=world.ids.uuid(), wallet_pair_id=world.ids.uuid(), type="AUTHORIZATION",
        chain=account.chain, asset=_ASSET, amount=number(coins), exchange_rate=number(rate),
        status="RESERVED", transaction_hash=world.ids.hash(), created_at=now, updated_at=now,
    )  # fmt: skip
    payment = PaymentRequest(
        id=world.ids.uuid(), account_id=account.id, amount=both, original_amount=both,
        currency=asked.currency, external_id=asked.external_id, description=asked.description,
        status="RESERVED", executions=[execution], created_at=now, updated_at=now,
    )  # fmt: skip
    _reserve(world, account, payment.id, coins)
    return result(encode(_put(world, payment)), 201)


def settle_payment(world: World, payment_id: str) -> PaymentRequest:
    """The card scheme takes the reserved amount."""
    payment = _reserved(world, payment_id)
    for place, asset, amount in world.ledger.under_way(payment.id):
        move(world, "deliver", payment.id, Posting(place, WORLD, asset, amount))
    return _stand_at(world, payment, "SETTLED", settled_amount=payment.amount)


def reverse_payment(world: World, payment_id: str, reason: str) -> PaymentRequest:
    """The reserved amount is given back."""
    payment = _reserved(world, payment_id)
    for place, asset, amount in world.ledger.under_way(payment.id):
        back = available(place.split("/")[1])
        move(world, "give_back", payment.id, Posting(place, back, asset, amount))
    return _stand_at(world, payment, "REVERSED", reversal_reason=reason)


def _account_of_card(world: World, reference: str) -> Account:
    named = account_named(world, reference)
    if named is not None:
        return named
    if world.store.detail("account", reference) is not None:
        return account_of(world, reference)
    accounts = (decode(item, Account) for item in world.store.page("account", {}).items)
    holder = next((a for a in accounts if spendable(world, a.id, _ASSET)), None)
    if holder is None:
        raise missing("card")
    return holder


def _reserve(world: World, account: Account, reference: str, coins: Decimal) -> None:
    found = spendable(world, account.id, _ASSET)
    if found is None:
        raise Refusal(402, "INSUFFICIENT_FUNDS", f"Balance too low: the account has no {_ASSET}.")
    wallet, _ = found
    posting = Posting(available(wallet.id), reserved(wallet.id), _ASSET, coins)
    move(world, "reserve", reference, posting, lacking=402)


def _reserved(world: World, payment_id: str) -> PaymentRequest:
    text = world.store.detail("payment_request", payment_id)
    if text is None:
        raise missing("payment request")
    payment = decode(text, PaymentRequest)
    if payment.status != "RESERVED":
        raise Refusal(409, "CONFLICT", f"The payment request is {payment.status}.")
    return payment


def _stand_at(world: World, payment: PaymentRequest, status: str, **more: Any) -> PaymentRequest:
    now = zulu(world.clock.now)
    return _put(world, msgspec.structs.replace(payment, status=status, updated_at=now, **more))


def _put(world: World, payment: PaymentRequest) -> PaymentRequest:
    world.store.put([make_record("payment_request", payment, owner=payment.account_id)])
    return payment
