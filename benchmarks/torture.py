"""Cuts the execution of every kind of action at every point under every fault, and settles it.

    python -m benchmarks.torture [--sample COUNT] [--seed SEED]

After each cut the action is recovered as a person would do it: at once, and after the settling
time. The company's own ledger then says how often it took effect: never more than once; and exactly
once, unless the outcome is said to be unknown. Whatever was not sent is executed again and has to
take effect once.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.torture_child import LIMITS, settings_of
from treasury.actions import KINDS, Action, Actions
from treasury.api import Client
from treasury.api.bodies import NewAccount, NewParty, NewRampRequest
from treasury.errors import TreasuryError
from treasury.journal import Actor, Journal
from treasury.sandbox import Sandbox, Served

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
SENDER = "f5520527-134b-49e6-ac6e-833cf327cb46"
RECEIVER = "aaaa0793-25d6-433b-ae47-6f2de3994601"
WALLET = "b7f0d570-3ffb-42c6-aa53-7fd5b51f6b6a"
PAYOUT = "730a509f-01e5-4fe6-a06d-7604e397da93"

POINTS = (
    "before the first entry",
    "inside the first entry",
    "after the first entry",
    "before the request",
    "half of the request",
    "while the service works",
    "before the answer is read",
    "before the last entry",
    "inside the last entry",
    "after the last entry",
    "never",
)
ON_WRITE = (
    "slow", "too_many", "too_many_until", "broken", "broken_after_effect",
    "dropped_before_effect", "dropped_after_effect", "dropped_halfway", "truncated", "no_result",
)  # fmt: skip
ON_LISTS = ("repeated_page", "shifted_page", "skipping_page", "stale")
FAULTS = ("none", *ON_WRITE, *ON_LISTS)


class Run(NamedTuple):
    """One cut: which kind, where, under which fault, at which attempt of the request."""

    kind: str
    point: str
    fault: str
    occurrence: int = 1


class Result(NamedTuple):
    """What came of it: how the process ended, where the action stands, how often it took effect."""

    run: Run
    ended: str
    first: str
    last: str
    effects: int

    @property
    def verdict(self) -> str:
        """Empty where the promise held."""
        if self.effects > 1:
            return f"took effect {self.effects} times"
        if self.last == "done":
            return "" if self.effects == 1 else "is called done and took no effect"
        if self.last == "unknown":
            safety = KINDS[self.run.kind].safety
            return "" if safety == "neither" else f"is called unknown, although it is {safety}"
        return f"is {self.last} after it was settled"


def every_run() -> list[Run]:
    """The whole matrix, each cut at the first attempt and, where keys allow another, the second."""
    runs = [Run(*one) for one in product(KINDS, POINTS, FAULTS)]
    twice = [
        run._replace(occurrence=2)
        for run in runs
        if KINDS[run.kind].safety == "keyed" and "re" in run.point and run.fault in ON_WRITE
        and "entry" not in run.point
    ]  # fmt: skip
    return runs + twice


class Bench:
    """A practice company and the process whose children are cut."""

    def __init__(self, sandbox: Sandbox, served: Served, folder: Path, stack: ExitStack) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._number = 0
        self._wall = datetime.now(UTC)
        clients = {name: client_id for name, (client_id, _) in sandbox.credentials.items()}
        self._spec: dict[str, Any] = {
            "token_url": served.token_url,
            "finance_url": served.finance_url,
            "ramp_url": served.ramp_url,
            "clients": clients,
            "now": NOW.isoformat(),
        }
        secrets = {
            f"TORTURE_{name.upper()}": secret for name, (_, secret) in sandbox.credentials.items()
        }
        os.environ.update(secrets)
        self._settings = settings_of(self._spec)
        assert self._settings.services is not None
        self._clients = {
            name: stack.enter_context(
                Client(self._settings.services, self._settings.credential(name), limits=LIMITS)
            )
            for name in clients
        }
        self._child = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.torture_child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        stack.callback(self._end)

    def _end(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.close()
        self._child.wait(60)

    def run(self, run: Run) -> Result:
        """Propose, approve, cut, settle, count."""
        self._sandbox.faults.clear()
        self._number += 1
        folder = self._folder / str(self._number)
        journal = Journal(folder, now=lambda: NOW)
        try:
            action = self._ready(journal, run.kind)
            before = self._effects(action)
            self._break(run, action)
            [ended] = self._execute([self._line(run, folder, action)])
            desk = self._desk(journal, "ines")
            first = self._settle(desk, action, cleared=False)
            last = self._settle(desk, action, cleared=True)
            return Result(run, ended, first, last, self._effects(action) - before)
        finally:
            journal.close()

    def race(self, kind: str, processes: int) -> tuple[list[str], int]:
        """How so many processes ended that executed one action, and how often it took effect."""
        self._number += 1
        folder = self._folder / str(self._number)
        journal = Journal(folder, now=lambda: NOW)
        action = self._ready(journal, kind)
        before = self._effects(action)
        line = self._line(Run(kind, "never", "none"), folder, action)
        ended = self._execute([line | {"person": f"p{n}"} for n in range(processes)])
        journal.close()
        return ended, self._effects(action) - before

    def _line(self, run: Run, folder: Path, action: Action) -> dict[str, Any]:
        return self._spec | {
            "folder": str(folder),
            "action": action.id,
            "person": "ines",
            "point": run.point,
            "occurrence": run.occurrence,
        }

    def _execute(self, lines: Sequence[dict[str, Any]]) -> list[str]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(list(lines)) + "\n")
        self._child.stdin.flush()
        said: list[str] = json.loads(self._child.stdout.readline())
        return said

    def _desk(self, journal: Journal, person: str) -> Actions:
        who = Actor(person, "environment")
        return Actions(
            journal,
            self._clients.__getitem__,
            self._settings,
            lambda: NOW,
            wall=lambda: self._wall,
            who=lambda: who,
        )

    def _ready(self, journal: Journal, kind: str) -> Action:
        action = self._desk(journal, "ines").propose(kind, **self._fields(kind))
        if action.state == "proposed":
            [action] = self._desk(journal, "jonas").approve(action.id)
        return action

    def _settle(self, desk: Actions, action: Action, *, cleared: bool) -> str:
        """Recover; cleared of faults, after the settling time, and executed if it never left."""
        self._wall = datetime.now(UTC)
        if cleared:
            self._sandbox.faults.clear()
            self._wall += timedelta(seconds=desk.policy.recovery.settling_seconds + 1)
        try:
            [now] = desk.recover(action.id)
            if cleared and now.state == "ready":
                now = desk.execute(action.id)
        except TreasuryError:
            now = desk.get(action.id)
        return now.state

    def _break(self, run: Run, action: Action) -> None:
        path = self._path(action)
        if run.fault in ON_WRITE:
            self._sandbox.faults.add(path, method=KINDS[run.kind].method, name=run.fault)
        elif run.fault in ON_LISTS:
            for prefix in ("/finance", "/ramp"):
                self._sandbox.faults.add(prefix, method="GET", name=run.fault, times=6)
        if run.point == "while the service works":
            self._sandbox.faults.add(path, method=KINDS[run.kind].method, delay=0.03)

    def _path(self, action: Action) -> str:
        kind = KINDS[action.kind]
        ids = iter([action.target])
        parts = [next(ids) if part.startswith("{") else part for part in kind.route.split("/")]
        return f"/{kind.service}/v1{'/'.join(parts)}"

    def _effects(self, action: Action) -> int:
        """How often this very write took effect, by the company's own ledger."""
        wanted = f"{KINDS[action.kind].method} {self._path(action)}"
        world = self._sandbox._world  # noqa: SLF001 - the ledger is the company's secret
        with world.lock:
            effects = world.keys.effects()
        return sum(effect.operation == wanted for effect in effects)

    # What each kind is about: always something new

    def _fields(self, kind: str) -> dict[str, Any]:
        n = self._number
        made: dict[str, Callable[[], dict[str, Any]]] = {
            "ramp_request.create": lambda: self._new_request(n),
            "ramp_request.submit_hash": lambda: {
                "request_id": self._awaiting_funds(n), "transaction_hash": f"0x{n:064x}",
            },
            "ramp_request.change_amount": lambda: {
                "request_id": self._awaiting(n), "amount": f"{2000 + n}.50",
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
                "type": "card", "reference_id": f"card-{n}", "amount": "0.01", "currency": "EUR",
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
            "company_bank_account.create": lambda: _bank(n),
            "company_wallet.create": lambda: {
                "address": f"0x{n:040x}", "chain": "BASE", "description": f"run {n}",
            },
        }  # fmt: skip
        return made.get(kind, lambda: {"request_id": self._awaiting(n)})()

    def _new_request(self, n: int) -> dict[str, Any]:
        return {
            "ramp_type": "ON_RAMP", "amount": f"{1000 + n}.25", "fiat_currency": "EUR",
            "crypto_currency": "USDC", "company_wallet_id": WALLET,
        }  # fmt: skip

    def _awaiting(self, n: int) -> str:
        return self._create(
            ramp_type="OFF_RAMP", amount=f"{100 + n}", company_bank_account_id=PAYOUT
        )

    def _awaiting_funds(self, n: int) -> str:
        made = self._awaiting(n)
        self._clients["checker"].ramp.requests.approve(made, version=1)
        return made

    def _create(self, **fields: Any) -> str:
        client = self._clients["maker"]
        [euro] = [
            f.value.id for f in client.ramp.fiat_currencies.known() if f.value.currency == "EUR"
        ]
        [coin] = [
            c.value.id for c in client.ramp.crypto_currencies.known() if c.value.currency == "USDC"
        ]
        body = NewRampRequest(fiat_currency_id=euro, crypto_currency_id=coin, **fields)
        return client.ramp.requests.create(body, check=False).value.id

    def _party(self, n: int) -> str:
        body = NewParty(party_type="ORGANISATION", name=f"Party {n} BV", external_id=f"party-{n}")
        return self._clients["maker"].finance.parties.create(body).value.id

    def _account(self, n: int) -> str:
        body = NewAccount(external_id=f"own-{n}", chain="BASE", party_id=self._party(n))
        return self._clients["maker"].finance.accounts.create(body).value.id

    def _suspended(self) -> str:
        account: str = self._sandbox._world.cast.accounts[2].id  # noqa: SLF001 - whose nobody uses
        self._sandbox.finance.suspend_account(account)
        return account


def _bank(n: int) -> dict[str, Any]:
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
def benched() -> Iterator[Bench]:
    """A bench; its journals are in memory where that is to be had, for no power is cut here."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    sandbox = Sandbox(seed=7)
    with (
        tempfile.TemporaryDirectory(dir=memory) as folder,
        sandbox.serve() as served,
        ExitStack() as stack,
    ):
        # The company's server logs each caller that is gone: here that is the point.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        yield Bench(sandbox, served, Path(folder), stack)


def sample(count: int, seed: int) -> list[Run]:
    """So many of the matrix, the same for the same seed, every kind about as often."""
    runs = every_run()
    Random(seed).shuffle(runs)
    return runs[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="So many of the matrix; all where not given.")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    runs = every_run() if given.sample is None else sample(given.sample, given.seed)
    began, broken, ends = time.monotonic(), list[Result](), Counter[tuple[str, str]]()
    cut = 0
    with benched() as bench:
        for number, run in enumerate(runs, 1):
            result = bench.run(run)
            cut += result.ended == "killed"
            ends[KINDS[run.kind].safety, f"{result.last}, {result.effects} effects"] += 1
            if result.verdict:
                broken.append(result)
                print(f"BROKEN {result.verdict}: {result}")
            if number % 250 == 0:
                print(f"{number} of {len(runs)}, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(runs)} runs, {cut} of them killed, in {time.monotonic() - began:.0f} s")
    for (safety, end), count in sorted(ends.items()):
        print(f"  {safety:<10} {end:<20} {count:>6}")
    print(f"broken promises: {len(broken)}")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
