"""Attacks and accidents at a home: it is replaced, emptied or moved, has gaps or hostile paths."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from home_samples import add, shared_lake, sharing_of
from lake_samples import CATALOGUE, KEPT, content
from lake_samples import statuses as statuses_of

from treasury.cli import treasury
from treasury.core.errors import HomeUnreachable, SettingsError, StorageError, WorkspaceDamaged
from treasury.lake import Lake, damages
from treasury.lake.home.heads import HomeHead, head_name, print_of
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.home.object_place import ObjectPlace
from treasury.lake.home.push_order import PushOrder
from treasury.lake.store import delta
from treasury.lake.store.sealed import seal, unseal

pytestmark = pytest.mark.long_file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def desk(tmp_path: Path, name: str, home: Path, said: list[str] | None = None) -> Lake:
    return shared_lake(tmp_path / name, home, tell=[].append if said is None else said.append)


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


# Homes that are replaced, emptied or moved


@pytest.mark.acceptance
def test_a_commit_is_never_pushed_to_the_home_of_another_lake(tmp_path: Path, home: Path) -> None:
    """Both homes have the same number of heads, so the next number is free in the wrong one too."""
    anna, stranger = desk(tmp_path, "anna", home), desk(tmp_path, "carl", tmp_path / "other")
    for number in range(2):
        add(anna, number, a="OPEN", b=f"S{number}")
        add(stranger, number, z="OPEN", y=f"S{number}")
    before = files_in(tmp_path / "other" / "heads")
    lost = desk(tmp_path, "anna", tmp_path / "other")
    mine = content(lost)
    for verb in (
        lambda: add(lost, 3, c="OPEN"),
        sharing_of(lost).pull,
        sharing_of(lost).push,
    ):
        with pytest.raises(StorageError, match="is another lake's home, or an old copy"):
            verb()
    assert content(lost) == mine
    assert files_in(tmp_path / "other" / "heads") == before
    add(stranger, 4, x="OPEN")
    add(desk(tmp_path, "anna", home), 5, c="OPEN")


def test_a_home_replaced_during_a_push_gets_no_head(tmp_path: Path, home: Path) -> None:
    anna, stranger = desk(tmp_path, "anna", home), desk(tmp_path, "carl", tmp_path / "other")
    add(anna, 0, a="OPEN")
    add(stranger, 0, z="OPEN")

    def work() -> None:
        home.rename(tmp_path / "away")
        (tmp_path / "other").rename(home)
        with anna.writer("sync", datetime.now(UTC)):
            pass

    with pytest.raises(StorageError, match="is not the one that this desk has"):
        anna.again(work, "sync")
    assert files_in(home / "heads") == {"000000000001"}
    assert statuses_of(anna.snapshot()) == {"a": "OPEN"}


@pytest.mark.acceptance
def test_a_moved_home_is_used_at_its_new_place(tmp_path: Path, home: Path) -> None:
    anna = desk(tmp_path, "anna", home)
    add(anna, 0, a="OPEN")
    home.rename(tmp_path / "moved")
    anna = desk(tmp_path, "anna", tmp_path / "moved")
    add(anna, 1, b="OPEN")
    ben = desk(tmp_path, "ben", tmp_path / "moved")
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


def test_an_empty_folder_counts_as_an_unmounted_share(tmp_path: Path, home: Path) -> None:
    """Work is staged, and no head starts a second series in the folder of the mount point."""
    said: list[str] = []
    anna = desk(tmp_path, "anna", home, said)
    add(anna, 0, a="OPEN")
    home.rename(tmp_path / "share")
    home.mkdir()
    add(anna, 1, b="OPEN")
    assert "is staged and not visible yet" in said[-1]
    assert statuses_of(anna.snapshot()) == {"a": "OPEN"}
    assert files_in(home) == set()
    shutil.rmtree(home)
    (tmp_path / "share").rename(home)
    assert sharing_of(anna).push().is_new
    assert statuses_of(anna.snapshot()) == {"a": "OPEN", "b": "OPEN"}


def test_a_home_emptied_on_purpose_is_refilled_by_a_desk(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    shutil.rmtree(home)
    home.mkdir()
    with pytest.raises(HomeUnreachable, match="is empty - mount the share, or restore the home"):
        sharing_of(anna).push()
    (anna.folder / "home.json").unlink()
    assert sharing_of(desk(tmp_path, "anna", home)).push().number == 1
    (ben.folder / "home.json").unlink()
    sharing_of(desk(tmp_path, "ben", home)).pull()
    assert content(ben) == content(anna)


@pytest.mark.parametrize("place", [".", "..", "lake", "lake/home"])
def test_a_home_and_a_desk_cannot_contain_each_other(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "desk" / "lake"
    folder.mkdir(parents=True)
    with pytest.raises(SettingsError, match="must neither contain the lake"):
        LakeHome(str((folder.parent / place).resolve()), folder)
    LakeHome(str(folder.parent / "home"), folder)


# Heads


@pytest.mark.acceptance
def test_a_gap_in_the_heads_stops_every_desk_before_it(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a gap counted as the end, a push would start a second history after it."""
    said: list[str] = []
    anna, ben = desk(tmp_path, "anna", home, said), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    for number in range(1, 4):
        add(anna, number, a=f"S{number}")
    lost = home / head_name(3)
    kept = lost.read_bytes()
    lost.unlink()
    before, objects = content(ben), files_in(home / "lake")
    words = r"lacks heads/000000000003 but has later heads - ask the colleague who maintains"
    for verb in (sharing_of(ben).pull, sharing_of(ben).push, lambda: add(ben, 9, b="OPEN")):
        with pytest.raises(WorkspaceDamaged, match=words):
            verb()
    with pytest.raises(WorkspaceDamaged, match=words):
        sharing_of(desk(tmp_path, "third", home)).pull()
    sharing_of(anna).guard = timedelta(seconds=-1)
    with pytest.raises(WorkspaceDamaged, match=words):
        sharing_of(anna).sweep()
    assert files_in(home / "lake") == objects
    monkeypatch.setattr("treasury.lake.sharing.SWEPT_EVERY", 1)
    # A desk past the gap continues, and reports why its cleanup does not run.
    add(anna, 9, a="DONE")
    assert "lacks heads/000000000003" in said[-1]
    assert "is in the home nevertheless" in said[-1]
    assert content(ben) == before
    lost.write_bytes(kept)
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


