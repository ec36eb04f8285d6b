"""The journal in its database (SQLite, or PostgreSQL by URL), where entries are only appended.

Every decision is made by `Journal.decide`. It verifies the chain, builds the entries from the
current state, and appends them after the entries that it read. If somebody else wrote an entry that
the decision depends on, the decision is built again. An append takes the write lock of the database
and verifies new entries, so threads and processes need no other coordination.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from treasury.core.errors import ActionRefused, JournalError, SettingsError, TreasuryError
from treasury.core.files import durable
from treasury.core.machine.loading import Later
from treasury.core.nearest_names import Facade
from treasury.core.settings import Secret
from treasury.journal import engines, signing
from treasury.journal.actor import Actor, current_actor
from treasury.journal.chain import (
    FIRST,
    Entry,
    Head,
    canonical,
    entry_hash,
    read_entry,
    signed_hash,
    unbroken,
)
from treasury.journal.chain_guard import ChainGuard, holds
from treasury.journal.journal_end import ADOPTED, NotedEnd, gone_back
from treasury.journal.signing import SignatureRules, Signing, SigningKey

if TYPE_CHECKING:
    import sqlalchemy as sa

    from treasury.journal import journal_schema
# Loaded on first use, because a workspace without decisions does not need SQLAlchemy.
else:
    sa = Later("sqlalchemy")
    journal_schema = Later("treasury.journal.journal_schema")

_FILE_NAME: Final = "journal.sqlite"
ATTEMPTS: Final = 50
"""Number of attempts before a decision fails because other people keep writing first."""


class Draft(msgspec.Struct, frozen=True):
    """An entry before it gets a number, a time and a hash; `body` is a value for msgspec.

    `content` are the bytes of a file that is stored with the entry. `erases` is the SHA-256 of a
    file whose bytes are deleted with it.
    """

    kind: str
    subject: str
    body: object
    actor: Actor
    nonce: str | None = None
    content: bytes | None = None
    erases: str = ""


class Journal(Facade):
    """People's decisions in order; `place` is a workspace folder or a URL.

    The password of a URL is passed separately and never shown in errors. The journal's end is noted
    in the workspace `folder` (default: `place`, if that is a folder). `who` returns the person who
    uses this process, and `signing` the key that signs the person's entries.
    """

    _offers = ("entries", "last", "head", "verify", "signatures")
    _hint = 'entries(subject="A-1") has every step of an action, with its person and time'

    def __init__(
        self,
        place: Path | str,
        *,
        password: Secret | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        folder: Path | None = None,
        who: Callable[[], Actor] = current_actor,
        signing: Signing | None = None,
    ) -> None:
        self._engines: tuple[sa.Engine, sa.Engine] | None = None
        self._opening = threading.Lock()
        self._url = place / _FILE_NAME if isinstance(place, Path) else place
        self._file: Path | None = self._url if isinstance(self._url, Path) else None
        self._password = password
        where, address = folder, _FILE_NAME
        if isinstance(place, Path):
            where = place
        else:
            try:
                self._file = engines.file_of(self._engine.url)
            except (sa.exc.ArgumentError, ImportError) as error:
                raise JournalError(
                    f"the journal's address cannot be used: {type(error).__name__}",
                    do="write it as sqlite:///PATH or postgresql+psycopg://USER@HOST/DATABASE; the"
                    " second needs pip install 'treasury-toolkit[postgresql]'",
                ) from None
            address = engines.address_of(self._engine.url)
        self._end = None if where is None else NotedEnd(where, address)
        self._guard = ChainGuard(self._file)
        self._server_clock = engines.ServerClock()
        self._now = now
        self.who: Final = who
        self.signing: Final = signing or Signing()
        self._ready = False
        self._lock = threading.Lock()
        self._turn = threading.RLock()
        self._opened: tuple[int, ...] = ()

    @property
    def _engine(self) -> sa.Engine:
        """The engine for reading."""
        return self._both()[0]

    def _both(self) -> tuple[sa.Engine, sa.Engine]:
        """Return two engines, for reading and for appending; both are created on first use."""
        with self._opening:
            if self._engines is None:
                self._engines = engines.open_engines(self._url, self._password)
                for engine in self._engines:
                    weakref.finalize(self, engine.dispose)
            return self._engines

    def append(
        self, kind: str, subject: str, body: object, *, actor: Actor, nonce: str | None = None
    ) -> Entry:
        """Append one entry; `body` is a value that msgspec can encode, with amounts as Decimal.

        A nonce is valid for one entry. Raise ActionRefused for a used nonce, because the decision
        was already made, or if the actor must sign and cannot. Raise JournalError if the database
        cannot be written or was altered.
        """
        draft = Draft(kind, subject, body, actor, nonce)
        return self.decide(lambda _: [draft], rests_on=())[0]

    def decide(
        self,
        build: Callable[[Head], Sequence[Draft]],
        *,
        rests_on: Sequence[str] | None = None,
        thorough: bool = False,
    ) -> list[Entry]:
        """Append all the entries that `build` makes from the verified journal, or none.

        `build` runs again if another process has just written an entry of a kind in `rests_on`
        (`match.` means every kind with this prefix; None means any kind). `thorough` verifies the
        whole chain if writes by others cannot be detected. Raise the errors of `build` and
        `append`, and JournalError if the journal went back; in these cases no entry is appended. If
        the entries are stored but a later step fails, such as noting the end, the JournalError
        states that.
        """

        def attempt() -> list[Entry] | None:
            head = self.verified_head(thorough=thorough)
            try:
                drafts = build(head)
            except TreasuryError:
                if self._is_current(head, rests_on):
                    raise
                return None
            return self.extend(drafts, after=head, rests_on=rests_on) if drafts else []

        return _until_first(attempt)

    def note(self, drafts: Sequence[Draft]) -> list[Entry]:
        """Append entries about past events, even if the journal is damaged."""
        return _until_first(lambda: self.extend(drafts, happened=True))

    def extend(
        self,
        drafts: Sequence[Draft],
        *,
        after: Head | None = None,
        rests_on: Sequence[str] | None = None,
        happened: bool = False,
    ) -> list[Entry] | None:
        """Make one attempt to append entries; return None if somebody else wrote first.

        The chain is verified first. Raise ActionRefused if an actor must sign and the key is
        missing or another person's. With `happened`, the entries record past events. They are
        appended even if the chain is broken or lacks the noted end, or if they cannot be signed.
        """
        rules, key = self._signing_terms(drafts, happened=happened)
        bodies = [canonical(draft.body) for draft in drafts]
        adopts = any(draft.kind == ADOPTED for draft in drafts)
        with self._turn:
            try:
                with self._on_chain(writing=True) as connection:
                    wrong, lost = self._faults(connection, rules, adopts=adopts)
                    if wrong is not None and not happened:
                        raise wrong
                    if after is not None and not _is_current(connection, after, rests_on):
                        return None
                    added = self._add(connection, drafts, bodies, key)
            # A database that does not wait for locks reports a conflict at this point.
            except sa.exc.IntegrityError:
                return None
            if added:
                head = Head(added[-1].seq, added[-1].hash)
                if self._end is not None and lost is None:
                    self._end.note(head, instead=adopts)
                # New entries of this process are valid, so they need no verification.
                try:
                    with self._on_chain(writing=False) as connection:
                        self._guard.advance(connection, head)
                # The entries are stored, so this is not a failure; the next decision verifies the
                # whole chain.
                except JournalError:
                    self._guard.forget()
            if any(draft.erases for draft in drafts):
                engines.delete_rollback(self._both()[1])
            return added

    def entries(
        self,
        kind: str | Sequence[str] | None = None,
        subject: str | None = None,
        *,
        since: int = 0,
    ) -> list[Entry]:
        """Return the entries in order, starting after number `since`.

        A `kind` that ends in a dot is a prefix (`match.`); several kinds may be named.
        """

        def query() -> sa.Select[Any]:
            selected = journal_schema.entries_after(since)
            if kind is not None:
                kinds = (kind,) if isinstance(kind, str) else kind
                selected = selected.where(sa.or_(sa.false(), *map(journal_schema.is_kind, kinds)))
            if subject is not None:
                selected = selected.where(journal_schema.entries.c.subject == subject)
            return selected

        return [read_entry(row) for row in self._rows(query)]

    def follow(self, after: Head) -> tuple[list[Entry], JournalError | None]:
        """Return the readable entries after a known end, and the first error, or None.

        An error is a broken chain, a missing signature or an unreadable entry.
        """
        rows = self._rows(lambda: journal_schema.entries_after(after.seq))
        rules = self.signing.rules() if rows else SignatureRules()
        added, wrong, head = list[Entry](), None, after
        for row in rows:
            try:
                head = unbroken(row, head)
                signing.require_signed(row, rules)
            except JournalError as broken:
                wrong, head = wrong or broken, Head(row["seq"], row["hash"])
            try:
                added.append(read_entry(row))
            except JournalError as unreadable:
                wrong = wrong or unreadable
        return added, wrong

    def head(self) -> Head:
        """Return the end of the chain; `Head(0, …)` if it has no entries."""
        rows = self._rows(_newest)
        return Head(rows[0]["seq"], rows[0]["hash"]) if rows else Head(0, FIRST)

    def last(self) -> Entry | None:
        """Return the last entry; None if there is none."""
        rows = self._rows(_newest)
        return read_entry(rows[0]) if rows else None

    def file_content(self, sha256: str) -> bytes | None:
        """Return the bytes of an attached file, or None if they are not stored here.

        Raise JournalError if they were changed.
        """
        if not self._may_exist():
            return None
        with self._reading() as connection:
            return journal_schema.file_content(connection, sha256)

    def newest_about(self, subject: str) -> Head | None:
        """Return number and hash of the last entry about a subject, or None; one index lookup."""
        if not self._may_exist():
            return None
        with self._reading() as connection:
            row = connection.execute(journal_schema.NEWEST_ABOUT, {"about": subject}).first()
        return None if row is None else Head(row.seq, row.hash)

    def wall_clock(self) -> datetime:
        """Return the UTC time of the clock that all users of this journal share.

        It is the PostgreSQL server's clock, or this machine's if the journal is a file.
        """
        is_shared = self._file is None and self._engine.dialect.name == "postgresql"
        return self._server_clock.now(self._reading) if is_shared else datetime.now(UTC)

    def verify(self, *noted: Head, rules: SignatureRules | None = None) -> Head:
        """Verify the whole chain and the attached files.

        Raise JournalError for the first altered entry, or the first altered or missing file.
        The end noted in the workspace, and `noted` (heads stored elsewhere), reveal removed
        entries; the error names the first missing one. Each entry must have a valid signature if
        the policy, or `rules` if passed, requires one.
        """
        rules = rules or self.signing.rules()
        head, missing = Head(0, FIRST), [end for end in noted if end != Head(0, FIRST)]
        if self._may_exist():
            with self._on_chain(writing=False) as connection:
                head = self._guard.verify(connection, rules, whole=True)
                journal_schema.verify_files(connection)
                missing = [end for end in noted if not holds(connection, end)]
        if missing:
            first = min(missing, key=lambda end: end.seq)
            raise JournalError(
                f"the journal is not the one whose entry {first.seq} was noted as {first}",
                do="keep this file as evidence, and restore the journal from a copy",
            )
        lost = self.lost()
        if lost is not None:
            raise gone_back(lost)
        return head

    def signatures(self, rules: SignatureRules | None = None) -> dict[int, signing.Signature]:
        """Check each entry's signature against the policy's keys, or against `rules`.

        The results are by entry number.
        """
        rules = rules or self.signing.rules()
        rows = self._rows(lambda: journal_schema.entries_after(0))
        return {row["seq"]: signing.signature_of(row, rules) for row in rows}

    def verified_head(self, *, thorough: bool = False) -> Head:
        """Verify entries that may have changed since the last check; return the end of the chain.

        `thorough` verifies all entries if writes by others cannot be detected.
        """
        if not self._may_exist():
            return Head(0, FIRST)
        rules, whole = self.signing.rules(), thorough and not self._guard.sees_changes
        with self._on_chain(writing=False) as connection:
            return self._guard.verify(connection, rules, whole=whole)

    def problem(self) -> str:
        """Return why the journal is damaged; empty if it is valid.

        Only entries that may have changed since this process verified them are read.
        """
        try:
            self.verified_head()
            lost = self.lost()
        except JournalError as broken:
            return str(broken)
        return "" if lost is None else str(gone_back(lost))

    def holds(self, head: Head) -> bool:
        """Return True if the journal still contains an entry that was its head before."""
        if not self._may_exist():
            return head == Head(0, FIRST)
        with self._reading() as connection:
            return holds(connection, head)

    def lost(self) -> Head | None:
        """Return the end noted in the workspace if the journal lacks it, otherwise None."""
        end = None if self._end is None else self._end.read()
        return None if end is None or self.holds(end) else end

    @property
    def folder(self) -> Path | None:
        """The folder of the journal's file; None for a database server."""
        return None if self._file is None else self._file.parent

    def close(self) -> None:
        """Close the connections; the next call opens new connections."""
        for engine in self._engines or ():
            engine.dispose()

    def _signing_terms(
        self, drafts: Sequence[Draft], *, happened: bool
    ) -> tuple[SignatureRules | None, SigningKey | None]:
        """Return the signature rules and the signing key.

        If they are invalid or a required key is missing, return neither for past events; otherwise
        raise ActionRefused or SettingsError.
        """
        try:
            rules, key = self.signing.rules(), self.signing.key()
            signing.require_key(key, rules, (draft.actor for draft in drafts))
        except (ActionRefused, SettingsError):
            if not happened:
                raise
            return None, None
        return rules, key

    def _faults(
        self, connection: sa.Connection, rules: SignatureRules | None, *, adopts: bool
    ) -> tuple[JournalError | None, JournalError | None]:
        """Return why no decision is possible, and what is wrong with the noted end; None if fine.

        No decision is possible if the chain is broken, or the noted end is lost or unreadable.
        """
        lost = None
        try:
            end = None if adopts or self._end is None else self._end.read()
        except JournalError as unreadable:
            lost = unreadable
        else:
            lost = None if end is None or holds(connection, end) else gone_back(end)
        # A past event is appended without signature rules, so the next decision verifies all
        # entries.
        if rules is None:
            self._guard.forget()
            return lost, lost
        try:
            self._guard.verify(connection, rules)
        except JournalError as broken:
            return broken, lost
        return lost, lost

    def _is_current(self, head: Head, rests_on: Sequence[str] | None) -> bool:
        if not self._may_exist():
            return head == Head(0, FIRST)
        with self._reading() as connection:
            return _is_current(connection, head, rests_on)

    def _add(
        self,
        connection: sa.Connection,
        drafts: Sequence[Draft],
        bodies: list[str],
        key: SigningKey | None,
    ) -> list[Entry]:
        """Append the drafts as entries; their times never decrease, even if the clock goes back."""
        rows: list[dict[str, Any]] = []
        unwritten: list[dict[str, Any]] = []
        head, before = journal_schema.chain_end(connection)
        for draft, body in zip(drafts, bodies, strict=True):
            if draft.nonce is not None:
                journal_schema.write_entries(connection, unwritten)
                journal_schema.refuse_repeated_nonce(connection, draft.nonce)
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
                "assurance": "verified" if draft.actor.assurance == "verified" else "claimed",
                "public_key": None if key is None else key.public,
                "signature": None,
            }
            if key is not None:
                row["signature"] = key.sign(signed_hash(row))
            row["hash"] = entry_hash(**row)
            rows.append(row)
            unwritten.append(row)
            head = Head(row["seq"], row["hash"])
        journal_schema.write_entries(connection, unwritten)
        for draft in drafts:
            if draft.content is not None:
                journal_schema.store_file(connection, draft.content)
            if draft.erases:
                journal_schema.erase_file(connection, draft.erases)
        return [read_entry(row) for row in rows]

    def _rows(self, query: Callable[[], sa.Select[Any]]) -> list[dict[str, Any]]:
        if not self._may_exist():
            return []
        with self._reading() as connection:
            cursor = connection.execute(query())
            names = tuple(cursor.keys())
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def _may_exist(self) -> bool:
        """Return True if a journal may exist; the check does not create a SQLite file."""
        return self._ready or self._file is None or self._file.exists()

    def _reading(self) -> AbstractContextManager[sa.Connection]:
        return self._connected(self._engine, writing=False)

    @contextmanager
    def _on_chain(self, *, writing: bool) -> Iterator[sa.Connection]:
        """Open the connection for verifying and appending; one thread at a time may use it."""
        with self._turn, self._connected(self._both()[1], writing=writing) as connection:
            yield connection

    @contextmanager
    def _connected(self, engine: sa.Engine, *, writing: bool) -> Iterator[sa.Connection]:
        try:
            # Connections of a parent process, or to a replaced file, must not be used.
            status = None
            with suppress(OSError):
                status = None if self._file is None else self._file.stat()
            opened = (os.getpid(), *((status.st_dev, status.st_ino) if status else ()))
            with self._lock:
                if opened != self._opened:
                    for each in self._both():
                        each.dispose(close=opened[:1] == self._opened[:1])
                    self._opened, self._ready = opened, False
            self._prepare()
            with self._transaction(engine, writing=writing) as connection:
                yield connection
        except sa.exc.IntegrityError:
            raise
        except (sa.exc.DBAPIError, OSError) as error:
            # The traceback is cut, because a variable in the frames below holds the password.
            raise engines.unusable(self._engine.url, error) from None

    @contextmanager
    def _transaction(self, engine: sa.Engine, *, writing: bool) -> Iterator[sa.Connection]:
        connected = engine.connect().execution_options(**{engines.WRITES: writing})
        with connected as connection, connection.begin():
            if writing and self._ready and connection.dialect.name == "postgresql":
                connection.exec_driver_sql("LOCK TABLE entries IN EXCLUSIVE MODE")
            yield connection

    def _prepare(self) -> None:
        """Create or upgrade the tables; raise JournalError if a newer version wrote them."""
        with self._lock:
            if self._ready:
                return
            if self._file is not None:
                durable.make_folder(self._file.parent)
                engines.create_file(self._file)
            if not self._has_present_form():
                try:
                    with self._transaction(self._engine, writing=True) as connection:
                        journal_schema.bring_up_to_date(connection)
                except sa.exc.DBAPIError:
                    # Another process may have just created them.
                    if not self._has_present_form():
                        raise
            self._ready = True

    def _has_present_form(self) -> bool:
        with self._transaction(self._engine, writing=False) as connection:
            return journal_schema.is_present(connection)


def _newest() -> sa.Select[Any]:
    # A function of this module, because naming `journal_schema` loads SQLAlchemy.
    return journal_schema.newest_entry()


def _is_current(connection: sa.Connection, head: Head, rests_on: Sequence[str] | None) -> bool:
    """Return True if no entry that the decision depends on was written after a head."""
    if rests_on is None:
        return journal_schema.chain_end(connection)[0] == head
    kinds = [journal_schema.is_kind(kind) for kind in rests_on]
    entries = journal_schema.entries
    later = sa.select(entries.c.seq).where(entries.c.seq > head.seq, sa.or_(sa.false(), *kinds))
    return holds(connection, head) and connection.execute(later.limit(1)).first() is None


def _until_first(attempt: Callable[[], list[Entry] | None]) -> list[Entry]:
    """Repeat an attempt to append until nobody else writes first."""
    for _ in range(ATTEMPTS):
        added = attempt()
        if added is not None:
            return added
    raise JournalError(
        "other people's decisions kept coming first; nothing was journaled", do="run this again"
    )
