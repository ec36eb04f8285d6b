"""The safety of an operation decides how its action is recovered after a crash or lost answer."""

from __future__ import annotations

from typing import Any

import pytest
from action_practice import OPERATIONS, TREASURY, Practice, refused, request_fields, transfer_fields

from treasury.actions import Action
from treasury.core.errors import InputError, OutcomeUnknown, ServiceUnreachable

FINANCE, RAMP = "/finance/v1", "/ramp/v1"


def unknown(practice: Practice, action: Action, path: str, **fault: Any) -> Action:
    """Execute an action under a fault that leaves its outcome unknown, and return it."""
    practice.sandbox.faults.add(path, **({"method": "POST", "times": 2} | fault))
    with pytest.raises(OutcomeUnknown, match="treasury actions recover"):
        practice.ines.execute(action.id)
    practice.sandbox.faults.clear()
    return practice.ines.get(action.id)


def how(action: Action) -> tuple[str, str]:
    return action.state, action.outcome.how if action.outcome is not None else action.why


def test_a_keyed_action_missing_from_every_list_is_resent_byte_for_byte(practice: Practice) -> None:
    unknown(practice, practice.transfer(), FINANCE, drop="before")
    practice.wait()
    [settled] = practice.ines.recover()
    assert how(settled) == ("done", "sent again")
    first, second = practice.journal.entries("action.sending")
    assert first.body["body"] == second.body["body"]
    assert first.body["key"] == second.body["key"]
    assert (first.body["attempt"], second.body["attempt"]) == (1, 2)
    assert len(practice.effects()) == 1


def test_a_keyed_action_whose_record_is_listed_is_not_resent(practice: Practice) -> None:
    unknown(practice, practice.transfer(), FINANCE, drop="after")
    writes = len(practice.posts())
    [settled] = practice.ines.recover()
    assert how(settled) == ("done", "adopted")
    assert len(practice.posts()) == writes


def test_an_empty_list_does_not_settle_an_outcome_before_the_settling_time(
    practice: Practice,
) -> None:
    action = unknown(practice, practice.transfer(), FINANCE, drop="before")
    writes = len(practice.posts())
    assert practice.ines.recover() == (action,)
    assert "without being listed yet; nothing was settled - recover it from" in refused(
        lambda: practice.ines.recover(action.id)
    )
    practice.wall.pass_(seconds=119)
    assert practice.ines.recover() == (action,)
    assert len(practice.posts()) == writes
    practice.wall.pass_(seconds=2)
    assert how(practice.ines.recover(action.id)[0]) == ("done", "sent again")


def test_a_transfer_is_looked_up_by_its_key_after_the_key_expires(practice: Practice) -> None:
    action = unknown(practice, practice.transfer(), FINANCE, drop="after")
    practice.wall.pass_(hours=25)
    writes = len(practice.posts())
    [settled] = practice.ines.recover()
    assert how(settled) == ("done", "adopted")
    assert len(practice.posts()) == writes
    assert practice.ines.recover(action.id) == (settled,)


def test_an_unlisted_action_goes_to_a_person_after_its_key_expires(practice: Practice) -> None:
    card = {"type": "p", "reference_id": "ops-usd", "amount": "1.00", "currency": "EUR"}
    unknown(practice, practice.approved("payment_request.create", **card), FINANCE, drop="after")
    practice.wall.pass_(hours=25)
    [open_] = practice.ines.recover()
    assert open_.state == "unknown"
    assert open_.why == "OUTCOME UNKNOWN: the service does not list these records"
    again = practice.ines.recover()
    assert again == (open_,)
    assert practice.kinds().count("unknown") == 2


def test_an_action_with_a_used_key_is_looked_up(practice: Practice) -> None:
    action = practice.transfer()
    practice.sandbox.faults.add(FINANCE, method="POST", drop="after")
    spent = {"status": 422, "name": ""}
    practice.sandbox.faults.add(FINANCE, method="POST", **spent)
    with pytest.raises(Exception):  # noqa: B017, PT011 - which one is the service's choice
        practice.ines.execute(action.id)
    practice.sandbox.faults.clear()
    assert how(practice.ines.recover(action.id)[0])[0] == "done"
    assert len(practice.effects()) == 1


def test_an_action_without_key_or_version_waits_before_lookup(practice: Practice) -> None:
    action = practice.ines.propose("ramp_request.create", **request_fields())
    unknown(practice, action, RAMP, drop="after")
    [early] = practice.ines.recover()
    assert early.state == "unknown"
    assert practice.ines.settling_until(action.id) > practice.wall()
    practice.wall.pass_(seconds=121)
    [settled] = practice.ines.recover()
    assert how(settled) == ("done", "adopted")
    assert len(practice.effects()) == 1


def test_a_create_that_is_not_found_is_unknown_and_never_resent(practice: Practice) -> None:
    action = practice.ines.propose("ramp_request.create", **request_fields())
    unknown(practice, action, RAMP, drop="before")
    practice.wall.pass_(hours=100)
    for _ in range(3):
        [open_] = practice.ines.recover()
        assert (open_.state, open_.why) == (
            "unknown",
            "OUTCOME UNKNOWN: it is not sent a second time; no record shows it",
        )
    assert len(practice.posts()) == 1
    assert "A-1 is the same" in refused(
        lambda: practice.ines.propose("ramp_request.create", **request_fields())
    )


