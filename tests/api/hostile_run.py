"""Calls a hostile service with the default limits; prints each error, then the peak memory in MB.

A test runs it in a separate process. Arguments: the service's address, the name of the variable
with the secret, a folder for a lake, and the names of the calls to make.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fake_service import services_at

from treasury.api import Client
from treasury.core.errors import TreasuryError
from treasury.core.settings import Credential
from treasury.extract import TABLES, Scope, sync
from treasury.lake import Lake


def drained(records: Any) -> None:
    for _ in records:
        pass


def main(base: str, variable: str, folder: str, *asked: str) -> None:
    lake = Lake(Path(folder), TABLES)
    requests = Scope(tables=frozenset({"ramp_requests"}), details=0)
    transfers = Scope(tables=frozenset({"transfers"}))
    now = datetime(2026, 11, 2, tzinfo=UTC)
    questions: dict[str, Callable[[Client], Any]] = {
        "body": lambda client: client.request("GET", "/huge"),
        "chunked": lambda client: client.request("GET", "/chunked"),
        "bomb": lambda client: client.request("GET", "/bomb"),
        "continues": lambda client: client.request("GET", "/continues"),
        "tiny": lambda client: client.request("GET", "/tiny"),
        "deep": lambda client: client.request("GET", "/deep"),
        "pages": lambda client: drained(client.finance.parties.iterate(size=1000)),
        "sync": lambda client: sync(client, lake, now, scope=requests),
        "transfers": lambda client: sync(client, lake, now, scope=transfers),
    }
    with Client(services_at(base), Credential("harbour-maker", f"env:{variable}")) as client:
        for name in asked:
            try:
                questions[name](client)
            except TreasuryError as error:
                sys.stdout.write(f"{name}: {type(error).__name__}: {error}\n")
    status = Path("/proc/self/status").read_text()
    sys.stdout.write(f"peak {int(status.partition('VmHWM:')[2].split()[0]) // 1024}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
