"""An S3 server that ignores conditions: a proxy in front of it removes `If-None-Match`."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@contextmanager
def careless(url: str) -> Iterator[str]:
    """Run a proxy before `url` that passes on everything but the condition; return its address."""
    target = urlsplit(url).netloc

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def passed(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {k: v for k, v in self.headers.items() if k.lower() != "if-none-match"}
            connection = http.client.HTTPConnection(target, timeout=30)
            connection.request(self.command, self.path, self.rfile.read(length), headers)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in {"transfer-encoding", "connection", "content-length"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = passed  # noqa: N815 - names of the base class

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
