"""A surplus response never becomes the answer to the next request."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable

import httpcore
import httpx
import pytest
from fake_service import services_at
from hostile_service import Hostile, read_request
from test_api_network import HOST, QUICK, identity, relay_to, tls

from treasury.api import CallLimits, Client
from treasury.api.exchange.network import _Backend, _ProxySocket
from treasury.core.settings import Credential

__all__ = ["identity", "tls"]  # fixtures


def wire(request_id: str, status: str) -> bytes:
    """Return a complete answer about a ramp request."""
    result = {"id": request_id, "status": status, "version": 2}
    content = json.dumps({"success": True, "result": result}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content) + content


def chunked(request_id: str, status: str) -> bytes:
    """Return the same answer in chunks."""
    content = wire(request_id, status).partition(b"\r\n\r\n")[2]
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)


class Surplus:
    """A service that sends surplus bytes after its first answer, and then answers normally."""

    def __init__(self, *surplus: bytes, first: bytes | None = None, pause: float = 0.0) -> None:
        self._first = first or wire("r1", "AWAITING_APPROVAL")
        self._surplus = surplus
        self._pause = pause
        self.connections: list[object] = []
        self.answered = threading.Event()

    def __call__(self, connection: socket.socket, head: str) -> None:
        self.connections.append(connection)
        if len(self.connections) > 1:
            connection.sendall(wire(asked_in(head), "REJECTED"))
            return
        if self._pause:
            connection.sendall(self._first)
            time.sleep(self._pause)
            connection.sendall(b"".join(self._surplus))
        else:
            connection.sendall(self._first + b"".join(self._surplus))
        self.answered.set()


def asked_in(head: str) -> str:
    return head.split(" ")[1].split("/")[4]


def client_of(service: Hostile, credential: Credential, base: str | None = None) -> Client:
    services = services_at(base or f"http://127.0.0.1:{service.port}")
    return Client(services, credential, limits=LIMITS, clock=QUICK)


LIMITS = CallLimits(deadline=5, attempts=3)
APPROVED = wire("r2", "AWAITING_FUNDS")


@pytest.mark.parametrize(
    "surplus",
    [
        (APPROVED,),
        (chunked("r2", "AWAITING_FUNDS"),),
        (APPROVED[:40],),  # the rest would come with the next answer
        (b"HTTP/1.1 100 Continue\r\n\r\n", APPROVED),
        (APPROVED, APPROVED),
        (b"\r\n",),
    ],
    ids=["whole", "chunked", "a part", "an interim answer first", "two", "a line end"],
)
@pytest.mark.parametrize("first", [wire, chunked], ids=["length", "chunks"])
def test_a_surplus_response_in_one_segment_is_never_used(
    credential: Credential, surplus: tuple[bytes, ...], first: Callable[[str, str], bytes]
) -> None:
    service = Surplus(*surplus, first=first("r1", "AWAITING_APPROVAL"))
    with Hostile(service) as served, client_of(served, credential) as client:
        assert client.ramp.requests.get("r1").value.status == "AWAITING_APPROVAL"
        assert client.ramp.requests.approve("r2", version=1).value.status == "REJECTED"
    first_connection, second = service.connections
    assert first_connection is not second
    # A token, a read and a write were requested, each once.
    assert len(served.heads) == 3


def test_a_surplus_response_that_arrives_later_is_never_used(credential: Credential) -> None:
    service = Surplus(APPROVED, pause=0.05)
    with Hostile(service) as served, client_of(served, credential) as client:
        client.ramp.requests.get("r1")
        assert service.answered.wait(5)
        time.sleep(0.02)
        assert client.ramp.requests.approve("r2", version=1).value.status == "REJECTED"
    assert len(set(map(id, service.connections))) == 2
    assert len(served.heads) == 3


@pytest.mark.first_case
@pytest.mark.parametrize("pause", [0.0, 0.05], ids=["one segment", "later"])
@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
def test_a_surplus_response_through_a_proxy_is_never_used(
    credential: Credential,
    tls: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
    encrypted: bool,
    pause: float,
) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    service = Surplus(APPROVED, pause=pause)
    with (
        Hostile(service, tls=tls) as served,
        Hostile(relay_to(served.port), tls=tls if encrypted else None) as proxy,
    ):
        scheme = "https" if encrypted else "http"
        monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://localhost:{proxy.port}")
        with client_of(served, credential, f"https://{HOST}") as client:
            client.ramp.requests.get("r1")
            assert service.answered.wait(5)
            time.sleep(pause)
            assert client.ramp.requests.approve("r2", version=1).value.status == "REJECTED"
    assert len(set(map(id, service.connections))) == 2


def test_a_connection_without_surplus_bytes_is_reused(credential: Credential) -> None:
    connections: list[socket.socket] = []

    def service(connection: socket.socket, head: str) -> None:
        connections.append(connection)
        connection.sendall(chunked(asked_in(head), "REJECTED"))

    with Hostile(service) as served, client_of(served, credential) as client:
        for number in range(3):
            client.ramp.requests.get(f"r{number}")
    assert len(set(map(id, connections))) == 1


def test_a_request_does_not_begin_on_a_connection_with_unread_bytes() -> None:
    """The bytes come after the pool has chosen the connection, before the request's first byte."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        backend = _Backend()
        stream = backend.connect_tcp(*listener.getsockname()[:2], timeout=2)
        peer, _ = listener.accept()
        with peer:
            peer.settimeout(2)
            stream.write(b"GET / HTTP/1.1\r\n", 2)
            stream.write(b"\r\n", 2)
            assert peer.recv(100).startswith(b"GET /")
            peer.sendall(wire("r1", "REJECTED"))
            assert stream.read(65536, 2).startswith(b"HTTP/1.1 200")
            peer.sendall(APPROVED)
            # Wait until the bytes have arrived.
            for _ in range(200):
                if stream.get_extra_info("is_readable"):
                    break
                time.sleep(0.005)
            with pytest.raises(httpcore.ConnectError):
                stream.write(b"POST / HTTP/1.1\r\n", 2)
            peer.settimeout(0.05)
            with pytest.raises(TimeoutError):  # nothing was sent
                peer.recv(100)
            stream.close()