def test_a_duplicate_of_an_unknown_action_is_not_executed(practice: Practice) -> None:
    twin = practice.transfer()
    action = practice.transfer()
    unknown(practice, action, FINANCE, drop="before")
    assert "is the same as A-2" in refused(lambda: practice.ines.execute(twin.id))
    practice.wait()
    practice.ines.recover()
    assert practice.ines.execute(twin.id).state == "done"
    assert len(practice.effects()) == 2


def test_two_matching_records_are_left_to_a_person(practice: Practice) -> None:
    action = practice.ines.propose("company_wallet.create", address="0x" + "ab" * 20, chain="BASE")
    practice.jonas.approve(action.id)
    unknown(practice, action, RAMP, drop="after")
    company = practice.client("checker").ramp.wallets
    from treasury.api.bodies import NewCompanyWallet

    company.create(NewCompanyWallet(address="0x" + "AB" * 20, chain="BASE"))
    practice.wall.pass_(seconds=121)
    [open_] = practice.ines.recover()
    assert open_.state == "unknown"


def test_an_existing_wallet_is_not_mistaken_for_the_new_one(practice: Practice) -> None:
    action = practice.ines.propose("wallet.create", account_id=TREASURY, chain="BASE")
    unknown(practice, action, FINANCE, drop="before")
    practice.wall.pass_(seconds=121)
    [open_] = practice.ines.recover()
    assert open_.state == "unknown"


def test_a_person_other_than_the_maker_settles_an_unknown_outcome(practice: Practice) -> None:
    card = {"type": "p", "reference_id": "ops-usd", "amount": "1.00", "currency": "EUR"}
    action = practice.approved("payment_request.create", **card)
    unknown(practice, action, FINANCE, drop="before")
    assert "may still arrive; nothing was settled - settle it from" in refused(
        lambda: practice.jonas.settle(action.id, carried_out=False, reason="not there")
    )
    practice.wait()
    assert "someone else has to settle it" in refused(
        lambda: practice.ines.settle(action.id, carried_out=False, reason="not at the provider")
    )
    with pytest.raises(InputError, match="reason: is missing"):
        practice.jonas.settle(action.id, carried_out=False, reason=" ")
    settled = practice.jonas.settle(action.id, carried_out=False, reason="mail of 3 November")
    assert (settled.state, settled.why) == ("refused", "mail of 3 November")
    again = practice.jonas.again(action.id)
    assert again.state == "proposed"
    assert "is proposed, not unknown" in refused(
        lambda: practice.ines.settle(again.id, carried_out=True, reason="x")
    )


def test_a_person_can_settle_an_action_as_executed(practice: Practice) -> None:
    action = practice.ines.propose("wallet.create", account_id=TREASURY, chain="BASE")
    unknown(practice, action, FINANCE, drop="after")
    practice.wait()
    settled = practice.ines.settle(
        action.id, carried_out=True, reason="seen in the portal", record="w-1"
    )
    assert settled.outcome is not None
    assert (settled.outcome.how, settled.outcome.record) == ("said by a person", "w-1")


def test_a_newer_version_proves_that_an_action_was_not_executed(
    practice: Practice,
) -> None:
    [request] = practice.awaiting()
    action = practice.jonas.propose("ramp_request.approve", request_id=request)
    practice.sandbox.faults.add(f"{RAMP}/ramp-requests/{request}/approve", drop="before")
    with pytest.raises(OutcomeUnknown):
        practice.jonas.execute(action.id)
    practice.client("checker").ramp.requests.reject(request, version=1)
    [settled] = practice.jonas.recover()
    assert settled.state == "ready"
    assert "without it" in settled.why
    assert "is REJECTED" in refused(lambda: practice.jonas.execute(action.id))


def test_an_unreachable_service_leaves_the_outcome_open(practice: Practice) -> None:
    action = unknown(practice, practice.transfer(), FINANCE, drop="after")
    practice.sandbox.faults.add("", drop="before", times=99)
    states = [recovered(practice, action.id) for _ in range(2)]
    practice.sandbox.faults.clear()
    assert states == ["unknown", "unknown"]
    assert how(practice.ines.recover()[0])[0] == "done"
    assert len(practice.effects()) == 1


def recovered(practice: Practice, action_id: str) -> str:
    try:
        return practice.ines.recover(action_id)[0].state
    except (ServiceUnreachable, OutcomeUnknown):
        return practice.ines.get(action_id).state


def test_a_settled_action_is_left_unchanged(practice: Practice) -> None:
    done = practice.ines.execute(practice.transfer().id)
    assert practice.ines.recover() == ()
    assert practice.ines.recover(done.id) == (done,)
    assert practice.jonas.unsettled() == ()


def test_a_reactivation_counts_as_done_if_the_account_is_active(practice: Practice) -> None:
    practice.sandbox.finance.suspend_account(OPERATIONS)
    action = practice.approved("account.reactivate", account_id=OPERATIONS)
    unknown(practice, action, FINANCE, drop="after")
    practice.wall.pass_(seconds=121)
    [settled] = practice.ines.recover()
    assert how(settled) == ("done", "adopted")
    assert transfer_fields()["receiver_account_id"] == OPERATIONS
