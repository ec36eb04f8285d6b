"""Answers as they come in: read whole, within bounds, and free of the client's own secrets.

Nothing of an answer is looked at before it has passed here: its body ends within a limit, also once
it is decompressed; a token or secret that the service sends back is taken out; cookies are dropped.
Of an answer that is no success only the beginning is kept: that it failed is what counts.
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
from urllib.parse import quote, quote_plus, unquote_to_bytes
from weakref import WeakSet

import httpx

from treasury.api.exchange.network import UnreadableAnswer, current_exchange

__all__ = ["REDACTED", "BoundedTransport", "Redactor"]

REDACTED = b"[redacted]"
SHORTEST = 12
"""Characters of the shortest secret that is taken out of bodies: a shorter one could be part of an
amount or an id."""

REMEMBERED = 16
"""Secrets of one client that are looked for; the tokens before those have expired."""

GZIP = 31
"""zlib's name for gzip with the largest window."""

_DROPPED = frozenset(
    {b"content-encoding", b"content-length", b"transfer-encoding", b"set-cookie", b"set-cookie2"}
)
_ESCAPES = (b"\\u00", b"\\/")


class Redactor:
    """Takes the secrets of one client out of whatever a service says."""

    def __init__(self) -> None:
        self._forms: tuple[tuple[bytes, ...], ...] = ()
        self._escaped: re.Pattern[bytes] | None = None
        with _turn:
            _live.add(self)

    def __repr__(self) -> str:
        return "Redactor(…)"

    def hide(self, secret: str, client_id: str = "") -> None:
        """Take out `secret` from now on: plain, URL-encoded, and as basic authentication."""
        texts = {secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
        if client_id:
            texts.add(base64.b64encode(f"{client_id}:{secret}".encode()).decode())
        forms = tuple(text.encode() for text in sorted(texts, key=len, reverse=True))
        if len(secret) < SHORTEST:
            return
        others = (earlier for earlier in self._forms if earlier != forms)
        self._forms = (*others, forms)[-REMEMBERED:]
        every = {form for some in self._forms for form in some}
        self._escaped = re.compile(b"|".join(map(_escaped, sorted(every, key=len, reverse=True))))

    def clean(self, data: bytes) -> bytes:
        """The same bytes with each secret replaced, also where JSON or a URL escapes it."""
        for forms in self._forms:
            for form in forms:
                if form in data:
                    data = data.replace(form, REDACTED)
        is_escaped = any(escape in data for escape in _ESCAPES) or self._is_percent_encoded(data)
        if self._escaped is not None and is_escaped:
            data = self._escaped.sub(REDACTED, data)
        return data

    def _is_percent_encoded(self, data: bytes) -> bool:
        """Whether a secret shows once what is percent-encoded is decoded, in any of its ways."""
        if b"%" not in data:
            return False
        decoded = unquote_to_bytes(data)
        return any(form in decoded for forms in self._forms for form in forms)


def _escaped(form: bytes) -> bytes:
    """A pattern for text whose characters may be written as escapes of JSON or of URLs."""
    return b"".join(
        rb"(?:%s|(?:\\u00|%%)(?i:%02x)%s)" % (re.escape(c), c[0], rb"|\\/" if c == b"/" else b"")
        for c in (form[i : i + 1] for i in range(len(form)))
    )


_live: WeakSet[Redactor] = WeakSet()
_turn = threading.Lock()


class _LogFilter(logging.Filter):
    """Keeps secrets that a service echoes in its headers out of httpcore's own log."""

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
    """A transport whose answers are complete, bounded and clean."""

    def __init__(
        self, inner: httpx.BaseTransport, redactor: Redactor, *, refusal_bytes: int
    ) -> None:
        self._inner = inner
        self._redactor = redactor
        self._refusal_bytes = refusal_bytes

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and read its answer; UnreadableAnswer where that has no end."""
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
    """The first `most` bytes."""
    read = bytearray()
    for part in parts:
        read += part[: most - len(read)]
        if len(read) == most:
            break
    return bytes(read)


def _parts(response: httpx.Response, most: int) -> Iterator[bytes]:
    """The body as it comes, decompressed where it is; no part is much longer than `most`."""
    if response.is_stream_consumed:  # an inner transport has read it, and decoded it
        return iter((response.content,))
    assert isinstance(response.stream, httpx.SyncByteStream)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        return iter(response.stream)
    if encoding in {"gzip", "x-gzip"}:
        return _unzipped(response.stream, most + 1)
    raise UnreadableAnswer("answered in an encoding that was not asked for")


def _unzipped(parts: Iterable[bytes], most: int) -> Iterator[bytes]:
    """The content of a gzip stream, at most `most` bytes at once and of each received part."""
    unzip = zlib.decompressobj(GZIP)
    is_begun = False
    for part in parts:
        is_begun = True
        try:
            yield unzip.decompress(part, most)
        except zlib.error:
            raise httpx.DecodingError("the compressed answer does not read") from None
    if is_begun and not unzip.eof:
        raise httpx.DecodingError("the compressed answer ends early")
