"""Execute runs on all cores and print their outcomes; the package's docstring has the classes."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from multiprocessing.pool import Pool

from benchmarks import power_cut
from benchmarks.torture.playing import SUBJECTS, Share, play, sample, shares
from benchmarks.torture.runs import BLOCK, BROKEN, OUTCOMES, Result

POWER_CUT = "power-cut"
"""Class that checks disks instead of actions; an intact disk counts as `all there`."""
RUNS_A_MOMENT = 100
"""One moment of a power cut is simulated for this many sampled runs."""
Ends = Counter[tuple[str, str]]
"""Number of runs by outcome and class."""


def _report(ends: Ends, names: Sequence[str]) -> None:
    """Print a row for each outcome with a column for each class."""
    print(f"{'':<16}" + "".join(f"{name:>10}" for name in (*names, "all")))
    for outcome in ("all there", *OUTCOMES):
        counts = [ends[outcome, name] for name in names]
        print(f"{outcome:<16}" + "".join(f"{count:>10}" for count in (*counts, sum(counts))))


def _print_broken(results: Iterable[Result]) -> None:
    for result in results:
        if result.outcome in BROKEN:
            plan = f"{result.run.kind} {result.run.plan}"
            print(f"{result.outcome}: {result.why}\n  {plan}\n  {result.run.command}", flush=True)


def _play_all(pool: Pool, blocks: Sequence[Share], began: float) -> list[Result]:
    """Execute all blocks of runs, and print each failure at once."""
    results: list[Result] = []
    for block in pool.imap_unordered(play, blocks):
        _print_broken(block)
        results += block
        if len(results) // 500 > (len(results) - len(block)) // 500:
            print(f"{len(results)} runs, {time.monotonic() - began:.0f} s", flush=True)
    return results


def _count_disks(looked: int, broken: Sequence[power_cut.Broken]) -> Ends:
    for one in broken:
        print(f"LOST: {one.what}\n  {one}\n  python -m benchmarks.power_cut", flush=True)
    return Counter(
        {("all there", POWER_CUT): looked - len(broken), ("LOST", POWER_CUT): len(broken)}
    )


def _attack(names: Sequence[str], count: int | None, seed: int, workers: int) -> tuple[Ends, int]:
    """Play the classes' shares; return the outcomes and the number of killed executions."""
    began = time.monotonic()
    counts = sample(count, [name for name in names if name in SUBJECTS])
    moments = None if count is None else max(1, count // RUNS_A_MOMENT)
    with get_context("spawn").Pool(workers) as pool:
        cut = None
        # The power cuts start first, because they cannot be divided among processes.
        if POWER_CUT in names:
            cut = pool.apply_async(power_cut.run, kwds={"sample": moments, "seed": seed})
        results = _play_all(pool, list(shares(counts, seed)), began)
        ends = Counter((result.outcome, result.run.subject) for result in results)
        if cut is not None:
            ends += _count_disks(*cut.get())
    return ends, sum(result.ended == "killed" for result in results)


def main() -> None:
    every = (*SUBJECTS, POWER_CUT)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--class", dest="names", default=",".join(every), help="Classes; default: all."
    )
    parser.add_argument("--sample", type=int, help="Number of runs; default: all.")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument(
        "--run",
        type=int,
        help="Number of a single run; the earlier runs of its block are played first.",
    )
    parser.add_argument("--workers", type=int, default=(os.cpu_count() or 1) + 1)
    given = parser.parse_args()
    names = given.names.split(",")
    if unknown := ", ".join(name for name in names if name not in every):
        parser.error(f"unknown class {unknown}; the classes are {', '.join(every)}")
    if given.run is not None and (len(names) > 1 or names == [POWER_CUT]):
        parser.error("--run needs --class with one class of runs")
    began = time.monotonic()
    if given.run is None:
        ends, killed = _attack(names, given.sample, given.seed, given.workers)
    else:
        first = given.run // BLOCK * BLOCK
        [*_, result] = play((names[0], given.seed, tuple(range(first, given.run + 1))))
        print(result)
        _print_broken([result])
        ends, killed = Counter([(result.outcome, names[0])]), int(result.ended == "killed")
    _report(ends, names)
    broken = sum(count for (outcome, _), count in ends.items() if outcome in BROKEN)
    print(
        f"{ends.total()} runs in {time.monotonic() - began:.0f} s, {killed} of them killed;"
        f" broken promises: {broken}"
    )
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    main()
