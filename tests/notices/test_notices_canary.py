"""No webhook address, token or password appears in a log, a traceback or a notebook."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

URL = "canary-address-31d7"
TOKEN = "canary-token-8f02"
PASSWORD = "canary-password-66e1"
CANARIES = (URL, TOKEN, PASSWORD)
RUN = Path(__file__).with_name("secret_run.py")


class Failing(ThreadingHTTPServer):
    """A webhook with failures selected by the path; its answers repeat the request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.addresses = 0
        self.tokens = 0
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Failing

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.addresses += URL in self.path
        self.server.tokens += TOKEN in (self.headers["Authorization"] or "")
        way, repeated = self.path.split("/")[1], f"{self.path} {self.headers['Authorization']}"
        if way == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif way == "malformed":
            self.wfile.write(f"HTTP/1.1 200 {repeated}\r\n{repeated}\r\n\r\n".encode())
            self.close_connection = True
        else:
            self.send_response(int(way) if way.isdigit() else 400, "No")
            self.send_header("Location", self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def failing() -> Iterator[Failing]:
    server = Failing()
    yield server
    server.stop()


@pytest.fixture
def refusing_mail() -> Iterator[tuple[int, list[bytes]]]:
    """Run a mail server that repeats a login and refuses it; yield its port and the logins."""
    server, logins = socket.create_server(("127.0.0.1", 0)), list[bytes]()

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as file:
                file.write(b"220 mail\r\n")
                file.flush()
                for line in file:
                    login = line.upper().startswith(b"AUTH")
                    logins.append(line) if login else None
                    file.write(
                        b"535 " + line.strip() + b"\r\n"
                        if login
                        else b"250-mail\r\n250 AUTH PLAIN\r\n"
                    )
                    file.flush()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()[1], logins
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(10)


def leaks(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(canary in line for canary in CANARIES)]


def variables(failing: Failing) -> dict[str, str]:
    return {
        "TREASURY_USER": "ines",
        "TREASURY_URL": URL,
        "TREASURY_WHOLE_URL": f"{failing.url}/503/{URL}",
        "TREASURY_TOKEN": TOKEN,
        "TREASURY_PASSWORD": PASSWORD,
    }


def test_failing_notices_show_no_secret_with_every_log_on(
    failing: Failing, refusing_mail: tuple[int, list[bytes]], tmp_path: Path
) -> None:
    port, logins = refusing_mail
    run = subprocess.run(
        [sys.executable, str(RUN), str(tmp_path), failing.url, str(port)],
        env={**os.environ, **variables(failing), "PYTHONPATH": str(RUN.parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = run.stdout + run.stderr
    assert told.rstrip().endswith("FAILED 15"), run.stderr[-2000:]
    # The secrets were used and the logs were on, so their absence below means something.
    assert failing.addresses >= 13
    assert failing.tokens >= 13
    assert logins
    assert "DEBUG:httpcore" in told
    assert "KeyboardInterrupt" in told
    assert leaks(told) == []


@pytest.mark.acceptance
def test_a_notebook_in_which_everything_fails_shows_no_secret(
    failing: Failing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat
    from nbclient import NotebookClient

    (tmp_path / "treasury.toml").write_text(f"""
        [workspace]
        company = "Harbour"
        environment = "sandbox"
        now = 2026-11-02T08:00:00Z
        [services]
        token_url = "{failing.url}/401/token"
        finance.base_url = "{failing.url}/400/v1"
        ramp.base_url = "{failing.url}/400/v1"
        [credentials.maker]
        client_id = "maker"
        client_secret = "env:TREASURY_TOKEN"
        [journal]
        url = "postgresql+psycopg://ines@127.0.0.1:1/journal"
        password = "env:TREASURY_PASSWORD"
        [notices]
        target_days_only = false
        [notices.webhooks.desk]
        url = "{failing.url}/503/{URL}"
        token = "env:TREASURY_TOKEN"
        """)
    for name, value in variables(failing).items():
        monkeypatch.setenv(name, value)
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    cells = [
        "%xmode Verbose",
        "import logging, sys, treasury",
        "logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)",
        f"t = treasury.open({str(tmp_path)!r})",
        "t",
        "t.settings",
        "display(t.settings, t.settings.notices, t.settings.notices.webhooks, vars(t))",
        "t.settings.notices.webhooks['desk']",
        "t.doctor()",
        "t.sync()",
        "t.journal.entries()",
        "from treasury.workspace.notices.notice_sender import channels_of",
        "(channel,) = channels_of(t.settings.notices)",
        "with channel.opened() as post: post(None)",
        "t.notices.send()",
    ]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    NotebookClient(notebook, timeout=60, allow_errors=True).execute()
    told = nbformat.writes(notebook)
    assert told.count('"output_type": "error"') >= 4
    assert leaks(told) == []
