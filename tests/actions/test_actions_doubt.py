"""An action that may have been carried out is not carried out again.

The tests try to provoke a second payment by answers, clocks, spellings, copies and edited journals.
"""

from __future__ import annotations

import shutil
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
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

from treasury.actions import Actions
from treasury.actions.execution import outcomes
from treasury.api.bodies import NewCryptoTransfer
from treasury.core.errors import JournalError, OutcomeUnknown, ServiceError
from treasury.journal import Actor, Journal
from treasury.panels.steps.filed_payments import note_file

FINANCE, RAMP = "/finance/v1", "/ramp/v1"
EXTERNAL = "0x" + "aB" * 20


def lost(practice: Practice, action_id: str, when: str = "after", path: str = FINANCE) -> None:
    """Execute an action and drop the connection before or after it takes effect (`when`)."""
    practice.sandbox.faults.add(path, method="POST", drop=when, times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action_id)
    practice.sandbox.faults.clear()


# Answers that are not a clear refusal


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 408, 421, 425, 499])
@pytest.mark.parametrize("acts", [True, False])
def test_an_ambiguous_response_leaves_the_outcome_unknown(
    practice: Practice, status: int, acts: bool
) -> None:
    action = practice.transfer()
    practice.sandbox.faults.add(FINANCE, method="POST", status=status, acts=acts)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    practice.sandbox.faults.clear()
    assert practice.ines.get(action.id).state == "unknown"
    practice.wait()
    [settled] = practice.ines.recover()
    assert settled.state == "done"
    assert len(practice.effects()) == 1


@pytest.mark.parametrize("status", [303, 408])
def test_an_ambiguous_response_never_resends_a_create_without_a_key(
    practice: Practice, status: int
) -> None:
    action = practice.ines.propose("ramp_request.create", **request_fields())
    practice.sandbox.faults.add(RAMP, method="POST", status=status, acts=True)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    practice.wall.pass_(seconds=121)
    [settled] = practice.ines.recover()
    assert settled.outcome is not None
    assert settled.outcome.how == "adopted"
    assert len(practice.effects()) == 1


@pytest.mark.parametrize("status", [303, 408, 409])
def test_an_ambiguous_response_to_a_retry_does_not_settle_the_first_attempt(
    practice: Practice, status: int
) -> None:
    action = practice.transfer()
    lost(practice, action.id, "before")
    practice.wall.pass_(hours=1)
    for code in (None, "CONCURRENT_MODIFICATION"):
        error = ServiceError(f"answered {status}", status=status, code=code)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(outcomes, "post", _raising(error))
            [left] = practice.ines.recover()
        assert left.state == "unknown"
        practice.wait()
    assert practice.ines.recover()[0].state == "done"
    assert len(practice.effects()) == 1


def _raising(error: Exception) -> Any:
    def post(*_: object) -> None:
        raise error

    return post


def test_a_refusal_after_an_unanswered_attempt_is_not_final(practice: Practice) -> None:
    action = practice.transfer()
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after")
    practice.sandbox.faults.add(FINANCE, method="POST", status=400)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(action.id)
    practice.sandbox.faults.clear()
    assert practice.ines.get(action.id).state == "unknown"
    assert practice.ines.recover()[0].state == "done"
    assert len(practice.effects()) == 1


# Clocks


def test_a_clock_set_back_does_not_make_a_key_look_recent(practice: Practice) -> None:
    action = practice.transfer()
    # The machine's clock is ahead when the action is sent.
    practice.wall.pass_(days=3)
    lost(practice, action.id)
    _forget_keys(practice)
    # The clock is corrected two days later.
    practice.wall.pass_(days=-1)
    writes = len(practice.posts())
    [settled] = practice.ines.recover()
    assert settled.outcome is not None
    assert settled.outcome.how == "adopted"
    assert len(practice.posts()) == writes
    assert len(practice.effects()) == 1


def test_a_key_that_may_expire_before_it_arrives_is_not_sent(practice: Practice) -> None:
    action = practice.transfer()
    lost(practice, action.id)
    _forget_keys(practice)
    practice.wall.pass_(hours=24, seconds=-60)
    assert practice.ines.recover()[0].state == "done"
    assert len(practice.effects()) == 1


def _forget_keys(practice: Practice) -> None:
    """Make the provider forget all idempotency keys; earlier effects remain."""
    practice.sandbox._world.keys._db.execute("delete from idempotency_keys")


# Versions


