"""Runs of an attack, their results, and the judgement of whether the guarantee held.

The guarantee: at most one effect; *done* only with an effect, *refused* only without; every sending
ends as *done* or *unknown*. Only these may stay unknown: a kind without a version and without a
look-up by key, and a transfer between two accounts that did not take effect.
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

BLOCK: Final = len(KINDS)
"""Number of runs that share a company: each kind once, so that lists stay short."""
NOT_PLAYED: Final = "NOT PLAYED"
BROKEN: Final = ("DOUBLED", "CALLED DONE", "CALLED REFUSED", "LOST", "LET THROUGH", NOT_PLAYED)
"""The outcomes of runs that break the guarantee or prove nothing.

DOUBLED: more than one effect. CALLED DONE, CALLED REFUSED: the state is false. LOST: sent, but in
the end neither done nor rightly unknown. LET THROUGH: a decision or sending relied on an edited
journal, or a withdrawn action was sent. NOT PLAYED: the run itself failed.
"""
OUTCOMES: Final = ("done, 1", "unknown, 1", "unknown, 0", "not sent", "beyond us", *BROKEN)
"""The rows of the summary; a number in a row's name is the number of effects.

Not sent: correct on an edited journal, if the action was withdrawn, or if it lapsed after a long
pause. Beyond us: a proxy repeated the request by itself, or a journal was rewritten together with
all evidence.
"""
DENIALS: Final = frozenset({"ready", "refused", "lapsed"})
"""States that mean that the action was not carried out."""


class Run(NamedTuple):
    """One run: its class, the seed and number it is drawn from, and the drawn kind and plan."""

    subject: str
    seed: int
    number: int
    kind: str
    plan: Any

    @property
    def command(self) -> str:
        """Return the command that repeats the run."""
        options = f"--class {self.subject} --seed {self.seed} --run {self.number}"
        return f"python -m benchmarks.torture {options}"


class Step(NamedTuple):
    """The state of the action after a step, and its number of effects so far."""

    state: str
    effects: int


class Result(NamedTuple):
    """The result of a run: how the execution ended, its steps, and whether the guarantee held."""

    run: Run
    ended: str
    steps: tuple[Step, ...]
    outcome: str
    why: str = ""
    """The problem, if the guarantee did not hold."""


class Subject(NamedTuple):
    """A class of runs: its number of runs, and the functions that draw and execute a run."""

    name: str
    count: int
    draw: Callable[[Random, int, int], tuple[str, Any]]
    """Function that returns kind and plan, from the run's random numbers, seed and number."""
    play: Callable[[Any, Run], Result]
    """Function that executes a run with the state that `enter` opened."""
    enter: Callable[[Any], Any]
    """Function that opens the state that a block of runs shares, for a company."""


def draws(subject: Subject, seed: int, numbers: Sequence[int]) -> list[Run]:
    """Return the runs of a class with these numbers."""
    runs = []
    for number in numbers:
        kind, plan = subject.draw(Random(f"{subject.name} {seed} {number}"), seed, number)
        runs.append(Run(subject.name, seed, number, kind, plan))
    return runs


def kind_at(seed: int, number: int) -> str:
    """Return the kind of a run: all kinds in turn, in an order that depends on the seed."""
    names = list(KINDS)
    Random(f"kinds {seed}").shuffle(names)
    return names[number % len(names)]


def judge(
    run: Run, ended: str, steps: Sequence[Step], *, by_others: int = 0, outlasted: int = 0
) -> Result:
    """Judge whether the guarantee held for an action that was executed and settled.

    The steps count the effects of the desk's own requests. `by_others` counts effects of requests
    that an intermediary repeated, and `outlasted` the endless answers that the desk read until the
    other side gave up.
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
        return result("LOST", f"is still in sending; the execution ended as {ended}")
    if outlasted:
        return result("LOST", "is kept waiting by an answer without an end, far past its deadline")
    if by_others:
        return result("beyond us")
    if last == "unknown" and not may_stay_unknown(run.kind, took_effect=bool(effects)):
        return result("LOST", f"is called unknown, although it is {KINDS[run.kind].safety}")
    if last in {"done", "unknown"}:
        return result(f"{last}, {effects}")
    return result("LOST", f"is {last} after settling")


def may_stay_unknown(name: str, *, took_effect: bool) -> bool:
    """Return whether `recover` may leave an action of this kind to a person.

    The practice company lists transfers between two accounts without key and reference, so a
    missing one proves nothing.
    """
    kind = KINDS[name]
    if kind.safety == "keyed" and kind.look_up is not None:
        return name == "account_transfer.create" and not took_effect
    return kind.safety != "versioned"


def judge_copies(run: Run, ended: str, steps: Sequence[Step]) -> Result:
    """Judge whether an action that was executed from several copies took effect at most once.

    Each step is the state in one copy. A copy that does not know the effect may have any state
    except done; a copy with the state done must be right.
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
        return result("LOST", f"is still in sending; the execution ended as {ended}")
    if "unknown" in states:
        return result(f"unknown, {effects}")
    if effects:
        return result("CALLED REFUSED", f"is called {' and '.join(sorted(states))} everywhere")
    return result("LOST", "was executed from no copy")
