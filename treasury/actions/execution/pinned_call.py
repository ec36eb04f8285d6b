"""The call stored in the journal, which is always sent with the same bytes.

The body is built once and stored as text in the journal entry. Each attempt sends that text.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import msgspec

from treasury.actions.action_context import Context
from treasury.actions.action_states import Action, PinnedCall, Sending
from treasury.actions.drafting import body_of
from treasury.actions.kinds.action_fields import read_fields
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.kinds.kind import Findings, Kind, Sent
from treasury.api import Client, Record
from treasury.api.bodies import Body
from treasury.api.exchange.network import Fence
from treasury.journal import Actor, Draft


class Pinned(Body, frozen=True, kw_only=True):
    """A body stored in the journal, sent byte for byte."""

    content: str
    idempotency_key: str | None = None

    def wire(self) -> Any:
        """Return the stored text unchanged."""
        return msgspec.Raw(self.content.encode())


def sending_draft(context: Context, action: Action, actor: Actor, call: PinnedCall) -> Draft:
    """Return the draft entry with the call to send and the period in which it may be sent."""
    boot = context.boot()
    return action.draft(
        "sending",
        actor,
        operation=action.operation,
        credential=action.credential,
        client_id=action.client_id,
        text=action.text,
        reason=action.reason,
        people=action.people,
        policy=action.policy,
        attempt=action.attempts + 1,
        left_at=context.wall().isoformat(),
        boot=boot.boot,
        boot_milliseconds=boot.milliseconds,
        term_seconds=context.load_policy().recovery.term_seconds,
        deadline_seconds=ceil(context.connect(action.credential).limits.deadline),
        ids=call.ids,
        key=action.key,
        version=call.version,
        known=call.foreign_ids,
        body=call.body,
    )


def post(client: Client, kind: Kind, sending: Sending, key: str, fence: Fence) -> Record[Any]:
    """Send the stored call, unless the fence (the check before bytes) refuses; return the record.

    The fence is also asked again between the bytes of one request.
    """
    body: Body | None = None
    if sending.body:
        # For other kinds, the key in the body is only evidence.
        safe = kind.safety == "keyed"
        body = Pinned(content=sending.body, idempotency_key=key if safe and key else None)
    reply = client.request(
        kind.method,
        kind.route,
        *sending.ids,
        service=kind.service,
        kind=None if body is None or kind.safety == "neither" else kind.safety,
        body=body,
        look_up="run `treasury actions recover`; it is never sent again blindly",
        retry_unauthorized=False,
        fence=fence,
    )
    return reply.record(kind.model)


def sent_of(action: Action, foreign_ids: Sequence[str] = ()) -> Sent:
    """Return the call as it was sent, by which its effect is recognised."""
    kind, sending = kind_of(action.kind), action.departure
    fields, body = read_fields(kind.fields, action.fields), None
    is_compared = kind.alike is not None or kind.twins is not None
    # The body is needed to compare records with it.
    if is_compared and sending.body:
        content = msgspec.json.decode(sending.body.encode(), type=dict[str, Any])
        resolved = {
            "fiat_currency_id": str(content.get("fiatCurrencyId", "")),
            "crypto_currency_id": str(content.get("cryptoCurrencyId", "")),
        }
        findings = Findings(
            facts=(), says="", masked="", version=sending.version, resolved=resolved
        )
        body = body_of(kind, fields, findings, str(content.get("idempotencyKey", "")))
    return Sent(
        fields=fields,
        ids=sending.ids,
        body=body,
        key=action.key,
        version=sending.version,
        # An entry's time is never before that of the entry before it, so it may be ahead of the
        # clock.
        at=min(sending.at, sending.left_at),
        foreign_ids=(*sending.foreign_ids, *foreign_ids),
    )
