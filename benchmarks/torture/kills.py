"""Class `kills`: the execution of each kind of action is cut at each point under each fault.

After each cut the action is recovered as by a person: at once, and after the settling time. An
action that was not sent is executed again and must take effect once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cache
from itertools import product
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.torture.addresses import settings_for
from benchmarks.torture.company import SETTLING, Company, clients_at, path_of
from benchmarks.torture.runs import Result, Run, Step, Subject, judge
from treasury.actions import KINDS, Action, Actions
from treasury.core.errors import TreasuryError
from treasury.journal import Actor, Journal

POINTS = (
    "before the first entry",
    "inside the first entry",
    "after the first entry",
    "before the request",
    "half of the request",
    "while the service works",
    "before the answer is read",
    "before the last entry",
    "inside the last entry",
    "after the last entry",
    "never",
)
ON_WRITE = (
    "slow", "too_many", "too_many_until", "broken", "broken_after_effect",
    "dropped_before_effect", "dropped_after_effect", "dropped_halfway", "truncated", "no_result",
)  # fmt: skip
ON_LISTS = ("repeated_page", "shifted_page", "skipping_page", "stale")
FAULTS = ("none", *ON_WRITE, *ON_LISTS)


NOW: Final = datetime(2026, 11, 2, 8, tzinfo=UTC)


class Cut(NamedTuple):
    """The point and the attempt at which an execution is cut, and the fault."""

    point: str
    fault: str
    occurrence: int = 1


@cache
def matrix() -> list[tuple[str, Cut]]:
    """Return all kinds with all points and faults.

    For keyed kinds, a write that fails is also cut at its second attempt.
    """
    whole = [(kind, Cut(*rest)) for kind, *rest in product(KINDS, POINTS, FAULTS)]
    second = [
        (kind, cut._replace(occurrence=2))
        for kind, cut in whole
        if KINDS[kind].safety == "keyed" and "re" in cut.point and cut.fault in ON_WRITE
        and "entry" not in cut.point
    ]  # fmt: skip
    return whole + second


@cache
def _shuffled(seed: int) -> list[tuple[str, Cut]]:
    cuts = list(matrix())
    Random(f"kills {seed}").shuffle(cuts)
    return cuts


def draw(_: Random, seed: int, number: int) -> tuple[str, Cut]:
    """Return the item with this number of the matrix, which is shuffled by the seed."""
    return _shuffled(seed)[number % len(matrix())]


class Cutter:
    """Executions in processes that are killed, at one company."""

    def __init__(self, company: Company, stack: ExitStack) -> None:
        self._company = company
        self._settings = settings_for(company.base_url, company.client_ids)
        self._clients = stack.enter_context(clients_at(company, company.base_url))
        self._machine_time = datetime.now(UTC)

    def play(self, run: Run) -> Result:
        """Propose, approve and execute an action that is cut, settle it, and count the effects."""
        faults = self._company.sandbox.faults
        faults.clear()
        folder = self._company.new_folder()
        journal = Journal(folder, now=lambda: NOW)
        try:
            action = self._ready(journal, run.kind)
            before = self._company.effects(action)
            self._break(run.plan, action)
            [ended] = execute_lines([self._line(run.plan, str(folder), action)])
            desk, steps = self._desk(journal, "ines"), list[Step]()
            for cleared in (False, True):
                state = self._settle(desk, action, cleared=cleared)
                steps.append(Step(state, self._company.effects(action) - before))
            return judge(run, ended, steps)
        finally:
            journal.close()
            faults.clear()

    def race(self, kind: str, processes: int) -> tuple[list[str], int]:
        """Execute an action in several processes at once.

        Return how each ended, and the number of effects.
        """
        folder = self._company.new_folder()
        journal = Journal(folder, now=lambda: NOW)
        action = self._ready(journal, kind)
        before = self._company.effects(action)
        line = self._line(Cut("never", "none"), str(folder), action)
        ended = execute_lines([line | {"person": f"p{n}"} for n in range(processes)])
        journal.close()
        return ended, self._company.effects(action) - before

    def _line(self, cut: Cut, folder: str, action: Action) -> dict[str, Any]:
        return {
            "base_url": self._company.base_url,
            "clients": self._company.client_ids,
            "now": NOW.isoformat(),
            "folder": folder,
            "action": action.id,
            "person": "ines",
            "point": cut.point,
            "occurrence": cut.occurrence,
        }

    def _desk(self, journal: Journal, person: str) -> Actions:
        who = Actor(person, "environment")
        return Actions(
            journal,
            self._clients.__getitem__,
            self._settings,
            lambda: NOW,
            wall=lambda: self._machine_time,
            who=lambda: who,
        )

    def _ready(self, journal: Journal, kind: str) -> Action:
        action = self._desk(journal, "ines").propose(kind, **self._company.fields(kind))
        if action.state == "proposed":
            [action] = self._desk(journal, "jonas").approve(action.id)
        return action

    def _settle(self, desk: Actions, action: Action, *, cleared: bool) -> str:
        """Recover the action, and return its state.

        With `cleared`, the faults end and the settling time passes first, and an action that was
        not sent is executed.
        """
        self._machine_time = datetime.now(UTC)
        if cleared:
            self._company.sandbox.faults.clear()
            self._machine_time += SETTLING
        try:
            [now] = desk.recover(action.id)
            if cleared and now.state == "ready":
                now = desk.execute(action.id)
        except TreasuryError:
            now = desk.get(action.id)
        return now.state

    def _break(self, cut: Cut, action: Action) -> None:
        faults, path = self._company.sandbox.faults, path_of(action)
        method = KINDS[action.kind].method
        if cut.fault in ON_WRITE:
            faults.add(path, method=method, name=cut.fault)
        elif cut.fault in ON_LISTS:
            for prefix in ("/finance", "/ramp"):
                faults.add(prefix, method="GET", name=cut.fault, times=6)
        if cut.point == "while the service works":
            faults.add(path, method=method, delay=0.03)


@cache
def _parent() -> subprocess.Popen[str]:
    """Return the process that forks the children; one process serves all blocks."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.torture.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )


def end_parent() -> None:
    """End the process that forks the children; the next execution starts a new one."""
    if _parent.cache_info().currsize:
        parent = _parent()
        _parent.cache_clear()
        with parent:
            assert parent.stdin is not None
            parent.stdin.close()


def execute_lines(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Start executions at once, each in its own process; return how each ended."""
    parent = _parent()
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write(json.dumps(list(lines)) + "\n")
    parent.stdin.flush()
    endings: list[str] = json.loads(parent.stdout.readline())
    return endings


def execute_frozen(line: dict[str, Any], meanwhile: Callable[[], None]) -> str:
    """Stop an execution at its point, run `meanwhile`, continue it, and return how it ended."""
    parent = _parent()
    assert parent.stdin is not None
    assert parent.stdout is not None
    parent.stdin.write(json.dumps([line | {"freezes": True}]) + "\n")
    parent.stdin.flush()
    answer = json.loads(parent.stdout.readline())
    if answer == "stopped":
        try:
            meanwhile()
        finally:
            parent.stdin.write("\n")
            parent.stdin.flush()
            answer = json.loads(parent.stdout.readline())
    [ending] = answer
    return str(ending)


@contextmanager
def enter(company: Company) -> Iterator[Cutter]:
    """Open the state that a block of kills shares."""
    with ExitStack() as stack:
        yield Cutter(company, stack)


KILLS: Final = Subject("kills", len(matrix()), draw, Cutter.play, enter)
