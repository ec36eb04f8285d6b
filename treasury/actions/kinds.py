"""The kinds of action: what each is called, what it sends, with which credential, and its effect.

A kind is a declaration; the executor is one loop over them. The sentence that a person confirms is
made here and nowhere else, and is journaled word for word.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from treasury.actions.seen import RampSeen
from treasury.api import Client
from treasury.api.models import RampRequest
from treasury.errors import InputError
from treasury.money import format_amount

__all__ = ["KINDS", "Kind", "kind_of", "sentence"]

Send = Callable[[Client, str, int], RampRequest]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of action on a ramp request.

    It may be sent while the request is in `from_status`. Its effect shows as an event of
    `effect_event`, or, where the service gives no events, as a status in `effect_statuses`.
    """

    name: str
    verb: str
    consequence: str
    operation: str
    credential: str
    send: Send
    from_status: str = "AWAITING_APPROVAL"
    effect_event: str
    effect_statuses: frozenset[str]

    def body(self, version: int) -> dict[str, int]:
        """The exact body that is sent."""
        return {"version": version}

    def shows(self, request: RampRequest) -> bool:
        """Whether the request, as the service tells it now, has had the effect."""
        if request.status == self.from_status:
            return False
        if request.events:
            return request.event(self.effect_event) is not None
        return request.status in self.effect_statuses


def _approve(client: Client, request_id: str, version: int) -> RampRequest:
    return client.ramp.requests.approve(request_id, version=version).value


def _reject(client: Client, request_id: str, version: int) -> RampRequest:
    return client.ramp.requests.reject(request_id, version=version).value


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(
            name="ramp_request.approve",
            verb="Approve",
            consequence="It then awaits its funds.",
            operation="POST /ramp-requests/{id}/approve",
            credential="checker",
            send=_approve,
            effect_event="APPROVED",
            effect_statuses=frozenset({"AWAITING_FUNDS", "PROCESSING", "SUCCEEDED"}),
        ),
        Kind(
            name="ramp_request.reject",
            verb="Reject",
            consequence="It is then closed for good and nothing is paid.",
            operation="POST /ramp-requests/{id}/reject",
            credential="checker",
            send=_reject,
            effect_event="REJECTED",
            effect_statuses=frozenset({"REJECTED"}),
        ),
    )
}


def kind_of(name: str) -> Kind:
    """The kind of that name; InputError lists those there are."""
    try:
        return KINDS[name]
    except KeyError:
        raise InputError(
            f"there is no action {name!r}", do=f"use one of: {', '.join(sorted(KINDS))}"
        ) from None


def sentence(
    kind: Kind,
    request: RampSeen,
    *,
    actor: str,
    client_id: str,
    at: datetime,
    reason: str | None = None,
    masked: bool = False,
) -> str:
    """Exactly what will happen, for a person to confirm: who, what, how much, where to, when (UTC).

    `masked` shows the end of the account only, for a place that is saved or shared. The text holds
    what the service delivered: escape it where it is shown.
    """
    parts = [
        f"{kind.verb} {_what(request)}{_where(request, masked=masked)}.",
        kind.consequence,
        f"Created by {request.created_by or 'unknown'}, version {request.version}.",
        f"Decided by {actor} at {at:%Y-%m-%d %H:%M:%S} UTC, sent as {client_id}.",
    ]
    return " ".join([*parts, *([f"Reason: {reason}"] if reason else [])])


def _what(request: RampSeen) -> str:
    """`on-ramp PAY-1: EUR 25,000.00 gross (fee EUR 200.00, net EUR 24,800.00) for USDC 26.5`."""
    fiat, crypto = request.fiat_currency or "?", request.crypto_currency or "?"
    amounts = (
        ("fee", request.fiat_fee_amount),
        ("net", request.fiat_net_amount),
    )
    inner = ", ".join(f"{name} {format_amount(a, fiat)}" for name, a in amounts if a is not None)
    gross = "an amount not shown"
    if request.fiat_amount is not None:
        gross = f"{format_amount(request.fiat_amount, fiat)} gross"
    money = gross + (f" ({inner})" if inner else "")
    coins = crypto
    if request.crypto_amount is not None:
        coins = format_amount(request.crypto_amount, crypto)
    direction = {"ON_RAMP": "on-ramp", "OFF_RAMP": "off-ramp"}.get(
        request.ramp_type, request.ramp_type
    )
    first, second = (money, coins) if request.on_ramp else (coins, money)
    return f"{direction} {request.name}: {first} for {second}"


def _where(request: RampSeen, *, masked: bool) -> str:
    account = request.payee_account
    if account is None:
        return ", to a payee that the service does not show"
    shown = f"…{account[-4:]}" if masked else account
    if request.on_ramp:
        return f", delivered to wallet {shown}" + (
            f" on {request.payee_chain}" if request.payee_chain else ""
        )
    return f", paid to account {shown}"
