"""The tables filled from the services, and the sync that stores the records in the lake."""

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
from treasury.extract.synced_tables import SERVICE_TABLES, TABLES

__all__ = [
    "SERVICE_TABLES", "TABLES", "Drift", "Progress", "Scope", "Skipped", "SyncReport",
    "TableReport", "Unoffered", "sync",
]  # fmt: skip
