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
    """The result of one action of a batch: the action afterwards, and its error, if any."""

    action: Action
    error: TreasuryError | None = None


class Actions:
    """The actions of one workspace; `connect` returns the client of a named credential.

    Proposals are checked against `snapshot`, the last sync, or against the services without one.
    `now` is the desk's clock, `wall` the clock that times sending, `who` the person at the desk;
    the last two default to the journal's. `boot` is the clock that runs during suspend.
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
        """The policy as its file states it now; raises SettingsError naming an invalid key."""
        return self._context.load_policy()

    # Reading

    def list(self, *, state: State | None = None, kind: str | None = None) -> ActionList:
        """Return every action, oldest first, optionally of one state or kind.

        Raises InputError for an unknown state or kind.

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
        """Return an action as it is now; raise InputError for an unknown id.

        >>> t.actions.get("A-1").state
        """
        self._book.refresh()
        return self._book.get(action_id)

    def unsettled(self) -> tuple[Action, ...]:
        """Return the actions whose outcome is unknown."""
        return tuple(self._recovery.unsettled())

    def adopt_journal(self, reason: str) -> tuple[Action, ...]:
        """Adopt an older copy of a journal, or a copied workspace; all open actions lapse.

        The copy does not know what was carried out elsewhere or later, so none of its approved
        actions is sent. Check the service, then propose them again. Returns the lapsed actions.
        Raises InputError without a reason, ActionRefused if there is nothing to adopt.
        """
        if not reason.strip():
            raise InputError("reason: is missing", do="give the reason to continue with this copy")
        lost, actor = self._journal.lost(), self._context.who()
        folder = self._journal.folder
        original = None if folder is None else original_of(folder)
        if lost is None and original is None:
            raise ActionRefused(
                "the journal did not go back, and this workspace is no copy: there is nothing"
                " to adopt",
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
        """Return what `propose` would propose, to be shown and not journaled.

        With `live`, all facts are read from the service, for an immediate decision. `without_key`
        omits a key that is sent only as evidence, for a service that refuses it.

        Raises InputError for an invalid field (the text begins with its name), ActionRefused if the
        facts or the policy do not allow the action, ServiceError if the service cannot be read.
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
        """Propose an action; it is ready at once if one person is enough. Nothing is sent.

        Takes the parameters of `draft` and raises the same errors.

        >>> t.actions.propose("ramp_request.approve", request_id="PAY-1042")
        """
        drafted = self.draft(kind, reason=reason, live=live, without_key=without_key, **fields)
        return self.propose_drafts(drafted)[0]

    def propose_drafts(self, *drafts: Confirmation, nonce: str | None = None) -> tuple[Action, ...]:
        """Propose these drafts, all or none; each nonce is valid for one proposal."""
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

        Raises ActionRefused if the service shows that it was carried out after all.
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
        """Return the batch to confirm for several actions: sentences, and totals by currency."""
        self._book.refresh()
        return batch_of([self._book.get(action_id) for action_id in _each(action_ids)])

    def approve(
        self, *action_ids: str, shown: Batch | None = None, reason: str | None = None
    ) -> tuple[Action, ...]:
        """Approve actions, all or none; the hash of what was shown is journaled.

        `shown` is the confirmed batch; an action that differs from it is refused. Raises
        ActionRefused if this person made one of them, has already approved it, or is not allowed
        to.

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
        """Reject an action; anyone who may approve it may reject it."""
        actor, policy = self._context.who(), self.policy

        def check(action: Action) -> None:
            policy.check("approve", kind_of(action.kind), None, actor, ())

        return self._end("rejected", action_id, reason, actor, check)

    def withdraw(self, action_id: str, reason: str = "") -> Action:
        """Withdraw an action of one's own."""
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
        """Carry out a ready action, once.

        Raises ActionRefused if nothing was carried out (it is not ready, or an approved fact has
        changed), OutcomeUnknown if the outcome is unknown, and the service's own error if it
        refused. All of these are journaled, except if nothing left this machine.

        >>> t.actions.execute("A-1")
        """
        self._book.refresh()
        return self._sender.execute(action_id, live_services(self._context.connect))

    def execute_all(
        self, action_ids: Iterable[str], *, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Ran, ...]:
        """Carry out several actions, each like `execute`; an error of one does not stop the others.

        Stops if the service is out of reach, if an outcome is unknown, or if `progress` raises. The
        remaining actions stay ready. Raises JournalError if the results of sent actions cannot be
        journaled.
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
        """Propose and execute an action that one person may decide; raises like `execute`.

        `compare` gets the ramp request as read before anything is written, and may raise.
        """
        services = live_services(self._context.connect)
        return self._sender.carry_out(confirmed, services, nonce, compare)

    def recover(self, *action_ids: str) -> tuple[Action, ...]:
        """Settle all unsettled actions, or the named ones, as far as possible now.

        A named action that was refused becomes done if the service's record carries its key.
        Nothing is sent that could take effect twice. An action that stays open gives the reason.
        Actions that can only be settled later keep their state; if one of them was named,
        ActionRefused gives the time, after all others are settled. Raises ServiceError if the
        service is out of reach.

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
        """Return from when an interrupted or unanswered action can be settled.

        The time is by the wall clock, with PostgreSQL by the database server's.
        """
        return self._recovery.settling_until(self.get(action_id))

    def wall(self) -> datetime:
        """Return the time in UTC by the clock that times sending."""
        return self._context.wall()

    def settle(
        self, action_id: str, *, carried_out: bool, reason: str, record: str | None = None
    ) -> Action:
        """Settle an action of unknown outcome by hand, with a reason.

        An action that may have been done twice is settled the same way, after the second effect is
        undone. Raises ActionRefused, with the time, if it is too early.

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
