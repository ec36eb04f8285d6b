"""Damage is found and named, rebuilt from readable files, or marked to be fetched again."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake_samples import (
    BALANCES,
    REQUESTS,
    WALLETS,
    balances,
    content,
    copied_lake,
    day,
    put,
    requests,
    small_lake,
    statuses,
    wallets,
)

from treasury.core.errors import InputError, StorageError, WorkspaceDamaged
from treasury.lake import Lake, damages, repair


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a lake of three commits that still has the files of the first two."""
    lake = small_lake(tmp_path_factory.mktemp("ready"))
    for number, status in enumerate(("OPEN", "HELD", "DONE")):
        with lake.writer("sync", day(number)) as writer:
            writer.upsert(REQUESTS, requests(a=status, b="OPEN", c="DONE"))
            writer.append(BALANCES, balances(str(number)))
            writer.upsert(WALLETS, wallets(w={"id": "w", "balances": [number]}))
    return lake.workspace


@pytest.fixture
def lake(ready: Path, tmp_path: Path) -> Lake:
    return copied_lake(ready, tmp_path)


def again(lake: Lake) -> Lake:
    return small_lake(lake.workspace)


def only(lake: Lake, table: str) -> Path:
    """Return the last file of a table in the last commit."""
    stored = lake.snapshot().stored()[table]
    return Path(stored.files[-1].path)


def remove(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-40])


def blank(file: Path) -> None:
    file.write_bytes(b"\0" * file.stat().st_size)


def test_an_undamaged_lake_has_no_findings(lake: Lake) -> None:
    lake.pin("closed", day(3))
    assert damages(lake) == []
    done = repair(lake, day(4))
    assert (done.damages, done.tables) == ((), ())
    assert lake.commits().num_rows == 3


@pytest.mark.acceptance
@pytest.mark.parametrize("how", [remove, cut, blank])
def test_a_table_is_rebuilt_from_superseded_files(lake: Lake, how: Callable[[Path], None]) -> None:
    file = only(lake, "requests_history")
    how(file)
    found = damages(again(lake))
    assert [(damage.table, damage.path) for damage in found] == [("requests_history", str(file))]
    done = repair(again(lake), day(4))
    assert str(done.tables[0]).startswith("requests: 3 rows and 2 earlier versions rebuilt")
    assert (done.tables[0].lost, done.refetch) == (0, ())
    assert damages(again(lake)) == []
    query = "SELECT id, status, valid_from, valid_to FROM requests_history ORDER BY valid_from"
    rows = [tuple(row.values()) for row in again(lake).snapshot().sql(query).to_pylist()]
    assert rows == [("a", "OPEN", day(0), day(1)), ("a", "HELD", day(1), day(2))]
    assert statuses(again(lake).snapshot(at=day(1))) == {"a": "HELD", "b": "OPEN", "c": "DONE"}


@pytest.mark.acceptance
@pytest.mark.parametrize("how", [remove, cut, blank])
def test_losses_are_counted_and_marked(lake: Lake, how: Callable[[Path], None]) -> None:
    """The newest version of a record is in one file only."""
    file = next(
        Path(f.path)
        for f in lake.snapshot().stored()["requests"].files
        if "a" in pq.read_table(f.path, partitioning=None)["id"].to_pylist()
    )
    how(file)
    done = repair(again(lake), day(4))
    assert done.tables[0].lost == 1
    assert done.refetch == ("requests",)
    assert statuses(again(lake).snapshot()) == {"a": "HELD", "b": "OPEN", "c": "DONE"}
    with again(lake).writer("sync", day(5)) as writer:
        assert writer.refetch == {"requests"}
        writer.upsert(REQUESTS, requests(a="DONE", b="OPEN", c="DONE"), complete=True)
        writer.refetch.discard("requests")
    assert statuses(again(lake).snapshot()) == {"a": "DONE", "b": "OPEN", "c": "DONE"}
    with again(lake).writer("sync", day(6)) as writer:
        assert writer.refetch == set()


