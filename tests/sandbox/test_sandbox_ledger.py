"""The ledger under random use: every asset sums to zero, and no wallet is negative."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from treasury.core.errors import InputError
from treasury.sandbox.finance.finance_drivers import FinanceDrivers
from treasury.sandbox.finance.finance_routes import routes
from treasury.sandbox.http.exchange import Call, Refusal, Reply
from treasury.sandbox.state.ledger import CONVERSION, WORLD, Ledger, Overdrawn, Posting, available
from treasury.sandbox.state.shapes import encode
from treasury.sandbox.state.store import Store
from treasury.sandbox.story.cast import USERS
from treasury.sandbox.story.world import World

POST = {route.path: route.handler for route in routes("spec") if route.method == "POST"}
INTERNAL = "/account-to-account-transfers"
CRYPTO = "/accounts/{senderAccountId}/transfers/crypto"
FIAT = "/accounts/{senderAccountId}/transfers/fiat"
SESSION = "/accounts/{accountId}/fiat-to-crypto/payment-sessions"
PAYMENT = "/payment-requests"

places = st.integers(0, 4)
cents = st.integers(1, 300_000).map(lambda n: Decimal(n) / 100)


class Practice(RuleBasedStateMachine):
    """All operations of clients and drivers with money, in any order."""

    @initialize()
    def open(self) -> None:
        self.world = World(7, "full")
        self.drive = FinanceDrivers(self.world)
        self.accounts = [account.id for account in self.world.cast.accounts]
        self.keys = 0
        self.transfers: list[str] = []
        self.sessions: list[str] = []
        self.payments: list[str] = []

    def post(self, path: str, body: dict[str, Any], into: list[str], **parameters: str) -> None:
        """Call as the web application does, so that a refused write is rolled back."""
        raw = encode(body).encode()
        call = Call(USERS["maker"], parameters, {}, json.loads(raw), raw, f"POST {path}")
        before = self.drive.ledger_balances()
        try:
            with self.world.act():
                reply: Reply = POST[path](self.world, call)
        except Refusal as refusal:
            reply = refusal.reply()
        if reply.status == 201:
            into.append(json.loads(reply.body)["result"]["id"])
        else:
            assert reply.status in {402, 422, 400}
            assert self.drive.ledger_balances() == before

    def key(self) -> str:
        self.keys += 1
        return str(UUID(int=self.keys, version=4))

    @rule(sender=places, receiver=places, amount=cents)
    def send_inside(self, sender: int, receiver: int, amount: Decimal) -> None:
        body = {
            "sourceAccountId": self.accounts[sender], "cryptocurrency": "USDC",
            "destinationAccountId": self.accounts[receiver], "amount": str(amount),
        }  # fmt: skip
        self.post(INTERNAL, body, self.transfers)

    @rule(sender=places, receiver=places, amount=cents, asset=st.sampled_from(["USDC", "EURC"]))
    def send_crypto(self, sender: int, receiver: int, amount: Decimal, asset: str) -> None:
        account = self.world.cast.accounts[sender]
        body = {
            "chain": account.chain, "asset": asset, "amount": amount,
            "idempotencyKey": self.key(), "receiverAccountId": self.accounts[receiver],
        }  # fmt: skip
        self.post(CRYPTO, body, self.transfers, senderAccountId=account.id)

    @rule(sender=places, amount=cents)
    def pay_a_bank(self, sender: int, amount: Decimal) -> None:
        bank = {"iban": "NL05TEST0417164300", "beneficiaryName": "Noordzee Vis BV"}
        body = {
            "currency": "EUR", "amount": amount, "idempotencyKey": self.key(), "bankAccount": bank,
        }  # fmt: skip
        self.post(FIAT, body, self.transfers, senderAccountId=self.accounts[sender])

    @rule(account=places, amount=cents, asset=st.sampled_from(["USDC", "EURC", "USDT"]))
    def open_a_session(self, account: int, amount: Decimal, asset: str) -> None:
        body = {
            "inAmount": str(amount), "inCurrency": "EUR", "outCryptocurrency": asset,
            "callbackUrl": "https://shop.example.test/paid", "idempotencyKey": self.key(),
        }  # fmt: skip
        self.post(SESSION, body, self.sessions, accountId=self.accounts[account])

    @rule(account=places, amount=cents)
    def ask_for_a_payment(self, account: int, amount: Decimal) -> None:
        body = {
            "cardProviderReference": {"type": "x", "referenceId": self.accounts[account]},
            "paymentRequest": {"amount": amount, "currency": "EUR", "idempotencyKey": self.key()},
        }
        self.post(PAYMENT, body, self.payments)

    @rule(virtual=st.integers(0, 3), amount=cents, named=st.booleans(), instant=st.booleans())
    def receive(self, virtual: int, amount: Decimal, named: bool, instant: bool) -> None:
        account = self.world.cast.virtual_accounts[virtual]
        text = account.reference_code if named else "Invoice"
        self.drive.sepa_credit(account.iban, amount, text, instant=instant)

    @rule(
        data=st.data(),
        step=st.sampled_from(["settle_transfer", "fail_transfer", "process_transfer"]),
    )
    def move_a_transfer(self, data: st.DataObject, step: str) -> None:
        self.on_one(data, self.transfers, step)

    @rule(data=st.data(), step=st.sampled_from(["complete_session", "fail_session"]))
    def move_a_session(self, data: st.DataObject, step: str) -> None:
        self.on_one(data, self.sessions, step)

    @rule(data=st.data(), step=st.sampled_from(["settle_payment", "reverse_payment"]))
    def move_a_payment(self, data: st.DataObject, step: str) -> None:
        self.on_one(data, self.payments, step)

    def on_one(self, data: st.DataObject, known: list[str], step: str) -> None:
        if known:
            given = data.draw(st.sampled_from(known))
            # A record that has ended refuses the step.
            with suppress(InputError):
                getattr(self.drive, step)(given)

    @rule(party=st.integers(0, 4), status=st.sampled_from(["VERIFIED", "NOT_REQUIRED", "REJECTED"]))
    def check(self, party: int, status: str) -> None:
        self.drive.kyc(self.world.cast.parties[party].id, status)

    @rule(hours=st.integers(0, 60))
    def wait(self, hours: int) -> None:
        self.world.advance(self.world.clock.now + timedelta(hours=hours))

    @invariant()
    def everything_sums_to_zero(self) -> None:
        assert set(self.drive.ledger_sums().values()) == {Decimal(0)}
        balances = self.drive.ledger_balances()
        for place, holdings in balances.items():
            assert min(holdings.values()) >= 0 or place in {WORLD, CONVERSION}
        assert sum(held.get("USDC", Decimal(0)) for held in balances.values()) == 0

    @invariant()
    def served_balances_equal_those_of_the_ledger(self) -> None:
        balances = self.drive.ledger_balances()
        for item in self.world.store.page("wallet", {}).items:
            wallet = json.loads(item)
            served = {b["asset"]: Decimal(b["amount"]["available"]) for b in wallet["balances"]}
            assert served == balances.get(available(wallet["id"]), {})


Practice.TestCase.settings = settings(
    max_examples=20, stateful_step_count=40, deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
TestPractice = pytest.mark.acceptance(Practice.TestCase)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(Store())


def test_a_movement_that_overdraws_is_rolled_back(ledger: Ledger) -> None:
    ledger.move("in", "1", "", Posting(WORLD, "a", "USDC", Decimal("5.000001")))
    with pytest.raises(Overdrawn, match="a does not hold"):
        ledger.move(
            "out", "2", "", Posting("a", "b", "USDC", Decimal(5)),
            Posting("a", "b", "USDC", Decimal("0.000002")),
        )  # fmt: skip
    assert ledger.holdings("a") == {"USDC": Decimal("5.000001")}
    assert ledger.holdings("b") == {}
    assert ledger.movements("2") == []


@pytest.mark.parametrize("amount", ["0", "-1", "0.0000001", "99999999999999999"])
def test_an_inexact_amount_is_refused(ledger: Ledger, amount: str) -> None:
    with pytest.raises(ValueError, match="cannot move"):
        ledger.move("in", "1", "", Posting(WORLD, "a", "USDC", Decimal(amount)))


def test_the_reserved_amount_of_a_record_is_known_until_its_release(ledger: Ledger) -> None:
    ledger.move("in", "0", "", Posting(WORLD, "wallet/w/available", "EURC", Decimal(9)))
    reserve = Posting("wallet/w/available", "wallet/w/reserved", "EURC", Decimal(4))
    ledger.move("reserve", "t", "", reserve)
    ledger.move("reserve", "u", "", reserve)
    assert ledger.under_way("t") == [("wallet/w/reserved", "EURC", Decimal(4))]
    ledger.move("deliver", "t", "", Posting("wallet/w/reserved", WORLD, "EURC", Decimal(4)))
    assert ledger.under_way("t") == []
    assert ledger.balance("wallet/w/reserved", "EURC") == 4
