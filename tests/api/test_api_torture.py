"""A few hundred calls with random faults of every kind: nothing is lost and nothing doubled.

Each run draws an operation and its faults from a seed. Effects are counted in the sandbox's own
records, not by the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from test_api_sandbox import ADDRESS, Practice, practising

from treasury.api import bodies
from treasury.api.bodies import Keyed
from treasury.core.errors import OutcomeUnknown, ServiceError
from treasury.sandbox.serve.faults import CATALOGUE

RUNS = 320
WRITES = [name for name in CATALOGUE if name not in {"repeated_page", "shifted_page",
                                                     "skipping_page", "stale"}]  # fmt: skip
SINCE = datetime(2026, 11, 1, tzinfo=UTC)


class Torture:
    """The practice services, and the effects of one run on them."""

    def __init__(self, practice: Practice) -> None:
        self.practice = practice
        self.sandbox = practice.sandbox
        finance = practice.maker.finance
        sender, receiver, *_ = practice.accounts()
        self.sender, self.receiver = sender.id, receiver.id
        (wallet, *_) = finance.wallets.iterate(sender.id)
        holding = wallet.value.balances[0].holding()
        self.chain, self.asset = wallet.value.chain, holding.asset
        self.on_ramp = practice.on_ramp()

    @contextmanager
    def faults(self, seed: int) -> Iterator[None]:
        self.sandbox.faults.mix(seed, 0.6, WRITES, at_most=6)
        try:
            yield
        finally:
            self.sandbox.faults.clear()

    def effects(self, key: str) -> int:
        return sum(effect.key == key for effect in self.sandbox.finance.effects())

    def records(self, operation: str) -> list[str]:
        """Return the ids of the records that an operation has created, in order."""
        effects = self.sandbox.finance.effects()
        return [effect.record for effect in effects if operation in effect.operation]

    # Writes with a key: the identical body is sent again until it is answered.

    def crypto(self, random: Random) -> tuple[Keyed, Callable[[Any], Any]]:
        body = bodies.NewCryptoTransfer(
            chain=str(self.chain), asset=str(self.asset), amount=cents(random),
            receiver_account_id=self.receiver,
        )  # fmt: skip
        return body, lambda sent: self.practice.maker.finance.transfers.crypto(self.sender, sent)

    def fiat(self, random: Random) -> tuple[Keyed, Callable[[Any], Any]]:
        body = bodies.NewFiatTransfer(
            currency="EUR", amount=cents(random), receiver_account_id=self.receiver
        )
        return body, lambda sent: self.practice.maker.finance.transfers.fiat(self.sender, sent)

    def internal(self, random: Random) -> tuple[Keyed, Callable[[Any], Any]]:
        body = bodies.NewAccountToAccountTransfer(
            source_account_id=self.sender, destination_account_id=self.receiver,
            amount=cents(random), cryptocurrency="USDC",
        )  # fmt: skip
        return body, self.practice.maker.finance.account_to_account_transfers.create

    def virtual(self, random: Random) -> tuple[Keyed, Callable[[Any], Any]]:
        body = bodies.NewVirtualBankAccount(
            name=f"EUR {random.random()}", in_currency="EUR", target_cryptocurrency="USDC"
        )
        accounts = self.practice.maker.finance.virtual_bank_accounts
        return body, lambda sent: accounts.create(self.sender, sent)

    def run_keyed(self, seed: int, kind: Callable[[Random], Any]) -> None:
        body, send = kind(Random(seed))
        key, record = body.idempotency_key, None
        with self.faults(seed):
            for _ in range(3):
                try:
                    record = send(body)
                    break
                except ServiceError as error:
                    assert error.may_have_executed or self.effects(key) == 0, error
                    assert self.effects(key) <= 1
        record = record or send(body)
        assert self.effects(key) == 1
        assert record.value.id == next(
            effect.record for effect in self.sandbox.finance.effects() if effect.key == key
        )

    # Creates without a key: the effect of a lost one is looked up, and it is never sent again.

    def run_create(self, seed: int) -> None:
        body = self.practice.on_ramp(f"{1000 + seed}.{seed % 100:02}")
        requests = self.practice.maker.ramp.requests
        before = self.records("ramp-requests")
        record = None
        with self.faults(seed):
            try:
                record = requests.create(body, check=False)
            except OutcomeUnknown:
                pass
            except ServiceError as error:
                assert not error.may_have_executed, error
                assert self.records("ramp-requests") == before
                return
        made = self.records("ramp-requests")[len(before) :]
        assert len(made) <= 1
        if record is None:
            try:
                record = requests.find(body=body, since=SINCE)
            except OutcomeUnknown:
                assert made == []
                return
        assert made == [record.value.id]

    # Writes with a version: the effect is read back.

    def run_approve(self, seed: int) -> None:
        body = self.practice.on_ramp(f"{5000 + seed}.{seed % 100:02}")
        request = self.practice.maker.ramp.requests.create(body).value
        assert request.version is not None
        checker = self.practice.checker.ramp.requests
        with self.faults(seed):
            try:
                status = checker.approve(request.id, version=request.version).value.status
                told: bool | None = status == "AWAITING_FUNDS"
            except ServiceError as error:
                told = None if error.may_have_executed else False
        after = checker.get(request.id).value
        approvals = [event for event in after.events if event.event_type == "APPROVED"]
        assert len(approvals) <= 1
        if told is not None:
            assert (len(approvals) == 1) is told


def cents(random: Random) -> Decimal:
    return Decimal(random.randrange(1, 500)) / 100


@pytest.fixture(scope="module")
def torture() -> Iterator[Torture]:
    with pytest.MonkeyPatch.context() as patch, practising("spec", patch) as running:
        yield Torture(running)


@pytest.mark.acceptance
def test_writes_through_every_fault_take_effect_once_or_are_known_not_to_have(
    torture: Torture,
) -> None:
    keyed = (torture.crypto, torture.fiat, torture.internal, torture.virtual)
    for seed in range(RUNS):
        choice = Random(seed).randrange(7)
        if choice < len(keyed):
            torture.run_keyed(seed, keyed[choice])
        elif choice == len(keyed):
            torture.run_create(seed)
        else:
            torture.run_approve(seed)
    struck = {name for _, _, name in torture.sandbox.faults.struck}
    assert struck >= set(WRITES)
    assert not any(torture.sandbox.finance.ledger_sums().values())


@pytest.mark.acceptance
def test_lists_through_every_fault_are_whole_or_an_error(torture: Torture) -> None:
    transfers = torture.practice.maker.finance.transfers
    requests = torture.practice.maker.ramp.requests
    walks: tuple[Callable[[], list[str]], ...] = (
        lambda: [r.value.id for r in transfers.iterate(torture.sender, size=7)],
        lambda: [r.value.id for r in requests.iterate(size=20)],
    )
    whole = [walk() for walk in walks]
    assert all(len(set(ids)) == len(ids) > 20 for ids in whole)
    told = 0
    for seed in range(60):
        torture.sandbox.faults.mix(seed, 0.3, [name for name in CATALOGUE if name != "stale"])
        try:
            ids = walks[seed % 2]()
        except ServiceError:
            continue
        finally:
            torture.sandbox.faults.clear()
        told += 1
        assert sorted(ids) == sorted(whole[seed % 2])
    assert told > 10


def test_a_party_created_through_every_fault_exists_once(torture: Torture) -> None:
    parties = torture.practice.maker.finance.parties
    for seed in range(20):
        body = bodies.NewParty(
            party_type="ORGANISATION", name=f"Quay {seed}", address=ADDRESS, external_id=f"q-{seed}"
        )
        with torture.faults(1000 + seed):
            try:
                parties.create(body)
            except ServiceError as error:
                assert error.may_have_executed or not torture.effects(body.idempotency_key)
        assert torture.effects(body.idempotency_key) <= 1