@pytest.mark.acceptance
def test_altered_values_are_found_and_restored(lake: Lake) -> None:
    file = only(lake, "requests")
    rows = pq.ParquetFile(file).read()
    place = rows.column_names.index("status")
    altered = rows.set_column(place, "status", [["LOST"] * rows.num_rows])
    pq.write_table(altered, file)
    for entry in (lake.folder / "requests" / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in entry.read_text().splitlines()]
        # The log shows the altered file's size, so only the content is wrong.
        for line in lines:
            if file.name in line.get("add", {}).get("path", ""):
                line["add"]["size"] = file.stat().st_size
        entry.write_text("\n".join(map(json.dumps, lines)))
    found = damages(again(lake))
    assert str(file) in [damage.path for damage in found]
    assert {(damage.table, damage.problem) for damage in found} == {
        ("requests", "was changed after it was written")
    }
    (lake.folder / "digests.jsonl").unlink()
    found = damages(again(lake))
    assert "rows that are not as written" in found[0].problem
    repair(again(lake), day(4))
    assert "LOST" not in statuses(again(lake).snapshot()).values()
    assert damages(again(lake)) == []


def test_observations_are_restored_only_if_written_twice(lake: Lake) -> None:
    only(lake, "balances").unlink()
    done = repair(again(lake), day(4))
    assert (done.tables[0].rows, done.tables[0].lost, done.refetch) == (2, 1, ())
    assert again(lake).snapshot().sql("SELECT count(*) AS n FROM balances")["n"][0].as_py() == 2


@pytest.mark.acceptance
def test_a_commit_that_was_never_made_is_not_mistaken_for_the_last(lake: Lake) -> None:
    newest = max((lake.folder / "commits").glob("*.parquet"), key=lambda f: f.stat().st_mtime_ns)
    row = pq.ParquetFile(newest).read()
    place = row.column_names.index("number")
    stray = row.set_column(place, "number", pa.array([9], pa.int64()))
    pq.write_table(stray, newest.with_name("part-stray.parquet"))
    only(lake, "requests_history").unlink()
    repair(again(lake), day(4))
    assert again(lake).commits()["number"].to_pylist() == [1, 2, 3, 4]


@pytest.mark.acceptance
def test_a_lost_log_is_rebuilt_and_the_old_folder_set_aside(lake: Lake) -> None:
    before = content(lake)
    for entry in (lake.folder / "requests" / "_delta_log").iterdir():
        entry.unlink()
    assert [damage.table for damage in damages(again(lake))] == ["requests"]
    done = repair(again(lake), day(4))
    assert done.tables[0].lost is None
    assert done.refetch == ("requests",)
    assert content(again(lake)) == before
    assert len(list((lake.folder / "damaged").glob("*/requests"))) == 1
    put(again(lake), 5, requests(a="OPEN"))
    assert statuses(again(lake).snapshot())["a"] == "OPEN"


def lose_commits(lake: Lake, lost: str) -> None:
    """Delete a file, the log or all of the list of commits."""
    folder = lake.folder / "commits"
    match lost:
        case "file":
            max(folder.glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns).unlink()
        case "log":
            shutil.rmtree(folder / "_delta_log")
        case _:
            shutil.rmtree(folder)


@pytest.mark.acceptance
@pytest.mark.parametrize("lost", ["file", "log", "folder"])
def test_the_last_commit_is_known_without_the_list_of_commits(lake: Lake, lost: str) -> None:
    before = content(lake)
    lose_commits(lake, lost)
    with pytest.raises(WorkspaceDamaged, match="commits"):
        again(lake).snapshot().sql("FROM requests")
    with pytest.raises(WorkspaceDamaged, match="commits"):
        put(again(lake), 4, requests(a="OPEN"))
    done = repair(again(lake), day(4))
    assert (done.tables, done.refetch) == ((), ())
    assert content(again(lake)) == before
    numbers = again(lake).commits()["number"].to_pylist()
    assert numbers == {"file": [1, 2, 3, 4], "log": [1, 2, 3, 4], "folder": [3, 4]}[lost]


