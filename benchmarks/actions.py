"""Executing approved actions against bare POSTs of the same bodies, one after the other.

The practice services run in a process of their own. The figure is the ratio of the two rates, in
one run on one machine; the journal is on its disk, synchronous as always. Each action is journaled
before and after it leaves, in a batch as alone.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from treasury.actions import Actions
from treasury.api import Client
from treasury.api.bodies import NewCryptoTransfer
from treasury.core.files.state_folder import STATE_VARIABLE
from treasury.core.settings import CompanySettings, Credential, Service, Services, Settings
from treasury.journal import Actor, Journal
from treasury.sandbox import Sandbox, Served, serve_forever

SENDER = "f5520527-134b-49e6-ac6e-833cf327cb46"
RECEIVER = "aaaa0793-25d6-433b-ae47-6f2de3994601"
WANTED = 0.10
ROUNDS = 4


def _serve(told: multiprocessing.Queue[tuple[str, str, str]]) -> None:
    def ready(served: Served) -> None:
        told.put((served.token_url, served.finance_url, served.ramp_url))

    serve_forever(Sandbox(7), 0, ready=ready)


def _settings(addresses: tuple[str, str, str]) -> Settings:
    token, finance, ramp = addresses
    credentials = {}
    for name, (client_id, secret) in Sandbox(7).credentials.items():
        os.environ[f"BENCH_{name}"] = secret
        credentials[name] = Credential(client_id, f"env:BENCH_{name}")
    services = Services(token_url=token, finance=Service(finance), ramp=Service(ramp))
    return Settings(
        workspace=CompanySettings(company="Bench"), services=services, credentials=credentials
    )


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _bare(client: Client, count: int) -> None:
    for number in range(count):
        body = NewCryptoTransfer(
            amount="0.01", chain="BASE", asset="USDC", receiver_account_id=RECEIVER,
            description=f"bare {number}",
        )  # fmt: skip
        client.finance.transfers.crypto(SENDER, body)


def _approved(actions: Actions, approve: Actions, count: int) -> list[str]:
    drafts = [
        actions.draft(
            "crypto_transfer.create", sender_account_id=SENDER, receiver_account_id=RECEIVER,
            chain="BASE", asset="USDC", amount="0.01", description=f"approved {number}",
        )
        for number in range(count)
    ]  # fmt: skip
    ids = [action.id for action in actions.propose_drafts(*drafts)]
    approve.approve(*ids, shown=approve.batch(*ids))
    return ids


def _measure(settings: Settings, folder: Path, count: int) -> float:
    assert settings.services is not None
    clients = {
        name: Client(settings.services, settings.credential(name)) for name in settings.credentials
    }
    journal = Journal(folder)

    def desk(person: str) -> Actions:
        who = Actor(person, "environment")
        return Actions(journal, clients.__getitem__, settings, settings.now, who=lambda: who)

    ines, jonas = desk("ines"), desk("jonas")
    _bare(clients["maker"], 20)
    began = time.perf_counter()
    ids = _approved(ines, jonas, count)
    print(f"proposed and approved {count} in {time.perf_counter() - began:.1f} s")
    several, shares, rates = count // ROUNDS, list[float](), list[tuple[float, float]]()
    for turn in range(ROUNDS):
        mine = ids[turn * several : (turn + 1) * several]
        bare = _seconds(lambda: _bare(clients["maker"], several))
        executed = _seconds(lambda ids=mine: _execute(ines, ids))
        shares.append(bare / executed)
        rates.append((several / bare, several / executed))
        print(f"bare POSTs {rates[-1][0]:5.0f} a second, approved actions {rates[-1][1]:5.0f}")
    for client in clients.values():
        client.close()
    return statistics.median(shares)


def _execute(desk: Actions, ids: list[str]) -> None:
    ran = desk.execute_all(ids)
    wrong = [one.error for one in ran if one.error is not None]
    assert not wrong, wrong[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    count = parser.parse_args().count
    told: multiprocessing.Queue[tuple[str, str, str]] = multiprocessing.Queue()
    server = multiprocessing.Process(target=_serve, args=(told,), daemon=True)
    server.start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            os.environ[STATE_VARIABLE] = str(Path(folder) / "state")
            share = _measure(_settings(told.get(timeout=60)), Path(folder), count)
    finally:
        server.terminate()
        server.join()
    print(f"share             {share:7.0%} (wanted {WANTED:.0%})")
    raise SystemExit(share < WANTED)


if __name__ == "__main__":
    main()
