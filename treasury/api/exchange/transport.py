"""The transport for every call to a service: encrypted, without redirects, with one retry loop.

The kind of a call decides after which failures it is retried, with growing pauses, until its
deadline:

- A read, and a write with an idempotency key, after a 401 or any temporary failure.
- A write with a version, after the service's own 401 or 429.
- Any other write, after the service's own 401.
- Every call, if no byte of it has left this machine.

A write counts as refused only if the service itself refuses it (`is_refusal`). Any other failure of
a write that may have left this machine raises `OutcomeUnknown`. The number of parallel calls adapts
to the service (`limiter`).
"""

from __future__ import annotations

import logging
import re
import time
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from random import SystemRandom
from typing import Literal
from urllib.parse import urlsplit

import httpx
import msgspec

from treasury.api.exchange.limiter import Limiter
from treasury.api.exchange.network import (
    Exchange,
    Fence,
    Network,
    UnreadableAnswer,
    current_exchange,
    exchanging,
)
from treasury.api.exchange.response_body import BoundedTransport, Redactor
from treasury.api.service_errors import error_for, is_refusal, one_line, read_refusal, where
from treasury.core import errors
from treasury.core.files.secret_places import call_unseen
from treasury.core.machine.boot_clock import boot_seconds
from treasury.core.settings import FILE_NAME, is_loopback, require_https

_log = logging.getLogger(__name__)
Kind = Literal["read", "keyed", "versioned", "write"]
_Failure = httpx.Response | httpx.RequestError

_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
_HANDED_OVER = "treasury.left"
"""Extension that marks a request as passed to the connection, so that it may have left."""
_SECONDS = re.compile(r"\d{1,9}(\.\d+)?", re.ASCII)
_PASSING = frozenset({429, 500, 502, 503, 504})


class Clock(msgspec.Struct, frozen=True):
    """The source of time; tests replace it."""

    monotonic: Callable[[], float] = boot_seconds
    """A clock that also runs while the machine sleeps, so that deadlines and tokens expire then."""
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    jitter: Callable[[float, float], float] = SystemRandom().uniform


class CallLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of time, attempts and sizes; all times in seconds."""

    deadline: float = 60.0
    """Maximum time of one call, including retries, pauses and fetching a token."""
    connect: float = 10.0
    read: float = 30.0
    attempts: int = 6
    connect_attempts: int = 3
    """Attempts to connect, which are few: waiting rarely helps against a wrong name or a closed
    port.
    """
    first_pause: float = 0.25
    longest_pause: float = 8.0
    connections: int = 16
    """Size of the connection pool. It is larger than the number of threads, because a full pool may
    close a connection that a thread has just started to use.
    """
    answer_bytes: int = 16 * 1024 * 1024
    """Maximum size of a decompressed answer; a page of 1,000 records has about 1 MB."""
    refusal_bytes: int = 1024 * 1024
    """Maximum size of an answer with a token or a refusal; the rest of a refusal is not read.
    """
    pages: int = 20_000
    """Maximum number of pages that a service may state for one list."""
    records: int = 5_000_000
    """Maximum number of records in one list."""
    extra_pages: int = 20
    """Number of pages by which a list may grow while it is being read."""
    unstated_records: int = 50_000
    """Maximum number of records in a list without a stated number of pages."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of an operation.

    `route` has the specification's placeholders, for use in errors; in `url` they are filled in.
    `kind` states whether the call may be repeated: a "read" has no effect; a "keyed" write is
    executed only once, even if it is repeated; of two "versioned" writes with the same version,
    only one takes effect; and a plain "write" must not be sent twice.
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
    """The idempotency key in `content`, to be shown in errors."""

    look_up: str = "read the record to see whether it was changed"
    brings_token: bool = False
    """True if the call requests an access token.

    The body of a successful answer is then limited to `refusal_bytes`, and not redacted.
    """
    retry_unauthorized: bool = True
    """True if a plain write is repeated with a new token after the service's own 401."""
    fence: Fence | None = None
    """Called immediately before each attempt's first byte, and before each later piece."""

    def __repr__(self) -> str:
        # The content may have a secret, so it is not shown.
        return f"<Call {self.operation}>"

    @property
    def operation(self) -> str:
        """Method and route, such as `POST /ramp-requests/{id}/approve`."""
        return f"{self.method} {self.route}"


