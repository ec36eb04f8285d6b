"""The lake: consistent Delta tables with history, holding data from the services and the banks.

A commit names one version of every table. Readers read the versions of one commit. Only one writer
at a time adds a commit.
"""

from treasury.core.tables.column_types import (
    AMOUNT,
    BOOL,
    DATE,
    INSTANT,
    INTEGER,
    TEXT,
    TEXTS,
    Column,
    columns_of,
    schema_of,
)
from treasury.lake.commits import Commit, mark_of, split_mark, tables_of
from treasury.lake.incoming_rows import with_hash
from treasury.lake.lake import CLOSE_OF, Lake
from treasury.lake.pins import Pin
from treasury.lake.snapshot import Snapshot
from treasury.lake.table_declaration import HASH, LAKE_COLUMNS, Table
from treasury.lake.upkeep.file_check import Damage, damages
from treasury.lake.upkeep.repair import Repair, repair
from treasury.lake.upkeep.storage_status import LakeStatus, lake_status
from treasury.lake.views.field_changes import CHANGE, changes
from treasury.lake.views.status_durations import DURATION, Events, durations
from treasury.lake.writer import Changes, Writer

__all__ = [
    "AMOUNT", "BOOL", "CHANGE", "CLOSE_OF", "DATE", "DURATION", "HASH", "INSTANT", "INTEGER",
    "LAKE_COLUMNS", "TEXT", "TEXTS", "Changes", "Column", "Commit", "Damage", "Events", "Lake",
    "LakeStatus", "Pin", "Repair", "Snapshot", "Table", "Writer", "changes", "columns_of",
    "damages", "durations", "lake_status", "mark_of", "repair", "schema_of", "split_mark",
    "tables_of", "with_hash",
]  # fmt: skip
