"""The sandbox of a block of runs: its services, its list of effects, its clocks.

Each block has a new company, so that lists stay short and a run can be repeated together with the
runs before it.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from uuid import uuid4

from benchmarks.torture.addresses import LIMITS, settings_for
from treasury.actions import KINDS, Action
from treasury.actions.kinds.action_fields import read_fields
from treasury.actions.kinds.service_records import LiveSource, ServiceRecords
from treasury.api import CallLimits, Client
from treasury.api.bodies import NewAccount, NewParty, NewRampRequest
from treasury.core.errors import OutcomeUnknown
from treasury.core.machine.boot_clock import BootTime, boot_time
from treasury.sandbox import Sandbox

__all__ = ["Company", "clients_at", "open_company", "path_of"]

SETTLING: Final = timedelta(seconds=241)
"""Wait that is longer than the delay of an effect, and longer than a term, a deadline and the clock
skew together."""
KEY_RETENTION: Final = timedelta(hours=24)
SENDER: Final = "f5520527-134b-49e6-ac6e-833cf327cb46"
RECEIVER: Final = "aaaa0793-25d6-433b-ae47-6f2de3994601"
WALLET: Final = "b7f0d570-3ffb-42c6-aa53-7fd5b51f6b6a"
PAYOUT: Final = "730a509f-01e5-4fe6-a06d-7604e397da93"


def path_of(action: Action) -> str:
    """Return the path of an action's write."""
    kind = KINDS[action.kind]
    parts = [action.target if part.startswith("{") else part for part in kind.route.split("/")]
    return f"/{kind.service}/v1{'/'.join(parts)}"


