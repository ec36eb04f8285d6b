"""A PostgreSQL server for tests and benchmarks: started by them, not as root, on its socket."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

_USERS = ("postgres", "nobody")


def binaries() -> Path | None:
    """Where the server's programs are; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").is_file()), None)


def _as_whom() -> dict[str, Any]:
    """The server refuses to run as root."""
    if os.getuid() != 0:
        return {}
    user = next(name for name in _USERS if _has(name))
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def _has(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


class Server:
    """A running server; `new_url` is a database of one's own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A plain connection, as somebody with psql has."""
        return psycopg.connect(
            host=str(self._folder), dbname=database, user="tester", autocommit=True
        )

    def new_url(self) -> str:
        """The URL of an empty database."""
        self._made += 1
        name = f"journal_{self._made}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://tester@/{name}?host={self._folder}"


@contextmanager
def serving(programs: Path) -> Iterator[Server]:
    """A server in a temporary folder, gone afterwards."""
    whom = _as_whom()
    folder = Path(tempfile.mkdtemp(prefix="treasury-pg-"))
    data = folder / "data"
    try:
        if whom:
            os.chown(folder, pwd.getpwnam(whom["user"]).pw_uid, whom["group"])
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | whom
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "--no-sync"],
            check=True, cwd=folder, **quiet,
        )  # fmt: skip
        with open(folder / "log", "wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="],
                stdout=log, stderr=log, cwd=folder, **whom,
            )  # fmt: skip
        try:
            _wait(server, folder)
            yield Server(folder)
        finally:
            server.send_signal(signal.SIGINT)  # a fast shutdown: whoever is connected is let go
            server.wait(60)
    finally:
        shutil.rmtree(folder)


def _wait(server: subprocess.Popen[bytes], folder: Path) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            Server(folder).connect().close()
        except psycopg.OperationalError:
            assert server.poll() is None, (folder / "log").read_text("utf-8")
            assert time.monotonic() < until, "the server did not start in time"
            time.sleep(0.05)
        else:
            return
