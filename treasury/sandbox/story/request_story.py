"""Executes the plans: each ramp request's steps at the service, and its bank lines.

The company approves within an hour, sends wires from its operating account and receives payouts on
its payout account. The service receives standard SEPA payments on the next TARGET day; the event
PAYMENT_RECEIVED follows the bank's booking date.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from treasury.core.calendar import add_target_days, next_target_day
from treasury.sandbox.state.clock import at
from treasury.sandbox.state.ids import Ids
from treasury.sandbox.state.shapes import RampRequest
from treasury.sandbox.story.cast import PAYOUT_IBAN, USERS, Cast
from treasury.sandbox.story.lines import Book, Expectation, Line
from treasury.sandbox.story.mangle import MANGLINGS, Text
from treasury.sandbox.story.plans import Plan
from treasury.sandbox.story.request_life import Life


class Funding(msgspec.Struct, frozen=True):
    """The funding state, in an analyst's words, of a request that awaits funds on 2 November."""

    id: str
    payment_reference: str
    state: str
    note: str


class Desk:
    """The company's treasury desk and the service, executing one plan after another."""

    def __init__(self, cast: Cast, life: Life, ids: Ids, random: Random, book: Book) -> None:
        self._cast = cast
        self._life = life
        self._ids = ids
        self._random = random
        self._book = book
        self._sent = 0
        self._reference = 4416
        self.fundings: list[Funding] = []

    def carry_out(self, plan: Plan) -> RampRequest:
        """Execute a plan and book its bank lines; return the request at the end of the story."""
        rate = plan.rate or Decimal(1)
        if plan.rate is None and plan.asset == "USDC":
            rate = Decimal("0.9231") + Decimal(self._random.randrange(-60, 61)) / 10000
        request = self._life.create(
            plan.ramp_type, plan.amount, rate, plan.asset, reference=self.next_reference(),
            user=USERS["maker"], at=at(plan.day, plan.clock), id=plan.id,
        )  # fmt: skip
        return _OUTCOMES[plan.outcome](self, plan, request)

    def next_reference(self) -> str:
        """Return the next payment reference; other companies use the skipped numbers."""
        self._reference += 1 if self._reference < 4418 else self._random.randrange(2, 12)
        return f"PAY-2026-{self._reference:06d}"

    def _approve(self, plan: Plan, request: RampRequest) -> RampRequest:
        moment = at(plan.day, plan.clock) + timedelta(minutes=self._random.randrange(15, 55))
        return self._life.approve(request, USERS["checker"], moment)

    def _add_hash(self, plan: Plan, request: RampRequest) -> RampRequest:
        moment = at(plan.day, plan.clock) + timedelta(minutes=self._random.randrange(60, 100))
        return self._life.add_hash(request, USERS["maker"], self._ids.hash(), moment)

    def _morning(self, day: date) -> datetime:
        return at(day, f"{self._random.randrange(9, 12):02d}:{self._random.randrange(60):02d}")

    def _settle(self, request: RampRequest, amount: Decimal, day: date) -> RampRequest:
        moment = self._morning(day)
        request = self._life.receive(request, amount, moment)
        later = moment + timedelta(minutes=self._random.randrange(40, 120))
        return self._life.complete(request, later)

    def _text(self, request: RampRequest, mangling: str, name: str) -> Text:
        invoice = self._random.randrange(1000, 9999)
        text = MANGLINGS[mangling].write(request.payment_reference, invoice)
        return replace(text, end_to_end_id=text.end_to_end_id or name)

    def _wire(self, plan: Plan, request: RampRequest, day: date, **more: Any) -> Line:
        """Return the wire that funds an on-ramp request."""
        self._sent += 1
        mangling = MANGLINGS[plan.mangling]
        defaults: dict[str, Any] = {
            "expectation": Expectation("on_ramp", request.id, request.payment_reference),
            "mangling": mangling.name, "unbroken": mangling.unbroken, "ceiling": mangling.ceiling,
            "note": plan.note, "bank_code": "PMNT/ICDT/ESCT",
        }  # fmt: skip
        return Line(
            account=self._cast.funding_iban, booked=day,
            amount=_cents(request.fiat_amount + plan.paid), direction="DBIT",
            counterparty=self._cast.operator,
            text=self._text(request, plan.mangling, f"HLT{day:%y%m%d}-{self._sent:04d}"),
            **(defaults | more),
        )  # fmt: skip

    def _refund(self, line: Line, day: date, text: Text, **more: Any) -> Line:
        """Return the provider's refund of a wire: an ordinary credit instead of a return."""
        return Line(
            account=line.account, booked=day, amount=line.amount, direction="CRDT",
            counterparty=self._cast.operator, text=text, **more,
        )  # fmt: skip

    def settled(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Fund and settle the request; for an off-ramp, book the payout unless it is missing."""
        request = self._approve(plan, request)
        if plan.ramp_type == "OFF_RAMP":
            request = self._add_hash(plan, request)
            settled_on = next_target_day(plan.day)
            request = self._settle(request, request.crypto_amount, settled_on)
            arrived, equal = settled_on, "equal" in plan.note
            if not equal and self._random.random() >= 0.5:
                arrived = next_target_day(settled_on)
            if plan.outcome != "payout_missing":
                mangling = MANGLINGS[plan.mangling]
                self._book.add(Line(
                    account=PAYOUT_IBAN, booked=arrived, direction="CRDT",
                    amount=_cents(request.fiat_net_amount + plan.paid),
                    counterparty=self._cast.operator,
                    text=self._text(request, plan.mangling, ""),
                    expectation=Expectation("off_ramp", request.id, request.payment_reference),
                    mangling=mangling.name, unbroken=mangling.unbroken,
                    ceiling="never" if equal else mangling.ceiling, note=plan.note,
                ))  # fmt: skip
            return request
        sent = plan.day if self._random.random() < 0.6 else next_target_day(plan.day)
        line = self._wire(plan, request, sent)
        self._book.add(line)
        return self._settle(request, line.amount, next_target_day(sent))

    def same_day(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Fund the request by an instant wire and settle it within hours."""
        request = self._life.approve(request, USERS["checker"], at(plan.day, "11:20"))
        line = self._wire(plan, request, plan.day, bank_code="PMNT/IRCT/ESCT")
        self._book.add(line)
        request = self._life.receive(request, line.amount, at(plan.day, "15:02"))
        return self._life.complete(request, at(plan.day, "16:15"))

    def paid_twice(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Send the wire twice; the provider refunds the second one, naming the request."""
        request = self._approve(plan, request)
        again = next_target_day(plan.day)
        first = self._wire(plan, request, plan.day)
        second = self._wire(
            plan, request, again, duplicate=True, ceiling="never", note="second wire"
        )
        refund = self._refund(
            second, add_target_days(again, 4), Text((f"Refund {request.payment_reference}",)),
            expectation=second.expectation, mangling="after_words", unbroken=True,
            contradiction="direction", note="refund of the second wire",
        )  # fmt: skip
        self._book.add(first, second, refund)
        return self._settle(request, first.amount, again)

    def cancelled_paid(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Cancel the request but pay it; the refund does not name the request."""
        moment = at(plan.day, plan.clock) + timedelta(minutes=35)
        request = self._life.cancel(request, USERS["maker"], moment)
        line = self._wire(
            plan, request, next_target_day(plan.day),
            contradiction="status", ceiling="never", note="paid after it was cancelled",
        )  # fmt: skip
        refund = self._refund(
            line, add_target_days(plan.day, 6), Text(("Refund of unallocated payment",)),
            mangling="missing", ceiling="suggest", note="refund that names no original",
        )  # fmt: skip
        self._book.add(line, refund)
        return request

    def wire_returned(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Send the wire; two TARGET days later the bank returns it with a reason."""
        request = self._approve(plan, request)
        sent = self._wire(plan, request, plan.day, returned=True, ceiling="never", note="came back")
        back = replace(
            sent, booked=add_target_days(plan.day, 2), direction="CRDT",
            bank_code="PMNT/ICDT/RRTN", return_reason="AC04", note="return of the wire",
        )  # fmt: skip
        self._book.add(sent, back)
        return self._open(request, "RETURNED", "AC04: closed account number")

    def awaited(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Approve the request without funding it; for `hash_given`, submit the transaction hash."""
        request = self._approve(plan, request)
        if plan.outcome == "hash_given":
            request = self._add_hash(plan, request)
        return self._open(request, _AWAITED[plan.outcome], plan.note)

    def sent_silent(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Send the wire; the service does not react."""
        request = self._approve(plan, request)
        self._book.add(self._wire(plan, request, next_target_day(plan.day)))
        return self._open(request, "SENT", "service silent, late since 31 October")

    def paid_short(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Send a wire for less than the ordered amount; the service still awaits funds."""
        request = self._approve(plan, request)
        self._book.add(self._wire(plan, request, plan.day, note="EUR 12.00 short"))
        return self._open(request, "SENT WRONG", "EUR 12.00 short")

    def processing(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Fund the request, and leave it in status PROCESSING."""
        request = self._approve(plan, request)
        amount = request.crypto_amount
        if plan.ramp_type == "OFF_RAMP":
            request = self._add_hash(plan, request)
        else:
            line = self._wire(plan, request, plan.day)
            self._book.add(line)
            amount = line.amount
        return self._life.receive(request, amount, self._morning(add_target_days(plan.day, 2)))

    def stopped(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Block or deny an on-ramp after the service has received the money, an off-ramp before."""
        request = self._approve(plan, request)
        stopped_at = self._morning(add_target_days(plan.day, 1)) + timedelta(hours=2)
        if plan.ramp_type == "OFF_RAMP":
            return self._life.deny(self._add_hash(plan, request), stopped_at)
        line = self._wire(plan, request, plan.day)
        self._book.add(line)
        request = self._life.receive(request, line.amount, stopped_at - timedelta(hours=1))
        if plan.outcome == "blocked_paid":
            return self._life.block(request, stopped_at)
        return self._life.deny(request, stopped_at)

    def closed(self, plan: Plan, request: RampRequest) -> RampRequest:
        """Cancel, reject, deny or block the request before any money moves."""
        moment = at(plan.day, plan.clock) + timedelta(minutes=self._random.randrange(20, 90))
        match plan.outcome:
            case "cancelled":
                return self._life.cancel(request, USERS["maker"], moment)
            case "rejected":
                return self._life.reject(request, USERS["checker"], moment)
            case "denied":
                return self._life.deny(request, moment)
            case _:
                return self._life.block(request, moment)

    def waiting(self, _: Plan, request: RampRequest) -> RampRequest:
        """Leave the request undecided, for the checker."""
        return request

    def _open(self, request: RampRequest, state: str, note: str) -> RampRequest:
        self.fundings.append(Funding(request.id, request.payment_reference, state, note))
        return request


def _cents(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"))


_AWAITED: Final = {"not_paid": "PAY", "send_crypto": "SEND CRYPTO", "hash_given": "HASH GIVEN"}
_OUTCOMES: Final[dict[str, Callable[[Desk, Plan, RampRequest], RampRequest]]] = {
    "settled": Desk.settled, "payout_missing": Desk.settled, "same_day": Desk.same_day,
    "paid_twice": Desk.paid_twice, "cancelled_paid": Desk.cancelled_paid,
    "wire_returned": Desk.wire_returned, "sent_silent": Desk.sent_silent,
    "paid_short": Desk.paid_short, "processing": Desk.processing, "waiting": Desk.waiting,
    **dict.fromkeys(_AWAITED, Desk.awaited),
    **dict.fromkeys(("cancelled", "rejected", "denied", "blocked"), Desk.closed),
    **dict.fromkeys(("blocked_paid", "denied_paid", "denied_sent"), Desk.stopped),
}  # fmt: skip
