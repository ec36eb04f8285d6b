"""No failure shows the secret or a token, even with every log on."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SECRET = "canary-secret-5b1f9c"
TOKEN = "canary-token-77aa01"
RUN = Path(__file__).with_name("failing_run.py")


class Failing(ThreadingHTTPServer):
    """A server that fails as the path requests; `strangers` counts calls after a redirect."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.secrets = 0
        self.tokens = 0
        self.strangers = 0
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Failing

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if self.path == "/stranger":
            self.server.strangers += 1
        if self.path == "/oauth/token":
            self.server.secrets += SECRET in content
            if "client_id=refused" in content:
                self._reply(401, {"error": "invalid_client", "error_description": content})
            else:
                self._reply(200, {"access_token": TOKEN, "expires_in": 300})
            return
        self.server.tokens += TOKEN in (self.headers["Authorization"] or "")
        self._fail(next((part for part in self.path.split("/") if part in _WAYS), "400"))

    def _fail(self, way: str) -> None:
        said = {"errors": [{"code": "NO", "message": "No."}]}
        match way:
            case "echo":
                token = self.headers["Authorization"]
                said["errors"][0]["message"] = f"bad header {token}; token={TOKEN}"
                self._reply(400, {**said, "traceCode": token})
            case "header":
                token = f"{self.headers['Authorization']}; {SECRET}"
                self._reply(400, said, **{"X-Trace-Id": token, "Set-Cookie": f"t={token}"})
            case "malformed":
                token = self.headers["Authorization"].encode()
                self.wfile.write(b"HTTP/1.1 200 " + token + b"\r\n" + token + b"\r\n\r\n")
                self.close_connection = True
            case "html":
                self._reply(502, f"<html>{self.headers['Authorization']}</html>")
            case "nonsense":
                self._reply(200, ["nothing", "of", "the", "contract"])
            case "nothing":
                self._reply(200, {"success": True})
            case "redirect":
                self._reply(
                    307, said, Location=f"http://localhost:{self.server.server_port}/stranger"
                )
            case "cut":
                self.send_response(200)
                self.send_header("Content-Length", "500")
                self.end_headers()
                self.wfile.write(b'{"success":true,"res')
                self.close_connection = True
            case "drop":
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            case status:
                self._reply(int(status), said)

    def _reply(self, status: int, body: object, **headers: str) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args: object) -> None:
        """Suppress request logs."""


_WAYS = {
    "echo", "header", "malformed", "html", "nonsense", "nothing", "redirect", "cut", "drop",
    "401", "402", "403", "404", "405", "409", "415", "422", "429", "500", "503",
}  # fmt: skip


@pytest.fixture
def failing() -> Iterator[Failing]:
    running = Failing()
    yield running
    running.stop()


def test_a_run_of_failures_shows_neither_secret_nor_token(failing: Failing) -> None:
    run = subprocess.run(
        [sys.executable, str(RUN), f"http://127.0.0.1:{failing.server_port}", "CANARY_SECRET"],
        env={
            **os.environ,
            "CANARY_SECRET": SECRET,
            "PYTHONFAULTHANDLER": "1",
            "PYTHONPATH": str(RUN.parents[1]),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    told = run.stdout + run.stderr
    # All 3 calls of 3 clients failed in each of 21 ways.
    assert told.rstrip().endswith("FAILED 189")
    # The secret and the token were sent, but only to the service.
    assert failing.secrets >= 2
    assert failing.tokens > 50
    assert failing.strangers == 0
    # The output includes the logs and the interrupts.
    assert "httpcore" in told
    assert told.count("\nKeyboardInterrupt") >= 3
    leaks = [line for line in told.splitlines() if SECRET in line or TOKEN in line]
    assert leaks == []
