"""A process that writes one commit and kills itself at a write point, or waits to be killed."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lake_samples import BALANCES, REQUESTS, WALLETS, balances, day, requests, small_lake, wallets

from treasury.lake import Lake
from treasury.lake.store import disk


class Stopped(Exception):
    """The simulated end of a process, in tests that stay in one process."""


def write(lake: Lake) -> None:
    """Make one commit that changes, adds and marks requests, and writes the other tables."""
    with lake.writer("sync", day(60)) as writer:
        writer.upsert(REQUESTS, requests(a="DONE", b="HELD", d="OPEN"), complete=True)
        writer.append(BALANCES, balances("3"))
        writer.upsert(WALLETS, wallets(w={"id": "w"}))


@contextmanager
def stopping(at: int, how: object) -> Iterator[list[int]]:
    """Call `how` at the write point with the number `at`; yield the number of points so far.

    Write points are before and after each change on disk.
    """
    original = disk.writing
    count = [0]

    def passed() -> None:
        if count[0] == at:
            assert callable(how)
            how()
        count[0] += 1

    @contextmanager
    def counted(folder: Path) -> Iterator[None]:
        with original(folder):
            passed()
            yield
        passed()

    disk.writing = counted
    try:
        yield count
    finally:
        disk.writing = original


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_at_each_point(root: Path, points: Iterable[int]) -> None:
    """Copy `root/desk` for each write point, and write to the copy in a process that dies there."""
    for point in points:
        folder = root / f"killed-{point}"
        shutil.copytree(root / "desk", folder)
        killed_at(folder, point)


def killed_at(folder: Path, point: int) -> None:
    """Write in a process that dies at a write point, and print its exit code."""
    process = os.fork()
    if not process:
        with stopping(point, killed):
            write(small_lake(folder))
        os._exit(0)
    _, status = os.waitpid(process, 0)
    sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")


def hold(folder: Path) -> None:
    """Hold the lock for writing until standard input closes."""
    with small_lake(folder).writer("holding", day(1)):
        sys.stdout.write("holding\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hold", place]:
            hold(Path(place))
        case ["each", place, *points]:
            killed_at_each_point(Path(place), map(int, points))
        case ["there", place, *points]:
            for point in map(int, points):
                killed_at(Path(place), point)
