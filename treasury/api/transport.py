"""The one way to a service: encrypted, without redirects, with one loop that decides on repeats.

A read is repeated after a passing failure, with growing pauses, as long as the deadline allows. A
write is repeated only where nothing has left this machine or where it carries an idempotency key.
Any other write whose answer did not come is an `OutcomeUnknown`: it may have been carried out.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import SystemRandom
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

import httpx
import msgspec

from treasury.api.errors import error_for, one_line, read_refusal
from treasury.errors import (
    OutcomeUnknown,
    RateLimited,
    ServiceError,
    ServiceUnreachable,
    SettingsError,
)
from treasury.settings import is_loopback

__all__ = ["Call", "Clock", "Limits", "Transport"]

Failure = httpx.Response | httpx.RequestError

_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
)
_SECONDS = re.compile(r"\d{1,9}(\.\d+)?", re.ASCII)
_PASSING = frozenset({429, 500, 502, 503, 504})


class Clock(msgspec.Struct, frozen=True):
    """Where time comes from; tests bring their own."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    jitter: Callable[[float, float], float] = SystemRandom().uniform


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how often to try; all times in seconds."""

    deadline: float = 60.0
    """For one call, its repeats and pauses included."""
    connect: float = 10.0
    read: float = 30.0
    attempts: int = 6
    first_pause: float = 0.25
    longest_pause: float = 8.0
    connections: int = 16
    """More than there are threads: a pool that has to evict one connection for another may close
    one that a thread has just begun to use."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One operation on one record.

    `route` keeps the specification's placeholders: it is what errors name; `url` has them filled.
    `kind`: a "read" changes nothing; a "keyed" write is carried out once however often it comes; a
    plain "write" may not be sent twice.
    """

    method: str
    route: str
    url: str
    kind: Literal["read", "keyed", "write"] = "read"
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    content: bytes | None = None
    look_up: str = "read the record and see what became of it"

    @property
    def operation(self) -> str:
        """`POST /ramp-requests/{id}/approve`."""
        return f"{self.method} {self.route}"


class Transport:
    """An `httpx.Client` behind the retry loop; safe to use from several threads."""

    def __init__(
        self,
        addresses: tuple[str, ...],
        *,
        limits: Limits | None = None,
        clock: Clock | None = None,
        inner: httpx.BaseTransport | None = None,
    ) -> None:
        for address in addresses:
            _refuse_plain_http(address)
        self.limits = limits or Limits()
        self.clock = clock or Clock()
        # Proxies and certificates come from the environment, as everywhere; but what stays on this
        # machine is not handed to a proxy.
        away = not all(is_loopback(urlsplit(address).hostname or "") for address in addresses)
        self._http = httpx.Client(
            transport=inner,
            trust_env=away,
            follow_redirects=False,
            headers={"Accept": "application/json", "User-Agent": "treasury"},
            limits=httpx.Limits(
                max_connections=self.limits.connections,
                max_keepalive_connections=self.limits.connections,
            ),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self.close()

    def send(self, call: Call, auth: httpx.Auth | None = None) -> httpx.Response:
        """The successful response to a call; any other end is a ServiceError."""
        _refuse_plain_http(call.url)
        until = self.clock.monotonic() + self.limits.deadline
        unsure = False
        attempt = 0
        while True:
            outcome = self._try(call, auth, until - self.clock.monotonic())
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return outcome
            unsure = unsure or _is_unsure(call, outcome)
            attempt += 1
            pause = self._pause(outcome, attempt)
            left = until - self.clock.monotonic()
            if not _may_repeat(call, outcome) or attempt >= self.limits.attempts or pause >= left:
                raise _error(call, outcome, unsure, pause)
            self.clock.sleep(pause)

    def _try(self, call: Call, auth: httpx.Auth | None, left: float) -> Failure:
        limits = self.limits
        wait = max(1.0, min(limits.read, left))
        request = self._http.build_request(
            call.method,
            call.url,
            params=call.params or None,
            headers=dict(call.headers),
            content=call.content,
            timeout=httpx.Timeout(wait, connect=min(limits.connect, wait)),
        )
        try:
            return self._http.send(request, auth=auth)
        except httpx.RequestError as error:
            return error

    def _pause(self, outcome: Failure, attempt: int) -> float:
        """Seconds to wait: as the service asked, else growing, with jitter against crowds."""
        if isinstance(outcome, httpx.Response):
            asked = _retry_after(outcome.headers.get("retry-after", ""), self.clock.now())
            if asked is not None:
                return asked
        ceiling = min(self.limits.longest_pause, self.limits.first_pause * 2 ** (attempt - 1))
        return self.clock.jitter(ceiling / 2, ceiling)


def _refuse_plain_http(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return
    raise SettingsError(
        f"{parts.scheme}://{parts.hostname} is not https",
        do="plain http is for loopback addresses only",
    )


def _may_repeat(call: Call, outcome: Failure) -> bool:
    if isinstance(outcome, _NEVER_SENT):
        return True
    if isinstance(outcome, httpx.Response) and outcome.status_code not in _PASSING:
        return False
    return call.kind != "write"


def _is_unsure(call: Call, outcome: Failure) -> bool:
    """Whether this attempt may have been carried out although no success came back."""
    if call.kind == "read" or isinstance(outcome, _NEVER_SENT):
        return False
    return not isinstance(outcome, httpx.Response) or outcome.status_code >= 500


def _error(call: Call, outcome: Failure, unsure: bool, pause: float) -> ServiceError:
    if isinstance(outcome, httpx.Response):
        if unsure and outcome.status_code in _PASSING:
            return _unknown(call, f"answered {outcome.status_code}", read_refusal(outcome).trace)
        error = error_for(outcome, call.operation)
        error.may_have_executed = unsure
        if isinstance(error, RateLimited) and "retry-after" in outcome.headers:
            error.do = f"the service asks to wait {pause:.0f} s; run it again after that"
        return error
    reason = type(outcome).__name__
    if isinstance(outcome, httpx.ConnectError):  # a wrong name, a closed port, a bad certificate
        reason = one_line(str(outcome), 160) or reason
    if unsure:
        return _unknown(call, f"gave no answer ({reason})", None)
    host = urlsplit(call.url).netloc.rpartition("@")[2]
    return ServiceUnreachable(
        f"{call.operation}: no answer from {host} ({reason})",
        do="check the address in treasury.toml and the network, then run it again",
        operation=call.operation,
    )


def _unknown(call: Call, how: str, trace: str | None) -> OutcomeUnknown:
    error = OutcomeUnknown(
        f"{call.operation}: the service {how}; it may have been carried out",
        look_up=call.look_up,
        operation=call.operation,
    )
    error.trace = trace
    return error


def _retry_after(value: str, now: datetime) -> float | None:
    """Seconds from a Retry-After header, which holds seconds or a date; None where it has none."""
    if _SECONDS.fullmatch(value.strip()):
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return max(0.0, (when - now).total_seconds())
