"""Drafts of actions: checked, described in a sentence and hashed, but not yet journaled.

A draft is checked against the last sync. If the sync lacks data or shows a problem, the draft is
also checked against the service. A problem is reported before anything is journaled or sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from treasury.actions.action_context import Context
from treasury.actions.action_facts import Fact, Moved
from treasury.actions.action_states import Action, ProposedContent
from treasury.actions.authority.authorization import decided_today, refuse_maker
from treasury.actions.kinds.action_fields import beside_field, field_names, typed_fields
from treasury.actions.kinds.all_kinds import kind_of, sentence
from treasury.actions.kinds.kind import AssetAmount, Findings, Kind
from treasury.actions.kinds.service_records import LiveSource, ServiceRecords, StoredSource
from treasury.actions.policies.policy import Policy
from treasury.actions.transaction_hashes import requests_with_hash, uses_fact
from treasury.actions.twins import fingerprint_of, twin_fact, twins_since
from treasury.api.bodies import Body, new_key
from treasury.core.errors import ActionRefused, InputError, ServiceError
from treasury.journal import Actor, Draft
from treasury.journal.chain import canonical


class Confirmation(ProposedContent, frozen=True, kw_only=True):
    """The content that a person confirms; the journal stores it word for word."""

    notes: tuple[str, ...]
    actor: Actor
    at: datetime


def draft(
    context: Context,
    name: str,
    values: Mapping[str, object],
    *,
    reason: str | None = None,
    live: bool = False,
    without_key: bool = False,
) -> Confirmation:
    """Draft the action.

    Raise InputError for a wrong field, ActionRefused if the facts or the policy do not allow it,
    and ServiceError if the service is needed and cannot be read.
    """
    kind = kind_of(name)
    if without_key and not kind.has_key:
        raise InputError(
            f"{kind.name} has no key that could be left out", do="propose it without `without_key`"
        )
    fields = typed_fields(kind.fields, _with_ids(context, values))
    actor, at, policy = context.who(), context.now().astimezone(UTC), context.load_policy()
    credential = context.credential_for(kind)
    client_id = context.settings.credential(credential).client_id
    findings = _read_findings(context, kind, fields, credential, live=live)
    policy.check("propose", kind, findings.money, actor, ())
    if kind.decides_on_maker:
        refuse_maker(context, policy, fields, actor)
    key = new_key() if kind.takes_key and not without_key else ""
    body = body_of(kind, fields, findings, key)
    content = {name: value for name, value in _plain(fields).items() if value is not None}
    fingerprint = fingerprint_of(kind.name, content, findings.facts)
    _refuse_blocked(context, fingerprint)
    uses = uses_fact(requests_with_hash(context, kind, fields))
    if uses is not None and policy.one_person and not (reason or "").strip():
        raise InputError(
            f"reason: is missing, and {uses.name} {uses.value} already",
            do="give the hash of this request's own transaction, or the reason why it is the"
            " same one",
        )
    needed = policy.people(kind, findings.money, [uses] if uses is not None else ())
    since = context.book.wished_since(fingerprint, at)
    alike = _alike(context, kind, credential, (fields, body), since, live=live)
    notes = _notes(context, policy, fingerprint, alike)
    if uses is not None:
        notes = (f"LOOK: {uses.name} {uses.value} already", *notes)
    if without_key:
        notes = (*notes, "It is sent without an idempotency key")

    say = partial(
        sentence,
        kind,
        findings,
        actor=actor.name,
        client_id=client_id,
        at=at.astimezone(context.settings.zone),
        verb="Decided" if needed <= 1 else "Proposed",
        reason=reason,
        notes=notes,
    )
    sent = (key, credential, client_id, context.place)
    confirmed = Confirmation(
        kind=kind.name,
        operation=kind.operation,
        safety=kind.safety,
        fields=content,
        facts=(*findings.facts, *filter(None, (alike, uses))),
        text=say(masked=False),
        masked=say(masked=True),
        notes=notes,
        money=findings.money,
        target=next(iter(kind.ids_of(fields)), ""),
        key=key,
        content_hash=_content_hash(kind.name, kind.operation, content, findings.facts, sent),
        fingerprint=fingerprint,
        needed=needed,
        policy=policy.hash,
        credential=credential,
        client_id=client_id,
        reason=reason,
        actor=actor,
        at=at,
        place=context.place,
        request=findings.request,
    )
    hold_day(context, policy, actor, [confirmed])
    return confirmed


def _with_ids(context: Context, values: Mapping[str, object]) -> Mapping[str, object]:
    """Return the fields, with a payment reference in `request_id` replaced by the request's id."""
    name = values.get("request_id")
    if context.snapshot is None or not isinstance(name, str):
        return values
    snapshot = context.snapshot()
    if snapshot.commit is None:
        return values
    query = "SELECT id FROM ramp_requests WHERE payment_reference = $name"
    ids = snapshot.sql(query, {"name": name.strip()})["id"].to_pylist()
    return {**values, "request_id": ids[0]} if len(ids) == 1 else values


