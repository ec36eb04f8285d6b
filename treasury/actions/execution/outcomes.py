"""Outcomes: converts an answer, or its absence, into a journal entry.

`treasury.api` decides whether the service may have executed a failed call. If that is impossible,
the action was not carried out. If it is possible, the record of a versioned action is read at once;
any other action has an unknown outcome until it is recovered. Any other exception after sending
also makes the outcome unknown.

A success or a refusal alone proves nothing. A proxy may answer a write from its cache, so an answer
has to show the values that were sent. A proxy may also send a request twice and return the second
answer, so a refusal counts only if the service does not show the effect.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from treasury.actions.action_context import Context
from treasury.actions.action_states import Action
from treasury.actions.execution.pinned_call import post, sent_of
from treasury.actions.execution.sending_fence import SendingFence
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.kind import Sent
from treasury.api import Client, Record
from treasury.api.answer_identity import other_record, wrong_record
from treasury.api.models import RampRequest
from treasury.core import errors
from treasury.core.errors import (
    ActionRefused,
    JournalError,
    OutcomeUnknown,
    ServiceError,
    TreasuryError,
)
from treasury.core.text import clean
from treasury.journal import Draft
from treasury.journal.chain import canonical

_NEVER_LEFT: Final = (
    errors.ServiceUnreachable,
    errors.RateLimited,
    errors.Unauthorized,
    errors.BadCredentials,
)
"""Errors not caused by the action itself, so that it may be retried as approved."""
_MOST_ERROR_CHARACTERS: Final = 2_000
"""Maximum length of an error text in an entry, in characters."""
_MOST_ENTRY_CHARACTERS: Final = 1_000_000
"""Maximum length of an entry, in characters; a longer answer violates the API contract."""


class End(msgspec.Struct, frozen=True):
    """The result of one attempt: its entry, and the error to raise if it is not done."""

    draft: Draft
    error: TreasuryError | None = None
    bumped: bool = False
    """True if the record's version changed before the call: read the record, compare, and
    continue."""


class OutcomeRecorder:
    """Sends each action of one workspace once, and journals the outcome."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._book = context.book
        self._fences: dict[tuple[str, int], SendingFence] = {}

    def send(self, action: Action) -> End:
        """Send the call stored in the action's entry; return an outcome even after an exception."""
        try:
            return self._send(action)
        except Exception as error:  # noqa: BLE001 - whatever it is, it may have been carried out
            return self.unreadable(action, error)

    def unreadable(self, action: Action, error: Exception) -> End:
        """Return an unknown outcome for an unexpected error after sending."""
        problem = error.what if isinstance(error, TreasuryError) else type(error).__name__
        cause = error if isinstance(error, ServiceError) else None
        return self.unknown(action, f"the answer cannot be processed: {problem}", cause)

    def _send(self, action: Action) -> End:
        client = self._context.connect(action.credential)
        try:
            record = self.post(client, action)
        except TreasuryError as error:
            return self._failed(action, error)
        if self.is_shown(action, record):
            return self.carried_out(action, record, "answered")
        no_effect = ServiceError(
            f"{action.operation}: answered without an error, but does not show what was sent;"
            f" its record is {clean(getattr(record.value, 'status', None))}",
            operation=action.operation,
            may_have_executed=True,
        )
        return self._read_back(action, no_effect)

    def post(self, client: Client, action: Action) -> Record[Any]:
        """Send the call stored in the action's entry, unless the fence refuses it."""
        fence = SendingFence(self._context, action)
        self._fences[action.id, action.attempts] = fence
        return post(client, kind_of(action.kind), action.departure, action.key, fence)

    def request(self, action: Action) -> Record[RampRequest]:
        """Return the current ramp request of an action."""
        return self._context.connect(action.credential).ramp.requests.get(action.target)

    def is_shown(self, action: Action, answer: Record[Any]) -> bool:
        """Return whether the answer shows the effect.

        If the answer to this kind of action cannot show it, the service is asked.
        """
        kind = kind_of(action.kind)
        if kind.shows is None:
            return self.look_up(action) is not None
        # A record of another action, or the record in the route, is not new, even if it is equal.
        known = {*self._book.records(but=action.id), *action.departure.ids} if kind.creates else ()
        record_id, sent = getattr(answer.value, "id", None), sent_of(action)
        if record_id in known:
            return False
        return kind.shows(answer.value, sent) or self._is_offered(action, sent, record_id)

    def _is_offered(self, action: Action, sent: Sent, record_id: str | None) -> bool:
        """Return whether the service has a record of the expected type with the answer's id.

        An answer with only an id and a status could also be a record of another type.
        """
        detail = kind_of(action.kind).detail
        if detail is None or record_id is None:
            return False
        try:
            client = self._context.connect(action.credential)
            return detail(client, sent, record_id) is not None
        # If this read fails, the answer proves nothing, so the outcome is unknown.
        except ServiceError:
            return False

    def _failed(self, action: Action, error: TreasuryError) -> End:
        """Convert an error to an outcome; the client states whether the call may have left."""
        safety = kind_of(action.kind).safety
        # The call was stopped before it left: a missing secret or permission, or the fence.
        if not isinstance(error, ServiceError):
            return self.refused(action, error, again=True)
        if error.may_have_executed:
            return self._read_back(action, error)
        # The key was used before, by an attempt that crashed or was refused.
        if isinstance(error, errors.KeySpent):
            record = self.look_up(action)
            if record is not None:
                return self.carried_out(action, record, "read back")
            return self.unknown(action, f"{error.what}; nothing listed carries the key", error)
        never_left = isinstance(error, errors.ServiceUnreachable | errors.BadCredentials)
        if never_left or safety == "keyed":
            return self._turned_away(action, error)
        if safety == "versioned":
            return self._versioned_refusal(action, error)
        return self._refusal_in_doubt(action, error) or self._turned_away(action, error)

    def _turned_away(self, action: Action, error: ServiceError) -> End:
        """Return a refusal: the call did not leave, or the service states that it did nothing."""
        if not isinstance(error, errors.Forbidden):
            return self.refused(action, error, again=isinstance(error, _NEVER_LEFT))
        verb = kind_of(action.kind).verb.lower()
        refusal = ActionRefused(
            f"{action.client_id} may not {verb} {action.name}: {error.what}",
            do=f"use a credential whose role is COMPANY_ADMIN, or {verb} in the provider's portal,"
            " then sync",
        )
        # The refusal is about the maker if its text names the creator, or if the only credential
        # was used and the refusal names neither role nor scope.
        text = error.what.lower()
        names_role = error.code == "INSUFFICIENT_SCOPE" or "company_" in text or "role" in text
        one_credential = len(self._context.settings.credentials) == 1
        is_makers = "creator" in text or (one_credential and not names_role)
        if action.request is not None and is_makers:
            refusal = ActionRefused(
                f"This credential created {action.name}",
                do=f"{verb} in the provider's portal, then sync",
            )
        return self.refused(action, refusal, error)

    def _read_back(self, action: Action, error: ServiceError) -> End:
        """After an error, read the record of a versioned action at once.

        The outcome of any other action is unknown and left to `recover`.
        """
        if kind_of(action.kind).safety != "versioned":
            return self.unknown(action, error.what, error)
        try:
            record = self.request(action)
        except ServiceError as second:
            why = f"{error.what}; reading it back failed too: {second.what}"
            return self.unknown(action, why, error)
        if self.is_shown(action, record):
            return self.carried_out(action, record, "read back")
        why = f"{error.what}; the service shows it as {clean(record.value.status)}"
        return self.unknown(action, why, error)

    def _versioned_refusal(self, action: Action, error: ServiceError) -> End:
        """Return a refusal, unless the record shows the effect.

        A version conflict is credible only if the record's version is later than the one sent.
        Otherwise the answer or the record is outdated, and the outcome is unknown.
        """
        is_conflict = isinstance(error, errors.VersionConflict)
        try:
            record = self.request(action)
        except ServiceError as second:
            if not is_conflict:
                return self._turned_away(action, error)
            why = f"{error.what}; its record cannot be read: {second.what}"
            return self.unknown(action, why, error)
        if self.is_shown(action, record):
            return self.carried_out(action, record, "read back")
        if not is_conflict:
            return self._turned_away(action, error)
        if not has_passed(action, record):
            why = f"{error.what}; but its record is shown at version {record.value.version}"
            return self.unknown(action, why, error)
        refused = self.refused(action, error, again=True)
        return msgspec.structs.replace(refused, bumped=True)

    def _refusal_in_doubt(self, action: Action, error: ServiceError) -> End | None:
        """Return an unknown outcome if the call may have had its effect before; None otherwise."""
        try:
            record = self.find(action)
        except OutcomeUnknown as several:
            return self.unknown(action, f"{error.what}; {several.what}", error)
        except ServiceError as second:
            why = f"{error.what}; its effect cannot be looked up: {second.what}"
        else:
            if record is not None:
                return self.unknown(
                    action, f"{error.what}; but the service shows its effect", error
                )
            why = f"{error.what}; the service does not show its effect, or not yet"
        if error.status not in kind_of(action.kind).refuses_repeat:
            return None
        return self.unknown(action, why, error, refusal_in_doubt=True)

    def look_up(self, action: Action) -> Record[Any] | None:
        """Return the only record that shows the effect; None if there are none or several."""
        try:
            return self.find(action)
        except OutcomeUnknown:
            return None

    def find(self, action: Action) -> Record[Any] | None:
        """Return the record that shows the effect; raise OutcomeUnknown if several may show it."""
        look_up = kind_of(action.kind).look_up
        if look_up is None:
            return None
        made = tuple(self._book.records(but=action.id))
        record = look_up(self._context.connect(action.credential), sent_of(action, made))
        if record is not None:
            ids, body = action.departure.ids, action.departure.body.encode()
            other = other_record(action.operation, ids, body, record.raw)
            if other:
                raise wrong_record(action.operation, ids, other)
        return record

    # Entries of outcomes

    def carried_out(self, action: Action, record: Record[Any], how: str) -> End:
        """Return the outcome "done" with the answer, which some services give only once."""
        value = record.value
        event = value.event(kind_of(action.kind).event) if hasattr(value, "event") else None
        return self._end(
            action,
            "done",
            operation=action.operation,
            fields=action.fields,
            key=action.key,
            how=how,
            text=action.text,
            people=action.people,
            record=getattr(value, "id", None) or action.target,
            status=getattr(value, "status", None) or getattr(value, "verification_status", None),
            version=getattr(value, "version", None),
            service_user=event and (event.email or event.username),
            response=record.raw.decode(),
        )

    def refused(
        self,
        action: Action,
        refusal: TreasuryError,
        cause: ServiceError | None = None,
        *,
        again: bool = False,
    ) -> End:
        """Return the outcome "refused"; with `again`, the action may be tried again unchanged."""
        return self._end(
            action,
            "refused",
            refusal,
            why=str(refusal),
            service=str(cause or refusal),
            attempt=action.attempts,
            again=again,
        )

    def unknown(
        self,
        action: Action,
        why: str,
        cause: ServiceError | None,
        *,
        refusal_in_doubt: bool = False,
        is_end: bool = True,
    ) -> End:
        """Return an unknown outcome, which blocks other actions with the same content.

        With `is_end`, the entry also states that the sender has stopped sending.
        """
        why = clean(why)[:_MOST_ERROR_CHARACTERS]
        error = OutcomeUnknown(
            f"{action.id} {action.name}: the service may have carried it out; {why}",
            look_up=f"run `treasury actions recover {action.id}` before deciding again",
            operation=action.operation,
            key=action.key or None,
        )
        more: dict[str, object] = {"refusal_in_doubt": True} if refusal_in_doubt else {}
        if is_end:
            more |= {"attempt": action.attempts, **self._ended_at()}
        cause_words = clean(cause or error)[:_MOST_ERROR_CHARACTERS]
        return self._end(action, "unknown", error, why=why, error=cause_words, **more)

    def _ended_at(self) -> dict[str, str]:
        """Return the time at which the sender stopped; empty if the journal's clock cannot be read.

        Without that time, assume that the sender was sending until the end of its term.
        """
        try:
            return {"ended_at": self._context.wall().isoformat()}
        except JournalError:
            return {}

    def _end(
        self, action: Action, word: str, raised: TreasuryError | None = None, /, **more: object
    ) -> End:
        fence = self._fences.get((action.id, action.attempts))
        if fence is not None and fence.left_late:
            more["left_late"] = True
        draft = action.draft(word, self._context.who.last(), **more)
        if len(canonical(draft.body)) > _MOST_ENTRY_CHARACTERS:
            raise errors.UnexpectedResponse(
                f"{action.operation}: the answer is too long to be stored",
                operation=action.operation,
            )
        return End(draft, raised)

    def note(self, end: End) -> None:
        """Journal the outcome of an attempt; raise JournalError naming it if that fails."""
        try:
            self._book.note([end.draft])
        except JournalError as error:
            ended = f"{end.draft.subject} ({end.draft.kind.partition('.')[2]}) was sent"
            if end.error is not None and not isinstance(end.error, ServiceError):
                ended = end.error.what
            raise JournalError(
                f"{ended}, and that could not be journaled: {error.what}",
                do="make the journal writable, then run `treasury actions recover`",
            ) from error


def has_passed(action: Action, record: Record[Any]) -> bool:
    """Return whether the record is newer than the sent version: the call has no effect any more."""
    sent, now = action.sending and action.sending.version, record.value.version
    return sent is not None and now is not None and now > sent
