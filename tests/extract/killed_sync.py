"""A process that syncs until it is done with one task, says so and waits to be killed."""

from __future__ import annotations

import sys
import threading
from datetime import datetime
from pathlib import Path

from treasury.api import Client
from treasury.extract import TABLES, sync
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


def main(base: str, folder: str, now: str, task: str) -> None:
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
