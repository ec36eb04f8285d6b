"""The tables of the journal, and the migrations that upgrade an older journal.

A migration only adds tables, columns and triggers. It runs in one transaction, which is rolled back
with an error if the number of rows or the last hash changed. Triggers prevent accidental changes to
entries; the hash chain detects deliberate changes.

Files that people attach are stored once per content, in a table of their own. The entry of the
attachment contains the SHA-256 of the bytes, so the chain covers them.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from treasury.core.errors import ActionRefused, JournalError
from treasury.core.files.package_files import step_sql
from treasury.journal.chain import FIRST, Head

_metadata = sa.MetaData()
_schema = sa.Table("journal_schema", _metadata, sa.Column("version", sa.Integer, primary_key=True))
entries = sa.Table(
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
    sa.Column("assurance", sa.Text),
    sa.Column("public_key", sa.Text),
    sa.Column("signature", sa.Text),
)
ATTACHED: Final = "item.attached"
"""Kind of the entry that attaches a file; its body contains the file's `sha256`."""
ERASED: Final = "item.removal_accepted"
"""Kind of the entry with which a second person removes a file's bytes; its subject is the hash."""
files = sa.Table(
    "attached_files",
    _metadata,
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
"""The bytes of attached files by their SHA-256."""
# Built once: the query runs before every attempt to send, and building it takes as long as running
# it.
NEWEST_ABOUT: Final = (
    sa.select(entries.c.seq, entries.c.hash)
    .where(entries.c.subject == sa.bindparam("about"))
    .order_by(entries.c.seq.desc())
    .limit(1)
)
"""Query for the last entry about a subject."""


def entries_after(seq: int) -> sa.Select[Any]:
    """Return the query for the entries after a number, in order."""
    return sa.select(entries).where(entries.c.seq > seq).order_by(entries.c.seq)


def is_kind(kind: str) -> sa.ColumnElement[bool]:
    """Return the SQL condition for entries of a kind, or of all kinds with a prefix."""
    if kind.endswith("."):
        return entries.c.kind.startswith(kind, autoescape=True)
    return entries.c.kind == kind


def _statements(name: str) -> tuple[str, ...]:
    return tuple(step_sql("treasury.journal.steps", name).rstrip().split("\n\n")[1:])


STEPS: Final[tuple[dict[str, tuple[str, ...]], ...]] = (
    # Version 1: triggers for the tables, which already exist.
    {"sqlite": _statements("sqlite_1")},
    # Version 2: triggers that keep the entries in order.
    {"sqlite": _statements("sqlite_2"), "postgresql": _statements("postgresql_2")},
    # Version 3: assurance and signature, whose columns already exist.
    {},
    # Version 4: triggers for the bytes of attached files.
    {"sqlite": _statements("sqlite_4"), "postgresql": _statements("postgresql_4")},
)
"""Statements of each schema version, by database; a new database runs all of them."""

SCHEMA_VERSION: Final = len(STEPS)


def schema_version(connection: sa.Connection) -> int:
    """Return the schema version of the journal in this database; 0 if there is none."""
    if not sa.inspect(connection).has_table(_schema.name):
        return 0
    return int(connection.execute(sa.select(_schema.c.version)).scalar() or 0)


def is_present(connection: sa.Connection) -> bool:
    """Return True if the schema is current; raise JournalError if a newer treasury wrote it."""
    version = schema_version(connection)
    if version > SCHEMA_VERSION:
        raise JournalError(
            f"the journal was written by a newer version of treasury (schema {version})",
            do="update treasury; nothing was changed",
        )
    return version == SCHEMA_VERSION


def bring_up_to_date(connection: sa.Connection) -> None:
    """Upgrade the schema in this transaction; raise JournalError if an entry would be lost."""
    _metadata.create_all(connection)
    # Another process may have upgraded the schema already.
    if is_present(connection):
        return
    before = _end(connection)
    # Columns that an older journal lacks are empty in its entries.
    present = {column["name"] for column in sa.inspect(connection).get_columns(entries.name)}
    unless_present = "IF NOT EXISTS " if connection.dialect.name == "postgresql" else ""
    for column in entries.columns:
        if column.name not in present:
            connection.exec_driver_sql(
                f"ALTER TABLE {entries.name} ADD COLUMN {unless_present}{column.name} TEXT"
            )
    for step in STEPS[schema_version(connection) :]:
        for statement in step.get(connection.dialect.name, ()):
            connection.exec_driver_sql(statement)
    connection.execute(sa.delete(_schema))
    connection.execute(sa.insert(_schema).values(version=SCHEMA_VERSION))
    if _end(connection) != before:
        raise JournalError(
            "bringing the journal up to date would have lost an entry",
            do="nothing was changed; keep a copy of the journal, then report this",
        )


def newest_entry() -> sa.Select[Any]:
    """Return the query for the last entry."""
    return sa.select(entries).order_by(entries.c.seq.desc()).limit(1)


def chain_end(connection: sa.Connection) -> tuple[Head, datetime | None]:
    """Return the end of the chain, and the time of its last entry if that can be read."""
    last = connection.execute(newest_entry()).one_or_none()
    if last is None:
        return Head(0, FIRST), None
    try:
        written_at = datetime.fromisoformat(last.at)
    # The entry was altered, but a past event must still be appended.
    except (TypeError, ValueError):
        written_at = None
    return Head(last.seq, last.hash), written_at


def write_entries(connection: sa.Connection, rows: list[dict[str, Any]]) -> None:
    """Insert the rows in one statement, and empty the list."""
    if rows:
        connection.execute(sa.insert(entries), rows)
        rows.clear()


def refuse_repeated_nonce(connection: sa.Connection, nonce: str) -> None:
    """Raise ActionRefused if an entry with this nonce exists."""
    entry = connection.execute(sa.select(entries).where(entries.c.nonce == nonce)).one_or_none()
    if entry is not None:
        raise ActionRefused(
            f"already decided: {entry.kind} for {entry.subject} by {entry.actor} at {entry.at}",
            do="look at what was decided; to decide again, start over",
        )


def store_file(connection: sa.Connection, content: bytes) -> None:
    """Store the bytes of an attached file, unless they are stored already."""
    digest = hashlib.sha256(content).hexdigest()
    stored = sa.select(files.c.sha256).where(files.c.sha256 == digest)
    if connection.execute(stored).first() is None:
        connection.execute(sa.insert(files).values(sha256=digest, content=content))


def erase_file(connection: sa.Connection, digest: str) -> None:
    """Delete the bytes of an attached file; its entries stay."""
    connection.execute(sa.delete(files).where(files.c.sha256 == digest))


def file_content(connection: sa.Connection, digest: str) -> bytes | None:
    """Return the bytes with this SHA-256, or None if they are not stored.

    Raise JournalError if the stored bytes have another hash.
    """
    content = connection.execute(
        sa.select(files.c.content).where(files.c.sha256 == digest)
    ).scalar()
    if content is None:
        return None
    # SQLite returns text if somebody else stored text in the column.
    stored = content.encode() if isinstance(content, str) else bytes(content)
    if hashlib.sha256(stored).hexdigest() != digest:
        raise JournalError(
            f"the attached file {digest[:12]} was changed after it was stored",
            do="keep the journal as evidence, and restore it from a copy",
        )
    return stored


def verify_files(connection: sa.Connection) -> None:
    """Raise JournalError for the first attached file that was changed, or is missing.

    The bytes of a file that two people removed may be missing.
    """
    columns = (entries.c.seq, entries.c.kind, entries.c.subject, entries.c.body)
    query = sa.select(*columns).where(entries.c.kind.in_((ATTACHED, ERASED)))
    expected: dict[str, int] = {}
    for row in connection.execute(query.order_by(entries.c.seq)).all():
        if row.kind == ERASED:
            expected.pop(row.subject, None)
        else:
            expected.setdefault(msgspec.json.decode(row.body)["sha256"], row.seq)
    for digest, seq in expected.items():
        if file_content(connection, digest) is None:
            raise JournalError(
                f"the file that entry {seq} of the journal attached, {digest[:12]}, is missing",
                do="keep the journal as evidence, and restore it from a copy",
            )


def _end(connection: sa.Connection) -> tuple[int, int | None, str | None]:
    """Return the number of entries, the last number and the last hash."""
    count = connection.execute(sa.select(sa.func.count()).select_from(entries)).scalar()
    last = connection.execute(
        sa.select(entries.c.seq, entries.c.hash).order_by(entries.c.seq.desc()).limit(1)
    ).one_or_none()
    return (count or 0, None, None) if last is None else (count or 0, last.seq, last.hash)
