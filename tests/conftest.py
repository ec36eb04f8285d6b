"""What every room's tests share: the practice company's month, synced over a real socket."""

from __future__ import annotations

import os

import pytest
from filled import fill

from treasury.sandbox import Sandbox
from treasury.workspace import Workspace


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test never sees the workspace or the secrets of whoever runs it, nor another test's."""
    for name in [name for name in os.environ if name.startswith("TREASURY_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def company() -> Sandbox:
    return Sandbox(7)


@pytest.fixture(scope="session")
def month_end(company: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The practice workspace on 2 November, to be read only."""
    return fill(tmp_path_factory.mktemp("month_end"), company)


@pytest.fixture(scope="session")
def unreported() -> Sandbox:
    """The practice company whose provider gives it no report."""
    return Sandbox(7, scenario="no-provider-report")


@pytest.fixture(scope="session")
def month_end_unreported(
    unreported: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> Workspace:
    return fill(tmp_path_factory.mktemp("month_end_unreported"), unreported)
