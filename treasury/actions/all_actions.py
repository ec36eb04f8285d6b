"""What an analyst does with actions: propose, approve, reject, withdraw, execute, recover, list."""

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
from treasury.core.text import clean
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
    """What came of one action of a batch: the action as it stands, and what was in its way."""

    action: Action
    error: TreasuryError | None = None


class Actions:
    """The actions of one workspace; `connect` gives the client of a named credential.

    What is proposed is checked against `snapshot`, the last sync, and against the services where
    there is none. `now` is the desk's clock, `wall` the one by which sendings are timed, `who` the
    person at the desk; the default of both is the journal's. `boot` is the clock that runs during
    suspend.
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
        """The policy as its file says now; SettingsError names the key that does not read."""
        return self._context.load_policy()

    # What there is

    def list(self, *, state: State | None = None, kind: str | None = None) -> ActionList:
        """Every action, oldest first; those in a state or of a kind where named.

        InputError for a state or a kind that there is none of.
        """
        if state is not None and state not in get_args(State):
            raise InputError(
                f"there is no state {clean(state)[:60]!r} of an action",
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
        """An action as it stands; InputError where there is none."""
        self._book.refresh()
        return self._book.get(action_id)

    def unsettled(self) -> tuple[Action, ...]:
        """What may have been carried out and is not known to have been."""
        return tuple(self._recovery.unsettled())

    def adopt_journal(self, reason: str) -> tuple[Action, ...]:
        """Go on with an older copy of a journal, or a copy of a workspace; what is open lapses.

        The copy does not know what was carried out elsewhere or since, so nothing that it holds as
        approved is sent: propose it again once the service was looked at. Gives what lapsed. Raises
        InputError without a reason, ActionRefused where there is nothing to adopt.
        """
        if not reason.strip():
            raise InputError("reason: is missing", do="say why this copy is the one to go on with")
        lost, actor = self._journal.lost(), self._context.who()
        folder = self._journal.folder
        original = None if folder is None else original_of(folder)
        if lost is None and original is None:
            raise ActionRefused(
                "the journal did not go back, and this workspace is no copy: there is nothing to"
                " adopt",
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

    # What is wanted

    def draft(
        self,
        kind: str,
        *,
        reason: str | None = None,
        live: bool = False,
        without_key: bool = False,
        **fields: object,
    ) -> Confirmation:
        """What `propose` would propose: to be shown, and journaled nowhere.

        With `live` everything is read from the service, for a decision that is taken at once.
        `without_key` leaves out a key that is sent as evidence only, for a service that refuses it.
        Raises InputError, whose text begins with the field's name, for a field that cannot be;
        ActionRefused for what the world or the policy does not allow; ServiceError.
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
        """Propose an action; it is ready at once where one person is enough. Sends nothing."""
        drafted = self.draft(kind, reason=reason, live=live, without_key=without_key, **fields)
        return self.propose_drafts(drafted)[0]

    def propose_drafts(self, *drafts: Confirmation, nonce: str | None = None) -> tuple[Action, ...]:
        """Propose what was shown, all of it or nothing; a nonce is good for one proposal."""
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
        """Propose the same once more, on what is so now: what lapsed, was refused or rejected.

        ActionRefused where the service shows that it was carried out after all.
        """
        before = self.get(action_id)
        action = self._recovery.adopt_by_key(before)
        if action.state != before.state and action.outcome is not None:
            raise ActionRefused(
                f"{action_id} was carried out: {action.outcome.record} carries its key; nothing was"
                " proposed",
                do=f"look at {action_id} as it is now; propose it anew if it is wanted twice",
            )
        return self.propose(
            action.kind,
            reason=reason or action.reason,
            live=True,
            without_key=without_key,
            **action.fields,
        )

    # What is decided

    def batch(self, *action_ids: str) -> Batch:
        """What a person confirms for several at once: each sentence, and totals by currency."""
        self._book.refresh()
        return batch_of([self._book.get(action_id) for action_id in _each(action_ids)])

    def approve(
        self, *action_ids: str, shown: Batch | None = None, reason: str | None = None
    ) -> tuple[Action, ...]:
        """Approve actions, all of them or none; the hash of what was shown is journaled.

        `shown` is the batch that was confirmed: what differs from it is refused. Raises
        ActionRefused where this person made one of them, has approved it before, or may not.
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
        """Turn an action down; whoever may approve it may."""
        actor, policy = self._context.who(), self.policy

        def check(action: Action) -> None:
            policy.check("approve", kind_of(action.kind), None, actor, ())

        return self._end("rejected", action_id, reason, actor, check)

    def withdraw(self, action_id: str, reason: str = "") -> Action:
        """Take back an action that one proposed oneself."""
        actor = self._context.who()

        def check(action: Action) -> None:
            if not same_name(action.proposed_by.name, actor.name):
                raise ActionRefused(
                    f"{action.proposed_by.name} proposed {action_id}, not {actor.name}",
                    do="reject it, with the reason",
                )

        return self._end("withdrawn", action_id, reason, actor, check)

    # What is done

    def execute(self, action_id: str) -> Action:
        """Carry out an action that is ready, once.

        Raises ActionRefused where nothing was carried out (it is not ready, what was approved has
        moved), OutcomeUnknown where nobody can tell yet, and the service's own error where it
        refused. Each of them is in the journal, except what never left this machine.
        """
        self._book.refresh()
        return self._sender.execute(action_id, live_services(self._context.connect))

    def execute_all(
        self, action_ids: Iterable[str], *, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Ran, ...]:
        """Carry out several, each as `execute` does; what is wrong with one stops no other.

        Stops where the service is out of reach, where an outcome is unknown, or where `progress`
        raises: what was not tried stays ready. JournalError where it cannot be written what came of
        those that were sent.
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
        """Propose and execute in one step what a single person may decide; as `execute` raises.

        `compare` is given the ramp request as it is read before anything is written, and may raise.
        """
        services = live_services(self._context.connect)
        return self._sender.carry_out(confirmed, services, nonce, compare)

    def recover(self, *action_ids: str) -> tuple[Action, ...]:
        """Settle what is unsettled, or the ones named, as far as that is possible now.

        One named that was refused is done where the service's record carries its key.
        Nothing is sent that could take effect twice. What stays open says why; ServiceError where
        the service is out of reach. Actions that can only be settled later keep their state; if one
        of them was named, ActionRefused gives the time, after all others are settled.
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
        """From when an action that was cut off, or has no answer, can be settled.

        By the wall clock, of the database server in PostgreSQL.
        """
        return self._recovery.settling_until(self.get(action_id))

    def wall(self) -> datetime:
        """The time by the clock that sendings are timed by, in UTC."""
        return self._context.wall()

    def settle(
        self, action_id: str, *, carried_out: bool, reason: str, record: str | None = None
    ) -> Action:
        """Settle an action of unknown outcome by a person's word, with the reason.

        An action that may have been done twice is settled in the same way, once the second effect
        is undone. ActionRefused gives the time if it is too early.
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
                f"{actor.name} has agreed to {action.id} already, and the maker is never the"
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
            raise InputError("reason: is missing", do="say why it is turned down")

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
