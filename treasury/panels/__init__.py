"""Panels: what a person decides in a notebook, with the two steps that money asks for."""

from __future__ import annotations

from treasury.panels.approvals import ApprovalsPanel
from treasury.panels.desk import Desk
from treasury.panels.paging import SIZE

__all__ = ["ApprovalsPanel", "Panels"]


class Panels:
    """The panels of one workspace."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def approvals(self, *, size: int = SIZE) -> ApprovalsPanel:
        """Ramp requests awaiting approval, `size` to a page; approve or reject one in two steps.

        Raises InputError in a workspace as it was known at an earlier instant.
        """
        return ApprovalsPanel(self._desk, size=size)
