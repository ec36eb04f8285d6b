"""What the journal's tests share: a PostgreSQL server, once for all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.postgres_server import Server, binaries, serving


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    programs = binaries()
    if programs is None:
        # Where everything is to be tested, a missing server is a failure and not a matter of taste.
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("PostgreSQL is not installed (Debian package postgresql)")
    with serving(programs) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database, of each kind that a journal may be in."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'journal.sqlite'}"
    server: Server = request.getfixturevalue("postgresql")
    return server.new_url()
