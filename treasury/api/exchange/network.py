"""Network connections to a service; every wait ends at a deadline.

httpx and httpcore limit each read separately, so a peer that sends a byte per second, endless
headers or repeated `100 Continue` never times out. Here an `Exchange` is one attempt to send a
request and read its answer. Each wait on a socket ends at the deadline of the exchange. That
includes connecting, TLS, a proxy's tunnel, informational answers and headers. The number of
received bytes is limited, too. Only the operating system's name lookup has its own time limits.
Proxies and certificates come from the environment, as in httpx.
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
"""Seconds for which an idle connection is kept."""

_PIECE = 16 * 1024
"""Number of bytes sent at a time; the remaining time is checked before each piece."""

FRAMING = 256 * 1024
"""Maximum total size of informational answers and headers, in bytes."""

_LATE = "the exchange was not complete in time"
_SURPLUS = "the connection holds bytes of a surplus response"
_PROXY_SCHEMES = frozenset({"http", "https", "socks5", "socks5h"})


class UnreadableAnswer(httpx.RequestError):
    """An answer that is not read to its end: too long, or in an unrequested encoding."""


class Fence(Protocol):
    """Decides immediately before bytes are written whether they may still be sent."""

    def before_bytes(self, has_begun: bool) -> None:
        """Raise an error if the bytes may not be sent.

        `has_begun` is True if earlier bytes of the request may have left.
        """

    def after_bytes(self) -> None:
        """Record that bytes, or a part of them, may have been passed to the operating system."""


class Exchange(msgspec.Struct):
    """The remaining time and bytes for one attempt at a call."""

    until: float
    answer_bytes: int
    monotonic: Callable[[], float]
    brings_token: bool = False
    left: int = FRAMING
    start: bytes = b""
    """The first bytes of the request. They differ from a proxy's CONNECT or SOCKS handshake."""
    fence: Fence | None = None
    has_begun: bool = False
    """True if bytes of the request may have left."""
    stopped_by: Exception | None = None
    """The error with which the fence refused the first byte."""

    def remaining(self, timeout: float | None) -> float:
        """Return the seconds left, at most `timeout`; zero or negative after the deadline."""
        seconds = self.until - self.monotonic()
        return seconds if timeout is None else min(timeout, seconds)

    @contextmanager
    def fenced(self, piece: bytes) -> Iterator[None]:
        """Run a block that sends `piece`, unless the fence refuses these bytes of the request.

        Tunnels, SOCKS and TLS send bytes of their own before the request. The fence does not
        check these.
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
        """Raise the limit by twice the maximum body size, once all headers have arrived."""
        self.left += 2 * self.answer_bytes

    def count(self, received: int) -> None:
        """Count received bytes; raise UnreadableAnswer if there are too many."""
        self.left -= received
        if self.left < 0:
            raise UnreadableAnswer("sent more bytes around its answer than allowed")


_CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)


def current_exchange() -> Exchange | None:
    """Return the current exchange of this thread, if any."""
    return _CURRENT.get()


@contextmanager
def exchanging(exchange: Exchange) -> Iterator[None]:
    """Apply the limits of `exchange` to everything that this thread sends and receives."""
    token = _CURRENT.set(exchange)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def _remaining(timeout: float | None, late: type[Exception]) -> float | None:
    """Return the seconds left in the current exchange; raise `late` after its deadline."""
    exchange = _CURRENT.get()
    if exchange is None:
        return timeout
    seconds = exchange.remaining(timeout)
    if seconds <= 0:
        raise late(_LATE)
    return seconds


class Network(httpx.BaseTransport):
    """An HTTP/1.1 transport over httpcore, direct or through the proxy of the environment."""

    def __init__(self, *, connections: int, trust_env: bool, is_encrypted: bool = True) -> None:
        """Load certificates only if `is_encrypted`, because loading is slower than a call."""
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
        """Send a request and read the headers of its answer; the caller reads the body."""
        with _as_httpx():
            url = request.url
            proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
            if is_loopback(url.host) or proxy_bypass(url.netloc.decode()):
                # A proxy cannot reach an address of this machine.
                proxy = None
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
        """Return a pool of connections, direct or through the proxy at the given address."""
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
    """The body of an answer, streamed from its connection."""

    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._response.iter_stream()

    def close(self) -> None:
        # h11 treats surplus bytes as the next answer, so they must be detected. httpcore does not
        # expose its parser. If another version stores the parser elsewhere, no connection is
        # reused, which is slow but safe.
        parser: Any = self._response.stream
        for name in ("_stream", "_connection", "_h11_state"):
            parser = getattr(parser, name, None)
        trailing = getattr(parser, "trailing_data", None)
        # The pool decides whether to reuse the connection when it closes the response.
        if trailing is None or trailing[0]:
            stream = self._response.extensions.get("network_stream")
            if isinstance(stream, _Stream):
                stream.is_spoiled = True
        self._response.close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Convert an httpcore error into the httpx error of the same name.

    Only a connection error keeps its text, because other texts may quote the answer.
    """
    try:
        yield
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
        kind: type[httpx.RequestError] = getattr(httpx, type(error).__name__)
        raise kind(str(error) if isinstance(error, httpcore.ConnectError) else "") from error
    except (httpcore.ProxyError, httpcore.UnsupportedProtocol) as error:
        raise getattr(httpx, type(error).__name__)("") from error


class _Backend(httpcore.NetworkBackend):
    """Opens connections.

    Tries a host name's addresses in turn until the deadline of the exchange.
    """

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
    """A connection; reads and writes end at the deadline of the current exchange."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._is_fresh = True
        self._begins = True
        """True if the next write begins a request."""
        self.is_spoiled = False
        """True if surplus bytes were read, so that the connection is never reused."""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return at most `max_bytes` received bytes; raise httpcore.ReadTimeout at the deadline."""
        self._is_fresh, self._begins = False, True
        received = self._inner.read(max_bytes, _remaining(timeout, httpcore.ReadTimeout))
        exchange = _CURRENT.get()
        if exchange is not None:
            exchange.count(len(received))
        return received

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of `buffer`; raise httpcore.WriteTimeout at the deadline.

        Raise httpcore.ConnectError before the first byte of a request if the peer closed the
        connection or sent surplus bytes, which would be read as the answer to this request.
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
        """Return information about the socket.

        A connection with surplus bytes counts as readable, so that httpcore closes it when idle.
        """
        if info == "is_readable":
            tls = self._inner.get_extra_info("ssl_object")
            has_decrypted = tls is not None and tls.pending() > 0
            return self.is_spoiled or has_decrypted or self._inner.get_extra_info(info)
        return self._inner.get_extra_info(info)

    def _has_surplus(self) -> bool:
        """Return True if the peer closed the connection or sent bytes that no request asked for.

        After a TLS handshake the socket may hold session tickets, so only a non-blocking read shows
        whether there are other bytes. Without TLS, any byte in the socket is surplus.
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
    """An encrypted socket to a proxy.

    TLS within TLS reads whole records from this socket at once, so the deadline is checked here.
    """

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        # A non-blocking read needs no deadline.
        if self.gettimeout() != 0:
            self.settimeout(_remaining(self.gettimeout(), TimeoutError))
        return super().recv(buflen, flags)

    def send(self, data: Any, flags: int = 0) -> int:
        self.settimeout(_remaining(self.gettimeout(), TimeoutError))
        return super().send(data, flags)
