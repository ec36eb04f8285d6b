"""A lake of any age has few files, and every file that a reader may still need."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from random import Random

import lake_crash_child as child
import pytest
from lake_samples import (
    BALANCES,
    CATALOGUE,
    KEPT,
    REQUESTS,
    balances,
    content,
    day,
    put,
    requests,
    small_lake,
    statuses,
)
from thorough import examples

from treasury.core.errors import ActionRefused, InputError, WorkspaceDamaged
from treasury.lake import Lake
from treasury.lake.compaction import FEW

KILLS = examples(10, 40)


def hourly(lake: Lake, first: int, count: int) -> None:
    """Make small commits: one request opens, the previous one is done, a balance is observed."""
    for number in range(first, first + count):
        rows = requests(**{f"r{number:04d}": "OPEN", f"r{max(number - 1, 0):04d}": "DONE"})
        with lake.writer("sync", day(number)) as writer:
            writer.upsert(REQUESTS, rows if number else rows.slice(0, 1))
            writer.append(BALANCES, balances(str(number)))


@pytest.mark.acceptance
def test_many_commits_leave_few_files_and_few_log_entries(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    count = 48
    hourly(lake, 1, count)
    snapshot = lake.snapshot()
    rows = snapshot.sql("SELECT count(*) AS n, count(DISTINCT id) AS ids FROM requests")
    assert rows.to_pylist() == [{"n": count + 1, "ids": count + 1}]
    assert snapshot.sql("SELECT count(*) AS n FROM balances")["n"][0].as_py() == count
    assert snapshot.sql("SELECT count(*) AS n FROM requests_history")["n"][0].as_py() == count - 1
    assert lake.commits()["number"].to_pylist() == list(range(1, count + 1))
    for name in ("requests", "requests_history", "balances", "commits"):
        folder = lake.folder / name
        data = [p for p in folder.rglob("*.parquet") if "_delta_log" not in p.parts]
        # The files are current, or named by the last few commits only.
        assert len(data) <= 2 * (FEW + 1) + 4 * KEPT, name
        assert len(list((folder / "_delta_log").glob("*.json"))) <= 60, name


@pytest.mark.acceptance
def test_earlier_states_are_still_known_after_files_were_removed(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    hourly(lake, 1, 3 * KEPT)
    early = statuses(lake.snapshot(at=day(2)))
    assert early == {"r0000": "DONE", "r0001": "DONE", "r0002": "OPEN"}


@pytest.mark.acceptance
def test_a_live_reader_keeps_its_commit(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN"))
    reader = small_lake(tmp_path).snapshot()
    for number in range(1, 3 * KEPT + 1):
        put(lake, number, requests(a="HELD" if number % 2 else "DONE"))
    assert statuses(reader) == {"a": "OPEN"}
    files = reader.files(REQUESTS)
    assert all(Path(file).is_file() for file in files)
    del reader
    lake.sweep()
    assert not any(Path(file).is_file() for file in files)


@pytest.mark.acceptance
def test_a_killed_reader_keeps_nothing(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN"))
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from lake_samples import small_lake\n"
        "reader = small_lake(Path(sys.argv[1])).snapshot()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False, timeout=60)
    assert len(list((lake.folder / ".readers").iterdir())) == 1
    files = [Path(file) for file in lake.snapshot().files(REQUESTS)]
    for number in range(1, 2 * KEPT + 1):
        put(lake, number, requests(a="HELD" if number % 2 else "DONE"))
    assert not any(file.is_file() for file in files)
    assert list((lake.folder / ".readers").iterdir()) == []


@pytest.mark.acceptance
def test_a_pinned_commit_reads_the_same_forever(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN", b="DONE"))
    pin = lake.pin("October 2026 closed", day(1))
    assert (pin.commit.number, pin.why, pin.pinned_at) == (1, "October 2026 closed", day(1))
    files = lake.snapshot().files(REQUESTS)
    for number in range(1, 3 * KEPT):
        put(lake, number, requests(a="HELD" if number % 2 else "DONE", b="OPEN"))
    lake.sweep()
    again = small_lake(tmp_path)
    assert [kept.commit.number for kept in again.pins()] == [1]
    assert statuses(again.snapshot(commit=1)) == {"a": "OPEN", "b": "DONE"}
    assert again.snapshot(commit=1).files(REQUESTS) == files
    with pytest.raises(InputError, match="commit 2 is not kept"):
        again.snapshot(commit=2)
    again.unpin(1)
    with pytest.raises(InputError, match="commit 1 is not pinned"):
        again.unpin(1)
    again.sweep()
    assert not any(Path(file).is_file() for file in files)


def test_a_commit_in_use_cannot_be_unpinned(tmp_path: Path) -> None:
    resting: dict[int, str] = {}
    lake = Lake(tmp_path, CATALOGUE, rests_on=lambda: resting)
    put(lake, 0, requests(a="OPEN"))
    lake.pin("October 2026 closed", day(1))
    resting[1] = "the close of 2026-10"
    with pytest.raises(
        ActionRefused, match="commit 1 is needed: the close of 2026-10 depends on it"
    ):
        lake.unpin(1)
    assert [pin.commit.number for pin in lake.pins()] == [1]
    assert lake.unkept() == {}
    (lake.folder / "pins" / "1.json").unlink()
    assert lake.unkept() == resting


def test_nothing_is_removed_while_a_pin_is_unreadable(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN"))
    lake.pin("closed", day(1))
    (lake.folder / "pins" / "1.json").write_text("{")
    before = sorted(lake.folder.rglob("*.parquet"))
    with pytest.raises(WorkspaceDamaged, match=r"1\.json"):
        lake.sweep()
    assert sorted(lake.folder.rglob("*.parquet")) == before


def test_files_of_a_killed_write_are_not_read_and_are_removed(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    put(lake, 0, requests(a="OPEN"))
    before = content(lake)
    orphan = lake.folder / "requests" / "is_open=true" / "part-orphan.parquet"
    orphan.write_bytes(b"half a file")
    assert content(lake) == before
    assert lake.sweep().files == 1
    assert not orphan.exists()


@pytest.mark.acceptance
@pytest.mark.thorough
def test_killed_writers_leave_at_most_one_file(tmp_path: Path) -> None:
    """A reader and a pinned commit keep their superseded files."""
    lake = small_lake(tmp_path / "desk")
    put(lake, 0, requests(a="OPEN", b="OPEN", c="DONE"))
    lake.pin("looked at", day(0))
    put(lake, 1, requests(a="HELD", b="OPEN", c="DONE"))
    reader = small_lake(tmp_path / "desk").snapshot()
    put(lake, 2, requests(a="OPEN", b="OPEN", c="DONE"))

    def files() -> int:
        return sum(path.is_file() for path in (tmp_path / "desk").rglob("*"))

    copy = shutil.copytree(tmp_path / "desk", tmp_path / "copy")
    settled = files()
    with child.stopping(-1, child.killed) as count:
        child.write(small_lake(copy))
    one = sum(path.is_file() for path in copy.rglob("*")) - settled + 10
    chance = Random(1)
    points = [str(chance.randrange(count[0] // 2)) for _ in range(KILLS)]
    arguments = [sys.executable, child.__file__, "there", str(tmp_path / "desk"), *points]
    done = subprocess.run(arguments, check=True, timeout=120, capture_output=True, text=True)
    assert done.stdout.split() == ["-9"] * KILLS
    assert lake.commits().num_rows == 3
    assert files() <= settled + one
    child.write(lake)
    assert files() <= settled + one
    assert statuses(reader) == {"a": "HELD", "b": "OPEN", "c": "DONE"}
    assert statuses(small_lake(tmp_path / "desk").snapshot(commit=1))["a"] == "OPEN"


def test_a_young_file_stays_for_readers_without_write_access(tmp_path: Path) -> None:
    lake = Lake(tmp_path, CATALOGUE, commits_kept=1, grace=timedelta(hours=1))
    put(lake, 0, requests(a="OPEN"))
    files = lake.snapshot().files(REQUESTS)
    put(lake, 1, requests(a="DONE"))
    assert lake.sweep().files == 0
    assert all(Path(file).is_file() for file in files)


@pytest.mark.acceptance
def test_compaction_changes_no_row(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    for number in range(FEW + 1):
        put(lake, number, requests(**{f"r{number}": "DONE"}))
        if number == FEW - 1:
            before = content(lake)
            assert len(lake.snapshot().files(REQUESTS)) == FEW
    after = content(lake)
    assert [row for row in after["requests"] if row["id"] != f"r{FEW}"] == before["requests"]
    assert len(lake.snapshot().files(REQUESTS)) == 1
