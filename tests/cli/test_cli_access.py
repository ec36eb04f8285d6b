"""Access to written files: only the owner, or the group if the setting allows it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.core.errors import WorkspaceLocked
from treasury.core.files.access import excess_access
from treasury.core.settings import CompanySettings, Settings, pin_environment
from treasury.journal.workspace_copies import register
from treasury.lake.store.lock import workspace_lock
from treasury.workspace.upkeep.watch import WatchedPart, watch

HERE = Path(__file__).parent


def modes(folder: Path) -> dict[str, int]:
    paths = (folder, *folder.rglob("*"))
    return {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.lstat().st_mode) for path in paths
    }


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("shared", "file", "inside"),
    [("", 0o600, 0o700), pytest.param("group", 0o660, 0o2770, marks=pytest.mark.acceptance)],
)
def test_files_written_by_a_desk_are_accessible_to_its_user_or_group_only(
    tmp_path: Path, shared: str, file: int, inside: int
) -> None:
    folder = tmp_path / "desk"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    subprocess.run(
        [sys.executable, str(HERE / "written_workspace.py"), str(folder), shared],
        check=True,
        umask=0,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    found = modes(folder)
    kinds = {name.rpartition(".")[2] for name in found}
    assert {"parquet", "json", "xlsx", "csv", "html", "png", "toml", "duckdb"} <= kinds
    wrong = {
        name: oct(mode)
        for name, mode in found.items()
        if mode != (inside if (folder / name).is_dir() else file)
    }
    assert wrong == {}
    assert [name for name, mode in modes(temporary).items() if mode & 0o077 and name != "."] == []
    assert list(excess_access(folder, "group" if shared else None)) == []


@pytest.mark.acceptance
def test_a_new_workspace_is_accessible_to_its_user_only(tmp_path: Path) -> None:
    script = "import sys; from treasury.cli import main; main()"
    folder = tmp_path / "new"
    command = [sys.executable, "-c", script, "-w", str(folder), "init", "--company", "X"]
    subprocess.run(command, check=True, umask=0, capture_output=True)
    assert modes(folder) == {".": 0o700, "treasury.toml": 0o600}


@pytest.mark.acceptance
def test_the_doctor_names_files_that_others_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    run = CliRunner()
    run.invoke(treasury, ["-w", str(folder), "init", "--company", "X"])
    settings = folder / "treasury.toml"
    settings.write_text('[workspace]\ncompany = "X"\nenvironment = "staging"\n', "utf-8")
    assert "access" not in run.invoke(treasury, ["-w", str(folder), "doctor"]).stdout
    folder.chmod(0o755)
    settings.chmod(0o644)
    said = run.invoke(treasury, ["-w", str(folder), "doctor"]).stdout
    assert "access: people other than you may read 2 files and folders" in said
    assert f"chmod -R go= {folder}" in said


def test_a_lock_note_is_never_written_through_a_link(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    for link in (os.symlink, os.link):
        precious.write_text("years of work")
        note = tmp_path / "treasury.lock.json"
        link(precious, note)
        with workspace_lock(tmp_path, "sync"):
            assert not note.is_symlink()
            assert b'"pid"' in note.read_bytes()
        assert precious.read_text() == "years of work"


def _begin(folder: Path) -> None:
    CliRunner().invoke(treasury, ["-w", str(folder), "init", "--company", "X"])


def _pin(folder: Path) -> None:
    desk = CompanySettings(company="X", environment="sandbox")
    pin_environment(folder, Settings(workspace=desk))


def _watch(folder: Path) -> None:
    at = datetime(2026, 11, 2, tzinfo=UTC)
    every = timedelta(minutes=5)
    part = WatchedPart(name="sync", work=str, every=every, patience=every)
    watch([part], folder, now=lambda: at, seconds=float, wait=lambda _: True, tell=id)


DRAFTS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "treasury.toml": (f".treasury.toml.{os.getpid()}", _begin),
    "environment": (f".environment.{os.getpid()}", _pin),
    "watch.json": (f".watch.json.{os.getpid()}", _watch),
    "workspace.id": ("workspace.id.new", register),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_no_temporary_file_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    draft, write = DRAFTS[name]
    precious, folder = tmp_path / "precious", tmp_path / "desk"
    precious.write_text("years of work")
    folder.mkdir()
    (folder / draft).symlink_to(precious)
    write(folder)
    assert precious.read_text() == "years of work"
    assert (folder / name).is_file()
    assert not (folder / name).is_symlink()


def test_a_lock_note_that_is_not_a_regular_file_does_not_block(tmp_path: Path) -> None:
    with workspace_lock(tmp_path, "sync"):
        note = tmp_path / "treasury.lock.json"
        note.unlink()
        os.mkfifo(note)
        with (
            pytest.raises(WorkspaceLocked, match="has just started"),
            workspace_lock(tmp_path, "x"),
        ):
            pass
