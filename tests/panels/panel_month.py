"""Helpers that press the buttons of any panel with a list, and read the results."""

from __future__ import annotations

from treasury.panels.frames.blocks import Frame, ListRow, StepBlock
from treasury.panels.frames.list_panel import ListPanel


def rows_of(panel: ListPanel) -> tuple[ListRow, ...]:
    """Return the rows on screen."""
    table = panel.frame().table
    assert table is not None
    return table.rows


def words(row: ListRow) -> str:
    """Return all text of a row."""
    return "\n".join(line.text for cell in row.cells for line in cell)


def asks(panel: ListPanel, name: str, *chosen: str, **typed: str) -> StepBlock:
    """Press the button of a decision, and return the step to confirm."""
    panel.press(name, chosen=chosen, **typed)
    assert panel.wait()
    step = panel.frame().step
    assert step is not None, panel.frame().message
    return step


def confirms(panel: ListPanel, step: StepBlock) -> Frame:
    """Confirm a step, and return the screen with the result."""
    panel.press("confirm", step=step.key)
    assert panel.wait()
    return panel.frame()
