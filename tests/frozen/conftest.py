"""The frozen desk, unpacked once per session and copied for each test that changes it."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest

from treasury.sandbox import Sandbox

ARCHIVE = Path(__file__).parent / "desk.tar.xz"


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the desk, its lake's home and the decision sheet, which no test may change."""
    folder = tmp_path_factory.mktemp("frozen")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def frozen(unpacked: Path, tmp_path: Path) -> Path:
    """Return a copy of the unpacked folder that one test may change."""
    return Path(shutil.copytree(unpacked, tmp_path / "frozen"))


@pytest.fixture(autouse=True)
def at_the_desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set a new state folder, the sandbox's secrets, and anna as the user."""
    monkeypatch.setenv("TREASURY_STATE", str(tmp_path / "state"))
    for name, (_, secret) in Sandbox(7).credentials.items():
        monkeypatch.setenv(f"TREASURY_{name.upper()}_SECRET", secret)
    monkeypatch.setenv("TREASURY_USER", "anna")
