"""Faults on demand: what a network and an overloaded service do to a client.

A test queues faults; each takes the next calls whose path begins as it says. A dropped connection
is cut before the service acts or after it has acted, in either case without a byte of an answer.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Literal

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treasury.sandbox.http import Refusal

__all__ = ["Fault", "FaultGate", "Faults"]


class Fault(msgspec.Struct, kw_only=True):
    """What happens to the next `times` calls on a path."""

    path: str = ""
    method: str | None = None
    times: int = 1
    delay: float = 0.0
    status: int | None = None
    retry_after: str | None = None
    drop: Literal["before", "after"] | None = None

    def is_for(self, method: str, path: str) -> bool:
        """Whether the call is one that it is waiting for."""
        return self.times > 0 and path.startswith(self.path) and self.method in {None, method}


class Faults:
    """The faults still to come, in the order in which they were queued."""

    def __init__(self) -> None:
        self._queue: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, path: str = "", **what: object) -> None:
        """Queue a fault: `faults.add("/ramp/v1/fees", status=429, retry_after="1", times=2)`."""
        fault = msgspec.convert({"path": path, **what}, Fault)
        with self._lock:
            self._queue.append(fault)

    def take(self, method: str, path: str) -> Fault | None:
        """The first fault for the call; it counts as used."""
        with self._lock:
            fault = next((f for f in self._queue if f.is_for(method, path)), None)
            if fault is not None:
                fault.times -= 1
            return fault

    def clear(self) -> None:
        """Forget every fault."""
        with self._lock:
            self._queue.clear()


class FaultGate:
    """Stands in front of the services; `cut` closes the connection that a call came on."""

    def __init__(self, app: ASGIApp, faults: Faults, cut: Callable[[Scope], None]) -> None:
        self._app = app
        self._faults = faults
        self._cut = cut

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the call through, or do to it what the next fault says."""
        fault = self._faults.take(scope["method"], scope["path"])
        if fault is None:
            await self._app(scope, receive, send)
            return
        await asyncio.sleep(fault.delay)
        if fault.drop is not None:
            if fault.drop == "after":
                await self._app(scope, receive, _nowhere)
            self._cut(scope)
            await _gone(receive)
        elif fault.status is not None:
            await _refuse(fault, fault.status)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _refuse(fault: Fault, status: int) -> Response:
    code = "RATE_LIMITED" if status == 429 else "INTERNAL_SERVER_ERROR"
    headers = {"Retry-After": fault.retry_after} if fault.retry_after is not None else None
    body = Refusal(status, code, "Try later.").reply().body
    return Response(body, status, headers, "application/json")


async def _nowhere(_: Message) -> None:
    """Take an answer that nobody will see."""


async def _gone(receive: Receive) -> None:
    """Wait until the server has noticed that the connection is closed."""
    while (await receive())["type"] != "http.disconnect":
        pass
