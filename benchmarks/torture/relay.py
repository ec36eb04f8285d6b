"""A relay on loopback between a desk (a workspace) and the services, which may answer for them.

It writes HTTP/1.1 itself, so that an answer can be wrong in any way. Token requests are forwarded.
Reads are handled by `on_early_read` until `on_write` has answered a write, and then by `on_read`;
without a handler they are forwarded.
Effects at the company are counted with each forwarded write, to distinguish repeats by the relay
from requests of the desk.
"""

from __future__ import annotations

import http.client
import select
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from benchmarks.torture.company import Company

__all__ = ["Exchange", "Relay", "Response", "head_of", "relayed"]

PATIENCE: Final = 8.0
"""Seconds after which an endless answer is ended even if the desk is still reading."""
_PER_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


class Response(NamedTuple):
    """The services' answer."""

    status: int
    media_type: str
    body: bytes

    @property
    def wire(self) -> bytes:
        """Return the answer as bytes of HTTP."""
        return head_of(self.status, self.media_type, len(self.body)) + self.body


def head_of(status: int, media_type: str, length: int, *headers: str) -> bytes:
    """Return the status line and headers of an answer."""
    lines = [f"HTTP/1.1 {status} {http.client.responses.get(status, 'Answer')}", *headers]
    lines += [f"Content-Type: {media_type}"] if media_type else []
    lines += [f"Content-Length: {length}"] if status not in {204, 304} else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


Act = Callable[["Exchange"], None]


class Exchange:
    """One request of the desk, with methods that answer it."""

    def __init__(
        self, relay: Relay, connection: socket.socket, line: str, headers: dict[str, str],
        content: bytes,
    ) -> None:  # fmt: skip
        self._relay = relay
        self._connection = connection
        self.method, self.target, _ = line.split(" ", 2)
        self._headers = headers
        self.content = content
        self._effects = 0
        self.closes = False
        """Whether the connection is closed after this answer."""

    @property
    def path(self) -> str:
        """Return the path without the query."""
        return urlsplit(self.target).path

    def forward(self) -> Response:
        """Pass the request on and return the services' answer.

        The first effect counts as the desk's; effects of later calls count as the relay's.
        """
        if self.method == "GET":
            return self._relay.forward(self.method, self.target, self._headers, self.content)
        before = self._relay.effects()
        response = self._relay.forward(self.method, self.target, self._headers, self.content)
        for _ in range(self._relay.effects() - before):
            self._relay.repeated += self._effects > 0
            self._effects += 1
        return response

    def cached(self) -> Response | None:
        """Return the answer to an earlier read of this address, or else of its path."""
        return self._relay.cached(self.target)

    @property
    def remembered(self) -> dict[str, Response]:
        """Return the last answer of each path that was read since the relay started."""
        return self._relay.remembered

    @property
    def answered(self) -> list[Response]:
        """Return the services' answers to writes since the relay started."""
        return self._relay.answered

    def wait(self, seconds: float) -> None:
        """Let the desk wait for its answer."""
        time.sleep(seconds)

    def write(self, data: bytes) -> bool:
        """Send bytes to the desk; return whether it still reads."""
        try:
            self._connection.sendall(data)
        except OSError:
            self.closes = True
            return False
        return True

    def trickle(self, parts: Iterable[bytes], pause: float) -> None:
        """Send parts with pauses until the desk closes the connection or PATIENCE is over."""
        self.closes = True
        until = time.monotonic() + PATIENCE
        for part in parts:
            if not self.write(part) or self._hung_up(pause):
                return
            if time.monotonic() > until:
                self._relay.outlasted += 1
                return

    def hang_up(self) -> None:
        """Close the connection after this answer."""
        self.closes = True

    def _hung_up(self, pause: float) -> bool:
        readable, _, _ = select.select([self._connection], [], [], pause)
        if not readable:
            return False
        try:
            return not self._connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True


class Relay:
    """The relay; `on_write` handles the next `writes_left` writes."""

    def __init__(self, company: Company) -> None:
        self._company = company
        self._lock = threading.Lock()
        self.on_write: Act | None = None
        self.on_read: Act | None = None
        self.writes_left = 0
        self.reads: dict[str, Response] = {}
        """The last answer of each address that was read."""
        self.on_early_read: Act | None = None
        """Handler of reads before the first write is answered."""
        self.remembered: dict[str, Response] = {}
        self.answered: list[Response] = []
        self._wrote = False
        self.repeated = 0
        """Number of effects of writes that the relay repeated, without the first effect of each."""
        self.outlasted = 0
        """Number of endless answers that the desk was still reading when PATIENCE was over."""
        self.base_url = ""

    def clear(self) -> None:
        """Forward all further requests unchanged."""
        self.on_write = self.on_read = self.on_early_read = None

    def begin(self) -> None:
        """Reset the handlers, the counts and the answers that `cached` returns."""
        self.clear()
        self.reads.clear()
        self._wrote = False
        self.repeated = self.outlasted = 0

    def take(self, exchange: Exchange) -> None:
        """Answer a request of the desk."""
        act = None
        if exchange.method == "GET":
            act = self.on_read if self._wrote else self.on_early_read
        elif not exchange.path.endswith("/token") and self.on_write is not None:
            with self._lock:
                if self.writes_left > 0:
                    self.writes_left -= 1
                    self._wrote = True
                    act = self.on_write
        if act is None:
            exchange.write(exchange.forward().wire)
        else:
            act(exchange)

    def effects(self) -> int:
        """Return the number of writes that took effect at the company."""
        return self._company.all_effects()

    def forward(
        self, method: str, target: str, headers: dict[str, str], content: bytes
    ) -> Response:
        """Forward a request to the company, and store the answer."""
        address = urlsplit(self._company.base_url)
        upstream = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
        try:
            upstream.request(method, target, content or None, headers)
            answer = upstream.getresponse()
            media_type = answer.getheader("Content-Type", "")
            response = Response(answer.status, media_type, answer.read())
        finally:
            upstream.close()
        if method == "GET":
            self.reads[target] = response
            self.remembered[urlsplit(target).path] = response
        elif not target.endswith("/token"):
            self.answered.append(response)
        return response

    def cached(self, target: str) -> Response | None:
        """Return the answer to an earlier read of this address, or the last one of its path."""
        path = urlsplit(target).path
        of_path = [one for key, one in self.reads.items() if urlsplit(key).path == path]
        return self.reads.get(target) or (of_path[-1] if of_path else None)


class _Handler(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        connection: socket.socket = self.request
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffered = connection.makefile("rb")
        while True:
            try:
                exchange = self._read(connection, buffered.readline, buffered.read)
            except OSError:
                return
            if exchange is None:
                return
            self.server.relay.take(exchange)
            if exchange.closes:
                return

    def _read(
        self,
        connection: socket.socket,
        read_line: Callable[[], bytes],
        read: Callable[[int], bytes],
    ) -> Exchange | None:
        line = read_line().decode("latin-1").strip()
        if not line:
            return None
        headers: dict[str, str] = {}
        while header := read_line().decode("latin-1").strip():
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        content = read(int(headers.get("content-length", "0")))
        passed = {name: value for name, value in headers.items() if name not in _PER_HOP}
        return Exchange(self.server.relay, connection, line, passed, content)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    relay: Relay

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a desk that closes the connection; report any other error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def relayed(company: Company) -> Iterator[Relay]:
    """Run a relay in front of a company."""
    relay = Relay(company)
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.relay = relay
        relay.base_url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield relay
        finally:
            server.shutdown()
            thread.join()
