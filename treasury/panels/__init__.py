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

from typing import TYPE_CHECKING

from treasury.core.machine.loading import given_names

if TYPE_CHECKING:
    from treasury.panels.all_panels import Panels
    from treasury.panels.approvals_panel import ApprovalsPanel
    from treasury.panels.exceptions_panel import ExceptionsPanel
    from treasury.panels.funding_panel import FundingPanel
    from treasury.panels.matches_panel import MatchesPanel
    from treasury.panels.sync_panel import SyncPanel
    from treasury.panels.transfers_panel import TransfersPanel

__all__ = [
    "ApprovalsPanel", "ExceptionsPanel", "FundingPanel", "MatchesPanel", "Panels", "SyncPanel",
    "TransfersPanel",
]  # fmt: skip

# `t.awaiting_funds()` compares deposit details as the panel does, and needs no widgets for that.
__getattr__ = given_names(
    __name__,
    {
        "ApprovalsPanel": "approvals_panel",
        "ExceptionsPanel": "exceptions_panel",
        "FundingPanel": "funding_panel",
        "MatchesPanel": "matches_panel",
        "Panels": "all_panels",
        "SyncPanel": "sync_panel",
        "TransfersPanel": "transfers_panel",
    },
)
