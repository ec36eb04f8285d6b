"""The access token of one credential, shared by all threads and renewed before it expires.

`TokenAuth` is an `httpx.Auth` flow (finance service, "Authentication"). Each request carries the
cached token; a token that is about to expire is replaced before the request is sent. If the service
answers 401, the token is discarded, and `transport` decides whether the call is repeated. One
thread fetches a token while the others wait for it. The clock is monotonic, so changes to the
system time do not matter.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Generator
from urllib.parse import urlencode

import httpx
import msgspec

from treasury.api.codec import UNREADABLE
from treasury.api.exchange.transport import Call, Transport
from treasury.core import errors
from treasury.core.decoding import decode_json
from treasury.core.settings import Credential, Secret

_OPERATION = "POST {token_url}"

EARLY = 30.0
"""Seconds before expiry at which a token is replaced."""

_VISIBLE = re.compile(r"[\x21-\x7e]{1,16384}")
_REFUSALS = (errors.InvalidRequest, errors.Unauthorized, errors.Forbidden)


class _Grant(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = 300.0

    def __repr__(self) -> str:
        return "_Grant(…)"


class _Token(msgspec.Struct, frozen=True):
    bearer: Secret
    fresh_until: float


class TokenAuth(httpx.Auth):
    """Adds a bearer token to each request; `repr` shows the client id but not the secret."""

    def __init__(self, token_url: str, credential: Credential, transport: Transport) -> None:
        self._url = token_url
        self._credential = credential
        self._transport = transport
        self._lock = threading.Lock()
        self._token: _Token | None = None
        self._refused: str | None = None
        self._failed: tuple[float, errors.ServiceError | None] = (0.0, None)

    def __repr__(self) -> str:
        return f"TokenAuth({self._credential.client_id!r})"

    def sync_auth_flow(
        self, request: httpx.Request
    ) -> Generator[httpx.Request, httpx.Response, None]:
        """Send the request with the cached token; discard the token if the service answers 401."""
        token = self._current()
        request.headers["Authorization"] = f"Bearer {token.bearer.reveal()}"
        response = yield request
        if response.status_code == 401:
            with self._lock:
                if self._token is token:
                    self._token = None

    def _current(self) -> _Token:
        """Return the token. If fetching it fails, all waiting threads raise the same error."""
        came_at = self._now()
        if not self._lock.acquire(timeout=max(0.0, self._transport.time_left())):
            raise httpx.PoolTimeout("another call is still waiting for the token")
        try:
            token = self._token
            if token is None or self._now() >= token.fresh_until:
                failed_at, failure = self._failed
                # Another fetch failed while this thread waited for it.
                if failure is not None and failed_at > came_at:
                    raise failure
                try:
                    token = self._token = self._fetch()
                except errors.ServiceError as error:
                    self._failed = (self._now(), error)
                    raise
            return token
        finally:
            self._lock.release()

    def _now(self) -> float:
        return self._transport.clock.monotonic()

    def _fetch(self) -> _Token:
        """Fetch a new token, unless an earlier fetch was refused.

        Repeated requests with a wrong secret may lock the client out.
        """
        if self._refused is not None:
            raise self._bad_credentials(self._refused)
        asked_at = self._now()
        try:
            grant = self._ask()
        except _REFUSALS as error:
            self._refused = f"{error.status}" + (f" {error.code}" if error.code else "")
            raise self._bad_credentials(self._refused) from None
        except (errors.NotFound, errors.NotOffered) as error:
            raise _no_token(f"{error.status}") from None
        self._transport.redactor.hide(grant.access_token)
        early = min(EARLY, grant.expires_in / 2)
        return _Token(Secret(grant.access_token), asked_at + grant.expires_in - early)

    def _ask(self) -> _Grant:
        """Request a token.

        Tracebacks may show local variables, so the secret is only in objects that hide it: a
        `Secret`, and the content of a `Call`.
        """
        secret = self._credential.secret()
        self._transport.redactor.hide(secret.reveal(), self._credential.client_id)
        call = Call(
            method="POST",
            route=_OPERATION.partition(" ")[2],
            url=self._url,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            content=urlencode(
                {
                    "grant_type": "client_credentials",
                    "client_id": self._credential.client_id,
                    "client_secret": secret.reveal(),
                }
            ).encode(),
            brings_token=True,
        )
        response = self._transport.send(call)
        try:
            grant = decode_json(response.content, _Grant)
        except UNREADABLE:
            grant = _Grant("")
        if not _VISIBLE.fullmatch(grant.access_token):
            raise _no_token("without a token")
        return grant

    def _bad_credentials(self, answer: str) -> errors.BadCredentials:
        return errors.BadCredentials(
            f"the token address refused {self._credential.client_id} ({answer})",
            do="check client_id, the secret, and that both belong to this environment",
            operation=_OPERATION,
        )


def _no_token(answer: str) -> errors.UnexpectedResponse:
    return errors.UnexpectedResponse(
        f"the token address answered {answer}",
        do="check token_url in treasury.toml",
        operation=_OPERATION,
    )
