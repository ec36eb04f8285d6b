"""Panels: what a person decides in a notebook, with the two steps that money asks for.

How a panel is made. `blocks` are what can be on screen, `page/` draws them, and nothing but text
ever travels. `Panel` (`panel`) turns presses into calls of handlers and shows the next frame:
`start(label, task, failed, cancelled)` does what takes long off the main thread, `tell(message)`
says what came of it, `fail(title, error)` puts an error in the panel and beside the field that its
text begins with (`"reason: is missing"`), `hand_over(press, name, type, text)` gives a file.

Most panels are a `ListPanel` (`listing`): it pages and searches by SQL, keeps the choice over all
pages, syncs and downloads. A subclass gives

    title                          what it is called
    listing() -> Listing           caption, query, order, key and searched columns, how a row reads
    read(snapshot)                 the lake itself, or `ArrowTables(name=table)` of computed rows
    bar(), fields()                buttons below the list, and what is typed in beside them
    views, tools, banners, more_notes, empty…            where it has any
    presses() -> {name: handler}   what its buttons do; `chosen_rows()` are the rows they are about
    confirm(pending, press)        what the confirmed decision does, by `carry_out(…)`

A decision is two presses. The first ends in `ask(pending)`, a `PendingDecision` that says how its
`step` reads and whose `nonce` is the key of that; the second comes back with the key in
`press.step` and does nothing where it is another. While a step is open nothing else is begun, and
Go back points to the button that it began with. State is in the lake and the journal; a panel
remembers only what is on screen.
"""

from __future__ import annotations

from treasury.calendar import Month
from treasury.panels.approvals_panel import ApprovalsPanel
from treasury.panels.exceptions_panel import ExceptionsPanel
from treasury.panels.frames.query_pages import SIZE
from treasury.panels.funding_panel import FundingPanel
from treasury.panels.matches_panel import MatchesPanel
from treasury.panels.panel_desk import PanelDesk
from treasury.panels.sync_panel import SyncPanel
from treasury.panels.transfers_panel import TransfersPanel

__all__ = [
    "ApprovalsPanel", "ExceptionsPanel", "FundingPanel", "MatchesPanel", "Panels", "SyncPanel",
    "TransfersPanel",
]  # fmt: skip


class Panels:
    """The panels of one workspace, `size` rows to a page.

    As it was known at an earlier instant a workspace has only that of exceptions; the others raise
    InputError.
    """

    def __init__(self, desk: PanelDesk) -> None:
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
