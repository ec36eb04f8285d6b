"""How the journal's database is reached: SQLite by default, PostgreSQL by URL.

SQLite keeps a rollback journal rather than a write-ahead log, which does not work on network
folders; the file of it is kept from one append to the next, for making it anew costs more than the
entry.

PostgreSQL proves who it is by a verified certificate, unless it is on this machine, and is sent no
password in the clear: by default libpq continues without encryption if the server offers
none, and sends the password in any form that the server requests.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from treasury.core.errors import JournalError
from treasury.core.machine.boot_clock import boot_seconds
from treasury.core.machine.loading import Later
from treasury.core.settings import Secret, is_loopback

if TYPE_CHECKING:
    import sqlalchemy as sa
else:
    sa = Later("sqlalchemy")  # a desk on which nothing was decided yet does without

_DRIVERS: Final = frozenset({"postgresql", "postgresql+psycopg"})
_VERIFIED: Final = "verify-full"
_LIBPQ: Final = 160000
"""The first version that can refuse a way of logging in."""
WAIT_SECONDS: Final = 10
_CLOCK_SECONDS: Final = 60
_CLOCK_SPAN: Final = timedelta(seconds=_CLOCK_SECONDS)
"""For how long a reading of the server's clock is counted on."""
_PROMPT_SECONDS: Final = 1
"""How long a reading that is counted on may take: it is wrong by at most so much."""
WRITES: Final = "treasury_writes"
"""The option of a connection that will write: its transaction takes the lock at once."""


class ServerClock:
    """The clock of a database server: read once a minute, and counted on by the machine's clocks.

    It is read again as soon as either clock of the machine shows that a minute has passed, so after
    a suspend as well, or that it went back.
    """

    def __init__(self) -> None:
        self._read: tuple[datetime, datetime, float] | None = None

    def now(self, reading: Callable[[], AbstractContextManager[sa.Connection]]) -> datetime:
        """The server's time in UTC; `reading` opens a connection."""
        here, boot = datetime.now(UTC), boot_seconds()
        if self._read is not None:
            server, here_then, boot_then = self._read
            passed = boot - boot_then
            if 0 <= passed < _CLOCK_SECONDS and timedelta() <= here - here_then < _CLOCK_SPAN:
                return server + timedelta(seconds=passed)
        with reading() as connection:
            server = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        server = server.astimezone(UTC)
        # After a slow reading, or in a process that was stopped meanwhile, it is not known when
        # between the two readings of the boot clock the server read its own.
        is_prompt = boot_seconds() - boot < _PROMPT_SECONDS
        self._read = (server, here, boot) if is_prompt else None
        return server


def address_of(url: sa.URL) -> str:
    """A journal's address as it is noted: without who reads it."""
    return f"{url.get_backend_name()}://{url.host or ''}/{url.database or ''}"


def open_engines(url: str | Path, password: Secret | None) -> tuple[sa.Engine, sa.Engine]:
    """One to read with, and the one whose connection the chain is verified and added to on.

    A path is that of a SQLite file.
    """
    if isinstance(url, Path):
        parsed = sa.URL.create("sqlite", database=str(url))
    else:
        parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite":
        required, parsed = _secured(parsed), parsed.set(drivername="postgresql+psycopg")
        if password is not None:
            parsed = parsed.set(password=password.reveal())
        engine = sa.create_engine(parsed, pool_pre_ping=True, connect_args=required)

        @sa.event.listens_for(engine, "begin")
        def wait_at_most(connection: sa.Connection) -> None:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")

        return engine, engine
    reader = _sqlite_engine(parsed)
    if file_of(parsed) is None:
        return reader, reader
    return reader, _sqlite_engine(parsed, poolclass=sa.StaticPool)