@pytest.mark.acceptance
def test_other_files_next_to_the_heads_are_ignored(tmp_path: Path, home: Path) -> None:
    anna = desk(tmp_path, "anna", home)
    add(anna, 0, a="OPEN")
    for name in (".DS_Store", "000000000001 (conflicted copy)", "Thumbs.db", "2", "x" * 12):
        (home / "heads" / name).write_bytes(b"?")
    add(anna, 1, b="OPEN")
    ben = desk(tmp_path, "ben", home)
    assert sharing_of(ben).pull().number == 2
    assert content(ben) == content(anna)


@pytest.mark.acceptance
@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff" * 400, b"[" * 100_000, None])
def test_an_invalid_head_is_named_and_never_extended(
    tmp_path: Path, home: Path, damage: bytes | None
) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    before = content(ben)
    first = (home / head_name(1)).read_bytes()
    (home / head_name(2)).write_bytes(first if damage is None else damage)
    for verb in (sharing_of(ben).pull, sharing_of(ben).push, lambda: add(ben, 1, b="OPEN")):
        with pytest.raises(WorkspaceDamaged, match=r"heads/000000000002 .* cannot be read"):
            verb()
    assert content(ben) == before
    assert damages(ben) == []


@pytest.mark.parametrize(
    "path", ["../../stolen", "/stolen", "requests/../../stolen", "last_commit.json", ".incoming/x",
             "requests//x", "requests/./x", "requests\\..\\x"],
)  # fmt: skip
def test_no_path_of_a_manifest_leaves_the_lake(tmp_path: Path, home: Path, path: str) -> None:
    """A writer of a home may change the lake, but no other file on a colleague's disk."""
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    head = unseal((home / head_name(1)).read_bytes(), HomeHead)
    files = msgspec.json.decode((home / "manifests" / head.manifest.sha256).read_bytes())
    content_of_it = b"not yours"
    files[path] = print_of(content_of_it)
    manifest = msgspec.json.encode(files)
    stored = print_of(manifest)
    (home / "manifests" / stored.sha256).write_bytes(manifest)
    (home / head_name(1)).write_bytes(seal(msgspec.structs.replace(head, manifest=stored)))
    before = files_in(tmp_path)
    with pytest.raises(WorkspaceDamaged, match=r"manifests/.* was changed after it was written"):
        sharing_of(ben).pull()
    assert {name for name in files_in(tmp_path) - before if "stolen" in name} == set()
    assert ben.snapshot().commit is None


OUTSIDE = ["../../../precious.parquet", "/etc/passwd", "s3://bucket/x.parquet", "%2e%2e/x.parquet"]


@pytest.mark.acceptance
@pytest.mark.parametrize("outside", OUTSIDE)
def test_no_log_entry_of_a_home_makes_a_desk_read_a_file_elsewhere(
    tmp_path: Path, home: Path, outside: str
) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    add(anna, 1, b="OPEN")
    before = content(ben)
    head = unseal((home / head_name(2)).read_bytes(), HomeHead)
    files = msgspec.json.decode((home / "manifests" / head.manifest.sha256).read_bytes())
    entry = "requests/_delta_log/00000000000000000001.json"
    text = (home / "lake" / entry).read_text()
    changed = re.sub(r'"path":"[^"]*"', lambda _: f'"path":"{outside}"', text).encode()
    assert changed != text.encode()
    files[entry] = print_of(changed)
    (home / "entries" / files[entry].sha256).write_bytes(changed)
    manifest = msgspec.json.encode(files)
    stored = print_of(manifest)
    (home / "manifests" / stored.sha256).write_bytes(manifest)
    (home / head_name(2)).write_bytes(seal(msgspec.structs.replace(head, manifest=stored)))
    for verb in (sharing_of(ben).pull, lambda: add(ben, 2, c="OPEN")):
        with pytest.raises(WorkspaceDamaged, match=r"names .* outside of the table.* was not used"):
            verb()
    assert content(ben) == before
    assert damages(ben) == []


def test_no_checkpoint_of_a_home_makes_a_desk_read_a_file_elsewhere(tmp_path: Path) -> None:
    rows = [{"add": None}, {"add": {"path": "part-0.parquet"}}]
    entry = tmp_path / "00000000000000000020.checkpoint.parquet"
    pq.write_table(pa.Table.from_pylist(rows), entry)
    delta.require_inside(entry)
    for outside in OUTSIDE:
        pq.write_table(pa.Table.from_pylist([*rows, {"add": {"path": outside}}]), entry)
        with pytest.raises(ValueError, match="outside of the table"):
            delta.require_inside(entry)


def test_no_head_names_a_table_elsewhere(tmp_path: Path, home: Path) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    head = unseal((home / head_name(1)).read_bytes(), HomeHead)
    commit = msgspec.structs.replace(head.last.commit, versions={"../../elsewhere": 0})
    last = msgspec.structs.replace(head.last, commit=commit)
    (home / head_name(1)).write_bytes(seal(msgspec.structs.replace(head, last=last)))
    with pytest.raises(WorkspaceDamaged, match="cannot be read"):
        sharing_of(ben).pull()


def test_a_lost_manifest_is_named(tmp_path: Path, home: Path) -> None:
    add(desk(tmp_path, "anna", home), 0, a="OPEN")
    shutil.rmtree(home / "manifests")
    (home / "manifests").mkdir()
    with pytest.raises(WorkspaceDamaged, match=r"manifests/\w+ in the lake's home .* is missing"):
        sharing_of(desk(tmp_path, "ben", home)).pull()


# Clocks, names, races


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("hours", "words"), [(3, "180 minutes ahead of"), (-26, "1,560 minutes behind")]
)
def test_a_desk_with_a_wrong_clock_reads_but_does_not_write(
    tmp_path: Path, home: Path, hours: int, words: str
) -> None:
    """A wrong clock would give this desk's commits, and all later ones, wrong timestamps."""
    anna = desk(tmp_path, "anna", home)
    add(anna, 0, a="OPEN")
    folder = tmp_path / "ben"
    place = LakeHome(
        str(home),
        folder / "lake",
        environment="sandbox",
        clock=lambda: datetime.now(UTC) + timedelta(hours=hours),
    )
    ben = Lake(folder, CATALOGUE, commits_kept=KEPT, grace=timedelta(0), home=place)
    sharing_of(ben).pull()
    assert content(ben) == content(anna)
    with pytest.raises(StorageError, match=f"the clock of this machine is {words}"):
        add(ben, 1, b="OPEN")
    assert content(ben) == content(anna)
    assert files_in(home / "heads") == {"000000000001"}


