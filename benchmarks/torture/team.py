"""Two desks (workspaces) of a team, with one journal in PostgreSQL and one home for their lakes.

A person proposes an action at one desk, and another person approves it at the other desk. Then one
or both desks execute it, each in a process that may be killed, while a desk may sync. Another
person settles the action. Both desks must show all decisions, and the action must take effect once,
however often it was executed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Final, NamedTuple

from benchmarks.postgres_server import binaries, serving
from benchmarks.torture.company import Company
from benchmarks.torture.desk import Desk
from benchmarks.torture.kills import FAULTS, NOW, POINTS, Cut, Cutter, execute_lines
from benchmarks.torture.runs import BLOCK, Result, Run, Step, Subject, judge, kind_at
from treasury.actions import Action, Actions
from treasury.core.errors import TreasuryError
from treasury.journal import Actor, Journal

PEOPLE: Final = ("ines", "jonas")
"""The person at each desk."""


class TeamPlan(NamedTuple):
    """The part of each desk; the desks are numbered 0 and 1.

    With `takes_back` the proposal is withdrawn while it is approved. `presses` has the desks that
    execute at the same time, each with the point at which its process is killed. `syncs` is the
    desk that syncs meanwhile, or None. `settles` is the desk that recovers first. `cuts_off` is the
    number of seconds until the database ends all connections, or None.
    """

    maker: int
    takes_back: bool
    presses: tuple[tuple[int, Cut], ...]
    syncs: int | None
    settles: int
    cuts_off: float | None


def draw(random: Random, seed: int, number: int) -> tuple[str, TeamPlan]:
    """Draw a plan for the next kind; the service fails in every third run."""
    fault = random.choice(FAULTS[1:]) if random.random() < 1 / 3 else "none"

    def cut() -> Cut:
        return Cut(random.choice(POINTS), fault)

    first = random.randrange(2)
    presses = [(first, cut())]
    if random.random() < 2 / 3:
        presses.append((1 - first, cut() if random.random() < 0.5 else Cut("never", fault)))
    return kind_at(seed, number), TeamPlan(
        random.randrange(2),
        takes_back=random.random() < 0.15,
        presses=tuple(presses),
        syncs=random.choice((None, None, 0, 1)),
        settles=random.randrange(2),
        cuts_off=random.uniform(0, 0.6) if random.random() < 0.15 else None,
    )


class Team(Cutter):
    """Two desks of one company, each with a lake; the home and the journal are shared."""

    def __init__(self, company: Company, stack: ExitStack) -> None:
        super().__init__(company, stack)
        programs = binaries()
        assert programs is not None, "PostgreSQL is not installed (Debian package postgresql)"
        self._server = stack.enter_context(serving(programs))
        self._url = self._server.new_url()
        home = company.new_folder()
        home.parent.mkdir(parents=True, exist_ok=True)
        shared = f'\n[lake]\nhome = "{home}"\n\n[journal]\nurl = "{self._url}"\n'
        self._desks = [
            Desk(company.new_folder(), company, company.base_url, self._clients, shared)
            for _ in PEOPLE
        ]
        for desk in self._desks:
            stack.callback(desk.close_clients)
        self._journals = [
            Journal(self._url, folder=desk.folder, now=lambda: NOW) for desk in self._desks
        ]
        for journal in self._journals:
            stack.callback(journal.close)
        self._people = [self._at(*place) for place in zip(self._desks, PEOPLE, strict=True)]

    def _at(self, desk: Desk, person: str) -> Actions:
        journal, who = self._journals[self._desks.index(desk)], Actor(person, "environment")
        return Actions(
            journal,
            self._clients.__getitem__,
            self._settings,
            lambda: NOW,
            folder=desk.folder,
            snapshot=desk.lake.snapshot,
            wall=lambda: self._machine_time,
            who=lambda: who,
        )

    def play(self, run: Run) -> Result:
        """Propose at one desk, approve at the other, execute at one or both, and settle at both."""
        plan: TeamPlan = run.plan
        faults = self._company.sandbox.faults
        faults.clear()
        maker, checker = self._people[plan.maker], self._people[1 - plan.maker]
        try:
            action = maker.propose(run.kind, **self._company.fields(run.kind))
            before = self._company.effects(action)
            if action.state == "proposed":
                _decide(maker, checker, action, takes_back=plan.takes_back)
            self._break(plan.presses[0][1], action)
            with self._syncing(plan.syncs), self._cutting_off(plan.cuts_off):
                ended = execute_lines(
                    [
                        self._line(cut, str(self._desks[place].folder), action)
                        | {"person": PEOPLE[place], "journal": self._url}
                        for place, cut in plan.presses
                    ]
                )
            steps = []
            for cleared, place in ((False, plan.settles), (True, 1 - plan.settles)):
                state = self._settle(self._people[place], action, cleared=cleared)
                steps.append(Step(state, self._company.effects(action) - before))
            return self._judged(run, ended, steps, action)
        finally:
            faults.clear()

    @contextmanager
    def _syncing(self, place: int | None) -> Iterator[None]:
        """Sync at one desk, and pull at both afterwards."""
        if place is None:
            yield
            return
        failures: list[BaseException] = []
        sync = threading.Thread(target=_caught, args=(self._desks[place].sync, failures))
        sync.start()
        yield
        sync.join()
        if failures:
            raise failures[0]
        for desk in self._desks:
            assert desk.lake.sharing is not None
            desk.lake.sharing.pull()

    @contextmanager
    def _cutting_off(self, after: float | None) -> Iterator[None]:
        """After some seconds, end all database connections of both desks and their executions."""
        if after is None:
            yield
            return
        cut = threading.Timer(after, self._cut_off)
        cut.start()
        yield
        cut.join()

    def _cut_off(self) -> None:
        with self._server.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname LIKE 'journal%' AND pid <> pg_backend_pid()"
            )

    def _judged(self, run: Run, ended: list[str], steps: list[Step], action: Action) -> Result:
        """Judge whether the guarantee held, and whether both desks have the same data."""
        words = " and ".join(ended)
        states = [person.get(action.id).state for person in self._people]
        entries = [journal.entries() for journal in self._journals]
        commits = [desk.lake.last_commit() for desk in self._desks]
        problem = ""
        if len({*states, steps[-1].state}) > 1:
            problem = f"is {' here and '.join(states)} there, and was {steps[-1].state}"
        elif entries[0] != entries[1]:
            problem = "left journals that differ"
        elif run.plan.syncs is not None and commits[0] != commits[1]:
            problem = "left desks on different commits"
        if problem:
            return Result(run, words, tuple(steps), "LOST", problem)
        if steps[-1].state == "withdrawn":
            why = "was withdrawn and sent" if any(step.effects for step in steps) else ""
            outcome = "LET THROUGH" if why else "not sent"
            return Result(run, words, tuple(steps), outcome, why)
        return judge(run, "killed" if "killed" in ended else words, steps)


def _decide(maker: Actions, checker: Actions, action: Action, *, takes_back: bool) -> None:
    """Approve another person's proposal, which may be withdrawn at the same moment."""
    failures: list[BaseException] = []
    decisions: list[Callable[[], object]] = [lambda: checker.approve(action.id)]
    if takes_back:
        decisions.append(lambda: maker.withdraw(action.id))
    threads = [threading.Thread(target=_caught, args=(decide, failures)) for decide in decisions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        # The slower one of the two decisions is refused.
        if not (takes_back and isinstance(failure, TreasuryError)):
            raise failure


def _caught(work: Callable[[], object], failures: list[BaseException]) -> None:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - raised again by the waiting thread
        failures.append(error)


@contextmanager
def enter(company: Company) -> Iterator[Team]:
    """Open the state that a block of runs shares."""
    with ExitStack() as stack:
        yield Team(company, stack)


TEAM: Final = Subject("team", BLOCK * 20, draw, Team.play, enter)
