"""A service on a raw socket that sends given bytes, or valid answers by default."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Self

TOKEN = "hostile-token-4b1d77e2"
DRIPS = 160
PAUSE = 0.05
"""Seconds between two drips: all drips together take longer than the tests' deadline."""

GOOD = {"success": True, "result": {"id": "r1", "status": "REJECTED"}}
Way = Callable[[socket.socket, str], None]


class Hostile:
    """A server that answers each request with `service`, and token requests with `token`."""

    def __init__(
        self, service: Way, token: Way | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._service = service
        self._token = token or granted
        self._tls = tls
        self.heads: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            with connection:
                while head := read_request(connection):
                    self.heads.append(head)
                    way = self._token if "/oauth/token" in head.split("\r\n")[0] else self._service
                    way(connection, head)


def read_request(connection: socket.socket) -> str:
    """Read the head of a request and discard its body; return an empty text if the peer is gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return ""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    left = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
    while left > 0:
        left -= len(connection.recv(65536))
    return head.decode("latin-1")


def answer(
    connection: socket.socket, content: bytes, *headers: str, status: str = "200 OK"
) -> None:
    """Send a complete answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers]
    connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + content)


def good(connection: socket.socket, _head: str = "") -> None:
    answer(connection, json.dumps(GOOD).encode())


def granted(connection: socket.socket, _head: str = "") -> None:
    answer(connection, json.dumps({"access_token": TOKEN, "expires_in": 300}).encode())


def says(body: bytes, *headers: str, status: str = "200 OK") -> Way:
    """Return a handler that answers every request with `body`."""
    return lambda connection, _head: answer(connection, body, *headers, status=status)


def drip(connection: socket.socket, *pieces: bytes) -> None:
    """Send pieces one by one, with a pause after each."""
    for piece in pieces:
        connection.sendall(piece)
        time.sleep(PAUSE)


def slow_headers(connection: socket.socket, head: str) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    drip(connection, *(b"X-%d: y\r\n" % number for number in range(DRIPS)))
    content = _good_for(head)
    connection.sendall(b"Content-Length: %d\r\n\r\n" % len(content) + content)


def slow_header_bytes(connection: socket.socket, head: str) -> None:
    content = _good_for(head)
    start = b"HTTP/1.1 200 OK\r\nX-Long: " + b"y" * DRIPS
    drip(connection, *(start[i : i + 1] for i in range(len(start))))
    connection.sendall(b"\r\nContent-Length: %d\r\n\r\n" % len(content) + content)


def slow_continues(connection: socket.socket, head: str) -> None:
    drip(connection, *[b"HTTP/1.1 100 Continue\r\n\r\n"] * DRIPS)
    answer(connection, _good_for(head))


def slow_body(connection: socket.socket, head: str) -> None:
    content = _good_for(head) + b" " * DRIPS
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(content))
    drip(connection, *(content[i : i + 1] for i in range(len(content))))


def silence(connection: socket.socket, head: str) -> None:
    time.sleep(DRIPS * PAUSE)
    answer(connection, _good_for(head))


def flood_of_continues(connection: socket.socket, _head: str) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 4096)


def flood_of_headers(connection: socket.socket, _head: str) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-Header: value\r\n" * 4096)


def endless_header(connection: socket.socket, _head: str) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        connection.sendall(b"y" * 65536)


def huge_body(connection: socket.socket, _head: str) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    for _ in range(160_000):
        connection.sendall(b" " * 65536)


def huge_chunked_body(connection: socket.socket, _head: str) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(160_000):
        connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")


def body_until_the_end(connection: socket.socket, _head: str) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b" " * 65536)


def long_chunk_extensions(connection: socket.socket, _head: str) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1;" + b"x" * 60_000 + b"\r\n \r\n")


def bomb(encoding: str, layers: int = 1, size: int = 1 << 33) -> Way:
    """Return a handler that sends `size` bytes, compressed as often as there are layers."""

    def way(connection: socket.socket, _head: str) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nTransfer-Encoding: chunked"
        connection.sendall(head.encode() + b"\r\n\r\n")
        for part in _compressed(size, layers):
            connection.sendall(b"%x\r\n" % len(part) + part + b"\r\n")
        connection.sendall(b"0\r\n\r\n")

    return way


def _compressed(size: int, layers: int) -> Iterator[bytes]:
    zipped = [zlib.compressobj(9, wbits=31) for _ in range(layers)]
    block = b" " * (1 << 20)
    for _ in range(size >> 20):
        part = block
        for layer in zipped:
            part = layer.compress(part) + layer.flush(zlib.Z_SYNC_FLUSH)
        yield part


def zipped(content: bytes) -> Way:
    return says(gzip.compress(content), "Content-Encoding: gzip")


def cut_gzip(connection: socket.socket, head: str) -> None:
    answer(connection, gzip.compress(_good_for(head))[:-12], "Content-Encoding: gzip")


def _good_for(head: str) -> bytes:
    token = "/oauth/token" in head.split("\r\n", maxsplit=1)[0]
    return json.dumps({"access_token": TOKEN, "expires_in": 300} if token else GOOD).encode()
