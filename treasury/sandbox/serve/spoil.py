"""Faulty answers with an unchanged status: half a body, a missing result, a wrong page.

Each function calls the service and changes its answer. `truncated` cuts every answer; the others
send an answer that they cannot change, such as a refusal or a body without pages, as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Literal
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treasury.core.decoding import decode_json

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
