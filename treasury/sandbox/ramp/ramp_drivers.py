"""What only the platform or the world does on the ramp side, done by whoever practises.

Each driver is one act: it moves requests, books the bank's lines that belong to the move, and puts
on the agenda what follows by itself when the company's clock gets there. Money sent on-ramp is seen
by the service on the next TARGET day (an instant wire within hours); it is placed only where the
text names the request and no more than a cent is missing. A driver that cannot be says so.

Deposit details are given to a request when it is made, and those of that moment when it is
approved. A change reaches the requests that still wait for their funds and, where it is the
provider's own account for euros, those that are made or approved afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from treasury.core.calendar import is_target_day, next_target_day
from treasury.core.decoding import decode_json
from treasury.core.errors import InputError
from treasury.sandbox.http.exchange import Refusal
from treasury.sandbox.ramp import company_records
from treasury.sandbox.ramp.company_records import Verification, company_bank_account, verify
from treasury.sandbox.ramp.people import accept_invitation
from treasury.sandbox.ramp.ramp_requests import next_reference
from treasury.sandbox.state import shapes
from treasury.sandbox.state.clock import at
from treasury.sandbox.state.ids import is_iban
from treasury.sandbox.state.shapes import RampRequest, decode, encode
from treasury.sandbox.story.bank import carries_code, cents
from treasury.sandbox.story.lines import Expectation, Line
from treasury.sandbox.story.mangle import Text
from treasury.sandbox.story.world import DEPOSIT_BANK, World

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


def _is_in_euros(request: RampRequest) -> bool:
    return request.ramp_type == "ON_RAMP" and request.fiat_currency.currency == "EUR"


class RampDrivers:
    """The ramp's platform, its banks and its chains."""

    def __init__(self, world: World) -> None:
        self._world = world
        company_records.schedule_reviews(world)
        world.agenda.on(_ARRIVE, self._arrive)
        world.agenda.on(_FINISH, self._finish)

    # the company

    def kyb(self, status: Literal["PENDING", "VERIFIED", "DENIED"]) -> shapes.Company:
        """The company's own verification comes to a result."""
        with self._world.act() as world:
            company = decode(world.store.page("company", {}).items[0], shapes.Company)
            return world.keep(replace(company, kyb_status=status))

    def verify_bank_account(
        self, bank_account_id: str, status: Verification = "VERIFIED"
    ) -> shapes.CompanyBankAccount:
        """The review of a company bank account comes to a result, ahead of its time."""
        with self._world.act() as world:
            account = _read_record(company_bank_account, world, bank_account_id)
            return verify(world, account, status)

    def verify_wallet(
        self, wallet_id: str, status: Verification = "VERIFIED"
    ) -> shapes.CompanyWallet:
        """A company wallet is proved, or is not."""
        with self._world.act() as world:
            wallet = _read_record(company_records.company_wallet, world, wallet_id)
            return verify(world, wallet, status)

    def accept_invitation(self, email: str) -> shapes.User:
        """An invited user follows the address in the mail."""
        with self._world.act() as world:
            user = accept_invitation(world, email)
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
        with self._world.act() as world:
            users, day = world.cast.users, world.clock.today - timedelta(days=1)
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
        with self._world.act() as world:
            request = self._in_euros(request_id)
            line = self._line(
                request, request.fiat_amount if amount is None else amount,
                request.payment_reference if text is None else text, direction="DBIT",
                bank_code="PMNT/IRCT/ESCT" if instant else "PMNT/ICDT/ESCT",
            )  # fmt: skip
            due = world.clock.now + timedelta(hours=4)
            if not instant:
                due = at(next_target_day(line.booked), "10:30")
            arrival = _Arrival(request.id, line.amount, line.unbroken)
            world.agenda.add(due, _ARRIVE, msgspec.json.encode(arrival).decode())
            return line

    def return_wire(self, request_id: str, reason: str = "AC04") -> Line:
        """The last wire for an on-ramp request comes back, with a reason of ISO 20022."""
        with self._world.act() as world:
            request = self._of_type(request_id, "ON_RAMP")
            wires = [
                line
                for line in world.bank.lines
                if line.expectation is not None and line.expectation.id == request.id
                if line.direction == "DBIT"
            ]
            if not wires:
                raise InputError(
                    f"no wire was sent for {request.payment_reference}",
                    do="send one with fund first",
                )
            back = replace(
                wires[-1], booked=world.bank.day(world.clock.today), direction="CRDT",
                bank_code="PMNT/ICDT/RRTN", return_reason=reason, returned=True,
                note="return of the wire",
            )  # fmt: skip
            return world.bank.book(back)

    def refund(
        self, request_id: str, amount: Decimal | None = None, text: str | None = None
    ) -> Line:
        """The provider sends money for an on-ramp request back by an ordinary credit."""
        with self._world.act():
            request = self._in_euros(request_id)
            return self._line(
                request, request.fiat_amount if amount is None else amount,
                f"Refund {request.payment_reference}" if text is None else text,
                direction="CRDT", contradiction="direction", note="refund",
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
        with self._world.act() as world:
            request = self._in_status(request_id, "AWAITING_FUNDS", "PROCESSING")
            return world.change(world.life.fail(request, world.clock.tick()))

    def deny(self, request_id: str) -> RampRequest:
        """The platform turns the request down."""
        with self._world.act() as world:
            request = self._in_status(request_id, *_LIVE)
            return world.change(world.life.deny(request, world.clock.tick()))

    def block(self, request_id: str) -> RampRequest:
        """The platform holds the request."""
        with self._world.act() as world:
            request = self._in_status(request_id, *_LIVE[:-1])
            return world.change(world.life.block(request, world.clock.tick()))

    def release(self, request_id: str) -> RampRequest:
        """The platform lets a held request go on where it was."""
        with self._world.act() as world:
            request = self._in_status(request_id, "BLOCKED")
            released = world.life.release(request, world.clock.tick())
            if released.status == "PROCESSING":
                self._schedule_finish(released)
            return world.change(released)

    # where it wants to be paid

    def change_deposit(
        self,
        request_id: str | None = None,
        iban: str | None = None,
        beneficiary: str | None = None,
        address: str | None = None,
        *,
        intermediary_bic: str | None = None,
        active: bool = True,
    ) -> list[RampRequest]:
        """Other deposit details: of one request that waits for its funds, or of the provider.

        Without an `iban` (on-ramp) or an `address` (off-ramp) it is one that nobody has seen; an
        intermediary bank or details that are not `active` change nothing else.
        """
        world = self._world
        with world.act():
            chosen = self._waiting(request_id)
            if any(request.ramp_type == "ON_RAMP" for request in chosen) or request_id is None:
                details = self._bank(iban, beneficiary, intermediary_bic, active=active)
            if request_id is None:
                world.store.remember(**{DEPOSIT_BANK: encode(details)})
                world.after(lambda: setattr(world.life, "deposit_bank", details))
                chosen = [request for request in chosen if _is_in_euros(request)]
            changed = []
            for request in chosen:
                if _is_in_euros(request):
                    new = replace(request, deposit_bank_account=details)
                elif request.deposit_bank_account is not None:
                    raise InputError(
                        f"{request.payment_reference} is not paid in euros",
                        do="name a request in EUR, or an off-ramp",
                    )
                else:
                    assert request.deposit_wallet is not None
                    before = request.deposit_wallet
                    new_one = address or (world.ids.address() if active else before.address)
                    wallet = replace(
                        before, address=new_one, is_active=active, version=before.version + 1
                    )
                    new = replace(request, deposit_wallet=wallet)
                changed.append(world.change(new))
            return changed

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
                request, request.fiat_net_amount, request.payment_reference, account=bank.iban,
                direction="CRDT",
            )  # fmt: skip
        return self._world.change(request)

    # parts

    def _bank(
        self,
        iban: str | None,
        beneficiary: str | None,
        intermediary_bic: str | None,
        *,
        active: bool,
    ) -> shapes.DepositBankAccount:
        """The provider's bank details with another account or name."""
        if iban is not None and not is_iban(iban):
            raise InputError(f"{iban[:40]} is no IBAN", do="give one whose check digits hold")
        before = self._world.life.deposit_bank
        is_other = active and intermediary_bic is None
        another = self._world.ids.iban("LT") if is_other and iban is None else before.iban
        return replace(
            before, iban="".join(iban.split()) if iban else another,
            intermediary_bic=intermediary_bic or before.intermediary_bic, is_active=active,
            beneficiary=beneficiary or before.beneficiary, version=before.version + 1,
        )  # fmt: skip

    def _waiting(self, request_id: str | None) -> list[RampRequest]:
        """The request, or every one that waits for its funds."""
        if request_id is not None:
            return [self._in_status(request_id, "AWAITING_FUNDS")]
        items = self._world.store.page("ramp_request", {"status": ["AWAITING_FUNDS"]}).items
        return [self._request(decode(text, dict)["id"]) for text in items]

    def _request(self, request_id: str) -> RampRequest:
        text = self._world.store.detail("ramp_request", request_id)
        if text is None:
            raise InputError(
                f"there is no ramp request {request_id}",
                do="take an id that GET /ramp-requests lists",
            )
        return decode(text, RampRequest)

    def _in_status(self, request_id: str, *statuses: str) -> RampRequest:
        request = self._request(request_id)
        if request.status not in statuses:
            raise InputError(
                f"{request.payment_reference} is {request.status}",
                do=f"name a request that is {' or '.join(statuses)}",
            )
        return request

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

    def _line(self, request: RampRequest, amount: Decimal, text: str, **fields: Any) -> Line:
        """A line about a request, booked on the company's account that wires leave from."""
        world, code = self._world, request.payment_reference
        unbroken = carries_code(text, code)
        expectation = Expectation(
            "on_ramp" if request.ramp_type == "ON_RAMP" else "off_ramp", request.id, code
        )
        defaults: dict[str, Any] = {
            "account": world.cast.funding_iban, "booked": world.bank.day(world.clock.today),
            "counterparty": world.cast.operator, "expectation": expectation,
            "mangling": "plain" if text == code else "none", "unbroken": unbroken,
            "ceiling": "auto" if unbroken else "suggest", "text": Text((text,) if text else ()),
        }  # fmt: skip
        return world.bank.book(Line(amount=cents(amount), **(defaults | fields)))


def _read_record(find: Callable[[World, str], T], world: World, record_id: str) -> T:
    try:
        return find(world, record_id)
    except Refusal as refusal:
        raise InputError(refusal.message, do="take an id that the service lists") from None
