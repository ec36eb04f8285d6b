"""An approved action is checked again under the policy at the time of sending."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest
from action_practice import Practice, refused, request_fields, transfer_fields

from treasury.actions import POLICY_FILE, Actions
from treasury.core.errors import ActionRefused, InputError, OutcomeUnknown
from treasury.journal import Actor

FINANCE, RAMP = "/finance/v1", "/ramp/v1"


def write(practice: Practice, text: str) -> None:
    (practice.folder / POLICY_FILE).write_text(text, "utf-8")


def rule(text: str) -> str:
    return f'[[rules]]\nkinds = ["crypto_transfer.*"]\n{text}\n'


class Change(NamedTuple):
    """The policy at approval, a later policy, and the expected refusal."""

    before: str
    after: str
    said: str


CHANGES = {
    "a lower amount": Change(
        rule("at_most = {USDC = 10}"),
        rule('at_most = {USDC = "9.99"}'),
        "USDC 10.000000 is more than a person may propose for one crypto_transfer.create",
    ),
    "a proposer who is removed": Change(
        rule('propose = ["ines"]'),
        rule('propose = ["nora"]'),
        "ines may not propose crypto_transfer.create",
    ),
    "an approver who is removed": Change(
        rule('approve = ["jonas"]'),
        rule('approve = ["nora"]'),
        "jonas may not approve crypto_transfer.create",
    ),
    "less in a day": Change(
        rule("per_day = {USDC = 50}"),
        rule('per_day = {USDC = "9.99"}'),
        "USDC 10.000000 is more than a person may",
    ),
    "more people": Change(
        "", rule("people = 3"), "2 people agreed to it, and the policy now requires 3"
    ),
    "two people from a lower amount": Change(
        rule("two_people_from = {USDC = 50}"),
        rule("two_people_from = {USDC = 10}"),
        "1 person agreed to it, and the policy now requires 2",
    ),
    "another source of identity": Change(
        'identified_by = ["environment"]\n',
        'identified_by = ["hub"]\n',
        "ines is identified by the environment only, and policy.toml requires the hub",
    ),
    "one person no longer suffices": Change(
        "one_person = true\n",
        "one_person = false\n",
        "1 person agreed to it, and the policy now requires 2",
    ),
}

Run = Callable[[Actions, str], None]


def _single(desk: Actions, action_id: str) -> None:
    desk.execute(action_id)


def _batch(desk: Actions, action_id: str) -> None:
    """Execute an action in a batch with another that is refused too; raise the action's error."""
    other = next(one.id for one in desk.list() if one.id != action_id)
    ran = desk.execute_all([action_id, other])
    assert len(ran) == 2
    assert [one.action.state for one in ran] == ["ready", "ready"]
    assert ran[0].error is not None
    raise ran[0].error


def by_hub(practice: Practice) -> Actions:
    """Return the `Actions` of a person with an identity verified by a hub."""
    return practice.desk("nora", source="hub")


@pytest.mark.parametrize("run", [_single, _batch])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_approved_action_is_not_sent_under_a_stricter_policy(
    practice: Practice, change: Change, run: Run
) -> None:
    write(practice, change.before)
    ids = [practice.transfer("10.00").id, practice.transfer("10.00").id]
    write(practice, change.after)
    said = refused(lambda: run(by_hub(practice), ids[0]))
    lead = f"{ids[0]} was agreed to, but policy.toml does not allow it now: {change.said}"
    assert said.startswith(lead)
    assert said.endswith(
        "nothing was sent - withdraw it and propose it again, or change policy.toml"
    )
    assert practice.posts() == []
    assert practice.ines.get(ids[0]).state == "ready"
    # With the earlier policy the approval is valid again.
    write(practice, change.before)
    knows_everybody = "identified_by" not in change.before
    desk = by_hub(practice) if knows_everybody else practice.ines
    assert desk.execute(ids[0]).state == "done"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_interrupted_action_is_looked_up_and_not_resent_under_a_stricter_policy(
    practice: Practice, change: Change
) -> None:
    write(practice, change.before)
    arrived, lost = practice.transfer("10.00"), practice.transfer("9.00")
    for action, when in ((arrived, "after"), (lost, "before")):
        practice.sandbox.faults.add(FINANCE, method="POST", drop=when, times=2)
        with pytest.raises(OutcomeUnknown):
            practice.ines.execute(action.id)
        practice.sandbox.faults.clear()
    write(practice, change.after.replace("9.99", "8.99").replace("USDC = 10}", "USDC = 9}"))
    before = len(practice.posts())
    practice.wait()
    desk = by_hub(practice)
    [shown] = desk.recover(arrived.id)
    assert shown.outcome is not None
    assert (shown.state, shown.outcome.how) == ("done", "adopted")
    [open_one] = desk.recover(lost.id)
    assert open_one.state == "unknown"
    assert "policy.toml does not allow it now" in open_one.why
    assert "it is not sent again; no record shows it" in open_one.why
    assert len(practice.posts()) == before
    assert len(practice.effects()) == 1


