"""A run, what came of it, and whether the promise held.

The promise: never more than one effect; done only with its effect and refused only without; and
every sending ends as done or unknown. Only a kind without version and without a look-up by key may
end as unknown, and a transfer between two accounts that did not take effect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from treasury.actions import KINDS

__all__ = [
    "BLOCK",
    "BROKEN",
    "NOT_PLAYED",
    "OUTCOMES",
    "Result",
    "Run",
    "Step",
    "Subject",
    "draws",
    "judge",
    "judge_copies",
    "kind_at",
    "may_stay_unknown",
]

BLOCK: Final = 26
"""How many runs share a company: each kind once, and few enough that lists stay short."""
NOT_PLAYED: Final = "NOT PLAYED"
BROKEN: Final = ("DOUBLED", "CALLED DONE", "CALLED REFUSED", "LOST", "LET THROUGH", NOT_PLAYED)
"""The outcomes that break a promise, or prove nothing.

Doubled: more than one effect. Called done, or refused: and it is not so. Lost: sent, and in the end
neither done nor, where nobody can tell, unknown. Let through: decided or sent on an edited journal.
"""
OUTCOMES: Final = ("done, 1", "unknown, 1", "unknown, 0", "not sent", "beyond us", *BROKEN)
"""The rows of the summary; the number is that of the effects.

Not sent: as it should be on an edited journal, or where the action was taken back. Beyond us: a
proxy sent what we sent once again by itself, or a journal was rewritten together with everything
that could show it.
"""
DENIALS: Final = frozenset({"ready", "refused", "lapsed"})
"""States that say that nothing was carried out."""


class Run(NamedTuple):
    """One run: its class, the seed and number that it is drawn from, and what they amount to."""

    subject: str
    seed: int
    number: int
    kind: str
    plan: Any

    @property
    def command(self) -> str:
        """How to repeat it."""
        options = f"--class {self.subject} --seed {self.seed} --run {self.number}"
        return f"python -m benchmarks.torture {options}"


class Step(NamedTuple):
    """Where the action stands after a step, and how often it has taken effect by then."""

    state: str
    effects: int


class Result(NamedTuple):
    """What came of a run: how the execution ended, each step, and whether the promise held."""

    run: Run
    ended: str
    steps: tuple[Step, ...]
    outcome: str
    why: str = ""
    """What is wrong, where the promise did not hold."""


class Subject(NamedTuple):
    """A class of runs: how many there are in all, how one is drawn, how one is played."""

    name: str
    count: int
    draw: Callable[[Random, int, int], tuple[str, Any]]
    """Kind and plan, from the run's own random numbers, the seed and the number."""
    play: Callable[[Any, Run], Result]
    """Plays a run in what `enter` opened."""
    enter: Callable[[Any], Any]
    """Opens what a block of runs shares, around a company."""


def draws(subject: Subject, seed: int, numbers: Sequence[int]) -> list[Run]:
    """The runs of a class that have these numbers."""
    runs = []
    for number in numbers:
        kind, plan = subject.draw(Random(f"{subject.name} {seed} {number}"), seed, number)
        runs.append(Run(subject.name, seed, number, kind, plan))
    return runs


def kind_at(seed: int, number: int) -> str:
    """The kind of a run: all of them in turn, in an order of the seed's."""
    names = list(KINDS)
    Random(f"kinds {seed}").shuffle(names)
    return names[number % len(names)]


def judge(
    run: Run, ended: str, steps: Sequence[Step], *, by_others: int = 0, outlasted: int = 0
) -> Result:
    """Whether an action that was executed and settled kept the promise.

    The effects are those that we caused; `by_others` counts those that something on the way caused
    by sending again what we sent once, `outlasted` the answers without an end that were listened to
    until they were given up at the other side.
    """
    last, effects = steps[-1]

    def result(outcome: str, why: str = "") -> Result:
        return Result(run, ended, tuple(steps), outcome, why)

    if effects > 1:
        return result("DOUBLED", f"took effect {effects} times")
    denied = next((one.state for one in steps if one.state in DENIALS and one.effects), "")
    if denied:
        return result("CALLED REFUSED", f"is called {denied} and took effect")
    if last == "done" and not effects:
        return result("CALLED DONE", "is called done and took no effect")
    if ended != "killed" and any(one.state == "sending" for one in steps):
        return result("LOST", f"is left in sending by {ended}")
    if outlasted:
        return result("LOST", "is kept waiting by an answer without an end, far past its deadline")
    if by_others:
        return result("beyond us")
    if last == "unknown" and not may_stay_unknown(run.kind, took_effect=bool(effects)):
        return result("LOST", f"is called unknown, although it is {KINDS[run.kind].safety}")
    if last in {"done", "unknown"}:
        return result(f"{last}, {effects}")
    return result("LOST", f"is {last} after it was settled")


def may_stay_unknown(name: str, *, took_effect: bool) -> bool:
    """Whether `recover` may leave a kind to a person.

    The practice company lists transfers between two accounts without key and reference, so that
    one is missing there proves nothing.
    """
    kind = KINDS[name]
    if kind.safety == "keyed" and kind.look_up is not None:
        return name == "account_transfer.create" and not took_effect
    return kind.safety != "versioned"


def judge_copies(run: Run, ended: str, steps: Sequence[Step]) -> Result:
    """Whether an action that was executed from several copies took effect at most once.

    The steps are where each copy has it. What a copy does not know of, it may call anything but
    done; one that calls it done has to be right.
    """
    effects = steps[-1].effects
    states = {one.state for one in steps}

    def result(outcome: str, why: str = "") -> Result:
        return Result(run, ended, tuple(steps), outcome, why)

    if effects > 1:
        return result("DOUBLED", f"took effect {effects} times")
    if "done" in states:
        if not effects:
            return result("CALLED DONE", "is called done and took no effect")
        return result("done, 1")
    if "sending" in states:
        return result("LOST", f"is left in sending by {ended}")
    if "unknown" in states:
        return result(f"unknown, {effects}")
    if effects:
        return result("CALLED REFUSED", f"is called {' and '.join(sorted(states))} everywhere")
    return result("LOST", "was executed from nowhere")
