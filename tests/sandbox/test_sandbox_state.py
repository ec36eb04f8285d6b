"""The state survives a restart and SIGKILL, and belongs to one company."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from treasury.core.errors import InputError
from treasury.sandbox import Sandbox

COLD = "b7f0d570-3ffb-42c6-aa53-7fd5b51f6b6a"
ON = {
    "rampType": "ON_RAMP", "amount": 25000, "companyWalletId": COLD,
    "fiatCurrencyId": "4de2c612-1e9f-4952-a7e5-b9d024c8b985",
    "cryptoCurrencyId": "f8dc33c7-ec5a-4e80-aec7-41e372696fbe",
}  # fmt: skip
SERVE = """
import sys
from pathlib import Path
from treasury.sandbox import Sandbox, serve_forever
serve_forever(
    Sandbox(7, state=Path(sys.argv[1])), 0, ready=lambda served: print(served.base_url, flush=True)
)
"""


@contextmanager
def killed_at_the_end(folder: Path) -> Iterator[str]:
    """Serve a sandbox in a separate process, yield its address, and end it by SIGKILL."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


def headers(http: httpx.Client, url: str, name: str) -> dict[str, str]:
    form = {
        "grant_type": "client_credentials", "client_id": f"harbour-{name}",
        "client_secret": f"sandbox-{name}-secret",
    }  # fmt: skip
    token = http.post(f"{url}/oauth/token", data=form).json()["access_token"]
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.acceptance
def test_every_acknowledged_write_survives_sigkill(tmp_path: Path, http: httpx.Client) -> None:
    body = ON | {"idempotencyKey": "7f0c4b0e-3f5d-4b1e-9a44-2b6d0f8e1a11"}
    with killed_at_the_end(tmp_path) as url:
        maker = headers(http, url, "maker")
        answers = [
            http.post(f"{url}/ramp/v1/ramp-requests", json=sent, headers=maker).content
            for sent in (body, ON, ON, ON)
        ]
        moved = http.post(f"{url}/sandbox/clock", json={"days": 1}).json()["result"]
    with killed_at_the_end(tmp_path) as url:
        assert http.get(f"{url}/sandbox").json()["result"]["now"] == moved["now"]
        maker = headers(http, url, "maker")
        found = http.get(
            f"{url}/ramp/v1/ramp-requests", params={"fromDate": "2026-11-02", "size": 100},
            headers=maker,
        ).text  # fmt: skip
        for answer in answers:
            assert httpx.Response(200, content=answer).json()["result"]["id"] in found
        again = http.post(f"{url}/ramp/v1/ramp-requests", json=body, headers=maker)
        assert again.content == answers[0]
        assert len(http.get(f"{url}/sandbox/effects").json()["result"]) == 4


@pytest.mark.acceptance
def test_a_restarted_sandbox_continues_its_pending_events(tmp_path: Path) -> None:
    first = Sandbox(7, state=tmp_path)
    request = next(f for f in first.truth_requests() if f["state"] == "PAY")
    first.ramp.fund(request["id"])
    virtual = first._world.cast.virtual_accounts[0]
    first.banks.sepa_credit(iban=virtual.iban, amount=Decimal("10.10"), text=virtual.reference_code)
    first.clock.advance(hours=5)
    told, files, sums = first.truth(), first.bank_files(), first.finance.ledger_sums()
    balances, now = first.finance.ledger_balances(), first.now
    first.close()

    second = Sandbox(7, state=tmp_path)
    assert (second.now, second.truth(), second.bank_files()) == (now, told, files)
    assert second.finance.ledger_sums() == sums
    assert second.finance.ledger_balances() == balances
    # The three events are the arrival of the wire, its delivery, and the conversion of the credit.
    assert second.clock.advance(days=2) == 3
    second.close()


@pytest.mark.acceptance
def test_a_restart_does_not_change_the_result(tmp_path: Path) -> None:
    through, stopped = Sandbox(7), Sandbox(7, state=tmp_path)
    request = next(f for f in through.truth_requests() if f["state"] == "PAY")["id"]
    for sandbox in (through, stopped):
        sandbox.ramp.fund(request)
    stopped.close()
    stopped = Sandbox(7, state=tmp_path)
    details = []
    for sandbox in (through, stopped):
        sandbox.clock.advance(days=2)
        details.append(sandbox._world.store.detail("ramp_request", request))
    assert details[0] == details[1]
    stopped.close()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"seed": 8}, "has the seed 7, not 8 - start with --seed 7"),
        ({"profile": "b"}, "has the profile spec, not b"),
        ({"scenario": "no-provider-report"}, "has the scenario full"),
    ],
)
def test_the_state_of_another_company_is_refused(
    tmp_path: Path, other: dict[str, Any], message: str
) -> None:
    Sandbox(7, state=tmp_path).close()
    with pytest.raises(InputError, match=message):
        Sandbox(**{"seed": 7, "state": tmp_path, **other})


def test_the_state_of_another_story_is_refused(tmp_path: Path) -> None:
    Sandbox(7, state=tmp_path).close()
    with sqlite3.connect(tmp_path / "sandbox.sqlite") as db:
        db.execute("update facts set value = 'another' where name = 'told'")
    db.close()
    with pytest.raises(InputError, match="another version of the sandbox"):
        Sandbox(7, state=tmp_path)


def test_a_state_in_use_or_a_foreign_folder_is_refused(tmp_path: Path) -> None:
    running = Sandbox(7, state=tmp_path)
    with pytest.raises(InputError, match="in use by another sandbox"):
        Sandbox(7, state=tmp_path)
    running.close()
    Sandbox(7, state=tmp_path).close()
    other = tmp_path / "other"
    other.mkdir()
    (other / "sandbox.sqlite").write_text("not a database at all" * 100)
    with pytest.raises(InputError, match="is not a sandbox's state"):
        Sandbox(7, state=other)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot hold the sandbox's state"):
        Sandbox(7, state=tmp_path / "file")


def test_a_failed_action_is_rolled_back() -> None:
    sandbox = Sandbox(7)
    world, before = sandbox._world, sandbox.now

    def step() -> None:
        with world.act():
            sandbox.ramp.kyb("DENIED")
            world.clock.tick()
            world.agenda.add(before, "nothing", "")
            raise sqlite3.OperationalError("disk full")

    with pytest.raises(sqlite3.OperationalError):
        step()
    assert sandbox.now == before
    assert world.agenda.coming() == []
    assert '"kybStatus":"VERIFIED"' in world.store.page("company", {}).items[0]
    request = next(f for f in sandbox.truth_requests() if f["state"] == "PAY")["id"]
    assert sandbox.ramp.receive(request) == Sandbox(7).ramp.receive(request)
