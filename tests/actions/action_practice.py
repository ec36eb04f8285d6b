"""A practice company, and two people who act for it on one journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from treasury.actions import Action, Actions
from treasury.api import CallLimits, Client
from treasury.core.errors import ActionRefused, OutcomeUnknown
from treasury.core.settings import CompanySettings, Credential, Service, Services, Settings
from treasury.journal import Actor, Journal
from treasury.sandbox import Sandbox, Served

MORNING = datetime(2026, 11, 2, 8, tzinfo=UTC)
TREASURY = "f5520527-134b-49e6-ac6e-833cf327cb46"
OPERATIONS = "aaaa0793-25d6-433b-ae47-6f2de3994601"
WALLET = "b7f0d570-3ffb-42c6-aa53-7fd5b51f6b6a"
PAYOUT = "730a509f-01e5-4fe6-a06d-7604e397da93"
QUICK = CallLimits(deadline=30.0, attempts=2, first_pause=0.01, longest_pause=0.02)


class Wall:
    """The machine's clock, which tests move."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **span: float) -> None:
        self.now += timedelta(**span)


class Practice:
    """A company where `ines` proposes and `jonas` approves, each with `Actions` on one journal."""

    def __init__(
        self, sandbox: Sandbox, served: Served, settings: Settings, folder: Path, stack: ExitStack
    ) -> None:
        self.sandbox = sandbox
        self.served = served
        self.settings = settings
        self.folder = folder
        self.wall = Wall()
        self.now = MORNING
        self.journal = Journal(folder, now=lambda: self.now)
        self._stack = stack
        self._clients: dict[str, Client] = {}
        self.ines = self.desk("ines")
        self.jonas = self.desk("jonas")

    def desk(self, person: str, **more: Any) -> Actions:
        given: dict[str, Any] = {"folder": self.folder, "wall": self.wall} | more
        journal = given.pop("journal", self.journal)
        settings = given.pop("settings", self.settings)
        source = given.pop("source", "environment")
        actor = Actor(person, source, "claimed" if source == "environment" else "verified")
        who = given.pop("who", lambda: actor)
        return Actions(journal, self.client, settings, lambda: self.now, who=who, **given)

    def wait(self) -> None:
        """Advance the machine's clock until others may settle every action sent so far."""
        self.wall.pass_(seconds=241)

    def pass_(self, **span: float) -> None:
        """Advance all clocks: the workspace's, the machine's and the company's."""
        self.now += timedelta(**span)
        self.wall.pass_(**span)
        self.sandbox.clock.advance(**span)

    def forget_keys(self) -> None:
        """Make the provider forget all idempotency keys; earlier effects remain."""
        self.sandbox._world.keys._db.execute("delete from idempotency_keys")

    def beside(self, folder: Path) -> tuple[Actions, Actions]:
        """Return the two people's `Actions` at another workspace with another journal."""
        journal = Journal(folder, now=lambda: self.now)
        self._stack.callback(journal.close)
        return (
            self.desk("ines", journal=journal, folder=folder),
            self.desk("jonas", journal=journal, folder=folder),
        )

    def client(self, name: str) -> Client:
        if name not in self._clients:
            assert self.settings.services is not None
            credential = self.settings.credential(name)
            client = Client(self.settings.services, credential, limits=QUICK)
            self._clients[name] = self._stack.enter_context(client)
        return self._clients[name]

    def posts(self) -> list[str]:
        """Return the writes that reached the services, without token requests."""
        return [
            f"{method} {path}"
            for method, path, _ in self.served.requests
            if method != "GET" and not path.endswith("/token")
        ]

    def effects(self) -> list[str]:
        """Return the writes that took effect, as the company's ledger shows."""
        return [effect.operation for effect in self.sandbox._world.keys.effects()]

    def kinds(self) -> list[str]:
        """Return the kinds of the journal's entries about actions."""
        return [e.kind.removeprefix("action.") for e in self.journal.entries("action.")]

    def awaiting(self, count: int = 1) -> list[str]:
        """Return the first `count` ids of the ramp requests that await approval."""
        found = self.client("viewer").ramp.requests.list(status="AWAITING_APPROVAL")
        return sorted(record.value.id for record in found)[:count]

    def approved(self, kind: str, **fields: Any) -> Action:
        """Propose an action, approve it if needed, and return it."""
        action = self.ines.propose(kind, **fields)
        return self.jonas.approve(action.id)[0] if action.state == "proposed" else action

    def transfer(self, amount: str = "10.00", **more: Any) -> Action:
        """Return a ready crypto transfer."""
        return self.approved("crypto_transfer.create", **transfer_fields(amount), **more)

    def unknown_transfer(self, *, drop: str) -> Action:
        """Return a transfer of unknown outcome; `drop` is "before" or "after" its effect."""
        action = self.transfer()
        self.sandbox.faults.add("/finance/v1", method="POST", drop=drop, times=2)
        with pytest.raises(OutcomeUnknown):
            self.ines.execute(action.id)
        return action


def transfer_fields(amount: str = "10.00") -> dict[str, Any]:
    """Return the fields of a crypto transfer between two accounts of the company."""
    return {
        "sender_account_id": TREASURY,
        "receiver_account_id": OPERATIONS,
        "chain": "BASE",
        "asset": "USDC",
        "amount": amount,
    }


def request_fields(**more: Any) -> dict[str, Any]:
    """Return the fields of an on-ramp request, with changes."""
    return {
        "ramp_type": "ON_RAMP",
        "amount": "25000.00",
        "fiat_currency": "EUR",
        "crypto_currency": "USDC",
        "company_wallet_id": WALLET,
    } | more


def bank_fields(**more: Any) -> dict[str, Any]:
    """Return the fields of a new company bank account, with changes."""
    return {
        "bank_account_type": "EUR_SEPA",
        "supported_ramp_type": "ON_AND_OFF_RAMP",
        "name": "Second account",
        "bank_name": "Test Bank",
        "company_name": "Harbour Lane Trading NV",
        "bank_country": "BE",
        "beneficiary_address_line1": "Kade 14",
        "beneficiary_city": "Ghent",
        "beneficiary_postal_code": "9000",
        "beneficiary_country": "BE",
        "iban": "BE68 5390 0754 7034",
        "bic": "TESTBEBB",
    } | more


@contextmanager
def practising(folder: Path, secrets: dict[str, str]) -> Iterator[Practice]:
    """Serve a new company, and put its secrets into `secrets` by environment variable."""
    sandbox = Sandbox(seed=7)
    credentials = {}
    for name, (client_id, secret) in sandbox.credentials.items():
        secrets[f"TEST_{name.upper()}_SECRET"] = secret
        credentials[name] = Credential(client_id, f"env:TEST_{name.upper()}_SECRET")
    with sandbox.serve() as served, ExitStack() as stack:
        services = Services(
            token_url=served.token_url,
            finance=Service(served.finance_url),
            ramp=Service(served.ramp_url),
        )
        settings = Settings(
            workspace=CompanySettings(company="Harbour"), services=services, credentials=credentials
        )
        practice = Practice(sandbox, served, settings, folder, stack)
        yield practice
        practice.journal.close()


def refused(work: Any) -> str:
    """Return the text of the expected ActionRefused."""
    try:
        work()
    except ActionRefused as error:
        return str(error)
    raise AssertionError("it was not refused")
