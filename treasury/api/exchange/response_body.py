"""Reads answers completely, within limits, and removes the client's own secrets.

Every answer passes through here before any other code sees it. The size of its body is limited,
also after decompression. Tokens and secrets that the service echoes are removed, except from a
successful answer to a token request. Cookies are dropped. Only the beginning of an unsuccessful
answer is kept.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from heapq import heapify, heappop, heappush
from urllib.parse import quote, quote_plus
from weakref import WeakSet

import httpx

from treasury.api.exchange.network import UnreadableAnswer, current_exchange

REDACTED = b"[redacted]"
_SHORTEST = 12
"""Minimum length of a secret to remove from bodies, because a shorter one could be part of an
amount."""

_REMEMBERED = 16
"""Number of a client's recent secrets to remove; older tokens have expired."""

_GZIP = 31
"""zlib's parameter for gzip with the largest window."""

_DROPPED = frozenset(
    {b"content-encoding", b"content-length", b"transfer-encoding", b"set-cookie", b"set-cookie2"}
)
_ESCAPE = re.compile(rb"\\u00[0-9A-Fa-f]{2}|%[0-9A-Fa-f]{2}|\\/")
"""A character escaped in JSON or in a URL."""

_LONGEST_ESCAPE = 6
PIECE = 1 << 16
"""Number of bytes unescaped at once."""

_ESCAPE_SIGNS = (b"\\u00", b"\\/", b"%")
_UNESCAPED = {b"\\/": b"/"} | {
    sign + b"%02x" % code: bytes((code,)) for sign in (b"\\u00", b"%") for code in range(256)
}


