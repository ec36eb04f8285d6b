"""Two workspaces of the practice company that share a lake through a folder, its home."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from treasury.cli import treasury
from treasury.core.settings import FILE_NAME
from treasury.workspace import Workspace

__all__ = ["anna", "ben", "run", "shared_home"]


def run(folder: Path, *arguments: str) -> Result:
    """Run a command at a workspace and return its result."""
    return CliRunner().invoke(
        treasury, ["--workspace", str(folder), *arguments], catch_exceptions=False
    )


@pytest.fixture(scope="session")
def shared_home(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the workspace `anna`, the shared lake `home`, and `ben`, its clone."""
    folder = tmp_path_factory.mktemp("shared")
    anna = shutil.copytree(month_end.folder, folder / "anna")
    with (anna / FILE_NAME).open("a") as settings:
        settings.write('\n[lake]\nhome = "../home"\n')
    pushed = run(anna, "lake", "push")
    assert pushed.output.startswith("pushed ")
    cloned = CliRunner().invoke(
        treasury, ["lake", "clone", str(folder / "home"), str(folder / "ben")]
    )
    assert "head 1, commit 2 (statements) by" in cloned.output, cloned.output
    shutil.copy(anna / "rules.toml", folder / "ben")
    return folder


@pytest.fixture
def anna(shared_home: Path, tmp_path: Path) -> Path:
    """Return the folder of a workspace that has pushed its lake to its home."""
    shutil.copytree(shared_home / "home", tmp_path / "home")
    folder = shutil.copytree(shared_home / "anna", tmp_path / "anna")
    Workspace(folder).lake.publish()
    return folder


@pytest.fixture
def ben(anna: Path, shared_home: Path, tmp_path: Path) -> Path:
    """Return the folder of a workspace cloned from the home of `anna`."""
    folder = shutil.copytree(shared_home / "ben", tmp_path / "ben")
    settings = (folder / FILE_NAME).read_text()
    (folder / FILE_NAME).write_text(settings.replace(str(shared_home), str(tmp_path)))
    Workspace(folder).lake.publish()
    return folder
