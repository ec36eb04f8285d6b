"""A blob service that implements the parts of Azure's and Google's APIs that a home uses.

Objects are in memory. Creating an existing object is answered as each service answers it.
Signatures are not checked.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

ACCOUNT = "devstoreaccount1"
KEY = "RXZlcnkgYWNjb3VudCBvZiBhbiBlbXVsYXRvciBpcyBvcGVu"


@contextmanager
def blob_server() -> Iterator[str]:  # noqa: C901 - a class of a server
    """Run the service and return its address."""
    objects: dict[str, tuple[bytes, datetime]] = {}
    lock = threading.Lock()

    class Blobs(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status: int, content: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name.replace("_", "-"), text)
            if "Content_Length" not in headers:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def do_PUT(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            name = unquote(urlsplit(self.path).path)
            is_create = "*" in (self.headers.get("If-None-Match") or "") or (
                self.headers.get("x-goog-if-generation-match") == "0"
            )
            with lock:
                if is_create and name in objects:
                    code = b"<Error><Code>BlobAlreadyExists</Code></Error>"
                    self.answer(409 if ACCOUNT in name else 412, code)
                    return
                objects[name] = content, datetime.now(UTC)
            self.answer(201, ETag=_etag(content))

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = parse_qs(parts.query)
            if "comp" in query or "list-type" in query:
                self.answer(200, self.listed(unquote(parts.path), query.get("prefix", [""])[0]))
                return
            with lock:
                content, at = objects.get(unquote(parts.path), (None, None))
            if content is None or at is None:
                self.answer(404, b"<Error><Code>BlobNotFound</Code></Error>")
                return
            self.answer(
                200,
                content,
                ETag=_etag(content),
                Last_Modified=f"{at:%a, %d %b %Y %H:%M:%S} GMT",
                Content_Length=str(len(content)),
            )

        do_HEAD = do_GET  # noqa: N815 - a name of the base class

        def do_DELETE(self) -> None:
            with lock:
                gone = objects.pop(unquote(urlsplit(self.path).path), None)
            self.answer(404 if gone is None else 202)

        def do_POST(self) -> None:
            """Process Azure's batches of deletions."""
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            parts = []
            for number, path in enumerate(re.findall(r"^DELETE (\S+) HTTP", body, re.MULTILINE)):
                name = unquote(urlsplit(path).path)
                place = name if ACCOUNT in name else f"/{ACCOUNT}{name}"
                with lock:
                    gone = objects.pop(place, None)
                status = "404 Not Found" if gone is None else "202 Accepted"
                parts.append(
                    f"--batch\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
                    f"HTTP/1.1 {status}\r\nx-ms-version: 2023-11-03\r\n\r\n"
                )
            content = f"{''.join(parts)}--batch--\r\n".encode()
            self.answer(202, content, Content_Type="multipart/mixed; boundary=batch")

        def listed(self, place: str, prefix: str) -> bytes:
            start = f"{place.rstrip('/')}/"
            with lock:
                rows = [
                    (name.removeprefix(start), content, at)
                    for name, (content, at) in sorted(objects.items())
                    if name.startswith(f"{start}{prefix}")
                ]
            if ACCOUNT in place:
                blobs = "".join(
                    f"<Blob><Name>{escape(name)}</Name><Properties>"
                    f"<Last-Modified>{at:%a, %d %b %Y %H:%M:%S} GMT</Last-Modified>"
                    f"<Content-Length>{len(content)}</Content-Length>"
                    f"<Content-Type>application/octet-stream</Content-Type>"
                    f"<Etag>{_etag(content)}</Etag></Properties></Blob>"
                    for name, content, at in rows
                )
                text = f"<EnumerationResults><Blobs>{blobs}</Blobs></EnumerationResults>"
            else:
                blobs = "".join(
                    f"<Contents><Key>{escape(name)}</Key><Size>{len(content)}</Size>"
                    f"<LastModified>{at:%Y-%m-%dT%H:%M:%S.%fZ}</LastModified>"
                    f"<ETag>{escape(_etag(content))}</ETag></Contents>"
                    for name, content, at in rows
                )
                text = f"<ListBucketResult>{blobs}</ListBucketResult>"
            return f'<?xml version="1.0" encoding="utf-8"?>{text}'.encode()

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Blobs)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def variables_of(scheme: str, url: str, folder: Path) -> dict[str, str]:
    """Return the environment variables that point an address of that scheme to the service."""
    if scheme == "az":
        return {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": url,
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        }
    account = {
        "gcs_base_url": url, "disable_oauth": True,
        "client_email": "", "private_key": "", "private_key_id": "",
    }  # fmt: skip
    path = folder / "service-account.json"
    path.write_text(json.dumps(account))
    return {"GOOGLE_SERVICE_ACCOUNT": str(path), "GOOGLE_ALLOW_HTTP": "true"}
