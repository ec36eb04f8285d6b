"""The client of both services: one credential, one connection pool, everything typed.

`client.finance` and `client.ramp` hold the collections; `client.request` reaches any other route
with the same authentication, repeats and errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from treasury.api.auth import TokenAuth
from treasury.api.codec import Pagination, Record, decode, encode, open_envelope, result_bytes
from treasury.api.finance import Finance
from treasury.api.ramp import Ramp
from treasury.api.resources import Service
from treasury.api.transport import Call, Clock, Limits, Transport
from treasury.errors import InputError, OutcomeUnknown, UnexpectedResponse
from treasury.settings import Credential, Services

__all__ = ["Client", "Reply"]

T = TypeVar("T")
_PLACE = re.compile(r"\{\w+\}")


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A successful answer: the result's own bytes (`null` where there is none)."""

    operation: str
    status: int
    result: bytes
    pagination: Pagination | None = None
    credential: str = ""
    """The client id that the call was made with."""

    look_up: str | None = None
    """Where to find out what a write did; None for a read."""

    def record(self, model: type[T]) -> Record[T]:
        """The result as one record; OutcomeUnknown where a write's answer does not read."""
        try:
            return decode(self.result, model, self.operation)
        except UnexpectedResponse as error:
            if self.look_up is None:
                raise
            raise _probably_done(error, self.operation, self.look_up) from None


class Client:
    """Both services with one credential; safe to use from several threads; close it after use.

    `clock` and `inner` (the innermost HTTP transport) are there for tests.
    """

    def __init__(
        self,
        services: Services,
        credential: Credential,
        *,
        limits: Limits | None = None,
        clock: Clock | None = None,
        inner: httpx.BaseTransport | None = None,
    ) -> None:
        self._addresses: dict[Service, str] = {
            "finance": services.finance.base_url.rstrip("/"),
            "ramp": services.ramp.base_url.rstrip("/"),
        }
        self._transport = Transport(
            (*self._addresses.values(), services.token_url), limits=limits, clock=clock, inner=inner
        )
        self._auth = TokenAuth(services.token_url, credential, self._transport)
        self.client_id = credential.client_id
        self.finance = Finance(self)
        self.ramp = Ramp(self)

    def __repr__(self) -> str:
        return f"<Client {self.client_id} at {self._addresses['finance']}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def request(
        self,
        method: str,
        route: str,
        *ids: str,
        service: Service = "finance",
        params: Iterable[tuple[str, str]] = (),
        body: object | None = None,
        keyed: bool = False,
        look_up: str | None = None,
    ) -> Reply:
        """Any operation: `request("GET", "/accounts/{id}", account_id)`.

        `keyed` says that the body carries an idempotency key, so that sending it again is safe;
        `look_up` is the advice of an OutcomeUnknown.
        """
        reading = method in {"GET", "HEAD"}
        call = Call(
            method=method,
            route=route,
            url=self._addresses[service] + _fill(route, ids),
            kind="read" if reading else "keyed" if keyed else "write",
            params=tuple(params),
            headers={} if body is None else {"Content-Type": "application/json"},
            content=None if body is None else encode(body),
            look_up=look_up or f"read what {route} is about and see what became of it",
        )
        response = self._transport.send(call, self._auth)
        try:
            return self._reply(call, response)
        except UnexpectedResponse as error:
            if reading:
                raise
            raise _probably_done(error, call.operation, call.look_up) from None

    def _reply(self, call: Call, response: httpx.Response) -> Reply:
        pagination, result = None, b"null"
        if response.content or call.kind == "read":  # a write may answer with no body at all
            envelope = open_envelope(response.content, call.operation)
            pagination, result = envelope.pagination, result_bytes(envelope)
        return Reply(
            operation=call.operation,
            status=response.status_code,
            result=result,
            pagination=pagination,
            credential=self.client_id,
            look_up=None if call.kind == "read" else call.look_up,
        )


def _fill(route: str, ids: tuple[str, ...]) -> str:
    """The route with its placeholders filled, in order; an id stays one path segment."""
    places = _PLACE.findall(route)
    if len(places) != len(ids):
        raise InputError(
            f"{route} takes {len(places)} ids, {len(ids)} given", do="give one id for each {…}"
        )
    for place, value in zip(places, ids, strict=True):
        if not value.strip(". "):
            raise InputError(f"{route}: {value!r} is not an id", do=f"give the {place}")
        route = route.replace(place, quote(value, safe=""), 1)
    return route


def _probably_done(error: UnexpectedResponse, operation: str, look_up: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"{error.what}; it was probably carried out", look_up=look_up, operation=operation
    )
