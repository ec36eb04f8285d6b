"""Desks with a shared journal in PostgreSQL use the clock of the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from action_practice import OPERATIONS, TREASURY, Practice, refused, transfer_fields
from test_actions_fencing import between_attempts, once_journaled

from benchmarks.postgres_server import Server
from treasury.actions import Action, Actions
from treasury.core.errors import JournalError
from treasury.journal import Journal

FINANCE = "/finance/v1"
SETTLED: Final = timedelta(seconds=120 + 30 + 60)
"""The term, the tests' transport deadline, and the allowed skew."""
SHIFTED: Final = """
CREATE TABLE shift (span interval NOT NULL);
INSERT INTO shift VALUES (interval '0');
CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    'SELECT pg_catalog.clock_timestamp() + (SELECT span FROM public.shift)';
"""
"""A server clock that a test moves; the search path puts it before the server's own."""


class SharedJournal:
    """A separate database on a server, with an adjustable clock and closable connections."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.url = server.new_url()
        self.name = self.url.partition("@/")[2].partition("?")[0]
        self._opened: list[Journal] = []
        with server.connect(self.name) as connection:
            connection.execute(SHIFTED)
            connection.execute(f"ALTER DATABASE {self.name} SET search_path = public, pg_catalog")

    def shift(self, span: timedelta) -> None:
        """Make the server's clock differ from the true time by a duration."""
        with self._server.connect(self.name) as connection:
            connection.execute("UPDATE shift SET span = %s", (span,))

    def cut(self) -> None:
        """End every connection and refuse new ones."""
        with self._server.connect() as connection:
            connection.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS false")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                (self.name,),
            )

    def mend(self) -> None:
        with self._server.connect() as connection:
            connection.execute(f"ALTER DATABASE {self.name} ALLOW_CONNECTIONS true")

    def desk(self, practice: Practice, person: str) -> Actions:
        """Open a desk with a separate connection, which uses the server's clock."""
        journal = Journal(self.url, now=lambda: practice.now)
        self._opened.append(journal)
        return practice.desk(person, journal=journal, wall=journal.wall_clock, folder=None)

    def close(self) -> None:
        for journal in self._opened:
            journal.close()


@pytest.fixture
def shared(database_server: Server) -> Iterator[SharedJournal]:
    shared = SharedJournal(database_server)
    yield shared
    shared.close()


@pytest.fixture
def ines(practice: Practice, shared: SharedJournal) -> Actions:
    desk = shared.desk(practice, "ines")
    practice.journal.close()
    practice.journal, practice.ines = desk._journal, desk
    practice.jonas = shared.desk(practice, "jonas")
    return desk


def _interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("hours", [-3, 0, 3], ids=["behind", "right", "ahead"])
def test_the_server_clock_decides_when_others_may_settle(
    practice: Practice,
    ines: Actions,
    shared: SharedJournal,
    monkeypatch: pytest.MonkeyPatch,
    hours: int,
) -> None:
    off = timedelta(hours=hours)
    shared.shift(off)
    ines = shared.desk(practice, "ines")
    practice.journal = ines._journal
    action = practice.transfer()
    with monkeypatch.context() as patch:
        once_journaled(practice, patch, _interrupt)
        with pytest.raises(KeyboardInterrupt):
            ines.execute(action.id)
    left_at = practice.jonas.get(action.id).departure.left_at
    assert abs(left_at - datetime.now(UTC) - off) < timedelta(seconds=30)
    shared.shift(off + SETTLED - timedelta(seconds=30))
    said = refused(lambda: shared.desk(practice, "jonas").recover(action.id))
    assert said.endswith(f"recover it from {left_at + SETTLED:%Y-%m-%d %H:%M:%S} UTC on")
    shared.shift(off + SETTLED + timedelta(seconds=30))
    assert shared.desk(practice, "jonas").recover(action.id)[0].state == "done"
    assert len(practice.effects()) == 1