class Company:
    """A sandbox behind a real socket; workspaces are created in `folder`."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._folders = folder, 0
        self.sandbox = Sandbox(seed=7)
        stack.callback(self.sandbox.close)
        self.base_url = stack.enter_context(self.sandbox.serve()).base_url
        self.client_ids = {
            name: client_id for name, (client_id, _) in self.sandbox.credentials.items()
        }
        for name, (_, secret) in self.sandbox.credentials.items():
            os.environ[f"TORTURE_{name.upper()}"] = secret
        self._world = self.sandbox._world  # noqa: SLF001 - the ledger is not public
        self._clients = stack.enter_context(clients_at(self, self.base_url))
        self._numbers = count(1)
        self._machine_ahead = timedelta()
        self._beside: Counter[str] = Counter()

    def new_folder(self) -> Path:
        """Return the path of a new folder for one workspace; it does not exist yet."""
        self._folders += 1
        return self._folder / "workspaces" / str(self._folders)

    # Its clocks

    @property
    def now(self) -> datetime:
        """Return the current time at the company."""
        return self.sandbox.now

    def machine_time(self) -> datetime:
        """Return the time of the sender's machine: real time plus simulated waits."""
        return datetime.now(UTC) + self._machine_ahead

    def settle(self) -> None:
        """Let enough time pass on the sender's machine for all pending effects to happen."""
        self._machine_ahead += SETTLING

    def wait(self, span: timedelta) -> None:
        """Let time pass at the company and on the machine; keys older than a day are deleted."""
        self.sandbox.clock.advance(span)
        self._machine_ahead += span
        if span >= KEY_RETENTION:
            self.forget_keys()

    def forget_keys(self) -> None:
        """Delete all idempotency keys of the service, as after a restart."""
        with self._world.lock:
            self._world.keys._db.execute("delete from idempotency_keys")  # noqa: SLF001 - as providers do

    def machine_boot(self) -> BootTime:
        """Return the time since boot of the sender's machine, including suspends and waits."""
        now = boot_time()
        ahead = self._machine_ahead // timedelta(milliseconds=1)
        return BootTime(now.boot, now.milliseconds + ahead)

    # Its ledger

    def effects(self, action: Action) -> int:
        """Return how often this write took effect, without effects inside `beside`."""
        operation = f"{KINDS[action.kind].method} {path_of(action)}"
        return self._ledger()[operation] - self._beside[operation]

    def all_effects(self) -> int:
        """Return the number of writes that took effect."""
        return self._ledger().total()

    def _ledger(self) -> Counter[str]:
        with self._world.lock:
            return Counter(effect.operation for effect in self._world.keys.effects())

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Exclude effects in this context from the count of the run; contexts may be nested."""
        before, counted = self._ledger(), self._beside.copy()
        yield
        self._beside = counted + (self._ledger() - before)

    def answer_to_another(self, kind_name: str, content: dict[str, Any]) -> bytes:
        """Execute another action of a kind without counting it; return the body of the answer."""
        kind = KINDS[kind_name]
        client = self._clients[kind.credential]
        fields = read_fields(kind.fields, self.fields(kind_name) | content)
        findings = kind.read(fields, ServiceRecords(LiveSource(lambda: client)))
        body = kind.body(fields, findings, str(uuid4()))
        ids = kind.ids_of(fields)
        with self.beside():
            reply = client.request(kind.method, kind.route, *ids, service=kind.service, body=body)
        return b'{"success":true,"result":%b}' % reply.result

    # The fields of each kind: every call uses new records

    def fields(self, kind: str) -> dict[str, Any]:
        """Create the records that a new action of a kind needs; return the action's fields.

        On a busy machine the services close connections that were idle for long; the creation is
        then retried.
        """
        with self.beside():
            for _ in range(2):
                with suppress(OutcomeUnknown):
                    return self._fields(kind, next(self._numbers))
            return self._fields(kind, next(self._numbers))

    def _fields(self, kind: str, n: int) -> dict[str, Any]:
        build: dict[str, Callable[[], dict[str, Any]]] = {
            "ramp_request.create": lambda: {
                "ramp_type": "ON_RAMP", "amount": f"{1000 + n}.25", "fiat_currency": "EUR",
                "crypto_currency": "USDC", "company_wallet_id": WALLET,
            },
            "ramp_request.submit_hash": lambda: {
                "request_id": self._awaiting_funds(n), "transaction_hash": f"0x{n:064x}",
            },
            "ramp_request.change_amount": lambda: {
                "request_id": self._awaiting_approval(n), "amount": f"{2000 + n}.50",
            },
            "crypto_transfer.create": lambda: {
                "sender_account_id": SENDER, "receiver_account_id": RECEIVER, "chain": "BASE",
                "asset": "USDC", "amount": "0.01", "description": f"run {n}",
            },
            "fiat_transfer.create": lambda: {
                "sender_account_id": SENDER, "receiver_account_id": RECEIVER, "currency": "EUR",
                "amount": "0.02", "description": f"run {n}",
            },
            "account_transfer.create": lambda: {
                "source_account_id": SENDER, "destination_account_id": RECEIVER,
                "cryptocurrency": "USDC", "amount": f"0.{10_000 + n:06}",
            },
            "payment_session.create": lambda: {
                "account_id": SENDER, "in_amount": "5.00", "in_currency": "EUR",
                "out_cryptocurrency": "USDC", "callback_url": f"https://callback.test/{n}",
            },
            "payment_request.create": lambda: {
                "type": "card", "reference_id": "ops-usd", "amount": "0.01", "currency": "EUR",
            },
            "virtual_account.create": lambda: {
                "account_id": SENDER, "name": f"Pay-in {n}", "in_currency": "EUR",
                "target_cryptocurrency": "USDC",
            },
            "wallet.create": lambda: {"account_id": SENDER, "chain": "BASE"},
            "account.reactivate": lambda: {"account_id": self._suspended()},
            "party.create": lambda: {
                "party_type": "ORGANISATION", "name": f"Run {n} BV", "external_id": f"run-{n}",
            },
            "party.change": lambda: {"party_id": self._party(n), "name": f"Changed {n} BV"},
            "party.delete": lambda: {"party_id": self._party(n)},
            "account.create": lambda: {
                "party_id": self._party(n), "external_id": f"account-{n}", "chain": "BASE",
            },
            "account.change": lambda: {
                "account_id": self._account(n), "external_id": f"other-{n}",
            },
            "account.delete": lambda: {"account_id": self._account(n)},
            "party_role.create": lambda: {
                "account_id": self._account(n), "party_id": self._party(-n),
                "role_type": "ACCOUNT_HOLDER",
            },
            "company_bank_account.rename": lambda: {
                "company_bank_account_id": PAYOUT, "name": f"Payout {n}",
            },
            "company_wallet.describe": lambda: {
                "company_wallet_id": WALLET, "description": f"Wallet {n}",
            },
            "company_user.invite": lambda: {
                "email": f"run{n}@harbourlane.test", "role": "COMPANY_VIEWER",
                "first_name": "Run", "last_name": f"{n}",
            },
            "company_bank_account.create": lambda: _bank_account(n),
            "company_wallet.create": lambda: {
                "address": f"0x{n:040x}", "chain": "BASE", "description": f"run {n}",
            },
        }  # fmt: skip
        return build.get(kind, lambda: {"request_id": self._awaiting_approval(n)})()

    def _awaiting_approval(self, n: int) -> str:
        client = self._clients["maker"]
        [euro] = [
            f.value.id for f in client.ramp.fiat_currencies.recent() if f.value.currency == "EUR"
        ]
        [coin] = [
            c.value.id for c in client.ramp.crypto_currencies.recent() if c.value.currency == "USDC"
        ]
        body = NewRampRequest(
            ramp_type="OFF_RAMP",
            amount=f"{100 + n}",
            company_bank_account_id=PAYOUT,
            fiat_currency_id=euro,
            crypto_currency_id=coin,
        )
        return client.ramp.requests.create(body, check=False).value.id

    def _awaiting_funds(self, n: int) -> str:
        request_id = self._awaiting_approval(n)
        self._clients["checker"].ramp.requests.approve(request_id, version=1)
        return request_id

    def _party(self, n: int) -> str:
        body = NewParty(party_type="ORGANISATION", name=f"Party {n} BV", external_id=f"party-{n}")
        return self._clients["maker"].finance.parties.create(body).value.id

    def _account(self, n: int) -> str:
        body = NewAccount(external_id=f"own-{n}", chain="BASE", party_id=self._party(n))
        return self._clients["maker"].finance.accounts.create(body).value.id

    def _suspended(self) -> str:
        # No other action uses this account.
        account: str = self._world.cast.accounts[2].id
        self.sandbox.finance.suspend_account(account)
        return account


def _bank_account(n: int) -> dict[str, Any]:
    plain = f"TEST{n:010d}"
    digits = "".join(str(int(letter, 36)) for letter in f"{plain}NL00")
    return {
        "bank_account_type": "EUR_SEPA", "supported_ramp_type": "ON_AND_OFF_RAMP",
        "name": f"Account {n}", "bank_name": "Test Bank", "company_name": "Harbour Lane Trading NV",
        "bank_country": "NL", "beneficiary_address_line1": "Kade 14", "beneficiary_city": "Ghent",
        "beneficiary_postal_code": "9000", "beneficiary_country": "BE", "bic": "TESTNL2A",
        "iban": f"NL{98 - int(digits) % 97:02d}{plain}",
    }  # fmt: skip


@contextmanager
def clients_at(
    company: Company, base_url: str, limits: CallLimits = LIMITS
) -> Iterator[dict[str, Client]]:
    """Yield a client for each credential, which reaches the services at an address."""
    settings = settings_for(base_url, company.client_ids)
    assert settings.services is not None
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                Client(settings.services, settings.credential(name), limits=limits)
            )
            for name in company.client_ids
        }


@contextmanager
def open_company() -> Iterator[Company]:
    """Open a company; the home, settings and state of its people are in a temporary folder too.

    The folder is in a memory file system if possible: its pages survive a killed process.
    """
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, ExitStack() as stack:
        own = {
            "HOME": folder,
            "XDG_STATE_HOME": f"{folder}/state",
            "XDG_DATA_HOME": f"{folder}/data",
            "XDG_CONFIG_HOME": f"{folder}/config",
            "TREASURY_STATE": f"{folder}/state",
        }
        stack.enter_context(patch.dict(os.environ, own))
        os.environ.pop("JUPYTERHUB_USER", None)
        company = Company(Path(folder), stack)
        # The runs abort connections on purpose, and the server would log each of them.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        yield company
