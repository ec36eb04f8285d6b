"""Carries out an action at most once: read, compare, journal, send, journal what came of it.

The entry that something is being sent, with its exact body and key, is in the journal before a byte
leaves, and is appended only while the action is ready by the journal as it ends then: a double
click, a second notebook and a second process all meet the same refusal. After it comes what
happened: done, refused, or unknown. What is refused or unknown is raised, so nobody overlooks it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from treasury.actions.context import Context
from treasury.actions.drafting import Confirmation, body_of, proposal, refuse_maker
from treasury.actions.facts import Moved, changed
from treasury.actions.fields import read_fields
from treasury.actions.kind import Found, Kind, Sent
from treasury.actions.kinds import kind_of
from treasury.actions.records import Live, Records
from treasury.actions.states import Action, Sending
from treasury.api import Client, Record
from treasury.api.bodies import Body
from treasury.api.codec import encode
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
from treasury.journal import Actor, Draft
from treasury.text import clean

__all__ = ["Lives", "Sender", "post", "sent_of"]

_NEVER_LEFT: Final = (ServiceUnreachable, RateLimited, Unauthorized, BadCredentials)
"""What says nothing about the action itself: it may be tried again as it is approved."""
_ROUNDS: Final = 3
"""How often a version that was raised in between is read again."""


class Lives:
    """The services as they are now, one reading for each credential of a batch."""

    def __init__(self, connect: Callable[[str], Client]) -> None:
        self._connect = connect
        self._lives: dict[str, Live] = {}

    def of(self, credential: str) -> Live:
        """What the service says to a credential."""
        if credential not in self._lives:
            self._lives[credential] = Live(lambda: self._connect(credential))
        return self._lives[credential]


class Pinned(Body, frozen=True, kw_only=True):
    """A body as the journal holds it, sent byte for byte."""

    content: str
    idempotency_key: str | None = None

    def wire(self) -> Any:
        """The text itself."""
        return msgspec.Raw(self.content.encode())


class PinnedKeyed(Pinned, frozen=True, kw_only=True):
    """The same with a key that makes sending it again safe."""

    REPEATS = True


def post(client: Client, kind: Kind, sending: Sending, key: str) -> Record[Any]:
    """Send what the journal holds; the record that the service answers with."""
    body: Body | None = None
    if sending.body:
        pinned = PinnedKeyed if kind.safety == "keyed" else Pinned
        body = pinned(content=sending.body, idempotency_key=key or None)
    reply = client.request(
        kind.method,
        kind.route,
        *sending.ids,
        service=kind.service,
        body=body,
        look_up="run `treasury actions recover`; it is never sent again blindly",
    )
    return reply.record(kind.model)


def sent_of(kind: Kind, action: Action, known: Sequence[str] = ()) -> Sent:
    """The call as it left, for recognising its effect."""
    sending = action.sending
    assert sending is not None
    fields = read_fields(kind.fields, action.fields)
    return Sent(
        fields=fields,
        ids=sending.ids,
        body=_likeness(kind, fields, sending),
        key=action.key,
        version=sending.version,
        at=sending.at,
        known=(*sending.known, *known),
    )


def _likeness(kind: Kind, fields: Any, sending: Sending) -> Body | None:
    """The body again, from what was sent, for comparing records with it."""
    if kind.alike is None or not sending.body:
        return None
    given = msgspec.json.decode(sending.body.encode(), type=dict[str, Any])
    resolved = {
        "fiat": str(given.get("fiatCurrencyId", "")),
        "crypto": str(given.get("cryptoCurrencyId", "")),
    }
    found = Found(facts=(), says="", masked="", version=sending.version, resolved=resolved)
    return body_of(kind, fields, found, str(given.get("idempotencyKey", "")))


class End(msgspec.Struct, frozen=True):
    """What came of a sending: its entry, and what is raised where it is not done."""

    draft: Draft
    error: TreasuryError | None = None
    bumped: bool = False
    """The record was changed in between: read it again, compare, and go on."""


class _Prepared(msgspec.Struct, frozen=True):
    """An action that has been checked, and what is about to leave."""

    action: Action
    ids: tuple[str, ...]
    body: str
    version: int | None
    known: tuple[str, ...]


class Sender:
    """Executes the actions of one workspace."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._book = context.book

    def execute(self, action_id: str, lives: Lives) -> Action:
        """Carry out an action that is ready; raises unless it is done."""
        for _ in range(_ROUNDS):
            prepared = self._prepare(self._ready(action_id), lives)
            self._leave([prepared])
            end = self._send(self._book.get(action_id))
            self.note([end])
            if end.bumped:
                continue
            if end.error is not None:
                raise end.error
            return self._book.get(action_id)
        raise ActionRefused(
            f"{action_id}: its record is being changed by others all the time",
            do="run it again in a moment",
        )

    def execute_all(
        self, action_ids: Sequence[str], lives: Lives
    ) -> dict[str, TreasuryError | None]:
        """Carry out several that may safely be sent again, journaled together.

        That they leave is in the journal before the first of them does. What has not left when
        something stops this is ready again; what a crash cuts off is settled by `recover`, as for
        one. By id: what was in its way, or None.
        """
        outcome: dict[str, TreasuryError | None] = {}
        prepared: list[_Prepared] = []
        for action_id in action_ids:
            try:
                prepared.append(self._prepare(self._ready(action_id), lives))
            except TreasuryError as error:
                outcome[action_id] = error
        prepared = self._leave(prepared, outcome)
        ends: dict[str, End] = {}
        begun: set[str] = set()
        try:
            for one in prepared:
                begun.add(one.action.id)
                end = ends[one.action.id] = self._send(self._book.get(one.action.id))
                if isinstance(end.error, ServiceUnreachable | OutcomeUnknown):
                    break
        finally:  # one that was begun and has no end stays as it is: it may have been carried out
            kept = [self._not_left(p.action) for p in prepared if p.action.id not in begun]
            self.note([*ends.values(), *kept])
        for end in (*ends.values(), *kept):
            outcome[end.draft.subject] = end.error
        for action_id, end in ends.items():
            if end.bumped:
                outcome[action_id] = self._once_more(action_id, lives)
        return outcome

    def _once_more(self, action_id: str, lives: Lives) -> TreasuryError | None:
        try:
            self.execute(action_id, lives)
        except TreasuryError as error:
            return error
        return None

    def _not_left(self, action: Action) -> End:
        error = ServiceUnreachable(
            f"{action.id} was not sent: what was before it was stopped",
            do="execute it again when that is settled",
            operation=action.operation,
        )
        return self.refused(action, error, again=True)

    def carry_out(self, confirmed: Confirmation, lives: Lives, nonce: str | None) -> Action:
        """Propose what was confirmed and execute it at once, where one person is enough."""
        if confirmed.needed > 1:
            raise ActionRefused(
                f"{confirmed.kind} needs {confirmed.needed} people: nothing was sent",
                do="propose it, and have a colleague approve it",
            )
        kind = kind_of(confirmed.kind)
        self._context.connect(confirmed.credential).require_writes(kind.operation)
        found = kind.read(
            read_fields(kind.fields, confirmed.fields), Records(lives.of(confirmed.credential))
        )
        moved = changed(confirmed.facts, found.facts)
        if moved:
            raise _lapse(confirmed.target or confirmed.kind, moved)
        policy = self._context.load_policy()

        def entries() -> list[Draft]:
            return [
                *self._context.policy_drafts(policy, confirmed.actor),
                proposal(confirmed, self._book.next_id(), nonce),
            ]

        action_id = self._book.decide(entries)[-1].subject
        return self.execute(action_id, lives)

    # Before it leaves

    def _ready(self, action_id: str) -> Action:
        """The action, if it is ready; what the book says is held against the journal first."""
        try:
            action = self._book.get(action_id)
            _require_ready(action)
        except TreasuryError:
            self._book.refresh()
            action = self._book.get(action_id)
            _require_ready(action)
        return action

    def _prepare(self, action: Action, lives: Lives) -> _Prepared:
        """What is to leave, by what the world says now; an entry where the approval lapses."""
        kind, actor = kind_of(action.kind), self._context.who()
        client = self._context.connect(action.credential)
        client.require_writes(kind.operation)
        fields = read_fields(kind.fields, action.fields)
        self._hold_policy(kind, action, actor, fields)
        live = lives.of(action.credential)
        found = kind.read(fields, Records(live))
        moved = changed(action.facts, found.facts)
        if moved:
            self._lapsed(action, moved, actor)
        if found.problem:
            raise ActionRefused(
                f"{action.id}: {found.problem}; nothing was sent",
                do="mend that and execute it again, or withdraw it",
            )
        if found.drawn is not None:
            live.draw(*found.drawn)
        body = body_of(kind, fields, found, action.key)
        known: tuple[str, ...] = ()
        if kind.alike is not None and body is not None:
            known = tuple(str(one.id) for one in kind.alike(client, fields, body))
        text = "" if body is None else encode(body.wire()).decode()
        return _Prepared(action, kind.ids(fields), text, found.version, known)

    def _hold_policy(self, kind: Kind, action: Action, actor: Actor, fields: Any) -> None:
        """What was approved under an earlier policy has to satisfy the present one."""
        policy = self._context.load_policy()
        policy.check_identity(actor)
        needed = policy.people(kind, action.money)
        if len(action.people) < needed:
            raise ActionRefused(
                f"{action.id} is approved by {len(action.people)} people, and the policy now wants"
                f" {needed}: nothing was sent",
                do="withdraw it and propose it again",
            )
        if kind.decides_on_maker:
            refuse_maker(self._context, policy, fields, action.proposed_by)

    def _lapsed(self, action: Action, moved: Sequence[Moved], actor: Actor) -> None:
        error = _lapse(action.id, moved)

        def entries() -> list[Draft]:
            _require_ready(self._book.get(action.id))
            body = {
                "kind": action.kind,
                "content_hash": action.content_hash,
                "target": action.target,
                "why": error.what,
                "moved": moved,
            }
            return [Draft("action.lapsed", action.id, body, actor)]

        self._book.decide(entries)
        raise error

    def _leave(
        self,
        prepared: Sequence[_Prepared],
        outcome: dict[str, TreasuryError | None] | None = None,
    ) -> list[_Prepared]:
        """Journal that they leave; from here on they may have been carried out.

        One that may not raises, or is left out and its error put in `outcome`.
        """
        actor, leaving = self._context.who(), list[_Prepared]()

        def entries() -> list[Draft]:
            leaving.clear()
            for one in prepared:
                try:
                    now = self._book.get(one.action.id)
                    _require_ready(now)
                    self._refuse_blocked(now)
                except ActionRefused as error:
                    if outcome is None:
                        raise
                    outcome[one.action.id] = error
                    continue
                leaving.append(one)
            return [
                self.sending_draft(
                    one.action,
                    actor,
                    ids=one.ids,
                    body=one.body,
                    version=one.version,
                    known=one.known,
                )
                for one in leaving
            ]

        self._book.decide(entries)
        return leaving

    def _refuse_blocked(self, action: Action) -> None:
        twin = self._book.blocking(action.fingerprint, but=action.id)
        if twin is not None:
            raise ActionRefused(
                f"{action.id} is the same as {twin.id}, and whether that was carried out is not"
                " known: nothing was sent",
                do=f"run `treasury actions recover {twin.id}`, or settle it, first",
            )

    def sending_draft(
        self,
        action: Action,
        actor: Actor,
        *,
        ids: tuple[str, ...],
        body: str,
        version: int | None,
        known: Sequence[str],
    ) -> Draft:
        """The entry that pins what is about to be sent."""
        told = {
            "kind": action.kind,
            "operation": action.operation,
            "target": action.target,
            "content_hash": action.content_hash,
            "credential": action.credential,
            "client_id": action.client_id,
            "text": action.text,
            "reason": action.reason,
            "people": action.people,
            "policy": action.policy,
            "attempt": action.attempts + 1,
            "left_at": self._context.wall().isoformat(),
            "ids": ids,
            "key": action.key,
            "version": version,
            "known": known,
            "body": body,
        }
        return Draft("action.sending", action.id, told, actor)

    # What comes of it

    def _send(self, action: Action) -> End:
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
        if error.may_have_executed:
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


