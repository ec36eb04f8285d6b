"""Carries out an approved action at most once: journal, send, journal what came of it.

The intention is in the journal, with its exact body, before anything leaves. Its nonce is good for
one sending, so a double click, a second notebook and a repeated cell all meet the same refusal.
After it one of three entries follows: done, refused, or unknown. What is refused or unknown is
raised, so that nobody overlooks it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

import msgspec

from treasury.actions.kinds import Kind, kind_of, sentence
from treasury.actions.seen import RampSeen, moved
from treasury.api import Client
from treasury.api.models import RampRequest
from treasury.errors import (
    ActionRefused,
    Forbidden,
    JournalError,
    OutcomeUnknown,
    ServiceError,
    TreasuryError,
    VersionConflict,
)
from treasury.journal import Actor, Entry, Journal, current_actor
from treasury.settings import Settings

__all__ = ["Actions", "Confirmation", "Outcome"]

SENDING = "action.sending"
_ENDS = ("action.done", "action.refused", "action.unknown")


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked to confirm, and what the journal then holds word for word."""

    kind: str
    request: RampSeen
    text: str
    masked: str
    actor: Actor
    credential: str
    client_id: str
    at: datetime


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """An action that was carried out; `how`: the service answered, or was asked again."""

    kind: str
    subject: str
    state: Literal["done"] = "done"
    how: Literal["answered", "read back"]
    text: str
    status: str
    version: int | None
    service_user: str | None
    """Whom the service recorded for it; our own person is `decided_by`."""
    decided_by: str
    at: datetime


class _Sending(msgspec.Struct, frozen=True):
    """An action on its way, and its entry in the journal."""

    kind: Kind
    request: RampSeen
    confirmed: Confirmation
    entry: Entry


