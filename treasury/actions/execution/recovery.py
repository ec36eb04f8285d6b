"""Settles what a crash, a timeout or a dropped connection left open, by what its operation allows.

Keyed: the identical request again, as long as the provider remembers the key and nobody else did
the same meanwhile; after that its record is looked up by the key. Versioned: the effect is read
back; where it does not show and the version is still the one that was sent, the same again is safe,
for only one of the two can take effect. Neither: never again. After a settling time one record that
can only be ours settles it; otherwise the outcome is unknown and a person says what became of it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from treasury import errors
from treasury.actions.action_context import Context
from treasury.actions.action_history import MAKES
from treasury.actions.action_states import UNSETTLED, Action, Sending
from treasury.actions.authority.authorization import refuse_outdated
from treasury.actions.execution.outcomes import End, OutcomeRecorder, has_passed
from treasury.actions.execution.pinned_call import post, sending_draft, sent_of
from treasury.actions.execution.twins import LIKE, new_among, twins_since
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.service_records import LiveSource, ServiceRecords
from treasury.api import Client, Record
from treasury.api.created_records import SKEW
from treasury.errors import ActionRefused, InputError, JournalError, ServiceError, TreasuryError
from treasury.journal import Draft
from treasury.journal.person_names import same_person
from treasury.text import clean

_JUDGED: Final = frozenset({400, 402, 415, 422})
"""The statuses of a service that has looked at the call itself, and does not do it."""


class ActionRecovery:
    """Settles actions one by one; what stays open says why in its entry."""

    def __init__(self, context: Context, outcomes: OutcomeRecorder) -> None:
        self._context = context
        self._book = context.book
        self._outcomes = outcomes

    def unsettled(self) -> list[Action]:
        """What may have been carried out and is not known to have been."""
        self._book.refresh()
        return [action for action in self._book.all() if action.state in UNSETTLED]

    def recover(self, action_id: str) -> Action:
        """Settle one action as far as that is possible now; ServiceError where nobody answers."""
        self._book.refresh()
        action = self._book.get(action_id)
        if action.state not in UNSETTLED:
            return self.adopt_by_key(action)
        self._context.require_original()
        self._context.require_place(action)
        try:
            match kind_of(action.kind).safety:
                case "keyed":
                    return self._keyed(action)
                case "versioned":
                    return self._versioned(action)
                case _:
                    if self._context.wall() < self.settling_until(action):
                        return action
                    return self._looked_up(action, "it is not sent a second time")
        except Exception as error:
            now = self._book.get(action_id)
            left_again = now.attempts > action.attempts
            if isinstance(error, JournalError) or (
                isinstance(error, TreasuryError) and not left_again
            ):
                raise  # nobody answers, or nothing may be sent: it stays as it is
            return self._ended(self._outcomes.unreadable(now, error))

    def adopt_by_key(self, action: Action) -> Action:
        """What is said not to have been carried out is done where a record carries its key."""
        if action.state in UNSETTLED | {"done"} or not (action.attempts and action.key):
            return action
        self._context.require_place(action)
        return self._with_its_key(action) or action

    def _with_its_key(self, action: Action) -> Action | None:
        """The action as done by the record that carries its key; None where none does."""
        record = self._outcomes.look_up(action)
        if record is None or getattr(record.value, "idempotency_key", None) != action.key:
            return None
        return self._done(action, record, "adopted")

    def settling_until(self, action: Action) -> datetime:
        """Until when an effect may be on its way, or not listed yet."""
        return action.departure.left_at + self._settling_time()

    def _settling_time(self) -> timedelta:
        return timedelta(seconds=self._context.load_policy().recovery.settling_seconds)

    def _keyed(self, action: Action) -> Action:
        why = self._why_not_again(action)
        if why:
            return self._looked_up(action, why)
        elsewhere = self._done_elsewhere(action)
        if elsewhere:
            why = f"OUTCOME UNKNOWN: {LIKE} there is {elsewhere}, which this did not make"
            return self._with_its_key(action) or self._open(action, why)
        client, action = self._leave_again(action)
        try:
            record = post(client, kind_of(action.kind), action.departure, action.key)
        except errors.KeySpent as error:
            return self._looked_up(action, error.what)
        except ServiceError as error:
            return self._refused_again(action, error)
        if not self._outcomes.is_shown(action, record):
            return self._open(action, "the answer does not show what was sent")
        return self._done(action, record, "sent again")

    def _why_not_again(self, action: Action) -> str:
        """Why the identical request must not be sent; empty where it is carried out once."""
        forgotten = self._forgotten(action.departure)
        if forgotten:
            return forgotten
        if not self._context.is_same_client(action):  # whose keys the provider keeps apart
            return (
                f"its key is of {action.client_id}, and {action.credential} is another client now"
            )
        outdated = self._outdated(action)
        if not outdated and action.departure.seq < self._book.fold.adopted:
            return "this journal is of an older copy, which was adopted since"
        return outdated

    def _done_elsewhere(self, action: Action) -> str:
        """A record that does the same and is another's; empty where none is, or no list tells.

        Somebody did it meanwhile, or this journal did under another key before it was put back from
        an older copy. Another's carries another key, or was made when ours had long arrived.
        """
        kind, sent = kind_of(action.kind), sent_of(action)
        if kind.twins is None or sent.body is None:
            return ""
        since = self._book.wished_since(action.fingerprint, action.proposed_at)
        service = LiveSource(lambda: self._context.connect(action.credential))
        try:
            twins = [*kind.twins(ServiceRecords(service, since=since), sent.fields, sent.body)]
        except (errors.Forbidden, errors.NotOffered, ActionRefused):
            return ""
        arrived = action.departure.at + self._settling_time() + SKEW
        others = [
            twin
            for twin in self._book.strangers(twins)
            if twin.key is not None or (twin.at is not None and twin.at > arrived)
        ]
        moved = new_among(twins_since(others, since), action.facts)
        return "" if moved is None else moved.now

    def _outdated(self, action: Action) -> str:
        """Why the present policy does not allow it; empty where it does.

        To send it again decides nothing anew, but what did not arrive would take effect now.
        """
        try:
            refuse_outdated(self._context, action, so="it is not sent again")
        except ActionRefused as refusal:
            return refusal.what
        return ""

    def _forgotten(self, sending: Sending) -> str:
        """Why the provider may not know the key any more; empty where it is sure to.

        A clock that went back says no age at all.
        """
        policy, now = self._context.load_policy().recovery, self._context.wall()
        if now + SKEW < self._book.fold.last_left:
            return "the clock went back since, so how old its key is nobody can tell"
        if policy.remembers(sending.first_left_at, now):
            return ""
        return f"its key is older than {policy.key_retention_hours} hours"

    def _versioned(self, action: Action) -> Action:
        record = self._outcomes.request(action)
        sent_version = action.departure.version
        if self._outcomes.is_shown(action, record):
            return self._done(action, record, "read back")
        if has_passed(action, record):
            return self._not_carried_out(action, record)
        if record.value.version != sent_version:  # an old answer, or none at all
            why = f"it was sent on version {sent_version}, and the record is shown at"
            return self._open(action, f"{why} {record.value.version}")
        outdated = self._outdated(action)
        if outdated:
            return self._open(action, outdated)
        client, action = self._leave_again(action)
        try:
            record = post(client, kind_of(action.kind), action.departure, action.key)
        except errors.VersionConflict as conflict:
            record = self._outcomes.request(action)
            if self._outcomes.is_shown(action, record):
                return self._done(action, record, "read back")
            if has_passed(action, record):
                return self._not_carried_out(action, record)
            return self._open(action, conflict.what, conflict)
        except ServiceError as error:
            return self._refused_again(action, error)
        if not self._outcomes.is_shown(action, record):
            return self._open(action, f"the service shows it {clean(record.value.status)}")
        return self._done(action, record, "sent again")

    def _done(self, action: Action, record: Record[Any], how: str) -> Action:
        return self._ended(self._outcomes.carried_out(action, record, how))

    def _ended(self, end: End) -> Action:
        self._outcomes.note([end])
        return self._book.get(end.draft.subject)

    def _leave_again(self, action: Action) -> tuple[Client, Action]:
        """Journal that the same bytes leave once more; with what, and the action then."""
        client = self._context.connect(action.credential)
        client.require_writes(kind_of(action.kind).operation)
        actor = self._context.who()

        def entries() -> list[Draft]:
            now = self._book.get(action.id)
            if now.state not in UNSETTLED or now.attempts != action.attempts:
                raise ActionRefused(
                    f"{action.id} is being settled by somebody else; nothing was sent",
                    do="look at it again in a moment",
                )
            return [sending_draft(self._context, now, actor, now.departure)]

        self._book.decide(entries, thorough=True)
        return client, self._book.get(action.id)

    def _refused_again(self, action: Action, error: ServiceError) -> Action:
        """A refusal of the second sending speaks for the first only once that has arrived."""
        late = self._context.wall() >= action.departure.first_left_at + self._settling_time()
        if not error.may_have_executed and late and error.status in _JUDGED:
            return self._ended(self._outcomes.refused(action, error))
        return self._ended(self._outcomes.unknown(action, error.what, error))

    def _not_carried_out(self, action: Action, record: Record[Any]) -> Action:
        """Its version has passed without the effect: what was sent can never take effect now."""
        why = (
            f"not carried out: it was sent on version {action.departure.version}, the record is at"
            f" {record.value.version} ({record.value.status}) without it"
        )
        return self._recovered(action, why, again=True)

    def _looked_up(self, action: Action, why: str) -> Action:
        record = None
        try:
            record = self._outcomes.look_up(action)
        except errors.NotFound as error:
            why = f"{why}; {error.what}"
        if record is not None:
            return self._done(action, record, "adopted")
        if action.refusal_in_doubt:
            return self._recovered(action, f"{action.why}; and no record shows it", again=False)
        is_listed = kind_of(action.kind).look_up is not None
        listing = "no record shows it" if is_listed else "the service lists none"
        return self._open(action, f"OUTCOME UNKNOWN: {why}; {listing}")

    def _open(self, action: Action, why: str, cause: ServiceError | None = None) -> Action:
        """It stays unknown; said once, however often it is asked."""
        if (action.state, action.why) == ("unknown", why):
            return action
        return self._ended(self._outcomes.unknown(action, why, cause))

    def _recovered(self, action: Action, why: str, *, again: bool) -> Action:
        more = {"carried_out": False, "why": why, "again": again, "attempt": action.attempts}
        self._book.note([action.draft("recovered", self._context.who.last(), **more)])
        return self._book.get(action.id)

    def settle(
        self, action_id: str, *, carried_out: bool, reason: str, record: str | None
    ) -> Action:
        """A person says what became of it, who is not the one who made it."""
        if not reason.strip():
            raise InputError("reason: is missing", do="say how you know")
        actor, policy = self._context.who(), self._context.load_policy()

        def entries() -> list[Draft]:
            action = self._book.get(action_id)
            if action.state != "unknown":
                raise ActionRefused(
                    f"{action_id} is {action.state}, not unknown; nothing was settled",
                    do=f"run `treasury actions recover {action_id}` first",
                )
            kind = kind_of(action.kind)
            policy.check("approve", kind, None, actor, ())
            alone = policy.people(kind, action.money, action.facts) <= 1
            if not alone and same_person(action.proposed_by.name, actor.name):
                raise ActionRefused(
                    f"{actor.name} made {action_id}: somebody else has to say what became of it",
                    do="ask a colleague to settle it",
                )
            settlement: dict[str, Any] = {
                "operation": action.operation,
                "reason": reason,
                "policy": policy.hash,
                "carried_out": carried_out,
            }
            if carried_out and kind.name in MAKES and not record:
                raise InputError(
                    "record: is missing",
                    do="give the id of the request: its maker does not approve it",
                )
            if carried_out:
                settlement |= {"how": "said by a person", "record": record, "response": None}
                return [action.draft("done", actor, **settlement)]
            return [action.draft("recovered", actor, why=reason, **settlement)]

        self._book.decide(entries)
        return self._book.get(action_id)