def proposal(confirmed: Confirmation, action_id: str, nonce: str | None = None) -> Draft:
    """Return the draft entry that proposes the confirmed content."""
    body = msgspec.structs.asdict(confirmed)
    for name in ("actor", "at"):
        del body[name]
    return Draft("action.proposed", action_id, body, confirmed.actor, nonce)


def lapse_draft(action: Action, actor: Actor, why: str, moved: Sequence[Moved] = ()) -> Draft:
    """Return the draft entry that lets an action lapse; `moved` are the changed facts."""
    return action.draft("lapsed", actor, why=why, moved=moved)


def hold_day(
    context: Context, policy: Policy, actor: Actor, drafts: Sequence[Confirmation]
) -> None:
    """Raise ActionRefused if the drafts that need only one person exceed the daily limit."""
    spent: list[tuple[Kind, AssetAmount]] = []
    for confirmed in drafts:
        if confirmed.needed > 1 or confirmed.money is None:
            continue
        kind = kind_of(confirmed.kind)
        today = decided_today(context, policy, kind, actor, spent)
        policy.check("propose", kind, confirmed.money, actor, today)
        spent.append((kind, confirmed.money))


def body_of(kind: Kind, fields: Any, findings: Findings, key: str) -> Body | None:
    """Return the body to send; raise InputError if the specification does not allow it."""
    try:
        return kind.body(fields, findings, key)
    except InputError as error:
        raise beside_field(error, field_names(kind.fields), _plain(fields)) from None


def _read_findings(
    context: Context, kind: Kind, fields: Any, credential: str, *, live: bool
) -> Findings:
    stored, service = _sources(context, credential, live=live)
    findings = kind.read(fields, ServiceRecords(*stored, service))
    if findings.problem and stored:
        # The service may have newer data than the last sync.
        with suppress(ServiceError):
            findings = kind.read(fields, ServiceRecords(service))
    if findings.problem:
        raise ActionRefused(
            f"{findings.problem}; nothing was proposed and nothing was sent",
            do="correct it, or sync and look at it again",
        )
    return findings


def _sources(
    context: Context, credential: str, *, live: bool
) -> tuple[list[StoredSource], LiveSource]:
    """Return the sources to check against: the last sync unless `live`, then the service."""
    service = LiveSource(lambda: context.connect(credential))
    return [StoredSource(context.snapshot())] if context.snapshot and not live else [], service


def _alike(
    context: Context,
    kind: Kind,
    credential: str,
    call: tuple[Any, Body | None],
    since: datetime,
    *,
    live: bool,
) -> Fact | None:
    """Return a fact about equal records at the service that did not come from our actions.

    Return None if there are none, or if this kind of action has no such check. An unreadable list
    is not an error in this check, because the service is read again before sending.
    """
    fields, body = call
    if kind.twins is None or body is None:
        return None
    stored, service = _sources(context, credential, live=live)
    try:
        twins = [*kind.twins(ServiceRecords(*stored, service, since=since), fields, body)]
    except (ServiceError, ActionRefused):
        return None
    return twin_fact(twins_since(context.book.strangers(twins), since))


def _refuse_blocked(context: Context, fingerprint: str) -> None:
    context.book.refresh()
    twin = context.book.blocking(fingerprint)
    if twin is not None:
        raise ActionRefused(
            f"{twin.id} is the same, and may have been carried out, once or twice:"
            f" {twin.masked} Nothing was proposed",
            do=f"run `treasury actions recover {twin.id}`, or settle it, before doing it again",
        )


def _notes(
    context: Context, policy: Policy, fingerprint: str, alike: Fact | None
) -> tuple[str, ...]:
    repeats = context.book.look_alikes(fingerprint)
    notes = [f"LOOK: the same as {twin.id}, which is {twin.state}" for twin in repeats[-1:]]
    if alike is not None:
        notes.append(f"LOOK: {alike.name} there is {alike.value}, which was not made from here")
    if policy.one_person:
        notes.append("This workspace has one person: no second person approves it")
    return tuple(notes)


def is_as_approved(action: Action) -> bool:
    """Return whether the hash of the journaled content is still the approved hash."""
    sent = (action.key, action.credential, action.client_id, action.place)
    now = _content_hash(action.kind, action.operation, action.fields, action.facts, sent)
    return {now} == {action.content_hash, *(approval.content_hash for approval in action.approvals)}


def _content_hash(
    name: str,
    operation: str,
    content: Mapping[str, Any],
    facts: Sequence[Fact],
    sent: tuple[str, ...],
) -> str:
    material = [(fact.name, fact.value) for fact in facts if fact.material]
    whole = [name, operation, content, material, sent]
    return hashlib.sha256(canonical(whole).encode()).hexdigest()


def _plain(fields: Any) -> dict[str, Any]:
    """Return the fields by name, with amounts as text."""
    values = msgspec.structs.asdict(fields)
    return {
        name: value if value is None or isinstance(value, str) else f"{value:f}"
        for name, value in values.items()
    }