@pytest.mark.first_case
@pytest.mark.parametrize("version", [0, None])
def test_an_older_version_does_not_settle_an_outcome(
    practice: Practice, monkeypatch: pytest.MonkeyPatch, version: int | None
) -> None:
    [request] = practice.awaiting()
    action = practice.jonas.propose("ramp_request.approve", request_id=request)
    requests = practice.client("checker").ramp.requests
    seen = requests.get(request)
    old = msgspec.structs.replace(seen, value=msgspec.structs.replace(seen.value, version=version))
    with monkeypatch.context() as patch:
        patch.setattr(outcomes, "post", _raising(OutcomeUnknown("no answer", look_up="look")))
        with pytest.raises(OutcomeUnknown):
            practice.jonas.execute(action.id)
        # The service shows an older version of the record, or none.
        patch.setattr(type(requests), "get", lambda *_: old)
        [left] = practice.jonas.recover()
    assert (left.state, left.why) == (
        "unknown", f"it was sent on version 1, but the record is shown at version {version}"
    )  # fmt: skip
    assert practice.posts() == []
    assert practice.jonas.recover()[0].state == "done"
    assert len(practice.effects()) == 1


# Equal content written differently


@pytest.mark.parametrize(
    "other",
    [
        {"amount": "10"},
        {"amount": "10.000000"},
        {"asset": "usdc", "chain": "base"},
        {"receiver_account_id": None, "receiver_external_id": "operations"},
    ],
)
def test_a_duplicate_is_recognised_in_any_spelling(
    practice: Practice, other: dict[str, Any]
) -> None:
    name = practice.client("viewer").finance.accounts.get(OPERATIONS).value.external_id
    if "receiver_external_id" in other:
        other = other | {"receiver_external_id": name}
    action = practice.transfer("10.00")
    lost(practice, action.id, "before")
    wanted = {k: v for k, v in (transfer_fields("10.00") | other).items() if v is not None}
    said = refused(lambda: practice.ines.propose("crypto_transfer.create", **wanted))
    assert f"{action.id} is the same" in said
    assert len(practice.posts()) == 2


def test_addresses_are_compared_without_case(practice: Practice) -> None:
    def fields(address: str) -> dict[str, Any]:
        return transfer_fields() | {
            "receiver_account_id": None,
            "external_address": address,
            "external_field": "destinationAddress",
        }

    action = practice.approved("crypto_transfer.create", **fields(EXTERNAL))
    lost(practice, action.id, "before")
    other = fields("0x" + EXTERNAL[2:].lower())
    assert f"{action.id} is the same" in refused(
        lambda: practice.ines.propose("crypto_transfer.create", **other)
    )


# Copies: the service has records that this journal lacks


def _copy(practice: Practice, name: str = "copy") -> Path:
    practice.journal.close()
    folder = practice.folder / name
    folder.mkdir()
    for file in practice.folder.glob("journal*"):
        shutil.copy(file, folder)
    return folder


def _desks(practice: Practice, folder: Path, now: datetime = MORNING) -> tuple[Actions, Actions]:
    """Return the two people's `Actions` at a restored folder with all files of the journal."""
    journal = Journal(folder, now=lambda: now)

    def desk(name: str) -> Actions:
        who = Actor(name, "environment")
        return Actions(
            journal, practice.client, practice.settings, lambda: now, folder=folder,
            wall=practice.wall, who=lambda: who,
        )  # fmt: skip

    return desk("ines"), desk("jonas")


@pytest.mark.parametrize("forgotten", [True, False])
def test_a_fully_restored_workspace_sends_nothing_twice(
    practice: Practice, forgotten: bool
) -> None:
    action = practice.transfer()
    folder = _copy(practice)
    done = practice.ines.execute(action.id)
    assert done.outcome is not None
    if forgotten:
        _forget_keys(practice)
        practice.wall.pass_(days=2)
    ines, _ = _desks(practice, folder)
    said = refused(lambda: ines.execute(action.id))
    assert "just like it at the service was none, is " + done.outcome.record in said
    assert ines.get(action.id).state == "lapsed"
    assert len(practice.effects()) == 1


