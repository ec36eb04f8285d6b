"""The client over a real loopback socket: behaviour that a fake transport cannot show."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fake_service import services_at

from treasury.api import CallLimits, Client, Clock
from treasury.core.errors import OutcomeUnknown, ServiceUnreachable
from treasury.core.settings import Credential

QUICK = Clock(sleep=lambda _seconds: None)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tokens = 0
        self.arrived: list[str] = []
        self.gate = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.arrived.append(self.path)
        if self.path.endswith("/company") and len(self.server.arrived) == 1:
            self.cut_short()
        else:
            self.reply({"success": True, "result": {"id": "c"}})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/oauth/token":
            self.server.gate.wait(10)
            self.server.tokens += 1
            self.reply({"access_token": "t", "expires_in": 300})
        else:
            self.server.arrived.append(body.decode())
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True

    def cut_short(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "500")
        self.end_headers()
        self.wfile.write(b'{"success":true,"res')
        self.close_connection = True

    def reply(self, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args: object) -> None:
        """Suppress request logs."""


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.serve_forever, args=(0.02,))
    thread.start()
    yield running
    running.gate.set()
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture
def client(server: Server, credential: Credential, monkeypatch) -> Iterator[Client]:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")  # loopback must not go through it
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    services = services_at(f"http://127.0.0.1:{server.server_port}")
    with Client(services, credential, clock=QUICK) as opened:
        yield opened


def test_threads_share_one_token(server: Server, client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(client.request, "GET", "/x") for _ in range(8)]
        server.gate.set()
        assert {future.result().status for future in waiting} == {200}
    assert server.tokens == 1


def test_a_truncated_response_to_a_read_is_retried(server: Server, client: Client) -> None:
    server.gate.set()
    assert client.ramp.company.get().value.id == "c"
    assert len(server.arrived) == 2


def test_a_connection_lost_after_a_write_is_outcome_unknown(server: Server, client: Client) -> None:
    server.gate.set()
    with pytest.raises(OutcomeUnknown):
        client.ramp.requests.approve("r1", version=4)
    assert server.arrived == ['{"version":4}']


def test_a_closed_port_is_unreachable(credential: Credential) -> None:
    services = services_at("http://127.0.0.1:1")
    with (
        Client(services, credential, clock=QUICK, limits=CallLimits(attempts=2)) as client,
        pytest.raises(ServiceUnreachable, match=r"no answer from 127\.0\.0\.1:1 \(.*refused"),
    ):
        client.ramp.company.get()
