"""A lake of version 0.1.0 is brought to the present form: once, under the lock, whole or not."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from treasury.errors import StorageError, WorkspaceDamaged, WorkspaceLocked
from treasury.ground import durable
from treasury.lake import Lake, damages
from treasury.lake.lock import workspace_lock
from treasury.lake.sealed import read_sealed, write_sealed
from treasury.lake.upkeep import storage_form
from treasury.workspace import Workspace

sys.path.insert(0, str(Path(__file__).parents[1] / "lake"))
from lake_crash_child import stopping


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def folder(unpacked: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(unpacked, tmp_path / "desk"))


def content(folder: Path) -> dict[str, bytes]:
    """Every stored file but the few that the step writes."""
    lake = folder / "lake"
    return {
        path.relative_to(lake).as_posix(): path.read_bytes()
        for path in sorted(lake.rglob("*/*"))
        if path.is_file() and path.parent.name != "pins" and "leases" not in path.parts
    }


def test_whoever_opens_it_first_brings_it_to_the_present_form_and_says_so_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = content(folder)
    noted = (folder / "lake" / "digests.jsonl").read_bytes().splitlines()
    desk = Workspace(folder)
    assert desk.sql("SELECT count(*) AS n FROM statement_entries").arrow["n"][0].as_py() > 414
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "was stored by an earlier version and has the present form now" in told
    assert content(folder) == before, "no row and no file of a table is touched"
    assert storage_form.has_form(folder / "lake")
    last = desk.lake.last()
    assert last is not None
    assert (last.commit.number, last.listed) == (4, 3)
    (pin,) = desk.lake.pins()
    assert (pin.commit.number, pin.why) == (2, "close of 2026-10")
    there = desk.lake.digests.by_path()
    for line in map(msgspec.json.decode, noted):
        if (folder / "lake" / line["path"]).is_file():
            assert there[line["path"]] == line["digest"]
    assert "commits/_delta_log/00000000000000000003.json" in there
    assert damages(desk.lake) == []
    again = Workspace(folder)
    assert again.lake.last() == last
    assert capsys.readouterr().err == ""


def test_killed_at_any_write_the_step_is_simply_run_again(unpacked: Path, tmp_path: Path) -> None:
    def lake(folder: Path) -> Lake:
        return Workspace(folder).lake

    whole = Path(shutil.copytree(unpacked, tmp_path / "whole"))
    with stopping(-1, None) as points:
        expected = lake(whole).last()
    assert points[0] >= 8, "the pin, the last commit, the hashes, the form"

    def killed() -> None:
        raise Killed

    for at in range(points[0]):
        folder = Path(shutil.copytree(unpacked, tmp_path / str(at)))
        with stopping(at, killed), pytest.raises(Killed):
            lake(folder).last()
        assert lake(folder).last() == expected, at
        assert len(lake(folder).pins()) == 1
        assert damages(lake(folder)) == []
        for name in ("last_commit.json", "form.json", "digests.jsonl", "pins/2.json"):
            assert (folder / "lake" / name).read_bytes() == (whole / "lake" / name).read_bytes(), (
                name
            )
        shutil.rmtree(folder)


def test_a_step_that_is_run_again_changes_nothing(folder: Path) -> None:
    lake = Workspace(folder).lake
    lake.migrate()
    names = ("last_commit.json", "digests.jsonl", "pins/2.json")
    before = [(folder / "lake" / name).read_bytes() for name in names]
    (folder / "lake" / storage_form.FILE_NAME).unlink()
    Workspace(folder).lake.migrate()
    assert [(folder / "lake" / name).read_bytes() for name in names] == before


def test_where_it_may_only_be_read_the_reader_is_told_what_to_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, content: bytes) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(durable, "write_whole", refused)
    with pytest.raises(StorageError, match="as an earlier version stored it") as refusal:
        Workspace(folder).status("2026-10")
    assert "run `treasury doctor` once where the workspace may be written to" in str(refusal.value)


def test_while_another_process_writes_nobody_migrates(folder: Path) -> None:
    with workspace_lock(folder, "sync"), pytest.raises(WorkspaceLocked, match="is writing to"):
        Workspace(folder).snapshot()
    assert Workspace(folder).snapshot().commit is not None


def test_a_list_of_commits_that_does_not_read_is_left_to_the_doctor(folder: Path) -> None:
    lake = Workspace(folder).lake
    files = sorted((folder / "lake" / "commits").glob("*.parquet"))
    newest = max(files, key=lambda path: max(pq.read_table(path)["number"].to_pylist()))
    newest.write_bytes(b"gone")
    with pytest.raises(WorkspaceDamaged, match="is lost"):
        lake.snapshot()
    assert "commits" in str(Workspace(folder).doctor(repair=True))
    assert Workspace(folder).lake.snapshot().commit is not None


def test_a_lost_commit_of_the_present_form_is_not_taken_for_an_earlier_form(folder: Path) -> None:
    Workspace(folder).lake.migrate()
    for name in ("last_commit.json", storage_form.FILE_NAME):
        (folder / "lake" / name).unlink()
    with pytest.raises(WorkspaceDamaged, match=r"last_commit\.json.* is lost"):
        Workspace(folder).lake.last()


def test_a_later_form_is_refused(folder: Path) -> None:
    lake = Workspace(folder).lake
    lake.migrate()
    write_sealed(folder / "lake" / storage_form.FILE_NAME, {"form": storage_form.FORM + 1})
    with pytest.raises(StorageError, match="stored by a later version"):
        Workspace(folder).lake.last()
    assert (
        read_sealed(folder / "lake" / storage_form.FILE_NAME, dict)["form"] == storage_form.FORM + 1
    )
