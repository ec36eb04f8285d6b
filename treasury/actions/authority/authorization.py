"""Checks the people who agreed to an action against the current policy and the journal.

Proposals and approvals are checked when they are made. When the action is sent, they are checked
again, against the policy of that moment. So earlier approvals are also affected if a limit was
lowered, a person was removed from a list, or a source of names is no longer trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from treasury.actions.action_context import Context
from treasury.actions.action_states import DROPPED, Action
from treasury.actions.kinds.action_fields import read_fields
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.kind import AssetAmount, Kind
from treasury.actions.policies.policy import POLICY_FILE, Policy
from treasury.core.errors import ActionRefused
from treasury.journal import Actor
from treasury.journal.person_names import same_person


def refuse_outdated(context: Context, action: Action, *, so: str = "nothing was sent") -> None:
    """Raise ActionRefused if the current policy does not allow the proposal or an approval."""
    policy, kind = context.load_policy(), kind_of(action.kind)
    people = [action.proposed_by, *(approval.actor for approval in action.approvals)]
    try:
        persons = [
            person
            for place, person in enumerate(people)
            if not any(same_person(person.name, before.name) for before in people[:place])
        ]
        needed = policy.people(kind, action.money, action.facts)
        if len(persons) < needed:
            noun = "person" if len(persons) == 1 else "people"
            raise ActionRefused(
                f"{len(persons)} {noun} agreed to it, and the policy now requires {needed}: {so}"
            )
        alone: Sequence[AssetAmount] = ()
        if not action.approvals:
            at, seq = action.proposed_at, action.seq
            alone = _decided_on(context, policy, kind, action.proposed_by, at, before=seq)
        policy.check("propose", kind, action.money, action.proposed_by, alone, so=so)
        for approval in action.approvals:
            actor, at = approval.actor, approval.at
            today = _decided_on(context, policy, kind, actor, at, before=approval.seq)
            policy.check("approve", kind, action.money, actor, today, so=so)
        if kind.decides_on_maker:
            fields = read_fields(kind.fields, action.fields)
            for person in people:
                refuse_maker(context, policy, fields, person, so=so)
    except ActionRefused as refusal:
        raise ActionRefused(
            f"{action.id} was agreed to, but {POLICY_FILE} does not allow it now: {refusal.what}",
            do=f"withdraw it and propose it again, or change {POLICY_FILE}",
        ) from None


def refuse_maker(
    context: Context,
    policy: Policy,
    fields: Any,
    actor: Actor,
    *,
    so: str = "nothing was decided",
) -> None:
    """Raise ActionRefused if this person made the request and the policy asks for two people."""
    makers = context.book.makers(fields.request_id)
    if policy.one_person or not any(same_person(maker.name, actor.name) for maker in makers):
        return
    raise ActionRefused(
        f"{actor.name} made this request, and the maker is never the checker: {so}",
        do="ask a colleague to approve it",
    )


def decided_today(
    context: Context,
    policy: Policy,
    kind: Kind,
    actor: Actor,
    spent: Sequence[tuple[Kind, AssetAmount]],
) -> list[AssetAmount]:
    """Return the amounts that a person approved, or proposed alone, today under the kind's rule.

    `spent` has the amounts of the same batch, which are not journaled yet.
    """
    now = [money for spent_on, money in spent if policy.rule(spent_on) == policy.rule(kind)]
    return _decided_on(context, policy, kind, actor, context.now()) + now


def _decided_on(
    context: Context,
    policy: Policy,
    kind: Kind,
    actor: Actor,
    at: datetime,
    *,
    before: int | None = None,
) -> list[AssetAmount]:
    """Return the amounts that a person decided on the day of `at` under the kind's rule.

    With `before`, only journal entries before that number count. Without a daily limit, the list is
    empty.
    """
    rule, zone = policy.rule(kind), context.settings.zone
    if rule.per_day is None:
        return []
    day = at.astimezone(zone).date()

    def counts(who: Actor, when: datetime, seq: int) -> bool:
        earlier = before is None or seq < before
        return earlier and when.astimezone(zone).date() == day and same_person(who.name, actor.name)

    return [
        action.money
        for action in context.book.all()
        if action.money is not None
        and (
            any(counts(approval.actor, approval.at, approval.seq) for approval in action.approvals)
            or (
                action.needed <= 1
                and action.state not in DROPPED
                and counts(action.proposed_by, action.proposed_at, action.seq)
            )
        )
        and policy.rule(kind_of(action.kind)) == rule
    ]