def test_a_new_proposal_after_a_restore_names_the_existing_record(practice: Practice) -> None:
    folder = _copy(practice)
    done = practice.ines.execute(practice.transfer().id)
    assert done.outcome is not None
    ines, jonas = _desks(practice, folder, MORNING + timedelta(hours=30))
    again = ines.propose("crypto_transfer.create", **transfer_fields())
    assert f"LOOK: just like it at the service there is {done.outcome.record}" in again.text
    assert "which was not made from here" in again.text
    shown = jonas.batch(again.id)
    assert done.outcome.record in shown.lines[0]
    # A person has seen the record and wants a second one.
    jonas.approve(again.id, shown=shown)
    assert ines.execute(again.id).state == "done"
    assert len(practice.effects()) == 2


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("crypto_transfer.create", transfer_fields()),
        (
            "fiat_transfer.create",
            {"sender_account_id": TREASURY, "receiver_account_id": OPERATIONS, "amount": "5.00",
             "currency": "EUR"},
        ),
        (
            "account_transfer.create",
            {"source_account_id": TREASURY, "destination_account_id": OPERATIONS,
             "amount": "3.00", "cryptocurrency": "USDC"},
        ),
        ("ramp_request.create", request_fields()),
        ("party.create", {"party_type": "ORGANISATION", "name": "Kade BV"}),
    ],
)  # fmt: skip
def test_an_equal_record_created_elsewhere_lapses_the_approval(
    practice: Practice, kind: str, fields: dict[str, Any]
) -> None:
    folder = _copy(practice)
    ready = practice.approved(kind, **fields)
    # These desks have a separate journal.
    ines, jonas = _desks(practice, folder)
    other = ines.propose(kind, **fields)
    if other.state == "proposed":
        jonas.approve(other.id)
    made = ines.execute(other.id)
    assert made.outcome is not None
    assert made.outcome.record in refused(lambda: practice.ines.execute(ready.id))
    assert len(practice.effects()) == 1
    again = practice.ines.again(ready.id)
    assert f"there is {made.outcome.record}" in again.text


def test_an_action_that_differs_in_any_field_is_not_a_duplicate(practice: Practice) -> None:
    maker = practice.client("maker").finance.transfers
    ready = practice.transfer()
    for more in ({"description": "invoice 7"}, {"amount": "10.01"}):
        body = {"amount": "10.00", "chain": "BASE", "asset": "USDC",
                "receiver_account_id": OPERATIONS}  # fmt: skip
        maker.crypto(TREASURY, NewCryptoTransfer(**(body | more)))
    assert practice.ines.execute(ready.id).state == "done"


def test_a_record_created_by_this_journal_is_not_reported_as_foreign(practice: Practice) -> None:
    # The three actions are equal, and each one is approved.
    ids = [practice.transfer().id for _ in range(3)]
    ran = practice.ines.execute_all(ids)
    assert [one.action.state for one in ran] == ["done"] * 3
    colleague = practice.desk("nora", journal=Journal(practice.folder, now=lambda: MORNING))
    fourth = practice.transfer()
    assert practice.ines.execute(fourth.id).state == "done"
    fifth = practice.transfer()
    assert colleague.execute(fifth.id).state == "done"
    assert len(practice.effects()) == 5


def test_nothing_is_sent_while_the_list_of_records_cannot_be_read(practice: Practice) -> None:
    ready = practice.transfer()
    practice.sandbox.faults.add(f"{FINANCE}/accounts/{TREASURY}/transfers", method="GET",
                                status=500, times=6)  # fmt: skip
    with pytest.raises(ServiceError):
        practice.ines.execute(ready.id)
    assert practice.posts() == []
    assert practice.ines.get(ready.id).state == "ready"


# Edited journals


def _rewrite(practice: Practice, entry: str, was: str, becomes: str) -> None:
    """Edit the database file despite its triggers, as its owner can."""
    database = sqlite3.connect(practice.folder / "journal.sqlite")
    database.execute("DROP TRIGGER entries_no_update")
    changed = database.execute(
        "UPDATE entries SET body = replace(body, ?, ?) WHERE kind = ? AND instr(body, ?)",
        (was, becomes, entry, was),
    )
    assert changed.rowcount == 1
    database.commit()
    database.close()


@pytest.mark.parametrize(
    ("entry", "was", "becomes"),
    [
        ("action.proposed", '"amount":"10.00"', '"amount":"9999.00"'),
        ("action.proposed", OPERATIONS, TREASURY[:-1] + "0"),
        ("action.proposed", '"credential":"maker"', '"credential":"checker"'),
        ("action.approved", '"content_hash":"', '"content_hash":"0'),
    ],
)
def test_an_action_altered_after_approval_is_not_sent(
    practice: Practice, entry: str, was: str, becomes: str
) -> None:
    action = practice.transfer()
    practice.journal.close()
    _rewrite(practice, entry, was, becomes)
    fresh = practice.desk("ines", journal=Journal(practice.folder, now=lambda: MORNING))
    said = refused(lambda: fresh.execute(action.id))
    assert "is not what its people agreed to" in said
    assert practice.posts() == []
    with pytest.raises(JournalError, match="was changed after it was written"):
        practice.journal.verify()


