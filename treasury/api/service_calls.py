"""Sends a call to a service, checks the answer and decodes it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Self, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from treasury.api.answer_identity import other_record, wrong_record
from treasury.api.bodies import Body
from treasury.api.codec import (
    Pagination,
    Record,
    decode,
    encode,
    open_envelope,
    split,
    unwrap,
)
from treasury.api.exchange.auth import TokenAuth
from treasury.api.exchange.network import Fence
from treasury.api.exchange.transport import Call, CallLimits, Clock, Kind, Transport, unknown
from treasury.api.operations import FILES, OPTIONAL, Service
from treasury.api.service_errors import not_offered, where
from treasury.core import errors
from treasury.core.settings import Credential, Services

T = TypeVar("T")
_PLACE = re.compile(r"\{\w+\}")
_READING_METHODS = frozenset({"GET", "HEAD"})
_CALCULATES = {("ramp", "POST", "/fees/calculate")}
"""The only documented operation that changes nothing although its method is not GET."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A successful answer.

    `result` has the result as JSON, `null` if there is none. Some operations, such as `GET
    /ramp-requests/export`, answer with a file instead; its bytes are in `file`.
    """

    call: Call
    status: int
    result: bytes
    file: bytes | None = None
    pagination: Pagination | None = None
    credential: str = ""
    """The client id that made the call."""

    @property
    def operation(self) -> str:
        """Method and route, such as `POST /ramp-requests/{id}/approve`."""
        return self.call.operation

    def record(self, model: type[T]) -> Record[T]:
        """Decode the result as one record.

        Parameters
        ----------
        model
            The type of the record, from `treasury.api.models`.

        Returns
        -------
        Record
            The record as a model, with the bytes received.

        Raises
        ------
        OutcomeUnknown
            The answer of a write cannot be decoded.
        UnexpectedResponse
            The answer of a read cannot be decoded.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> reply = client.request("GET", "/accounts/{id}", account.id)
        >>> reply.record(models.Account).value.chain == account.chain
        True
        """
        with _having_left(self.call):
            return self.read(self.result, model)

    def records(self, model: type[T]) -> list[Record[T]]:
        """Decode the result as a list of records.

        Parameters
        ----------
        model
            The type of a record, from `treasury.api.models`.

        Returns
        -------
        list of Record
            The records in the order of the service.

        Raises
        ------
        UnexpectedResponse
            The answer is not a list, or a record cannot be decoded.

        Examples
        --------
        >>> reply = client.request("GET", "/fiat-currencies", service="ramp")
        >>> "EUR" in {record.value.currency for record in reply.records(models.FiatCurrency)}
        True
        """
        return [self.read(item, model) for item in split(self.result, self.operation)]

    def read(self, raw: bytes, model: type[T]) -> Record[T]:
        """Decode a part of the result as one record; raise UnexpectedResponse if that fails."""
        value = decode(raw, model, self.operation).value
        return Record(value, raw, self.credential)


class ServiceCalls(ABC):
    """Sends any operation of both services with one credential, and decodes the answer."""

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
        self.limits, self.clock = self._transport.limits, self._transport.clock
        self._auth = TokenAuth(services.token_url, credential, self._transport)
        self._may_write = services.may_write
        self.bank_receiver = services.bank_receiver
        self._propose: Callable[[str], str] | None = None
        self.client_id = credential.client_id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.client_id} at {self._addresses['finance']}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    @property
    def may_write(self) -> bool:
        """True if this client may change records.

        False for a read-only client, and in production unless the settings allow writes.
        """
        return self._may_write and self._propose is None

    def require_writes(self, operation: str) -> None:
        """Raise ActionRefused if this client, or its environment, is read-only."""
        if self._propose is not None:
            raise errors.ActionRefused(
                f"{operation}: this client is read-only; nothing was sent",
                do=self._propose(operation),
            )
        if not self._may_write:
            raise errors.ActionRefused(
                f"{operation}: this is production, where writing is not allowed; nothing was sent",
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
        retry_unauthorized: bool = True,
        fence: Fence | None = None,
    ) -> Reply:
        """Send any operation, and check that the answer is about the same record.

        Parameters
        ----------
        method, route
            The HTTP method, which decides whether the call writes; and the route as the
            specification writes it, such as `/accounts/{id}`.
        *ids
            The values of the route's placeholders, in order.
        service
            `finance` or `ramp`.
        params, body
            The query parameters, and the body: a struct of `bodies`, or anything that JSON can
            encode.
        kind
            Whether a write may be repeated (`Call`); by default the class of the body decides.
        look_up
            The advice in an OutcomeUnknown on how to check whether the write was executed.
        retry_unauthorized
            False if a write without key or version must not be repeated after a 401.
        fence
            Decides immediately before each attempt whether the call may still be sent.

        Returns
        -------
        Reply
            The answer; its `record` and `records` decode the result.

        Raises
        ------
        ServiceError
            The service refused the call or could not be reached. The error of a write that may
            have been executed is an OutcomeUnknown.
        ActionRefused
            This client, or its environment, is read-only; nothing was sent.
        InputError
            `kind` contradicts the method, an id is blank, or their number does not fit the route.

        Examples
        --------
        >>> account = client.finance.accounts.list(size=1).items[0].value
        >>> reply = client.request("GET", "/accounts/{id}", account.id)
        >>> reply.record(models.Account).value.id == account.id
        True
        """
        reading = method in _READING_METHODS or (service, method, route) in _CALCULATES
        if kind is not None and (kind == "read") is not reading:
            raise errors.InputError(
                f"{method} {route} is not a {kind!r}: the method decides whether a call writes",
                do="leave kind out",
            )
        own = body if isinstance(body, Body) else None
        key = None if own is None else own.key
        safety: Kind = "read" if reading else "write" if own is None else own.REPEATS
        advice = f"read the record of {route} to see whether it was changed"
        if safety == "keyed":
            advice = f"send the same body again, with its key {key}: it is executed once"
        call = Call(
            method=method,
            route=route,
            url=self._addresses[service] + _fill(route, ids),
            kind=kind or safety,
            params=tuple(params),
            headers={} if body is None else {"Content-Type": "application/json"},
            content=None if body is None else encode(body if own is None else own.wire()),
            ids=ids,
            key=key,
            look_up=look_up or advice,
            retry_unauthorized=retry_unauthorized,
            fence=fence,
        )
        if not reading:
            self.require_writes(call.operation)
        try:
            response = self._transport.send(call, self._auth)
        except errors.NotFound as error:
            if call.operation in OPTIONAL and self.has_record(ids):
                raise not_offered(error) from error
            raise
        with _having_left(call):
            pagination, result, created_id = None, b"null", None
            file = _file(response, call.operation)
            # Only an answer to a write may be empty.
            if file is None and (response.content or reading):
                envelope = open_envelope(response.content, call.operation)
                pagination, (result, created_id) = envelope.pagination, unwrap(envelope)
            other = other_record(call.operation, ids, call.content, result, created_id)
        if other and reading:
            raise wrong_record(call.operation, ids, other)
        if other:
            raise unknown(call, f"answered {other}")
        return Reply(
            call=call,
            status=response.status_code,
            result=result,
            file=file,
            pagination=pagination,
            credential=self.client_id,
        )

    @abstractmethod
    def has_record(self, ids: tuple[str, ...]) -> bool:
        """Return True if the account exists, and its wallet if `ids` has a second id."""


def _file(response: httpx.Response, operation: str) -> bytes | None:
    """Return the content if it is the kind of file declared for the operation, otherwise None."""
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return response.content if FILES.get(operation) == media_type else None


def _fill(route: str, ids: tuple[str, ...]) -> str:
    """Fill the placeholders of a route in order.

    Ids are escaped, so each stays one path segment.
    """
    places = _PLACE.findall(route)
    if len(places) != len(ids):
        raise errors.InputError(
            f"{route} takes {len(places)} ids, {len(ids)} given", do="give one id for each {…}"
        )
    for place, value in zip(places, ids, strict=True):
        if not value.strip(". "):
            raise errors.InputError(f"{route}: {value!r} is not an id", do=f"give the {place}")
        route = route.replace(place, quote(value, safe=""), 1)
    return route


@contextmanager
def _having_left(call: Call) -> Iterator[None]:
    """Convert an exception into OutcomeUnknown, if a write was sent before."""
    try:
        yield
    except Exception as error:
        if call.kind == "read":
            raise
        reason = f"{call.operation}: its answer cannot be read ({type(error).__name__})"
        if isinstance(error, errors.TreasuryError):
            reason = error.what
        raise errors.OutcomeUnknown(
            f"{reason}; it was probably carried out{where(call.ids)}",
            look_up=call.look_up,
            operation=call.operation,
            ids=call.ids,
            key=call.key,
        ) from error
