"""The journal's tables, and the steps that bring an older journal to the present form.

A step only ever adds. It runs in one transaction that ends by counting: a journal whose rows or
whose last hash are not what they were before is rolled back and said so. Append-only is held by
triggers in the database, against an accident; against intent there is the chain.
"""

from __future__ import annotations

from typing import Final

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
# Made once: it is read before every attempt to send, and making it takes as long as reading it.
NEWEST_ABOUT: Final = (
    sa.select(entries.c.seq, entries.c.hash)
    .where(entries.c.subject == sa.bindparam("about"))
    .order_by(entries.c.seq.desc())
    .limit(1)
)
"""The last entry about a subject."""


def _statements(name: str) -> tuple[str, ...]:
    return tuple(step_sql("treasury.journal.steps", name).rstrip().split("\n\n")[1:])


STEPS: Final[tuple[dict[str, tuple[str, ...]], ...]] = (
    # to version 1: the tables, which are made beforehand, stay as written
    {"sqlite": _statements("sqlite_1")},
    # to version 2: and in their order
    {"sqlite": _statements("sqlite_2"), "postgresql": _statements("postgresql_2")},
    {},  # to version 3: who vouches for the name, and the signature; columns that are added first
)
"""What each version adds, by database; the first is what an empty database is given."""

SCHEMA_VERSION: Final = len(STEPS)


def schema_version(connection: sa.Connection) -> int:
    """The version of the journal in this database; 0 where there is none."""
    if not sa.inspect(connection).has_table(_schema.name):
        return 0
    return int(connection.execute(sa.select(_schema.c.version)).scalar() or 0)


def is_present(connection: sa.Connection) -> bool:
    """Whether the journal has the present form; JournalError where a newer treasury wrote it."""
    version = schema_version(connection)
    if version > SCHEMA_VERSION:
        raise JournalError(
            f"the journal was written by a newer version of treasury (schema {version})",
            do="update treasury; nothing was changed",
        )
    return version == SCHEMA_VERSION


def bring_up_to_date(connection: sa.Connection) -> None:
    """Make what is not there, in this transaction; JournalError where a row would be lost."""
    _metadata.create_all(connection)
    if is_present(connection):  # another process was quicker
        return
    before = _end(connection)
    # The columns that an older journal's entries do not have; there they are empty.
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
            "bringing the journal to the present form would have lost an entry",
            do="nothing was changed; keep a copy of the journal, then report this",
        )


def _end(connection: sa.Connection) -> tuple[int, int | None, str | None]:
    """How many entries there are, the last number and the last hash."""
    count = connection.execute(sa.select(sa.func.count()).select_from(entries)).scalar()
    last = connection.execute(
        sa.select(entries.c.seq, entries.c.hash).order_by(entries.c.seq.desc()).limit(1)
    ).one_or_none()
    return (count or 0, None, None) if last is None else (count or 0, last.seq, last.hash)
