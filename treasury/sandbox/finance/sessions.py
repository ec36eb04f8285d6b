"""Hosted payment sessions: a customer pays euros, and the account's wallet receives stablecoins.

The callback address is stored next to the session, and the service has no endpoint that reads a
session. The callback is called after the wallet is credited, which is later than the payment if the
account is not verified yet.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from treasury.sandbox.finance.finance_records import account_of, require_active, wallets_of
from treasury.sandbox.http.body_fields import Coin, DecimalText, JsonBody, Key, amount_of_text
from treasury.sandbox.http.exchange import Call, invalid, stored
from treasury.sandbox.http.idempotency import create_route
from treasury.sandbox.state.callbacks import is_loopback
from treasury.sandbox.state.shapes import Shape, bare, number, zulu
from treasury.sandbox.state.store import make_record
from treasury.sandbox.story.world import World

EXPIRES: Final = "finance.session.expires"
"""Name of the scheduled step that closes an unpaid session."""
_LIFETIME: Final = timedelta(hours=1)
_NOTE: Final = "callbackUrl is not on loopback: the sandbox will not invoke it"


class NewSession(JsonBody, frozen=True, kw_only=True):
    """A new hosted payment."""

    in_amount: DecimalText
    in_currency: Literal["EUR"]
    out_cryptocurrency: Coin
    callback_url: str
    success_redirect_url: str | None = None
    failure_redirect_url: str | None = None
    idempotency_key: Key


class Session(Shape, frozen=True, kw_only=True, omit_defaults=False):
    """A payment session in an answer; the amount is a number here but a string in a request."""

    id: str
    account_id: str
    status: str
    in_amount: Decimal
    in_currency: str
    out_cryptocurrency: str
    payment_url: str
    external_ref: str | None
    wallet_id: str | None
    blockchain_tx_id: str | None
    cancellable: bool
    expires_at: str
    metadata: dict[str, Any]
    idempotency_key: str
    created_at: str
    updated_at: str


class SessionFile(msgspec.Struct, frozen=True, kw_only=True):
    """A session, with the URLs in the request that created it."""

    session: Session
    callback_url: str
    success_redirect_url: str | None
    failure_redirect_url: str | None


def create_session(world: World, call: Call) -> Session:
    """POST /accounts/{accountId}/fiat-to-crypto/payment-sessions: open a hosted payment."""
    account, body = account_of(world, call.path["accountId"]), call.read(NewSession)
    require_active(account)
    return make_session(world, account.id, body).session


def make_session(
    world: World,
    account_id: str,
    body: NewSession,
    external_ref: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> SessionFile:
    """Create a session that expires after an hour."""
    amount = amount_of_text(body.in_amount, "EUR", "inAmount")
    _check_address(body.callback_url, "callbackUrl", secure=True)
    for url, name in (
        (body.success_redirect_url, "successRedirectUrl"),
        (body.failure_redirect_url, "failureRedirectUrl"),
    ):
        if url is not None:
            _check_address(url, name)
    now, wallets = world.clock.tick(), wallets_of(world, account_id)
    session_id = world.ids.uuid()
    notes = {} if is_loopback(body.callback_url) else {"sandbox": _NOTE}
    session = Session(
        id=session_id, account_id=account_id, status="CREATED", in_amount=number(amount),
        in_currency=body.in_currency, out_cryptocurrency=body.out_cryptocurrency,
        payment_url=f"https://checkout.example.test/s/{session_id[:8]}", external_ref=external_ref,
        wallet_id=wallets[0].id if wallets else None, blockchain_tx_id=None, cancellable=True,
        expires_at=zulu(now + _LIFETIME), metadata=(metadata or {}) | notes,
        idempotency_key=body.idempotency_key, created_at=bare(now), updated_at=bare(now),
    )  # fmt: skip
    world.agenda.add(now + _LIFETIME, EXPIRES, session.id)
    file = SessionFile(
        session=session, callback_url=body.callback_url,
        success_redirect_url=body.success_redirect_url,
        failure_redirect_url=body.failure_redirect_url,
    )  # fmt: skip
    return _put(world, file)


def session_of(world: World, session_id: str) -> SessionFile:
    """Return a session by its id. Raises a 404 if it does not exist."""
    return stored(world, "payment_session", session_id, SessionFile)


def set_status(world: World, file: SessionFile, status: str, **changes: Any) -> SessionFile:
    """Write a session's new status; the session can no longer be cancelled."""
    session = replace(
        file.session, status=status, cancellable=False, updated_at=bare(world.clock.now), **changes
    )
    return _put(world, replace(file, session=session))


def expire(world: World, session_id: str) -> None:
    """Close an unpaid session."""
    file = session_of(world, session_id)
    if file.session.status == "CREATED":
        set_status(world, file, "EXPIRED")


def finish(world: World, session_id: str) -> SessionFile:
    """Complete the session after its wallet is credited, and call the callbackUrl."""
    file = session_of(world, session_id)
    wallets = wallets_of(world, file.session.account_id)
    file = set_status(
        world, file, "COMPLETED", blockchain_tx_id=world.ids.hash(), wallet_id=wallets[0].id
    )
    event = {
        "sandbox": "The specification shows no payload; this one is invented.",
        "event": "payment-session.completed", "sessionId": file.session.id,
        "accountId": file.session.account_id, "walletId": file.session.wallet_id,
        "status": file.session.status, "occurredAt": zulu(world.clock.now),
    }  # fmt: skip
    world.after(lambda: world.callbacks.invoke(file.session.id, file.callback_url, event))
    return file


def _put(world: World, file: SessionFile) -> SessionFile:
    session = file.session
    record = make_record(
        "payment_session", file, id=session.id, owner=session.account_id, status=session.status,
        created_at=session.created_at, updated_at=session.updated_at,
    )  # fmt: skip
    world.store.put([record])
    return file


def _check_address(url: str, field: str, *, secure: bool = False) -> None:
    """Raise Refusal unless the URL is http or https; `secure` allows http only on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in {"http", "https"}:
        raise invalid(f"{field} must be an http or https address.")
    if secure and parts.scheme != "https" and not is_loopback(url):
        raise invalid(f"{field} must be an https address.")


SESSION_ROUTES: Final = (
    create_route(
        "/accounts/{accountId}/fiat-to-crypto/payment-sessions", create_session, NewSession,
        Session, "Open a hosted payment.",
    ),
)  # fmt: skip
