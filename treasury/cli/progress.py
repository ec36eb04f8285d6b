"""Progress bars of a sync in a terminal; without a terminal, none are drawn."""

from __future__ import annotations

import sys
import threading
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from treasury.core.machine.terminal import unguarded
from treasury.core.text import clean


class TerminalProgress:
    """The progress protocol of `treasury.extract`, drawn with rich on standard error."""

    def __init__(self) -> None:
        console = Console(file=unguarded(sys.stderr))
        self._progress = Progress(
            TextColumn("{task.description:<24}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
            # Other output goes through the guard against control characters.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, task: str, total: int | None = None) -> None:
        """Start a task; `total` is None if its size is unknown."""
        with self._lock:
            if task not in self._tasks:
                self._tasks[task] = self._progress.add_task(clean(task), total=total)
            elif total is not None:
                self._progress.update(self._tasks[task], total=total)

    def advance(self, task: str, count: int = 1) -> None:
        """Advance a task."""
        with self._lock:
            self._progress.advance(self._tasks[task], count)

    def finish(self, task: str) -> None:
        """Finish a task."""
        with self._lock:
            task_id = self._tasks[task]
            completed = self._progress.tasks[task_id].completed
            self._progress.update(task_id, total=completed, completed=completed)