def _secured(url: sa.URL) -> dict[str, str]:
    """Return the options that every connection to this server is made with.

    Raises JournalError for another database than PostgreSQL, and for an address with less security.
    """
    if url.drivername not in _DRIVERS:
        raise JournalError(
            f"the journal's address is of {url.drivername}, and a shared journal is in PostgreSQL",
            do="write [journal] url as postgresql+psycopg://USER@HOST/DATABASE",
        )
    import psycopg

    if psycopg.pq.version() < _LIBPQ:
        raise JournalError(
            f"libpq {psycopg.pq.version() // 10000} is too old: it cannot refuse to send a password"
            " in the clear",
            do="install version 16 or later, or run pip install 'psycopg[binary]'",
        )
    required = {"require_auth": _ways_to_log_in(url)}
    if not _is_on_this_machine(url):
        stated = _stated(url, "sslmode") or [_VERIFIED]
        if stated != [_VERIFIED]:
            raise JournalError(
                f"the journal's address says sslmode={stated[0]}, and {url.host or 'its server'} is"
                " not this machine: nothing was sent",
                do=f"write sslmode={_VERIFIED}, and sslrootcert=FILE for a private authority"
                " (docs/setup.md)",
            )
        required["sslmode"] = _VERIFIED
    return required


def _ways_to_log_in(url: sa.URL) -> str:
    """The ways that the address allows, never the one that sends the password in the clear."""
    stated = [way.strip() for value in _stated(url, "require_auth") for way in value.split(",")]
    if not stated:
        return "!password"
    if "password" in stated or (
        all(way.startswith("!") for way in stated) and "!password" not in stated
    ):
        raise JournalError(
            "the journal's address allows a password in the clear (require_auth)",
            do="take require_auth out of [journal] url, or write require_auth=scram-sha-256",
        )
    return ",".join(stated)


def _is_on_this_machine(url: sa.URL) -> bool:
    """Whether every server that the address can mean is on loopback or a local socket."""
    if _stated(url, "service") or os.environ.get("PGSERVICE"):
        return False  # a file names the server
    hosts = [url.host or "", *_stated(url, "host")]
    if not any(hosts):
        hosts = [os.environ.get("PGHOST", "")]
    hosts += _stated(url, "hostaddr") or [os.environ.get("PGHOSTADDR", "")]
    each = [host.strip() for listed in hosts if listed for host in listed.split(",")]
    # In a list of hosts each may have a port.
    names = [host if host == "::1" else re.sub(r":\d+$", "", host).strip("[]") for host in each]
    return all(name.startswith(("/", "@")) or is_loopback(name) for name in names)


def _stated(url: sa.URL, option: str) -> list[str]:
    """The values of an option of the address; one may be given several times."""
    value = url.query.get(option, ())
    return [value] if isinstance(value, str) else list(value)


def _sqlite_engine(url: sa.URL, **more: Any) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": WAIT_SECONDS}, **more)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # the transactions are ours
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_mode = PERSIST").close()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get(WRITES, False)
        # The pages that SQLite keeps are not those of a file that was copied over the one it read.
        connection.exec_driver_sql("PRAGMA shrink_memory").close()
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def file_of(url: sa.URL) -> Path | None:
    """The file of a SQLite journal; None for another database, or one in memory."""
    database = url.database if url.get_backend_name() == "sqlite" else None
    return Path(database) if database and database != ":memory:" else None


def create_file(database: Path) -> None:
    """Make the file where there is none: SQLite itself makes none that a group may write to.

    One that exists is not opened: closing it would free the locks that SQLite holds on it here.
    """
    with suppress(FileExistsError):
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))


def unusable(url: sa.URL, error: Exception) -> JournalError:
    """The error for a database that cannot be read or written now."""
    place = url.database if url.get_backend_name() == "sqlite" else url.host or url.database
    text = str(getattr(error, "orig", None) or error)
    if "locked" in text or "lock timeout" in text:
        return JournalError(
            f"the journal {place} is locked: another process has been writing for {WAIT_SECONDS} s",
            do="wait until it has finished, then run this again; nothing was journaled",
        )
    return JournalError(
        f"the journal {place} cannot be used: {' '.join(text.split())}",
        do="check that it may be written to and is a journal; nothing was journaled",
    )
