"""A process that writes one commit; it kills itself at a write point, or waits to be killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lake_samples import BALANCES, REQUESTS, WALLETS, balances, day, requests, small_lake, wallets

from treasury.lake import Lake, delta


class Stopped(Exception):
    """Stands for the process's end where the test stays in one process."""


def write(lake: Lake) -> None:
    """One commit that changes, adds, marks, appends and makes tables."""
    with lake.writer("sync", day(1)) as writer:
        writer.upsert(REQUESTS, requests(a="DONE", b="HELD", d="OPEN"), complete=True)
        writer.append(BALANCES, balances("3"))
        writer.upsert(WALLETS, wallets(w={"id": "w"}))


@contextmanager
def stopping(at: int, how: object) -> Iterator[list[int]]:
    """Call `how` at the given write point: before and after each change on disk is one."""
    original = delta._writing
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

    delta._writing = counted
    try:
        yield count
    finally:
        delta._writing = original


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[2] == "hold":
        with small_lake(Path(sys.argv[1])).writer("holding", day(1)):
            sys.stdout.write("holding\n")
            sys.stdout.flush()
            sys.stdin.read()
    else:
        with stopping(int(sys.argv[2]), killed):
            write(small_lake(Path(sys.argv[1])))