def test_the_list_of_commits_names_the_last_one_if_its_file_is_lost(lake: Lake) -> None:
    before = content(lake)
    (lake.folder / "last_commit.json").unlink()
    with pytest.raises(WorkspaceDamaged, match="last_commit"):
        again(lake).snapshot()
    done = repair(again(lake), day(4))
    assert (done.tables, done.refetch) == ((), ())
    assert content(again(lake)) == before
    assert again(lake).commits()["number"].to_pylist() == [1, 2, 3, 4]


@pytest.mark.acceptance
@pytest.mark.parametrize("lost", ["file", "log", "folder"])
def test_lost_commits_are_never_mistaken_for_an_empty_lake(lake: Lake, lost: str) -> None:
    before = content(lake)
    (lake.folder / "last_commit.json").unlink()
    lose_commits(lake, lost)
    with pytest.raises(WorkspaceDamaged, match="commits"):
        again(lake).snapshot()
    with pytest.raises(WorkspaceDamaged, match="commits"):
        put(again(lake), 4, requests(a="OPEN"))
    done = repair(again(lake), day(4))
    assert {"requests", "wallets"} <= set(done.refetch)
    assert content(again(lake)) == before
    kinds = again(lake).commits()["kind"].to_pylist()
    assert kinds == {"file": ["sync"] * 2, "log": ["sync"] * 3, "folder": []}[lost] + ["repair"]


@pytest.mark.acceptance
def test_a_damaged_pin_is_named_and_the_rest_works(lake: Lake) -> None:
    lake.pin("closed", day(3))
    held = only(lake, "requests_history")
    put(lake, 4, requests(a="OPEN", b="DONE", c="DONE"))
    if str(held) not in lake.snapshot().files(REQUESTS):
        held.unlink()
    pinned = next(p for p in lake.pins()[0].opened(lake.folder).values() if p.files)
    Path(pinned.files[0].path).unlink(missing_ok=True)
    found = [damage for damage in damages(again(lake)) if damage.pinned]
    for damage in found:
        assert str(damage).startswith("pinned commit 3, ")
    done = repair(again(lake), day(5))
    assert all("restore it from a copy" in sentence for sentence in done.sentences)
    assert [damage for damage in damages(again(lake)) if not damage.pinned] == []


@pytest.mark.acceptance
def test_an_interrupted_repair_can_be_repeated(lake: Lake, tmp_path: Path) -> None:
    import lake_crash_child as child

    before = content(lake)
    shutil.rmtree(lake.folder / "commits" / "_delta_log")
    for entry in (lake.folder / "requests" / "_delta_log").iterdir():
        entry.unlink()

    def stopped() -> None:
        raise child.Stopped

    for point in range(12):
        folder = tmp_path / f"stopped-{point}"
        folder.mkdir()
        shutil.copytree(lake.folder, folder / "lake")
        shutil.copy(tmp_path / "treasury.duckdb", folder)
        try:
            with child.stopping(point, stopped):
                repair(small_lake(folder), day(4))
        except child.Stopped:
            repair(small_lake(folder), day(4))
        assert content(small_lake(folder)) == before, point
        assert damages(small_lake(folder)) == []


@pytest.mark.acceptance
def test_an_unreadable_pin_is_not_damage_to_the_commits(lake: Lake) -> None:
    lake.pin("closed", day(3))
    pin = lake.folder / "pins" / "3.json"
    pin.write_text("{")
    found = damages(again(lake))
    assert [(damage.table, damage.path, damage.pinned) for damage in found] == [
        ("pins", str(pin), 3)
    ]
    before = content(again(lake))
    done = repair(again(lake), day(4))
    assert done.tables == ()
    assert "restore it from a copy" in done.sentences[0]
    assert again(lake).commits().num_rows == 3
    assert content(again(lake)) == before


