"""A sync that is killed half-way, and how the next one continues."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from killed_sync import counted
from practice import client_for, contents, histories, lake_in, secret_file
from thorough import examples

from treasury.extract import SyncReport, sync
from treasury.extract.sync_staging import Staged
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served

pytestmark = pytest.mark.acceptance

Own = tuple[Sandbox, Served]
STEPS = Path(__file__).with_name("killed_sync.py")


@pytest.mark.parametrize("task", ["accounts", "wallets", "transfers", "ramp_requests"])
def test_a_killed_sync_shows_nothing_and_the_next_one_is_complete(
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


@pytest.mark.parametrize(
    "size", [2, 4, 200], ids=["in the length", "after the length", "in the bytes"]
)
def test_a_kill_while_storing_a_detail_loses_only_that_detail(
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
    # Details that were stored completely are not fetched again.
    assert not known & asked


def moved(sandbox: Sandbox, lake: Lake) -> None:
    """Let the service move on: one request is completed, one advances, one is denied."""
    waiting: dict[str, list[str]] = {}
    query = "SELECT id, status FROM ramp_requests WHERE is_open ORDER BY id"
    for row in lake.snapshot().sql(query).to_pylist():
        waiting.setdefault(row["status"], []).append(row["id"])
    sandbox.ramp.complete(waiting["PROCESSING"][0])
    sandbox.ramp.receive(waiting["AWAITING_FUNDS"][0])
    sandbox.ramp.deny(waiting["AWAITING_APPROVAL"][0])


@pytest.mark.thorough
def test_a_later_sync_killed_at_any_write_point_is_completed_by_the_next(
    own: Own, tmp_path: Path
) -> None:
    sandbox, served = own
    desk = tmp_path / "desk"
    desk.mkdir()
    with client_for(desk, sandbox, served) as client:
        sync(client, lake_in(desk), sandbox.now)
        before = contents(lake_in(desk)), histories(lake_in(desk))
        moved(sandbox, lake_in(desk))
        other = lake_in(Path(shutil.copytree(desk, tmp_path / "undisturbed")))
        with counted() as count:
            sync(client, other, sandbox.now)
        expected = contents(other), histories(other)
        assert before[0]["ramp_requests"] != expected[0]["ramp_requests"]
        assert len(expected[1]["ramp_requests_history"]) == 3
        assert count[0] > 30
        # Before a release, the lake's own tests cover every point.
        points = sorted({*range(0, count[0], examples(15, 5)), count[0] - 1})
        arguments = [served.base_url, str(desk), sandbox.now.isoformat(), "each"]
        done = subprocess.run(
            [sys.executable, str(STEPS), *arguments, *map(str, points)],
            check=True,
            capture_output=True,
            text=True,
        )
        assert done.stdout.split() == [str(-signal.SIGKILL)] * len(points)
        shown = []
        for point in points:
            lake = lake_in(Path(f"{desk}-{point}"))
            shown.append(lake.commits().num_rows == 2)
            assert (contents(lake), histories(lake)) == (expected if shown[-1] else before), point
            if not shown[-1]:
                sync(client, lake, sandbox.now)
                assert (contents(lake), histories(lake)) == expected, point
    # One write point makes everything visible at once.
    assert shown == sorted(shown)
    assert 0 < sum(shown) < len(points)


FULL = """
import resource, signal, sys
from contextlib import closing
from pathlib import Path
import pyarrow as pa
from treasury.core.errors import StorageError
from treasury.extract.sync_staging import Spool
rows = pa.table({"id": ["a"] * 400})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with closing(Spool(Path(sys.argv[1]), rows.schema)) as spool:
    try:
        for _ in range(int(sys.argv[2])):
            spool.add(rows)
        list(spool)
    except StorageError as error:
        print(error)
"""


@pytest.mark.parametrize("batches", [1, 20], ids=["when it is read again", "when rows are added"])
def test_a_full_disk_for_listed_rows_is_a_storage_error(tmp_path: Path, batches: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), str(batches)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert "free disk space, then run this again; what was stored is unchanged" in done.stdout
