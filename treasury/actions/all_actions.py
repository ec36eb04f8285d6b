"""The operations on actions: propose, approve, reject, withdraw, execute, recover, list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, get_args

import msgspec

from treasury.actions.action_context import Context, Present
from treasury.actions.action_history import ActionBook
from treasury.actions.action_list import ActionList, Batch, batch_of
from treasury.actions.action_states import OPEN, Action, State
from treasury.actions.authority.authorization import decided_today, refuse_maker
from treasury.actions.drafting import Confirmation, draft, hold_day, lapse_draft, proposal
from treasury.actions.execution.outcomes import OutcomeRecorder
from treasury.actions.execution.recovery import ActionRecovery, EarlyRecovery
from treasury.actions.execution.sending import Sender, live_services
from treasury.actions.kinds.action_fields import read_fields
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.kind import AssetAmount, Kind
from treasury.actions.policies.policy import Policy, load_policy
from treasury.actions.seen_request import RampSeen
from treasury.api import Client
from treasury.core import errors
from treasury.core.errors import ActionRefused, InputError, JournalError, TreasuryError
from treasury.core.machine.boot_clock import BootTime, boot_time
from treasury.core.settings import Settings
from treasury.core.text import clean, is_it
from treasury.journal import ADOPTED, Actor, Draft, Journal
from treasury.journal.person_names import same_name, same_person
from treasury.journal.workspace_copies import adopt_copy, original_of
from treasury.lake import Snapshot

_Batched = list["Ran"]
_Drafts = list[Draft]
_STOPS: Final = (errors.ServiceUnreachable, errors.OutcomeUnknown)
_UNREAD: Final = (
    "this is a copy that was adopted, and it may have been carried out elsewhere or since: look at"
    " the service before it is proposed again"
)


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """One result of `execute_all`: the action in its new state, and its error, if any."""

    action: Action
    error: TreasuryError | None = None


class Actions:
    """The actions of one workspace, available as `t.actions`.

    Parameters
    ----------
    journal, settings, folder
        The journal, the settings and the folder of the workspace.
    connect
        A function that returns the client for a credential's name.
    now, wall, boot
        The workspace's clock; the clock that limits sending (default: the journal's); and a clock
        that also runs while the machine sleeps.
    snapshot
        A function that returns the last sync, against which proposals are checked. Without it,
        proposals are checked against the services.
    who
        A function that returns the current person (default: the journal's).
    """

    def __init__(
        self,
        journal: Journal,
        connect: Callable[[str], Client],
        settings: Settings,
        now: Callable[[], datetime],
        *,
        folder: Path | None = None,
        snapshot: Callable[[], Snapshot] | None = None,
        wall: Callable[[], datetime] | None = None,
        boot: Callable[[], BootTime] = boot_time,
        who: Callable[[], Actor] | None = None,
    ) -> None:
        self._journal = journal
        self._context = Context(
            book=ActionBook(journal),
            connect=connect,
            settings=settings,
            load_policy=lambda: load_policy(folder) if folder is not None else Policy(),
            snapshot=snapshot,
            now=now,
            wall=wall or journal.wall_clock,
            boot=boot,
            who=Present(who or journal.who),
            journal_folder=journal.folder,
        )
        self._book = self._context.book
        outcomes = OutcomeRecorder(self._context)
        self._sender = Sender(self._context, outcomes)
        self._recovery = ActionRecovery(self._context, outcomes)

    @property
    def policy(self) -> Policy:
        """The policy, read from its file now; raise SettingsError naming an invalid key."""
        return self._context.load_policy()

    # Reading

    def list(self, *, state: State | None = None, kind: str | None = None) -> ActionList:
        """Return the actions, oldest first.

        Parameters
        ----------
        state, kind
            Return only actions in this state (`proposed`, `ready`, …) or of this kind
            (`crypto_transfer.create`, …).

        Returns
        -------
        ActionList
            The actions; it prints one action per line.

        Raises
        ------
        InputError
            The state or kind is unknown.

        Examples
        --------
        >>> t.actions.list(state="ready")
        """
        if state is not None and state not in get_args(State):
            raise InputError(
                f"{clean(state)[:60]!r} is not a state of an action{is_it(state, get_args(State))}",
                do=f"give one of {', '.join(get_args(State))}",
            )
        kind_name = None if kind is None else kind_of(kind).name
        self._book.refresh()
        return ActionList(
            action
            for action in self._book.all()
            if state in {None, action.state} and kind_name in {None, action.kind}
        )

    def get(self, action_id: str) -> Action:
        """Return an action in its current state.

        Parameters
        ----------
        action_id
            The id of the action, such as `A-1`.

        Returns
        -------
        Action
            The action.

        Raises
        ------
        InputError
            No action has this id.

        Examples
        --------
        >>> t.actions.get("A-1").state
        """
        self._book.refresh()
        return self._book.get(action_id)

    def unsettled(self) -> tuple[Action, ...]:
        """Return the actions that were sent and have an unknown outcome.

        Returns
        -------
        tuple of Action
            The actions; settle them with `recover` or `settle`.

        Examples
        --------
        >>> t.actions.unsettled()
        """
        return tuple(self._recovery.unsettled())

    def adopt_journal(self, reason: str) -> tuple[Action, ...]:
        """Continue with an older copy of the journal, or with a copied workspace.

        The copy does not know which actions were carried out elsewhere or after it was made. So all
        open actions lapse and are not sent. Check each one at the service before proposing it
        again.

        Parameters
        ----------
        reason
            The reason for using the copy; it is journaled.

        Returns
        -------
        tuple of Action
            The lapsed actions.

        Raises
        ------
        InputError
            The reason is missing.
        ActionRefused
            Neither the journal nor the workspace is a copy, or the policy does not trust how the
            person is identified.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.adopt_journal("disk failed; the copy of 1 December is the newest")
        """
        if not reason.strip():
            raise InputError("reason: is missing", do="give the reason to continue with this copy")
        lost, actor = self._journal.lost(), self._context.who()
        folder = self._journal.folder
        original = None if folder is None else original_of(folder)
        if lost is None and original is None:
            raise ActionRefused(
                "the journal did not go back, and this workspace is not a copy: there is nothing "
                "to adopt",
                do="run `treasury journal verify`",
            )
        self._context.load_policy().check_identity(actor)

        def entries() -> list[Draft]:
            body = {
                "reason": reason.strip(),
                "lost_end": None if lost is None else f"{lost.seq}:{lost.hash}",
                "copy_of": None if original is None else str(original),
            }
            open_ones = [action for action in self._book.all() if action.state in OPEN]
            return [
                Draft(ADOPTED, "journal", body, actor),
                *(lapse_draft(action, actor, _UNREAD) for action in open_ones),
            ]

        self._book.refresh()
        added = self._book.decide(entries)
        if folder is not None and original is not None:
            adopt_copy(folder)
        return tuple(
            self._book.get(entry.subject) for entry in added if entry.kind == "action.lapsed"
        )

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
            return [*self._context.policy_drafts(policy, actor), *proposals]

        added = self._book.decide(entries)
        return tuple(self._book.get(e.subject) for e in added if e.kind == "action.proposed")

    def again(
        self, action_id: str, *, reason: str | None = None, without_key: bool = False
    ) -> Action:
        """Propose a lapsed, refused or rejected action again, on the current facts.

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
        return batch_of([self._book.get(action_id) for action_id in _each(action_ids)])

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
            This person made or approved one of the actions before, or the policy does not allow
            the approval; nothing was approved.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.approve("A-1", shown=t.actions.batch("A-1"))
        """
        ids, policy, actor = _each(action_ids), self.policy, self._context.who()
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
            return [*self._context.policy_drafts(policy, actor), *approvals]

        self._book.decide(entries, thorough=True)
        return tuple(self._book.get(action_id) for action_id in ids)

    def reject(self, action_id: str, reason: str) -> Action:
        """Reject an open action. Anyone who may approve it may reject it.

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

    # Executing

    def execute(self, action_id: str) -> Action:
        """Carry out a ready action, at most once. The outcome is journaled.

        Parameters
        ----------
        action_id
            The id of the action.

        Returns
        -------
        Action
            The action, in the state `done`.

        Raises
        ------
        InputError
            No action has this id.
        ActionRefused
            The action is not ready, or an approved fact has changed; nothing was carried out.
        OutcomeUnknown
            The service may have carried it out; `recover` settles it.
        ServiceError
            The service refused the call or could not be reached; nothing was carried out.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.execute("A-1")
        """
        self._book.refresh()
        return self._sender.execute(action_id, live_services(self._context.connect))

    def execute_all(
        self, action_ids: Iterable[str], *, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Ran, ...]:
        """Execute several ready actions, each like `execute`.

        An error of one action does not stop the others, unless the service cannot be reached or an
        outcome is unknown. The remaining actions then stay ready.

        Parameters
        ----------
        action_ids
            The ids of the actions, in the order of execution.
        progress
            Called before each action with the number of finished actions and the number of all; an
            exception that it raises stops the run.

        Returns
        -------
        tuple of Ran
            Each action that was tried, and its error, if any.

        Raises
        ------
        InputError
            No id was passed, or an id is unknown.
        JournalError
            The result of a sent action cannot be journaled.

        Examples
        --------
        >>> t.actions.execute_all(["A-1", "A-2"])
        """
        ids, services, ran = _each(action_ids), live_services(self._context.connect), _Batched()
        self._book.refresh()
        for action_id in ids:
            if progress is not None:
                progress(len(ran), len(ids))
            error: TreasuryError | None = None
            try:
                self._sender.execute(action_id, services)
            except JournalError:
                raise
            except TreasuryError as problem:
                error = problem
            ran.append(Ran(action=self._book.get(action_id), error=error))
            if isinstance(error, _STOPS):
                break
        return tuple(ran)

    def carry_out(
        self,
        confirmed: Confirmation,
        *,
        nonce: str | None = None,
        compare: Callable[[RampSeen | None], None] | None = None,
    ) -> Action:
        """Propose and execute an action that one person may decide.

        Also raises the errors of `propose` and `execute`.

        Parameters
        ----------
        confirmed
            The result of `draft`, as the person confirmed it.
        nonce
            A text that makes a repeated proposal fail, such as the id of a form.
        compare
            Called with the ramp request as read now, before anything is journaled or sent. An
            exception that it raises stops the action.

        Returns
        -------
        Action
            The action, in the state `done`.

        Raises
        ------
        ActionRefused
            The action needs a second person, or the errors of `execute`; nothing was carried out.

        Examples
        --------
        >>> confirmed = t.actions.draft("ramp_request.approve", request_id="PAY-1042", live=True)
        >>> t.actions.carry_out(confirmed)
        """
        services = live_services(self._context.connect)
        return self._sender.carry_out(confirmed, services, nonce, compare)

    def recover(self, *action_ids: str) -> tuple[Action, ...]:
        """Settle the actions of unknown outcome, as far as that is possible now.

        The effect of each action is looked up at the service. A call is repeated only if it cannot
        take effect twice. A named action that was refused becomes done if the service has a record
        with its key. An action that stays open states the reason in `why`.

        Parameters
        ----------
        *action_ids
            The ids of the actions; by default all of unknown outcome.

        Returns
        -------
        tuple of Action
            The actions afterwards.

        Raises
        ------
        InputError
            No action has this id.
        ActionRefused
            It is too early to settle a named action; the message states the time. All others were
            settled.
        ServiceError
            The service refused the call or could not be reached.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.recover()
        """
        early: EarlyRecovery | None = None
        ids, looked_at = action_ids or tuple(a.id for a in self.unsettled()), list[Action]()
        for action_id in ids:
            try:
                looked_at.append(self._recovery.recover(action_id))
            except EarlyRecovery as refusal:
                early = early or refusal
                looked_at.append(self._book.get(action_id))
        if early is not None and action_ids:
            raise early
        return tuple(looked_at)

    def settling_until(self, action_id: str) -> datetime:
        """Return the time from which an action of unknown outcome can be settled.

        Parameters
        ----------
        action_id
            The id of the action.

        Returns
        -------
        datetime
            The time in UTC, by the wall clock of the machine, or of the PostgreSQL server if the
            journal is there.

        Raises
        ------
        InputError
            No action has this id.

        Examples
        --------
        >>> t.actions.settling_until("A-3")
        """
        return self._recovery.settling_until(self.get(action_id))

    def wall(self) -> datetime:
        """Return the time by the clock that limits sending.

        Returns
        -------
        datetime
            The time in UTC.

        Examples
        --------
        >>> t.actions.wall()
        """
        return self._context.wall()

    def settle(
        self, action_id: str, *, carried_out: bool, reason: str, record: str | None = None
    ) -> Action:
        """Settle an action of unknown outcome by a person's decision.

        An action that may have been carried out twice is settled in the same way, after the second
        effect was undone.

        Parameters
        ----------
        action_id
            The id of the action.
        carried_out
            Whether the service carried it out.
        reason
            The source of this information; it is journaled.
        record
            The id of the record that the action created, if known.

        Returns
        -------
        Action
            The action, in its state afterwards: `done` if it was carried out, else `refused`.

        Raises
        ------
        InputError
            No action has this id, or the reason or a needed record is missing.
        ActionRefused
            The action is settled already, this person made it, or it is too early; the message
            states the time.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.settle("A-3", carried_out=False, reason="provider's mail of 2 December")
        """
        self._book.refresh()
        return self._recovery.settle(
            action_id, carried_out=carried_out, reason=reason, record=record
        )

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


def _each(action_ids: Iterable[str]) -> list[str]:
    ids = list(dict.fromkeys(action_ids))
    if not ids:
        raise InputError("no action is named", do="name at least one, such as A-1")
    return ids
