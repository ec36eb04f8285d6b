"""Payment requests of the published generation: clients change, settle and reverse them.

A change names the request by its id and takes effect at once. A settlement or reversal names it by
its id, or by the card and the client's own id; it is accepted at once and executed five seconds
later, or earlier by a driver. A settlement above the reserved amount ends with a shortfall; a
smaller one releases the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from msgspec.structs import replace

from treasury.sandbox.finance import payments
from treasury.sandbox.finance.finance_records import account_of, move
from treasury.sandbox.finance.payments import PaymentRequest
from treasury.sandbox.http.body_fields import JsonBody, Long, Number, Text, amount_of_number
from treasury.sandbox.http.exchange import Call, Refusal, Write, missing
from treasury.sandbox.http.idempotency import write_route
from treasury.sandbox.state.ledger import Posting, available
from treasury.sandbox.state.shapes import number, zulu
from treasury.sandbox.story.world import World

_SETTLES: Final = "finance.payment.settles"
_REVERSES: Final = "finance.payment.reverses"
_WAIT: Final = timedelta(seconds=5)

_Currency: TypeAlias = Literal["EUR", "USD"]
_Reason: TypeAlias = Literal[
    "CUSTOMER_CANCELLATION", "MERCHANT_VOID", "ACQUIRER_FAILURE", "NETWORK_DECLINE", "OTHER"
]


class NewPayment(JsonBody, frozen=True, kw_only=True):
    """A new payment request for an account."""

    amount: Number
    currency: _Currency
    external_id: Long | None = None
    description: Text | None = None
    idempotency_key: Long


class ChangingPayment(JsonBody, frozen=True, kw_only=True):
    """A new amount for a payment request."""

    amount: Number
    currency: _Currency
    idempotency_key: Long


class Settling(ChangingPayment, frozen=True, kw_only=True):
    """A settlement by the card scheme."""


class PaymentReference(JsonBody, frozen=True, kw_only=True):
    """A reference to a payment request: its card and the client's own id."""

    card_provider_reference: payments.CardReference
    external_id: str


class SettlingByReference(Settling, frozen=True, kw_only=True):
    """A settlement by the card scheme, for a request named by its reference."""

    payment_request_reference: PaymentReference


class Reversing(JsonBody, frozen=True, kw_only=True):
    """The reason for a reversal, which releases the reserved amount."""

    reason: _Reason
    description: Text | None = None
    idempotency_key: Long


class ReversingByReference(Reversing, frozen=True, kw_only=True):
    """The reason for a reversal, for a request named by its reference."""

    payment_request_reference: PaymentReference


def create_of_account(world: World, call: Call) -> PaymentRequest:
    """POST /accounts/{accountId}/payment-requests: reserve an amount in an account."""
    account, body = account_of(world, call.path["accountId"]), call.read(NewPayment)
    return payments.create_for(
        world, account, body.amount, body.currency,
        external_id=body.external_id, description=body.description,
    )  # fmt: skip


def change_payment(world: World, call: Call) -> PaymentRequest:
    """PATCH /payment-requests/{paymentRequestId}: change the reserved amount."""
    payment, body = _reserved(world, call.path["paymentRequestId"]), call.read(ChangingPayment)
    requested = _requested_amounts(payment, body)
    more = Decimal(requested.crypto) - Decimal(payment.amount.crypto)
    if more == 0:
        return payment
    kind = "INCREMENTAL_AUTHORIZATION" if more > 0 else "AUTHORIZATION_ADJUSTMENT"
    if more > 0:
        payments.reserve_coins(world, payment.account_id, payment.id, more)
    else:
        ((place, asset, _),) = world.ledger.under_way(payment.id)
        back = Posting(place, available(place.split("/")[1]), asset, -more)
        move(world, "give_back", payment.id, back)
    step = _execution(world, payment, kind, abs(more), "RESERVED")
    changed = _with_step(payment, payment.status, step, amount=requested)
    return payments.put_payment(world, changed)


def schedule_payments(world: World) -> None:
    """Register the steps that execute accepted settlements and reversals."""

    def settles(payment_id: str) -> None:
        if payments.payment_of(world, payment_id).status == "SETTLING":
            payments.settle_payment(world, payment_id)

    def reverses(payment_id: str) -> None:
        payment = payments.payment_of(world, payment_id)
        if payment.status == "REVERSING":
            payments.reverse_payment(world, payment_id, payment.reversal_reason or "OTHER")

    world.agenda.on(_SETTLES, settles)
    world.agenda.on(_REVERSES, reverses)


def _settling(world: World, payment: PaymentRequest, body: Settling) -> PaymentRequest:
    amount = _requested_amounts(payment, body)
    step = _execution(world, payment, "SETTLEMENT", Decimal(amount.crypto), "PENDING")
    changed = _with_step(payment, "SETTLING", step, settlement_amount=amount)
    world.agenda.add(world.clock.now + _WAIT, _SETTLES, payment.id)
    return payments.put_payment(world, changed)


