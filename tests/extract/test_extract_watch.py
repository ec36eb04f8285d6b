"""Watching: syncing again until stopped, whatever happens in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from treasury.errors import (
    BadCredentials,
    ServiceUnreachable,
    StorageError,
    TreasuryError,
    WorkspaceLocked,
)
from treasury.extract import SyncReport, WatchState, read_state, watch

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
EVERY = timedelta(minutes=5)


class Watching:
    """A watch over scripted syncs; a moment passes only when it waits."""

    def __init__(self, folder: Path, *outcomes: TreasuryError | None) -> None:
        self.folder = folder
        self.now = NOON
        self.waits: list[float] = []
        self.told: list[WatchState] = []
        self._outcomes = list(outcomes)

    def sync(self) -> SyncReport:
        outcome = self._outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return SyncReport(at=self.now, tables=(), skipped=(), notices=("said below",))

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += timedelta(seconds=seconds)
        return not self._outcomes

    def run(self) -> None:
        watch(
            self.sync,
            self.folder,
            every=EVERY,
            now=lambda: self.now,
            wait=self.wait,
            tell=self.told.append,
        )


def outage() -> ServiceUnreachable:
    return ServiceUnreachable("no answer", do="check the network")


def test_it_syncs_waits_and_syncs_until_stopped(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None, None, None)
    watching.run()
    assert watching.waits == [300, 300, 300]
    assert [state.doing for state in watching.told] == [*["syncing", "waiting"] * 3, "stopped"]
    state = read_state(tmp_path)
    assert state == watching.told[-1]
    assert state.succeeded_at == NOON + 2 * EVERY
    assert state.brought == "0 tables: 0 new, 0 changed, 0 vanished"


def test_an_outage_is_survived_with_growing_patience(tmp_path: Path) -> None:
    trouble = [outage() for _ in range(6)]
    watching = Watching(tmp_path, None, *trouble, WorkspaceLocked("somebody writes"), None)
    watching.run()
    assert watching.waits == [300, 15, 30, 60, 120, 240, 300, 300, 300]
    failed = [state.failures for state in watching.told if state.doing == "waiting"]
    assert failed == [0, 1, 2, 3, 4, 5, 6, 7, 0]
    assert watching.told[-1].error == ""


def test_a_failure_is_told_with_what_to_do_and_keeps_the_last_success(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None, outage())
    watching.run()
    state = watching.told[-2]
    assert (state.succeeded_at, state.failures) == (NOON, 1)
    sentence = state.sentence(NOON + timedelta(hours=2))
    assert sentence == (
        "watching, last sync 2 h ago; failed 1 times since: no answer - check the network"
    )


@pytest.mark.parametrize("error", [BadCredentials("refused"), ValueError("a mistake")])
def test_what_only_a_person_can_end_ends_it(tmp_path: Path, error: Exception) -> None:
    watching = Watching(tmp_path, None, error)
    with pytest.raises(type(error)):
        watching.run()
    state = read_state(tmp_path)
    assert state is not None
    assert (state.doing, state.succeeded_at) == ("stopped", NOON)


def test_a_state_that_cannot_be_written_for_a_while_does_not_end_it(tmp_path: Path) -> None:
    watching = Watching(tmp_path, None, None, None)
    place, sync = tmp_path / "sync-watch.json", watching.sync

    def disturbed() -> SyncReport:
        if watching.now == NOON + EVERY:  # the second sync
            place.unlink()
            place.mkdir()
        elif place.is_dir():
            place.rmdir()
        return sync()

    watching.sync = disturbed  # type: ignore[method-assign]  # the disk is made to fail here
    watching.run()
    assert len(watching.waits) == 3
    (failed,) = [one for one in watching.told if one.failures and one.doing == "waiting"]
    assert "sync-watch.json cannot be written" in failed.error
    state = read_state(tmp_path)
    assert state is not None
    assert (state.doing, state.error) == ("stopped", "")


def test_where_nothing_can_be_written_it_does_not_begin(tmp_path: Path) -> None:
    watching = Watching(tmp_path / "nowhere", None)
    with pytest.raises(StorageError, match="cannot be written"):
        watching.run()
    assert watching.told == []


def test_nobody_watches_until_somebody_does(tmp_path: Path) -> None:
    assert read_state(tmp_path) is None


def test_a_state_that_does_not_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "sync-watch.json").write_text("{")
    with pytest.raises(StorageError, match=r"sync-watch\.json does not read"):
        read_state(tmp_path)


def test_a_killed_watch_is_told_from_a_stopped_one(tmp_path: Path) -> None:
    code = (
        "import sys, os\n"
        "from datetime import UTC, datetime, timedelta\n"
        "from pathlib import Path\n"
        "from treasury.extract import SyncReport, watch\n"
        "now = lambda: datetime(2026, 11, 2, 12, tzinfo=UTC)\n"
        "def wait(seconds):\n"
        "    print('waiting', flush=True); sys.stdin.read()\n"
        "watch(lambda: SyncReport(now(), (), (), ()), Path(sys.argv[1]),\n"
        "      every=timedelta(minutes=5), now=now, wait=wait, tell=lambda state: None)\n"
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
        "watching ended without saying so, last sync 0 s ago: start it again"
    )
