"""The one way to a service: encrypted, without redirects, with one loop that decides on repeats.

A read is repeated after a passing failure, with growing pauses, as long as the deadline allows. A
write is repeated only where it was certainly not carried out (nothing has left this machine, or the
service turned it away for rate) or where it carries an idempotency key. Any other write whose
answer did not come is an `OutcomeUnknown`: it may have been carried out. How many calls are under
way at once follows what the service bears (`limiter`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import SystemRandom
from types import TracebackType
from typing import Literal, Self
from urllib.parse import urlsplit

import httpx
import msgspec

from treasury.api.errors import error_for, one_line, read_refusal, where
from treasury.api.limiter import Limiter
from treasury.errors import (
    OutcomeUnknown,
    RateLimited,
    ServiceError,
    ServiceUnreachable,
    SettingsError,
)
from treasury.settings import FILE_NAME, is_loopback, require_https

__all__ = ["Call", "Clock", "Kind", "Limits", "Transport", "unknown"]

Kind = Literal["read", "keyed", "write"]
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
    connect_attempts: int = 3
    """For a wrong name or a closed port, which seldom mends while one waits."""
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
    kind: Kind = "read"
    params: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = {}
    content: bytes | None = None
    ids: tuple[str, ...] = ()
    key: str | None = None
    """The idempotency key in `content`, for errors to name."""

    look_up: str = "read the record and see what became of it"

    def __repr__(self) -> str:
        return f"<Call {self.operation}>"  # its content may be a secret

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
            require_https(address)
            _require_host(address)
        self.limits = limits or Limits()
        self.clock = clock or Clock()
        self.limiter = Limiter(self.limits.connections - 1)  # one is left for renewing a token
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
        require_https(call.url)
        until = self.clock.monotonic() + self.limits.deadline
        unsure = False
        attempt = 0
        while True:
            outcome = self._in_turn(call, auth, until)
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return outcome
            unsure = unsure or _is_unsure(call, outcome)
            attempt += 1
            pause = self._pause(outcome, attempt)
            left = until - self.clock.monotonic()
            if not _may_repeat(call, outcome) or attempt >= self._most(outcome) or pause >= left:
                raise _error(call, outcome, unsure, pause)
            self.clock.sleep(pause)

    def _most(self, outcome: Failure) -> int:
        connected = not isinstance(outcome, httpx.ConnectError)
        return self.limits.attempts if connected else self.limits.connect_attempts

    def _in_turn(self, call: Call, auth: httpx.Auth | None, until: float) -> Failure:
        """One attempt, when there is room for it. A token is fetched inside another call's turn."""
        if auth is None:
            return self._try(call, None, until)
        with self.limiter.slot(until - self.clock.monotonic()) as slot:
            if slot is None:
                return httpx.PoolTimeout("too many calls are waiting")
            outcome = self._try(call, auth, until)
        if isinstance(outcome, httpx.Response):
            if outcome.status_code == 429:
                self.limiter.refused(slot)
            elif outcome.is_success:
                self.limiter.served()
        return outcome

    def _try(self, call: Call, auth: httpx.Auth | None, until: float) -> Failure:
        limits = self.limits
        wait = max(1.0, min(limits.read, until - self.clock.monotonic()))
        request = self._http.build_request(
            call.method,
            call.url,
            params=call.params or None,
            headers=dict(call.headers),
            content=call.content,
            timeout=httpx.Timeout(wait, connect=min(limits.connect, wait)),
        )
        try:
            response = self._http.send(request, auth=auth, stream=True)
            response.stream = _Timed(response.stream, lambda: self.clock.monotonic() > until)
            with closing(response):
                response.read()
        except httpx.RequestError as error:
            return error
        return response

    def _pause(self, outcome: Failure, attempt: int) -> float:
        """Seconds to wait: as the service asked, else growing, with jitter against crowds."""
        if isinstance(outcome, httpx.Response):
            asked = _asked_to_wait(outcome.headers, self.clock.now())
            if asked is not None:
                return asked
        ceiling = min(self.limits.longest_pause, self.limits.first_pause * 2 ** (attempt - 1))
        return self.clock.jitter(ceiling / 2, ceiling)


class _Timed(httpx.SyncByteStream):
    """A body that is given up when time is up: bytes that trickle in outwit a read timeout."""

    def __init__(self, inner: object, is_late: Callable[[], bool]) -> None:
        assert isinstance(inner, httpx.SyncByteStream)
        self._inner = inner
        self._is_late = is_late

    def __iter__(self) -> Iterator[bytes]:
        for part in self._inner:
            yield part
            if self._is_late():
                raise httpx.ReadTimeout("the answer was not complete in time")

    def close(self) -> None:
        self._inner.close()


def _require_host(address: str) -> None:
    """Refuse a host that nobody has filled in yet; settings with one may still be read."""
    try:
        httpx.URL(address)
    except httpx.InvalidURL as error:
        raise SettingsError(
            f"{address} is not an address that can be called",
            do=f"fill in the services' addresses in {FILE_NAME}",
        ) from error


def _may_repeat(call: Call, outcome: Failure) -> bool:
    if isinstance(outcome, _NEVER_SENT):
        return True
    if isinstance(outcome, httpx.Response):
        if outcome.status_code not in _PASSING:
            return False
        if outcome.status_code == 429:  # turned away before anything was done
            return True
    return call.kind != "write"


def _is_unsure(call: Call, outcome: Failure) -> bool:
    """Whether this attempt may have been carried out although no success came back."""
    if call.kind == "read" or isinstance(outcome, _NEVER_SENT):
        return False
    return not isinstance(outcome, httpx.Response) or outcome.status_code >= 500


def _error(call: Call, outcome: Failure, unsure: bool, pause: float) -> ServiceError:
    if isinstance(outcome, httpx.Response):
        if unsure and outcome.status_code in _PASSING:
            return unknown(call, f"answered {outcome.status_code}", read_refusal(outcome).trace)
        error = error_for(outcome, call.operation, ids=call.ids, key=call.key)
        error.may_have_executed = unsure
        if unsure:
            error.do = f"an earlier attempt may have been carried out; {call.look_up}"
        if isinstance(error, RateLimited) and "retry-after" in outcome.headers:
            error.do = f"the service asks to wait {pause:.0f} s; run it again after that"
        return error
    reason = type(outcome).__name__
    if isinstance(outcome, httpx.ConnectError):  # a wrong name, a closed port, a bad certificate
        reason = one_line(str(outcome), 160) or reason
    if unsure:
        return unknown(call, f"gave no answer ({reason})")
    host = urlsplit(call.url).netloc.rpartition("@")[2]
    return ServiceUnreachable(
        f"{call.operation}: no answer from {host} ({reason}){where(call.ids)}",
        do="check the address in treasury.toml and the network, then run it again",
        operation=call.operation,
        ids=call.ids,
        key=call.key,
    )


def unknown(call: Call, how: str, trace: str | None = None) -> OutcomeUnknown:
    """The error of a write that may have been carried out, and how to find out."""
    return OutcomeUnknown(
        f"{call.operation}: the service {how}; it may have been carried out"
        f"{where(call.ids, trace)}",
        look_up=call.look_up,
        operation=call.operation,
        trace=trace,
        ids=call.ids,
        key=call.key,
    )


def _asked_to_wait(headers: httpx.Headers, now: datetime) -> float | None:
    """Seconds that the service asks to wait; None where it does not say."""
    exact = headers.get("retry-after-ms", "").strip()
    if _SECONDS.fullmatch(exact):
        return float(exact) / 1000
    return _retry_after(headers.get("retry-after", ""), now)


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
