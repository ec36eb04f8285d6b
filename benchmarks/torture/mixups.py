"""Class `mixups`: answers to other requests, as after a wrong cache key or mixed-up connections.

Each answer is a complete and well-formed answer of a service, but belongs to another request. The
write itself may have arrived. The hardest case is the answer to another action of the same kind,
which is executed at the company for this purpose.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Final, NamedTuple

from benchmarks.torture.company import Company
from benchmarks.torture.relay import Exchange, Relay, Response
from benchmarks.torture.runs import BLOCK, Result, Run, Subject, kind_at
from benchmarks.torture.settling import RelayedDesk, play_relayed, relayed_desk

_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ALIKE: Final = frozenset({"wallet.create", "account.reactivate"})
"""Kinds whose answers do not differ visibly.

Wallets of an account on one chain differ only in a new id, and the company has one suspended
account.
"""
_OTHER_CONTENT: Final = {
    "payment_request.create": {"amount": "0.03"},
    "payment_session.create": {"in_amount": "6.00"},
}
"""Fields of the other action, for kinds whose answer does not show the number of the run."""


class Plan(NamedTuple):
    """Whether the write arrives, how it is answered and how often, and how reads are answered."""

    arrives: bool
    answer: str
    writes: int
    reads: str
    is_early: bool
    """Whether reads are mixed up before the write as well."""


def draw(random: Random, seed: int, number: int) -> tuple[str, Plan]:
    """Draw a plan for the next kind."""
    return kind_at(seed, number), Plan(
        arrives=random.random() < 0.4,
        answer=random.choices(
            ("same kind", "a read", "an earlier write", "surplus", "own"), (50, 20, 10, 15, 5)
        )[0],
        writes=random.choice((1, 1, 2, 99)),
        reads=random.choices(("own", "another", "surplus"), (40, 40, 20))[0],
        is_early=random.random() < 0.3,
    )


class _Mixer:
    """The answers that a run mixes up, including those to earlier requests of the block."""

    def __init__(self, company: Company, run: Run) -> None:
        self._company = company
        self._kind: str = run.kind
        self._plan: Plan = run.plan
        self._random = Random(f"mixups {run.seed} {run.number}")

    def write(self, exchange: Exchange) -> None:
        """Answer a write as planned, usually with the answer to another request."""
        own = exchange.forward() if self._plan.arrives else None
        match self._plan.answer:
            case "own":
                own = own or exchange.forward()
                exchange.write(own.wire)
            case "surplus":
                own = own or exchange.forward()
                exchange.write(own.wire + self._same_kind(exchange).wire)
            case "a read":
                exchange.write(self._read_of_another(exchange).wire)
            case "an earlier write":
                exchange.write(self._earlier(exchange).wire)
            case _:
                exchange.write(self._same_kind(exchange).wire)

    def read(self, exchange: Exchange) -> None:
        """Answer a read with another record's answer, or with several answers."""
        own = exchange.forward()
        other = self._read_of_another(exchange)
        exchange.write(other.wire if self._plan.reads == "another" else own.wire + other.wire)

    def _same_kind(self, exchange: Exchange) -> Response:
        if self._kind in _ALIKE:
            return self._read_of_another(exchange)
        content = _OTHER_CONTENT.get(self._kind, {})
        body = self._company.answer_to_another(self._kind, content)
        return Response(200, "application/json", body)

    def _read_of_another(self, exchange: Exchange) -> Response:
        """Return a stored answer of this route for another id, else of any other path.

        If there is none, return the request's own answer.
        """
        route = _ID.sub("*", exchange.path)
        others = {path: one for path, one in exchange.remembered.items() if path != exchange.path}
        same = [one for path, one in others.items() if _ID.sub("*", path) == route]
        return self._random.choice(same or [*others.values()] or [exchange.forward()])

    def _earlier(self, exchange: Exchange) -> Response:
        earlier = exchange.answered[:-1] if self._plan.arrives else exchange.answered
        return self._random.choice(earlier or [self._read_of_another(exchange)])


def play(desk: RelayedDesk, run: Run) -> Result:
    """Execute while answers are mixed up, settle when they are correct, and count the effects."""
    plan: Plan = run.plan

    def misbehave(relay: Relay) -> None:
        mixer = _Mixer(desk.company, run)
        act: Callable[[Exchange], None] | None = mixer.read if plan.reads != "own" else None
        relay.on_write, relay.writes_left = mixer.write, plan.writes
        relay.on_read = act
        relay.on_early_read = act if plan.is_early else None

    return play_relayed(desk, run, misbehave)


MIXUPS: Final = Subject("mixups", BLOCK * 20, draw, play, relayed_desk)