FORBIDDEN = """
import os, sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path
from lake_samples import day, small_lake, statuses
from treasury.core.errors import StorageError, WorkspaceDamaged
from treasury.lake import damages, repair
folder = Path(sys.argv[2])
statuses(small_lake(folder).snapshot())  # this imports the modules that are imported on first use
Path(sys.argv[3]).chmod(0)
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
for step in (
    lambda: statuses(small_lake(folder).snapshot()),
    lambda: damages(small_lake(folder)),
    lambda: repair(small_lake(folder), day(9)),
):
    try:
        step()
    except StorageError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.acceptance
@pytest.mark.parametrize("which", ["requests", "requests/_delta_log"])
def test_an_unreadable_file_is_not_damaged_and_not_repaired(
    lake: Lake, tmp_path: Path, which: str
) -> None:
    log = lake.folder / which
    closed = log if log.name == "_delta_log" else only(lake, which)
    with tempfile.TemporaryDirectory() as elsewhere:
        desk = Path(elsewhere) / "desk"
        shutil.copytree(tmp_path, desk)
        Path(elsewhere).chmod(0o755)
        for path in (desk, *desk.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        before = content(small_lake(desk))
        shut = desk / closed.relative_to(tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", FORBIDDEN, str(Path(__file__).parent), str(desk), str(shut)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        shut.chmod(0o777)
        lines = done.stdout.splitlines()
        assert len(lines) == 3
        assert all(line.startswith("StorageError ") for line in lines), lines
        assert all("cannot be read with your permissions" in line for line in lines), lines
        assert content(small_lake(desk)) == before
        assert small_lake(desk).commits().num_rows == 3


def flipped(file: Path) -> None:
    """Flip one bit in the middle of a file."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.acceptance
@pytest.mark.parametrize("table", ["requests", "requests_history", "balances", "commits"])
def test_a_flipped_bit_is_found_in_every_table(lake: Lake, table: str) -> None:
    before = content(lake)
    file = (
        max((lake.folder / "commits").glob("*.parquet"), key=lambda f: f.stat().st_mtime_ns)
        if table == "commits"
        else only(lake, table)
    )
    flipped(file)
    found = damages(again(lake))
    assert str(file) in {damage.path for damage in found} or "commits" in str(found[0])
    repair(again(lake), day(4))
    assert damages(again(lake)) == []
    if table in {"requests_history", "commits"}:
        assert content(again(lake)) == before
    if table == "balances":
        assert again(lake).snapshot().sql("FROM balances").num_rows == len(before["balances"]) - 1


@pytest.mark.acceptance
def test_a_truncated_line_of_the_list_of_hashes_is_ignored(
    lake: Lake,
) -> None:
    listed = lake.folder / "digests.jsonl"
    noted = lake.digests.by_path()
    listed.write_bytes(listed.read_bytes()[:-20])
    assert len(lake.digests.by_path()) == len(noted) - 1
    put(again(lake), 3, requests(a="OPEN"))
    files = {name for name in noted if "_delta_log" not in name}
    assert files <= set(again(lake).digests.by_path())
    assert damages(again(lake)) == []
    listed.unlink()
    assert damages(again(lake)) == []


@pytest.mark.acceptance
def test_the_list_of_hashes_names_each_stored_file_and_no_other(tmp_path: Path) -> None:
    lake = small_lake(tmp_path)
    for number in range(12):
        put(lake, number, requests(a="OPEN" if number % 2 else "HELD"))
    lake.sweep()
    there = {path.relative_to(lake.folder).as_posix() for path in lake.folder.rglob("*.parquet")}
    there |= {
        path.relative_to(lake.folder).as_posix() for path in lake.folder.rglob("_delta_log/*.json")
    }
    assert set(lake.digests.by_path()) == there


