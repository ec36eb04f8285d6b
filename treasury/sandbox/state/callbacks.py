"""Calls an address that a client gave us, after the fact and without waiting for it.

The specification says that a payment session's callbackUrl is invoked and not how: the method and
the body are our own invention and say so. Only loopback addresses are called; whatever else is
given is written down with the reason. A few threads share the work, and a full queue drops what
comes on top, in writing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import msgspec

_PATIENCE: Final = 5.0
"""Seconds that an address has for its answer."""
_WAITING: Final = 64
_NOT_OURS: Final = "not invoked: the sandbox calls loopback addresses only"


class Invocation(msgspec.Struct, frozen=True):
    """An address, what it was about, and what came of it: a status in words, or why none."""

    subject: str
    url: str
    outcome: str


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine, by its name or number."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


class Callbacks:
    """Invokes addresses in the background and keeps the list of what was invoked."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="callback")
        self._room = threading.BoundedSemaphore(_WAITING)
        self._lock = threading.Lock()
        self._invocations: list[Invocation] = []

    @property
    def invocations(self) -> list[Invocation]:
        """Every invocation that has ended, in the order in which they ended."""
        with self._lock:
            return list(self._invocations)

    def invoke(self, subject: str, url: str, body: Mapping[str, object]) -> None:
        """Send `body` to the address soon; never waits, never fails."""
        if not is_loopback(url):
            self._note(subject, url, _NOT_OURS)
        elif not self._room.acquire(blocking=False):
            self._note(subject, url, "not invoked: too many are waiting")
        else:
            self._threads.submit(self._send, subject, url, msgspec.json.encode(body))

    def _send(self, subject: str, url: str, body: bytes) -> None:
        address = urlsplit(url)
        path = (address.path or "/") + (f"?{address.query}" if address.query else "")
        headers = {"Content-Type": "application/json", "X-Sandbox": "invented callback"}
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        try:
            with closing(kind(address.hostname or "", address.port, timeout=_PATIENCE)) as caller:
                caller.request("POST", path, body, headers)
                outcome = f"answered {caller.getresponse().status}"
        except (OSError, HTTPException, ValueError) as error:
            outcome = f"failed: {type(error).__name__}"
        finally:
            self._room.release()
        self._note(subject, url, outcome)

    def _note(self, subject: str, url: str, outcome: str) -> None:
        with self._lock:
            self._invocations.append(Invocation(subject, url, outcome))
