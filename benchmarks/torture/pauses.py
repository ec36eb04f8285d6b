"""Classes `sleeps`, `frozen`, `forgotten`: pauses that the sender does not notice.

While a sender is stopped, days may pass at the company, and its service may forget idempotency
keys. A colleague recovers the action, or settles it truthfully as not carried out and executes a
second one. Then the sender continues. Both actions together may take effect only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, NamedTuple

import httpx
import msgspec

from benchmarks.torture.addresses import LIMITS, settings_for
from benchmarks.torture.company import Company, clients_at, path_of
from benchmarks.torture.desk import Desk, ready_action
from benchmarks.torture.kills import execute_frozen
from benchmarks.torture.runs import BLOCK, DENIALS, Result, Run, Step, Subject, judge, kind_at
from treasury.actions import KINDS, Action
from treasury.api import Client
from treasury.api.exchange.network import Network
from treasury.core.machine.boot_clock import boot_time

MINUTES: Final = (1, 3, 5, 60, 23 * 60, 60 * 60)
"""Minutes for which a sender is stopped; the service remembers keys for at most a day."""
_KEYS_ARE_OLD: Final = 23 * 60
"""Minutes after which a key is no longer retried, so that its outcome may stay unknown."""
FAULTS: Final = ("none", "dropped_before_effect", "dropped_after_effect", "too_many", "broken")
COLLEAGUES: Final = ("nothing", "recovers", "has it done anew")
CLOCKS: Final = ("both go on", "wall stands still", "boot stands still")
FROZEN_AT: Final = (
    "after the first entry", "before the request", "half of the request",
    "before the answer is read", "before the last entry",
)  # fmt: skip


class PausePlan(NamedTuple):
    """The point and length of a pause, the events during the pause, and the sender's clocks.

    `occurrence` is the number of the request at which the sender stops; `actions` is the number of
    actions in the batch.
    """

    point: str
    occurrence: int
    minutes: int
    fault: str
    forgets: bool
    colleague: str
    clocks: str
    actions: int


def draw(random: Random, seed: int, number: int) -> tuple[str, PausePlan]:
    """Draw a sleep of the desk's machine."""
    return kind_at(seed, number), PausePlan(
        random.choice(("before", "before", "after")),
        occurrence=random.choice((1, 1, 2)),
        minutes=random.choice(MINUTES),
        fault=random.choice(FAULTS),
        forgets=random.random() < 0.5,
        colleague=random.choice(COLLEAGUES),
        clocks=random.choice(CLOCKS),
        actions=random.choice((1, 1, 3)),
    )


def draw_frozen(random: Random, seed: int, number: int) -> tuple[str, PausePlan]:
    """Draw a process that is stopped while both clocks of its machine run."""
    kind, plan = draw(random, seed, number)
    return kind, plan._replace(point=random.choice(FROZEN_AT), clocks=CLOCKS[0], actions=1)


def draw_forgotten(random: Random, seed: int, number: int) -> tuple[str, PausePlan]:
    """Draw a lost answer, after which the service forgets the key before recovery."""
    kind, plan = draw(random, seed, number)
    fault = random.choice(("dropped_before_effect", "dropped_after_effect"))
    return kind, plan._replace(point="the end", forgets=True, fault=fault, actions=1)


class Pausing(httpx.BaseTransport):
    """A transport that pauses once at a write."""

    def __init__(self) -> None:
        self._inner = Network(connections=4, trust_env=False, is_encrypted=False)
        self._point, self._left, self._pause = "", 0, _nothing

    def arm(self, point: str, occurrence: int, pause: Callable[[], None]) -> None:
        """Pause before or after the write with this number."""
        self._point, self._left, self._pause = point, occurrence, pause

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET" or request.url.path.endswith("/token"):
            return self._inner.handle_request(request)
        self._left -= 1
        is_it = self._left == 0
        if is_it and self._point == "before":
            self._pause()
        response = self._inner.handle_request(request)
        if is_it and self._point == "after":
            self._pause()
        return response

    def close(self) -> None:
        self._inner.close()


def _nothing() -> None:
    pass


class Bench(NamedTuple):
    """The company of a block of runs, clients that may be stopped, and a colleague's clients."""

    company: Company
    network: Pausing
    clients: Mapping[str, Client]
    others: Mapping[str, Client]