def _reversing(world: World, payment: PaymentRequest, body: Reversing) -> PaymentRequest:
    step = _execution(world, payment, "REVERSAL", Decimal(payment.amount.crypto), "PENDING")
    changed = _with_step(
        payment, "REVERSING", step,
        reversal_reason=body.reason, reversal_description=body.description,
    )  # fmt: skip
    world.agenda.add(world.clock.now + _WAIT, _REVERSES, payment.id)
    return payments.put_payment(world, changed)


_End: TypeAlias = Callable[[World, PaymentRequest, Any], PaymentRequest]


def _by_id(end: _End, shape: type[JsonBody]) -> Write:
    def serve(world: World, call: Call) -> PaymentRequest:
        payment = _reserved(world, call.path["paymentRequestId"])
        return end(world, payment, call.read(shape))

    return serve


def _by_reference(end: _End, shape: type[SettlingByReference | ReversingByReference]) -> Write:
    def serve(world: World, call: Call) -> PaymentRequest:
        body = call.read(shape)
        card = body.payment_request_reference.card_provider_reference
        external_id = body.payment_request_reference.external_id
        payment_id = payments.find_payment(world, card.type, card.reference_id, external_id)
        if payment_id is None:
            raise missing("payment request")
        return end(world, _reserved(world, payment_id), body)

    return serve


def _with_step(
    payment: PaymentRequest, status: str, step: payments.Execution, **changes: Any
) -> PaymentRequest:
    executions = [*payment.executions, step]
    return replace(
        payment, status=status, executions=executions, updated_at=step.updated_at, **changes
    )


def _requested_amounts(payment: PaymentRequest, body: ChangingPayment) -> payments.BothAmounts:
    """Return a body's amount in fiat and coins. Raises Refusal for another currency."""
    if body.currency != payment.currency:
        raise Refusal(400, "VALIDATION_ERROR", f"currency must be {payment.currency}.")
    return payments.both_amounts(amount_of_number(body.amount, body.currency), body.currency)


def _reserved(world: World, payment_id: str) -> PaymentRequest:
    """Return a payment request. Raises Refusal if it is or will be settled or reversed."""
    payment = payments.payment_of(world, payment_id)
    if payment.status != "RESERVED":
        raise Refusal(400, "INVALID_STATE", f"The payment request is {payment.status}.")
    return payment


def _execution(
    world: World, payment: PaymentRequest, kind: str, coins: Decimal, status: str
) -> payments.Execution:
    now, first = zulu(world.clock.tick()), payment.executions[0]
    return payments.Execution(
        id=world.ids.uuid(), wallet_pair_id=first.wallet_pair_id, type=kind, chain=first.chain,
        asset=first.asset, amount=number(coins), exchange_rate=first.exchange_rate, status=status,
        created_at=now, updated_at=now,
    )  # fmt: skip


def paying(write: Write) -> Write:
    """Return a handler that refuses unverified accounts with this generation's message."""

    def serve(world: World, call: Call) -> PaymentRequest:
        try:
            return write(world, call)
        except Refusal as refusal:
            if refusal.code == "KYC_NOT_VERIFIED":
                raise Refusal(400, "ACCOUNT_NOT_ACTIVE", "Account is not active.") from None
            raise

    return serve


_PATH: Final = "/payment-requests"
_BY_ID: Final = f"{_PATH}/{{paymentRequestId}}"
PUBLISHED_PAYMENTS: Final = (
    write_route(
        "POST /accounts/{accountId}/payment-requests", paying(create_of_account), NewPayment,
        PaymentRequest, "Reserve an amount in an account.", 402, status=201,
    ),
    write_route(
        f"POST {_PATH}/settlements", _by_reference(_settling, SettlingByReference),
        SettlingByReference, PaymentRequest, "Settle a payment request by its reference.", 404,
        status=202,
    ),
    write_route(
        f"POST {_PATH}/reversals", _by_reference(_reversing, ReversingByReference),
        ReversingByReference, PaymentRequest, "Reverse a payment request by its reference.", 404,
        status=202,
    ),
    write_route(
        f"POST {_BY_ID}/settlements", _by_id(_settling, Settling), Settling, PaymentRequest,
        "Settle a payment request.", status=202,
    ),
    write_route(
        f"POST {_BY_ID}/reversal", _by_id(_reversing, Reversing), Reversing, PaymentRequest,
        "Reverse a payment request.", status=202,
    ),
    write_route(
        f"PATCH {_BY_ID}", change_payment, ChangingPayment, PaymentRequest,
        "Reserve another amount.", 402,
    ),
)  # fmt: skip
