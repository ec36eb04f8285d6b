"""A sync that is killed half-way: what the next one makes of it."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from practice import client_for, contents, lake_in, secret_file

from treasury.extract import SyncReport, sync
from treasury.extract.staging import Staged
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

STEPS = Path(__file__).with_name("killed_sync.py")


@pytest.mark.parametrize("task", ["accounts", "wallets", "transfers", "ramp_requests"])
def test_killed_sync_shows_nothing_and_the_next_one_is_as_undisturbed(
    calm: tuple[Sandbox, Served], synced: tuple[Lake, SyncReport], tmp_path: Path, task: str
) -> None:
    sandbox, served = calm
    secret_file(tmp_path, sandbox, "maker")
    arguments = [served.base_url, str(tmp_path), sandbox.now.isoformat(), task]
    with subprocess.Popen(
        [sys.executable, str(STEPS), *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"reached {task}\n"
        process.kill()
    lake = lake_in(tmp_path)
    assert lake.commits().num_rows == 0
    with client_for(tmp_path, sandbox, served) as client:
        sync(client, lake, sandbox.now)
    assert contents(lake) == contents(synced[0])


@pytest.mark.parametrize("size", [2, 4, 200], ids=["in its length", "after it", "in its bytes"])
def test_a_kill_in_the_middle_of_keeping_a_detail_loses_that_detail_alone(
    calm: tuple[Sandbox, Served], synced: tuple[Lake, SyncReport], tmp_path: Path, size: int
) -> None:
    sandbox, served = calm
    secret_file(tmp_path, sandbox, "maker")
    arguments = [served.base_url, str(tmp_path), sandbox.now.isoformat(), "frame", "30", str(size)]
    killed = subprocess.run([sys.executable, str(STEPS), *arguments], check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    with closing(Staged(tmp_path / "staging", "ramp_requests")) as staged:
        left = list(staged)
    assert len(left) == 29
    assert all(msgspec.json.decode(detail)["id"] for detail in left)
    lake = lake_in(tmp_path)
    assert lake.commits().num_rows == 0
    seen = len(served.requests)
    with client_for(tmp_path, sandbox, served) as client:
        sync(client, lake, sandbox.now)
    assert contents(lake) == contents(synced[0])
    known = {msgspec.json.decode(detail)["id"] for detail in left}
    asked = {path.rpartition("/")[2] for _, path, _ in served.requests[seen:]}
    assert asked
    assert not known & asked  # what was kept whole is not asked for again