def test_an_action_altered_after_sending_is_not_resent(practice: Practice) -> None:
    action = practice.transfer()
    lost(practice, action.id, "before")
    practice.wait()
    practice.journal.close()
    _rewrite(practice, "action.sending", r"amount\":10.00", r"amount\":99.00")
    fresh = practice.desk("ines", journal=Journal(practice.folder, now=lambda: MORNING))
    writes = len(practice.posts())
    with pytest.raises(JournalError, match="was changed after it was written"):
        fresh.recover()
    assert len(practice.posts()) == writes
    assert practice.effects() == []


def test_no_decision_is_accepted_on_an_altered_journal(practice: Practice) -> None:
    action = practice.ines.propose("crypto_transfer.create", **transfer_fields())
    practice.journal.close()
    # This is the text that the approver reads.
    _rewrite(practice, "action.proposed", "USDC 10.00", "USDC 1.00")
    other = Journal(practice.folder, now=lambda: MORNING)
    fresh = practice.desk("jonas", journal=other)
    for decide in (
        lambda: fresh.approve(action.id),
        lambda: fresh.reject(action.id, "no"),
        lambda: fresh.propose("crypto_transfer.create", **transfer_fields("2.00")),
    ):
        with pytest.raises(JournalError, match="entry 2 was changed after it was written"):
            decide()
    # The journal can still be read.
    assert [one.state for one in fresh.list()] == ["proposed"]
    assert other.head().seq == 2


def test_altering_the_journal_of_an_open_desk_stops_decisions_and_sending(
    practice: Practice,
) -> None:
    """The desks read the journal before the edit, so the edit is not in their memory."""
    waits = practice.ines.propose("crypto_transfer.create", **transfer_fields("3.00"))
    ready, cut_off = practice.transfer(), practice.transfer("4.00")
    lost(practice, cut_off.id, "before")
    practice.wait()
    practice.ines.recover(cut_off.id)
    writes = len(practice.posts())
    _rewrite(practice, "action.proposed", "USDC 3.00", "USDC 1.00")
    ines, jonas = practice.ines, practice.jonas
    for decide in (
        lambda: jonas.approve(waits.id),
        lambda: jonas.reject(waits.id, "no"),
        lambda: ines.withdraw(waits.id),
        lambda: ines.execute(ready.id),
        lambda: ines.execute_all([ready.id]),
        lambda: ines.propose("crypto_transfer.create", **transfer_fields("2.00")),
        lambda: note_file(practice.journal, "pay.xml", ["PAY-1"], {}, nonce="1"),
    ):
        with pytest.raises(JournalError, match="was changed after it was written") as caught:
            decide()
        assert "no more decisions are accepted" in str(caught.value)
    assert len(practice.posts()) == writes
    assert ines.get(ready.id).state == "ready"


def test_a_sent_action_is_recorded_even_if_the_journal_was_altered_meanwhile(
    practice: Practice,
) -> None:
    action = practice.transfer()
    real = outcomes.post

    def post(*given: Any) -> Any:
        _rewrite(practice, "action.approved", '"reason":null', '"reason":"x"')
        return real(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcomes, "post", post)
        assert practice.ines.execute(action.id).state == "done"
    assert practice.kinds()[-1] == "done"
    assert len(practice.effects()) == 1
    with pytest.raises(JournalError, match="was changed after it was written"):
        practice.ines.propose("crypto_transfer.create", **transfer_fields("2.00"))


def test_a_desk_rereads_a_repaired_journal(practice: Practice) -> None:
    action = practice.ines.propose("crypto_transfer.create", **transfer_fields())
    practice.journal.close()
    whole = (practice.folder / "journal.sqlite").read_bytes()
    _rewrite(practice, "action.proposed", "USDC 10.00", "USDC 1.00")
    fresh = practice.desk("jonas", journal=Journal(practice.folder, now=lambda: MORNING))
    with pytest.raises(JournalError, match="was changed after it was written"):
        fresh.approve(action.id)
    (practice.folder / "journal.sqlite").write_bytes(whole)
    [approved] = fresh.approve(action.id)
    assert "USDC 10.00" in approved.text
