"""Desks that share a lake through a folder: one commits, the others pull; nothing is lost."""

from __future__ import annotations

import errno
import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from home_samples import add, files_of, shared_lake, sharing_of
from lake_samples import BALANCES, KEPT, REQUESTS, balances, content, day, requests, small_lake
from lake_samples import statuses as statuses_of

from treasury.core.errors import (
    ActionRefused,
    CommitOvertaken,
    HomeUnreachable,
    SettingsError,
    StorageError,
    WorkspaceDamaged,
)
from treasury.lake import Lake, damages
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.home.object_place import ObjectPlace
from treasury.lake.store.file_digests import Digests


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def desk(tmp_path: Path, name: str, home: Path, said: list[str] | None = None) -> Lake:
    return shared_lake(tmp_path / name, home, tell=[].append if said is None else said.append)


@pytest.mark.acceptance
def test_a_commit_of_one_desk_is_pulled_by_another(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN", b="OPEN")
    add(anna, 1, a="DONE")
    pulled = sharing_of(ben).pull()
    assert (pulled.heads, pulled.number) == (2, 2)
    assert content(ben) == content(anna)
    add(ben, 2, c="OPEN")
    assert statuses_of(anna.snapshot()) == {"a": "DONE", "b": "OPEN"}
    pulled = sharing_of(anna).pull()
    assert pulled.sentence.startswith("commit 3 (sync) by ")
    assert content(ben) == content(anna)
    assert sharing_of(anna).pull().files == 0
    assert not sharing_of(anna).push().is_new
    assert ben.commits().equals(anna.commits())
    assert ben.unpublished() == anna.unpublished() == ""


def test_the_second_writer_pulls_and_redoes_the_work(tmp_path: Path, home: Path) -> None:
    said: list[str] = []
    anna, ben = desk(tmp_path, "anna", home, said), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    turns = iter([lambda: add(ben, 1, b="OPEN"), lambda: None])

    def work() -> None:
        # The other desk commits during the first attempt.
        next(turns)()
        with anna.writer("sync", day(2)) as writer:
            writer.upsert(REQUESTS, requests(c="OPEN"))

    anna.again(work, "sync")
    assert statuses_of(anna.snapshot()) == {"a": "OPEN", "b": "OPEN", "c": "OPEN"}
    assert [text for text in said if "commit 2 (sync) by" in text and "repeated" in text]
    assert [row["number"] for row in anna.commits().to_pylist()] == [1, 2, 3]
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


@pytest.mark.acceptance
def test_a_writer_that_is_behind_is_refused_without_changes(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    add(anna, 1, b="OPEN")
    before = content(ben)
    with (
        pytest.raises(CommitOvertaken, match=r"commit 2 .*reached the lake's home first"),
        ben.writer("sync", day(1)) as writer,
    ):
        writer.upsert(REQUESTS, requests(z="OPEN"))
    assert content(ben) == before
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


@pytest.mark.acceptance
def test_offline_work_is_staged_privately_and_pushed_later(tmp_path: Path, home: Path) -> None:
    said: list[str] = []
    anna, ben = desk(tmp_path, "anna", home, said), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    away = home.rename(tmp_path / "unmounted")
    add(anna, 1, b="OPEN")
    add(anna, 2, c="OPEN", b="DONE")
    assert statuses_of(anna.snapshot()) == {"a": "OPEN"}
    assert any("staged and not visible yet" in text for text in said)
    with pytest.raises(HomeUnreachable, match="is not there"):
        sharing_of(anna).push()
    away.rename(home)
    pushed = sharing_of(anna).push()
    assert (pushed.is_new, pushed.number, pushed.commit) == (True, 2, 3)
    assert statuses_of(anna.snapshot()) == {"a": "OPEN", "b": "DONE", "c": "OPEN"}
    sharing_of(ben).pull()
    assert content(ben) == content(anna)
    assert anna.unpublished() == ""


@pytest.mark.acceptance
def test_the_very_first_commit_may_be_staged(tmp_path: Path) -> None:
    anna = desk(tmp_path, "anna", tmp_path / "no share" / "home")
    add(anna, 0, a="OPEN")
    add(anna, 1, b="OPEN")
    assert anna.snapshot().commit is None
    (tmp_path / "no share").mkdir()
    sharing_of(anna).push()
    assert statuses_of(anna.snapshot()) == {"a": "OPEN", "b": "OPEN"}


@pytest.mark.acceptance
def test_overtaken_staged_work_is_undone_and_named(tmp_path: Path, home: Path) -> None:
    said: list[str] = []
    anna, ben = desk(tmp_path, "anna", home, said), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    away = home.rename(tmp_path / "unmounted")
    add(anna, 1, b="OPEN")
    away.rename(home)
    add(ben, 1, c="OPEN")
    sharing_of(anna).pull()
    assert said[-1].endswith("do it again: add b")
    assert content(ben) == content(anna)
    add(anna, 3, b="OPEN")
    assert statuses_of(anna.snapshot()) == {"a": "OPEN", "b": "OPEN", "c": "OPEN"}


@pytest.mark.acceptance
def test_an_existing_lake_is_pushed_completely(tmp_path: Path, home: Path) -> None:
    lake = small_lake(tmp_path / "anna")
    for number in range(2 * KEPT):
        with lake.writer("sync", day(number)) as writer:
            writer.upsert(REQUESTS, requests(a="OPEN" if number % 2 else "HELD", b="DONE"))
            writer.append(BALANCES, balances("1"))
    lake.pin("kept", day(20))
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    assert sharing_of(anna).push().is_new
    sharing_of(ben).pull()
    assert content(ben) == content(anna) == content(lake)
    assert [pin.commit.number for pin in ben.pins()] == [2 * KEPT]
    number = 2 * KEPT - 2
    assert (
        ben.snapshot(commit=number)
        .sql("FROM requests")
        .equals(anna.snapshot(commit=number).sql("FROM requests"))
    )


@pytest.mark.acceptance
def test_pins_and_unpins_are_shared(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    anna.pin("the close", day(1))
    sharing_of(ben).pull()
    assert [pin.why for pin in ben.pins()] == ["the close"]
    for number in range(1, 3 * KEPT):
        add(ben, number, a="HELD" if number % 2 else "OPEN")
    sharing_of(anna).pull()
    for lake in (anna, ben):
        assert statuses_of(lake.snapshot(commit=1)) == {"a": "OPEN"}
    anna.unpin(1)
    sharing_of(ben).pull()
    assert ben.pins() == anna.pins() == []
    away = home.rename(tmp_path / "unmounted")
    ben.pin("offline", day(40))
    with pytest.raises(HomeUnreachable):
        ben.unpin(3 * KEPT)
    away.rename(home)
    sharing_of(ben).push()
    sharing_of(anna).pull()
    assert [pin.why for pin in anna.pins()] == ["offline"]


@pytest.mark.acceptance
def test_the_pin_of_a_close_is_kept_by_desks_that_do_not_know_the_close(
    tmp_path: Path, home: Path
) -> None:
    closes = {1: "the close of 2026-10"}
    anna = shared_lake(tmp_path / "anna", home, rests_on=lambda: closes, rested_on=lambda: {1})
    ben = desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    anna.pin("close of 2026-10", day(1))
    sharing_of(ben).pull()
    with pytest.raises(ActionRefused, match=r"close of 2026-10, by the journal of another desk"):
        ben.unpin(1)
    with pytest.raises(ActionRefused, match="the close of 2026-10"):
        anna.unpin(1)
    # A desk of an earlier version releases the pin anyway; anna keeps it and shares it again.
    sharing_of(ben).let_go("pins/1.json")
    (ben.folder / "pins" / "1.json").unlink()
    sharing_of(ben).push()
    sharing_of(anna).pull()
    assert [pin.commit.number for pin in anna.pins()] == [1]
    sharing_of(anna).push()
    sharing_of(ben).pull()
    assert [pin.commit.number for pin in ben.pins()] == [1]
    closes.clear()
    anna.unpin(1)
    sharing_of(ben).pull()
    assert ben.pins() == anna.pins() == []


@pytest.mark.acceptance
def test_two_pins_of_one_commit_merge_on_both_desks(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    away = home.rename(tmp_path / "unmounted")
    anna.pin("aaaa", day(1))
    ben.pin("bbbb", day(1))
    away.rename(home)
    for one in (anna, ben, anna, ben):
        sharing_of(one).pull()
        sharing_of(one).push()
    assert [pin.why for pin in anna.pins()] == [pin.why for pin in ben.pins()]
    assert "nothing to push" in str(sharing_of(anna).push())
    assert "nothing to push" in str(sharing_of(ben).push())


@pytest.mark.acceptance
def test_open_repair_requests_are_shared(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")

    def marked() -> None:
        with anna.writer("repair", day(1)) as writer:
            writer.refetch |= {REQUESTS.name}

    anna.again(marked, "repair")
    sharing_of(ben).pull()
    last = ben.last_commit()
    assert last is not None
    assert last.refetch == (REQUESTS.name,)
    assert ben.accept_loss([REQUESTS.name], day(2)) == (REQUESTS.name,)
    sharing_of(anna).pull()
    assert anna.last_commit() == ben.last_commit()


@pytest.mark.acceptance
def test_a_changed_file_of_the_home_is_refused_unread(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN", b="DONE")
    sharing_of(ben).pull()
    before = content(ben)
    add(anna, 1, b="OPEN", c="OPEN")
    kinds = {
        "lake/**/*.parquet": "was changed after it was written",
        "entries/*": "was changed after it was written",
        "manifests/*": "was changed after it was written",
        "heads/*": "cannot be read",
    }
    for pattern, problem in kinds.items():
        paths = (path for path in home.glob(pattern) if path.is_file())
        newest = max(paths, key=lambda path: path.stat().st_mtime_ns)
        whole = newest.read_bytes()
        for altered, words in (
            (whole[:-9] + b"?" + whole[-8:], problem),
            (whole[: len(whole) // 2], "has .* bytes, not the" if pattern[0] in "le" else problem),
        ):
            shutil.rmtree(ben.folder / ".incoming", ignore_errors=True)
            newest.write_bytes(altered)
            with pytest.raises(WorkspaceDamaged, match=words):
                sharing_of(ben).pull()
            assert content(ben) == before
        newest.write_bytes(whole)
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


def test_a_lost_object_of_the_home_is_named(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    path = next(home.glob("lake/requests/**/*.parquet"))
    path.unlink()
    with pytest.raises(WorkspaceDamaged, match=path.name + " in the lake's home .* is missing"):
        sharing_of(ben).pull()
    with pytest.raises(WorkspaceDamaged, match=r"first pull .* cut off"):
        ben.snapshot()


@pytest.mark.acceptance
def test_a_disk_failure_during_a_pull_leaves_the_content_unchanged(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = shared_lake(tmp_path / "anna", home)
    add(anna, 0, a="OPEN")
    ben = shared_lake(tmp_path / "ben", home)
    sharing_of(ben).pull()
    before = content(ben)
    add(anna, 1, a="DONE")

    sync = os.fsync

    def failing(descriptor: int) -> None:
        if "/.incoming/" in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(StorageError, match="Input/output error"):
            sharing_of(ben).pull()
    assert content(shared_lake(tmp_path / "ben", home)) == before
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


def test_a_pull_restores_lost_files(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    before = content(ben)
    next((ben.folder / "requests").rglob("*.parquet")).unlink()
    assert sharing_of(ben).pull().files == 1
    assert content(ben) == before
    path = next((ben.folder / "requests").rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert sharing_of(ben).pull().files == 0
    assert sharing_of(ben).pull(is_checked=True).files == 1
    shutil.rmtree(ben.folder / "requests" / "_delta_log")
    (ben.folder / "last_commit.json").unlink()
    sharing_of(ben).pull()
    assert content(ben) == before


def test_another_lakes_home_is_refused(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", tmp_path / "other")
    add(anna, 0, a="OPEN")
    add(ben, 0, b="OPEN")
    stranger = small_lake(tmp_path / "carl")
    with stranger.writer("sync", day(0)) as writer:
        writer.upsert(REQUESTS, requests(c="OPEN"))
    carl = desk(tmp_path, "carl", home)
    for verb in (sharing_of(carl).push, sharing_of(carl).pull):
        with pytest.raises(StorageError, match="belongs to another lake"):
            verb()
    lost = desk(tmp_path, "ben", tmp_path / "third")
    (tmp_path / "third").mkdir()
    with pytest.raises(HomeUnreachable, match="third is empty - mount the share"):
        sharing_of(lost).pull()
    add(anna, 1, a="DONE")
    other = desk(tmp_path, "ben", home)
    with pytest.raises(StorageError, match="does not follow head 1"):
        sharing_of(other).pull()


@pytest.mark.acceptance
def test_another_environment_and_a_later_form_are_refused(tmp_path: Path, home: Path) -> None:
    anna = desk(tmp_path, "anna", home)
    add(anna, 0, a="OPEN")
    place = LakeHome(str(home), tmp_path / "ben" / "lake", environment="staging at x.test")
    ben = Lake(tmp_path / "ben", anna.catalogue.values(), home=place)
    with pytest.raises(SettingsError, match="holds the records of sandbox"):
        sharing_of(ben).pull()


@pytest.mark.acceptance
def test_a_sweep_removes_objects_that_no_recent_head_names(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    for number in range(3 * KEPT):
        add(anna, number, a="HELD" if number % 2 else "OPEN", b="OPEN")
    (home / "lake" / "requests" / "part-stray.parquet").write_bytes(b"of a push that was killed")
    (home / "entries" / "0123#4").write_bytes(b"of a put that was killed")
    sharing = sharing_of(anna)
    # Young objects stay, because they may belong to a push that is still running.
    assert sharing.sweep().objects == 0
    sharing.guard = timedelta(seconds=-1)
    swept = sharing.sweep()
    assert swept.objects > 2
    assert not (home / "lake" / "requests" / "part-stray.parquet").exists()
    assert not (home / "entries" / "0123#4").exists()
    named = set(sharing.home.note().files)
    left = {p.removeprefix("lake/") for p in files_of(home) if p.startswith("lake/")}
    assert left == {path for path in named if not path.startswith("pins/")}
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


@pytest.mark.acceptance
def test_the_homes_tables_are_read_in_place(tmp_path: Path, home: Path) -> None:
    from deltalake import DeltaTable

    anna = desk(tmp_path, "anna", home)
    for number in range(2 * KEPT):
        add(anna, number, a="HELD" if number % 2 else "OPEN", **{f"r{number}": "OPEN"})
        version = anna.last_commit().versions["requests"]  # type: ignore[union-attr]
        table = DeltaTable(home / "lake" / "requests")
        assert table.version() == version
        assert table.to_pyarrow_table().num_rows == len(statuses_of(anna.snapshot()))
    for path in home.glob("in_place/*"):
        path.unlink()
    # A killed push may leave the log of a table in the home incomplete.
    shutil.rmtree(home / "lake" / "requests" / "_delta_log")
    add(anna, 40, a="DONE")
    assert DeltaTable(home / "lake" / "requests").version() == version + 1


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("s3://key:secret@bucket/x", "holds a credential"),
        ("az://container/x?sig=secret", "holds a credential"),
        ("ftp://bucket/x", "ftp:// cannot be a home"),
        ("somewhere/relative", "cannot be a home"),
        ("s3://", "cannot be a home"),
    ],
)
def test_an_invalid_address_or_one_with_a_secret_is_refused(
    tmp_path: Path, address: str, problem: str
) -> None:
    with pytest.raises(SettingsError, match=problem) as refused:
        LakeHome(address, tmp_path)
    assert "secret" not in str(refused.value)


CLOUDS = ("AWS_", "AZURE_", "GOOGLE_")


@pytest.mark.parametrize(
    ("address", "variables", "words"),
    [
        ("s3://b/x", {"AWS_ACCESS_KEY_ID": "s3cret"}, "is incomplete or unreadable"),
        ("az://c/x", {}, "the environment has no credential for it"),
        ("az://c/x", {"AZURE_STORAGE_ACCOUNT_NAME": "a"}, "has no credential for it"),
        (
            "az://c/x",
            {"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_ACCOUNT_KEY": "s3cret !"},
            "is incomplete or unreadable",
        ),
        ("gs://b/x", {"GOOGLE_SERVICE_ACCOUNT": "/nowhere/s3cret"}, "unreadable"),
        ("gs://b/x", {"GOOGLE_SERVICE_ACCOUNT_KEY": '{"key": "s3cret"}'}, "unreadable"),
    ],
)
def test_a_missing_or_broken_credential_is_one_line(
    monkeypatch: pytest.MonkeyPatch, address: str, variables: dict[str, str], words: str
) -> None:
    for name in [name for name in os.environ if name.startswith(CLOUDS)]:
        monkeypatch.delenv(name)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    with pytest.raises(HomeUnreachable, match=words) as refused:
        ObjectPlace(address).read("heads/000000000001")
    assert "s3cret" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.acceptance
def test_a_log_continued_by_another_desk_leaves_no_wrong_hint(tmp_path: Path, home: Path) -> None:
    """The hint at the newest checkpoint must not stay at ours once another desk has made one."""
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    for number in range(24):
        add(anna, number, a="HELD" if number % 2 else "OPEN")
    for number in range(24, 60):
        add(ben, number, a="HELD" if number % 2 else "OPEN")
    sharing_of(anna).pull()
    assert damages(anna) == []
    assert content(anna) == content(ben)


@pytest.mark.acceptance
def test_an_interrupted_pull_is_completed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "share" / "home"
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(ben, 0, b="OPEN")
    home.parent.mkdir()
    add(anna, 0, c="OPEN")

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Digests, "note", cut_off)
        with pytest.raises(KeyboardInterrupt):
            sharing_of(ben).pull()
    sharing_of(desk(tmp_path, "ben", home)).pull()
    again = desk(tmp_path, "ben", home)
    assert content(again) == content(anna)
    assert damages(again) == []
