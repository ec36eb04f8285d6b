"""From the services into the lake: the tables' declarations and the loop that fills them."""

from treasury.extract.completeness import SYNC_FINDINGS
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

LAKE_TABLES = (*TABLES, SYNC_FINDINGS)
"""Every table of the lake that a sync writes."""

__all__ = [
    "LAKE_TABLES",
    "SYNC_FINDINGS",
    "TABLES",
    "Drift",
    "Progress",
    "Scope",
    "Skipped",
    "SyncReport",
    "TableReport",
    "Unoffered",
    "sync",
]
