"""From the services into the lake: the tables' declarations and the loop that fills them."""

from treasury.extract.run import Drift, Progress, Scope, Skipped, SyncReport, TableReport
from treasury.extract.sync import sync
from treasury.extract.tables import TABLES

__all__ = [
    "TABLES",
    "Drift",
    "Progress",
    "Scope",
    "Skipped",
    "SyncReport",
    "TableReport",
    "sync",
]
