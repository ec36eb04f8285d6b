"""What only the platform or the world does on the ramp side, done by whoever practises.

Each driver is one act: it moves requests, books the bank's lines that belong to the move, and puts
on the agenda what follows by itself when the company's clock gets there. Money sent on-ramp is seen
by the service on the next TARGET day (an instant wire within hours); it is placed only where the
text names the request and no more than a cent is missing. A driver that cannot be says so.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Final, Literal, TypeVar

import msgspec

from treasury.calendar import is_target_day, next_target_day
from treasury.errors import InputError
from treasury.ground.decoding import convert, decode_json
from treasury.sandbox.http.exchange import Refusal
from treasury.sandbox.ramp import company_records
from treasury.sandbox.ramp.company_records import Verification, company_bank_account, verify
from treasury.sandbox.ramp.deposits import DepositDrivers
from treasury.sandbox.ramp.people import accept_invitation
from treasury.sandbox.ramp.ramp_requests import next_reference
from treasury.sandbox.state import shapes
from treasury.sandbox.state.clock import at
from treasury.sandbox.state.shapes import Company, CompanyBankAccount, CompanyWallet, RampRequest
from treasury.sandbox.story.bank import carries_code, cents
from treasury.sandbox.story.lines import Expectation, Line
from treasury.sandbox.story.mangle import Text
from treasury.sandbox.story.world import World

__all__ = ["RampDrivers"]

_ARRIVE: Final = "ramp_request.funds_arrive"
_FINISH: Final = "ramp_request.finish"
_LIVE: Final = ("AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING", "BLOCKED")
_CENT: Final = Decimal("0.01")
_LARGEST_RUN: Final = 100

T = TypeVar("T")


class _Arrival(msgspec.Struct, frozen=True):
    """Fiat on its way to the service."""

    request_id: str
    amount: Decimal
    names_request: bool = msgspec.field(name="named")


class RampDrivers(DepositDrivers):
    """The ramp's platform, its banks and its chains."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        company_records.schedule_reviews(world)
        world.agenda.on(_ARRIVE, self._arrive)
        world.agenda.on(_FINISH, self._finish)

    # the company

    def kyb(self, status: Literal["PENDING", "VERIFIED", "DENIED"]) -> Company:
        """The company's own verification comes to a result."""
        with self._world.act():
            company = shapes.decode(self._world.store.page("company", {}).items[0], Company)
            return self._world.keep(msgspec.structs.replace(company, kyb_status=status))

    def verify_bank_account(
        self,
        bank_account_id: str,
        status: Verification = "VERIFIED",
    ) -> CompanyBankAccount:
        """The review of a company bank account comes to a result, ahead of its time."""
        with self._world.act():
            account = _read_record(company_bank_account, self._world, bank_account_id)
            return verify(self._world, account, status)

    def verify_wallet(
        self,
        wallet_id: str,
        status: Verification = "VERIFIED",
    ) -> CompanyWallet:
        """A company wallet is proved, or is not."""
        with self._world.act():
            wallet = _read_record(company_records.company_wallet, self._world, wallet_id)
            return verify(self._world, wallet, status)

    def accept_invitation(self, email: str) -> shapes.User:
        """An invited user follows the address in the mail."""
        with self._world.act():
            user = accept_invitation(self._world, email)
            if user is None:
                raise InputError(f"nobody is invited as {email}", do="invite that address first")
            return user

    def payment_run(self, count: int = 10) -> list[RampRequest]:
        """On-ramp requests of the last TARGET day, approved, of which no wire has left.

        Each is of EUR 500 more than the one before, from EUR 2,500 on.
        """
        if not 1 <= count <= _LARGEST_RUN:
            raise InputError(
                f"a payment run is of 1 to {_LARGEST_RUN} requests", do="give such a count"
            )
        world, users = self._world, self._world.cast.users
        with world.act():
            day = world.clock.today - timedelta(days=1)
            while not is_target_day(day):
                day -= timedelta(days=1)
            made, rate = [], world.quotes.rate("USDC", day)
            for number in range(count):
                asked = at(day, "10:00") + timedelta(minutes=number)
                request = world.life.create(
                    "ON_RAMP", Decimal(2_500 + 500 * number), rate, "USDC",
                    reference=next_reference(world), user=users["maker"], at=asked,
                )  # fmt: skip
                approved = asked + timedelta(minutes=30)
                made.append(world.change(world.life.approve(request, users["checker"], approved)))
            return made

    # what the company does outside the service

    def fund(
        self,
        request_id: str,
        amount: Decimal | None = None,
        text: str | None = None,
        *,
        instant: bool = False,
    ) -> Line:
        """Send the wire for an on-ramp request: a debit on the operating account.

        Whatever the request's status; `text` replaces the payment reference.
        """
        with self._world.act():
            request = self._in_euros(request_id)
            sent = cents(request.fiat_amount if amount is None else amount)
            reference = request.payment_reference if text is None else text
            day = self._world.bank.day(self._world.clock.today)
            line = self._line(
                request, account=self._world.cast.funding_iban, booked=day, amount=sent,
                direction="DBIT", text=Text((reference,) if reference else ()),
                bank_code="PMNT/IRCT/ESCT" if instant else "PMNT/ICDT/ESCT",
            )  # fmt: skip
            due = self._world.clock.now + timedelta(hours=4)
            if not instant:
                due = at(next_target_day(day), "10:30")
            arrival = _Arrival(request.id, sent, line.unbroken)
            self._world.agenda.add(due, _ARRIVE, msgspec.json.encode(arrival).decode())
            return line

    def return_wire(self, request_id: str, reason: str = "AC04") -> Line:
        """The last wire for an on-ramp request comes back, with a reason of ISO 20022."""
        with self._world.act():
            request = self._of_type(request_id, "ON_RAMP")
            wires = (
                line
                for line in reversed(self._world.bank.lines)
                if line.expectation is not None and line.expectation.id == request.id
                if line.direction == "DBIT"
            )
            sent = next(wires, None)
            if sent is None:
                raise InputError(
                    f"no wire was sent for {request.payment_reference}",
                    do="send one with fund first",
                )
            back = msgspec.structs.replace(
                sent, booked=self._world.bank.day(self._world.clock.today), direction="CRDT",
                bank_code="PMNT/ICDT/RRTN", return_reason=reason, returned=True,
                note="return of the wire",
            )  # fmt: skip
            return self._world.bank.book(back)

    def refund(
        self, request_id: str, amount: Decimal | None = None, text: str | None = None
    ) -> Line:
        """The provider sends money for an on-ramp request back by an ordinary credit."""
        with self._world.act():
            request = self._in_euros(request_id)
            reference = f"Refund {request.payment_reference}" if text is None else text
            return self._line(
                request, account=self._world.cast.funding_iban,
                booked=self._world.bank.day(self._world.clock.today),
                amount=cents(request.fiat_amount if amount is None else amount), direction="CRDT",
                text=Text((reference,) if reference else ()), contradiction="direction",
                note="refund",
            )  # fmt: skip

    # what the platform does

    def receive(self, request_id: str, amount: Decimal | None = None) -> RampRequest:
        """The service sees the funds, fiat or crypto, and goes to work."""
        with self._world.act():
            request = self._in_status(request_id, "AWAITING_FUNDS")
            on_ramp = request.ramp_type == "ON_RAMP"
            expected = request.fiat_amount if on_ramp else request.crypto_amount
            return self._receive(request, expected if amount is None else amount)

    def complete(self, request_id: str) -> RampRequest:
        """The crypto is delivered, or the fiat paid out: then it is on the statement too."""
        with self._world.act():
            return self._complete(self._in_status(request_id, "PROCESSING"))

    def fail(self, request_id: str) -> RampRequest:
        """The service could not carry the request out."""
        with self._world.act():
            request = self._in_status(request_id, "AWAITING_FUNDS", "PROCESSING")
            return self._world.change(self._world.life.fail(request, self._world.clock.tick()))

    def deny(self, request_id: str) -> RampRequest:
        """The platform turns the request down."""
        with self._world.act():
            request = self._in_status(request_id, *_LIVE)
            return self._world.change(self._world.life.deny(request, self._world.clock.tick()))

    def block(self, request_id: str) -> RampRequest:
        """The platform holds the request."""
        with self._world.act():
            request = self._in_status(request_id, *_LIVE[:-1])
            return self._world.change(self._world.life.block(request, self._world.clock.tick()))

    def release(self, request_id: str) -> RampRequest:
        """The platform lets a held request go on where it was."""
        with self._world.act():
            request = self._in_status(request_id, "BLOCKED")
            released = self._world.life.release(request, self._world.clock.tick())
            if released.status == "PROCESSING":
                self._schedule_finish(released)
            return self._world.change(released)

    # steps

    def _arrive(self, subject: str) -> None:
        arrival = decode_json(subject, _Arrival)
        request = self._request(arrival.request_id)
        enough = arrival.amount >= request.fiat_amount - _CENT
        if request.status == "AWAITING_FUNDS" and arrival.names_request and enough:
            self._receive(request, arrival.amount)

    def _finish(self, request_id: str) -> None:
        request = self._request(request_id)
        if request.status == "PROCESSING":
            self._complete(request)

    def _receive(self, request: RampRequest, amount: Decimal) -> RampRequest:
        moment = self._world.clock.tick()
        request = self._world.change(self._world.life.receive(request, amount, moment))
        self._schedule_finish(request)
        return request

    def _schedule_finish(self, request: RampRequest) -> None:
        clock = self._world.clock
        due = clock.now + timedelta(minutes=70)
        if request.ramp_type == "OFF_RAMP":
            due = at(next_target_day(clock.today), "11:00")
        self._world.agenda.add(due, _FINISH, request.id)

    def _complete(self, request: RampRequest) -> RampRequest:
        request = self._world.life.complete(request, self._world.clock.tick())
        bank = request.company_bank_account
        if bank is not None and bank.iban and request.fiat_currency.currency == "EUR":
            self._line(
                request, account=bank.iban, booked=self._world.bank.day(self._world.clock.today),
                amount=cents(request.fiat_net_amount), direction="CRDT",
                text=Text((request.payment_reference,)),
            )  # fmt: skip
        return self._world.change(request)

    # parts

    def _of_type(self, request_id: str, ramp_type: str) -> RampRequest:
        request = self._request(request_id)
        if request.ramp_type != ramp_type:
            raise InputError(
                f"{request.payment_reference} is {request.ramp_type}",
                do=f"name a request that is {ramp_type}",
            )
        return request

    def _in_euros(self, request_id: str) -> RampRequest:
        """An on-ramp in euros: only its wire is on a statement."""
        request = self._of_type(request_id, "ON_RAMP")
        currency = request.fiat_currency.currency
        if currency != "EUR":
            raise InputError(
                f"{request.payment_reference} is in {currency}, and no statement is",
                do="let the service see the funds with receive",
            )
        return request

    def _line(self, request: RampRequest, **fields: object) -> Line:
        text = fields["text"]
        assert isinstance(text, Text)
        unbroken = carries_code(" ".join(text.remittance), request.payment_reference)
        defaults: dict[str, object] = {
            "other": self._world.cast.operator,
            "expectation": Expectation(
                "on_ramp" if request.ramp_type == "ON_RAMP" else "off_ramp",
                request.id,
                request.payment_reference,
            ),
            "mangling": "plain" if text.remittance == (request.payment_reference,) else "none",
            "unbroken": unbroken,
            "ceiling": "auto" if unbroken else "suggest",
        }
        line = convert(defaults | fields, Line)
        return self._world.bank.book(line)


def _read_record(find: Callable[[World, str], T], world: World, record_id: str) -> T:
    try:
        return find(world, record_id)
    except Refusal as refusal:
        raise InputError(refusal.message, do="take an id that the service lists") from None
