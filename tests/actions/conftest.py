"""Fixtures of the action tests: a practice company per test, and one PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from action_practice import Practice, practising

from benchmarks.postgres_server import Server, binaries, serving


@pytest.fixture
def practice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Practice]:
    """Yield a new practice company, with its secrets in the environment."""
    secrets: dict[str, str] = {}
    with practising(tmp_path, secrets) as practice:
        for name, value in secrets.items():
            monkeypatch.setitem(os.environ, name, value)
        yield practice


@pytest.fixture(scope="session")
def database_server() -> Iterator[Server]:
    """Run a PostgreSQL server on a Unix socket; without PostgreSQL, skip the test or fail in CI."""
    programs = binaries()
    if programs is None:
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("PostgreSQL is not installed (Debian package postgresql)")
    with serving(programs) as server:
        yield server