def greeting_server(tls: ssl.SSLContext | None, greeting: bytes) -> tuple[socket.socket, list[str]]:
    """Listen, send a greeting on each connection before any request, and record the requests."""
    listener, heads = socket.create_server(("127.0.0.1", 0)), list[str]()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=greet, args=(connection,), daemon=True).start()

    def greet(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if tls is not None:
                connection = tls.wrap_socket(connection, server_side=True)
            with connection:
                connection.sendall(greeting)
                heads.append(read_request(connection))

    threading.Thread(target=serve, daemon=True).start()
    return listener, heads


def connected(port: int, way: str) -> httpcore.NetworkStream:
    """Open a connection like httpcore: plain, by TLS, or by TLS through a TLS proxy."""
    stream = _Backend().connect_tcp("127.0.0.1", port, timeout=2)
    if way == "proxy":
        context = httpx.create_ssl_context()
        context.sslsocket_class = _ProxySocket
        stream = stream.start_tls(context, "localhost", 2)
        stream.write(f"CONNECT {HOST}:443 HTTP/1.1\r\n\r\n".encode(), 2)
        assert b" 200 " in stream.read(65536, 2)
    return stream if way == "tcp" else stream.start_tls(httpx.create_ssl_context(), HOST, 2)


@pytest.mark.parametrize("greeting", [APPROVED, APPROVED[:1], b""], ids=["whole", "byte", "none"])
@pytest.mark.parametrize("way", ["tcp", "tls", "proxy"])
def test_a_request_does_not_begin_on_a_fresh_connection_with_an_answer(
    tls: ssl.SSLContext, way: str, greeting: bytes
) -> None:
    listener, heads = greeting_server(None if way == "tcp" else tls, greeting)
    with listener, Hostile(relay_to(listener.getsockname()[1]), tls=tls) as proxy:
        port = proxy.port if way == "proxy" else listener.getsockname()[1]
        stream = connected(port, way)
        # The greeting and the session tickets of TLS should arrive before the request.
        time.sleep(0.1)
        with contextlib.ExitStack() as stack:
            if greeting:
                stack.enter_context(pytest.raises(httpcore.ConnectError, match="surplus response"))
            stream.write(b"POST / HTTP/1.1\r\n\r\n", 2)
        if not greeting:
            for _ in range(200):
                if heads:
                    break
                time.sleep(0.005)
        stream.close()
        assert [head[:4] for head in heads if head] == ([] if greeting else ["POST"])
