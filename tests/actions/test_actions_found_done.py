"""A refused action is done if its record appears later, and its replacement may be a duplicate."""

from __future__ import annotations

import pytest
from action_practice import TREASURY, Practice, refused

from treasury.actions import Action
from treasury.actions.action_states import actions_of
from treasury.core.errors import ActionRefused, InvalidRequest, OutcomeUnknown
from treasury.month.items import open_actions

POSTS = f"/finance/v1/accounts/{TREASURY}/transfers"


def falsely_refused(practice: Practice, action: Action) -> Action:
    """Execute an action that takes effect but gets an answer like the service's refusal."""
    practice.sandbox.faults.add(POSTS, method="POST", status=400, acts=True)
    with pytest.raises(InvalidRequest):
        practice.ines.execute(action.id)
    refused_one = practice.ines.get(action.id)
    assert refused_one.state == "refused"
    return refused_one


def hide_records(practice: Practice) -> None:
    """Hide new records in the service's lists until `show_records`."""
    practice.sandbox.faults.add(POSTS, method="GET", stale=3600, times=100)


def show_records(practice: Practice) -> None:
    practice.sandbox.faults.clear()


def again(practice: Practice, action: Action) -> Action:
    """Propose the same action again and approve it."""
    proposed = practice.ines.again(action.id)
    return practice.jonas.approve(proposed.id)[0]


def test_a_refused_action_is_in_doubt_once_its_successor_is_done_and_its_record_appears(
    practice: Practice,
) -> None:
    first = falsely_refused(practice, practice.transfer())
    hide_records(practice)
    second = again(practice, first)
    assert practice.ines.execute(second.id).state == "done"
    show_records(practice)
    [found] = practice.jonas.recover(first.id)
    assert len(practice.effects()) == 2
    assert (found.state, found.doubled) == (
        "done",
        f"{second.id}, which is the same, left later; it was refused before that",
    )
    rows = open_actions(practice.jonas.list()).to_pylist()
    assert [(row["action_id"], row["state"]) for row in rows] == [(first.id, "doubled")]
    with pytest.raises(ActionRefused, match="is the same, and may have been carried out"):
        practice.ines.propose("crypto_transfer.create", **first.fields)
    assert actions_of(practice.journal.entries("action."))[0].doubled == found.doubled
    settled = practice.jonas.settle(first.id, carried_out=True, reason="one was paid back")
    assert settled.doubled == ""
    assert practice.jonas.recover(first.id)[0].doubled == ""


def test_a_refused_action_is_in_doubt_while_its_successor_is_unknown(
    practice: Practice,
) -> None:
    first = falsely_refused(practice, practice.transfer())
    hide_records(practice)
    second = again(practice, first)
    practice.sandbox.faults.add(POSTS, method="POST", drop="before", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(second.id)
    show_records(practice)
    assert f"{second.id}, which is the same" in practice.jonas.recover(first.id)[0].doubled


def test_an_unsent_successor_lapses_once_the_first_record_appears(
    practice: Practice,
) -> None:
    first = falsely_refused(practice, practice.transfer())
    hide_records(practice)
    second = again(practice, first)
    show_records(practice)
    [found] = practice.jonas.recover(first.id)
    assert (found.state, found.doubled) == ("done", "")
    assert refused(lambda: practice.ines.execute(second.id)) == (
        f"{second.id} is lapsed: {first.id}, which is the same, was carried out after all; nothing"
        " was sent - propose it again if it is still wanted"
    )
    assert len(practice.effects()) == 1
    # A person may repeat the action on purpose.
    assert practice.ines.execute(again(practice, second).id).state == "done"


def test_an_equal_action_proposed_before_the_sending_is_not_a_successor(practice: Practice) -> None:
    first, other = practice.transfer(), practice.transfer()
    falsely_refused(practice, first)
    [found] = practice.jonas.recover(first.id)
    assert (found.state, found.doubled) == ("done", "")
    assert practice.ines.execute(other.id).state == "done"
    assert len(practice.effects()) == 2


def test_an_equal_action_sent_earlier_is_not_a_second_effect(practice: Practice) -> None:
    earlier = practice.transfer()
    assert practice.ines.execute(earlier.id).state == "done"
    first = falsely_refused(practice, practice.transfer())
    [found] = practice.jonas.recover(first.id)
    assert (found.state, found.doubled) == ("done", "")


def test_an_action_with_another_amount_is_not_a_successor(practice: Practice) -> None:
    first = falsely_refused(practice, practice.transfer())
    assert practice.ines.execute(practice.transfer("11.00").id).state == "done"
    [found] = practice.jonas.recover(first.id)
    assert (found.state, found.doubled) == ("done", "")
