"""A temporary PostgreSQL server on a Unix socket, for tests and benchmarks."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

_USERS = ("postgres", "nobody")


def binaries() -> Path | None:
    """Return the folder of the server's programs, or None; Debian does not put it on the path."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").is_file()), None)


def _as_whom() -> dict[str, Any]:
    """Return the arguments of `Popen` that run the server as another user if this one is root.

    The server refuses to run as root.
    """
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
    """A running server; `new_url` creates a new database."""

    def __init__(self, folder: Path, port: int = 5432) -> None:
        self._folder = folder
        self._made = 0
        self.port = port

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """Open a connection without further settings, like psql."""
        return psycopg.connect(
            host=str(self._folder),
            port=self.port,
            dbname=database,
            user="tester",
            autocommit=True,
        )

    def new_url(self) -> str:
        """Create an empty database and return its URL."""
        self._made += 1
        name = f"journal_{self._made}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return f"postgresql+psycopg://tester@/{name}?host={self._folder}&port={self.port}"


@contextmanager
def serving(
    programs: Path, port: int = 5432, configure: Callable[[Path], Sequence[str]] = lambda _: ()
) -> Iterator[Server]:
    """Run a server in a temporary folder, which is removed afterwards.

    `configure` gets the server's data folder and returns settings. Without the setting
    `listen_addresses` the server listens only on its socket.
    """
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
        settings = ["listen_addresses=", f"port={port}", *configure(data)]
        options = [part for setting in settings for part in ("-c", setting)]
        with open(folder / "log", "wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, *options],
                stdout=log, stderr=log, cwd=folder, **whom,
            )  # fmt: skip
        try:
            _wait(server, folder, port)
            yield Server(folder, port)
        finally:
            # SIGINT requests a fast shutdown, which closes open connections.
            server.send_signal(signal.SIGINT)
            server.wait(60)
    finally:
        shutil.rmtree(folder)


def _wait(server: subprocess.Popen[bytes], folder: Path, port: int) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            Server(folder, port).connect().close()
        except psycopg.OperationalError:
            assert server.poll() is None, (folder / "log").read_text("utf-8")
            assert time.monotonic() < until, "the server did not start in time"
            time.sleep(0.05)
        else:
            return