class Transport:
    """An `httpx.Client` behind the retry loop; safe to use from several threads."""

    def __init__(
        self,
        addresses: tuple[str, ...],
        *,
        limits: CallLimits | None = None,
        clock: Clock | None = None,
        inner: httpx.BaseTransport | None = None,
    ) -> None:
        for address in addresses:
            require_https(address)
            try:
                httpx.URL(address)
            # The settings may still have a placeholder as the host.
            except httpx.InvalidURL as error:
                raise errors.SettingsError(
                    f"{address} is not an address that can be called",
                    do=f"fill in the services' addresses in {FILE_NAME}",
                ) from error
        self.limits = limits or CallLimits()
        self.clock = clock or Clock()
        # One connection stays free for fetching a token.
        self.limiter = Limiter(self.limits.connections - 1)
        # Proxies and certificates come from the environment, but local addresses never use a proxy.
        away = not all(is_loopback(urlsplit(address).hostname or "") for address in addresses)
        self.redactor = Redactor()
        network = inner or Network(
            connections=self.limits.connections,
            trust_env=away,
            is_encrypted=any(urlsplit(address).scheme == "https" for address in addresses),
        )
        self._http = httpx.Client(
            transport=BoundedTransport(
                network, self.redactor, refusal_bytes=self.limits.refusal_bytes
            ),
            trust_env=False,
            follow_redirects=False,
            event_hooks={"request": [lambda sent: sent.extensions.update({_HANDED_OVER: True})]},
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                "User-Agent": "treasury",
            },
        )
        # Closes the connections if the client is never closed.
        weakref.finalize(self, self._http.close)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, call: Call, auth: httpx.Auth | None = None) -> httpx.Response:
        """Send a call and return the response; raise a ServiceError unless it succeeds."""
        require_https(call.url)
        until = self.clock.monotonic() + self.time_left()
        unsure = renewed = False
        attempt = 0
        while True:
            try:
                outcome = self._in_turn(call, auth, until)
            # The request was not sent, for example because no token could be fetched.
            except Exception as error:
                if unsure:
                    reason = type(error).__name__
                    if isinstance(error, errors.TreasuryError):
                        reason = f"{reason} ({error.what})"
                    raise unknown(call, f"gave no answer, then {reason}") from error
                raise
            # The route has placeholders; a URL may have secrets in its query.
            status = getattr(outcome, "status_code", type(outcome).__name__)
            _log.info("%s: %s", call.operation, status)
            if isinstance(outcome, httpx.Response) and outcome.is_success:
                return outcome
            unsure = unsure or _is_unsure(call, outcome)
            remaining = until - self.clock.monotonic()
            if auth is not None and not renewed and remaining > 0 and _wants_token(call, outcome):
                # The refused token was dropped, so the next attempt fetches another.
                renewed = True
                continue
            attempt += 1
            pause = self._pause(outcome, attempt)
            connected = not isinstance(outcome, httpx.ConnectError)
            most = self.limits.attempts if connected else self.limits.connect_attempts
            if not _may_repeat(call, outcome) or attempt >= most or pause >= remaining:
                raise _error(call, outcome, unsure, pause)
            self.clock.sleep(pause)

    def time_left(self) -> float:
        """Return the seconds left for a call.

        A call's deadline includes the time to fetch its token.
        """
        around = current_exchange()
        return around.remaining(self.limits.deadline) if around else self.limits.deadline

    def _in_turn(self, call: Call, auth: httpx.Auth | None, until: float) -> _Failure:
        """Make one attempt when the limiter allows it.

        The call's slot also covers fetching its token.
        """
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

    def _try(self, call: Call, auth: httpx.Auth | None, until: float) -> _Failure:
        limits = self.limits
        wait = max(0.001, min(limits.read, until - self.clock.monotonic()))
        most = limits.refusal_bytes if call.brings_token else limits.answer_bytes
        request = self._http.build_request(
            call.method,
            call.url,
            params=call.params or None,
            headers=dict(call.headers),
            content=call.content,
            timeout=httpx.Timeout(wait, connect=min(limits.connect, wait)),
        )
        exchange = Exchange(
            until,
            most,
            self.clock.monotonic,
            brings_token=call.brings_token,
            start=f"{call.method} ".encode(),
            fence=call.fence,
        )
        try:
            with exchanging(exchange):
                # The frames below hold the request's bytes with the token or secret.
                return call_unseen(lambda: self._http.send(request, auth=auth))
        except httpx.RequestError as error:
            return error
        except Exception as error:
            if call.kind == "read" or _HANDED_OVER not in request.extensions:
                raise
            if error is exchange.stopped_by:
                raise
            return _BrokenAnswer(type(error).__name__)

    def _pause(self, outcome: _Failure, attempt: int) -> float:
        """Return the seconds to wait, as the service requests, else growing and randomised."""
        if isinstance(outcome, httpx.Response):
            requested = _retry_after(outcome.headers, self.clock.now())
            if requested is not None:
                return requested
        ceiling = min(self.limits.longest_pause, self.limits.first_pause * 2 ** (attempt - 1))
        return self.clock.jitter(ceiling / 2, ceiling)


