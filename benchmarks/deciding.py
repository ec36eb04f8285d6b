"""A decision about a line of a month, until the list of open lines is right again.

    python -m benchmarks.deciding [DECISIONS]

In the practice company's workspace suggestions are accepted one after another. After each the list
of the panel of matches is made: with the run that is kept, and, in turns, with everything matched
from the records. Medians of the wall and of processor time.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from treasury.panels.matches_panel import list_tables
from treasury.reconcile.engine.kept_run import forget_runs
from treasury.workspace import Workspace

DECISIONS = 16


def decided(desk: Workspace, row: dict[str, str]) -> tuple[float, float]:
    """Accept a line's suggestion and make the lists: seconds of the wall, and of processor time."""
    wall, cpu = time.perf_counter(), processor()
    desk.matches.accept(row["entry_id"], row["suggestion"], reason="measured")
    list_tables(*desk.matches.look())
    return time.perf_counter() - wall, processor() - cpu


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main(decisions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo = [Path(sys.executable).with_name("treasury"), "demo"]
        subprocess.run(demo, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        desk = Workspace(Path(folder) / "data" / "workspace")
        waiting = [row for row in desk.matches.open().to_pylist() if row["suggestion"]]
        found: dict[str, list[tuple[float, float]]] = {"kept": [], "anew": []}
        for at, row in enumerate(waiting[: decisions + 2]):
            side = ("kept", "anew")[at % 2]
            if side == "anew":
                forget_runs()
            seconds = decided(desk, row)
            if at >= 2:  # what is imported and planned once is no decision's
                found[side].append(seconds)
        lines = desk.reconcile("2026-10").lines.num_rows
    for side, runs in found.items():
        wall, cpu = (statistics.median(one[n] for one in runs) for n in (0, 1))
        print(f"{side:<5} {wall:.3f} s  {cpu:.3f} s processor  median of {len(runs)}")
    ratio = statistics.median(one[1] for one in found["anew"]) / statistics.median(
        one[1] for one in found["kept"]
    )
    print(f"a month of {lines} lines: {ratio:.1f} times as fast as everything anew")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DECISIONS)
