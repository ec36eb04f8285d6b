"""Benchmark of matching on generated worlds: precision and recall by kind of line.

    python -m benchmarks.matching_proof [SEEDS] [EACH] [FIRST]

A world is a set of lines and expectations with known correct matches. Worlds, kinds and limits are
those of the tests, with EACH lines (or scenes of several lines) of every kind in each of SEEDS
worlds, from world FIRST on. The exit code is 1 if a guarantee of the contract is broken.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path

SEEDS, EACH = 20, 9
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "matching"))

from mangled import draw  # noqa: E402 - the tests' own generator, so that both measure one thing
from mangled_figures import Figure, falls, figures, run, totals  # noqa: E402


def measure(seeds: int, each: int, first: int) -> tuple[list[Figure], list[str]]:
    """Return the results by kind over all worlds, and a description of every false match."""
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    false: list[str] = []
    for seed in range(first, first + seeds):
        world = draw(seed, each)
        matches = run(world)
        false += falls(world, matches)
        for row in figures(world, matches):
            counts = {"lines": row.lines, "matched": row.matched, "first": row.first}
            found[row.kind, row.ceiling].update(counts)
        lines = sum(counts["lines"] for counts in found.values())
        print(f"world {seed}: {lines:,} lines, {len(false)} false", file=sys.stderr, flush=True)
    rows = [Figure(kind, ceiling, **counts) for (kind, ceiling), counts in sorted(found.items())]
    return rows, false


def table(rows: list[Figure]) -> str:
    """Format the number of lines and the results of each kind as a text table."""
    head = f"{'kind':44} {'ceiling':8} {'lines':>6} {'matched':>8} {'first':>6}"
    return "\n".join(
        [head]
        + [
            f"{row.kind:44} {row.ceiling:8} {row.lines:6} {row.matched:8} "
            f"{'' if row.ceiling == 'never' else row.first:>6}"
            for row in rows
        ]
    )


def publish(seeds: int = SEEDS, each: int = EACH, first: int = 1) -> bool:
    """Print the results by kind; return whether all guarantees of the contract hold."""
    rows, false = measure(seeds, each, first)
    total = totals(rows, len(false))
    print(table(rows))
    print(f"\n{total.lines} lines of {len({row.kind for row in rows})} kinds in {seeds} worlds")
    print(f"false automatic matches: {total.false_matches}")
    print(f"matched of the matchable lines: {total.auto_matched / total.auto:.2%} of {total.auto}")
    print(f"right candidate first: {total.first / total.findable:.2%} of {total.findable}")
    for words in false[:20]:
        print("FALSE", words)
    enough = total.auto_matched >= 0.95 * total.auto and total.first >= 0.99 * total.findable
    return enough and not false


if __name__ == "__main__":
    sys.exit(not publish(*(int(argument) for argument in sys.argv[1:])))