class Redactor:
    """Removes the secrets of one client from a service's answers, in linear time.

    The service chooses both the token and the text that repeats it, so a regular expression built
    from the token could take exponential time.
    """

    def __init__(self) -> None:
        self._forms: tuple[tuple[bytes, ...], ...] = ()
        with _turn:
            _live.add(self)

    def __repr__(self) -> str:
        return "Redactor(…)"

    def hide(self, secret: str, client_id: str = "") -> None:
        """Remove `secret` from later answers, in plain or encoded form, unless it is very short.

        The encoded forms are those of URLs, JSON and basic authentication.
        """
        texts = {secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
        if client_id:
            texts.add(base64.b64encode(f"{client_id}:{secret}".encode()).decode())
        forms = tuple(text.encode() for text in sorted(texts, key=len, reverse=True))
        if len(secret) < _SHORTEST:
            return
        others = (earlier for earlier in self._forms if earlier != forms)
        self._forms = (*others, forms)[-_REMEMBERED:]

    def clean(self, data: bytes) -> bytes:
        """Return the bytes with each secret replaced, even if it is escaped for JSON or a URL."""
        for forms in self._forms:
            for form in forms:
                if form in data:
                    data = data.replace(form, REDACTED)
        if self._forms and any(sign in data for sign in _ESCAPE_SIGNS):
            plain = _unescaped(data)
            shown = {form for forms in self._forms for form in forms if form in plain}
            if shown:
                data = _without(data, _places(plain, shown))
        return data


def _unescaped(data: bytes) -> bytes:
    """Return the unescaped text.

    The text is processed in pieces, because splitting a whole answer takes much memory.
    """
    plain, start = bytearray(), 0
    while start < len(data):
        end = start + PIECE
        sign = max(data.rfind(begin, end - _LONGEST_ESCAPE, end) for begin in (b"\\", b"%"))
        # A piece must not end inside an escape.
        end = sign if sign > start and end < len(data) else end
        plain += _ESCAPE.sub(lambda escape: _UNESCAPED[escape[0].lower()], data[start:end])
        start = end
    return bytes(plain)


def _places(plain: bytes, forms: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match in order; skip a match that overlaps an earlier one."""
    upcoming = [(plain.find(form), -len(form), form) for form in forms]
    heapify(upcoming)
    last = 0
    while upcoming:
        start, _, form = heappop(upcoming)
        if start >= last:
            last = start + len(form)
            yield start, last
        start = plain.find(form, last)
        if start >= 0:
            heappush(upcoming, (start, -len(form), form))


def _without(data: bytes, places: Iterable[tuple[int, int]]) -> bytes:
    """Return the escaped text with its matches replaced.

    `places` are the positions of the matches in the unescaped text.
    """
    escapes = _ESCAPE.finditer(data)
    escape, longer = next(escapes, None), 0

    def escaped_place(place: int) -> int:
        nonlocal escape, longer
        while escape is not None and escape.start() - longer < place:
            longer += len(escape[0]) - 1
            escape = next(escapes, None)
        return place + longer

    cleaned, kept = bytearray(), 0
    for start, end in places:
        cleaned += data[kept : escaped_place(start)]
        cleaned += REDACTED
        kept = escaped_place(end)
    return bytes(cleaned + data[kept:])


_live: WeakSet[Redactor] = WeakSet()
_turn = threading.Lock()


class _LogFilter(logging.Filter):
    """Removes secrets from httpcore's log, because a service may repeat them in its headers."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage().encode("utf-8", "surrogateescape")
        with _turn:
            redactors = list(_live)
        for redactor in redactors:
            text = redactor.clean(text)
        record.msg, record.args = text.decode("utf-8", "surrogateescape"), ()
        return True


for _name in ("httpcore.connection", "httpcore.http11", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(_LogFilter())


class BoundedTransport(httpx.BaseTransport):
    """A transport that returns answers already read, with a limited size and without secrets."""

    def __init__(
        self, inner: httpx.BaseTransport, redactor: Redactor, *, refusal_bytes: int
    ) -> None:
        self._inner = inner
        self._redactor = redactor
        self._refusal_bytes = refusal_bytes

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and read its answer.

        Raise UnreadableAnswer if a successful answer is too long, or in an encoding that was not
        requested, and httpx.DecodingError if it cannot be decompressed.
        """
        response = self._inner.handle_request(request)
        with closing(response):
            content = self._content(response)
        return httpx.Response(
            response.status_code,
            headers=[
                (name, self._redactor.clean(value))
                for name, value in response.headers.raw
                if name.lower() not in _DROPPED
            ],
            content=content,
        )

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()

    def _content(self, response: httpx.Response) -> bytes:
        exchange = current_exchange()
        assert exchange is not None
        exchange.expect_body()
        if not response.is_success:
            try:
                content = _beginning(_parts(response, self._refusal_bytes), self._refusal_bytes)
            except (UnreadableAnswer, httpx.DecodingError):
                content = b""
            return self._redactor.clean(content)
        most = exchange.answer_bytes
        content = _beginning(_parts(response, most), most + 1)
        if len(content) > most:
            raise UnreadableAnswer(f"answered with more than {most:,} bytes")
        return content if exchange.brings_token else self._redactor.clean(content)


def _beginning(parts: Iterable[bytes], most: int) -> bytes:
    """Return the first `most` bytes of a body."""
    read = bytearray()
    for part in parts:
        read += part[: most - len(read)]
        if len(read) == most:
            break
    return bytes(read)


def _parts(response: httpx.Response, most: int) -> Iterator[bytes]:
    """Yield the body in decompressed parts of at most about `most` bytes."""
    # A test's transport may return a body that is already read and decompressed.
    if response.is_stream_consumed:
        return iter((response.content,))
    assert isinstance(response.stream, httpx.SyncByteStream)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return iter(response.stream)
    if encoding in {"gzip", "x-gzip"}:
        return _unzipped(response.stream, most + 1)
    raise UnreadableAnswer("answered in an encoding that was not requested")


def _unzipped(parts: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Yield the content of a gzip stream, at most `most` bytes per part."""
    unzip = zlib.decompressobj(_GZIP)
    is_begun = False
    for part in parts:
        is_begun = True
        try:
            yield unzip.decompress(part, most)
        except zlib.error:
            raise httpx.DecodingError("the compressed answer cannot be decompressed") from None
    if is_begun and not unzip.eof:
        raise httpx.DecodingError("the compressed answer ends early")