def _require_ready(action: Action) -> None:
    if action.state == "ready":
        return
    by = action.sending.actor.name if action.sending is not None else ""
    said = {
        "proposed": f"waits for {action.waits_for} more to approve it",
        "sending": f"is being sent by {by}, or was cut off",
        "unknown": "may have been carried out",
        "done": f"was already carried out by {by}",
    }.get(action.state, f"is {action.state}: {action.why}")
    advice = {
        "proposed": "have a colleague approve it",
        "sending": f"run `treasury actions recover {action.id}` if nobody is sending it",
        "unknown": f"run `treasury actions recover {action.id}`",
    }.get(action.state, "propose it again if it is still wanted")
    raise ActionRefused(f"{action.id} {said}; nothing was sent", do=advice)


def _lapse(name: str, moved: Sequence[Moved]) -> ActionRefused:
    return ActionRefused(
        f"{name} changed since it was shown, and nothing was carried out:"
        f" {'; '.join(map(str, moved))}",
        do="look at it as it is now, then decide again",
    )


def _no_effect(action: Action, answer: Any) -> ServiceError:
    return ServiceError(
        f"{action.operation}: answered without an error, and its record is"
        f" {clean(getattr(answer, 'status', None))}",
        operation=action.operation,
        may_have_executed=True,
    )
