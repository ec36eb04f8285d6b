"""From the services into the lake: the tables' declarations and the loop that fills them."""

from treasury.extract.sync import sync
from treasury.extract.sync_run import (
    Drift,
    Progress,
    Scope,
    Skipped,
    SyncReport,
    TableReport,
    Unoffered,
)
from treasury.extract.synced_tables import TABLES
from treasury.extract.watch import WatchState, read_state, watch

__all__ = [
    "TABLES",
    "Drift",
    "Progress",
    "Scope",
    "Skipped",
    "SyncReport",
    "TableReport",
    "Unoffered",
    "WatchState",
    "read_state",
    "sync",
    "watch",
]
