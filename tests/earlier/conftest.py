"""The workspace that version 0.1.0 closed, unpacked for a test of its own."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from treasury.sandbox import Sandbox

ARCHIVE = Path(__file__).parent / "workspace-0.1.0.tar.xz"


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace as it was left; to be copied."""
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "workspace"


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The practice company's secrets, where its settings look for them; who decides is anna."""
    for name, (_, secret) in Sandbox(7).credentials.items():
        monkeypatch.setenv(f"TREASURY_{name.upper()}_SECRET", secret)
    monkeypatch.setenv("TREASURY_USER", "anna")
