"""Carries out an action at most once: read, compare, journal, send, journal the outcome.

An entry with the exact body and key is journaled before the first byte is sent, and only if the
action is still ready after the last journal entry. So the second attempt is refused after a double
click, or if a second notebook or process tries. Another entry states the outcome: done, refused or
unknown. A refused or unknown outcome also raises an error, so that it is not overlooked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Final, NoReturn

from treasury.actions import drafting
from treasury.actions.action_context import Context
from treasury.actions.action_facts import Moved, changed
from treasury.actions.action_states import Action, PinnedCall
from treasury.actions.authority.authorization import refuse_outdated
from treasury.actions.execution.outcomes import OutcomeRecorder
from treasury.actions.execution.pinned_call import sending_draft
from treasury.actions.kinds.action_fields import read_fields
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.kind import Findings, Kind
from treasury.actions.kinds.service_records import LiveSource, ServiceRecords
from treasury.actions.seen_request import RampSeen
from treasury.actions.transaction_hashes import new_uses, requests_with_hash
from treasury.actions.twins import new_among, twins_since
from treasury.api import Client
from treasury.api.bodies import Body
from treasury.api.codec import encode
from treasury.api.created_records import SKEW
from treasury.core import errors
from treasury.core.errors import ActionRefused, TreasuryError
from treasury.journal import Draft

_ROUNDS: Final = 3
"""Maximum number of attempts while the record's version keeps changing."""


LiveServices = Callable[[str], LiveSource]
"""A live source of records for each credential used in a batch."""


def live_services(connect: Callable[[str], Client]) -> LiveServices:
    """Return live sources that have not read any record yet."""
    return cache(lambda credential: LiveSource(partial(connect, credential)))


class _Prepared(PinnedCall, frozen=True, kw_only=True):
    """A checked action, and the call to send for it."""

    action: Action


