"""The connections to a service: every wait for the network ends at the deadline of its exchange.

httpx and httpcore bound each read by itself, so a peer that sends a byte a second, headers without
end or one `100 Continue` after the other is never late. Here each wait on a socket takes at most
what is left of the exchange, connecting, TLS, a proxy's tunnel, informational answers and headers
included, and what comes is counted. Only the operating system's look-up of a name has limits of its
own. Proxies and certificates come from the environment, as everywhere.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, Protocol
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx
import msgspec

from treasury.core.errors import SettingsError
from treasury.core.settings import is_loopback

_KEPT_OPEN = 5.0
"""Seconds for which an idle connection waits for the next call."""

_PIECE = 16 * 1024
"""Bytes sent at once: the time left is looked at before each piece."""

FRAMING = 256 * 1024
"""Bytes of informational answers and headers before a body may begin."""

_LATE = "the exchange was not complete in time"
_SURPLUS = "the connection holds bytes of a surplus response"
_PROXY_SCHEMES = frozenset({"http", "https", "socks5", "socks5h"})


class UnreadableAnswer(httpx.RequestError):
    """An answer that is not read to its end: too long, or in an encoding nobody asked for."""


class Fence(Protocol):
    """Decides directly before bytes of a write leave whether they still may."""

    def before_bytes(self, has_begun: bool) -> None:
        """Raise if they may not; `has_begun`: bytes of this attempt may have left before."""

    def after_bytes(self) -> None:
        """Take note that bytes were handed to the system."""


class Exchange(msgspec.Struct):
    """What one attempt of a call may still take: time, and bytes from the network."""

    until: float
    answer_bytes: int
    monotonic: Callable[[], float]
    brings_token: bool = False
    left: int = FRAMING
    start: bytes = b""
    """The first bytes of the request itself: those of a tunnel's or of SOCKS are others."""
    fence: Fence | None = None
    has_begun: bool = False
    """Whether bytes of the request may have left."""
    stopped_by: Exception | None = None
    """The error by which the fence refused the first byte."""

    def remaining(self, timeout: float | None) -> float:
        """Seconds to wait at most, `timeout` or less; zero or less where the exchange is late."""
        seconds = self.until - self.monotonic()
        return seconds if timeout is None else min(timeout, seconds)

    @contextmanager
    def fenced(self, piece: bytes) -> Iterator[None]:
        """Send a piece within this; the fence decides about those of the request itself.

        Tunnels, SOCKS and TLS have bytes of their own, and are set up by then.
        """
        if self.fence is None or not (self.has_begun or piece.startswith(self.start)):
            yield
            return
        try:
            self.fence.before_bytes(self.has_begun)
        except Exception as error:
            self.stopped_by = None if self.has_begun else error
            raise
        self.has_begun = True
        try:
            yield
        finally:
            self.fence.after_bytes()

    def expect_body(self) -> None:
        """Allow for a body, now that the headers of an answer are complete."""
        self.left += 2 * self.answer_bytes

    def count(self, received: int) -> None:
        """Take note of bytes that came; UnreadableAnswer where they are too many."""
        self.left -= received
        if self.left < 0:
            raise UnreadableAnswer("sent more beside its answer than is read")


_CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def current_exchange() -> Exchange | None:
    """The exchange that this thread is in."""
    return _CURRENT.get()


@contextmanager
def exchanging(exchange: Exchange) -> Iterator[None]:
    """Hold everything that this thread sends and receives to the limits of `exchange`."""
    token = _CURRENT.set(exchange)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def _remaining(timeout: float | None, late: type[Exception]) -> float | None:
    """Seconds to wait at most in the current exchange; raises `late` where none are left."""
    exchange = _CURRENT.get()
    if exchange is None:
        return timeout
    seconds = exchange.remaining(timeout)
    if seconds <= 0:
        raise late(_LATE)
    return seconds


