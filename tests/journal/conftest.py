"""What the journal's tests share: a PostgreSQL server, once for all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from postgres_server import Server, binaries, serving


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    programs = binaries()
    if programs is None:
        # Where everything is to be tested, a missing server is a failure and not a matter of taste.
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("PostgreSQL is not installed (Debian package postgresql)")
    with serving(programs) as server:
        yield server