class Sender:
    """Executes the actions of one workspace."""

    def __init__(self, context: Context, outcomes: OutcomeRecorder) -> None:
        self._context = context
        self._book = context.book
        self._outcomes = outcomes

    def execute(
        self, action_id: str, services: LiveServices, findings: Findings | None = None
    ) -> Action:
        """Carry out a ready action; raise an error unless it is done.

        `findings`, if given, were just read for the action, so they are not read again.
        """
        for _ in range(_ROUNDS):
            prepared = self._prepare(self._ready(action_id), services, findings)
            findings = None
            end = self._outcomes.send(self._leave(prepared))
            self._outcomes.note(end)
            if end.bumped:
                continue
            if end.error is not None:
                raise end.error
            return _once(self._book.get(action_id))
        raise ActionRefused(
            f"{action_id}: its record changed three times while it was being sent; nothing was"
            " carried out",
            do="run it again in a moment",
        )

    def carry_out(
        self,
        confirmed: drafting.Confirmation,
        services: LiveServices,
        nonce: str | None,
        compare: Callable[[RampSeen | None], None] | None,
    ) -> Action:
        """Propose and execute the confirmed action at once, if one person is enough."""
        if confirmed.needed > 1:
            raise ActionRefused(
                f"{confirmed.kind} needs {confirmed.needed} people: nothing was sent",
                do="propose it, and have a colleague approve it",
            )
        self._context.require_original()
        kind = kind_of(confirmed.kind)
        self._context.connect(confirmed.credential).require_writes(kind.operation)
        fields = read_fields(kind.fields, confirmed.fields)
        findings = kind.read(fields, ServiceRecords(services(confirmed.credential)))
        if compare is not None:
            compare(findings.request)
        moved = changed(confirmed.facts, findings.facts)
        if moved:
            raise _lapse(confirmed.target or confirmed.kind, moved)
        policy = self._context.load_policy()

        def entries() -> list[Draft]:
            drafting.hold_day(self._context, policy, confirmed.actor, [confirmed])
            return [
                *self._context.policy_drafts(policy, confirmed.actor),
                drafting.proposal(confirmed, self._book.next_id(), nonce),
            ]

        action_id = self._book.decide(entries)[-1].subject
        return self.execute(action_id, services, findings)

    # Before sending

    def _ready(self, action_id: str) -> Action:
        """Return the action if it is ready; read new journal entries before refusing it."""
        try:
            action = self._book.get(action_id)
            _require_ready(action)
        except TreasuryError:
            self._book.refresh()
            action = self._book.get(action_id)
            _require_ready(action)
        return action

    def _prepare(
        self, action: Action, services: LiveServices, findings: Findings | None = None
    ) -> _Prepared:
        """Return the call to send; journal the lapse and raise ActionRefused if a fact changed."""
        kind = kind_of(action.kind)
        self._context.require_original()
        self._context.require_place(action)
        if not drafting.is_as_approved(action):
            raise ActionRefused(
                f"{action.id} is not what its people agreed to: the journal was changed after it"
                " was written; nothing was sent",
                do="run `treasury journal verify`, and keep the journal as evidence",
            )
        if not self._context.is_same_client(action):
            raise ActionRefused(
                f"{action.id} is approved to be sent as {action.client_id}, but the credential"
                f" {action.credential} is another client now: nothing was sent",
                do="withdraw it and propose it again",
            )
        client = self._context.connect(action.credential)
        client.require_writes(kind.operation)
        fields = read_fields(kind.fields, action.fields)
        self._context.load_policy().check_identity(self._context.who(), so="nothing was sent")
        refuse_outdated(self._context, action)
        live = services(action.credential)
        findings = findings or kind.read(fields, ServiceRecords(live))
        moved = changed(action.facts, findings.facts)
        if moved:
            self._lapsed(action, moved)
        if findings.problem:
            raise ActionRefused(
                f"{action.id}: {findings.problem}; nothing was sent",
                do="correct that and execute it again, or withdraw it",
            )
        others = requests_with_hash(self._context, kind, fields, before=action.seq)
        uses = new_uses(others, action.facts)
        if uses is not None:
            self._lapsed(action, [uses])
        body = drafting.body_of(kind, fields, findings, action.key)
        alike = self._refuse_strangers(kind, action, fields, body, live)
        if findings.drawn is not None:
            live.draw(*findings.drawn)
        if not kind.creates:
            live.forget(kind.ids_of(fields))
        if kind.alike is not None and body is not None:
            alike = [str(record.id) for record in kind.alike(client, fields, body)]
        text = "" if body is None else encode(body.wire()).decode()
        return _Prepared(
            action=action,
            ids=kind.ids_of(fields),
            body=text,
            version=findings.version,
            foreign_ids=tuple(alike),
        )

    def _refuse_strangers(
        self, kind: Kind, action: Action, fields: Any, body: Body | None, live: LiveSource
    ) -> list[str]:
        """Return the ids of records with the same effect; lapse if the approvers did not see one.

        Another person made that record, or the journal was restored from an older copy, which lacks
        the action that made it. The approval also lapses if only the key can rule out a second
        effect and the provider may have forgotten the key.
        """
        if body is None:
            return []
        forgotten = self._forgotten(action) if kind.safety == "keyed" else ""
        if kind.twins is None:
            if forgotten:
                self._lapse_untold(
                    action, f"{forgotten}, and the service does not list these records"
                )
            return []
        since = self._book.wished_since(action.fingerprint, action.proposed_at)
        try:
            twins = [*kind.twins(ServiceRecords(live, since=since), fields, body)]
        except (errors.Forbidden, errors.NotOffered, ActionRefused) as error:
            if kind.safety != "keyed":
                raise
            if forgotten:
                self._lapse_untold(action, f"{forgotten}, and no list can show it: {error.what}")
            return []
        if self._book.strangers(twins):
            # A colleague may have just made the record from this workspace.
            self._book.refresh()
        recent = twins_since(self._book.strangers(twins), since)
        moved = new_among(recent, action.facts)
        if moved is not None:
            self._lapsed(action, [moved])
        return [str(twin.id) for twin in twins]

    def _forgotten(self, action: Action) -> str:
        """Return why the provider may have forgotten the key; empty if it certainly remembers it.

        A copy of this journal may have used the key at any time since the key was created.
        """
        recovery, now = self._context.load_policy().recovery, self._context.now()
        key = f"its key is from {action.proposed_at:%Y-%m-%d %H:%M} UTC"
        if now + SKEW < action.proposed_at:
            return f"{key}, which is later than now, so its age is unknown"
        if recovery.remembers(now - action.proposed_at):
            return ""
        return (
            f"{key}; the provider remembers a key for {recovery.key_retention_hours} hours, which"
            " are over or nearly over"
        )

    def _lapse_untold(self, action: Action, why: str) -> NoReturn:
        """Let the approval lapse: only a person can find out whether it was sent from a copy."""
        error = ActionRefused(
            f"{action.id}: {why}, so it may have been carried out from a copy of this journal;"
            " nothing was sent",
            do="look for it in the provider's portal; if it is not there, `treasury actions"
            f" again {action.id}` proposes it with a new key",
        )
        self._lapsed(action, (), error)

    def _lapsed(
        self, action: Action, moved: Sequence[Moved], refusal: ActionRefused | None = None
    ) -> NoReturn:
        """Journal that the action has lapsed, and raise the refusal."""
        error = refusal or _lapse(action.id, moved)

        def entries() -> list[Draft]:
            _require_ready(self._book.get(action.id))
            return [drafting.lapse_draft(action, self._context.who(), error.what, moved)]

        self._book.decide(entries)
        raise error

    def _leave(self, call: _Prepared) -> Action:
        """Journal the start of sending; after this entry the action may have been carried out."""
        actor = self._context.who()

        def entries() -> list[Draft]:
            now = self._book.get(call.action.id)
            _require_ready(now)
            self._refuse_blocked(now)
            return [sending_draft(self._context, call.action, actor, call)]

        return self._book.leave(entries)

    def _refuse_blocked(self, action: Action) -> None:
        twin = self._book.blocking(action.fingerprint, but=action.id)
        if twin is not None:
            raise ActionRefused(
                f"{action.id} is the same as {twin.id}, which may have been carried out, once"
                " or twice: nothing was sent",
                do=f"run `treasury actions recover {twin.id}`, or settle it, first",
            )


