"""Connections to the journal's database: SQLite by default, PostgreSQL by URL.

SQLite uses a rollback journal, because a write-ahead log does not work on network folders. The
rollback journal's file is kept between appends, because creating it takes longer than writing an
entry.

A PostgreSQL server on another machine must have a verified certificate, and no server receives a
password in the clear. By default libpq would continue without encryption if the server offers none,
and send the password in any form that the server requests.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
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
    # Loaded on first use, because a workspace without decisions does not need SQLAlchemy.
    sa = Later("sqlalchemy")

_DRIVERS: Final = frozenset({"postgresql", "postgresql+psycopg"})
_VERIFIED: Final = "verify-full"
_LIBPQ: Final = 160000
"""The first version of libpq that can refuse authentication methods."""
WAIT_SECONDS: Final = 10
_CLOCK_SECONDS: Final = 60
_CLOCK_SPAN: Final = timedelta(seconds=_CLOCK_SECONDS)
"""How long a reading of the server's clock is used."""
_PROMPT_SECONDS: Final = 1
"""Maximum duration of a reading, which is also its maximum error."""
_DELETIONS: Final = 40
_PAUSE_SECONDS: Final = 0.05
"""Attempts to delete the rollback file while others read, and the pause between them."""
WRITES: Final = "treasury_writes"
"""Option of a connection that will write, so that its transaction takes the write lock at once."""


class ServerClock:
    """The clock of a database server, read once a minute and continued by the machine's clocks.

    It is read again as soon as one of the machine's clocks shows that a minute has passed (for
    example, because the machine has slept) or was set back.
    """

    def __init__(self) -> None:
        self._read: tuple[datetime, datetime, float] | None = None

    def now(self, reading: Callable[[], AbstractContextManager[sa.Connection]]) -> datetime:
        """Return the server's time in UTC; `reading` opens a connection."""
        here, boot = datetime.now(UTC), boot_seconds()
        if self._read is not None:
            server, here_then, boot_then = self._read
            passed = boot - boot_then
            if 0 <= passed < _CLOCK_SECONDS and timedelta() <= here - here_then < _CLOCK_SPAN:
                return server + timedelta(seconds=passed)
        with reading() as connection:
            server = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        server = server.astimezone(UTC)
        # If reading took long, or the process was suspended during it, the moment at which the
        # server read its clock is unknown.
        is_prompt = boot_seconds() - boot < _PROMPT_SECONDS
        self._read = (server, here, boot) if is_prompt else None
        return server


def address_of(url: sa.URL) -> str:
    """Return a journal's address without the user name, as noted in the workspace."""
    return f"{url.get_backend_name()}://{url.host or ''}/{url.database or ''}"


def open_engines(url: str | Path, password: Secret | None) -> tuple[sa.Engine, sa.Engine]:
    """Return two engines: one for reading, and one for verifying and appending.

    They are the same for PostgreSQL and for a database in memory. A path names a SQLite file.
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
    """Return the options of every connection to this server.

    Raise JournalError for any database but PostgreSQL, an insecure address, or an old libpq.
    """
    if url.drivername not in _DRIVERS:
        raise JournalError(
            f"the journal's address uses {url.drivername}, but a shared journal needs PostgreSQL",
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
                f"the journal's address has sslmode={stated[0]}, but {url.host or 'its server'} is"
                " not this machine: nothing was sent",
                do=f"write sslmode={_VERIFIED}, and sslrootcert=FILE for a private authority"
                " (docs/setup.md)",
            )
        required["sslmode"] = _VERIFIED
    return required


def _ways_to_log_in(url: sa.URL) -> str:
    """Return the allowed authentication methods, without the clear-text password."""
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
    """Return True if the address can only mean servers on this machine."""
    if _stated(url, "service") or os.environ.get("PGSERVICE"):
        # With `service`, a libpq file names the server, so it may be anywhere.
        return False
    hosts = [url.host or "", *_stated(url, "host")]
    if not any(hosts):
        hosts = [os.environ.get("PGHOST", "")]
    hosts += _stated(url, "hostaddr") or [os.environ.get("PGHOSTADDR", "")]
    each = [host.strip() for listed in hosts if listed for host in listed.split(",")]
    # Each host in a list may have a port.
    names = [host if host == "::1" else re.sub(r":\d+$", "", host).strip("[]") for host in each]
    return all(name.startswith(("/", "@")) or is_loopback(name) for name in names)


def _stated(url: sa.URL, option: str) -> list[str]:
    """Return an option's values in the address, where it may occur several times."""
    value = url.query.get(option, ())
    return [value] if isinstance(value, str) else list(value)


def _sqlite_engine(url: sa.URL, **more: Any) -> sa.Engine:
    engine = sa.create_engine(url, connect_args={"timeout": WAIT_SECONDS}, **more)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: sqlite3.Connection, _: object) -> None:
        # The driver must not begin transactions, because the journal begins them itself.
        connection.isolation_level = None
        connection.execute("PRAGMA synchronous = FULL")
        # The bytes of a deleted file are overwritten with zeros.
        connection.execute("PRAGMA secure_delete = ON").close()
        connection.execute("PRAGMA journal_mode = PERSIST").close()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get(WRITES, False)
        # If another file was copied over the database, SQLite's cached pages are outdated.
        connection.exec_driver_sql("PRAGMA shrink_memory").close()
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def delete_rollback(engine: sa.Engine) -> None:
    """Delete the rollback file of a SQLite journal, which still contains deleted bytes.

    Raise JournalError if other processes use the journal all the time.
    """
    file = file_of(engine.url)
    if file is None:
        return
    rollback = Path(f"{file}-journal")
    pooled = engine.raw_connection()
    try:
        for _ in range(_DELETIONS):
            pooled.cursor().execute("PRAGMA journal_mode = DELETE").close()
            if not rollback.exists():
                break
            time.sleep(_PAUSE_SECONDS)
        pooled.cursor().execute("PRAGMA journal_mode = PERSIST").close()
    finally:
        pooled.close()
    if rollback.exists() and rollback.stat().st_size:
        raise JournalError(
            f"the file is removed from the journal, but {rollback} may still contain its bytes",
            do="end the other programs that use the workspace, and delete that file while none"
            " runs",
        )


def file_of(url: sa.URL) -> Path | None:
    """Return the file of a SQLite journal; None for another database, or one in memory."""
    database = url.database if url.get_backend_name() == "sqlite" else None
    return Path(database) if database and database != ":memory:" else None


def create_file(database: Path) -> None:
    """Create the database file if it is missing, so that the group may write to it.

    SQLite would create it without this permission. An existing file is not opened, because closing
    it would release this process's SQLite locks on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))


def unusable(url: sa.URL, error: Exception) -> JournalError:
    """Return the error for a database that cannot be read or written."""
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
