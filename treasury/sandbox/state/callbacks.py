"""Calls addresses that clients registered, in the background after a change.

The specification states that a payment session's callbackUrl is invoked, but not how. Method and
body are the sandbox's own, as the body states. Only loopback addresses are called. Two threads make
the calls. If the queue is full, further calls are dropped. Calls not made are recorded with the
reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

import msgspec

_PATIENCE: Final = 5.0
"""Timeout in seconds for an answer."""
_WAITING: Final = 64
_NOT_OURS: Final = "not invoked: the sandbox calls loopback addresses only"


class Invocation(msgspec.Struct, frozen=True):
    """An attempt to call an address: its subject, and the answer's status or why there is none."""

    subject: str
    url: str
    outcome: str


def is_loopback(url: str) -> bool:
    """Return whether an HTTP URL is on this machine, by host name or IP address."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or parts.port == 0:
            return False
        host = parts.hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


Headers = Callable[[bytes], Mapping[str, str]]


class _Invoked(msgspec.Struct, frozen=True):
    """A call to make: the address, the body, and the headers of each attempt."""

    subject: str
    url: str
    body: bytes
    headers: Headers


class Callbacks:
    """Background calls to addresses, and the list of attempts."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="callback")
        self._room = threading.BoundedSemaphore(_WAITING)
        self._lock = threading.Lock()
        self._invocations: list[Invocation] = []

    @property
    def invocations(self) -> list[Invocation]:
        """Return all attempts in the order in which they ended, and the calls not made."""
        with self._lock:
            return list(self._invocations)

    def invoke(
        self,
        subject: str,
        url: str,
        body: Mapping[str, object],
        *,
        headers: Headers = lambda _: {},
        pauses: tuple[float, ...] = (),
    ) -> None:
        """Send `body` to the address in the background; never wait and never raise an error.

        `headers` returns additional headers for each attempt. An attempt that is not answered with
        2xx is retried after each of the `pauses`, in seconds.
        """
        self._submit(_Invoked(subject, url, msgspec.json.encode(body), headers), pauses)

    def _submit(self, call: _Invoked, pauses: tuple[float, ...]) -> None:
        if not is_loopback(call.url):
            self._note(call.subject, call.url, _NOT_OURS)
        elif not self._room.acquire(blocking=False):
            self._note(call.subject, call.url, "not invoked: too many are waiting")
        else:
            self._threads.submit(self._send, call, pauses)

    def _send(self, call: _Invoked, pauses: tuple[float, ...]) -> None:
        address = urlsplit(call.url)
        path = (address.path or "/") + (f"?{address.query}" if address.query else "")
        headers = {
            "Content-Type": "application/json", "X-Sandbox": "invented callback",
            **call.headers(call.body),
        }  # fmt: skip
        kind = HTTPSConnection if address.scheme == "https" else HTTPConnection
        status = 0
        try:
            with closing(kind(address.hostname or "", address.port, timeout=_PATIENCE)) as caller:
                caller.request("POST", path, call.body, headers)
                status = caller.getresponse().status
                outcome = f"answered {status}"
        except (OSError, HTTPException, ValueError) as error:
            outcome = f"failed: {type(error).__name__}"
        finally:
            self._room.release()
        self._note(call.subject, call.url, outcome)
        if pauses and not 200 <= status < 300:
            again = threading.Timer(pauses[0], self._submit, (call, pauses[1:]))
            again.daemon = True
            again.start()

    def _note(self, subject: str, url: str, outcome: str) -> None:
        with self._lock:
            self._invocations.append(Invocation(subject, url, outcome))
