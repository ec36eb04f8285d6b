"""Calls to both services with one credential: authentication, repeats and errors in one place.

The HTTP method says whether a call writes: one place refuses it where the environment, or the
caller at hand, is for reading.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Literal, Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from treasury.api.bodies import Body
from treasury.api.codec import (
    Pagination,
    Record,
    decode,
    encode,
    open_envelope,
    result_bytes,
    split,
)
from treasury.api.exchange.auth import TokenAuth
from treasury.api.exchange.transport import Call, CallLimits, Clock, Kind, Transport
from treasury.api.service_errors import not_offered, where
from treasury.errors import (
    ActionRefused,
    InputError,
    NotFound,
    OutcomeUnknown,
    TreasuryError,
)
from treasury.settings import Credential, Services

__all__ = ["Reply", "Service", "ServiceCalls"]

T = TypeVar("T")
Service = Literal["finance", "ramp"]
_PLACE = re.compile(r"\{\w+\}")
_READING_METHODS = frozenset({"GET", "HEAD"})
_CALCULATES = {("ramp", "POST", "/fees/calculate")}
"""The one documented operation that reads by another method: it changes nothing."""


_OPTIONAL = frozenset(
    {
        "POST /accounts/{accountId}/reactivate",
        "GET /accounts/{accountId}/wallets/{walletId}/permits",
        "GET /accounts/{accountId}/wallets/{walletId}/allowances",
    }
)
"""Operations that some generations lack, of which a 404 speaks as of a record: the record tells."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A successful answer: the result's own bytes (`null` where there is none)."""

    call: Call
    status: int
    result: bytes
    pagination: Pagination | None = None
    credential: str = ""
    """The client id that the call was made with."""

    @property
    def operation(self) -> str:
        """`POST /ramp-requests/{id}/approve`."""
        return self.call.operation

    def record(self, model: type[T]) -> Record[T]:
        """The result as one record; OutcomeUnknown where a write's answer does not read."""
        with _having_left(self.call):
            return self.read(self.result, model)

    def records(self, model: type[T]) -> list[Record[T]]:
        """The result as a list of records."""
        return [self.read(item, model) for item in split(self.result, self.operation)]

    def read(self, raw: bytes, model: type[T]) -> Record[T]:
        """A part of the result as a record that knows who asked."""
        value = decode(raw, model, self.operation).value
        return Record(value, raw, self.credential)


class ServiceCalls(ABC):
    """Calls of any route with one credential; safe to use from several threads."""

    def __init__(
        self,
        services: Services,
        credential: Credential,
        *,
        limits: CallLimits | None = None,
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
        self._may_write = services.may_write
        self._propose: Callable[[str], str] | None = None
        self.client_id = credential.client_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.client_id} at {self._addresses['finance']}>"

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

    @property
    def limits(self) -> CallLimits:
        """How long and how often to try, and how much to take in."""
        return self._transport.limits

    @property
    def clock(self) -> Clock:
        """Where time comes from."""
        return self._transport.clock

    @property
    def may_write(self) -> bool:
        """Whether anything may be changed with this client: in production only if allowed."""
        return self._may_write and self._propose is None

    def require_writes(self, operation: str) -> None:
        """Raise ActionRefused where the environment, or this client, is for reading."""
        if self._propose is not None:
            raise ActionRefused(
                f"{operation}: this client is for reading; nothing was sent",
                do=self._propose(operation),
            )
        if not self._may_write:
            raise ActionRefused(
                f"{operation}: this is production, and writing is not allowed; nothing was sent",
                do="set allow_writes = true below [workspace] in treasury.toml",
            )

    def request(
        self,
        method: str,
        route: str,
        *ids: str,
        service: Service = "finance",
        params: Iterable[tuple[str, str]] = (),
        body: object | None = None,
        kind: Kind | None = None,
        look_up: str | None = None,
    ) -> Reply:
        """Any operation: `request("GET", "/accounts/{id}", account_id)`.

        The method says whether it writes. Of a write, `kind` says whether sending it again is safe;
        left out, that follows from its body. `look_up` is the advice of an OutcomeUnknown.
        ActionRefused where nothing may be written; InputError where `kind` contradicts the method.
        """
        reading = method in _READING_METHODS or (service, method, route) in _CALCULATES
        if kind is not None and (kind == "read") is not reading:
            raise InputError(
                f"{method} {route} is no {kind!r}: the method decides whether a call writes",
                do="leave kind out",
            )
        written = _Written.of(body, reading=reading)
        call = Call(
            method=method,
            route=route,
            url=self._addresses[service] + _fill(route, ids),
            kind=kind or written.kind,
            params=tuple(params),
            headers={} if body is None else {"Content-Type": "application/json"},
            content=written.content,
            ids=ids,
            key=written.key,
            look_up=look_up or written.look_up(route),
        )
        if not reading:
            self.require_writes(call.operation)
        try:
            response = self._transport.send(call, self._auth)
        except NotFound as error:
            if call.operation in _OPTIONAL and self.has_record(ids):
                raise not_offered(error) from error
            raise
        with _having_left(call):
            pagination, result = None, b"null"
            if response.content or reading:  # a write may answer with no body at all
                envelope = open_envelope(response.content, call.operation)
                pagination, result = envelope.pagination, result_bytes(envelope)
            return Reply(
                call=call,
                status=response.status_code,
                result=result,
                pagination=pagination,
                credential=self.client_id,
            )

    @abstractmethod
    def has_record(self, ids: tuple[str, ...]) -> bool:
        """Whether the account, and its wallet where one is named, are there."""


class _Written(msgspec.Struct, frozen=True):
    """A body as it is sent, and whether it may be sent again."""

    kind: Kind
    content: bytes | None = None
    key: str | None = None

    @classmethod
    def of(cls, body: object | None, *, reading: bool) -> Self:
        """Of a body of `bodies`, of anything that JSON can hold, or of none."""
        kind: Kind = "read" if reading else "write"
        if not isinstance(body, Body):
            return cls(kind, None if body is None else encode(body))
        if not reading:
            kind = body.REPEATS
        return cls(kind, encode(body.wire()), body.key)

    def look_up(self, route: str) -> str:
        """Where to find out what became of it."""
        if self.kind == "keyed":
            return f"send the same body again, with its key {self.key}: it is carried out once"
        return f"read what {route} is about and see what became of it"


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


@contextmanager
def _having_left(call: Call) -> Iterator[None]:
    """Whatever is raised about a write that has left is an OutcomeUnknown."""
    try:
        yield
    except Exception as error:
        if call.kind == "read":
            raise
        reason = f"{call.operation}: its answer does not read ({type(error).__name__})"
        if isinstance(error, TreasuryError):
            reason = error.what
        raise OutcomeUnknown(
            f"{reason}; it was probably carried out{where(call.ids)}",
            look_up=call.look_up,
            operation=call.operation,
            ids=call.ids,
            key=call.key,
        ) from error
