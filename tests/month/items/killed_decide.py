"""`treasury decide` in a process that dies at a write point.

Run as `killed_decide.py DESK SHEET [POINTS]`.

A write point is a step that may change the disk: the beginning or end of a database transaction, a
writing SQL statement (before and after it), or a file or folder that is opened for writing, made,
renamed, linked, truncated or removed.

Without points, decide in a copy of the desk, and write the number of points to DESK.points.
Otherwise, for each point, decide in a copy DESK-POINT, in a process that is killed at the point.
The exit status of each process is written to standard error.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from treasury.cli import treasury

WRITING = os.O_WRONLY | os.O_RDWR
CHANGES = {"os.rename", "os.link", "os.mkdir", "os.remove", "os.truncate", "os.rmdir"}


class Points:
    """A counter of this process's write points below `folder`; it kills the process at `last`."""

    def __init__(self, folder: Path, last: int | None) -> None:
        self.folder, self.last, self.count = str(folder), last, 0
        self.is_counting = True
        sys.addaudithook(self._audit)
        for name in ("after_cursor_execute", "before_cursor_execute"):
            sa.event.listen(sa.Engine, name, self._statement)
        for name in ("begin", "commit", "rollback"):
            sa.event.listen(sa.Engine, name, lambda _: self._pass())

    def _pass(self) -> None:
        if not self.is_counting:
            return
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not arguments or not str(arguments[0]).startswith(self.folder):
            return
        if event in CHANGES or (event == "open" and int(arguments[2] or 0) & WRITING):
            self._pass()

    def _statement(self, _: Any, __: Any, text: str, *___: Any) -> None:
        if not text.lstrip().upper().startswith(("SELECT", "PRAGMA")):
            self._pass()


@contextmanager
def counted(folder: Path, last: int | None) -> Iterator[Points]:
    points = Points(folder, last)
    try:
        yield points
    finally:
        points.is_counting = False


def decide(desk: Path, sheet: str, last: int | None) -> int:
    """Run `treasury decide`, and return the number of write points that were passed."""
    with counted(desk, last) as points:
        words = ["--workspace", str(desk), "decide", sheet]
        treasury.main(words, standalone_mode=False)
    return points.count


def main(desk: str, sheet: str, *points: str) -> None:
    for point in points or ("none",):
        copy = Path(shutil.copytree(desk, f"{desk}-{point}"))
        sys.stdout.flush()
        process = os.fork()
        if not process:
            count = decide(copy, sheet, None if point == "none" else int(point))
            Path(f"{desk}.points").write_text(str(count))
            os._exit(0)
        _, status = os.waitpid(process, 0)
        sys.stderr.write(f"{os.waitstatus_to_exitcode(status)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
