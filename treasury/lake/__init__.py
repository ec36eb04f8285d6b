"""The lake: what the services and the banks told us, in Delta tables, temporal and consistent.

One commit names one version of every table; readers pin a commit, one writer at a time adds one.
"""

from treasury.lake.commits import Commit
from treasury.lake.declare import (
    AMOUNT,
    BOOL,
    DATE,
    INSTANT,
    INTEGER,
    TEXT,
    TEXTS,
    Column,
    Table,
)
from treasury.lake.lake import Lake
from treasury.lake.snapshot import Snapshot
from treasury.lake.writer import Changes, Writer

__all__ = [
    "AMOUNT",
    "BOOL",
    "DATE",
    "INSTANT",
    "INTEGER",
    "TEXT",
    "TEXTS",
    "Changes",
    "Column",
    "Commit",
    "Lake",
    "Snapshot",
    "Table",
    "Writer",
]
