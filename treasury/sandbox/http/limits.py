"""An optional rate limit of calls per time.

The specifications publish no numbers. Both services share the limit; it runs by the machine's clock
and reports its state in the headers that deployed services send. The token address and the control
plane are not counted.
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
    """So many calls in so many seconds."""

    calls: int
    seconds: float

    def __post_init__(self) -> None:
        if self.calls < 1 or self.seconds <= 0:
            raise InputError(
                f"{self.calls} calls in {self.seconds} seconds are no limit",
                do="give at least one call and more than no time",
            )

    @classmethod
    def parse(cls, text: str) -> RateLimit:
        """Return the limit of `100/60`: calls, then seconds."""
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9}(?:\.\d{1,3})?)", text, re.ASCII)
        if match is None:
            raise InputError(f"{text!r} is no rate limit", do="write it as 100/60")
        return cls(int(match[1]), float(match[2]))


class LimitGate:
    """A gate in front of the services that refuses calls above the limit, if there is one."""

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
