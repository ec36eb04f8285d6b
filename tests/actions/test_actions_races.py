"""Late answers, colleagues and older journals never make a sent action ready again."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from action_practice import (
    MORNING,
    OPERATIONS,
    TREASURY,
    Practice,
    refused,
    request_fields,
    transfer_fields,
)

from treasury.actions.execution import outcomes, pinned_call
from treasury.core.errors import (
    ActionRefused,
    InputError,
    JournalError,
    OutcomeUnknown,
    ServiceUnreachable,
)
from treasury.journal import Actor, Journal

FINANCE, RAMP = "/finance/v1", "/ramp/v1"


def test_a_late_refusal_of_the_first_attempt_does_not_settle_the_second(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    action = practice.transfer()
    real = pinned_call.post

    # A colleague recovers the action before it is sent.
    def post(*given: Any) -> Any:
        monkeypatch.setattr(outcomes, "post", real)
        practice.sandbox.faults.add(FINANCE, method="POST", drop="after", times=2)
        practice.wait()
        [left] = practice.jonas.recover(action.id)
        practice.sandbox.faults.clear()
        assert left.state == "unknown"
        raise ServiceUnreachable("no connection", do="wait", operation="POST /x")

    monkeypatch.setattr(outcomes, "post", post)
    with pytest.raises(ServiceUnreachable):
        practice.ines.execute(action.id)
    assert practice.ines.get(action.id).state == "unknown"
    assert len(practice.effects()) == 1
    [settled] = practice.ines.recover()
    assert settled.state == "done"
    assert len(practice.effects()) == 1


def test_a_batch_journals_each_action_as_sent_just_before_its_turn(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (practice.transfer(amount).id for amount in ("10.00", "11.00"))
    real, states = pinned_call.post, list[str]()

    # A colleague carries the second action out meanwhile.
    def post(*given: Any) -> Any:
        monkeypatch.setattr(outcomes, "post", real)
        states.append(practice.jonas.get(second).state)
        states.append(practice.jonas.execute(second).state)
        return real(*given)

    monkeypatch.setattr(outcomes, "post", post)
    ran = practice.ines.execute_all([first, second])
    assert states == ["ready", "done"]
    assert "was already carried out by jonas" in str(ran[1].error)
    assert len(practice.effects()) == 2


def _put_back(practice: Practice, copy: Path) -> None:
    practice.journal.close()
    os.replace(copy, practice.folder / "journal.sqlite")


def _copied(practice: Practice) -> Path:
    practice.journal.close()
    return Path(shutil.copy(practice.folder / "journal.sqlite", practice.folder / "copy"))


def test_an_older_copy_of_the_journal_sends_nothing_twice(practice: Practice) -> None:
    action, waits = practice.transfer().id, practice.transfer("11.00").id
    copy = _copied(practice)
    assert practice.ines.execute(action).state == "done"
    _put_back(practice, copy)
    # The provider has forgotten the key.
    practice.wall.pass_(days=3)
    fresh = practice.desk("ines", journal=Journal(practice.folder, now=lambda: MORNING))
    with pytest.raises(ActionRefused, match="already carried out"):
        practice.ines.execute(action)
    with pytest.raises(JournalError, match="the journal went back"):
        fresh.execute(action)
    with pytest.raises(JournalError, match="the journal went back"):
        fresh.execute_all([action, waits])
    with pytest.raises(JournalError, match="the journal went back"):
        fresh.propose("account_transfer.create", **_between())
    assert {fresh.get(one).state for one in (action, waits)} == {"ready"}
    assert len(practice.effects()) == 1


def test_an_adopted_copy_sends_no_action_approved_before(practice: Practice) -> None:
    action = practice.transfer().id
    with pytest.raises(ActionRefused, match="the journal did not go back"):
        practice.ines.adopt_journal("just so")
    copy = _copied(practice)
    practice.ines.execute(action)
    _put_back(practice, copy)
    with pytest.raises(InputError, match="reason: is missing"):
        practice.ines.adopt_journal(" ")
    [lapsed] = practice.ines.adopt_journal("the disk broke")
    assert (lapsed.id, lapsed.state) == (action, "lapsed")
    assert "may have been carried out" in lapsed.why
    with pytest.raises(ActionRefused):
        practice.jonas.execute(action)
    assert len(practice.effects()) == 1
    # The action waits for a colleague again.
    assert practice.ines.again(action).state == "proposed"
    practice.journal.verify()


def test_a_journal_that_was_reset_and_extended_is_reread_from_the_start(practice: Practice) -> None:
    practice.transfer("9.00")
    copy = _copied(practice)
    for amount in ("11.00", "12.00"):
        practice.ines.propose("crypto_transfer.create", **transfer_fields(amount))
    _put_back(practice, copy)
    other = Journal(practice.folder, now=lambda: MORNING)
    desk = practice.desk("nora", journal=other)
    desk.adopt_journal("the disk broke")
    made = desk.propose("account_transfer.create", **_between())
    other.close()
    assert practice.ines.get(made.id).kind == "account_transfer.create"
    assert [one.state for one in practice.ines.list()] == ["lapsed", "proposed"]


def _between() -> dict[str, Any]:
    return {
        "source_account_id": TREASURY,
        "destination_account_id": OPERATIONS,
        "amount": "1.00",
        "cryptocurrency": "USDC",
    }


def test_a_person_who_settles_a_create_as_carried_out_must_name_the_record(
    practice: Practice,
) -> None:
    made = practice.ines.propose("ramp_request.create", **request_fields())
    practice.sandbox.faults.add(f"{RAMP}/ramp-requests", method="POST", drop="after", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(made.id)
    practice.sandbox.faults.clear()
    practice.wait()
    with pytest.raises(InputError, match="record: is missing"):
        practice.ines.settle(made.id, carried_out=True, reason="seen in the portal")


def test_a_person_who_may_have_changed_the_amount_cannot_approve_the_request(
    practice: Practice,
) -> None:
    [request] = practice.awaiting()
    change = practice.approved("ramp_request.change_amount", request_id=request, amount="777.00")
    path = f"{RAMP}/ramp-requests/{request}"
    practice.sandbox.faults.add(f"{path}/amount", drop="before")
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(change.id)
    practice.sandbox.faults.clear()
    assert practice.ines.get(change.id).state == "unknown"
    assert "ines made this request" in refused(
        lambda: practice.ines.propose("ramp_request.approve", request_id=request)
    )


def test_a_journal_written_by_a_fast_clock_hides_no_effect(practice: Practice) -> None:
    ahead = Journal(practice.folder, now=lambda: MORNING + timedelta(hours=2))
    ahead.append("match.undo", "x", {}, actor=Actor("nora", "environment"))
    ahead.close()
    practice.wall.now = MORNING
    made = practice.ines.propose("ramp_request.create", **request_fields())
    practice.sandbox.faults.add(f"{RAMP}/ramp-requests", method="POST", drop="after", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(made.id)
    practice.sandbox.faults.clear()
    practice.wall.pass_(seconds=121)
    [settled] = practice.ines.recover()
    assert settled.state == "done"
