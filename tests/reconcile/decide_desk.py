"""A desk to decide at: a copy of the practice month, its clock where a test puts it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from treasury.journal import Actor
from treasury.settings import FILE_NAME
from treasury.workspace import Workspace

ANNA = Actor("anna", "environment")
BERT = Actor("bert", "environment")


def copy_of(workspace: Workspace, folder: Path) -> Workspace:
    """The workspace's records, rules and settings in a folder of their own."""
    shutil.copytree(workspace.folder, folder, ignore=shutil.ignore_patterns("bank", "close"))
    return Workspace(folder)


def clock_at(workspace: Workspace, instant: str) -> Workspace:
    """The same workspace, opened when it is `instant`."""
    path = workspace.folder / FILE_NAME
    path.write_text(re.sub(r"(?m)^now = .*$", f"now = {instant}", path.read_text("utf-8")))
    return Workspace(workspace.folder)


def open_line(workspace: Workspace, outcome: str, kind: str | None = None) -> dict[str, Any]:
    """The first line of October with this outcome, its expectation of this kind."""
    return next(
        row
        for row in workspace.reconcile("2026-10").lines.to_pylist()
        if row["outcome"] == outcome
        and row["line_class"] is None
        and (kind is None or row["kind"] == kind)
    )


def line_of(workspace: Workspace, entry_id: str) -> dict[str, Any]:
    """A line of October as it is reconciled now."""
    rows = workspace.reconcile("2026-10").lines.to_pylist()
    return next(row for row in rows if row["entry_id"] == entry_id)
