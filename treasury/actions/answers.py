"""What an answer means, or none: done, refused, or unknown, as the entry that says so.

An error is sorted by whether the service may have acted. Where it cannot have, nothing was carried
out; where it may have, a version lets the effect be read back at once, and the rest is unknown
until it is recovered.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from treasury.actions.context import Context
from treasury.actions.kind import Kind
from treasury.actions.kinds import kind_of
from treasury.actions.states import Action
from treasury.actions.wire import post, sent_of
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
    VersionConflict,
)
from treasury.journal import Draft
from treasury.text import clean

__all__ = ["JUDGED", "Answers", "End"]

_NEVER_LEFT: Final = (ServiceUnreachable, RateLimited, Unauthorized, BadCredentials)
"""What says nothing about the action itself: it may be tried again as it is approved."""
JUDGED: Final = frozenset({400, 402, 410, 413, 414, 415, 422})
"""The statuses of a service that has looked at the call, and does not do it."""
_NO: Final = JUDGED | {401, 403, 404, 405, 409, 429}
"""The statuses that say that nothing was done. A redirect does not, for one may follow the effect;
neither does a status that some proxy made up, such as that it would not wait any longer."""


class End(msgspec.Struct, frozen=True):
    """What came of a sending: its entry, and what is raised where it is not done."""

    draft: Draft
    error: TreasuryError | None = None
    bumped: bool = False
    """The record was changed in between: read it again, compare, and go on."""


class Answers:
    """Sends the actions of one workspace, each once, and journals what came of it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._book = context.book

    def send(self, action: Action) -> End:
        """Send what its entry holds, and say what came of it."""
        kind = kind_of(action.kind)
        client = self._context.connect(action.credential)
        assert action.sending is not None
        try:
            record = post(client, kind, action.sending, action.key)
        except TreasuryError as error:
            return self._failed(action, kind, client, error)
        if kind.shows is not None and not kind.shows(record.value, sent_of(kind, action)):
            return self._read_back(action, kind, client, _no_effect(action, record.value))
        return self.done(action, record, "answered")

    def _failed(self, action: Action, kind: Kind, client: Client, error: TreasuryError) -> End:
        """What an error means for the action."""
        if not isinstance(error, ServiceError):  # no secret, no leave to write: it never left
            return self.refused(action, error, again=True)
        if error.may_have_executed or error.status not in {None, *_NO}:
            return self._read_back(action, kind, client, error)
        if isinstance(error, VersionConflict) and kind.safety == "versioned":
            return self._conflict(action, kind, client, error)
        if isinstance(error, KeySpent):
            return self._key_spent(action, kind, client, error)
        if isinstance(error, Forbidden):
            return self.refused(action, self._forbidden(action, error), error)
        return self.refused(action, error, again=isinstance(error, _NEVER_LEFT))

    def _read_back(self, action: Action, kind: Kind, client: Client, error: ServiceError) -> End:
        """A versioned effect is read back at once; any other waits for `recover`."""
        if kind.safety != "versioned":
            return self.unknown(action, error.what, error)
        try:
            record = client.ramp.requests.get(action.target)
        except ServiceError as second:
            what = f"{error.what}; reading it back failed too: {second.what}"
            return self.unknown(action, what, error)
        if kind.shows is not None and kind.shows(record.value, sent_of(kind, action)):
            return self.done(action, record, "read back")
        what = f"{error.what}; the service shows it {clean(record.value.status)}"
        return self.unknown(action, what, error)

    def _conflict(self, action: Action, kind: Kind, client: Client, error: VersionConflict) -> End:
        """Somebody was quicker. Nothing was carried out, unless it was this action before."""
        try:
            record = client.ramp.requests.get(action.target)
        except ServiceError as second:
            what = f"{action.id}: its record changed and cannot be read: {second.what}"
            refusal = ActionRefused(what, do="sync, then execute it again")
            return self.refused(action, refusal, error, again=True)
        if kind.shows is not None and kind.shows(record.value, sent_of(kind, action)):
            return self.done(action, record, "read back")
        refused = self.refused(action, error, again=True)
        return msgspec.structs.replace(refused, bumped=True)

    def _key_spent(self, action: Action, kind: Kind, client: Client, error: KeySpent) -> End:
        """The key was used: by us, before a crash, or for a first attempt that was refused."""
        record = self.look_up(action, kind, client)
        if record is not None:
            return self.done(action, record, "read back")
        return self.unknown(action, f"{error.what}; nothing listed carries the key", error)

    def look_up(self, action: Action, kind: Kind, client: Client) -> Record[Any] | None:
        """The record that shows the effect; None where there is none, or nobody can tell."""
        if kind.look_up is None:
            return None
        made = tuple(self._book.records())
        try:
            return kind.look_up(client, sent_of(kind, action, made))
        except OutcomeUnknown:
            return None

    def _forbidden(self, action: Action, error: Forbidden) -> ActionRefused:
        name = action.request.name if action.request is not None else action.id
        verb = kind_of(action.kind).verb.lower()
        if action.request is not None and self._is_creators(error):
            return ActionRefused(
                f"This credential created {name}", do=f"{verb} in the provider's portal, then sync"
            )
        return ActionRefused(
            f"{action.client_id} may not {verb} {name}: {error.what}",
            do=f"use a credential whose role is COMPANY_ADMIN, or {verb} in the provider's portal,"
            " then sync",
        )

    def _is_creators(self, error: Forbidden) -> bool:
        """Whether a 403 means the maker: the text says so, or names neither a role nor a scope."""
        text = error.what.lower()
        if "creator" in text:
            return True
        named = error.code == "INSUFFICIENT_SCOPE" or "company_" in text or "role" in text
        return len(self._context.settings.credentials) == 1 and not named

    # What is journaled of it

    def done(self, action: Action, record: Record[Any], how: str) -> End:
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

    def unknown(self, action: Action, what: str, cause: ServiceError | None) -> End:
        """Nobody can tell; its twin is blocked from here on."""
        name = action.request.name if action.request is not None else action.id
        error = OutcomeUnknown(
            f"{action.id} {name}: the service may have carried it out; {what}",
            look_up=f"run `treasury actions recover {action.id}` before deciding again",
            operation=action.operation,
            key=action.key or None,
        )
        body = {
            "kind": action.kind,
            "target": action.target,
            "content_hash": action.content_hash,
            "why": what,
            "error": str(cause or error),
        }
        return self._end("action.unknown", action, body, error)

    def _end(
        self, kind: str, action: Action, body: dict[str, Any], error: TreasuryError | None = None
    ) -> End:
        return End(Draft(kind, action.id, body, self._context.who()), error)

    def note(self, ends: Sequence[End]) -> None:
        """Journal what came of what was sent; JournalError says that it was."""
        if not ends:
            return
        try:
            self._book.note([end.draft for end in ends])
        except JournalError as error:
            said = ", ".join(f"{e.draft.subject} ({e.draft.kind.partition('.')[2]})" for e in ends)
            raise JournalError(
                f"{said} was sent, and that could not be journaled: {error.what}",
                do="make the journal writable, then run `treasury actions recover`",
            ) from error


def _no_effect(action: Action, answer: Any) -> ServiceError:
    return ServiceError(
        f"{action.operation}: answered without an error, and its record is"
        f" {clean(getattr(answer, 'status', None))}",
        operation=action.operation,
        may_have_executed=True,
    )
