"""Panels: decisions in a notebook, in two steps wherever money is concerned.

How to write a panel. `blocks` are the elements on screen, `page/` draws them, and only text is
sent. `Panel` (`panel`) turns presses into calls of handlers and shows the next frame: `start(label,
task, failed, cancelled)` runs a slow task off the main thread, `tell(message)` shows a result,
`fail(title, error)` shows an error in the panel and at the field that its text begins with
(`"reason: is missing"`), `hand_over(press, name, type, text)` downloads a file.

Most panels are a `ListPanel` (`listing`): it pages and searches by SQL, keeps the selection over
all pages, syncs and downloads. A subclass defines

    title                          its name
    listing() -> Listing           caption, query, order, key and searched columns, row display
    read(snapshot)                 the lake itself, or `ArrowTables(name=table)` of computed rows
    bar(), fields()                buttons below the list, and input fields next to them
    views, tools, banners, more_notes, empty…            optional
    presses() -> {name: handler}   the actions of its buttons, on `chosen_rows()`
    confirm(pending, press)        the effect of a confirmed decision, by `carry_out(…)`

A decision takes two presses. The first ends in `ask(pending)`, a `PendingDecision` that renders its
`step` and has a `nonce` as the step's key. The second sends that key in `press.step` and has no
effect with any other key. While a step is open no other can begin, and Go back returns to the
button that opened it. The state is in the lake and the journal; a panel stores only what is on
screen.
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

# `t.awaiting_funds()` compares deposit details like the panel, without loading widgets.
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
