"""The tables of the journal, and the migrations that upgrade an older journal.

A migration only adds tables, columns and triggers. It runs in one transaction, which is rolled back
with an error if the number of rows or the last hash changed. Triggers prevent accidental changes of
entries; the hash chain detects deliberate changes.
"""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa

from treasury.core.errors import JournalError
from treasury.core.files.package_files import step_sql

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


def _end(connection: sa.Connection) -> tuple[int, int | None, str | None]:
    """Return the number of entries, the last number and the last hash."""
    count = connection.execute(sa.select(sa.func.count()).select_from(entries)).scalar()
    last = connection.execute(
        sa.select(entries.c.seq, entries.c.hash).order_by(entries.c.seq.desc()).limit(1)
    ).one_or_none()
    return (count or 0, None, None) if last is None else (count or 0, last.seq, last.hash)
