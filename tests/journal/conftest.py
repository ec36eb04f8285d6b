"""Fixtures of the journal's tests: a PostgreSQL server, and databases for a journal."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from certificates import Authority
from remote_database import DATABASE_HOST, DATABASE_PASSWORD

from benchmarks.postgres_server import Server, binaries, serving


@pytest.fixture(scope="session")
def authority() -> Authority:
    """Return the authority that signed the PostgreSQL server's certificate."""
    return Authority()


@pytest.fixture(scope="session")
def postgresql(authority: Authority) -> Iterator[Server]:
    """Run a server: users connect by socket without a password, `remote` by TLS with a password."""
    programs = binaries()
    if programs is None:
        # In CI every test must run, so a missing server is a failure there.
        tell = pytest.fail if os.environ.get("CI") else pytest.skip
        tell("PostgreSQL is not installed (Debian package postgresql)")

    def configure(data: Path) -> list[str]:
        owner = data.stat()
        for name, content in zip(
            ("server.crt", "server.key"), authority.issue(DATABASE_HOST), strict=True
        ):
            (data / name).write_bytes(content)
            (data / name).chmod(0o600)
            os.chown(data / name, owner.st_uid, owner.st_gid)
        (data / "pg_hba.conf").write_text(
            "local all all trust\nhostssl all remote 127.0.0.1/32 scram-sha-256\n"
        )
        return ["listen_addresses=127.0.0.1", "ssl=on"]

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(programs, port, configure) as server:
        with server.connect() as connection:
            connection.execute(f"CREATE USER remote SUPERUSER PASSWORD '{DATABASE_PASSWORD}'")
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty database of each kind that a journal may use."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'journal.sqlite'}"
    server: Server = request.getfixturevalue("postgresql")
    return server.new_url()
