"""The part of a workspace that panels use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from treasury.actions import Actions
from treasury.api import Client
from treasury.close.checklist import Checklist
from treasury.close.closing import Closing
from treasury.close.signing.step_sentences import CloseStep
from treasury.core.calendar import Month
from treasury.core.settings import Settings
from treasury.core.tables.table import Table
from treasury.extract import Progress, SyncReport
from treasury.journal import Journal
from treasury.journal.decision_history import Decision
from treasury.journal.period_history import Period, Preparation
from treasury.lake import Snapshot
from treasury.month.decisions.remarks import Marking
from treasury.month.decisions.verdicts import Deciding
from treasury.month.items import (
    Carrying,
    DecisionRow,
    Effects,
    FilledRow,
    OpenItems,
    SheetPlan,
)
from treasury.month.reconciliation import Reconciliation
from treasury.month.trace.payment_trace import Trace

if TYPE_CHECKING:
    from treasury.report import ClosePack
    from treasury.report.pack.pack_verification import Verified


class MonthCloses(Protocol):
    """The closes of months, as `t.periods` gives them."""

    def at_close(self, month: str | Month | None = None) -> Closing:
        """Return a month as closed, as prepared, or else as known now."""

    def foresee(
        self, step: str, closing: Closing, *, reason: str = "", pack: str = ""
    ) -> CloseStep:
        """Return a step of a close: the sentence that it would journal, and any refusal."""

    def prepare(self, month: str | Month, *, agreed: str | None = None) -> Closing:
        """Prepare a month."""

    def keep_ledger(
        self, month: str | Month, *, ledger: Path | None = None, books: Path | None = None
    ) -> None:
        """Keep the ledger's files for a month that is not prepared."""

    def sign(
        self,
        month: str | Month,
        *,
        pack: str = "",
        agreed: str | None = None,
        agreed_to: int | None = None,
    ) -> Closing:
        """Sign a colleague's preparation."""

    def withdraw(
        self, month: str | Month, reason: str, *, agreed: str | None = None
    ) -> Preparation:
        """Withdraw a preparation."""

    def reopen(self, month: str | Month, reason: str, *, agreed: str | None = None) -> Period:
        """Reopen the last closed month."""


class PanelWorkspace(Protocol):
    """The protocol of a workspace for panels, so that they need not import its class."""

    @property
    def folder(self) -> Path:
        """The folder of the workspace."""

    @property
    def settings(self) -> Settings:
        """The settings of the workspace."""

    @property
    def journal(self) -> Journal:
        """The journal of people's decisions."""

    @property
    def actions(self) -> Actions:
        """The facade for actions at the services."""

    @property
    def matches(self) -> Deciding:
        """The facade for verdicts on bank lines."""

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the lake's last commit."""

    def client(self, credential: str) -> Client:
        """Return the client with the named credential."""

    @property
    def funding(self) -> Marking:
        """The facade for remarks on requests that wait for funds."""

    def awaiting_funds(self) -> Table:
        """Return the requests that wait for funds."""

    def reconcile(self, month: str | Month | None = None) -> Reconciliation:
        """Reconcile a month; default: the last one that ended."""

    @property
    def items(self) -> Carrying:
        """The facade for owners, remarks, files and carrying of open items."""

    def open_items(self, month: str | Month | None = None) -> OpenItems:
        """Return everything unsettled in a month; default: the last one that ended."""

    @property
    def periods(self) -> MonthCloses:
        """The closes of months."""

    def checklist(self, month: str | Month | Closing | None = None) -> Checklist:
        """Return the checklist of a month's close."""

    def write_pack(self, closing: Closing) -> ClosePack:
        """Write the pack of a month."""

    def verify_pack(self, folder: str | Path) -> Verified:
        """Verify a pack alone, then against the pinned commit and the journal."""

    def decision_choices(self, items: OpenItems) -> Mapping[str, DecisionRow]:
        """Return the possible decisions for open items, by item."""

    def decision_effects(self, *planned: Decision) -> Effects:
        """Return the effects of planned decisions on items other than their own lines."""

    def exceptions_sheet(
        self, path: str | Path, items: OpenItems | str | Month | None = None
    ) -> Path:
        """Write open items as a workbook for decisions."""

    def decide(
        self,
        sheet: str | Path | bytes | Sequence[FilledRow],
        *,
        name: str = "",
        agreed: SheetPlan | None = None,
        dry_run: bool = False,
    ) -> SheetPlan:
        """Journal the decisions of a sheet, all or none; with `dry_run`, only plan them."""

    def trace(self, name: str) -> Trace:
        """Follow one payment from end to end."""

    def watching(self) -> str | None:
        """Return the state of `treasury watch`; None without a watch."""

    def sync(
        self,
        *,
        tables: Iterable[str] | None = None,
        full: bool = False,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Download the services' records."""
