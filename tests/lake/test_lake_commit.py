"""One commit at a time, complete or absent, even if its process dies at any point."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import lake_crash_child as child
import pytest
from lake_samples import BALANCES, KEPT, REQUESTS, balances, content, day, put, requests, small_lake
from lake_samples import statuses as statuses_of
from thorough import examples

from treasury.core.errors import StorageError, WorkspaceLocked
from treasury.lake import Lake
from treasury.lake.compaction import FEW

SCRIPT = Path(child.__file__)
COMMITS = 3 * KEPT
assert COMMITS > FEW + 1


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = small_lake(tmp_path / "desk")
    with lake.writer("sync", day(0)) as writer:
        writer.upsert(REQUESTS, requests(a="OPEN", b="OPEN", c="DONE"))
        writer.append(BALANCES, balances("1"))
    return lake


@pytest.fixture(scope="module")
def aged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a lake in `desk`; its next commit merges small files and cleans up."""
    root = tmp_path_factory.mktemp("aged")
    lake = small_lake(root / "desk")
    for number in range(COMMITS - 1):
        with lake.writer("sync", day(number)) as writer:
            if number in {0, COMMITS - KEPT - KEPT // 2}:
                rows = requests(a="OPEN", b="HELD" if number else "OPEN", c="DONE")
                writer.upsert(REQUESTS, rows)
            if number >= COMMITS - 1 - FEW:
                writer.append(BALANCES, balances("1"))
    return root


def raise_stopped() -> None:
    raise child.Stopped


def disturbed(root: Path, stopped: list[Path], expected: dict[str, Any], made: list[bool]) -> None:
    """Check that each lake is new if `made`, else as before, and that the write can be repeated."""
    before = content(small_lake(root / "desk"))
    for folder, done in zip(stopped, made, strict=True):
        assert content(small_lake(folder)) == (expected if done else before), folder
        if not done:
            child.write(small_lake(folder))
            assert content(small_lake(folder)) == expected, folder
        numbers = small_lake(folder).commits()["number"].to_pylist()
        assert numbers == list(range(1, COMMITS + 1)), folder


@pytest.mark.acceptance
@pytest.mark.thorough
def test_a_process_killed_at_any_write_point_changes_nothing_and_can_be_repeated(
    aged: Path,
) -> None:
    other = small_lake(shutil.copytree(aged / "desk", aged / "undisturbed"))
    files = set(other.folder.rglob("part-*.parquet"))
    with child.stopping(-1, child.killed) as count:
        child.write(other)
    points = sorted({*range(0, count[0], examples(4, 1)), count[0] - 1})
    # The commit removed unused files, and merged small ones.
    assert files - set(other.folder.rglob("part-*.parquet"))
    assert len(other.snapshot().files(BALANCES)) == 1
    expected = content(other)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "each", str(aged), *map(str, points)],
        check=True,
        timeout=600,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(-signal.SIGKILL)] * len(points)
    stopped = [aged / f"killed-{point}" for point in points]
    shown = [small_lake(folder).commits().num_rows == COMMITS for folder in stopped]
    # The commit is visible from one point on, and not before.
    assert shown == sorted(shown)
    assert 3 < sum(not made for made in shown) < len(points)
    disturbed(aged, stopped, expected, shown)


