"""A watch repeats each of its parts until it is stopped, even if other parts fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from treasury.core.errors import (
    BadCredentials,
    NoticeError,
    ServiceUnreachable,
    SettingsError,
    StorageError,
    TreasuryError,
    WorkspaceLocked,
)
from treasury.workspace.upkeep.watch import PartState, WatchedPart, WatchState, read_state, watch

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
EVERY = timedelta(minutes=5)


class Watching:
    """A watch over scripted syncs; its clock moves only when it waits."""

    def __init__(self, folder: Path, *outcomes: TreasuryError | None) -> None:
        self.folder = folder
        self.seconds = 0.0
        self.waits: list[float] = []
        self.told: list[PartState] = []
        self._outcomes = list(outcomes)
        self.parts = [self.part("sync", self.sync)]

    def part(self, name: str, work: Callable[[], str], every: timedelta = EVERY) -> WatchedPart:
        return WatchedPart(name=name, work=lambda _: work(), every=every, patience=every)

    @property
    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.seconds)

    def sync(self) -> str:
        outcome = self._outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return "0 tables: 0 new, 0 changed, 0 vanished"

    def wait(self, seconds: float) -> bool:
        if seconds:
            self.waits.append(seconds)
            self.seconds += seconds
        return not self._outcomes

    def run(self) -> WatchState:
        try:
            watch(
                self.parts,
                self.folder,
                now=lambda: self.now,
                seconds=lambda: self.seconds,
                wait=self.wait,
                tell=self.told.append,
            )
        finally:
            state = read_state(self.folder)
        assert state is not None
        return state


def outage() -> ServiceUnreachable:
    return ServiceUnreachable("no answer", do="check the network")


def test_watch_repeats_sync_and_wait_until_stopped(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None, None, None)
    state = watching.run()
    assert watching.waits == [300, 300]
    assert [part.doing for part in watching.told] == ["waiting"] * 3
    assert state.doing == "stopped"
    (sync,) = state.parts
    assert sync.succeeded_at == NOON + 2 * EVERY
    assert sync.brought == "0 tables: 0 new, 0 changed, 0 vanished"


def test_an_outage_is_retried_at_growing_intervals(tmp_path: Path) -> None:
    trouble = [outage() for _ in range(6)]
    watching = Watching(tmp_path, None, *trouble, WorkspaceLocked("somebody writes"), None)
    state = watching.run()
    assert watching.waits == [300, 15, 30, 60, 120, 240, 300, 300]
    assert [part.failures for part in watching.told] == [0, 1, 2, 3, 4, 5, 6, 7, 0]
    assert state.parts[0].error == ""


def test_a_failure_is_reported_with_a_remedy_and_the_last_success(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None, outage())
    state = watching.run()
    (sync,) = state.parts
    assert (sync.succeeded_at, sync.failures) == (NOON, 1)
    assert state.sentence(NOON + timedelta(hours=2)) == (
        "watching was stopped, last sync 2 h ago; sync failed 1 time: no answer - check the network"
    )


def test_an_error_that_ends_one_part_leaves_the_others_running(tmp_path: Path) -> None:
    watching = Watching(tmp_path, BadCredentials("refused"))
    looks: list[float] = []

    def look() -> str:
        looks.append(watching.seconds)
        return "no file"

    watching.parts += [watching.part("inbox", look, timedelta(seconds=10))]
    watching.wait = lambda seconds: _passed(watching, seconds) or len(looks) == 3  # type: ignore[method-assign]
    state = watching.run()
    assert looks == [0, 10, 20]
    assert [part.doing for part in state.parts] == ["ended", "waiting"]
    assert "sync ended: refused" in state.sentence(NOON)


def _passed(watching: Watching, seconds: float) -> bool:
    watching.seconds += seconds
    return False


def test_an_unreachable_mail_server_does_not_stop_the_sync(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None, None, None)

    def notify() -> str:
        raise NoticeError("the mail server is away")

    watching.parts += [watching.part("notices", notify)]
    state = watching.run()
    assert state.parts[0].failures == 0
    assert state.parts[1].failures > 1
    assert "notices failed" in state.sentence(NOON)


@pytest.mark.parametrize("error", [BadCredentials("refused"), SettingsError("no secret")])
def test_watch_ends_when_every_part_needs_a_person(tmp_path: Path, error: TreasuryError) -> None:
    watching = Watching(tmp_path, None, error, None)
    with pytest.raises(type(error)):
        watching.run()
    state = read_state(tmp_path)
    assert state is not None
    assert (state.doing, state.parts[0].succeeded_at) == ("stopped", NOON)


def test_a_programming_error_ends_the_watch(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None)

    def mistaken() -> str:
        raise ValueError("a mistake")

    watching.parts += [watching.part("inbox", mistaken)]
    watching.wait = lambda seconds: _passed(watching, seconds)  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="a mistake"):
        watching.run()
    state = read_state(tmp_path)
    assert state is not None
    assert state.doing == "stopped"


def test_a_temporary_write_failure_of_the_state_does_not_end_the_watch(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None, None, None)
    place, sync = tmp_path / "watch.json", watching.sync

    def disturbed() -> str:
        if watching.seconds == 300:  # the second sync
            place.unlink()
            place.mkdir()
        elif place.is_dir():
            place.rmdir()
        return sync()

    watching.parts = [watching.part("sync", disturbed)]
    state = watching.run()
    unwritten = [part.error for part in watching.told if part.name == "state"]
    assert unwritten
    assert all("watch.json cannot be written" in error for error in unwritten)
    assert (state.doing, state.error) == ("stopped", "")


def test_watch_does_not_start_without_write_access(tmp_path: Path) -> None:
    watching = Watching(tmp_path / "nowhere", None)
    with pytest.raises(StorageError, match="cannot be written"):
        watch(
            watching.parts,
            watching.folder,
            now=lambda: NOON,
            seconds=lambda: 0,
            wait=watching.wait,
            tell=watching.told.append,
        )
    assert watching.told == []


def test_the_watch_state_is_none_before_the_first_watch(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None


def test_an_unreadable_watch_state_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "watch.json").write_text("{")
    with pytest.raises(StorageError, match=r"watch\.json cannot be read"):
        read_state(tmp_path)


@pytest.mark.acceptance
def test_a_killed_watch_differs_from_a_stopped_one(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from datetime import UTC, datetime, timedelta\n"
        "from pathlib import Path\n"
        "from treasury.workspace.upkeep.watch import WatchedPart, watch\n"
        "now = lambda: datetime(2026, 11, 2, 12, tzinfo=UTC)\n"
        "every = timedelta(minutes=5)\n"
        "def wait(seconds):\n"
        "    if seconds: print('waiting', flush=True); sys.stdin.read()\n"
        "sync = WatchedPart(name='sync', work=lambda _: '', every=every, patience=every)\n"
        "watch([sync], Path(sys.argv[1]), now=now, seconds=lambda: 0, wait=wait,\n"
        "      tell=lambda state: None)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        state = read_state(tmp_path)
        assert state is not None
        assert (state.pid, state.is_alive()) == (process.pid, True)
        assert state.sentence(NOON) == "watching every 5 min, last sync 0 s ago"
        os.kill(process.pid, signal.SIGKILL)
    assert state.is_alive() is False
    assert state.sentence(NOON) == (
        "watching ended unexpectedly, last sync 0 s ago: start it again"
    )


def test_other_parts_run_while_one_waits(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None)
    events: list[tuple[str, float]] = []

    def sync(meanwhile: Callable[[], None]) -> str:
        # The sync waits six times for the services, five seconds each.
        for _ in range(6):
            watching.seconds += 5
            events.append(("sync", watching.seconds))
            meanwhile()
        return watching.sync()

    def look() -> str:
        events.append(("inbox", watching.seconds))
        return "no file"

    inbox = watching.part("inbox", look, timedelta(seconds=10))
    watching.parts = [WatchedPart(name="sync", work=sync, every=EVERY, patience=EVERY), inbox]
    state = watching.run()
    assert [seconds for name, seconds in events if name == "inbox"] == [5, 15, 25]
    assert [part.doing for part in state.parts] == ["waiting"] * 2
    assert [part.brought for part in state.parts] == [
        "0 tables: 0 new, 0 changed, 0 vanished", "no file",
    ]  # fmt: skip


def test_no_other_part_starts_once_a_waiting_watch_should_stop(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None)
    looks: list[float] = []

    def sync(meanwhile: Callable[[], None]) -> str:
        # It is the last sync, so the watch should stop from now on.
        brought = watching.sync()
        meanwhile()
        return brought

    def look() -> str:
        looks.append(watching.seconds)
        return "no file"

    inbox = watching.part("inbox", look, timedelta(seconds=10))
    watching.parts = [WatchedPart(name="sync", work=sync, every=EVERY, patience=EVERY), inbox]
    watching.run()
    assert looks == []
