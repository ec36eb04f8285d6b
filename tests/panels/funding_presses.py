"""Helpers that press the buttons of the funding panel and read the results."""

from __future__ import annotations

from typing import Any

import pytest

from treasury.panels import FundingPanel
from treasury.panels.frames.blocks import Frame, ListRow

IBAN = "LT353250012345678901"


def rows(panel: FundingPanel, state: str) -> list[dict[str, Any]]:
    return [row for row in panel.rows.arrow.to_pylist() if row["state"] == state]


def shown(panel: FundingPanel, request: str) -> ListRow:
    """Return a request's row on screen."""
    table = panel.frame().table
    assert table is not None
    return next(row for row in table.rows if row.key == request)


def copies(row: ListRow) -> dict[str, str]:
    return {line.copy: line.text for cell in row.cells for line in cell if line.copy}


def ask(panel: FundingPanel, name: str, *requests: str, **typed: str) -> Frame:
    """Press a button for some requests, and return the screen."""
    panel.press(name, chosen=requests, **typed)
    assert panel.wait()
    return panel.frame()


def confirm(panel: FundingPanel) -> Frame:
    """Confirm the step on screen, and return the screen with the result."""
    step = panel.frame().step
    assert step is not None, panel.frame().message
    panel.press("confirm", step=step.key)
    assert panel.wait()
    return panel.frame()


def files(panel: FundingPanel, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return a list that collects the parts of files that the panel sends from here on."""
    sent: list[dict[str, Any]] = []

    def send(content: dict[str, Any], *_: object) -> None:
        if "file" in content:
            sent.append(content["file"])

    monkeypatch.setattr(panel, "send", send)
    return sent
