"""The panels of a workspace, available as `t.panels`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treasury.core.calendar import Month
from treasury.core.errors import unknown_name
from treasury.panels.approvals_panel import ApprovalsPanel
from treasury.panels.exceptions_panel import ExceptionsPanel
from treasury.panels.frames.query_pages import SIZE
from treasury.panels.funding_panel import FundingPanel
from treasury.panels.matches_panel import MatchesPanel
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.sync_panel import SyncPanel
from treasury.panels.transfers_panel import TransfersPanel


class Panels:
    """The panels of one workspace, with `size` rows per page.

    A view at an earlier instant has only the exceptions panel; the others raise InputError.
    """

    def __init__(self, desk: PanelWorkspace) -> None:
        self._desk = desk

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise unknown_name(self, name)

    def approvals(self, *, size: int = SIZE) -> ApprovalsPanel:
        """Return the panel of pending decisions; decide one or several in two steps.

        >>> t.panels.approvals()
        """
        return ApprovalsPanel(self._desk, size=size)

    def funding(self, *, size: int = SIZE) -> FundingPanel:
        """Return the panel of requests to fund: payee, amount and reference, once approved.

        >>> t.panels.funding()
        """
        return FundingPanel(self._desk, size=size)

    def matches(self, *, size: int = SIZE) -> MatchesPanel:
        """Return the panel of bank lines to decide, with their candidates; decide, and undo.

        >>> t.panels.matches()
        """
        return MatchesPanel(self._desk, size=size)

    def exceptions(self, month: str | Month | None = None, *, size: int = SIZE) -> ExceptionsPanel:
        """Return the panel of open items: differences between bank and services, and pending work.

        The default is the current state. Raises NothingStored.

        >>> t.panels.exceptions("2026-10")
        """
        return ExceptionsPanel(self._desk, month, size=size)

    def transfers(self, *, size: int = SIZE) -> TransfersPanel:
        """Return the panel of all transfers with status and legs; trace one, propose a new one.

        >>> t.panels.transfers()
        """
        return TransfersPanel(self._desk, size=size)

    def sync(self, *, size: int = SIZE) -> SyncPanel:
        """Return the panel of each table's age; sync, watch the progress, stop it.

        >>> t.panels.sync()
        """
        return SyncPanel(self._desk, size=size)
