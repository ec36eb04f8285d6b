"""Class `proxy`: a proxy answers in place of the service, after zero, one or two effects.

The proxy knows the service's paths but not its formats. It answers with its own page or JSON, with
old data from its cache, or with unreadable bytes. Requests that it repeats by itself are counted
separately: the sender cannot prevent them if the operation has neither key nor version.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from benchmarks.torture.relay import Exchange, Relay, Response, head_of
from benchmarks.torture.runs import BLOCK, Result, Run, Subject, kind_at
from benchmarks.torture.settling import RelayedDesk, play_relayed, relayed_desk

STATUSES: Final = (
    200, 201, 202, 204, 301, 302, 303, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408,
    409, 410, 411, 412, 413, 414, 415, 417, 418, 421, 422, 423, 424, 425, 426, 428, 429, 431, 451,
    499, 500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 524, 599,
)  # fmt: skip
PAGES: Final = {
    "its page": ("text/html", b"<!doctype html><html><h1>Blocked</h1></html>"),
    "its page as JSON": ("application/json", b"<html><h1>Gateway</h1></html>"),
    "text": ("text/plain; charset=iso-8859-1", b"Acc\xe8s refus\xe9"),
    "nothing": ("application/json", b""),
    "nothing at all": ("", b""),
    "its JSON": ("application/json", b'{"error":{"code":"FORBIDDEN","message":"Blocked"}}'),
    "a gateway's JSON": ("application/json", b'{"message":"Forbidden"}'),
    "a problem": (
        "application/problem+json",
        b'{"type":"about:blank","title":"Not allowed","status":403,"code":"VALIDATION_ERROR"}',
    ),
    "a framework's JSON": (
        "application/json",
        b'{"timestamp":"2026-11-02T08:00:00Z","status":403,"error":"Forbidden","path":"/"}',
    ),
    "success false": ("application/json", b'{"success":false}'),
    "no errors": ("application/json", b'{"success":false,"errors":[]}'),
    "errors without a code": (
        "application/json", b'{"success":false,"errors":[{"message":"blocked"}]}',
    ),
    "errors of text": ("application/json", b'{"success":false,"errors":["FORBIDDEN"]}'),
    "errors without success": ("application/json", b'{"errors":[{"code":"VALIDATION_ERROR"}]}'),
    "success true": ("application/json", b'{"success":true}'),
    "success and no result": ("application/json", b'{"success":true,"result":null}'),
    "success false as text": (
        "application/json", b'{"success":"false","errors":[{"code":"VALIDATION_ERROR"}]}',
    ),
}  # fmt: skip
NEVER_THE_SERVICE: Final = (301, 302, 307, 407, 408, 421, 425, 428, 451, 499, 502, 503, 504, 511)
"""Statuses that never mean a refusal by the service, with any body."""
SERVICE_SHAPE: Final = (
    b'{"success":false,"errors":[{"code":"VALIDATION_ERROR","message":"Not allowed."}]}'
)


class Plan(NamedTuple):
    """How often a write is forwarded, how it is answered and how often, and how reads are answered.

    `delay` is the number of seconds before the answer to a write.
    """

    forwards: int
    answer: str
    status: int
    writes: int
    reads: str
    delay: float


def draw(random: Random, seed: int, number: int) -> tuple[str, Plan]:
    """Draw a plan for the next kind."""
    answer = random.choices(
        ("page", "shape", "cut short", "cached", "continue", "mislabelled", "cut", "passed on"),
        (60, 10, 5, 6, 5, 4, 4, 6),
    )[0]
    status = random.choice(NEVER_THE_SERVICE if answer == "shape" else STATUSES)
    forwards = random.choices((0, 1, 2), (15, 70, 15))[0]
    if answer == "page":
        answer = random.choice([*PAGES])
    if answer in {"passed on", "mislabelled"}:
        forwards = max(1, forwards)
    return kind_at(seed, number), Plan(
        forwards,
        answer,
        status,
        writes=random.choice((1, 1, 2, 99)),
        reads=random.choices(("pass", "cached", "its page"), (70, 15, 15))[0],
        delay=random.choices((0.0, 0.02, 1.3), (80, 18, 2))[0],
    )


def writes_as(plan: Plan) -> Callable[[Exchange], None]:
    """Return the proxy's handler of writes."""

    def act(exchange: Exchange) -> None:
        response = None
        for _ in range(plan.forwards):
            response = exchange.forward()
        exchange.wait(plan.delay)
        _answer(plan, exchange, response)

    return act


def _answer(plan: Plan, exchange: Exchange, response: Response | None) -> None:
    headers = ("Location: /blocked",) if 300 <= plan.status < 400 else ()
    media_type, body = PAGES.get(plan.answer, PAGES["its page"])
    match plan.answer:
        case "shape":
            media_type, body = "application/json", SERVICE_SHAPE
        case "cut short":
            exchange.write(head_of(plan.status, media_type, len(body) + 1000) + body)
            exchange.hang_up()
            return
        case "cached":
            stale = exchange.cached()
            if stale is not None:
                exchange.write(stale.wire)
                return
        case "continue":
            exchange.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 200)
        case "mislabelled" if response is not None:
            exchange.write(response._replace(media_type="text/html").wire)
            return
        case "passed on" if response is not None:
            exchange.write(response.wire)
            return
        case "cut":
            exchange.hang_up()
            return
    if plan.status in {204, 304}:
        body = b""
    exchange.write(head_of(plan.status, media_type, len(body), *headers) + body)


def reads_as(plan: Plan) -> Callable[[Exchange], None] | None:
    """Return the proxy's handler of reads; None if reads are forwarded unchanged."""

    def cached(exchange: Exchange) -> None:
        exchange.write((exchange.cached() or exchange.forward()).wire)

    def page(exchange: Exchange) -> None:
        media_type, body = PAGES["its page"]
        exchange.write(head_of(403, media_type, len(body)) + body)

    acts: dict[str, Callable[[Exchange], None]] = {"cached": cached, "its page": page}
    return acts.get(plan.reads)


def play(desk: RelayedDesk, run: Run) -> Result:
    """Execute through the proxy, settle without it, and count the effects."""

    def misbehave(relay: Relay) -> None:
        relay.on_write, relay.writes_left = writes_as(run.plan), run.plan.writes
        relay.on_read = reads_as(run.plan)

    return play_relayed(desk, run, misbehave)


PROXY: Final = Subject("proxy", BLOCK * 120, draw, play, relayed_desk)