@pytest.mark.acceptance
def test_recovery_may_be_interrupted(lake: Lake, tmp_path: Path) -> None:
    other = small_lake(shutil.copytree(tmp_path / "desk", tmp_path / "undisturbed"))
    with child.stopping(-1, raise_stopped) as count:
        child.write(other)
    expected = content(other)
    for point in range(8):
        folder = tmp_path / f"stopped-{point}"
        shutil.copytree(tmp_path / "desk", folder)
        for stop in (count[0] // 2, point):
            with child.stopping(stop, raise_stopped), pytest.raises(child.Stopped):
                child.write(small_lake(folder))
        child.write(small_lake(folder))
        assert content(small_lake(folder)) == expected, point


@pytest.mark.acceptance
def test_an_exception_commits_nothing(lake: Lake) -> None:
    before = content(lake)

    def failing() -> None:
        with lake.writer("sync", day(1)) as writer:
            writer.upsert(REQUESTS, requests(a="DONE", z="OPEN"))
            raise child.Stopped

    with pytest.raises(child.Stopped):
        failing()
    assert content(lake) == before
    assert lake.commits().num_rows == 1


@pytest.mark.acceptance
def test_a_second_writer_gets_the_name_of_the_lock_holder(lake: Lake, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), "hold", str(tmp_path / "desk")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "holding\n"
            message = rf"holding \(lake_crash_child.py\), process {process.pid} on "
            with pytest.raises(WorkspaceLocked, match=message):
                put(lake, 1, requests(a="DONE"))
            assert statuses_of(lake.snapshot())["a"] == "OPEN"
        finally:
            process.kill()
    put(lake, 1, requests(a="DONE"))
    assert statuses_of(lake.snapshot())["a"] == "DONE"


@pytest.mark.acceptance
def test_threads_of_one_process_exclude_each_other(lake: Lake) -> None:
    refused: list[bool] = []

    def second() -> None:
        try:
            put(lake, 1, requests(a="DONE"))
        except WorkspaceLocked:
            refused.append(True)

    with lake.writer("sync", day(1)):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(30)
    assert refused == [True]


@pytest.mark.acceptance
def test_a_reader_sees_one_commit_and_never_waits(lake: Lake) -> None:
    early = lake.snapshot()
    with lake.writer("sync", day(1)) as writer:
        writer.upsert(REQUESTS, requests(a="DONE"))
        writer.append(BALANCES, balances("2"))
        during = lake.snapshot()
        assert statuses_of(during)["a"] == "OPEN"
        assert during.sql("SELECT * FROM balances").num_rows == 1
    assert statuses_of(early)["a"] == "OPEN"
    assert early.sql("SELECT * FROM balances").num_rows == 1
    assert early.sql("SELECT number FROM commits").num_rows == 1
    after = lake.snapshot()
    assert statuses_of(after)["a"] == "DONE"
    assert after.sql("SELECT * FROM balances").num_rows == 2


@pytest.mark.acceptance
def test_many_commits_keep_their_order(lake: Lake) -> None:
    for number in range(2, 26):
        put(lake, number, requests(a="OPEN" if number % 2 else "HELD"))
    commit = lake.snapshot().commit
    assert commit is not None
    assert commit.number == 25
    assert commit.at == day(25)
    assert lake.commits()["number"].to_pylist() == list(range(1, 26))
    assert statuses_of(lake.snapshot(at=day(6)))["a"] == "HELD"


@pytest.mark.acceptance
def test_a_foreign_folder_is_left_unchanged(lake: Lake) -> None:
    (lake.folder / "notes").mkdir()
    (lake.folder / "notes" / "mine.txt").write_text("keep")
    put(lake, 1, requests(a="DONE"))
    assert (lake.folder / "notes" / "mine.txt").read_text() == "keep"


def test_a_workspace_that_cannot_be_created_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be locked"):
        put(small_lake(tmp_path / "file" / "desk"), 0, requests(a="OPEN"))
    (tmp_path / "desk").mkdir()
    (tmp_path / "desk" / "lake").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be written"):
        put(small_lake(tmp_path / "desk"), 0, requests(a="OPEN"))


@pytest.mark.acceptance
def test_a_full_disk_is_a_storage_error_and_changes_nothing(lake: Lake, tmp_path: Path) -> None:
    before = content(lake)
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        f"sys.path.insert(0, {str(SCRIPT.parent)!r})\n"
        "import lake_crash_child as child; from treasury.core.errors import StorageError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))\n"
        "try: child.write(child.small_lake(Path(sys.argv[1])))\n"
        "except StorageError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "desk")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "cannot be written" in done.stdout, done
    assert content(small_lake(tmp_path / "desk")) == before


FULL_DISK = """\
import os, resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import pyarrow as pa
from lake_samples import put, requests, small_lake
from treasury.core.errors import StorageError

lake = small_lake(Path(sys.argv[1]))

def rows(amount, **statuses):
    given = requests(**statuses)
    raw = pa.array([f'"{os.urandom(amount).hex()}"' for _ in statuses])
    return given.set_column(given.schema.get_field_index("raw"), "raw", raw)

put(lake, 0, rows(3_000_000, a="OPEN"))
before = {path for path in lake.folder.rglob("*") if path.is_file()}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
for number in (1, 2):
    try:
        put(lake, number, rows(3_000_000, a="DONE"))
    except StorageError as error:
        print(error)
left = {path for path in lake.folder.rglob("*") if path.is_file()} - before
print([path.name for path in left if ".parquet" in path.name])
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
put(lake, 3, rows(10, b="OPEN"))
put(lake, 4, rows(1_000_000, a="DONE"))
print(lake.last_commit().number)
"""


@pytest.mark.acceptance
def test_a_full_disk_is_one_line_leaves_no_temporary_file_and_then_takes_a_small_commit(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "desk"), str(SCRIPT.parent)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    first, second, drafts, commits = done.stdout.splitlines()
    assert first == second
    assert "cannot be written" in first
    assert (drafts, commits) == ("[]", "3")
