"""The classes of runs with their numbers of runs, and the execution of a block of runs."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from itertools import groupby

from benchmarks.torture.company import open_company
from benchmarks.torture.edits import EDITED
from benchmarks.torture.hostile import HOSTILE
from benchmarks.torture.kills import KILLS
from benchmarks.torture.mixups import MIXUPS
from benchmarks.torture.pauses import FORGOTTEN, FROZEN, SLEEPS
from benchmarks.torture.proxy import PROXY
from benchmarks.torture.runs import BLOCK, NOT_PLAYED, Result, Run, Subject, draws
from benchmarks.torture.team import TEAM
from benchmarks.torture.workspaces import COPIED, RESTORED

__all__ = ["SUBJECTS", "Share", "play", "sample", "shares"]

SUBJECTS = {
    subject.name: subject
    for subject in (
        KILLS,
        PROXY,
        HOSTILE,
        MIXUPS,
        RESTORED,
        COPIED,
        EDITED,
        TEAM,
        SLEEPS,
        FROZEN,
        FORGOTTEN,
    )
}
Share = tuple[str, int, tuple[int, ...]]
"""A block, the runs that share a company: class, seed and numbers."""


def sample(count: int | None, names: Sequence[str]) -> dict[str, int]:
    """Return the number of runs of each class: all, or `count` in proportion to their sizes."""
    counts = {name: SUBJECTS[name].count for name in names}
    whole = sum(counts.values())
    if count is None or count >= whole:
        return counts
    return {name: max(1, round(count * number / whole)) for name, number in counts.items()}


def play(share: Share) -> list[Result]:
    """Execute runs one after another at one company."""
    name, seed, numbers = share
    subject = SUBJECTS[name]
    with open_company() as company, subject.enter(company) as bench:
        return [_play_one(subject, bench, run) for run in draws(subject, seed, numbers)]


def _play_one(subject: Subject, bench: object, run: Run) -> Result:
    try:
        return subject.play(bench, run)
    except Exception:  # noqa: BLE001 - a run that fails must not end the others
        return Result(run, "", (), NOT_PLAYED, traceback.format_exc())


def shares(counts: dict[str, int], seed: int) -> Iterator[Share]:
    """Yield the blocks; a block always has the same runs."""
    for name, count in counts.items():
        for _, block in groupby(range(count), key=lambda number: number // BLOCK):
            yield name, seed, tuple(block)
