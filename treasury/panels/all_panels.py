"""The panels of a workspace, as `t.panels` offers them."""

from __future__ import annotations

from treasury.core.calendar import Month
from treasury.panels.approvals_panel import ApprovalsPanel
from treasury.panels.exceptions_panel import ExceptionsPanel
from treasury.panels.frames.query_pages import SIZE
from treasury.panels.funding_panel import FundingPanel
from treasury.panels.matches_panel import MatchesPanel
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.sync_panel import SyncPanel
from treasury.panels.transfers_panel import TransfersPanel


class Panels:
    """The panels of one workspace, `size` rows to a page.

    As it was known at an earlier instant a workspace has only that of exceptions; the others raise
    InputError.
    """

    def __init__(self, desk: PanelWorkspace) -> None:
        self._desk = desk

    def approvals(self, *, size: int = SIZE) -> ApprovalsPanel:
        """Everything that awaits a decision; decide one or several in two steps."""
        return ApprovalsPanel(self._desk, size=size)

    def funding(self, *, size: int = SIZE) -> FundingPanel:
        """What waits for its funds: what to pay where with which reference, once it is approved."""
        return FundingPanel(self._desk, size=size)

    def matches(self, *, size: int = SIZE) -> MatchesPanel:
        """The bank lines that need a person, with their candidates; decide, and take back."""
        return MatchesPanel(self._desk, size=size)

    def exceptions(self, month: str | Month | None = None, *, size: int = SIZE) -> ExceptionsPanel:
        """What the bank and the services do not say alike, and what needs somebody.

        Without a month it is what is so now. Raises NothingStored.
        """
        return ExceptionsPanel(self._desk, month, size=size)

    def transfers(self, *, size: int = SIZE) -> TransfersPanel:
        """Transfers of every kind with their status and legs; trace one, propose a new one."""
        return TransfersPanel(self._desk, size=size)

    def sync(self, *, size: int = SIZE) -> SyncPanel:
        """How old what is known is, table by table; sync, watch it, stop it."""
        return SyncPanel(self._desk, size=size)