def test_a_versioned_action_is_read_back_and_not_resent_under_a_stricter_policy(
    practice: Practice,
) -> None:
    [request] = practice.awaiting()
    action = practice.jonas.propose("ramp_request.approve", request_id=request)
    practice.sandbox.faults.add(RAMP, method="POST", drop="before", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.jonas.execute(action.id)
    practice.sandbox.faults.clear()
    write(practice, '[[rules]]\nkinds = ["ramp_request.*"]\npropose = ["ines"]\n')
    before = len(practice.posts())
    [left] = practice.ines.recover()
    assert left.state == "unknown"
    assert "jonas may not propose ramp_request.approve: it is not sent again" in left.why
    assert len(practice.posts()) == before
    write(practice, "")
    assert practice.ines.recover()[0].state == "done"
    assert len(practice.effects()) == 1


def test_the_maker_of_a_request_may_approve_it_only_in_a_one_person_workspace(
    practice: Practice,
) -> None:
    write(practice, "one_person = true\n")
    made = practice.ines.execute(
        practice.ines.propose("ramp_request.create", **request_fields()).id
    )
    assert made.outcome is not None
    action = practice.ines.propose("ramp_request.approve", request_id=made.outcome.record)
    write(practice, "")
    said = refused(lambda: practice.ines.execute(action.id))
    assert "ines made this request, and the maker is never the checker: nothing was sent" in said
    assert len(practice.effects()) == 1


def test_the_action_approved_first_is_sent_when_the_daily_limit_is_reached(
    practice: Practice,
) -> None:
    write(practice, rule("per_day = {USDC = 50}"))
    ids = [practice.transfer("20.00").id for _ in range(2)]
    write(practice, rule("per_day = {USDC = 30}"))
    ran = practice.ines.execute_all(reversed(ids))
    assert [one.action.id for one in ran if one.error is None] == [ids[0]]
    [error] = [one.error for one in ran if one.error is not None]
    assert "USDC 40.000000 is more than a person may approve in a day: USDC 30.000000" in str(error)


def test_the_daily_limit_counts_by_day_of_approval(practice: Practice) -> None:
    write(practice, rule("per_day = {USDC = 50}"))
    first = practice.transfer("30.00")
    practice.pass_(days=1)
    second = practice.transfer("30.00")
    ran = practice.ines.execute_all([first.id, second.id])
    assert [one.error for one in ran] == [None, None]


def test_nothing_is_sent_if_one_of_several_ids_is_unknown(practice: Practice) -> None:
    action = practice.transfer("20.00")
    with pytest.raises(InputError, match="there is no action A-unknown"):
        practice.ines.execute_all([action.id, "A-unknown"])
    assert practice.effects() == []


def test_a_decision_by_one_person_is_checked_against_the_policy_before_sending(
    practice: Practice,
) -> None:
    write(practice, rule("people = 1"))
    confirmed = practice.ines.draft("crypto_transfer.create", **transfer_fields())
    write(practice, rule('people = 1\npropose = ["jonas"]'))
    with pytest.raises(ActionRefused, match="ines may not propose"):
        practice.ines.carry_out(confirmed)
    assert practice.posts() == []


def by(practice: Practice, actor: Actor) -> Actions:
    return practice.desk(actor.name, who=lambda: actor)


HUB = '[hub]\napi = "https://hub.example.test/hub/api"\n'
UNTRUSTED = {
    "a name that was not verified": (Actor("nora", "hub", "claimed"), ""),
    "an entry without a verifier": (Actor("nora", "hub", "unstated"), ""),
    "the system's user, after a hub was named": (Actor("nora", "system", "verified"), HUB),
}


@pytest.mark.parametrize(("nora", "hub"), UNTRUSTED.values(), ids=UNTRUSTED)
def test_the_identity_of_each_person_is_checked_against_the_policy_before_sending(
    practice: Practice, nora: Actor, hub: str
) -> None:
    proposed, approved = (
        by(practice, one).propose("crypto_transfer.create", **transfer_fields()).id
        for one in (nora, Actor("ines", "hub", "verified"))
    )
    by(practice, Actor("ines", "hub", "verified")).approve(proposed)
    by(practice, nora).approve(approved)
    write(practice, f'identified_by = ["hub", "system"]\n{hub}')
    for action_id in (proposed, approved):
        said = refused(lambda one=action_id: by_hub(practice).execute(one))  # type: ignore[misc]
        assert (
            "nora is identified by the environment only, and policy.toml requires the hub" in said
        )
    assert practice.posts() == []


def test_a_look_alike_of_a_permitted_name_is_refused_before_sending(practice: Practice) -> None:
    action = practice.transfer()
    write(practice, rule('approve = ["j\u043enas"]'))
    assert "jonas may not approve" in refused(lambda: practice.ines.execute(action.id))
    write(practice, rule('approve = ["JONAS "]'))
    assert practice.ines.execute(action.id).state == "done"


def test_two_look_alike_names_count_as_one_person_before_sending(practice: Practice) -> None:
    action = practice.ines.propose("crypto_transfer.create", **transfer_fields())
    body = {
        "kind": action.kind,
        "content_hash": action.content_hash,
        "facts": action.facts,
        "text": action.text,
        "needed": 2,
    }
    look_alike = Actor("in\u0435s", "environment")
    practice.journal.append("action.approved", action.id, body, actor=look_alike)
    said = refused(lambda: practice.ines.execute(action.id))
    assert "1 person agreed to it, and the policy now requires 2" in said
    assert practice.posts() == []


def test_the_executing_person_must_be_identified_as_the_policy_requires(practice: Practice) -> None:
    known = practice.desk("ines", source="hub")
    action = known.propose("ramp_request.create", **request_fields())
    write(practice, 'identified_by = ["hub"]\n')
    said = refused(lambda: practice.jonas.execute(action.id))
    assert "jonas is identified by the environment only" in said
    assert known.execute(action.id).state == "done"
