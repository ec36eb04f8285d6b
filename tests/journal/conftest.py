"""What the journal's tests share: a PostgreSQL server, once for all of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from postgres_server import Server, binaries, serving


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    programs = binaries()
    if programs is None:
        pytest.skip("PostgreSQL is not installed (Debian package postgresql)")
    with serving(programs) as server:
        yield server
