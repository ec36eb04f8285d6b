"""Execute the actions of each input line, each in a process that is cut off at a named point.

A cut kills the process, or stops it with SIGSTOP until the parent reads the next line.

The parent has one thread and has imported all modules, so that each line only needs a fast `fork`.
The child cuts at the two points that matter: journal entries, and the one request that writes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from benchmarks.torture.addresses import LIMITS, settings_for
from treasury.actions import Actions
from treasury.actions.execution.sending_fence import SendingFence
from treasury.api import Client
from treasury.api.exchange.network import Network
from treasury.core.errors import TreasuryError
from treasury.core.machine.boot_clock import BootTime, boot_time
from treasury.journal import Actor, Draft, Entry, Journal

_SENDING = "action.sending"


_SIGNALS: list[signal.Signals] = []
"""Signal of the next cut; a process is cut at most once."""


def cut() -> None:
    """Stop the process without clean-up, like a power cut or a closed laptop."""
    if _SIGNALS:
        os.kill(os.getpid(), _SIGNALS.pop())


class CutJournal(Journal):
    """A journal that cuts the process before, inside or after the transaction of an entry."""

    point = ""
    _entry = ""

    def extend(self, drafts: Any, **condition: Any) -> list[Entry] | None:
        self._entry = _entry_name(drafts)
        if self.point == f"before the {self._entry} entry":
            cut()
        added = super().extend(drafts, **condition)
        if self.point == f"after the {self._entry} entry":
            cut()
        return added

    def _add(self, *what: Any) -> list[Entry]:
        added = super()._add(*what)
        if self.point == f"inside the {self._entry} entry":
            cut()
        return added


def _entry_name(drafts: list[Draft]) -> str:
    return "first" if any(draft.kind == _SENDING for draft in drafts) else "last"


class CutTransport(httpx.BaseTransport):
    """A transport that cuts the process during the write with a given number."""

    def __init__(self, point: str, occurrence: int) -> None:
        self._inner = Network(connections=4, trust_env=False, is_encrypted=False)
        self._point = point
        self._left = occurrence

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET" or request.url.path.endswith("/token"):
            return self._inner.handle_request(request)
        self._left -= 1
        if self._left:
            return self._inner.handle_request(request)
        if self._point == "before the request":
            cut()
        if self._point == "half of the request" and request.content:
            request.stream = _Half(request.content)
        if self._point == "while the service works":
            # By default SIGALRM ends the process immediately.
            signal.setitimer(signal.ITIMER_REAL, 0.012)
        response = self._inner.handle_request(request)
        if self._point == "before the answer is read":
            cut()
        return response

    def close(self) -> None:
        self._inner.close()


class _Half(httpx.SyncByteStream):
    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self) -> Iterator[bytes]:
        half = len(self._content) // 2
        yield self._content[:half]
        cut()
        yield self._content[half:]


def execute(spec: dict[str, Any]) -> str:
    """Execute one listed action; return how it ended unless it was cut off."""
    settings = settings_for(spec["base_url"], spec["clients"])
    now = datetime.fromisoformat(spec["now"])
    assert settings.services is not None
    services = settings.services
    inner = CutTransport(spec["point"], spec["occurrence"])
    clients: dict[str, Client] = {}

    def connect(name: str) -> Client:
        if name not in clients:
            credential = settings.credential(name)
            clients[name] = Client(services, credential, limits=LIMITS, inner=inner)
        return clients[name]

    if spec["point"] == "after the last check":
        _cut_after_check()
    folder = Path(spec["folder"])
    journal = CutJournal(spec.get("journal") or folder, folder=folder, now=lambda: now)
    who = Actor(spec["person"], "environment")
    clocks = _clocks(Path(spec["ahead"])) if "ahead" in spec else {}
    actions = Actions(
        journal, connect, settings, lambda: now, folder=folder, who=lambda: who, **clocks
    )
    # Earlier entries must be read before the cut.
    actions.list()
    journal.point = spec["point"]
    _SIGNALS[:] = [signal.SIGSTOP if spec.get("freezes") else signal.SIGKILL]
    try:
        return actions.execute(spec["action"]).state
    except TreasuryError as error:
        return type(error).__name__


def _cut_after_check() -> None:
    """Cut between the last check of the content and the system call that sends the content."""
    check = SendingFence.before_bytes

    def checked(fence: SendingFence, has_begun: bool) -> None:
        check(fence, has_begun)
        if has_begun:
            cut()

    SendingFence.before_bytes = checked  # type: ignore[method-assign]


def _clocks(ahead: Path) -> dict[str, Any]:
    """Return the machine's clocks, moved forward by the seconds in a file."""

    def wall() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=int(ahead.read_text()))

    def boot() -> BootTime:
        now = boot_time()
        return BootTime(now.boot, now.milliseconds + 1000 * int(ahead.read_text()))

    return {"wall": wall, "boot": boot}


def _await(child: int) -> int:
    """Return a child's wait status.

    If the child is stopped, print "stopped", and continue it after the next line of standard input.
    """
    _, status = os.waitpid(child, os.WUNTRACED)
    while os.WIFSTOPPED(status):
        print(json.dumps("stopped"), flush=True)
        sys.stdin.readline()
        os.kill(child, signal.SIGCONT)
        _, status = os.waitpid(child, os.WUNTRACED)
    return status


def main() -> None:
    for line in iter(sys.stdin.readline, ""):
        specs = json.loads(line)
        running = {}
        for spec in specs:
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reader)
                os.write(writer, execute(spec).encode())
                os._exit(0)
            os.close(writer)
            running[child] = reader
        endings = []
        for child, reader in running.items():
            with os.fdopen(reader) as pipe:
                status = _await(child)
                ending = pipe.read()
            # A cut ends the child by a signal, so an exit status is an unexpected error.
            if os.WIFEXITED(status) and status:
                raise SystemExit("a process failed without being cut off")
            endings.append("killed" if status else ending)
        print(json.dumps(endings), flush=True)


if __name__ == "__main__":
    main()
