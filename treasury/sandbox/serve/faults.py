"""Faults on demand, such as network failures or an overloaded service.

A test queues faults; each affects the next calls to a path prefix. A mix draws random faults from a
seed, so that a long run has all kinds and can be repeated. A connection may be dropped before the
service acts, after it has acted, or in the middle of the answer. The control plane is never
affected.

A fault may also spoil an answer whose status stays: half a body, a missing result, a wrong page.
An answer without such a part, such as a refusal without a result or a body without pages, is sent
as it is.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec.structs import replace
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treasury.core.decoding import convert, decode_json
from treasury.core.errors import InputError
from treasury.sandbox.http.exchange import Refusal

UNDISTURBED: Final = "/sandbox"
STALE: Final = "sandbox.stale"
"""Key in a call's ASGI scope for the number of seconds by which lists lag."""


class Fault(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A fault that affects the next `times` calls to a path."""

    path: str = ""
    method: str | None = None
    times: int = 1
    delay: float = 0.0
    status: int | None = None
    retry_after: str | None = None
    acts: bool = False
    """Whether a call that is answered with `status` takes effect nevertheless."""
    drop: Literal["before", "after", "halfway"] | None = None
    spoil: Spoil | None = None
    """Name of a defect in an otherwise correct answer."""
    stale: int | None = None
    """Number of seconds, by the company's clock, for which new records are missing from lists."""
    name: str = ""

    def is_for(self, method: str, path: str) -> bool:
        """Return whether the fault applies to the call."""
        return self.times > 0 and path.startswith(self.path) and self.method in {None, method}


CATALOGUE: Final[dict[str, dict[str, Any]]] = {
    "slow": {"delay": 0.05},
    "too_many": {"status": 429},
    "too_many_until": {"status": 429, "retry_after": "0"},
    "broken": {"status": 500},
    "broken_after_effect": {"status": 500, "acts": True},
    "dropped_before_effect": {"drop": "before"},
    "dropped_after_effect": {"drop": "after"},
    "dropped_halfway": {"drop": "halfway"},
    "truncated": {"spoil": "truncated"},
    "no_result": {"spoil": "no_result"},
    "repeated_page": {"spoil": "repeated_page"},
    "shifted_page": {"spoil": "shifted_page"},
    "skipping_page": {"spoil": "skipping_page"},
    "stale": {"stale": 60},
}
"""The named faults, each with its settings."""


class _Mix(msgspec.Struct):
    """Random faults, with one draw per call so that a run can be repeated."""

    random: Random
    rate: float
    names: tuple[str, ...]
    path: str
    remaining: int

    def draw(self, method: str, path: str) -> Fault | None:
        if self.remaining <= 0 or not path.startswith(self.path):
            return None
        hit, name = self.random.random() < self.rate, self.random.choice(self.names)
        if not hit:
            return None
        self.remaining -= 1
        return Fault(path=path, method=method, name=name, **CATALOGUE[name])


class Faults:
    """Queue of pending faults, used in order, and the mix, used when the queue has none."""

    def __init__(self) -> None:
        self._queue: list[Fault] = []
        self._mix: _Mix | None = None
        self._lock = threading.Lock()
        self.struck: list[tuple[str, str, str]] = []
        """Method, path and name of every fault that occurred."""

    def add(self, path: str = "", **what: object) -> None:
        """Queue a fault: `faults.add("/ramp/v1/fees", status=429, retry_after="1", times=2)`.

        With `name=`, queue a fault from the catalogue.
        """
        catalogued = CATALOGUE.get(str(what.get("name", "")), {})
        try:
            fault = convert({"path": path, **catalogued, **what}, Fault)
        except msgspec.ValidationError as error:
            raise InputError(
                f"this is not a valid fault: {error}", do=f"name one of: {', '.join(CATALOGUE)}"
            ) from None
        with self._lock:
            self._queue.append(fault)

    def mix(
        self,
        seed: int,
        rate: float,
        names: Sequence[str] = tuple(CATALOGUE),
        *,
        path: str = "",
        at_most: int = 1_000_000,
    ) -> None:
        """Apply random faults, drawn from a seed, to a share of the calls to a path."""
        unknown = sorted(set(names) - set(CATALOGUE))
        if unknown or not names or not 0 <= rate <= 1:
            raise InputError(
                f"cannot mix {', '.join(unknown) or 'these faults'} at a rate of {rate}",
                do=f"give a rate from 0 to 1 and at least one of: {', '.join(CATALOGUE)}",
            )
        with self._lock:
            random = Random(seed)  # noqa: S311 - it decides what breaks, it secures nothing
            self._mix = _Mix(random, rate, tuple(names), path, at_most)

    def take(self, method: str, path: str) -> Fault | None:
        """Return the fault for a call, and count it as used."""
        with self._lock:
            fault = next((f for f in self._queue if f.is_for(method, path)), None)
            if fault is not None:
                fault.times -= 1
            elif self._mix is not None:
                fault = self._mix.draw(method, path)
            if fault is not None:
                self.struck.append((method, path, fault.name))
            return fault

    def waiting(self) -> list[Fault]:
        """Return the queued faults that are still pending."""
        with self._lock:
            return [replace(f) for f in self._queue if f.times > 0]

    def clear(self) -> None:
        """Delete all faults and the mix."""
        with self._lock:
            self._queue.clear()
            self._mix = None


class FaultGate:
    """ASGI middleware that applies faults; `cut` closes the connection of a call."""

    def __init__(self, app: ASGIApp, faults: Faults, cut: Callable[[Scope], None]) -> None:
        self._app = app
        self._faults = faults
        self._cut = cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, or apply the next fault."""
        path: str = scope["path"]
        if path == UNDISTURBED or path.startswith(f"{UNDISTURBED}/"):
            await self._app(scope, receive, send)
            return
        fault = self._faults.take(scope["method"], path)
        if fault is None:
            await self._app(scope, receive, send)
            return
        await asyncio.sleep(fault.delay)
        if fault.stale is not None:
            scope = {**scope, STALE: fault.stale}
        if fault.drop is not None:
            await self._drop(fault.drop, scope, receive, send)
        elif fault.status is not None:
            if fault.acts:
                await self._app(scope, receive, _nowhere)
            code = "RATE_LIMITED" if fault.status == 429 else "INTERNAL_SERVER_ERROR"
            body = Refusal(fault.status, code, "Try later.").reply().body
            headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
            refusal = Response(body, fault.status, headers, "application/json")
            await refusal(scope, receive, send)
        elif fault.spoil is not None:
            answer = await SPOILS[fault.spoil](self._app, scope, receive)
            await answer.send(send)
        else:
            await self._app(scope, receive, send)

    async def _drop(self, when: str, scope: Scope, receive: Receive, send: Send) -> None:
        if when == "after":
            await self._app(scope, receive, _nowhere)
        elif when == "halfway":
            answer = await answer_of(self._app, scope, receive)
            await answer.send(send, length=len(answer.body) // 2)
        self._cut(scope)
        while (await receive())["type"] != "http.disconnect":
            # The server must notice the closed connection first.
            pass


async def _nowhere(_: Message) -> None:
    """Discard an answer instead of sending it."""


Spoil = Literal["truncated", "no_result", "repeated_page", "shifted_page", "skipping_page"]
_Body = dict[str, msgspec.Raw]


class Answer(msgspec.Struct):
    """An answer of a service."""

    status: int
    media_type: bytes
    body: bytes

    async def send(self, send: Send, length: int | None = None) -> None:
        """Send the answer; with `length`, cut the body there without changing Content-Length."""
        size = str(len(self.body)).encode()
        headers = [(b"content-type", self.media_type), (b"content-length", size)]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        part = self.body if length is None else self.body[:length]
        more = length is not None
        await send({"type": "http.response.body", "body": part, "more_body": more})


_Spoiler = Callable[[ASGIApp, Scope, Receive], Awaitable[Answer]]


async def answer_of(app: ASGIApp, scope: Scope, receive: Receive) -> Answer:
    """Call the service, and return its answer."""
    answer = Answer(500, b"application/json", b"")

    async def take(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.media_type = dict(message["headers"]).get(b"content-type", answer.media_type)
        else:
            answer.body += message.get("body", b"")

    await app(scope, receive, take)
    return answer


def _rewriting(rewrite: Callable[[Answer], bytes]) -> _Spoiler:
    """Return a fault that changes the body of the answer."""

    async def spoil(app: ASGIApp, scope: Scope, receive: Receive) -> Answer:
        answer = await answer_of(app, scope, receive)
        answer.body = rewrite(answer)
        return answer

    return spoil


def _replacing(choose: Callable[..., list[msgspec.Raw]], *steps: int) -> _Spoiler:
    """Return a fault that sends items of other pages under this page's number, from page 2 on."""

    async def spoil(app: ASGIApp, scope: Scope, receive: Receive) -> Answer:
        if _number(scope) < 2:
            return await answer_of(app, scope, receive)
        pages = [await _page(app, scope, step) for step in steps]
        answer = await answer_of(app, scope, _no_body)
        body = _object(answer)
        if "pagination" in body:
            body["result"] = msgspec.Raw(msgspec.json.encode(choose(*pages)))
            answer.body = msgspec.json.encode(body)
        return answer

    return spoil


def _without_result(answer: Answer) -> bytes:
    body = _object(answer)
    if "result" not in body:
        return answer.body
    del body["result"]
    return msgspec.json.encode(body)


SPOILS: Final[dict[str, _Spoiler]] = {
    # Half of the body is sent, with the Content-Length of that half.
    "truncated": _rewriting(lambda answer: answer.body[: len(answer.body) // 2]),
    # The successful answer lacks its result.
    "no_result": _rewriting(_without_result),
    "repeated_page": _replacing(list, -1),
    # As if a record had been inserted earlier in the list: the previous page's last record is
    # repeated.
    "shifted_page": _replacing(lambda before, own: [*before[-1:], *own[:-1]], -1, 0),
    # As if an earlier record had been deleted: one record is missing on all pages.
    "skipping_page": _replacing(lambda own, after: [*own[1:], *after[:1]], 0, 1),
}


def _object(answer: Answer) -> _Body:
    try:
        return decode_json(answer.body, _Body)
    except msgspec.MsgspecError:
        return {}


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"))


def _number(scope: Scope) -> int:
    """Return the requested page number; 1 by default and for writes."""
    text = dict(_query(scope)).get("page", "1")
    return int(text) if scope["method"] == "GET" and text.isdecimal() else 1


async def _page(app: ASGIApp, scope: Scope, step: int) -> list[msgspec.Raw]:
    """Return the items of the page that is `step` pages after the requested one."""
    parameters = [(name, value) for name, value in _query(scope) if name != "page"]
    query = urlencode([*parameters, ("page", str(_number(scope) + step))])
    page_scope = {**scope, "query_string": query.encode()}
    body = _object(await answer_of(app, page_scope, _no_body))
    try:
        return msgspec.json.decode(body.get("result", b"[]"), type=list[msgspec.Raw])
    except msgspec.MsgspecError:
        return []


async def _no_body() -> Message:
    """Return an empty request body, however often it is read."""
    return {"type": "http.request", "body": b"", "more_body": False}
