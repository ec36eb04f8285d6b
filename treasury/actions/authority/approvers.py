"""Finds the proposed actions that a person may approve."""

from __future__ import annotations

from collections.abc import Iterable

from treasury.actions.action_states import Action
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.policies.policy import Policy
from treasury.core.errors import ActionRefused
from treasury.journal.actor import Actor
from treasury.journal.person_names import same_person


def waiting_for(person: str, actions: Iterable[Action], policy: Policy) -> frozenset[str]:
    """Return the ids of the proposed actions that this person may approve and has not agreed to.

    Two conditions are checked only when the person approves: the daily limit, and that they did not
    make the request that the action approves.
    """
    return frozenset(
        action.id
        for action in actions
        if action.state == "proposed"
        and not any(same_person(name, person) for name in action.people)
        and _may_approve(person, action, policy)
    )


def _may_approve(person: str, action: Action, policy: Policy) -> bool:
    """Return whether a person may approve an action, ignoring how they are identified."""
    trusted = "hub" if policy.hub is not None else next(iter(policy.sources), "")
    if trusted not in {"hub", "environment", "system"}:
        return False
    actor = Actor(person, trusted, "verified")  # type: ignore[arg-type]  # one of the three
    try:
        policy.check("approve", kind_of(action.kind), action.money, actor, ())
    except ActionRefused:
        return False
    return True
