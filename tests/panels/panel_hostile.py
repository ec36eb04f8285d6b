"""A proxy for the services that adds hostile text to the free text fields of their answers."""

from __future__ import annotations

import http.client
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from treasury.sandbox import Served

HOSTILE = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script> $5 and $6'
FIELDS = (
    "paymentReference", "createdBy", "email", "username", "address", "chain", "label",
    "description", "iban", "bic", "name", "companyName", "bankName", "beneficiary", "currency",
    "fiatCurrency", "cryptoCurrency",
)  # fmt: skip
_FIELD = re.compile(rb'"(%s)":\s*"((?:[^"\\]|\\.)*)"' % "|".join(FIELDS).encode())
_INSERTED = json.dumps(HOSTILE)[1:-1].encode()


@contextmanager
def hostile(served: Served) -> Iterator[Served]:
    """Serve the same services at another address, with hostile text added."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(served))
    thread = threading.Thread(target=server.serve_forever, name="hostile")
    thread.start()
    try:
        yield Served(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(served: Served) -> type[BaseHTTPRequestHandler]:
    target = urlsplit(served.base_url).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _forward(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            connection = http.client.HTTPConnection(target, timeout=30)
            headers = {name: value for name, value in self.headers.items() if name != "Host"}
            connection.request(self.command, self.path, self.rfile.read(length), headers)
            answer = connection.getresponse()
            body = _FIELD.sub(rb'"\1":"\2%s"' % _INSERTED.replace(b"\\", b"\\\\"), answer.read())
            connection.close()
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._forward()

        def do_POST(self) -> None:
            self._forward()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler
