"""Progress of a sync in a notebook: a bar per running task, one line for finished ones."""

from __future__ import annotations

import sys
from collections.abc import Callable

import ipywidgets as widgets


def in_notebook() -> bool:
    """Return whether this process is a notebook's kernel, which can show widgets."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and hasattr(running, "kernel")


class NotebookProgress:
    """A bar for each running task; finished tasks are counted in one line."""

    def __init__(self) -> None:
        self.box = widgets.VBox([])
        self._bars: dict[str, widgets.IntProgress] = {}
        self._is_displayed = False
        self._finished = 0

    def start(self, task: str, total: int) -> None:
        """Start a task with `total` steps."""
        bar = widgets.IntProgress(
            value=0,
            max=max(1, total),
            description=task.replace("_", " "),
            style={"description_width": "14em"},
            layout=widgets.Layout(width="36em"),
        )
        self._bars[task] = bar
        self._draw()
        if not self._is_displayed:
            from IPython.display import display

            self._is_displayed = True
            show: Callable[[object], object] = display
            show(self.box)

    def advance(self, task: str) -> None:
        """Advance a task by one step."""
        self._bars[task].value += 1

    def finish(self, task: str) -> None:
        """Finish a task."""
        del self._bars[task]
        self._finished += 1
        self._draw()

    def _draw(self) -> None:
        noun = "table" if self._finished == 1 else "tables"
        count = (widgets.Label(f"{self._finished} {noun} read"),) if self._finished else ()
        self.box.children = (*self._bars.values(), *count)
