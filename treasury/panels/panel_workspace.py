"""What a panel needs of the workspace that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from treasury.actions import Actions
from treasury.api import Client
from treasury.core.calendar import Month
from treasury.core.settings import Settings
from treasury.core.tables.table import Table
from treasury.extract import Progress, SyncReport
from treasury.journal import Journal
from treasury.journal.decision_history import Decision
from treasury.lake import Snapshot
from treasury.month.decisions.remarks import Marking
from treasury.month.decisions.verdicts import Deciding
from treasury.month.items import Carrying, Effects, OpenItems, SheetPlan
from treasury.month.reconciliation import Reconciliation
from treasury.month.trace.payment_trace import Trace


class PanelWorkspace(Protocol):
    """The workspace, from below: panels know what it offers and not what it is."""

    @property
    def settings(self) -> Settings:
        """Its settings."""

    @property
    def journal(self) -> Journal:
        """What people decided."""

    @property
    def actions(self) -> Actions:
        """What may be done at the services."""

    @property
    def matches(self) -> Deciding:
        """Verdicts on bank lines."""

    def snapshot(self) -> Snapshot:
        """What the world told us, as of the last commit."""

    def client(self, credential: str) -> Client:
        """The client with the named credential."""

    @property
    def funding(self) -> Marking:
        """Remarks on what waits for its funds."""

    def awaiting_funds(self) -> Table:
        """What waits for its funds, in the words of the desk."""

    def reconcile(self, month: str | Month | None = None) -> Reconciliation:
        """Reconcile a month; without one the last that has ended."""

    @property
    def items(self) -> Carrying:
        """Remarks on open items."""

    def open_items(self, month: str | Month | None = None) -> OpenItems:
        """Everything that is not settled in a month; without one the last that has ended."""

    def decision_effects(self, *planned: Decision) -> Effects:
        """What planned decisions would change beside their own lines."""

    def exceptions_sheet(
        self, path: str | Path, items: OpenItems | str | Month | None = None
    ) -> Path:
        """Write open items as a workbook in which people decide."""

    def decide(
        self,
        sheet: str | Path | bytes,
        *,
        name: str = "",
        agreed: SheetPlan | None = None,
        dry_run: bool = False,
    ) -> SheetPlan:
        """Take the decisions of a sheet: all that it can, or none."""

    def trace(self, name: str) -> Trace:
        """Follow one payment from end to end."""

    def watching(self) -> str | None:
        """What `treasury watch` is doing; None where nobody watches."""

    def sync(
        self,
        *,
        tables: Iterable[str] | None = None,
        full: bool = False,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Pull what the services know."""
