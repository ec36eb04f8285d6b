"""Shared fixtures: the practice company's month, synced over a real socket.

One worker runs all tests of a file. So the longest files start first: a long file that started last
would keep one worker busy while the others are idle.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
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
LONGEST = (
    "month/decisions/test_file_debits.py",
    "month/decisions/test_bank_answers.py",
    "matching/test_match_attacked.py",
    "matching/test_match_references.py",
    "matching/test_match_second_codes.py",
    "actions/test_actions_intermediary.py",
    "panels/test_panels_browser.py",
    "matching/test_match_attacked_further.py",
    "matching/test_match_unnamed.py",
    "month/items/test_decision_sheet.py",
    "matching/test_match_attacked_returns.py",
    "month/items/test_decision_sheet_killed.py",
    "month/settle/test_settled_closes.py",
    "month/settle/test_settled_months.py",
    "statements/test_statements_other_format.py",
    "matching/test_match_attacked_payers.py",
    "month/decisions/test_decide_batches.py",
    "actions/test_actions_restored.py",
    "lake/test_home_attacks.py",
    "statements/test_statements_versions.py",
    "extract/test_extract_unseen.py",
    "month/items/test_items_replay.py",
    "cli/test_cli_terminal.py",
)
"""The files that take longest, in descending order."""
ARE_ALL: Final = pytest.StashKey[bool]()
"""Whether the complete test suite was requested."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than cores, at most four: tests also wait for disks and processes."""
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_configure(config: pytest.Config) -> None:
    """Start each worker at another folder, so that workers use each other's compiled bytecode."""
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


# It runs before tests are selected by their marks.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but the first case of a `first_case` test to acceptance; sort the files."""
    seen = set[str]()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if test in seen and item.get_closest_marker("first_case"):
            item.add_marker(pytest.mark.acceptance)
        seen.add(test)
    missing = [name for name in LONGEST if not (TESTS / name).is_file()]
    if missing:
        raise pytest.UsageError(f"tests/conftest.py: missing files: {', '.join(missing)}")
    places = {TESTS / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (places.get(item.path, len(places)), item.path))


def pytest_collection_finish() -> None:
    """Exempt the imported modules from garbage collection."""
    gc.collect()
    gc.freeze()


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
    """Return the workspace of a reader who practises, for reading only."""
    return practise(tmp_path_factory.mktemp("practised"), Sandbox(7))


@pytest.fixture(scope="session")
def unreported() -> Sandbox:
    """Return the practice company without a report of its provider."""
    return Sandbox(7, scenario="no-provider-report")


@pytest.fixture(scope="session")
def month_end_unreported(
    unreported: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> Workspace:
    return fill(tmp_path_factory.mktemp("month_end_unreported"), unreported)
