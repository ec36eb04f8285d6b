"""Panels: lists and decisions in a notebook; decisions about money take two steps.

How to write a panel. The module `blocks` has the elements of the screen, and the browser code in
`page/` draws them; only text is sent. The base class `Panel` calls a handler for each press of a
button and shows the next frame, which describes the whole screen. `start(label, task, failed,
cancelled)` runs a slow task in another thread, `tell(message)` shows a result, and
`hand_over(press, name, type, text)` downloads a file. `fail(title, error)` shows an error in the
panel, and next to the field that it names at its beginning (`"reason: is missing"`).

Most panels are a `ListPanel`: it pages, searches and filters by SQL, keeps the selection on all
pages, syncs and downloads. A subclass defines

    title                          its name
    listing() -> Listing           caption, query, order, key, searched columns, filters, rows
    read(snapshot)                 the lake itself, or `ArrowTables(name=table)` of computed rows
    bar(), fields()                buttons below the list, and input fields next to them
    views, tools, banners, more_notes, checklist_block…  optional
    presses() -> {name: handler}   the actions of its buttons, on `chosen_rows()`
    confirm(pending, press)        the effect of a confirmed decision, by `carry_out(…)`

A decision takes two presses. The handler of the first press calls `ask(pending)` with a
`PendingDecision`, which is shown as a `step` and has a `nonce` as the step's key. The second press
sends that key in `press.step`; with any other key it has no effect. While a step is open, no other
step can begin, and Go back returns to the button that opened it. All data is in the lake and the
journal; a panel stores only the state of its screen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treasury.core.machine.loading import given_names

if TYPE_CHECKING:
    from treasury.panels.all_panels import Panels
    from treasury.panels.approvals_panel import ApprovalsPanel
    from treasury.panels.close_panel import ClosePanel
    from treasury.panels.funding_panel import FundingPanel
    from treasury.panels.matches_panel import MatchesPanel
    from treasury.panels.sync_panel import SyncPanel
    from treasury.panels.transfers_panel import TransfersPanel

__all__ = [
    "ApprovalsPanel", "ClosePanel", "FundingPanel", "MatchesPanel", "Panels", "SyncPanel",
    "TransfersPanel",
]  # fmt: skip

# Imported on first use, because `t.awaiting_funds()` uses this package without widgets.
__getattr__ = given_names(
    __name__,
    {
        "ApprovalsPanel": "approvals_panel",
        "ClosePanel": "close_panel",
        "FundingPanel": "funding_panel",
        "MatchesPanel": "matches_panel",
        "Panels": "all_panels",
        "SyncPanel": "sync_panel",
        "TransfersPanel": "transfers_panel",
    },
)