class Network(httpx.BaseTransport):
    """HTTP/1.1 over httpcore's connections, straight or through the environment's proxy."""

    def __init__(self, *, connections: int, trust_env: bool, is_encrypted: bool = True) -> None:
        """Not `is_encrypted` it trusts no certificate: reading them takes longer than a call."""
        self._tls = (
            httpx.create_ssl_context(trust_env=trust_env)
            if is_encrypted
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        self._trust_env = trust_env
        self._connections = connections
        proxies = getproxies() if trust_env else {}
        self._proxies: dict[str, str] = {}
        for scheme in ("http", "https", "all"):
            if proxy := proxies.get(scheme):
                address = proxy if "://" in proxy else f"http://{proxy}"
                kind = address.partition("://")[0].lower()
                if kind not in _PROXY_SCHEMES or (
                    kind.startswith("socks") and not find_spec("socksio")
                ):
                    raise SettingsError(
                        f"the environment names a proxy of the kind {kind}, which cannot be used",
                        do="name an http proxy in HTTPS_PROXY; for socks5, pip install socksio",
                    )
                self._proxies[scheme] = address
        self._pools: dict[str | None, httpcore.ConnectionPool] = {None: self._pool(None)}
        self._pools |= {proxy: self._pool(proxy) for proxy in set(self._proxies.values())}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and read the headers of its answer; the body is read by the caller."""
        with _as_httpx():
            url = request.url
            proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
            if is_loopback(url.host) or proxy_bypass(url.netloc.decode()):
                proxy = None  # what stays on this machine is not handed to one
            response = self._pools[proxy].handle_request(
                httpcore.Request(
                    method=request.method,
                    url=_url(url),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response))

    def close(self) -> None:
        """Close the connections."""
        for pool in self._pools.values():
            pool.close()

    def _pool(self, address: str | None) -> httpcore.ConnectionPool:
        """Connections that go straight, or through the proxy at an address."""
        proxy = None
        if address is not None:
            parsed = httpx.Proxy(address)
            encrypted = None
            if parsed.url.scheme == "https":
                encrypted = httpx.create_ssl_context(trust_env=self._trust_env)
                encrypted.sslsocket_class = _ProxySocket
            proxy = httpcore.Proxy(_url(parsed.url), auth=parsed.raw_auth, ssl_context=encrypted)
        return httpcore.ConnectionPool(
            ssl_context=self._tls,
            proxy=proxy,
            max_connections=self._connections,
            max_keepalive_connections=self._connections,
            keepalive_expiry=_KEPT_OPEN,
            network_backend=_Backend(),
        )


def _url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


class _Body(httpx.SyncByteStream):
    """The body of an answer, as it comes from its connection."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._response.iter_stream()

    def close(self) -> None:
        # h11 takes bytes after an answer that were read along with it for the next answer.
        # httpcore does not show its parser. If another version keeps it elsewhere, no connection
        # is used twice, which is slow and safe.
        parser: Any = self._response.stream
        for name in ("_stream", "_connection", "_h11_state"):
            parser = getattr(parser, name, None)
        trailing = getattr(parser, "trailing_data", None)
        # The pool decides while it closes the response whether the connection may be used again.
        if trailing is None or trailing[0]:
            stream = self._response.extensions.get("network_stream")
            if isinstance(stream, _Stream):
                stream.is_spoiled = True
        self._response.close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Turn an error of httpcore into httpx's of the same name.

    Only why a connection failed is kept as text: what is wrong in an answer quotes the answer.
    """
    try:
        yield
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        kind: type[httpx.RequestError] = getattr(httpx, type(error).__name__)
        raise kind(str(error) if isinstance(error, httpcore.ConnectError) else "") from error
    except (httpcore.ProxyError, httpcore.UnsupportedProtocol) as error:
        raise getattr(httpx, type(error).__name__)("") from error


class _Backend(httpcore.NetworkBackend):
    """Opens connections; each address of a name in turn, within the time of the exchange."""

    def __init__(self) -> None:
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from error
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for *_, address in addresses:
            wait = _remaining(timeout, httpcore.ConnectTimeout)
            try:
                stream = self._sockets.connect_tcp(
                    str(address[0]), port, wait, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Stream(stream)
        raise failure


class _Stream(httpcore.NetworkStream):
    """A connection whose reads and writes end with the exchange that they belong to."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._is_fresh = True
        self._begins = True
        """Whether the next write begins a request."""
        self.is_spoiled = False
        """Whether surplus bytes were read: the connection is never used again."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """What has come, at most `max_bytes`; httpcore.ReadTimeout where time is up."""
        self._is_fresh, self._begins = False, True
        received = self._inner.read(max_bytes, _remaining(timeout, httpcore.ReadTimeout))
        exchange = _CURRENT.get()
        if exchange is not None:
            exchange.count(len(received))
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of `buffer`; httpcore.WriteTimeout where time is up.

        Raises httpcore.ConnectError before the first byte of a request if the connection holds
        unread bytes: they would be taken for its answer.
        """
        if self._begins and self._has_surplus():
            raise httpcore.ConnectError(_SURPLUS)
        self._begins = False
        exchange = _CURRENT.get()
        fenced: Callable[[bytes], AbstractContextManager[object]] = nullcontext
        if exchange is not None and exchange.fence is not None:
            fenced = exchange.fenced
        for start in range(0, len(buffer), _PIECE):
            piece = buffer[start : start + _PIECE]
            with fenced(piece):
                wait = _remaining(timeout, httpcore.WriteTimeout)
                self._inner.write(piece, wait)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        wait = _remaining(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, wait))

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks of a socket; it closes an idle one that is readable."""
        if info == "is_readable":
            tls = self._inner.get_extra_info("ssl_object")
            has_decrypted = tls is not None and tls.pending() > 0
            return self.is_spoiled or has_decrypted or self._inner.get_extra_info(info)
        return self._inner.get_extra_info(info)

    def _has_surplus(self) -> bool:
        """Whether the connection was closed by the peer, or holds bytes that answer no request.

        After a TLS handshake the socket may hold session tickets, so only a read shows whether
        there is more. It does not wait. Elsewhere a byte in the socket is enough.
        """
        tls = self._inner.get_extra_info("ssl_object")
        if self.is_spoiled or (
            (tls is None or not self._is_fresh) and self._inner.get_extra_info("is_readable")
        ):
            return True
        if tls is None:
            return False
        try:
            self._inner.read(1, 0)
        except (httpcore.ReadError, httpcore.ReadTimeout) as error:
            return not isinstance(error.__cause__, BlockingIOError | ssl.SSLWantReadError)
        return True


class _ProxySocket(ssl.SSLSocket):
    """A socket to a proxy that is itself encrypted.

    TLS within TLS reads whole records from it in one go, so the deadline is looked at here.
    """

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        if self.gettimeout() != 0:  # a read that does not wait is never late
            self.settimeout(_remaining(self.gettimeout(), TimeoutError))
        return super().recv(buflen, flags)

    def send(self, data: Any, flags: int = 0) -> int:
        self.settimeout(_remaining(self.gettimeout(), TimeoutError))
        return super().send(data, flags)
