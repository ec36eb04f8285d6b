"""A process that syncs, finishes one task, prints a line and waits to be killed.

Other modes die without help: `frame N BYTES` dies while it writes the N-th detail. `each 0 3 6 …`
syncs a copy of the workspace per write point and dies there; `there 0 3 6 …` syncs the workspace
itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path

from treasury.api import Client
from treasury.core.settings import Credential, Service, Services
from treasury.extract import TABLES, sync
from treasury.extract import sync_staging as staging_room
from treasury.extract.sync_staging import LENGTH, Staged
from treasury.lake import Lake
from treasury.lake.store import disk


class StopAt:
    def __init__(self, task: str) -> None:
        self.task = task

    def start(self, task: str, total: int) -> None:
        pass

    def advance(self, task: str) -> None:
        pass

    def finish(self, task: str) -> None:
        if task == self.task:
            sys.stdout.write(f"reached {task}\n")
            sys.stdout.flush()
            threading.Event().wait(60)


def die_keeping(last: int, size: int) -> None:
    """Let the process die when the first `size` bytes of detail number `last` are on the disk."""
    original, kept = Staged.keep, [0]

    def keep(self: Staged, detail: bytes) -> None:
        kept[0] += 1
        if kept[0] < last:
            original(self, detail)
            return
        self.close()
        with self._path.open("ab") as file:
            file.write((len(detail).to_bytes(LENGTH, "big") + detail)[:size])
        os.kill(os.getpid(), signal.SIGKILL)

    Staged.keep = keep  # type: ignore[method-assign]  # replaced so that the process dies here


@contextmanager
def counted(last: int | None = None) -> Iterator[list[int]]:
    """Count the write points, before and after each change on disk; the process dies at `last`."""
    count = [0]

    def passed() -> None:
        if count[0] == last:
            os.kill(os.getpid(), signal.SIGKILL)
        count[0] += 1

    def counting(
        original: Callable[[Path], AbstractContextManager[None]],
    ) -> Callable[[Path], AbstractContextManager[None]]:
        @contextmanager
        def point(place: Path) -> Iterator[None]:
            with original(place):
                passed()
                yield
            passed()

        return point

    originals = disk.writing, staging_room.storing
    disk.writing, staging_room.storing = map(counting, originals)
    try:
        yield count
    finally:
        disk.writing, staging_room.storing = originals


def killed_at_each(
    base: str, folder: str, now: str, points: Iterable[int], *, copied: bool
) -> None:
    """Sync once per write point, in a copy or in place, and print how each process ended."""
    for point in points:
        place = folder
        if copied:
            place = f"{folder}-{point}"
            shutil.copytree(folder, place)
        process = os.fork()
        if not process:
            with counted(point):
                main(base, place, now, "none")
            os._exit(0)
        _, status = os.waitpid(process, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")


def main(base: str, folder: str, now: str, task: str, *more: str) -> None:
    if task in {"each", "there"}:
        killed_at_each(base, folder, now, map(int, more), copied=task == "each")
        return
    if task == "frame":
        die_keeping(*map(int, more))
    services = Services(
        token_url=f"{base}/oauth/token",
        finance=Service(f"{base}/finance/v1"),
        ramp=Service(f"{base}/ramp/v1"),
    )
    credential = Credential("harbour-maker", f"file:{folder}/maker.secret")
    with Client(services, credential) as client:
        lake = Lake(Path(folder), TABLES)
        sync(client, lake, datetime.fromisoformat(now), progress=StopAt(task))


if __name__ == "__main__":
    main(*sys.argv[1:])
