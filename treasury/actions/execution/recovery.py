"""Settles actions whose outcome is unknown after a crash, a timeout or a dropped connection.

An action is settled only when its sender can no longer act: the sender has journaled its end, or
the term, the transport's deadline and the allowed clock skew have passed. Then the kind decides:

- Keyed: the effect is looked up in the service's list. If the list does not show it after the
  settling time, the identical request is repeated, as long as the provider certainly remembers the
  key. A kind that the service does not list is never repeated.
- Versioned: the record is read. If it does not show the effect and still has the version that was
  sent, the call is repeated, because only one of the two calls can take effect.
- Neither keyed nor versioned: the call is never repeated. After the settling time, a single listed
  record that can only be ours settles the action. Otherwise a person settles it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from treasury.actions.action_context import Context
from treasury.actions.action_history import MAKES
from treasury.actions.action_states import UNSETTLED, Action
from treasury.actions.authority.authorization import refuse_outdated
from treasury.actions.execution.outcomes import End, OutcomeRecorder, has_passed
from treasury.actions.execution.pinned_call import sending_draft, sent_of
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.service_records import LiveSource, ServiceRecords
from treasury.actions.twins import LIKE, new_among, twins_since
from treasury.api import Client, Record
from treasury.api.created_records import SKEW
from treasury.api.models import RampRequest
from treasury.core import errors
from treasury.core.errors import (
    ActionRefused,
    InputError,
    JournalError,
    OutcomeUnknown,
    ServiceError,
    TreasuryError,
)
from treasury.journal import Draft
from treasury.journal.person_names import same_person

_NO_LIST: Final = (errors.Forbidden, errors.NotOffered, errors.NotFound)
"""Errors which mean that the service does not list the records of a kind."""
_JUDGED: Final = frozenset({400, 402, 415, 422})
"""Statuses with which a service refuses a call after examining its content."""


class EarlyRecovery(ActionRefused):
    """An action cannot be settled yet, because its sender may still act or a list may lag."""


class ActionRecovery:
    """Settles actions one by one, and journals the reason for each outcome that stays unknown."""

    def __init__(self, context: Context, outcomes: OutcomeRecorder) -> None:
        self._context = context
        self._book = context.book
        self._outcomes = outcomes

    def unsettled(self) -> list[Action]:
        """Return the actions of unknown outcome."""
        self._book.refresh()
        return [action for action in self._book.all() if action.state in UNSETTLED]

    def recover(self, action_id: str) -> Action:
        """Settle one action as far as possible now.

        Raise EarlyRecovery if it is too early, and ServiceError if the service cannot be read.
        """
        self._book.refresh()
        action = self._book.get(action_id)
        if action.state not in UNSETTLED:
            return self.adopt_by_key(action)
        self._context.require_original()
        self._context.require_place(action)
        self._require_over(action)
        try:
            match kind_of(action.kind).safety:
                case "keyed":
                    return self._keyed(action)
                case "versioned":
                    return self._versioned(action)
                case _:
                    self._require_listed(action, self._context.wall())
                    return self._looked_up(action, "it is not sent a second time")
        except Exception as error:
            now = self._book.get(action_id)
            if isinstance(error, TreasuryError) or now.state not in UNSETTLED:
                # The service is unreachable, sending is forbidden, or the action is settled now.
                raise
            return self._open(now, f"looking it up failed: {type(error).__name__}")

    def _require_over(self, action: Action) -> None:
        """Raise EarlyRecovery if the sender may still be sending the action."""
        sending = action.departure
        if sending.ended_at is None and self._context.wall() < sending.settled_from:
            raise EarlyRecovery(
                f"{action.id} may still be sent by {sending.actor.name}; nothing was settled",
                do=f"recover it from {_instant(sending.settled_from)} on",
            )

    def _require_listed(self, action: Action, asked_at: datetime) -> None:
        """Raise EarlyRecovery if a list read at that time may lag behind the effect."""
        if asked_at < self.settling_until(action):
            raise EarlyRecovery(
                f"{action.id} may have been carried out without being listed yet; nothing was"
                " settled",
                do=f"recover it from {_instant(self.settling_until(action))} on",
            )

    def adopt_by_key(self, action: Action) -> Action:
        """Mark an action as done if it was recorded as not carried out but a record has its key."""
        if action.state in UNSETTLED | {"done"} or not (action.attempts and action.key):
            return action
        self._context.require_place(action)
        return self._with_its_key(action) or action

    def _with_its_key(self, action: Action) -> Action | None:
        """Return the action as done if a record has its key, else None."""
        record = self._outcomes.look_up(action)
        if record is None or getattr(record.value, "idempotency_key", None) != action.key:
            return None
        return self._done(action, record, "adopted")

    def settling_until(self, action: Action) -> datetime:
        """Return the time until which an action may still be sent, in transit, or unlisted."""
        sending = action.departure
        listed = sending.listed_by(self._settling_time())
        return listed if sending.ended_at is not None else max(listed, sending.settled_from)

    def _settling_time(self) -> timedelta:
        return timedelta(seconds=self._context.load_policy().recovery.settling_seconds)

    def _keyed(self, action: Action) -> Action:
        """Look up the effect of a keyed action; repeat the call only if it had no effect."""
        if kind_of(action.kind).look_up is None:
            return self._open(action, "OUTCOME UNKNOWN: the service does not list these records")
        # The time is taken before reading, because reading a long list takes time.
        asked_at = self._context.wall()
        try:
            record = self._outcomes.find(action)
        except OutcomeUnknown as error:
            self._require_listed(action, asked_at)  # A later list may show the effect.
            return self._open(action, f"OUTCOME UNKNOWN: {error.what}")
        except _NO_LIST as error:
            return self._open(action, f"OUTCOME UNKNOWN: {error.what}")
        if record is not None and self._may_be_ours(action, record):
            return self._done(action, record, "adopted")
        self._require_listed(action, asked_at)
        elsewhere = self._done_elsewhere(action)
        if elsewhere:
            why = f"OUTCOME UNKNOWN: {LIKE} there is {elsewhere}, which this action did not make"
            return self._open(action, why)
        why = self._why_not_again(action)
        if why:
            return self._open(action, f"OUTCOME UNKNOWN: {why}; no record shows it")
        return self._send_again(action, self._spent)

    def _spent(self, action: Action, error: ServiceError) -> Action | None:
        """If the key was refused as used, look up the effect; return None for any other refusal."""
        return self._looked_up(action, error.what) if isinstance(error, errors.KeySpent) else None

    def _overtaken(self, action: Action, error: ServiceError) -> Action | None:
        """If the version was refused, read the record; return None for any other refusal."""
        if not isinstance(error, errors.VersionConflict):
            return None
        settled = self._settled_by(action, self._outcomes.request(action))
        return settled or self._open(action, error.what, error, is_end=True)

    def _send_again(
        self, action: Action, refused: Callable[[Action, ServiceError], Action | None]
    ) -> Action:
        """Send the same bytes once more; journal the outcome, even after an unexpected error."""
        client, action = self._leave_again(action)
        try:
            try:
                record = self._outcomes.post(client, action)
            except ServiceError as error:
                return refused(action, error) or self._refused_again(action, error)
            except TreasuryError as error:
                return self._not_sent_again(action, error)
            if self._outcomes.is_shown(action, record):
                return self._done(action, record, "sent again")
            return self._open(action, "the answer does not show what was sent", is_end=True)
        except JournalError:
            raise
        except Exception as error:
            now = self._book.get(action.id)
            if now.attempts != action.attempts or now.state not in UNSETTLED:
                raise
            return self._ended(self._outcomes.unreadable(action, error))

    def _not_sent_again(self, action: Action, error: TreasuryError) -> Action:
        """Journal that the outcome stays unknown, because the fence stopped the repeat."""
        self._book.refresh()
        now = self._book.get(action.id)
        if now.attempts != action.attempts or now.state not in UNSETTLED:
            return now
        return self._open(now, error.what, is_end=True)

    def _why_not_again(self, action: Action) -> str:
        """Return why the identical request must not be sent again; empty if it is safe."""
        forgotten = self._forgotten(action)
        if forgotten:
            return forgotten
        # The provider stores keys by client, so the same key of another client is a new key.
        if not self._context.is_same_client(action):
            return (
                f"its key belongs to {action.client_id}, and {action.credential} is another"
                " client now"
            )
        outdated = self._outdated(action)
        if not outdated and action.departure.seq < self._book.fold.adopted:
            return "this journal is an older copy that was adopted since"
        return outdated

    def _may_be_ours(self, action: Action, record: Record[Any]) -> bool:
        """Return whether a record may be ours, by its key or else by its creation time."""
        key = getattr(record.value, "idempotency_key", None)
        created_at = getattr(record.value, "created_at", None)
        arrived_at = action.departure.at + self._settling_time() + SKEW
        return key == action.key or (
            key is None and (created_at is None or created_at <= arrived_at)
        )

    def _done_elsewhere(self, action: Action) -> str:
        """Describe a record with the same effect that may be ours; empty if there is none.

        The record is someone else's; or an action of this journal made it under another key, before
        the journal was restored from an older copy; or it is ours and the service does not show its
        key.
        """
        kind, sent = kind_of(action.kind), sent_of(action)
        if kind.twins is None or sent.body is None:
            return ""
        since = self._book.wished_since(action.fingerprint, action.proposed_at)
        service = LiveSource(lambda: self._context.connect(action.credential))
        twins = [*kind.twins(ServiceRecords(service, since=since), sent.fields, sent.body)]
        moved = new_among(twins_since(self._book.strangers(twins), since), action.facts)
        return "" if moved is None else moved.now

    def _outdated(self, action: Action) -> str:
        """Return why the current policy does not allow the action; empty if it does.

        A repeat needs no new decision. But if the first call never arrived, the repeat is what
        takes effect, so the current policy has to allow it.
        """
        try:
            refuse_outdated(self._context, action, so="it is not sent again")
        except ActionRefused as refusal:
            return refusal.what
        return ""

    def _forgotten(self, action: Action) -> str:
        """Return why the provider may have forgotten the key; empty if it certainly remembers it.

        If the wall clock was set back, the age is unknown. If the machine was not restarted since,
        the larger of two ages is used: by the wall clock, and by the clock that runs during
        suspend.
        """
        policy, now = self._context.load_policy().recovery, self._context.wall()
        if now + SKEW < self._book.fold.last_left:
            return "the clock was set back since, so the age of its key is unknown"
        age, boot = now - action.departure.first_left_at, action.departure.first_left_boot
        awake = None if boot is None else boot.until(self._context.boot())
        if policy.remembers(age if awake is None else max(age, awake)):
            return ""
        return f"its key is older than {policy.key_retention_hours} hours"

    def _versioned(self, action: Action) -> Action:
        record = self._outcomes.request(action)
        settled = self._settled_by(action, record)
        if settled is not None:
            return settled
        sent_version = action.departure.version
        # The record read is outdated, or does not show its version.
        if record.value.version != sent_version:
            why = f"it was sent on version {sent_version}, but the record is shown at version"
            return self._open(action, f"{why} {record.value.version}")
        outdated = self._outdated(action)
        if outdated:
            return self._open(action, outdated)
        return self._send_again(action, self._overtaken)

    def _settled_by(self, action: Action, record: Record[RampRequest]) -> Action | None:
        """Return the settled action if the record proves or excludes the effect, else None."""
        if self._outcomes.is_shown(action, record):
            return self._done(action, record, "read back")
        return self._not_carried_out(action, record) if has_passed(action, record) else None

    def _done(self, action: Action, record: Record[Any], how: str) -> Action:
        return self._ended(self._outcomes.carried_out(action, record, how))

    def _ended(self, end: End) -> Action:
        self._outcomes.note(end)
        return self._book.get(end.draft.subject)

    def _leave_again(self, action: Action) -> tuple[Client, Action]:
        """Journal that the same bytes will be resent; return the client and the action."""
        client = self._context.connect(action.credential)
        client.require_writes(kind_of(action.kind).operation)
        actor = self._context.who()

        def entries() -> list[Draft]:
            now = self._book.get(action.id)
            if now.state not in UNSETTLED or now.attempts != action.attempts:
                raise ActionRefused(
                    f"{action.id} is being settled by someone else; nothing was sent",
                    do="look at it again in a moment",
                )
            return [sending_draft(self._context, now, actor, now.departure)]

        return client, self._book.leave(entries)

    def _refused_again(self, action: Action, error: ServiceError) -> Action:
        """Apply a refusal of the repeat.

        It is final only if the service examined the content and the first call can no longer
        arrive.
        """
        sending = action.departure
        arrived_by = sending.first_left_at + sending.term + self._settling_time()
        late = self._context.wall() >= arrived_by
        if not error.may_have_executed and late and error.status in _JUDGED:
            return self._ended(self._outcomes.refused(action, error))
        return self._ended(self._outcomes.unknown(action, error.what, error))

    def _not_carried_out(self, action: Action, record: Record[Any]) -> Action:
        """Journal that the action had no effect, and can have none with its outdated version."""
        why = (
            f"not carried out: it was sent on version {action.departure.version}, but the"
            f" record is at {record.value.version} ({record.value.status}) without it"
        )
        return self._recovered(action, why, again=True)

    def _looked_up(self, action: Action, why: str) -> Action:
        try:
            record = self._outcomes.find(action)
        except (OutcomeUnknown, *_NO_LIST) as error:
            return self._open(action, f"OUTCOME UNKNOWN: {why}; {error.what}")
        if record is not None:
            return self._done(action, record, "adopted")
        if action.refusal_in_doubt:
            return self._recovered(action, f"{action.why}; and no record shows it", again=False)
        is_listed = kind_of(action.kind).look_up is not None
        listing = "no record shows it" if is_listed else "the service does not list these records"
        return self._open(action, f"OUTCOME UNKNOWN: {why}; {listing}")

    def _open(
        self, action: Action, why: str, cause: ServiceError | None = None, *, is_end: bool = False
    ) -> Action:
        """Journal that the outcome stays unknown, once per reason.

        `is_end` is True if the call was repeated.
        """
        if (action.state, action.why) == ("unknown", why):
            return action
        return self._ended(self._outcomes.unknown(action, why, cause, is_end=is_end))

    def _recovered(self, action: Action, why: str, *, again: bool) -> Action:
        more = {"carried_out": False, "why": why, "again": again, "attempt": action.attempts}
        self._book.note([action.draft("recovered", self._context.who.last(), **more)])
        return self._book.get(action.id)

    def settle(
        self, action_id: str, *, carried_out: bool, reason: str, record: str | None
    ) -> Action:
        """Settle the action as a person decides: its maker only if one person is enough."""
        if not reason.strip():
            raise InputError("reason: is missing", do="give the source of your information")
        actor, policy = self._context.who(), self._context.load_policy()

        def entries() -> list[Draft]:
            action = self._book.get(action_id)
            self._require_open(action, carried_out=carried_out)
            kind = kind_of(action.kind)
            policy.check("approve", kind, None, actor, ())
            alone = policy.people(kind, action.money, action.facts) <= 1
            if not alone and same_person(action.proposed_by.name, actor.name):
                raise ActionRefused(
                    f"{actor.name} made {action_id}, so someone else has to settle it",
                    do="ask a colleague to settle it",
                )
            settlement: dict[str, Any] = {
                "operation": action.operation,
                "reason": reason,
                "policy": policy.hash,
                "carried_out": carried_out,
            }
            before = action.outcome if action.doubled else None
            made = record or (before and before.record)
            if carried_out and kind.name in MAKES and not made:
                raise InputError(
                    "record: is missing",
                    do="give the id of the request, so that its maker cannot approve it",
                )
            if carried_out:
                response = before and before.response
                settlement |= {"how": "said by a person", "record": made, "response": response}
                return [action.draft("done", actor, **settlement)]
            return [action.draft("recovered", actor, why=reason, **settlement)]

        self._book.decide(entries)
        return self._book.get(action_id)

    def _require_open(self, action: Action, *, carried_out: bool) -> None:
        """Raise ActionRefused if the action needs no settling, or cannot be settled yet."""
        if action.doubled:
            if not carried_out and action.state == "done" and action.outcome is not None:
                raise ActionRefused(
                    f"{action.id} was carried out, as record {action.outcome.record} shows; nothing"
                    " was settled",
                    do="settle it as carried out, and explain in the reason how the second"
                    " one was undone",
                )
            return
        if action.state != "unknown":
            raise ActionRefused(
                f"{action.id} is {action.state}, not unknown; nothing was settled",
                do=f"run `treasury actions recover {action.id}` first",
            )
        settled_from = action.departure.settled_from
        if self._context.wall() < settled_from:
            raise ActionRefused(
                f"{action.id} was sent a moment ago and may still arrive; nothing was settled",
                do=f"settle it from {_instant(settled_from)} on",
            )


def _instant(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
