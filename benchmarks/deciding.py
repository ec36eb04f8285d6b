"""Benchmark of the time from a decision about a bank line to the updated list of open lines.

    python -m benchmarks.deciding [DECISIONS]

Accepts one suggestion after another in the practice company's workspace. After each decision, the
list of the matches panel is built from the cached run; after every second one, all records are
matched again first. Prints medians of wall-clock and processor time.

`treasury status` is measured before and after the decisions, in new processes. The minimum of
processor time is printed, because other work on the machine only increases it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from treasury.month.kept_run import forget_runs
from treasury.panels.matches_panel import list_tables
from treasury.workspace import Workspace

DECISIONS = 16
STARTS = 8


def decided(desk: Workspace, row: dict[str, str]) -> tuple[float, float]:
    """Accept a line's suggestion and rebuild the lists; return wall-clock and processor seconds."""
    wall, cpu = time.perf_counter(), processor()
    desk.matches.accept(row["entry_id"], row["suggestion"], reason="measured")
    list_tables(*desk.matches.look())
    return time.perf_counter() - wall, processor() - cpu


def started(*arguments: str) -> float:
    """Return the minimum processor seconds of several runs of a command with cached bytecode."""
    command = [str(Path(sys.executable).with_name("treasury")), *arguments]
    names = os.environ.keys() - {"PYTHONDONTWRITEBYTECODE"}
    environment = {name: os.environ[name] for name in names}
    spent = []
    for _ in range(STARTS):
        before = processor(resource.RUSAGE_CHILDREN)
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        spent.append(processor(resource.RUSAGE_CHILDREN) - before)
    return min(spent)


def processor(whose: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


def main(decisions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        demo = [Path(sys.executable).with_name("treasury"), "demo"]
        subprocess.run(demo, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        desk = Workspace(Path(folder) / "data" / "workspace")
        status = ("--workspace", str(desk.folder), "status")
        starts = {"--version": started("--version"), "status": started(*status)}
        waiting = [row for row in desk.matches.open().arrow.to_pylist() if row["suggestion"]]
        runs: dict[str, list[tuple[float, float]]] = {"kept": [], "anew": []}
        for at, row in enumerate(waiting[: decisions + 2]):
            side = ("kept", "anew")[at % 2]
            if side == "anew":
                forget_runs()
            seconds = decided(desk, row)
            # The first decisions include imports and query planning, so they are not measured.
            if at >= 2:
                runs[side].append(seconds)
        lines = desk.reconcile("2026-10").lines.arrow.num_rows
        starts["status, with decisions"] = started(*status)
    for name, seconds in starts.items():
        print(f"treasury {name}: {seconds:.2f} s processor")
    for side, seconds_of in runs.items():
        wall, cpu = (statistics.median(run[n] for run in seconds_of) for n in (0, 1))
        print(f"{side:<5} {wall:.3f} s  {cpu:.3f} s processor  median of {len(seconds_of)}")
    ratio = statistics.median(run[1] for run in runs["anew"]) / statistics.median(
        run[1] for run in runs["kept"]
    )
    print(f"a month of {lines} lines: {ratio:.1f} times as fast as matching all records again")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DECISIONS)
