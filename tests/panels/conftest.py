"""Fixtures for panels: a practice desk for each test, one warm JupyterLab for all tests."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from panel_lab import CHROMIUM, Desk, Lab, Notebook, running_browser, running_lab
from panel_practice import Practice, practising
from playwright.sync_api import Browser

from treasury.cli.commands.practice import prepare
from treasury.cli.practised_payments import begin_payments
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

USER = "ana.lyst"


@functools.cache
def secrets_of_practice() -> dict[str, str]:
    """Return the practice company's secrets by environment variable."""
    return {
        f"TREASURY_{name.upper()}_SECRET": secret
        for name, (_, secret) in Sandbox().credentials.items()
    }


@contextmanager
def at_the_desk() -> Iterator[None]:
    """Set the environment of an analyst of the practice company, and restore it afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        for name, secret in secrets_of_practice().items():
            # `prepare` sets these variables again; the patch removes them afterwards.
            patch.setenv(name, secret)
        patch.delenv("JUPYTERHUB_USER", raising=False)
        patch.setenv("TREASURY_USER", USER)
        yield


@pytest.fixture(scope="session")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return the practice workspace after its first sync, without statements; to be copied."""
    company = Sandbox()
    with at_the_desk(), company.serve() as served:
        workspace = prepare(tmp_path_factory.mktemp("synced"), company, served)
        workspace.sync()
        workspace.close_clients()
    return workspace


@pytest.fixture
def practice(tmp_path: Path, synced: Workspace) -> Iterator[Practice]:
    with at_the_desk(), practising(tmp_path / "workspace", synced) as made:
        yield made


@pytest.fixture
def month(tmp_path: Path, month_end: Workspace) -> Iterator[Practice]:
    """Yield a practice desk with the statements of its month, and its running services."""
    with at_the_desk(), practising(tmp_path / "workspace", month_end) as made:
        yield made


@pytest.fixture
def worked(tmp_path: Path, practised: Workspace) -> Iterator[Practice]:
    """Yield the practice desk that `treasury practice` gives, with its running services."""
    with at_the_desk(), practising(tmp_path / "workspace", practised) as made:
        begin_payments(made.workspace.folder, made.company)
        yield made


@pytest.fixture(scope="session")
def chromium() -> Path:
    """Return Chromium's path; without Chromium, skip the test or fail in CI."""
    if not CHROMIUM.exists():
        reason = f"{CHROMIUM} does not exist (Debian package chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return CHROMIUM


@pytest.fixture(scope="session")
def lab(chromium: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    variables = secrets_of_practice() | {"TREASURY_USER": USER}
    with running_lab(tmp_path_factory.mktemp("lab"), variables) as running:
        yield running


@pytest.fixture(scope="module")
def browser(chromium: Path) -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def desk(lab: Lab, browser: Browser) -> Iterator[Desk]:
    context = browser.new_context(viewport={"width": 1280, "height": 1000})
    try:
        yield Desk(lab, context.new_page())
    finally:
        context.close()


@pytest.fixture
def notebook(desk: Desk, practice: Practice, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    """Yield an open notebook with the approvals panel."""
    folder = practice.workspace.folder
    opened = desk.open(
        request.node.name,
        f"import treasury\nt = treasury.open({str(folder)!r})",
        "t.panels.approvals()",
    )
    yield opened
    opened.close()


@pytest.fixture
def paying(month: Practice) -> Practice:
    """Return a practice desk with statements that show which requests are not paid yet."""
    return month