class _BrokenAnswer(httpx.RequestError):
    """An error outside the connection, raised after a write may have left."""


def _may_repeat(call: Call, outcome: _Failure) -> bool:
    if isinstance(outcome, _NEVER_SENT):
        return True
    # A retry would get an unreadable answer again.
    if isinstance(outcome, UnreadableAnswer):
        return False
    if call.kind == "versioned":
        return _is_refused(call, outcome, 429)
    if call.kind == "write":
        return False
    return isinstance(outcome, httpx.RequestError) or outcome.status_code in _PASSING


def _wants_token(call: Call, outcome: _Failure) -> bool:
    """Return True if a call should be repeated with a new token, as the specification requires.

    A read or a keyed write is repeated after any 401; any other write only after the service's own
    401. A plain write is not repeated if `retry_unauthorized` is False. The reason: a proxy may
    send a call twice and return only the second answer, so the first call may have succeeded before
    a genuine 401.
    """
    if call.kind in {"read", "keyed"}:
        return isinstance(outcome, httpx.Response) and outcome.status_code == 401
    if call.kind == "write" and not call.retry_unauthorized:
        return False
    return _is_refused(call, outcome, 401)


def _is_refused(call: Call, outcome: _Failure, status: int) -> bool:
    """Return True if the service itself refused a write with this status."""
    if not isinstance(outcome, httpx.Response) or outcome.status_code != status:
        return False
    return is_refusal(outcome, call.operation)


def _is_unsure(call: Call, outcome: _Failure) -> bool:
    """Return True if a failed attempt may have taken effect."""
    if call.kind == "read" or isinstance(outcome, _NEVER_SENT):
        return False
    return not isinstance(outcome, httpx.Response) or not is_refusal(outcome, call.operation)


def _error(call: Call, outcome: _Failure, unsure: bool, pause: float) -> errors.ServiceError:
    kind: type[errors.ServiceError]
    if isinstance(outcome, httpx.Response):
        status, refusal = outcome.status_code, read_refusal(outcome)
        if _is_unsure(call, outcome):
            doubt = "" if refusal.is_ours else ", which is not recognisable as its own refusal"
            return unknown(call, f"answered {status}{doubt}", refusal.trace)
        if unsure and status in _PASSING:
            return unknown(call, f"answered {status}", refusal.trace)
        error = error_for(outcome, call.operation, ids=call.ids, key=call.key)
        error.may_have_executed = unsure
        if unsure:
            error.do = f"an earlier attempt may have been carried out; {call.look_up}"
        if isinstance(error, errors.RateLimited) and "retry-after" in outcome.headers:
            error.do = f"the service requests a pause of {pause:.0f} s; then run it again"
        return error
    if isinstance(outcome, UnreadableAnswer):
        kind, failure = errors.UnexpectedResponse, str(outcome)
        message = f"{call.operation}: the service {outcome}"
        do = "check that the address is the service's own, then report it to the provider"
    else:
        reason, host = _silence(outcome), urlsplit(call.url).netloc.rpartition("@")[2]
        kind, failure = errors.ServiceUnreachable, f"gave no answer ({reason})"
        message = f"{call.operation}: no answer from {host} ({reason})"
        do = "check the address in treasury.toml and the network, then run it again"
    if unsure:
        return unknown(call, failure)
    message += where(call.ids)
    return kind(message, do=do, operation=call.operation, ids=call.ids, key=call.key)


def _silence(outcome: httpx.RequestError) -> str:
    """Return a few words that say why there is no complete answer."""
    match outcome:
        case httpx.ReadTimeout():
            return f"{type(outcome).__name__}: the answer was not complete in time"
        # The text names a wrong host name, a closed port or a bad certificate.
        case httpx.ConnectError():
            return one_line(str(outcome), 160) or type(outcome).__name__
        case _BrokenAnswer():
            return str(outcome)
        case _:
            return type(outcome).__name__


def unknown(call: Call, how: str, trace: str | None = None) -> errors.OutcomeUnknown:
    """Return the error for a write that may have taken effect, with advice on how to check."""
    return errors.OutcomeUnknown(
        f"{call.operation}: the service {how}; it may have been carried out"
        f"{where(call.ids, trace)}",
        look_up=call.look_up,
        operation=call.operation,
        trace=trace,
        ids=call.ids,
        key=call.key,
    )


def _retry_after(headers: httpx.Headers, now: datetime) -> float | None:
    """Return the pause in seconds that the service requests; None if it requests none.

    The service states it in milliseconds, in seconds or as a date.
    """
    exact, value = headers.get("retry-after-ms", "").strip(), headers.get("retry-after", "")
    if _SECONDS.fullmatch(exact):
        return float(exact) / 1000
    if _SECONDS.fullmatch(value.strip()):
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return max(0.0, (when - now).total_seconds())
