"""The journal in its database: SQLite by default, any SQLAlchemy URL; entries are only added.

Each call opens its own connection, so threads and processes need no arrangement: an append takes
the database's write lock before it reads the end of the chain. SQLite keeps its rollback journal
rather than a write-ahead log, which does not work on network folders.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from treasury.errors import ActionRefused, JournalError
from treasury.journal.actor import Actor
from treasury.journal.chain import FIRST, Entry, Head, canonical, entry_hash, unbroken

__all__ = ["Journal"]

FILE_NAME: Final = "journal.sqlite"
SCHEMA_VERSION: Final = 1
WAIT_SECONDS: Final = 10
_ATTEMPTS: Final = 5
_WRITES: Final = "treasury_writes"

_metadata = sa.MetaData()
_schema = sa.Table("journal_schema", _metadata, sa.Column("version", sa.Integer, primary_key=True))
_entries = sa.Table(
    "entries",
    _metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, index=True),
    sa.Column("subject", sa.Text, nullable=False, index=True),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("actor_source", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("nonce", sa.Text, unique=True),
    sa.Column("prev_hash", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
)
_APPEND_ONLY: Final = tuple(
    # Against an accident; against intent there is the chain.
    f"CREATE TRIGGER IF NOT EXISTS entries_no_{verb} BEFORE {verb} ON entries"
    " BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END"
    for verb in ("update", "delete")
)


class _Draft(msgspec.Struct, frozen=True):
    """An entry before it has its place in the chain."""

    kind: str
    subject: str
    body: str
    actor: Actor
    nonce: str | None


class Journal:
    """People's decisions, in the order they were taken; `place` is a workspace folder or a URL."""

    def __init__(
        self, place: Path | str, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        url = f"sqlite:///{place / FILE_NAME}" if isinstance(place, Path) else place
        try:
            self._engine = _engine(url)
        except (sa.exc.ArgumentError, ImportError) as error:
            raise JournalError(
                f"the journal's address cannot be used: {type(error).__name__}",
                do="write it as sqlite:///PATH or postgresql+psycopg://HOST/DATABASE",
            ) from None
        self._now = now
        self._ready = False
        self._lock = threading.Lock()

    def append(
        self, kind: str, subject: str, body: object, *, actor: Actor, nonce: str | None = None
    ) -> Entry:
        """Add an entry; `body` is anything msgspec can write, amounts as Decimal.

        A nonce is good for one entry: ActionRefused says that this was already decided. Raises
        JournalError where the database cannot be written.
        """
        draft = _Draft(kind, subject, canonical(body), actor, nonce)
        for _ in range(_ATTEMPTS):
            try:
                with self._connected(writing=True) as connection:
                    return self._add(connection, draft)
            except sa.exc.IntegrityError:
                # Another process took the number (where the database has no lock to wait for) or
                # the nonce: the next round tells which.
                continue
        raise JournalError(
            "the journal is being written to by others all the time", do="run this again"
        )

    def entries(self, kind: str | None = None, subject: str | None = None) -> list[Entry]:
        """The entries in order; `kind` may end in a dot for all that begin with it (`match.`)."""
        query = sa.select(_entries).order_by(_entries.c.seq)
        if kind is not None:
            is_kind = _entries.c.kind == kind
            begins = _entries.c.kind.startswith(kind, autoescape=True)
            query = query.where(begins if kind.endswith(".") else is_kind)
        if subject is not None:
            query = query.where(_entries.c.subject == subject)
        return [_entry(row) for row in self._rows(query)]

    def head(self) -> Head:
        """The end of the chain; `Head(0, …)` while it is empty."""
        query = sa.select(_entries).order_by(_entries.c.seq.desc()).limit(1)
        rows = self._rows(query)
        return Head(rows[0]["seq"], rows[0]["hash"]) if rows else Head(0, FIRST)

    def verify(self, noted: Head | None = None) -> Head:
        """Walk the whole chain; JournalError names the first entry that is not as it was written.

        `noted` is a head kept elsewhere: with it, entries cut off at the end are found as well.
        """
        head = Head(0, FIRST)
        hashes = {0: FIRST}
        for row in self._rows(sa.select(_entries).order_by(_entries.c.seq)):
            head = unbroken(row, head)
            hashes[head.seq] = head.hash
        if noted is not None and hashes.get(noted.seq) != noted.hash:
            raise JournalError(
                f"the journal is not the one whose entry {noted.seq} was noted",
                do="keep this file as evidence, and restore the journal from a copy",
            )
        return head

    def _add(self, connection: sa.Connection, draft: _Draft) -> Entry:
        _refuse_seen(connection, draft.nonce)
        last = connection.execute(
            sa.select(_entries).order_by(_entries.c.seq.desc()).limit(1)
        ).one_or_none()
        row: dict[str, Any] = {
            "seq": 1 if last is None else last.seq + 1,
            "at": self._now().astimezone(UTC).isoformat(),
            "kind": draft.kind,
            "subject": draft.subject,
            "actor": draft.actor.name,
            "actor_source": draft.actor.source,
            "body": draft.body,
            "nonce": draft.nonce,
            "prev_hash": FIRST if last is None else last.hash,
        }
        row["hash"] = entry_hash(**row)
        connection.execute(sa.insert(_entries).values(row))
        return _entry(row)

    def _rows(self, query: sa.Select[Any]) -> list[dict[str, Any]]:
        if not self._ready and not _may_exist(self._engine.url):
            return []
        with self._connected(writing=False) as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    @contextmanager
    def _connected(self, *, writing: bool) -> Iterator[sa.Connection]:
        try:
            self._prepare()
            with self._transaction(writing=writing) as connection:
                yield connection
        except sa.exc.IntegrityError:
            raise
        except (sa.exc.DBAPIError, OSError) as error:
            raise _failure(self._engine.url, error) from error

    @contextmanager
    def _transaction(self, *, writing: bool) -> Iterator[sa.Connection]:
        options = {_WRITES: writing}
        connected = self._engine.connect().execution_options(**options)
        with connected as connection, connection.begin():
            yield connection

    def _prepare(self) -> None:
        """Make the tables where there are none; refuse those of a newer version."""
        with self._lock:
            if self._ready:
                return
            database = self._engine.url.database
            if self._engine.dialect.name == "sqlite" and database:
                Path(database).parent.mkdir(parents=True, exist_ok=True)
            with self._transaction(writing=True) as connection:
                found = _make_tables(connection)
            if found > SCHEMA_VERSION:
                raise JournalError(
                    f"the journal was written by a newer version of treasury (schema {found})",
                    do="update treasury; nothing was changed",
                )
            self._ready = True


def _make_tables(connection: sa.Connection) -> int:
    """The schema's version, after making what was not there."""
    _metadata.create_all(connection)
    if connection.dialect.name == "sqlite":
        for trigger in _APPEND_ONLY:
            connection.exec_driver_sql(trigger)
    found = connection.execute(sa.select(_schema.c.version)).scalar()
    if found is None:
        connection.execute(sa.insert(_schema).values(version=SCHEMA_VERSION))
    return SCHEMA_VERSION if found is None else int(found)


def _refuse_seen(connection: sa.Connection, nonce: str | None) -> None:
    if nonce is None:
        return
    seen = connection.execute(sa.select(_entries).where(_entries.c.nonce == nonce)).one_or_none()
    if seen is not None:
        raise ActionRefused(
            f"already decided: {seen.kind} for {seen.subject} by {seen.actor} at {seen.at}",
            do="look at what was decided; to decide anew, begin anew",
        )


def _entry(row: dict[str, Any]) -> Entry:
    return Entry(
        seq=row["seq"],
        at=datetime.fromisoformat(row["at"]),
        kind=row["kind"],
        subject=row["subject"],
        actor=msgspec.convert({"name": row["actor"], "source": row["actor_source"]}, Actor),
        body=msgspec.json.decode(row["body"], type=dict[str, Any]),
        nonce=row["nonce"],
        prev_hash=row["prev_hash"],
        hash=row["hash"],
    )


def _engine(url: str) -> sa.Engine:
    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return sa.create_engine(parsed, poolclass=NullPool)
    engine = sa.create_engine(parsed, poolclass=NullPool, connect_args={"timeout": WAIT_SECONDS})
    sa.event.listen(engine, "connect", _leave_transactions_to_us)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _leave_transactions_to_us(connection: Any, _: object) -> None:
    connection.isolation_level = None


def _begin(connection: sa.Connection) -> None:
    writing = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _may_exist(url: sa.URL) -> bool:
    """Whether a journal may be there: asking a SQLite file that is not must not make it."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return True
    return Path(url.database).exists()


def _failure(url: sa.URL, error: Exception) -> JournalError:
    place = url.database if url.get_backend_name() == "sqlite" else url.host
    text = str(getattr(error, "orig", None) or error)
    if "locked" in text:
        return JournalError(
            f"the journal {place} is locked: another process has been writing for {WAIT_SECONDS} s",
            do="wait until it has finished, then run this again; nothing was journaled",
        )
    return JournalError(
        f"the journal {place} cannot be used: {text}",
        do="check that it may be written to and is a journal; nothing was journaled",
    )
