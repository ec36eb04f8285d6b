"""The panels of a workspace, available as `t.panels`."""

from __future__ import annotations

from collections.abc import Mapping

from treasury.core.calendar import Month
from treasury.core.nearest_names import Facade
from treasury.panels.approvals_panel import ApprovalsPanel
from treasury.panels.close_panel import ClosePanel
from treasury.panels.frames.query_pages import SIZE
from treasury.panels.funding_panel import FundingPanel
from treasury.panels.matches_panel import MatchesPanel
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.sync_panel import SyncPanel
from treasury.panels.transfers_panel import TransfersPanel


class Panels(Facade):
    """The panels of one workspace.

    `size` is the number of rows on a page. A view at an earlier instant has only the close panel,
    without its decisions; the other methods raise InputError.
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

    def close(
        self,
        month: str | Month | None = None,
        *,
        write: bool = False,
        search: str | Mapping[str, str] = "",
        size: int = SIZE,
    ) -> ClosePanel:
        """Return the panel that carries a month from open to signed: checklist and open items.

        Parameters
        ----------
        month
            The month; default: the last one that ended.
        write
            By default showing the panel writes nothing: a person presses Prepare and confirms. True
            prepares the month at once in your name, if its checklist permits it.
        search
            The first filter of the open items: as typed in the search field, such as
            `"unreferenced >4000"`, or by name, such as `{"kind": "Suggested", "amount": ">4000"}`.
        size
            The number of rows on a page.

        Returns
        -------
        ClosePanel
            The panel; amounts in their own currency. If nothing is stored about the month, the
            panel shows a message.

        Raises
        ------
        InputError
            If `month` is not a month, or `search` has an unknown filter.

        Examples
        --------
        >>> t.panels.close("2026-10", search="unreferenced >4000")
        """
        return ClosePanel(self._desk, month, write=write, search=search, size=size)

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