@contextmanager
def enter(company: Company) -> Iterator[Bench]:
    """Open the clients of a company."""
    settings, network = settings_for(company.base_url, company.client_ids), Pausing()
    assert settings.services is not None
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(
                Client(settings.services, settings.credential(name), limits=LIMITS, inner=network)
            )
            for name in company.client_ids
        }
        yield Bench(
            company, network, clients, stack.enter_context(clients_at(company, company.base_url))
        )


class _Wish:
    """An intended effect, which may happen once, by the sender's action or a colleague's."""

    def __init__(self, bench: Bench, run: Run) -> None:
        self.company, self.plan = bench.company, run.plan
        self._bench, self._run = bench, run
        self.folder = self.company.new_folder()
        self.company.sandbox.faults.clear()
        self.desk = self._open(self.folder, bench.clients, **self._clocks())
        self.actions = [
            ready_action(self.desk, self.company, run.kind) for _ in range(self.plan.actions)
        ]
        self._before = {one.id: self.company.effects(one) for one in self.actions}
        self._anew: Action | None = None
        self._steps: list[Step] = []

    def _open(self, folder: Any, clients: Mapping[str, Client], **clocks: Any) -> Desk:
        return Desk(folder, self.company, self.company.base_url, clients, **clocks)

    def _clocks(self) -> dict[str, Any]:
        """Return the sender's clocks, of which one may stand still while the machine sleeps."""
        ahead = self.company.machine_time() - datetime.now(UTC)
        stood, milliseconds = self.plan.clocks, ahead // timedelta(milliseconds=1)

        def boot() -> Any:
            now = boot_time()
            return msgspec.structs.replace(now, milliseconds=now.milliseconds + milliseconds)

        clocks: dict[str, Any] = {
            CLOCKS[1]: {"wall": lambda: datetime.now(UTC) + ahead},
            CLOCKS[2]: {"boot": boot},
        }
        return dict(clocks.get(stood, {}))

    @property
    def first(self) -> Action:
        """Return the action at which the sender stops."""
        return self.actions[0]

    def break_service(self) -> None:
        """Let the service fail once as planned."""
        if self.plan.fault != "none":
            method = KINDS[self.first.kind].method
            self.company.sandbox.faults.add(
                path_of(self.first), method=method, name=self.plan.fault
            )

    def pause(self) -> None:
        """Let time pass at the company, and a colleague act, while the sender does not run."""
        self.company.sandbox.faults.clear()
        self.company.wait(timedelta(minutes=self.plan.minutes))
        if self.plan.forgets:
            self.company.forget_keys()
        if self.plan.colleague == "nothing":
            return
        colleague = self._open(self.folder, self._bench.others)
        try:
            if colleague.recover(self.first.id) == "ready":
                colleague.execute(self.first.id)
            # The provider would answer truthfully, so the answer is read from the effects.
            if self.plan.colleague == "has it done anew" and not self.effects():
                anew = colleague.anew(self.first.id)
                if anew is not None and colleague.execute(anew.id) == "done":
                    self._anew = anew
        finally:
            colleague.close()

    def effects(self) -> int:
        """Count the effects of all actions together, from both desks."""
        paths = {path_of(one): one for one in self.actions}
        return sum(self.company.effects(one) - self._before[one.id] for one in paths.values())

    def note(self) -> str:
        """Record the state of the first action and the number of its effects."""
        own = self.effects() - (self._anew is not None)
        self._steps.append(Step(self.desk.state(self.first.id), own))
        return self._steps[-1].state

    def settle(self) -> None:
        """Recover the actions like a person who waits long enough; execute those not sent."""
        self.company.sandbox.faults.clear()
        self.desk.close()
        self.desk = self._open(self.folder, self._bench.others)
        self.company.settle()
        for one in self.actions:
            self.desk.recover(one.id)
            if self.desk.state(one.id) == "ready" and not (self._anew and one is self.first):
                self.desk.execute(one.id)
        self.note()

    def judge(self, ended: str) -> Result:
        """Judge whether each action took effect at most once, and its state is true."""
        if len(self.actions) > 1:
            return self._judge_batch(ended)
        effects, last = self.effects(), self._steps[-1]
        if effects > 1:
            why = f"took effect {effects} times"
            return Result(self._run, ended, tuple(self._steps), "DOUBLED", why)
        if self._anew is not None and last == Step("refused", 0):
            return Result(self._run, ended, tuple(self._steps), "done, 1")
        if last.state == "unknown" and self.plan.minutes >= _KEYS_ARE_OLD:
            return Result(self._run, ended, tuple(self._steps), f"unknown, {effects}")
        is_listed = KINDS[self._run.kind].twins is not None
        if last == Step("lapsed", 0) and self.plan.minutes >= _KEYS_ARE_OLD and not is_listed:
            # The service may have forgotten the key, and no list shows an effect.
            return Result(self._run, ended, tuple(self._steps), "not sent")
        return judge(self._run, ended, self._steps)

    def _judge_batch(self, ended: str) -> Result:
        """Judge a batch by the total of effects, because its actions may share a path."""
        effects = self.effects()
        states = [self.desk.state(one.id) for one in self.actions]
        if self._anew is not None:
            states.append("done")
        denied = sum(state in DENIALS for state in states)
        outcome, why = f"unknown, {int(bool(effects))}", ""
        if effects > len(self.actions):
            outcome, why = "DOUBLED", f"{len(self.actions)} took effect {effects} times"
        elif states.count("done") > effects:
            outcome, why = "CALLED DONE", f"{states} took effect {effects} times"
        elif effects > len(states) - denied:
            outcome, why = "CALLED REFUSED", f"{states} took effect {effects} times"
        elif "sending" in states:
            outcome, why = "LOST", f"{states} after settling"
        elif "unknown" not in states:
            outcome = "done, 1"
        return Result(self._run, ended, tuple(self._steps), outcome, why)


