"""Drivers of the finance service: functions that cause events which API calls cannot cause.

Identity checks pass or fail, money arrives, transfers settle or fail, accounts are suspended. The
service has no operations for such events. Events that only depend on time are scheduled on the
agenda.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final, TypeVar

from msgspec.structs import replace

from treasury.core.errors import InputError
from treasury.core.money import is_exact_in, parse_amount
from treasury.sandbox.finance import arrivals, finance_records, payments, sessions, transfer_life
from treasury.sandbox.finance.finance_records import account_of, accounts_of, party_of, put_party
from treasury.sandbox.finance.published_payments import schedule_payments
from treasury.sandbox.finance.published_permits import schedule_permits
from treasury.sandbox.http.exchange import Refusal
from treasury.sandbox.state.callbacks import Invocation
from treasury.sandbox.state.keys import Effect
from treasury.sandbox.state.shapes import Account, Party, VirtualBankAccount, Wallet, bare, decode
from treasury.sandbox.story.world import World

_CHECKS: Final = ("PENDING", "IN_PROGRESS", "VERIFIED", "REJECTED", "MANUAL_REVIEW", "NOT_REQUIRED")
_PARTY: Final = ("ACTIVE", "SUSPENDED", "BLOCKED")
_ACCOUNT: Final = ("ACTIVE", "SUSPENDED", "BLOCKED", "CLOSED")
_VIRTUAL: Final = ("ACTIVE", "CLOSED", "PENDING")
_WALLET: Final = ("ACTIVE", "SUSPENDED")
_MOST: Final = Decimal(10) ** 10

T = TypeVar("T")


class FinanceDrivers:
    """Drivers of the platform; a driver that changes a record returns the changed record.

    Each change takes effect completely or not at all. A driver raises InputError if the event is
    impossible.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        world.agenda.on(transfer_life.PROCESSES, lambda i: transfer_life.process(world, i))
        world.agenda.on(transfer_life.COMPLETES, lambda i: transfer_life.complete(world, i))
        world.agenda.on(arrivals.CONVERTS, lambda i: arrivals.convert(world, i))
        world.agenda.on(sessions.EXPIRES, lambda i: sessions.expire(world, i))
        schedule_payments(world)
        schedule_permits(world)

    def kyc(self, party_id: str, status: str) -> Party:
        """Set the result of a party's identity check.

        Amounts held for accounts that are now verified and have a wallet are credited.
        """
        _check_status(status, _CHECKS)
        with self._world.act() as world:
            party = _read_record(lambda: party_of(world, party_id))
            check = "kyc_status" if party.party_type == "INDIVIDUAL" else "kyb_status"
            party = put_party(world, self._next(party, **{check: status}))
            for account_id in accounts_of(world, party_id):
                arrivals.release(world, account_of(world, account_id))
            return party

    def party_status(self, party_id: str, status: str) -> Party:
        """Suspend, block or restore a party."""
        _check_status(status, _PARTY)
        with self._world.act() as world:
            party = _read_record(lambda: party_of(world, party_id))
            return put_party(world, self._next(party, status=status))

    def suspend_account(self, account_id: str) -> Account:
        """Suspend an account; the service has an operation that reactivates it."""
        return self.account_status(account_id, "SUSPENDED")

    def account_status(self, account_id: str, status: str) -> Account:
        """Suspend, block, close or restore an account."""
        _check_status(status, _ACCOUNT)
        with self._world.act() as world:
            account = _read_record(lambda: account_of(world, account_id))
            world.clock.tick()
            return finance_records.put_account(
                world, replace(account, status=status, version=account.version + 1)
            )

    def wallet_status(self, wallet_id: str, status: str) -> Wallet:
        """Suspend or restore a wallet."""
        _check_status(status, _WALLET)
        with self._world.act() as world:
            wallet = self._stored("wallet", wallet_id, Wallet)
            return finance_records.put_wallet(world, replace(wallet, status=status))

    def virtual_account_status(self, virtual_account_id: str, status: str) -> VirtualBankAccount:
        """Set the status of a virtual bank account: active, closed or pending."""
        _check_status(status, _VIRTUAL)
        with self._world.act() as world:
            virtual = self._stored("virtual_account", virtual_account_id, VirtualBankAccount)
            now = bare(world.clock.tick())
            return world.keep(replace(virtual, status=status, updated_at=now))

    def sepa_credit(
        self, iban: str, amount: Decimal | str, text: str, *, instant: bool = False
    ) -> arrivals.Arrival:
        """Let a wire with this text arrive on a virtual account.

        If the text has the account's code, the wire is converted at once (instant) or on the next
        TARGET day. Without the code, it is converted after 36 hours, as if a person had assigned
        it. On an inactive account, it waits for `place_credit`.
        """
        euros = parse_amount(amount)
        if not (0 < euros <= _MOST and is_exact_in(euros, "EUR")):
            raise InputError(f"{euros} is not an amount in euros", do="give it as 1234.56")
        with self._world.act() as world:
            items = world.store.page("virtual_account", {}).items
            virtual = (decode(item, VirtualBankAccount) for item in items)
            account = next((v for v in virtual if v.iban == iban), None)
            if account is None:
                raise InputError(
                    f"no virtual bank account has the IBAN {iban[:40]}",
                    do="list an account's virtual bank accounts",
                )
            return arrivals.arrive_by_sepa(world, account, euros, text, instant=instant)

    def place_credit(self, arrival_id: str) -> arrivals.Arrival:
        """Convert a wire that is not converted yet, as if a person had assigned it."""
        with self._world.act() as world:
            return _read_record(lambda: arrivals.convert(world, arrival_id))

    def process_transfer(self, transfer_id: str) -> transfer_life.AnyTransfer:
        """Submit a pending transfer of any kind."""
        return self._transfer(transfer_id, ("PENDING",), transfer_life.process)

    def settle_transfer(self, transfer_id: str) -> transfer_life.AnyTransfer:
        """Deliver an open transfer of any kind."""
        return self._transfer(transfer_id, ("PENDING", "PROCESSING"), transfer_life.complete)

    def fail_transfer(
        self, transfer_id: str, code: str = "REJECTED_BY_NETWORK", reason: str = "Not delivered"
    ) -> transfer_life.AnyTransfer:
        """Fail an open transfer of any kind, and return its reserved amount to the sender."""
        return self._transfer(
            transfer_id,
            ("PENDING", "PROCESSING"),
            lambda world, given: transfer_life.fail(world, given, code, reason),
        )

    def complete_session(self, session_id: str) -> sessions.Session:
        """Let the customer pay; the callback follows after the wallet is credited."""
        with self._world.act() as world:
            file = self._open_session(session_id)
            arrivals.arrive_by_session(world, sessions.set_status(world, file, "PAYMENT_RECEIVED"))
            return sessions.session_of(world, session_id).session

    def fail_session(self, session_id: str) -> sessions.Session:
        """Let the customer's payment fail; no callback follows."""
        with self._world.act() as world:
            world.clock.tick()
            return sessions.set_status(world, self._open_session(session_id), "FAILED").session

    def settle_payment(self, payment_id: str) -> payments.PaymentRequest:
        """Settle a payment request at the card scheme."""
        with self._world.act() as world:
            world.clock.tick()
            return _read_record(lambda: payments.settle_payment(world, payment_id))

    def reverse_payment(
        self, payment_id: str, reason: str = "MERCHANT_VOID"
    ) -> payments.PaymentRequest:
        """Release the reserved amount of a payment request."""
        with self._world.act() as world:
            world.clock.tick()
            return _read_record(lambda: payments.reverse_payment(world, payment_id, reason))

    def all_sessions(self) -> list[sessions.Session]:
        """Return all payment sessions; the service has no endpoint that lists them."""
        with self._world.lock:
            items = self._world.store.page("payment_session", {}).items
            return [decode(item, sessions.SessionFile).session for item in items]

    def all_arrivals(self) -> list[arrivals.Arrival]:
        """Return all arrivals: SEPA credits and paid sessions."""
        with self._world.lock:
            items = self._world.store.page("arrival", {}).items
            return [decode(item, arrivals.Arrival) for item in items]

    def callbacks(self) -> list[Invocation]:
        """Return all attempts to call a callback URL or webhook, with the outcome of each."""
        return self._world.callbacks.invocations

    def effects(self) -> list[Effect]:
        """Return all writes that took effect, so that tests can count lost and repeated writes."""
        with self._world.lock:
            return self._world.keys.effects()

    def ledger_sums(self) -> dict[str, Decimal]:
        """Return the sum of the whole ledger by asset, which is always zero."""
        with self._world.lock:
            return self._world.ledger.sums()

    def ledger_balances(self) -> dict[str, dict[str, Decimal]]:
        """Return the ledger's balances by asset and place (such as a wallet's reserved part)."""
        with self._world.lock:
            return self._world.ledger.balances()

    def ledger_effects(self, reference: str) -> list[str]:
        """Return the kinds of ledger movements caused by one record, in order."""
        with self._world.lock:
            return self._world.ledger.movements(reference)

    def _next(self, party: Party, **changes: str) -> Party:
        now = bare(self._world.clock.tick())
        return replace(party, version=party.version + 1, updated_at=now, **changes)

    def _stored(self, kind: str, record_id: str, shape: type[T]) -> T:
        text = self._world.store.detail(kind, record_id)
        if text is None:
            raise InputError(f"there is no {kind} {record_id[:40]}", do="list them first")
        return decode(text, shape)

    def _transfer(
        self,
        transfer_id: str,
        statuses: tuple[str, ...],
        step: Callable[[World, str], transfer_life.AnyTransfer],
    ) -> transfer_life.AnyTransfer:
        with self._world.act() as world:
            status = _read_record(lambda: transfer_life.find(world, transfer_id)).status
            if status not in statuses:
                raise InputError(
                    f"the transfer is {status}", do=f"take one that is {' or '.join(statuses)}"
                )
            world.clock.tick()
            return step(world, transfer_id)

    def _open_session(self, session_id: str) -> sessions.SessionFile:
        file = _read_record(lambda: sessions.session_of(self._world, session_id))
        if file.session.status != "CREATED":
            raise InputError(
                f"the payment session is {file.session.status}", do="take one that is CREATED"
            )
        return file


def _check_status(status: str, statuses: tuple[str, ...]) -> None:
    if status not in statuses:
        raise InputError(f"there is no status {status[:40]}", do=f"use {', '.join(statuses)}")


def _read_record(read: Callable[[], T]) -> T:
    """Convert the service's refusal to an InputError for the driver's caller."""
    try:
        return read()
    except Refusal as refusal:
        raise InputError(refusal.message, do="look the record up first") from None
