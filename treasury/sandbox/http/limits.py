"""An optional rate limit on calls.

The specifications state no limits. Both services share one limit, measured by the machine's clock;
its state is sent in the same headers as deployed services use. Calls to the token address and the
control plane are not counted.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Final

import msgspec
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from treasury.core.errors import InputError
from treasury.sandbox.http.exchange import Refusal

_COUNTED: Final = ("/finance/", "/ramp/")


class RateLimit(msgspec.Struct, frozen=True):
    """The number of calls allowed in a number of seconds."""

    calls: int
    seconds: float

    def __post_init__(self) -> None:
        if self.calls < 1 or self.seconds <= 0:
            raise InputError(
                f"{self.calls} calls in {self.seconds} seconds are not a valid limit",
                do="give at least one call and more than zero seconds",
            )

    @classmethod
    def parse(cls, text: str) -> RateLimit:
        """Parse a limit such as `100/60`: 100 calls in 60 seconds."""
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9}(?:\.\d{1,3})?)", text, re.ASCII)
        if match is None:
            raise InputError(f"{text!r} is not a rate limit", do="write it as 100/60")
        return cls(int(match[1]), float(match[2]))


class LimitGate:
    """ASGI middleware that refuses calls above the limit, if a limit is set."""

    def __init__(
        self,
        app: ASGIApp,
        limit: Callable[[], RateLimit | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._current = limit
        self._clock = clock
        self._limit: RateLimit | None = None
        self._until = 0.0
        self._left = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on with the remaining quota in its headers, or answer 429."""
        limit = self._current()
        if limit is None or not scope["path"].startswith(_COUNTED):
            await self._app(scope, receive, send)
            return
        now = self._clock()
        if now >= self._until or limit != self._limit:
            self._limit, self._until, self._left = limit, now + limit.seconds, limit.calls
        self._left -= 1
        wait = math.ceil(self._until - now)
        headers = {
            "X-RateLimit-Limit": str(limit.calls),
            "X-RateLimit-Remaining": str(max(self._left, 0)),
            "X-RateLimit-Reset": str(wait),
        }
        if self._left < 0:
            body = Refusal(429, "RATE_LIMITED", f"Try again in {wait} seconds.").reply().body
            refused = Response(body, 429, {**headers, "Retry-After": str(wait)}, "application/json")
            await refused(scope, receive, send)
            return
        raw_headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *raw_headers]}
            await send(message)

        await self._app(scope, receive, tell)