@pytest.mark.acceptance
def test_a_desk_slightly_behind_dates_its_commit_after_the_previous_one(
    tmp_path: Path, home: Path
) -> None:
    anna, ben = desk(tmp_path, "anna", home), desk(tmp_path, "ben", home)
    add(anna, 5, a="OPEN")
    # The clock of ben's desk is two days behind.
    add(ben, 3, b="OPEN")
    first, second = ben.commits()["at"].to_pylist()
    assert second == first + timedelta(microseconds=1)


@pytest.mark.acceptance
def test_names_in_a_home_are_plain_and_differ_by_more_than_case(tmp_path: Path, home: Path) -> None:
    """Such names also work on the shared drives of other operating systems."""
    anna = desk(tmp_path, "anna", home)
    for number in range(2 * KEPT):
        add(anna, number, a="HELD" if number % 2 else "OPEN", b="OPEN", c=f"S{number}")
    anna.pin("kept", datetime.now(UTC))
    names = files_in(home)
    assert [name for name in names if not re.fullmatch(r"[a-z0-9_./=-]+", name)] == []
    assert len({name.casefold() for name in names}) == len(names)
    assert max(map(len, names)) < 150


@pytest.mark.acceptance
def test_a_desk_that_lost_the_race_goes_first(tmp_path: Path, home: Path) -> None:
    said: list[str] = []
    anna, ben = desk(tmp_path, "anna", home, said), desk(tmp_path, "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    turn = PushOrder(sharing_of(ben).home.place, sharing_of(ben).home.note().desk, said.append)
    turn.claim()

    def pass_by() -> None:
        time.sleep(3)
        add(ben, 1, b="OPEN")
        turn.give_up()

    passing = threading.Thread(target=pass_by)
    passing.start()
    add(anna, 2, c="OPEN")
    passing.join()
    assert said == ["another desk lost the race before and goes first; waiting"]
    assert statuses_of(anna.snapshot()) == {"a": "OPEN", "b": "OPEN", "c": "OPEN"}
    assert files_in(home / "turns") == set()


def test_a_killed_desk_with_priority_delays_the_others_once(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.lake.home.push_order.PATIENCE", 1.0)
    anna = desk(tmp_path, "anna", home)
    add(anna, 0, a="OPEN")
    PushOrder(sharing_of(anna).home.place, "killed", [].append).claim()
    add(anna, 1, b="OPEN")
    assert files_in(home / "turns") == set()


# New desks, addresses and objects


def test_a_clone_needs_a_new_folder(tmp_path: Path, home: Path) -> None:
    add(desk(tmp_path, "anna", home), 0, a="OPEN")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    for folder, words in (("full", "is not empty"), ("home", "is not empty")):
        refused = CliRunner().invoke(treasury, ["lake", "clone", str(home), str(tmp_path / folder)])
        assert words in str(refused.exception)
    assert files_in(tmp_path / "full") == {"notes.txt"}
    assert not (home / "treasury.toml").exists()


@pytest.mark.parametrize(
    "address",
    ["s3://KEY:s3cret@bucket/x", "https://a.blob.core.windows.net/c?sig=s3cret", "s3://[s3cret",
     "file://me:s3cret@nas/share", "gs://bucket/x#s3cret", "az://c/x?sv=1&sig=s3cret"],
)  # fmt: skip
def test_an_address_with_a_credential_is_refused_and_never_shown(
    tmp_path: Path, address: str
) -> None:
    refused = CliRunner().invoke(treasury, ["lake", "clone", address, str(tmp_path / "ben")])
    assert isinstance(refused.exception, SettingsError)
    assert "s3cret" not in f"{refused.output}{refused.exception}{refused.exception.__cause__}"
    assert not (tmp_path / "ben").exists()
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "treasury.toml").write_text(
        f'[workspace]\ncompany = "Harbour"\n\n[lake]\nhome = "{address}"\n'
    )
    refused = CliRunner().invoke(treasury, ["-w", str(folder), "lake", "status"])
    assert isinstance(refused.exception, SettingsError)
    assert "s3cret" not in f"{refused.output}{refused.exception}{refused.exception.__cause__}"


@pytest.mark.timeout(20)
def test_a_pipe_in_place_of_an_object_is_refused_without_waiting(tmp_path: Path) -> None:
    place = ObjectPlace(str(tmp_path / "home"))
    place.make()
    place.write("heads/1.json", b"{}")
    assert place.read("heads/1.json") == b"{}"
    (tmp_path / "home" / "heads" / "1.json").unlink()
    os.mkfifo(tmp_path / "home" / "heads" / "1.json")
    with pytest.raises(HomeUnreachable):
        place.read("heads/1.json")
    with pytest.raises(HomeUnreachable):
        list(place.chunks("heads/1.json"))
    with pytest.raises(FileNotFoundError):
        place.read("heads/2.json")
