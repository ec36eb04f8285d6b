"""If several threads of one desk act on an action, only one of them sends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from action_practice import TREASURY, Practice

from treasury.actions.execution.outcomes import OutcomeRecorder
from treasury.actions.execution.sending import Sender
from treasury.core.errors import ActionRefused, TreasuryError

FINANCE = "/finance/v1"


def together(*works: Callable[[], Any]) -> list[Any]:
    """Run each function in a separate thread; return their results or TreasuryErrors."""

    def run(work: Callable[[], Any]) -> Any:
        try:
            return work()
        except TreasuryError as error:
            return error

    with ThreadPoolExecutor(len(works)) as threads:
        return list(threads.map(run, works))


@pytest.mark.parametrize("kind", ["crypto_transfer.create", "wallet.create"])
def test_only_one_of_several_threads_sends_an_action(practice: Practice, kind: str) -> None:
    if kind == "wallet.create":
        action = practice.approved(kind, account_id=TREASURY, chain="BASE")
    else:
        action = practice.transfer()
    practice.sandbox.faults.add(FINANCE, method="POST", delay=0.2)
    gate = threading.Barrier(4)

    def execute() -> Any:
        gate.wait()
        return practice.ines.execute(action.id)

    ends = together(*[execute] * 4)
    assert sorted(isinstance(end, ActionRefused) for end in ends) == [False, True, True, True]
    assert len(practice.posts()) == len(practice.effects()) == 1
    assert practice.kinds().count("sending") == practice.kinds().count("done") == 1


def test_only_one_of_several_threads_recovers_an_action_and_settles_it(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.unknown_transfer(drop="before")
    practice.wait()
    written, sent = practice.kinds(), len(practice.posts())
    practice.sandbox.faults.add(FINANCE, method="POST", delay=0.3)
    gate, find = threading.Barrier(3), OutcomeRecorder.find

    def find_together(*given: Any) -> Any:
        found = find(*given)
        gate.wait()
        return found

    monkeypatch.setattr(OutcomeRecorder, "find", find_together)
    ends = together(*[lambda: practice.ines.recover(action.id)] * 3)
    assert sorted(isinstance(end, ActionRefused) for end in ends) == [False, True, True]
    assert len(practice.posts()) == sent + 1
    assert len(practice.effects()) == 1
    assert practice.kinds() == [*written, "sending", "done"]


def test_a_delayed_thread_does_not_send_the_action_of_another(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    left, leave = threading.Event(), Sender._leave

    def held_up(*given: Any) -> Any:
        call = leave(*given)
        left.set()
        # Wait until the request of the other thread has arrived.
        for _ in range(2_000):
            if practice.posts():
                break
            time.sleep(0.01)
        return call

    def recover() -> Any:
        assert left.wait(20)
        practice.wait()
        return practice.ines.recover(action.id)

    monkeypatch.setattr(Sender, "_leave", held_up)
    practice.sandbox.faults.add(FINANCE, method="POST", delay=0.3)
    late, recovered = together(lambda: practice.ines.execute(action.id), recover)
    assert recovered[0].state == "done"
    assert "the journal has a later entry about it; nothing was sent" in str(late)
    assert len(practice.posts()) == len(practice.effects()) == 1
    assert practice.ines.get(action.id).state == "done"