def test_a_sender_past_its_deadline_by_the_server_clock_sends_nothing(
    practice: Practice, ines: Actions, shared: SharedJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()

    def shift() -> None:
        shared.shift(timedelta(seconds=121))
        # A desk reads the server's clock once a minute; this makes it read the clock now.
        ines._journal._server_clock._read = None

    once_journaled(practice, monkeypatch, shift)
    said = refused(lambda: ines.execute(action.id))
    assert "its sending term of 120 s has passed by the wall clock; nothing was sent" in said
    assert practice.posts() == []


def test_a_server_connection_lost_before_the_first_byte_stops_the_sending(
    practice: Practice, ines: Actions, shared: SharedJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    once_journaled(practice, monkeypatch, shared.cut)
    with pytest.raises(JournalError, match="; nothing was sent") as raised:
        ines.execute(action.id)
    assert "\n" not in str(raised.value)
    assert practice.posts() == []
    shared.mend()
    shared.shift(SETTLED + timedelta(seconds=240))
    assert shared.desk(practice, "jonas").recover(action.id)[0].state == "done"
    assert len(practice.effects()) == 1


@pytest.mark.parametrize("kind", ["crypto_transfer.create", "account_transfer.create"])
def test_a_server_connection_lost_before_the_second_attempt_leaves_it_to_recovery(
    practice: Practice, ines: Actions, shared: SharedJournal, kind: str
) -> None:
    between = {
        "source_account_id": TREASURY, "destination_account_id": OPERATIONS, "amount": "3.00",
        "cryptocurrency": "USDC",
    }  # fmt: skip
    fields = between if kind == "account_transfer.create" else transfer_fields()
    action = practice.approved(kind, **fields)
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after")
    between_attempts(practice, shared.cut)
    with pytest.raises(
        JournalError, match=r"A-1 \(unknown\) was sent, and that could not"
    ) as raised:
        ines.execute(action.id)
    assert f"the journal {shared.name} cannot be used" in str(raised.value)
    assert len(practice.posts()) == len(practice.effects()) == 1
    shared.mend()
    assert practice.jonas.get(action.id).state == "sending"
    shared.shift(SETTLED + timedelta(seconds=240))
    assert shared.desk(practice, "jonas").recover(action.id)[0].state == "done"
    assert len(practice.posts()) == len(practice.effects()) == 1


def frozen(practice: Practice, shared: SharedJournal, action: Action) -> subprocess.Popen[str]:
    """Start a sender in a process, and wait until it stops itself before its first byte."""
    assert practice.settings.services is not None
    clients = [(name, one.client_id) for name, one in practice.settings.credentials.items()]
    given = {
        "journal": shared.url, "token": practice.served.token_url, "clients": clients,
        "finance": practice.served.finance_url, "ramp": practice.served.ramp_url,
        "action": action.id,
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("frozen_sender.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(json.dumps(given) + "\n")
    process.stdin.flush()
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    return process


def thawed(process: subprocess.Popen[str]) -> Any:
    """Continue the stopped process; return the state or the error that it prints."""
    process.send_signal(signal.SIGCONT)
    output, _ = process.communicate(timeout=60)
    return json.loads(output)


@pytest.mark.parametrize("kind", ["crypto_transfer.create", "wallet.create"])
def test_a_frozen_sender_does_not_send_an_action_that_another_desk_has_redone(
    practice: Practice, ines: Actions, shared: SharedJournal, kind: str
) -> None:
    if kind == "wallet.create":
        action = practice.approved(kind, account_id=TREASURY, chain="BASE")
    else:
        action = practice.transfer()
    process = frozen(practice, shared, action)
    shared.shift(timedelta(hours=60))
    practice.pass_(hours=60)
    practice.forget_keys()
    jonas, nora = shared.desk(practice, "jonas"), shared.desk(practice, "nora")
    assert jonas.recover(action.id)[0].state == "unknown"
    jonas.settle(action.id, carried_out=False, reason="the provider was asked")
    again = jonas.again(action.id)
    if again.state == "proposed":
        nora.approve(again.id)
    assert jonas.execute(again.id).state == "done"
    end = thawed(process)
    assert end.startswith("ActionRefused: A-1: the journal has a later entry about it; nothing was")
    assert len(practice.posts()) == len(practice.effects()) == 1
    assert jonas.get(action.id).doubled == ""


def test_a_frozen_sender_resumes_within_its_deadline_and_sends_once(
    practice: Practice, ines: Actions, shared: SharedJournal
) -> None:
    action = practice.transfer()
    process = frozen(practice, shared, action)
    assert thawed(process) == "done"
    assert len(practice.effects()) == 1
