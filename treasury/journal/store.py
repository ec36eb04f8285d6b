"""The journal in its database: SQLite by default, PostgreSQL by URL; entries are only added.

An append holds the database's write lock before it reads the end of the chain, so threads and
processes need no arrangement. Whoever decides on what the journal says appends `after` the head
that was read: if anything was written in between, nothing is appended, and it is read again.

SQLite keeps a rollback journal rather than a write-ahead log, which does not work on network
folders; the file of it is kept from one append to the next, for making it anew costs more than the
entry.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from treasury.errors import ActionRefused, JournalError
from treasury.journal.actor import Actor
from treasury.journal.chain import FIRST, Entry, Head, canonical, entry_hash, unbroken
from treasury.journal.end import ADOPTED, NotedEnd, gone_back
from treasury.journal.schema import bring_up_to_date, entries, is_present
from treasury.settings import Secret

__all__ = ["Draft", "Journal"]

FILE_NAME: Final = "journal.sqlite"
WAIT_SECONDS: Final = 10
_ATTEMPTS: Final = 5
_WRITES: Final = "treasury_writes"
_LAST: Final = (
    sa.select(entries.c.seq, entries.c.at, entries.c.hash).order_by(entries.c.seq.desc()).limit(1)
)


class Draft(msgspec.Struct, frozen=True):
    """An entry before it has its place in the chain; `body` is anything msgspec can write."""

    kind: str
    subject: str
    body: object
    actor: Actor
    nonce: str | None = None


class Journal:
    """People's decisions, in the order they were taken; `place` is a workspace folder or a URL.

    A URL's password is given apart from it, and is shown in no error. The journal's end is noted in
    `folder`, the workspace's: the place itself where that is one.
    """

    def __init__(
        self,
        place: Path | str,
        *,
        password: Secret | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        folder: Path | None = None,
    ) -> None:
        url = f"sqlite:///{place / FILE_NAME}" if isinstance(place, Path) else place
        try:
            self._engine = _engine(url, password)
        except (sa.exc.ArgumentError, ImportError) as error:
            raise JournalError(
                f"the journal's address cannot be used: {type(error).__name__}",
                do="write it as sqlite:///PATH or postgresql+psycopg://USER@HOST/DATABASE; the"
                " second needs pip install 'treasury[postgresql]'",
            ) from None
        where = place if isinstance(place, Path) else folder
        named = FILE_NAME if isinstance(place, Path) else _named(self._engine.url)
        self._end = None if where is None else NotedEnd(where, named)
        self._now = now
        self._ready = False
        self._lock = threading.Lock()
        self._opened: tuple[int, ...] = ()
        weakref.finalize(self, self._engine.dispose)

    def append(
        self, kind: str, subject: str, body: object, *, actor: Actor, nonce: str | None = None
    ) -> Entry:
        """Add an entry; `body` is anything msgspec can write, amounts as Decimal.

        A nonce is good for one entry: ActionRefused says that this was already decided. Raises
        JournalError where the database cannot be written.
        """
        added = self.extend([Draft(kind, subject, body, actor, nonce)])
        assert added is not None
        return added[0]

    def extend(self, drafts: Sequence[Draft], *, after: Head | None = None) -> list[Entry] | None:
        """Add entries, all of them or none; None where the chain no longer ends at `after`.

        Raises what `append` raises, and JournalError for a journal that went back, unless one of
        the entries adopts it.
        """
        bodies = [canonical(draft.body) for draft in drafts]
        adopts = any(draft.kind == ADOPTED for draft in drafts)
        for _ in range(_ATTEMPTS):
            try:
                with self._connected(writing=True) as connection:
                    last = connection.execute(_LAST).one_or_none()
                    head = Head(0, FIRST) if last is None else Head(last.seq, last.hash)
                    if after is not None and head != after:
                        return None
                    if not adopts and (lost := self._lost(connection)) is not None:
                        raise gone_back(lost)
                    before = None if last is None else datetime.fromisoformat(last.at)
                    added = self._add(connection, head, before, drafts, bodies)
            except sa.exc.IntegrityError:
                # Another process took the number (where the database has no lock to wait for) or
                # the nonce: the next round tells which.
                continue
            if self._end is not None and added:
                self._end.note(Head(added[-1].seq, added[-1].hash), instead=adopts)
            return added
        raise JournalError(
            "the journal is being written to by others all the time", do="run this again"
        )

    def entries(
        self, kind: str | None = None, subject: str | None = None, *, since: int = 0
    ) -> list[Entry]:
        """The entries in order, those after number `since`.

        `kind` may end in a dot for all that begin with it (`match.`).
        """
        query = sa.select(entries).where(entries.c.seq > since).order_by(entries.c.seq)
        if kind is not None:
            is_kind = entries.c.kind == kind
            begins = entries.c.kind.startswith(kind, autoescape=True)
            query = query.where(begins if kind.endswith(".") else is_kind)
        if subject is not None:
            query = query.where(entries.c.subject == subject)
        return [_entry(row) for row in self._rows(query)]

    def follow(self, after: Head) -> tuple[list[Entry], JournalError | None]:
        """The entries after an end that was read, and what is wrong with the chain among them."""
        query = sa.select(entries).where(entries.c.seq > after.seq).order_by(entries.c.seq)
        rows, head = self._rows(query), after
        try:
            for row in rows:
                head = unbroken(row, head)
        except JournalError as broken:
            return [_entry(row) for row in rows], broken
        return [_entry(row) for row in rows], None

    def head(self) -> Head:
        """The end of the chain; `Head(0, …)` while it is empty."""
        rows = self._rows(_LAST)
        return Head(rows[0]["seq"], rows[0]["hash"]) if rows else Head(0, FIRST)

    def verify(self, noted: Head | None = None) -> Head:
        """Walk the whole chain; JournalError names the first entry that is not as it was written.

        Entries cut off at the end are found by the end that is noted in the workspace, and by
        `noted`, one that was kept elsewhere.
        """
        here = None if self._end is None else self._end.read()
        head = Head(0, FIRST)
        hashes = {0: FIRST}
        for row in self._rows(sa.select(entries).order_by(entries.c.seq)):
            head = unbroken(row, head)
            hashes[head.seq] = head.hash
        if noted is not None and hashes.get(noted.seq) != noted.hash:
            raise JournalError(
                f"the journal is not the one whose entry {noted.seq} was noted",
                do="keep this file as evidence, and restore the journal from a copy",
            )
        if here is not None and hashes.get(here.seq) != here.hash:
            raise gone_back(here)
        return head

    def lost(self) -> Head | None:
        """The end that was noted in the workspace, if the journal does not hold it; else None."""
        if self._end is None or self._end.read() is None:
            return None
        with self._connected(writing=False) as connection:
            return self._lost(connection)

    def close(self) -> None:
        """Close the connections; the next call opens them again."""
        self._engine.dispose()

    def _lost(self, connection: sa.Connection) -> Head | None:
        noted = None if self._end is None else self._end.read()
        if noted is None:
            return None
        found = connection.scalar(sa.select(entries.c.hash).where(entries.c.seq == noted.seq))
        return None if found == noted.hash else noted

    def _add(
        self,
        connection: sa.Connection,
        head: Head,
        before: datetime | None,
        drafts: Sequence[Draft],
        bodies: list[str],
    ) -> list[Entry]:
        """The drafts as entries, none earlier than the one before it."""
        rows: list[dict[str, Any]] = []
        for draft, body in zip(drafts, bodies, strict=True):
            _refuse_seen(connection, draft.nonce)
            at = self._now().astimezone(UTC)
            before = at if before is None else max(at, before)
            row: dict[str, Any] = {
                "seq": head.seq + 1,
                "at": before.isoformat(),
                "kind": draft.kind,
                "subject": draft.subject,
                "actor": draft.actor.name,
                "actor_source": draft.actor.source,
                "body": body,
                "nonce": draft.nonce,
                "prev_hash": head.hash,
            }
            row["hash"] = entry_hash(**row)
            connection.execute(sa.insert(entries), row)
            rows.append(row)
            head = Head(row["seq"], row["hash"])
        return [_entry(row) for row in rows]

    def _rows(self, query: sa.Select[Any]) -> list[dict[str, Any]]:
        if not self._ready and not _may_exist(self._engine.url):
            return []
        with self._connected(writing=False) as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    @contextmanager
    def _connected(self, *, writing: bool) -> Iterator[sa.Connection]:
        try:
            self._reopen_if_elsewhere()
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
            if writing and self._ready and connection.dialect.name == "postgresql":
                connection.exec_driver_sql("LOCK TABLE entries IN EXCLUSIVE MODE")
            yield connection

    def _reopen_if_elsewhere(self) -> None:
        """Let go of connections that a parent process opened, or to a file that was replaced."""
        place = self._engine.url.database if self._engine.dialect.name == "sqlite" else None
        try:
            found = os.stat(place) if place else None
        except OSError:
            found = None
        opened = (os.getpid(), *((found.st_dev, found.st_ino) if found else ()))
        with self._lock:
            if opened != self._opened:
                self._engine.dispose(close=opened[:1] == self._opened[:1])
                self._opened, self._ready = opened, False

    def _prepare(self) -> None:
        """Make the tables where there are none; refuse those of a newer version."""
        with self._lock:
            if self._ready:
                return
            database = self._engine.url.database
            if self._engine.dialect.name == "sqlite" and database:
                Path(database).parent.mkdir(parents=True, exist_ok=True)
            with self._transaction(writing=False) as connection:
                present = is_present(connection)
            if not present:
                with self._transaction(writing=True) as connection:
                    bring_up_to_date(connection)
            self._ready = True


def _named(url: sa.URL) -> str:
    """A journal's address as it is noted: without who reads it."""
    return f"{url.get_backend_name()}://{url.host or ''}/{url.database or ''}"


def _refuse_seen(connection: sa.Connection, nonce: str | None) -> None:
    if nonce is None:
        return
    seen = connection.execute(sa.select(entries).where(entries.c.nonce == nonce)).one_or_none()
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


def _engine(url: str, password: Secret | None) -> sa.Engine:
    parsed = sa.make_url(url)
    if password is not None:
        parsed = parsed.set(password=password.reveal())
    if parsed.get_backend_name() != "sqlite":
        engine = sa.create_engine(parsed, pool_pre_ping=True)
        sa.event.listen(engine, "begin", _wait_at_most)
        return engine
    engine = sa.create_engine(parsed, connect_args={"timeout": WAIT_SECONDS})
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the transactions are ours
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA journal_mode = PERSIST").close()


def _begin(connection: sa.Connection) -> None:
    writing = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _wait_at_most(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")


def _may_exist(url: sa.URL) -> bool:
    """Whether a journal may be there: asking a SQLite file that is not must not make it."""
    if url.get_backend_name() != "sqlite" or not url.database:
        return True
    return Path(url.database).exists()


def _failure(url: sa.URL, error: Exception) -> JournalError:
    place = url.database if url.get_backend_name() == "sqlite" else url.host
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
