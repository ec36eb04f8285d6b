"""What an answer means, or none: done, refused, or unknown, as the entry that says so.

An error is sorted by whether the service may have acted, which `treasury.api` decides. Where it
cannot have, nothing was carried out; where it may have, a version lets the effect be read back at
once, and the rest is unknown until it is recovered. Whatever else is raised once it has left ends
it as unknown too, in one place.

Neither success nor a refusal is believed alone. What stands in between may answer a write from its
cache, so an answer has to show what was sent; and it may send a request twice and pass on what the
second was told, so a refusal holds where the service does not show the effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from treasury.actions.action_context import Context
from treasury.actions.action_states import Action
from treasury.actions.execution.pinned_call import post, sent_of
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.kind import Kind
from treasury.api import Client, Record
from treasury.errors import (
    ActionRefused,
    BadCredentials,
    Forbidden,
    JournalError,
    KeySpent,
    OutcomeUnknown,
    RateLimited,
    ServiceError,
    ServiceUnreachable,
    TreasuryError,
    Unauthorized,
    UnexpectedResponse,
    VersionConflict,
)
from treasury.journal import Draft
from treasury.journal.chain import canonical
from treasury.text import clean

__all__ = ["End", "OutcomeRecorder", "has_passed"]

_NEVER_LEFT: Final = (ServiceUnreachable, RateLimited, Unauthorized, BadCredentials)
"""What says nothing about the action itself: it may be tried again as it is approved."""
MOST_ERROR_CHARACTERS: Final = 2_000
"""The most characters of an error that an entry tells."""
MOST_ENTRY_CHARACTERS: Final = 1_000_000
"""The most characters of an entry: an answer that is longer is no record of the contract."""


class End(msgspec.Struct, frozen=True):
    """What came of a sending: its entry, and what is raised where it is not done."""

    draft: Draft
    error: TreasuryError | None = None
    bumped: bool = False
    """The record was changed in between: read it again, compare, and go on."""


class OutcomeRecorder:
    """Sends the actions of one workspace, each once, and journals what came of it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._book = context.book

    def send(self, action: Action) -> End:
        """Send what its entry holds, and say what came of it; raises nothing."""
        try:
            return self._send(action)
        except Exception as error:  # noqa: BLE001 - whatever it is, it may have been carried out
            return self.unreadable(action, error)

    def unreadable(self, action: Action, error: Exception) -> End:
        """The one end of what has left, whatever was raised about its answer since: unknown."""
        problem = error.what if isinstance(error, TreasuryError) else type(error).__name__
        cause = error if isinstance(error, ServiceError) else None
        return self.unknown(action, f"what came back cannot be dealt with: {problem}", cause)

    def _send(self, action: Action) -> End:
        kind = kind_of(action.kind)
        client = self._context.connect(action.credential)
        assert action.sending is not None
        try:
            record = post(client, kind, action.sending, action.key)
        except TreasuryError as error:
            return self._failed(action, kind, client, error)
        if self.is_shown(action, kind, client, record):
            return self.carried_out(action, record, "answered")
        no_effect = ServiceError(
            f"{action.operation}: answered without an error, and what was sent does not show; its"
            f" record is {clean(getattr(record.value, 'status', None))}",
            operation=action.operation,
            may_have_executed=True,
        )
        return self._read_back(action, kind, client, no_effect)

    def is_shown(self, action: Action, kind: Kind, client: Client, answer: Record[Any]) -> bool:
        """Whether an answer shows the effect, or the service does where no answer can."""
        if kind.shows is None:
            return self.look_up(action, kind, client) is not None
        return kind.shows(answer.value, sent_of(kind, action))

    def _failed(self, action: Action, kind: Kind, client: Client, error: TreasuryError) -> End:
        """What an error means for the action; the client says whether it may have left."""
        if not isinstance(error, ServiceError):  # no secret, no leave to write: it never left
            return self.refused(action, error, again=True)
        if error.may_have_executed:
            return self._read_back(action, kind, client, error)
        if isinstance(error, KeySpent):  # by us, before a crash, or by an attempt that was refused
            record = self.look_up(action, kind, client)
            if record is not None:
                return self.carried_out(action, record, "read back")
            return self.unknown(action, f"{error.what}; nothing listed carries the key", error)
        if isinstance(error, ServiceUnreachable | BadCredentials) or kind.safety == "keyed":
            return self._turned_away(action, error)
        if kind.safety == "versioned":
            return self._versioned_refusal(action, kind, client, error)
        in_doubt = self._refusal_in_doubt(action, kind, client, error)
        return in_doubt or self._turned_away(action, error)

    def _turned_away(self, action: Action, error: ServiceError) -> End:
        """Nothing was carried out, by the service's own word."""
        if not isinstance(error, Forbidden):
            return self.refused(action, error, again=isinstance(error, _NEVER_LEFT))
        name = action.request.name if action.request is not None else action.id
        verb = kind_of(action.kind).verb.lower()
        refusal = ActionRefused(
            f"{action.client_id} may not {verb} {name}: {error.what}",
            do=f"use a credential whose role is COMPANY_ADMIN, or {verb} in the provider's portal,"
            " then sync",
        )
        # It means the maker where the text says so, or names neither a role nor a scope.
        text = error.what.lower()
        names_role = error.code == "INSUFFICIENT_SCOPE" or "company_" in text or "role" in text
        one_credential = len(self._context.settings.credentials) == 1
        is_makers = "creator" in text or (one_credential and not names_role)
        if action.request is not None and is_makers:
            refusal = ActionRefused(
                f"This credential created {name}", do=f"{verb} in the provider's portal, then sync"
            )
        return self.refused(action, refusal, error)

    def _read_back(self, action: Action, kind: Kind, client: Client, error: ServiceError) -> End:
        """A versioned effect is read back at once; any other waits for `recover`."""
        if kind.safety != "versioned":
            return self.unknown(action, error.what, error)
        try:
            record = client.ramp.requests.get(action.target)
        except ServiceError as second:
            why = f"{error.what}; reading it back failed too: {second.what}"
            return self.unknown(action, why, error)
        if self.is_shown(action, kind, client, record):
            return self.carried_out(action, record, "read back")
        why = f"{error.what}; the service shows it {clean(record.value.status)}"
        return self.unknown(action, why, error)

    def _versioned_refusal(
        self, action: Action, kind: Kind, client: Client, error: ServiceError
    ) -> End:
        """A refusal, unless the record shows the effect; a conflict only at a later version.

        At the version that was sent there can be no conflict: that is an old answer, or none yet.
        """
        is_conflict = isinstance(error, VersionConflict)
        try:
            record = client.ramp.requests.get(action.target)
        except ServiceError as second:
            if not is_conflict:
                return self._turned_away(action, error)
            why = f"{error.what}; its record cannot be read: {second.what}"
            return self.unknown(action, why, error)
        if self.is_shown(action, kind, client, record):
            return self.carried_out(action, record, "read back")
        if not is_conflict:
            return self._turned_away(action, error)
        if not has_passed(action, record):
            why = f"{error.what}; yet its record is shown at version {record.value.version}"
            return self.unknown(action, why, error)
        refused = self.refused(action, error, again=True)
        return msgspec.structs.replace(refused, bumped=True)

    def _refusal_in_doubt(
        self, action: Action, kind: Kind, client: Client, error: ServiceError
    ) -> End | None:
        """That it is unknown where the refusal may be that of a repeat; None where it holds."""
        try:
            record = self._find(action, kind, client)
        except OutcomeUnknown as several:
            return self.unknown(action, f"{error.what}; {several.what}", error)
        except ServiceError as second:
            why = f"{error.what}; its effect cannot be looked up: {second.what}"
        else:
            if record is not None:
                return self.unknown(action, f"{error.what}; and its effect shows", error)
            why = f"{error.what}; its effect does not show, or not yet"
        if error.status not in kind.refuses_repeat:
            return None
        return self.unknown(action, why, error, refusal_in_doubt=True)

    def look_up(self, action: Action, kind: Kind, client: Client) -> Record[Any] | None:
        """The record that shows the effect; None where there is none, or nobody can tell."""
        try:
            return self._find(action, kind, client)
        except OutcomeUnknown:
            return None

    def _find(self, action: Action, kind: Kind, client: Client) -> Record[Any] | None:
        """The record that shows the effect; OutcomeUnknown where several might."""
        if kind.look_up is None:
            return None
        own_ids = tuple(self._book.records())
        return kind.look_up(client, sent_of(kind, action, own_ids))

    # What is journaled of it

    def carried_out(self, action: Action, record: Record[Any], how: str) -> End:
        """It was carried out: keep the answer, which some services never give again."""
        value = record.value
        event = value.event(kind_of(action.kind).event) if hasattr(value, "event") else None
        body = {
            "kind": action.kind,
            "operation": action.operation,
            "target": action.target,
            "fields": action.fields,
            "content_hash": action.content_hash,
            "key": action.key,
            "how": how,
            "text": action.text,
            "people": action.people,
            "record": getattr(value, "id", None) or action.target,
            "status": getattr(value, "status", None) or getattr(value, "verification_status", None),
            "version": getattr(value, "version", None),
            "service_user": event and (event.email or event.username),
            "response": record.raw.decode(),
        }
        return self._end("action.done", action, body)

    def refused(
        self,
        action: Action,
        refusal: TreasuryError,
        cause: ServiceError | None = None,
        *,
        again: bool = False,
    ) -> End:
        """Nothing was carried out; with `again` it may be tried as it is."""
        body = {
            "kind": action.kind,
            "target": action.target,
            "content_hash": action.content_hash,
            "why": str(refusal),
            "service": str(cause or refusal),
            "attempt": action.attempts,
            "again": again,
        }
        return self._end("action.refused", action, body, refusal)

    def unknown(
        self,
        action: Action,
        why: str,
        cause: ServiceError | None,
        *,
        refusal_in_doubt: bool = False,
    ) -> End:
        """Nobody can tell; its twin is blocked from here on."""
        why = clean(why)[:MOST_ERROR_CHARACTERS]
        name = action.request.name if action.request is not None else action.id
        error = OutcomeUnknown(
            f"{action.id} {name}: the service may have carried it out; {why}",
            look_up=f"run `treasury actions recover {action.id}` before deciding again",
            operation=action.operation,
            key=action.key or None,
        )
        body: dict[str, Any] = {
            "kind": action.kind,
            "target": action.target,
            "content_hash": action.content_hash,
            "why": why,
            "error": clean(cause or error)[:MOST_ERROR_CHARACTERS],
        }
        if refusal_in_doubt:
            body["refusal_in_doubt"] = True
        return self._end("action.unknown", action, body, error)

    def _end(
        self, kind: str, action: Action, body: dict[str, Any], error: TreasuryError | None = None
    ) -> End:
        if len(canonical(body)) > MOST_ENTRY_CHARACTERS:
            raise UnexpectedResponse(
                f"{action.operation}: the answer is too long to be kept", operation=action.operation
            )
        return End(Draft(kind, action.id, body, self._context.who.last()), error)

    def note(self, ends: Sequence[End]) -> None:
        """Journal what came of what was sent; JournalError says that it was."""
        if not ends:
            return
        try:
            self._book.note([end.draft for end in ends])
        except JournalError as error:
            actions = ", ".join(
                f"{e.draft.subject} ({e.draft.kind.partition('.')[2]})" for e in ends
            )
            raise JournalError(
                f"{actions} was sent, and that could not be journaled: {error.what}",
                do="make the journal writable, then run `treasury actions recover`",
            ) from error


def has_passed(action: Action, record: Record[Any]) -> bool:
    """Whether the record is at a later version than was sent, which then has no effect any more."""
    sent, now = action.sending and action.sending.version, record.value.version
    return sent is not None and now is not None and now > sent
