"""Two desks of the practice company on one home: one that has the lake, one that was cloned."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from treasury.cli import treasury
from treasury.settings import FILE_NAME
from treasury.workspace import Workspace

__all__ = ["anna", "ben", "run"]


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        treasury, ["--workspace", str(folder), *arguments], catch_exceptions=False
    )


@pytest.fixture
def anna(month_end: Workspace, tmp_path: Path) -> Path:
    """A copy of the practice desk with a home, pushed."""
    folder = shutil.copytree(month_end.folder, tmp_path / "anna")
    with (folder / FILE_NAME).open("a") as settings:
        settings.write('\n[lake]\nhome = "../home"\n')
    pushed = run(folder, "lake", "push")
    assert pushed.output.startswith("pushed ")
    return folder


@pytest.fixture
def ben(anna: Path, tmp_path: Path) -> Path:
    """A desk that was cloned from the home of the first."""
    cloned = CliRunner().invoke(
        treasury, ["lake", "clone", str(tmp_path / "home"), str(tmp_path / "ben")]
    )
    assert "head 1, commit 2 (statements) by" in cloned.output, cloned.output
    shutil.copy(anna / "rules.toml", tmp_path / "ben")
    return tmp_path / "ben"
