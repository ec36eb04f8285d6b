"""A desk (a workspace) behind a relay, and the steps of a person after a faulty answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from benchmarks.torture.company import Company, clients_at
from benchmarks.torture.desk import Desk, ready_action
from benchmarks.torture.relay import Relay, relayed
from benchmarks.torture.runs import Result, Run, Step, judge
from treasury.actions import Action
from treasury.api import CallLimits, Client

__all__ = ["RelayedDesk", "play_relayed", "relayed_desk"]

HASTY: Final = CallLimits(
    deadline=1.0, connect=1.0, read=1.0, attempts=3, first_pause=0.005, longest_pause=0.01
)
"""Short timeouts for the execution, so that an endless answer costs one second."""


class RelayedDesk(NamedTuple):
    """The state that a block of runs shares: the company, the relay, and clients that reach it."""

    company: Company
    relay: Relay
    patient: Mapping[str, Client]
    hasty: Mapping[str, Client]


@contextmanager
def relayed_desk(company: Company) -> Iterator[RelayedDesk]:
    """Run a relay in front of a company, with clients that use it."""
    with (
        relayed(company) as relay,
        clients_at(company, relay.base_url) as patient,
        clients_at(company, relay.base_url, HASTY) as hasty,
    ):
        yield RelayedDesk(company, relay, patient, hasty)


def play_relayed(bench: RelayedDesk, run: Run, misbehave: Callable[[Relay], None]) -> Result:
    """Execute while the relay misbehaves, settle after it is normal, and count the effects.

    A refused action is proposed, approved and executed again, as a person would do.
    """
    company, relay = bench.company, bench.relay
    relay.begin()
    desk = Desk(company.new_folder(), company, relay.base_url, bench.patient)
    try:
        action = ready_action(desk, company, run.kind)
        before = company.effects(action)
        steps: list[Step] = []

        def note(one: Action) -> str:
            effects = company.effects(action) - before - relay.repeated
            steps.append(Step(desk.state(one.id), effects))
            return steps[-1].state

        desk.use(bench.hasty)
        misbehave(relay)
        ended = desk.execute(action.id)
        note(action)
        desk.recover(action.id)
        note(action)
        relay.clear()
        desk.use(bench.patient)
        company.settle()
        desk.recover(action.id)
        if note(action) == "ready":
            desk.execute(action.id)
            note(action)
        once_more = desk.again(action.id) if steps[-1].state == "refused" else None
        if once_more is not None:
            desk.execute(once_more.id)
            note(once_more)
        return judge(run, ended, steps, by_others=relay.repeated, outlasted=relay.outlasted)
    finally:
        relay.clear()
        desk.close()
