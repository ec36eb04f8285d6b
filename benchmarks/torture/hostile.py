"""Class `hostile`: harmful answers after the effect: too deep, too large, endless, out of range.

The answer can only cause an error after the request was sent. So the action must end as done or
unknown; it must not stay in sending, count as refused, or be sent twice.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from functools import cache
from itertools import repeat
from random import Random
from typing import Final, NamedTuple

from benchmarks.torture.relay import Exchange, Relay, Response, head_of
from benchmarks.torture.runs import BLOCK, Result, Run, Subject, kind_at
from benchmarks.torture.settling import RelayedDesk, play_relayed, relayed_desk

_INSTANT: Final = re.compile(rb'"\d{4}-\d\d-\d\dT[^"]*"')
_VERSION: Final = re.compile(rb'"version":\d+')
_AMOUNT: Final = re.compile(rb'mount":[\d.]+')
_ID: Final = re.compile(rb'"id":"[^"]*"', re.IGNORECASE)
_RESULT: Final = re.compile(rb'"result":.*', re.DOTALL)
_JSON: Final = "application/json"
_REFUSAL: Final = (
    b'{"success":false,"errors":[{"code":"VALIDATION_ERROR","message":"Not allowed."}]}'
)


def _with(pattern: re.Pattern[bytes], value: bytes) -> Callable[[bytes], bytes]:
    """Return a function that replaces every match of a pattern in the answer."""
    return lambda body: pattern.sub(lambda _: value, body)


def _plus(member: bytes) -> Callable[[bytes], bytes]:
    """Return a function that adds a member before the others in the result."""
    return lambda body: re.sub(rb'"result":\{', lambda _: b'"result":{' + member + b",", body)


def _instead(body: bytes) -> Callable[[bytes], bytes]:
    return lambda _: body


BODIES: Final[dict[str, Callable[[bytes], bytes]]] = {
    "nested 100,000 deep": lambda _: b'{"success":true,"result":' + b"[" * 100_000,
    "a member nested 900 deep": _plus(b'"x":' + b"[" * 900 + b"]" * 900),
    "a member nested 50,000 deep": _plus(b'"x":' + b'{"x":' * 50_000 + b"1" + b"}" * 50_000),
    "year 1 far east": _with(_INSTANT, b'"0001-01-01T00:00:00+14:00"'),
    "year 9999 far west": _with(_INSTANT, b'"9999-12-31T23:59:59-14:00"'),
    "year 0000": _with(_INSTANT, b'"0000-00-00T00:00:00Z"'),
    "year 99999": _with(_INSTANT, b'"99999-01-01T00:00:00Z"'),
    "instants as numbers": _with(_INSTANT, b"9" * 30),
    "version of 400 digits": _with(_VERSION, b'"version":' + b"9" * 400),
    "another version of 400 digits": _plus(b'"version":' + b"9" * 400),
    "version of 5,000 digits": _plus(b'"version":' + b"9" * 5_000),
    "version 1e400": _plus(b'"version":1e400'),
    "version minus one": _with(_VERSION, b'"version":-1'),
    "amounts of 1e999999": _with(_AMOUNT, b'mount":1e999999'),
    "amounts of 400 digits": _with(_AMOUNT, b'mount":' + b"7" * 400),
    "amounts not a number": _with(_AMOUNT, b'mount":NaN'),
    "ids of 5 MB": _with(_ID, b'"id":"' + b"a" * 5_000_000 + b'"'),
    "ids with controls": _with(_ID, rb'"id":"\u001b[2J\u202e\u0000"'),
    "ids of lone surrogates": _with(_ID, rb'"id":"\ud800"'),
    "ids as numbers": _with(_ID, b'"id":12345678901234567890'),
    "no ids": _with(_ID, b'"nothing":0'),
    "a result of null": _with(_RESULT, b'"result":null}'),
    "a result of a list": _with(_RESULT, b'"result":[{"id":"a"}]}'),
    "a result of text": _with(_RESULT, b'"result":"accepted"}'),
    "a result of nothing": _with(_RESULT, b'"result":{}}'),
    "a list": _instead(b"[]"),
    "null": _instead(b"null"),
    "a number": _instead(b"1"),
    "a number of 5,000 digits": _instead(b"9" * 5_000),
    "nothing but blanks": _instead(b" " * 100_000),
    "bytes that are no text": _instead(b"\xff\xfe\x00\x80" * 1000),
    "UTF-16": lambda body: body.decode("utf-8", "replace").encode("utf-16"),
    "a byte order mark": lambda body: b"\xef\xbb\xbf" + body,
    "success false": _with(re.compile(rb'"success":true'), b'"success":false'),
    "a refusal under success": _instead(_REFUSAL),
    "two answers": lambda body: body + body,
    "a refusal before the answer": lambda body: _REFUSAL + body,
    "success twice": lambda body: body[:-1] + b',"success":false,"errors":[{"code":"X"}]}',
}
"""Changes to the body of an answer; its status is unchanged."""


@cache
def _bomb() -> bytes:
    return gzip.compress(b'{"success":true,"result":{"id":"' + bytes(60_000_000) + b'"}}')


def _headers(*headers: str, status: int = 200) -> Callable[[Exchange, Response], None]:
    """Return a function that sends the answer with other headers."""

    def act(exchange: Exchange, response: Response) -> None:
        lines = "\r\n".join([f"HTTP/1.1 {status} OK", f"Content-Type: {_JSON}", *headers])
        exchange.write(f"{lines}\r\n\r\n".encode("latin-1") + response.body)
        exchange.hang_up()

    return act


def _start(line: bytes) -> Callable[[Exchange, Response], None]:
    """Return a function that sends the answer with another status line."""

    def act(exchange: Exchange, response: Response) -> None:
        _, _, rest = response.wire.partition(b"\r\n")
        exchange.write(line + b"\r\n" + rest)
        exchange.hang_up()

    return act


def _endless(before: bytes, part: bytes) -> Callable[[Exchange, Response], None]:
    """Return a function that sends a beginning, and then the same part again and again."""

    def act(exchange: Exchange, _: Response) -> None:
        exchange.write(before)
        exchange.trickle(repeat(part), 0.02)

    return act


def _bombed(exchange: Exchange, _: Response) -> None:
    exchange.write(head_of(200, _JSON, len(_bomb()), "Content-Encoding: gzip") + _bomb())


_CHUNKED: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)
WIRES: Final[dict[str, Callable[[Exchange, Response], None]]] = {
    "headers without an end": _endless(b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n"),
    "a header without an end": _endless(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a" * 20),
    "interim answers without an end": _endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    "a body without an end": _endless(_CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "trailers without an end": _endless(_CHUNKED + b"0\r\n", b"X-More: and more\r\n"),
    "a bomb": _bombed,
    "gzip that is none": _headers("Content-Encoding: gzip"),
    "an encoding that nobody knows": _headers("Content-Encoding: zstd, br, gzip, x-y"),
    "a length below zero": _headers("Content-Length: -1"),
    "a length of 400 digits": _headers("Content-Length: " + "9" * 400),
    "two lengths": _headers("Content-Length: 3", "Content-Length: 5"),
    "a header of 1 MB": _headers("X-Long: " + "a" * 1_000_000),
    "chunks that are none": _headers("Transfer-Encoding: chunked"),
    "a header without a name": _headers(": nothing"),
    "a charset that is none": _headers("Content-Type: application/json; charset=\x80", ""),
    "to be tried again in ages": _headers("Retry-After: " + "9" * 400, status=503),
    "to be tried again in the year 9999": _headers(
        "Retry-After: Fri, 31 Dec 9999 23:59:59 -2359", status=429
    ),
    "to be tried again at no time": _headers("Retry-After: \x80", status=503),
    "no status": _start(b"HTTP/1.1"),
    "a status that is no number": _start(b"HTTP/1.1 yes OK"),
    "status 999": _start(b"HTTP/1.1 999 Odd"),
    "status 000": _start(b"HTTP/1.1 000 Odd"),
    "another protocol": _start(b"SSH-2.0-OpenSSH_9.6"),
    "HTTP of the future": _start(b"HTTP/9.9 200 OK"),
}
"""Changes to an answer as a whole."""
LASTING: Final = frozenset(name for name in WIRES if name.endswith("without an end"))


class Plan(NamedTuple):
    """The answer to writes, the number of times it is sent, and whether reads get it too."""

    answer: str
    writes: int
    reads: bool


def draw(random: Random, seed: int, number: int) -> tuple[str, Plan]:
    """Draw a plan for the next kind; endless answers are rare because they take time."""
    names = [*BODIES, *WIRES]
    answer = random.choices(names, [1 if name in LASTING else 4 for name in names])[0]
    writes = random.choice((1, 1, 99))
    return kind_at(seed, number), Plan(answer, writes, reads=random.random() < 0.25)


def answers_as(name: str) -> Callable[[Exchange], None]:
    """Return the handler that sends the service's answer with the planned change."""

    def act(exchange: Exchange) -> None:
        response = exchange.forward()
        if name in BODIES:
            exchange.write(response._replace(body=BODIES[name](response.body)).wire)
        else:
            WIRES[name](exchange, response)

    return act


def play(bench: RelayedDesk, run: Run) -> Result:
    """Execute against the hostile service, settle after it is normal, and count the effects."""
    plan: Plan = run.plan

    def misbehave(relay: Relay) -> None:
        relay.on_write, relay.writes_left = answers_as(plan.answer), plan.writes
        relay.on_read = answers_as(plan.answer) if plan.reads else None

    return play_relayed(bench, run, misbehave)


HOSTILE: Final = Subject("hostile", BLOCK * 50, draw, play, relayed_desk)
