"""Decisions of people about actions: propose, approve, reject, withdraw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from treasury.actions.action_list import Batch, batch_of
from treasury.actions.action_reader import ActionReader
from treasury.actions.action_states import OPEN, Action
from treasury.actions.authority.authorization import decided_today, refuse_maker
from treasury.actions.drafting import Confirmation, draft, hold_day, proposal
from treasury.actions.kinds.action_fields import read_fields
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.kind import AssetAmount, Kind
from treasury.actions.policies.policy import Policy
from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Actor, Draft
from treasury.journal.decision_log import in_bulk
from treasury.journal.person_names import same_name, same_person

_Drafts = list[Draft]


class ActionDecisions(ActionReader):
    """The operations by which people decide about actions; nothing is sent."""

    # Proposing

    def draft(
        self,
        kind: str,
        *,
        reason: str | None = None,
        live: bool = False,
        without_key: bool = False,
        **fields: object,
    ) -> Confirmation:
        """Check the fields of an action and describe it in a sentence; nothing is journaled.

        Parameters
        ----------
        kind
            The kind of action, such as `crypto_transfer.create`.
        reason
            A reason to show and journal with the action.
        live
            True to read all facts from the service, for an immediate decision. By default, facts
            come from the last sync, and from the service only if the sync lacks them.
        without_key
            True to omit an idempotency key that only serves as evidence, for a service that refuses
            it.
        **fields
            The fields that the kind requires; amounts as text or Decimal.

        Returns
        -------
        Confirmation
            The content to show: its sentence, facts, amount and hash.

        Raises
        ------
        InputError
            A field is invalid; the message begins with its name.
        ActionRefused
            The facts or the policy do not allow the action.
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> t.actions.draft("ramp_request.approve", request_id="PAY-1042").text
        """
        return draft(self._context, kind, fields, reason=reason, live=live, without_key=without_key)

    def propose(
        self,
        kind: str,
        *,
        reason: str | None = None,
        live: bool = False,
        without_key: bool = False,
        **fields: object,
    ) -> Action:
        """Propose an action, without sending it. If one person is enough, it is ready at once.

        Takes the parameters of `draft`, and raises its errors too.

        Returns
        -------
        Action
            The action, in the state `proposed` or `ready`.

        Raises
        ------
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.propose("ramp_request.approve", request_id="PAY-1042")
        """
        drafted = self.draft(kind, reason=reason, live=live, without_key=without_key, **fields)
        return self.propose_drafts(drafted)[0]

    def propose_drafts(self, *drafts: Confirmation, nonce: str | None = None) -> tuple[Action, ...]:
        """Propose drafted actions, all or none.

        Parameters
        ----------
        *drafts
            The results of `draft`, as the person confirmed them.
        nonce
            A text that makes a repeated proposal fail, such as the id of a form.

        Returns
        -------
        tuple of Action
            The actions, in the state `proposed` or `ready`.

        Raises
        ------
        ActionRefused
            The nonce was used before, or a daily limit of the policy is exceeded.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> confirmed = t.actions.draft("ramp_request.approve", request_id="PAY-1042")
        >>> t.actions.propose_drafts(confirmed)
        """
        policy, actor = self.policy, self._context.who()
        self._context.register()

        def entries() -> _Drafts:
            hold_day(self._context, policy, actor, drafts)
            proposals = [
                proposal(confirmed, self._book.next_id(place), nonce if place == 0 else None)
                for place, confirmed in enumerate(drafts)
            ]
            return [*self._context.policy_drafts(policy, actor), *in_bulk(proposals)]

        added = self._book.decide(entries)
        return tuple(self._book.get(e.subject) for e in added if e.kind == "action.proposed")

    def again(
        self, action_id: str, *, reason: str | None = None, without_key: bool = False
    ) -> Action:
        """Propose an action again on the current facts, for example one that lapsed or was refused.

        Parameters
        ----------
        action_id
            The id of the earlier action.
        reason
            The reason; default: the reason of the earlier action.
        without_key
            As in `draft`.

        Returns
        -------
        Action
            The new action.

        Raises
        ------
        InputError
            No action has this id, or a field is no longer valid.
        ActionRefused
            The service shows that the earlier action was carried out, or the facts or the policy
            do not allow the new one.
        ServiceError
            The service refused the call or could not be reached.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.again("A-3")
        """
        before = self.get(action_id)
        action = self._recovery.adopt_by_key(before)
        if action.state != before.state and action.outcome is not None:
            raise ActionRefused(
                f"{action_id} was carried out: {action.outcome.record} carries its key;"
                " nothing was proposed",
                do=f"look at {action_id} in its current state; propose it as a new action if"
                " you want it twice",
            )
        return self.propose(
            action.kind,
            reason=reason or action.reason,
            live=True,
            without_key=without_key,
            **action.fields,
        )

    # Deciding

    def batch(self, *action_ids: str) -> Batch:
        """Return several actions as one batch, to be confirmed together.

        Parameters
        ----------
        *action_ids
            The ids of the actions.

        Returns
        -------
        Batch
            The sentences of the actions, and the totals by currency.

        Raises
        ------
        InputError
            No id was passed, or an id is unknown.

        Examples
        --------
        >>> print(t.actions.batch("A-1", "A-2").text)
        """
        self._book.refresh()
        return batch_of([self._book.get(action_id) for action_id in self._each(action_ids)])

    def approve(
        self, *action_ids: str, shown: Batch | None = None, reason: str | None = None
    ) -> tuple[Action, ...]:
        """Approve actions, all or none. The hash of their content is journaled.

        Parameters
        ----------
        *action_ids
            The ids of the actions.
        shown
            The batch that the person confirmed. An action that differs from it is refused.
        reason
            A reason to journal with the approvals.

        Returns
        -------
        tuple of Action
            The actions, in the state `ready`, or `proposed` if more people have to approve.

        Raises
        ------
        InputError
            No id was passed, or an id is unknown.
        ActionRefused
            An action does not wait for approval or differs from `shown`, this person made or
            approved it before, or the policy does not allow the approval; nothing was approved.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.approve("A-1", shown=t.actions.batch("A-1"))
        """
        ids, policy, actor = self._each(action_ids), self.policy, self._context.who()
        self._context.register()

        def entries() -> _Drafts:
            approvals: _Drafts = []
            spent: list[tuple[Kind, AssetAmount]] = []
            for action_id in ids:
                action = self._book.get(action_id)
                self._check_approval(action, policy, actor, shown, spent)
                kind = kind_of(action.kind)
                if action.money is not None:
                    spent.append((kind, action.money))
                needed = max(action.needed, policy.people(kind, action.money, action.facts))
                agreed = {"facts": action.facts, "text": action.text, "policy": policy.hash}
                approvals.append(
                    action.draft("approved", actor, needed=needed, reason=reason, **agreed)
                )
            return [*self._context.policy_drafts(policy, actor), *in_bulk(approvals)]

        self._book.decide(entries, thorough=True)
        return tuple(self._book.get(action_id) for action_id in ids)

    def reject(self, action_id: str, reason: str) -> Action:
        """Reject an open action. Anyone who may approve actions of its kind may reject it.

        Parameters
        ----------
        action_id
            The id of the action.
        reason
            The reason; it is journaled.

        Returns
        -------
        Action
            The action, in the state `rejected`.

        Raises
        ------
        InputError
            No action has this id, or the reason is missing.
        ActionRefused
            The action is not open, or the policy does not allow the rejection.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.reject("A-1", "wrong receiver")
        """
        actor, policy = self._context.who(), self.policy

        def check(action: Action) -> None:
            policy.check("approve", kind_of(action.kind), None, actor, ())

        return self._end("rejected", action_id, reason, actor, check)

    def withdraw(self, action_id: str, reason: str = "") -> Action:
        """Withdraw an open action. Only the person who proposed it can withdraw it.

        Parameters
        ----------
        action_id
            The id of the action.
        reason
            A reason to journal.

        Returns
        -------
        Action
            The action, in the state `withdrawn`.

        Raises
        ------
        InputError
            No action has this id.
        ActionRefused
            Another person proposed the action, or it is not open.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.withdraw("A-1")
        """
        actor = self._context.who()

        def check(action: Action) -> None:
            if not same_name(action.proposed_by.name, actor.name):
                raise ActionRefused(
                    f"{action.proposed_by.name} proposed {action_id}, not {actor.name}",
                    do="reject it, with the reason",
                )

        return self._end("withdrawn", action_id, reason, actor, check)

    def _check_approval(
        self,
        action: Action,
        policy: Policy,
        actor: Actor,
        confirmed: Batch | None,
        spent: Sequence[tuple[Kind, AssetAmount]],
    ) -> None:
        if action.state != "proposed":
            raise ActionRefused(
                f"{action.id} is {action.state}, not waiting for approval; nothing was approved",
                do="look at the list again",
            )
        if confirmed is not None and confirmed.hashes.get(action.id) != action.content_hash:
            raise ActionRefused(
                f"{action.id} is not what was confirmed; nothing was approved",
                do="show it again and confirm what is shown",
            )
        if any(same_person(name, actor.name) for name in action.people):
            raise ActionRefused(
                f"{actor.name} has already agreed to {action.id}, and the maker is never the"
                " checker; nothing was approved",
                do="ask a colleague",
            )
        kind = kind_of(action.kind)
        if kind.decides_on_maker:
            refuse_maker(self._context, policy, read_fields(kind.fields, action.fields), actor)
        today = decided_today(self._context, policy, kind, actor, spent)
        policy.check("approve", kind, action.money, actor, today)

    def _end(
        self,
        word: str,
        action_id: str,
        reason: str,
        actor: Actor,
        check: Callable[[Action], None],
    ) -> Action:
        if word == "rejected" and not reason.strip():
            raise InputError("reason: is missing", do="give the reason")

        def entries() -> _Drafts:
            action = self._book.get(action_id)
            if action.state not in OPEN:
                raise ActionRefused(
                    f"{action_id} is {action.state}; nothing was changed",
                    do="look at the list again",
                )
            check(action)
            return [action.draft(word, actor, reason=reason, policy=self.policy.hash)]

        self._book.decide(entries)
        return self._book.get(action_id)

    @staticmethod
    def _each(action_ids: Iterable[str]) -> list[str]:
        ids = list(dict.fromkeys(action_ids))
        if not ids:
            raise InputError("no action is named", do="name at least one, such as A-1")
        return ids
