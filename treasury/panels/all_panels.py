"""The panels of a workspace, available as `t.panels`."""

from __future__ import annotations

from treasury.core.calendar import Month
from treasury.core.nearest_names import Facade
from treasury.panels.approvals_panel import ApprovalsPanel
from treasury.panels.exceptions_panel import ExceptionsPanel
from treasury.panels.frames.query_pages import SIZE
from treasury.panels.funding_panel import FundingPanel
from treasury.panels.matches_panel import MatchesPanel
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.sync_panel import SyncPanel
from treasury.panels.transfers_panel import TransfersPanel


class Panels(Facade):
    """The panels of one workspace.

    `size` is the number of rows on a page. A view at an earlier instant has only the exceptions
    panel; the other methods raise InputError.
    """

    def __init__(self, desk: PanelWorkspace) -> None:
        self._desk = desk

    def approvals(self, *, size: int = SIZE) -> ApprovalsPanel:
        """Return the panel of decisions that await approval: ramp requests and actions.

        Parameters
        ----------
        size
            The number of rows on a page.

        Returns
        -------
        ApprovalsPanel
            The panel. One or several decisions are made in two steps.

        Raises
        ------
        InputError
            If the workspace is a view at an earlier instant.

        Examples
        --------
        >>> t.panels.approvals()
        """
        return ApprovalsPanel(self._desk, size=size)

    def funding(self, *, size: int = SIZE) -> FundingPanel:
        """Return the panel of requests to fund: payee, amount and reference, after approval.

        Parameters
        ----------
        size
            The number of rows on a page.

        Returns
        -------
        FundingPanel
            The panel; amounts in the currency to send.

        Raises
        ------
        InputError
            If the workspace is a view at an earlier instant.

        Examples
        --------
        >>> t.panels.funding()
        """
        return FundingPanel(self._desk, size=size)

    def matches(self, *, size: int = SIZE) -> MatchesPanel:
        """Return the panel of bank lines to decide, with their candidates.

        Parameters
        ----------
        size
            The number of rows on a page.

        Returns
        -------
        MatchesPanel
            The panel. Decisions are made in two steps, and can be undone.

        Raises
        ------
        InputError
            If the workspace is a view at an earlier instant.

        Examples
        --------
        >>> t.panels.matches()
        """
        return MatchesPanel(self._desk, size=size)

    def exceptions(self, month: str | Month | None = None, *, size: int = SIZE) -> ExceptionsPanel:
        """Return the panel of open items: differences between bank and services, and pending work.

        Parameters
        ----------
        month
            The month of the items; default: the last one that ended.
        size
            The number of rows on a page.

        Returns
        -------
        ExceptionsPanel
            The panel; amounts in their own currency. If nothing is stored about the month, the
            panel shows a message.

        Raises
        ------
        InputError
            If `month` is not a month.

        Examples
        --------
        >>> t.panels.exceptions("2026-10")
        """
        return ExceptionsPanel(self._desk, month, size=size)

    def transfers(self, *, size: int = SIZE) -> TransfersPanel:
        """Return the panel of all transfers with their status and both legs.

        Parameters
        ----------
        size
            The number of rows on a page.

        Returns
        -------
        TransfersPanel
            The panel. It can trace a transfer and propose a new one.

        Raises
        ------
        InputError
            If the workspace is a view at an earlier instant.

        Examples
        --------
        >>> t.panels.transfers()
        """
        return TransfersPanel(self._desk, size=size)

    def sync(self, *, size: int = SIZE) -> SyncPanel:
        """Return the panel of the tables' ages, which can start, show and cancel a sync.

        Parameters
        ----------
        size
            The number of rows on a page.

        Returns
        -------
        SyncPanel
            The panel.

        Raises
        ------
        InputError
            If the workspace is a view at an earlier instant.

        Examples
        --------
        >>> t.panels.sync()
        """
        return SyncPanel(self._desk, size=size)
