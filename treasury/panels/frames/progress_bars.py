"""A sync's progress in a notebook: a bar for what is under way, one line for what is done."""

from __future__ import annotations

import sys
from collections.abc import Callable

import ipywidgets as widgets


def in_notebook() -> bool:
    """Whether this process is a notebook's kernel, so that widgets can be shown."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return running is not None and hasattr(running, "kernel")


class NotebookProgress:
    """A bar for each task that is under way; what is done is counted in one line."""

    def __init__(self) -> None:
        self.box = widgets.VBox([])
        self._bars: dict[str, widgets.IntProgress] = {}
        self._is_displayed = False
        self._finished = 0

    def start(self, task: str, total: int) -> None:
        """`task` begins and has `total` steps."""
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
        """One step is done."""
        self._bars[task].value += 1

    def finish(self, task: str) -> None:
        """The task is done."""
        del self._bars[task]
        self._finished += 1
        self._draw()

    def _draw(self) -> None:
        noun = "table" if self._finished == 1 else "tables"
        count = (widgets.Label(f"{self._finished} {noun} read"),) if self._finished else ()
        self.box.children = (*self._bars.values(), *count)
