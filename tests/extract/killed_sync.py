"""A process that syncs until it is done with one task, says so and waits to be killed.

Or that dies by itself while it keeps a detail: `frame N BYTES` writes so much of the N-th.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import datetime
from pathlib import Path

from treasury.api import Client
from treasury.extract import TABLES, sync
from treasury.extract.staging import LENGTH, Staged
from treasury.lake import Lake
from treasury.settings import Credential, Service, Services


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
    """Kill the process when so many bytes of the `last` detail are on the disk."""
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

    Staged.keep = keep  # type: ignore[method-assign]  # the process is made to die here


def main(base: str, folder: str, now: str, task: str, *frame: str) -> None:
    if task == "frame":
        die_keeping(*map(int, frame))
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
