"""A workspace differs from its copies by its location; legitimate use is not blocked."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from treasury.core.errors import ActionRefused, JournalError
from treasury.core.files.state_folder import STATE_VARIABLE, state_folder
from treasury.journal import Journal
from treasury.journal.workspace_copies import (
    FILE_NAME,
    adopt_copy,
    original_of,
    register,
    require_original,
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv(STATE_VARIABLE, str(folder))
    return folder


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """Return a workspace that was used once."""
    folder = tmp_path / "desk"
    folder.mkdir()
    require_original(folder)
    return folder


def copied(desk: Path, name: str = "copy") -> Path:
    return shutil.copytree(desk, desk.with_name(name))


def test_a_reopened_workspace_is_the_same_one(desk: Path) -> None:
    identity = (desk / FILE_NAME).read_text("utf-8")
    require_original(desk)
    require_original(desk / ".." / "desk")
    assert original_of(desk) is None
    assert (desk / FILE_NAME).read_text("utf-8") == identity


def test_a_copy_is_refused_and_the_original_continues(desk: Path) -> None:
    copy = copied(desk)
    with pytest.raises(ActionRefused, match=f"is a copy of the workspace {desk}, and neither"):
        require_original(copy)
    assert original_of(copy) == desk
    require_original(desk)
    assert original_of(desk) is None


def test_an_adopted_copy_is_an_independent_workspace(desk: Path) -> None:
    copy = copied(desk)
    adopt_copy(copy)
    for folder in (copy, desk):
        require_original(folder)
        assert original_of(folder) is None
    assert original_of(copied(copy, "copy of the copy")) == copy


def test_a_moved_folder_is_the_same_workspace(desk: Path) -> None:
    moved = desk.rename(desk.with_name("moved"))
    require_original(moved)
    assert original_of(moved) is None
    # A copy at the original path is a copy too.
    assert original_of(copied(moved, "desk")) == moved


def test_a_copy_stays_a_copy_after_the_original_is_deleted(desk: Path) -> None:
    # The copy may lack the actions that were sent last.
    copy = copied(desk)
    shutil.rmtree(desk)
    with pytest.raises(ActionRefused, match="is a copy of the workspace"):
        require_original(copy)


def test_a_link_to_the_folder_is_not_a_copy(desk: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(desk)
    require_original(link)
    require_original(desk)


def test_a_restore_in_place_is_not_detected_and_needs_no_step(desk: Path) -> None:
    copy = copied(desk)
    shutil.rmtree(desk)
    copy.rename(desk)
    require_original(desk)


def test_of_two_swapped_folders_one_is_the_workspace(desk: Path) -> None:
    copy, other = copied(desk), desk.with_name("other")
    desk.rename(other)
    copy.rename(desk)
    require_original(desk)
    with pytest.raises(ActionRefused):
        require_original(other)
    require_original(desk)


def test_a_colleague_on_a_shared_folder_registers_once(
    desk: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(state.with_name("colleague")))
    for _ in range(2):
        require_original(desk)
    copy = copied(desk)
    with pytest.raises(ActionRefused):
        require_original(copy)
    monkeypatch.setenv(STATE_VARIABLE, str(state))
    require_original(desk)


def test_reading_a_workspace_writes_nothing(desk: Path, state: Path) -> None:
    fresh = desk.with_name("fresh")
    fresh.mkdir()
    files = sorted(state.rglob("*"))
    assert original_of(fresh) is None
    assert original_of(copied(desk)) == desk
    assert sorted(state.rglob("*")) == files
    assert list(fresh.iterdir()) == []


def test_a_changed_device_number_does_not_make_a_copy(desk: Path, state: Path) -> None:
    """Device numbers change with every mount; neither they nor the host or boot are noted."""
    [file] = state.rglob("*.json")
    noted = file.read_text("utf-8")
    found = desk.stat()
    assert str(found.st_ino) in noted
    assert f"{found.st_dev}" not in noted.replace(str(found.st_ino), "").replace(str(desk), "")
    assert os.uname().nodename not in noted.replace(str(desk), "")


def test_an_unwritable_state_folder_names_the_setting_that_moves_it(
    desk: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = state.with_name("blocked")
    blocked.write_text("a file, not a folder", "utf-8")
    monkeypatch.setenv(STATE_VARIABLE, str(blocked))
    with pytest.raises(JournalError, match=f"set {STATE_VARIABLE} to a folder of your own"):
        register(desk)


@pytest.mark.parametrize("text", ["", "not an identity"])
def test_an_unreadable_identity_sends_nothing(desk: Path, text: str) -> None:
    (desk / FILE_NAME).write_text(text, "utf-8")
    with pytest.raises(JournalError, match="does not identify the workspace"):
        require_original(desk)


def test_an_unreadable_note_of_the_place_sends_nothing(desk: Path, state: Path) -> None:
    [file] = state.rglob("*.json")
    file.write_text("{", "utf-8")
    with pytest.raises(JournalError, match="does not identify the workspace"):
        require_original(desk)


def test_the_state_folder_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STATE_VARIABLE)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert state_folder() == tmp_path / "xdg" / "treasury"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert state_folder() == tmp_path / "home" / ".local" / "state" / "treasury"
    monkeypatch.setattr("sys.platform", "darwin")
    assert state_folder() == tmp_path / "home" / "Library" / "Application Support" / "treasury"


def test_only_a_file_journal_has_a_folder(tmp_path: Path) -> None:
    assert Journal(tmp_path).folder == tmp_path
    assert Journal(f"sqlite:///{tmp_path}/shared/journal.sqlite").folder == tmp_path / "shared"
    shared = Journal("postgresql+psycopg://treasury@127.0.0.1:1/journal", folder=tmp_path)
    # The database orders the entries of everyone who shares it.
    assert shared.folder is None
