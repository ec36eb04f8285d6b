"""Drivers of the ramp service: functions that cause events which API calls cannot cause.

Each driver runs in one transaction, in which it may change requests, book bank lines, and schedule
later steps. The service receives on-ramp money on the next TARGET day (an instant wire within
hours). It assigns the money only if the text names the request and at most one cent is missing. A
driver raises InputError if the event is impossible.

A request gets the current deposit details when it is created, and again when it is approved.
`change_deposit` changes the details of one request that awaits funds, or the provider's euro
account. A new euro account applies to all on-ramp requests in euros that await funds, and to later
ones.
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
    """A wire on its way to the service."""

    request_id: str
    amount: Decimal
    names_request: bool = msgspec.field(name="named")


def _is_in_euros(request: RampRequest) -> bool:
    return request.ramp_type == "ON_RAMP" and request.fiat_currency.currency == "EUR"


class RampDrivers:
    """Drivers of the ramp platform, its banks and its chains."""

    def __init__(self, world: World) -> None:
        self._world = world
        company_records.schedule_reviews(world)
        world.agenda.on(_ARRIVE, self._arrive)
        world.agenda.on(_FINISH, self._finish)

    def kyb(self, status: Literal["PENDING", "VERIFIED", "DENIED"]) -> shapes.Company:
        """Set the result of the company's verification."""
        with self._world.act() as world:
            company = decode(world.store.page("company", {}).items[0], shapes.Company)
            return world.keep(replace(company, kyb_status=status))

    def verify_bank_account(
        self, bank_account_id: str, status: Verification = "VERIFIED"
    ) -> shapes.CompanyBankAccount:
        """Set the result of a bank account's review, without waiting for the review."""
        with self._world.act() as world:
            account = _read_record(company_bank_account, world, bank_account_id)
            return verify(world, account, status)

    def verify_wallet(
        self, wallet_id: str, status: Verification = "VERIFIED"
    ) -> shapes.CompanyWallet:
        """Set the result of a company wallet's ownership check."""
        with self._world.act() as world:
            wallet = _read_record(company_records.company_wallet, world, wallet_id)
            return verify(world, wallet, status)

    def accept_invitation(self, email: str) -> shapes.User:
        """Let an invited user accept the invitation, by e-mail address."""
        with self._world.act() as world:
            user = accept_invitation(world, email)
            if user is None:
                raise InputError(
                    f"no invitation exists for {email}", do="invite that address first"
                )
            return user

    def payment_run(self, count: int = 10) -> list[RampRequest]:
        """Create approved on-ramp requests, dated the last TARGET day before today; send no wire.

        The first is for EUR 2,500, and each further one is for EUR 500 more.
        """
        if not 1 <= count <= _LARGEST_RUN:
            raise InputError(
                f"a payment run has 1 to {_LARGEST_RUN} requests", do="give a count in that range"
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

    def fund(
        self,
        request_id: str,
        amount: Decimal | None = None,
        text: str | None = None,
        *,
        instant: bool = False,
    ) -> Line:
        """Send the wire for an on-ramp request, as a debit on the operating account.

        The request may have any status; `text` replaces the payment reference.
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
        """Return the last wire for an on-ramp request, with an ISO 20022 reason."""
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
                    do="send a wire with the driver fund first",
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
        """Refund the money for an on-ramp request, as an ordinary credit."""
        with self._world.act():
            request = self._in_euros(request_id)
            return self._line(
                request, request.fiat_amount if amount is None else amount,
                f"Refund {request.payment_reference}" if text is None else text,
                direction="CRDT", contradiction="direction", note="refund",
            )  # fmt: skip

    def receive(self, request_id: str, amount: Decimal | None = None) -> RampRequest:
        """Let the service receive the funds, fiat or crypto, and process the request."""
        with self._world.act():
            request = self._in_status(request_id, "AWAITING_FUNDS")
            on_ramp = request.ramp_type == "ON_RAMP"
            expected = request.fiat_amount if on_ramp else request.crypto_amount
            return self._receive(request, expected if amount is None else amount)

    def complete(self, request_id: str) -> RampRequest:
        """Deliver the crypto, or pay out the fiat; a payout in euros also books a bank line."""
        with self._world.act():
            return self._complete(self._in_status(request_id, "PROCESSING"))

    def fail(self, request_id: str) -> RampRequest:
        """Fail the request, as if the service could not execute it."""
        with self._world.act() as world:
            request = self._in_status(request_id, "AWAITING_FUNDS", "PROCESSING")
            return world.change(world.life.fail(request, world.clock.tick()))

    def deny(self, request_id: str) -> RampRequest:
        """Deny the request, as the platform does."""
        with self._world.act() as world:
            request = self._in_status(request_id, *_LIVE)
            return world.change(world.life.deny(request, world.clock.tick()))

    def block(self, request_id: str) -> RampRequest:
        """Block the request, as the platform does."""
        with self._world.act() as world:
            request = self._in_status(request_id, *_LIVE[:-1])
            return world.change(world.life.block(request, world.clock.tick()))

    def release(self, request_id: str) -> RampRequest:
        """Return a blocked request to its previous status."""
        with self._world.act() as world:
            request = self._in_status(request_id, "BLOCKED")
            released = world.life.release(request, world.clock.tick())
            if released.status == "PROCESSING":
                self._schedule_finish(released)
            return world.change(released)

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
        """Change the deposit details of one request that awaits funds, or of the provider.

        Without an `iban` (on-ramp) or an `address` (off-ramp), a new one is generated. But the old
        one stays if `active` is false or, for an on-ramp, an intermediary bank is given.
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

    def _bank(
        self,
        iban: str | None,
        beneficiary: str | None,
        intermediary_bic: str | None,
        *,
        active: bool,
    ) -> shapes.DepositBankAccount:
        """Return the provider's bank details with these changes."""
        if iban is not None and not is_iban(iban):
            raise InputError(f"{iban[:40]} is not an IBAN", do="give one with valid check digits")
        before = self._world.life.deposit_bank
        is_other = active and intermediary_bic is None
        another = self._world.ids.iban("LT") if is_other and iban is None else before.iban
        return replace(
            before, iban="".join(iban.split()) if iban else another,
            intermediary_bic=intermediary_bic or before.intermediary_bic, is_active=active,
            beneficiary=beneficiary or before.beneficiary, version=before.version + 1,
        )  # fmt: skip

    def _waiting(self, request_id: str | None) -> list[RampRequest]:
        """Return the request; without an id, all requests that await funds."""
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
        """Return an on-ramp request; refuse other currencies, because statements are in euros."""
        request = self._of_type(request_id, "ON_RAMP")
        currency = request.fiat_currency.currency
        if currency != "EUR":
            raise InputError(
                f"{request.payment_reference} is in {currency}, and statements are in euros only",
                do="use `receive` to credit the funds at the service",
            )
        return request

    def _line(self, request: RampRequest, amount: Decimal, text: str, **fields: Any) -> Line:
        """Book a line about a request on the company's account for wires, and return it."""
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
