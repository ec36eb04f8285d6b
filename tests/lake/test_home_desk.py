"""Workspaces that share a lake through a home: clone, commands, doctor, and closed months."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from home_samples import files_of, sharing_of
from shared_desks import anna, ben, run, shared_home
from signed import close_month

from treasury.cli import treasury
from treasury.core.errors import HomeUnreachable
from treasury.core.settings import FILE_NAME
from treasury.workspace import Workspace

MONTH = "2026-10"
__all__ = ["anna", "ben", "shared_home"]


@pytest.mark.acceptance
def test_a_clone_gives_the_same_results_as_its_desk(anna: Path, ben: Path) -> None:
    for verb in (["reconcile", MONTH], ["exceptions"], ["fees", MONTH], ["sql", "FROM commits"]):
        printed = [run(desk, *verb, "--format", "csv").stdout_bytes for desk in (anna, ben)]
        assert printed[0] == printed[1], verb
    text = (ben / FILE_NAME).read_text()
    assert "client_id" not in text.partition("# To sync")[0]
    again = CliRunner().invoke(treasury, ["lake", "clone", str(ben.parent / "home"), str(ben)])
    # Cloning into the same folder again continues an interrupted clone.
    assert "nothing to pull" in again.output
    refused = CliRunner().invoke(treasury, ["lake", "clone", str(ben.parent / "x"), str(ben)])
    assert "is already a workspace" in str(refused.exception)
    assert (ben / "environment").read_text() == (anna / "environment").read_text()


@pytest.mark.acceptance
def test_a_bank_file_added_on_one_desk_is_there_on_the_other(
    anna: Path, ben: Path, tmp_path: Path
) -> None:
    path = next((anna / "bank").glob("*.xml"))
    first = Workspace(ben).statements.list().arrow.to_pylist()[0]
    name = str(first["statement_id"])
    done = run(ben, "statements", "withdraw", name, "--reason", "not ours")
    assert done.exit_code == 0, done.output
    assert "2 behind" not in run(anna, "lake", "status").output
    behind = run(anna, "lake", "status").output
    assert "1 behind (commit 3 (withdrawal) by" in behind
    assert "missing  lake's home" in run(anna, "doctor").output
    assert run(anna, "lake", "pull").output.startswith("pulled ")
    names = [row["statement_id"] for row in Workspace(anna).statements.list().arrow.to_pylist()]
    assert name not in names
    assert run(anna, "statements", "add", str(path)).exit_code == 0
    assert run(ben, "lake", "pull").output.startswith("pulled ")
    assert "nothing to pull" in run(ben, "lake", "pull").output
    assert "nothing to push" in run(ben, "lake", "push").output
    assert "from the home" in run(ben, "lake", "sweep").output


@pytest.mark.acceptance
def test_a_closed_month_is_verified_on_the_other_desk(
    anna: Path, tmp_path: Path, month_end: Workspace
) -> None:
    """The lake shares the pin and the journal the decisions, so both desks make equal packs."""
    desk = Workspace(anna)
    close_month(desk, MONTH)
    pack = desk.close(MONTH, tmp_path / "pack of anna")
    clone = CliRunner().invoke(
        treasury, ["lake", "clone", str(tmp_path / "home"), str(tmp_path / "ben")]
    )
    assert clone.exit_code == 0, clone.output
    ben = tmp_path / "ben"
    shutil.copy(anna / "rules.toml", ben)
    for path in (*anna.glob("journal.sqlite*"), *anna.glob("policy.toml")):
        shutil.copy(path, ben)
    verified = run(ben, "periods", "verify", MONTH)
    assert verified.exit_code == 0, verified.output
    assert verified.output == run(anna, "periods", "verify", MONTH).output
    checked = run(ben, "verify", str(pack.folder))
    assert checked.exit_code == 0, checked.output
    again = Workspace(ben).close(MONTH, tmp_path / "pack of ben")
    assert files_of(again.folder) == files_of(pack.folder)


@pytest.mark.acceptance
def test_the_doctor_checks_the_home_and_restores_missing_objects(
    anna: Path, ben: Path, tmp_path: Path
) -> None:
    examined = run(anna, "doctor").output
    assert "ok       lake's home" in examined
    assert "written to by" in examined
    home = tmp_path / "home"
    stored = min((home / "lake" / "ramp_requests").rglob("*.parquet"))
    entry = min((home / "entries").iterdir())
    kept = stored.read_bytes(), entry.read_bytes()
    stored.unlink()
    entry.write_bytes(b"?" * entry.stat().st_size)
    examined = run(anna, "doctor")
    assert f"{stored.name} is missing" in examined.output
    assert examined.exit_code == 3
    mended = run(ben, "doctor", "--repair").output
    assert f"{stored.name} is missing; it was uploaded again" in mended
    assert f"{entry.name} was changed after it was written; it was uploaded again" in mended
    assert (stored.read_bytes(), entry.read_bytes()) == kept
    home.rename(home.with_name("elsewhere"))
    examined = run(anna, "doctor").output
    assert "mount the share, or correct [lake] home; local data stays readable" in examined
    home.with_name("elsewhere").rename(home)
    here = min((ben / "lake" / "ramp_requests").rglob("*.parquet"))
    here.write_bytes(b"?" * here.stat().st_size)
    mended = run(ben, "doctor", "--repair").output
    assert "1 files came from the lake's home" in mended
    assert here.read_bytes() == (home / here.relative_to(ben)).read_bytes()
    shutil.move(home, tmp_path / "away")
    examined = run(ben, "doctor").output
    assert "is not there" in examined
    assert "ok       stored files" in examined


class Interrupted(io.BytesIO):
    """A stream of bytes that calls `meanwhile` before its first read."""

    def __init__(self, content: bytes, meanwhile: Callable[[], object]) -> None:
        super().__init__(content)
        self._meanwhile = [meanwhile]

    def read(self, size: int | None = -1, /) -> bytes:
        if self._meanwhile:
            self._meanwhile.pop()()
        return super().read(size)


@pytest.mark.acceptance
def test_standard_input_is_added_again_after_another_desk_was_first(
    anna: Path, ben: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def withdrawn(desk: Path, number: int) -> str:
        statement = Workspace(desk).statements.list().arrow.to_pylist()[number]
        Workspace(desk).statements.withdraw(str(statement["statement_id"]), reason="not ours")
        return str(statement["file_name"])

    name = withdrawn(anna, 0)
    content = (anna / "bank" / name).read_bytes()
    run(ben, "lake", "pull")
    piped = Interrupted(content, lambda: withdrawn(anna, 0))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(piped))
    report = Workspace(ben).statements.add("-")
    assert report.statements_new == 1
    assert "is pulled, then this work is repeated" in capsys.readouterr().err
    run(anna, "lake", "pull")
    names = [row["file_name"] for row in Workspace(anna).statements.list().arrow.to_pylist()]
    assert "standard input" in names
    assert len(Workspace(anna).statements.list()) == len(Workspace(ben).statements.list())


@pytest.mark.acceptance
def test_bank_files_are_staged_offline_and_reported_as_such(
    anna: Path, ben: Path, tmp_path: Path
) -> None:
    withdrawn = Workspace(anna).statements.list().arrow.to_pylist()[0]
    assert (
        run(
            anna, "statements", "withdraw", str(withdrawn["statement_id"]), "--reason", "again"
        ).exit_code
        == 0
    )
    run(ben, "lake", "pull")
    before = len(Workspace(ben).statements.list())
    shutil.move(tmp_path / "home", tmp_path / "away")
    added = run(ben, "statements", "add", str(anna / "bank" / str(withdrawn["file_name"])))
    assert added.exit_code == 0
    assert "is staged and not visible yet" in added.stderr
    assert len(Workspace(ben).statements.list()) == before
    status = run(ben, "lake", "status").output
    assert "staged   treasury statements add " in status
    assert "run `treasury lake push`" in run(ben, "doctor").output
    with pytest.raises(HomeUnreachable):
        sharing_of(Workspace(ben).lake).pull()
    shutil.move(tmp_path / "away", tmp_path / "home")
    assert run(ben, "lake", "push").output.startswith("pushed ")
    assert len(Workspace(ben).statements.list()) == before + 1