class Actions:
    """Executes actions of one workspace; `connect` gives the client of a named credential."""

    def __init__(
        self,
        journal: Journal,
        connect: Callable[[str], Client],
        settings: Settings,
        now: Callable[[], datetime],
    ) -> None:
        self._journal = journal
        self._connect = connect
        self._settings = settings
        self._now = now

    def confirmation(
        self, kind: str, request: RampSeen, *, reason: str | None = None, actor: Actor | None = None
    ) -> Confirmation:
        """The sentence to confirm; ActionRefused where the action cannot be taken at all."""
        declared = kind_of(kind)
        _check(declared, request)
        who, at = actor or current_actor(), self._now().astimezone(UTC)
        name = self._credential(declared)
        client_id = self._settings.credential(name).client_id

        def say(*, masked: bool) -> str:
            return sentence(
                declared,
                request,
                actor=who.name,
                client_id=client_id,
                at=at,
                reason=reason,
                masked=masked,
            )

        return Confirmation(
            kind=declared.name,
            request=request,
            text=say(masked=False),
            masked=say(masked=True),
            actor=who,
            credential=name,
            client_id=client_id,
            at=at,
        )

    def execute(
        self,
        kind: str,
        request: RampSeen,
        *,
        nonce: str,
        reason: str | None = None,
        confirmed: Confirmation | None = None,
    ) -> Outcome:
        """Carry out `kind` on the request as the person saw it; `confirmed` is what was agreed to.

        Raises ActionRefused where nothing was carried out (the nonce was used, the request moved,
        the creator may not decide), OutcomeUnknown where nobody can tell yet, and the service's own
        error where it refused. Each of them is in the journal, except what never left this machine.
        """
        declared = kind_of(kind)
        version = _check(declared, request)
        agreed = confirmed or self.confirmation(kind, request, reason=reason)
        if (agreed.kind, agreed.request) != (declared.name, request):
            raise ActionRefused(
                f"what was confirmed is not this: {agreed.masked} Nothing was sent",
                do="show it again and confirm what is shown",
            )
        client = self._connect(agreed.credential)
        client.require_writes(declared.operation)
        entry = self._journal.append(
            SENDING,
            request.id,
            {
                "action": declared.name,
                "operation": declared.operation,
                "credential": agreed.credential,
                "client_id": agreed.client_id,
                "body": declared.body(version),
                "seen": request,
                "text": agreed.text,
                "reason": reason,
            },
            actor=agreed.actor,
            nonce=nonce,
        )
        return self._send(_Sending(declared, request, agreed, entry), client, version)

    def unsettled(self) -> list[Entry]:
        """The sendings whose end is not known: cut off by a crash, or unknown when last asked."""
        last: dict[int, str] = {}
        for entry in self._journal.entries("action."):
            if entry.kind in _ENDS:
                last[entry.body["sending"]] = entry.kind
        return [e for e in self._journal.entries(SENDING) if last.get(e.seq) in {None, _ENDS[2]}]

    def _send(self, sending: _Sending, client: Client, version: int) -> Outcome:
        try:
            answer = sending.kind.send(client, sending.request.id, version)
        except VersionConflict as error:
            raise self._refused(sending, self._conflict(sending, client), error) from error
        except Forbidden as error:
            raise self._refused(sending, self._forbidden(sending, error), error) from error
        except ServiceError as error:
            if not error.may_have_executed:
                self._refused(sending, error, error)
                raise
            return self._read_back(sending, client, error)
        if sending.kind.shows(answer):
            return self._done(sending, answer, "answered")
        return self._read_back(sending, client, _no_effect(sending, answer))

    def _done(
        self, sending: _Sending, answer: RampRequest, how: Literal["answered", "read back"]
    ) -> Outcome:
        event = answer.event(sending.kind.effect_event)
        outcome = Outcome(
            kind=sending.kind.name,
            subject=sending.request.id,
            how=how,
            text=sending.confirmed.text,
            status=answer.status or "",
            version=answer.version,
            service_user=None if event is None else event.email or event.username,
            decided_by=sending.confirmed.actor.name,
            at=self._now().astimezone(UTC),
        )
        self._end(sending, "action.done", outcome)
        return outcome

    def _read_back(self, sending: _Sending, client: Client, error: ServiceError) -> Outcome:
        """Ask the service what became of a sending whose answer did not come, or said nothing."""
        try:
            fresh = client.ramp.requests.get(sending.request.id).value
        except ServiceError as second:
            found = f"reading it back failed too: {second.what}"
            raise self._unknown(sending, error, found) from error
        if sending.kind.shows(fresh):
            return self._done(sending, fresh, "read back")
        raise self._unknown(sending, error, f"the service shows it {fresh.status}") from error

    def _conflict(self, sending: _Sending, client: Client) -> ActionRefused:
        """Say what moved; the person decides again on what the request says now."""
        request = sending.request
        try:
            fresh = RampSeen.of(client.ramp.requests.get(request.id).value)
        except ServiceError as second:
            return ActionRefused(
                f"{request.name} changed since it was shown, and cannot be read: {second.what}",
                do="sync, then decide again",
            )
        changes = [str(change) for change in moved(request, fresh)]
        if fresh.version != request.version:
            changes.append(f"version was {request.version}, is {fresh.version}")
        return ActionRefused(
            f"{request.name} changed since it was shown, and nothing was carried out:"
            f" {'; '.join(changes) or 'the service does not say what'}",
            do="look at it as it is now, then decide again",
        )

    def _forbidden(self, sending: _Sending, error: Forbidden) -> ActionRefused:
        name, verb = sending.request.name, sending.kind.verb.lower()
        if self._is_creators(error):
            return ActionRefused(
                f"This credential created {name}", do=f"{verb} in the provider's portal, then sync"
            )
        return ActionRefused(
            f"{sending.confirmed.client_id} may not {verb} {name}: {error.what}",
            do=f"use a credential whose role is COMPANY_ADMIN, or {verb} in the provider's portal,"
            " then sync",
        )

    def _is_creators(self, error: Forbidden) -> bool:
        """Whether a 403 means the maker: the text says so, or names neither a role nor a scope."""
        text = error.what.lower()
        if "creator" in text:
            return True
        named = error.code == "INSUFFICIENT_SCOPE" or "company_" in text or "role" in text
        return len(self._settings.credentials) == 1 and not named

    def _refused(
        self, sending: _Sending, refusal: TreasuryError, cause: ServiceError
    ) -> TreasuryError:
        self._end(sending, "action.refused", {"error": str(refusal), "service": str(cause)})
        return refusal

    def _unknown(self, sending: _Sending, error: ServiceError, found: str) -> OutcomeUnknown:
        name = sending.request.name
        self._end(sending, "action.unknown", {"error": str(error), "found": found})
        return OutcomeUnknown(
            f"{sending.kind.verb} {name}: the service may have carried it out; {found}",
            look_up=f"sync and look at {name} before deciding again",
            operation=sending.kind.operation,
        )

    def _end(self, sending: _Sending, kind: str, facts: object) -> None:
        body = {"sending": sending.entry.seq, "action": sending.kind.name, "facts": facts}
        try:
            self._journal.append(kind, sending.request.id, body, actor=sending.confirmed.actor)
        except JournalError as error:
            raise JournalError(
                f"{sending.kind.verb} {sending.request.name} was sent ({kind.split('.')[1]}), and"
                f" that could not be journaled: {error.what}",
                do="make the journal writable, sync, and look at the request before deciding again",
            ) from error

    def _credential(self, kind: Kind) -> str:
        """The kind's own credential; the only one there is where that is another."""
        names = sorted(self._settings.credentials)
        return names[0] if kind.credential not in names and len(names) == 1 else kind.credential


def _check(kind: Kind, request: RampSeen) -> int:
    """The version to send; ActionRefused where the request, as seen, cannot take the action."""
    if request.status != kind.from_status:
        raise ActionRefused(
            f"{request.name} is {request.status or 'of unknown status'}, not {kind.from_status}:"
            " nothing was sent",
            do="sync, then look at it again",
        )
    if request.version is None:
        raise ActionRefused(
            f"{request.name} was shown without its version: nothing was sent",
            do="sync its details, then decide",
        )
    return request.version


def _no_effect(sending: _Sending, answer: RampRequest) -> ServiceError:
    return ServiceError(
        f"{sending.kind.operation}: answered without an error, and {sending.request.name}"
        f" is {answer.status}",
        operation=sending.kind.operation,
        may_have_executed=True,
    )