def _once(action: Action) -> Action:
    """Return the action; raise OutcomeUnknown if it may have taken effect twice."""
    if not action.doubled:
        return action
    raise errors.OutcomeUnknown(
        f"{action.id} may have been done twice: {action.doubled}",
        look_up="find out whether a second one was executed meanwhile, then run"
        f" `treasury actions settle {action.id}`",
        operation=action.operation,
    )


def _require_ready(action: Action) -> None:
    if action.state == "ready":
        return
    by = action.sending.actor.name if action.sending is not None else ""
    state_words = {
        "proposed": f"waits for {action.waits_for} more to approve it",
        "sending": f"is being sent by {by}, or was cut off",
        "unknown": "may have been carried out",
        "done": f"was already carried out by {by}",
    }.get(action.state, f"is {action.state}: {action.why}")
    advice = {
        "proposed": "have a colleague approve it",
        "sending": f"run `treasury actions recover {action.id}` if it was cut off",
        "unknown": f"run `treasury actions recover {action.id}`",
    }.get(action.state, "propose it again if it is still wanted")
    raise ActionRefused(f"{action.id} {state_words}; nothing was sent", do=advice)


def _lapse(name: str, moved: Sequence[Moved]) -> ActionRefused:
    return ActionRefused(
        f"{name} changed since it was shown, and nothing was carried out:"
        f" {'; '.join(map(str, moved))}",
        do="look at its current state, then decide again",
    )
