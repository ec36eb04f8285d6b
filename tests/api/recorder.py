"""A service on loopback that records requests and sends an answer that fits every model."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from fake_service import requested_id, services_at

from treasury.core.settings import Services

ANY = {
    "id": "r1",
    "partyId": "p1",
    "roleType": "ACCOUNT_HOLDER",
    "status": "ACTIVE",
    "kybStatus": "VERIFIED",
    "verificationStatus": "VERIFIED",
}
"""One record with every mandatory field of any model."""

LISTS = ("party-roles", "users", "pairs", "fees", "currencies", "permits", "allowances")


class Recorder(ThreadingHTTPServer):
    """The server; `sent` has (method, path, query, body) of every call but those for tokens."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sent: list[tuple[str, str, str, Any]] = []
        self.content: list[bytes] = []
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def services(self) -> Services:
        return services_at(f"http://127.0.0.1:{self.server_port}")

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Recorder

    def _answer(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        if parts.path == "/oauth/token":
            self._reply(200, {"access_token": "t", "expires_in": 300})
            return
        body = json.loads(content) if content else None
        self.server.content.append(content)
        self.server.sent.append((self.command, parts.path, parts.query, body))
        if self.command == "DELETE":
            self._reply(204, None)
        else:
            self._reply(200, {"success": True, "result": self._result(parts)})

    def _result(self, parts: Any) -> Any:
        if parts.path.endswith("/chains"):
            return {"supportedChains": ["BASE"]}
        if parts.path.endswith("/pairs"):
            return [{"from": {"id": "f"}, "to": {"id": "t"}}]
        if self.command == "GET" and ("page=" in parts.query or parts.path.endswith(LISTS)):
            return [ANY]
        return ANY | {"id": requested_id(parts.path)}

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def _reply(self, status: int, body: Any) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_args: object) -> None:
        """Suppress request logs."""