@contextmanager
def wish(bench: Bench, run: Run) -> Iterator[_Wish]:
    """Yield a wish with actions that are ready to be executed; close its desk afterwards."""
    one = _Wish(bench, run)
    try:
        yield one
    finally:
        one.desk.close()


def play_sleep(bench: Bench, run: Run) -> Result:
    """Execute on a machine that sleeps at one point, and settle the action."""
    with wish(bench, run) as one:
        one.break_service()
        bench.network.arm(run.plan.point, run.plan.occurrence, one.pause)
        ended = one.desk.execute_all([action.id for action in one.actions])
        bench.network.arm("", 0, _nothing)
        one.note()
        one.settle()
        return one.judge(ended)


def play_forgotten(bench: Bench, run: Run) -> Result:
    """Execute with a lost answer, have the service forget the key, and recover the action."""
    with wish(bench, run) as one:
        for _ in range(LIMITS.attempts):
            one.break_service()
        ended = one.desk.execute(one.first.id)
        one.pause()
        one.desk.recover(one.first.id)
        one.note()
        one.settle()
        return one.judge(ended)


def play_frozen(bench: Bench, run: Run) -> Result:
    """Execute in a process that is stopped with SIGSTOP and continued, and settle the action."""
    with wish(bench, run) as one:
        ended = execute_stopped(bench, one)
        one.note()
        one.settle()
        return one.judge(ended)


def execute_stopped(bench: Bench, wish: _Wish) -> str:
    """Execute in a process that is stopped at its point and continued; return how it ended."""
    ahead = wish.folder / "ahead"

    def set_clocks() -> None:
        seconds = (bench.company.machine_time() - datetime.now(UTC)) // timedelta(seconds=1)
        ahead.write_text(str(seconds))

    def meanwhile() -> None:
        wish.pause()
        set_clocks()

    wish.break_service()
    set_clocks()
    line = {
        "base_url": bench.company.base_url,
        "clients": bench.company.client_ids,
        "now": bench.company.now.isoformat(),
        "folder": str(wish.folder),
        "action": wish.first.id,
        "person": "ines",
        "point": wish.plan.point,
        "occurrence": wish.plan.occurrence,
        "ahead": str(ahead),
    }
    return execute_frozen(line, meanwhile)


SLEEPS: Final = Subject("sleeps", BLOCK * 20, draw, play_sleep, enter)
FROZEN: Final = Subject("frozen", BLOCK * 20, draw_frozen, play_frozen, enter)
FORGOTTEN: Final = Subject("forgotten", BLOCK * 20, draw_forgotten, play_forgotten, enter)