@pytest.mark.acceptance
def test_a_table_put_aside_leaves_a_pinned_commit_its_files(lake: Lake) -> None:
    lake.pin("closed", day(3))
    before = content(lake)
    for entry in (lake.folder / "requests" / "_delta_log").iterdir():
        entry.unlink()
    repair(again(lake), day(4))
    assert damages(again(lake)) == []
    assert content(again(lake)) == before
    pinned = again(lake).snapshot(commit=3)
    assert statuses(pinned) == {"a": "DONE", "b": "OPEN", "c": "DONE"}
    again(lake).sweep()
    assert statuses(again(lake).snapshot(commit=3)) == {"a": "DONE", "b": "OPEN", "c": "DONE"}


@pytest.mark.acceptance
def test_an_open_lake_reads_the_repaired_tables(lake: Lake) -> None:
    """The lake stays open during the repair, and version numbers restart in a rebuilt log."""
    assert statuses(lake.snapshot())["a"] == "DONE"
    for entry in (lake.folder / "requests" / "_delta_log").iterdir():
        entry.unlink()
    repair(again(lake), day(4))
    for number in range(5, 9):
        put(again(lake), number, requests(a="OPEN" if number % 2 else "HELD", z="OPEN"))
        assert statuses(lake.snapshot()) == statuses(again(lake).snapshot())
    with pytest.raises(InputError, match="commit 2 is not kept"):
        lake.snapshot(commit=2)
    assert statuses(lake.snapshot(commit=5))["a"] == "OPEN"


OUTSIDE = ["../../../precious.parquet", "/etc/passwd", "s3://bucket/x.parquet", "%2e%2e/x.parquet"]


@pytest.mark.first_case
@pytest.mark.parametrize("outside", OUTSIDE)
def test_a_log_that_names_a_file_elsewhere_is_refused_and_the_doctor_reports_it(
    lake: Lake, outside: str
) -> None:
    log = lake.folder / "wallets" / "_delta_log"
    for entry in log.glob("*.json"):
        text = re.sub('"path":"[^"]*"', lambda _: f'"path":"{outside}"', entry.read_text())
        entry.write_text(text)
    with pytest.raises(
        WorkspaceDamaged, match=r"wallets cannot be read \(its log names .* outside"
    ):
        again(lake).snapshot().table("wallets")
    found = [damage for damage in damages(again(lake)) if damage.table == "wallets"]
    assert any("outside of the table" in damage.problem for damage in found)
    with (
        pytest.raises(WorkspaceDamaged, match="outside of the table"),
        again(lake).writer("sync", day(9)) as writer,
    ):
        writer.upsert(WALLETS, wallets(x={"id": "x"}))


def test_a_stored_file_that_is_a_link_is_reported(lake: Lake, tmp_path: Path) -> None:
    file = only(lake, "requests")
    file.rename(tmp_path / "elsewhere.parquet")
    file.symlink_to(tmp_path / "elsewhere.parquet")
    assert [str(damage.problem) for damage in damages(again(lake))] == ["is a link, not a file"]


@pytest.mark.parametrize(
    "name", ["digests.jsonl", "pins", "requests", "wallets/_delta_log", ".readers"]
)
def test_nothing_is_written_through_a_link_in_the_lake(
    lake: Lake, tmp_path: Path, name: str
) -> None:
    target, place = tmp_path / "precious", lake.folder / name
    if place.exists():
        place.rename(target)
    else:
        target.mkdir()
    place.symlink_to(target)
    before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    mine = target.read_bytes() if target.is_file() else b""
    for write in (
        lambda: put(again(lake), 9, requests(z="OPEN")),
        lambda: again(lake).pin("a test", day(9)),
    ):
        with pytest.raises(StorageError, match=rf"{name} is a link; links are never written"):
            write()
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == before
    assert (target.read_bytes() if target.is_file() else b"") == mine
