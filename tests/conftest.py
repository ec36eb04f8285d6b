"""Shared fixtures: the practice company's month, synced over a real socket.

One worker runs all tests of a file. So files with the mark `long_file` start first: a long file
that started last would keep one worker busy while the others are idle.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Final

import pytest
from crashed_workers import (
    pytest_handlecrashitem,
    pytest_sessionstart,
    pytest_terminal_summary,
)
from filled import fill, practise
from hypothesis import HealthCheck, settings

from treasury.core.files.state_folder import STATE_VARIABLE
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

__all__ = ["pytest_handlecrashitem", "pytest_sessionstart", "pytest_terminal_summary"]

settings.register_profile("treasury", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("treasury")
TESTS = Path(__file__).parent
ARE_ALL: Final = pytest.StashKey[bool]()
"""Whether the complete test suite was requested."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than cores, at most four: tests also wait for disks and processes."""
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_configure(config: pytest.Config) -> None:
    """Prepare a worker, and note whether all tests were requested.

    In a run of all tests each worker starts at another folder, so that the workers use each other's
    compiled bytecode.
    """
    config.stash[ARE_ALL] = [Path(name).resolve() for name in config.args] == [TESTS]
    worker = getattr(config, "workerinput", None)
    if worker is not None:
        # Processes that a test starts use the ordinary allocator.
        os.environ.pop("LD_PRELOAD", None)
    if config.stash[ARE_ALL] and worker is not None:
        rooms = sorted(str(path) for path in TESTS.glob("[!_]*") if path.is_dir())
        rooms += map(str, TESTS.glob("test_*.py"))
        first = len(rooms) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        config.args[:] = rooms[first:] + rooms[:first]


# This hook runs before tests are selected by their marks.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all but the first case of a `first_case` test as acceptance; put long files first."""
    seen = set[str]()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in seen and item.get_closest_marker("first_case"):
            item.add_marker(pytest.mark.acceptance)
        seen.add(test)
    items.sort(key=lambda item: (item.get_closest_marker("long_file") is None, item.path))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collection, and exempt the objects that exist then from it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the locations of the tests' workspaces separate from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE_VARIABLE, str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the user's workspace, secrets and terminal width from the environment of a test."""
    # Output has its natural width.
    monkeypatch.delenv("COLUMNS", raising=False)
    for name in [name for name in os.environ if name.startswith("TREASURY_")]:
        if name != STATE_VARIABLE:
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def company() -> Sandbox:
    return Sandbox(7)


@pytest.fixture(scope="session")
def month_end(company: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return the practice workspace on 2 November, for reading only."""
    return fill(tmp_path_factory.mktemp("month_end"), company)


@pytest.fixture(scope="session")
def practised(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a workspace as `treasury practice` gives it to a user, for reading only."""
    return practise(tmp_path_factory.mktemp("practised"), Sandbox(7))


@pytest.fixture(scope="session")
def unreported() -> Sandbox:
    """Return the practice company without provider reports."""
    return Sandbox(7, scenario="no-provider-report")


@pytest.fixture(scope="session")
def month_end_unreported(
    unreported: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> Workspace:
    return fill(tmp_path_factory.mktemp("month_end_unreported"), unreported)
