"""Helpers for tests of decisions: a copied workspace, its clock and lines, and edits of records."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from treasury.core.settings import FILE_NAME
from treasury.journal import Actor, Journal
from treasury.matching.engine.pipeline import Step
from treasury.month import kept_run
from treasury.workspace import Workspace

ANNA = Actor("anna", "environment")
BERT = Actor("bert", "environment")
FILED = datetime(2026, 10, 29, 16, tzinfo=UTC)


def copy_of(workspace: Workspace, folder: Path) -> Workspace:
    """Copy a workspace without its bank files and closes to another folder, and open it."""
    shutil.copytree(workspace.folder, folder, ignore=shutil.ignore_patterns("bank", "close"))
    return Workspace(folder)


def payable(workspace: Workspace) -> list[dict[str, Any]]:
    """Return the ramp requests that should be paid now."""
    return [row for row in workspace.awaiting_funds().arrow.to_pylist() if row["state"] == "PAY"]


def file_made(workspace: Workspace, name: str, body: object, at: datetime = FILED) -> None:
    """Journal that anna made a payment file at a time."""
    colleague = Journal(workspace.folder, now=lambda: at)
    colleague.append("payment_file.made", name, body, actor=ANNA)


def clock_at(workspace: Workspace, instant: str) -> Workspace:
    """Set the workspace's clock to `instant` in its settings, and open it again."""
    path = workspace.folder / FILE_NAME
    path.write_text(re.sub(r"(?m)^now = .*$", f"now = {instant}", path.read_text("utf-8")))
    return Workspace(workspace.folder)


def october(workspace: Workspace) -> list[dict[str, Any]]:
    """Return the lines of October as reconciled now."""
    return workspace.reconcile("2026-10").lines.arrow.to_pylist()


def first_line(
    lines: list[dict[str, Any]], outcome: str, kind: str | None = None, direction: str = ""
) -> dict[str, Any]:
    """Return the first line without a class that has this outcome, and the kind if given."""
    return next(
        row
        for row in lines
        if row["outcome"] == outcome
        and row["line_class"] is None
        and (kind is None or row["kind"] == kind)
        and row["direction"].startswith(direction)
    )


def line_of(workspace: Workspace, entry_id: str) -> dict[str, Any]:
    """Return one line of October as reconciled now."""
    return next(row for row in october(workspace) if row["entry_id"] == entry_id)


def edit(workspace: Workspace, table: str, key: str, name: str, **changed: Any) -> None:
    """Change a stored record as a later sync or bank file would."""
    _write(workspace, table, key, name, changed)


def double(workspace: Workspace, entry_id: str, **changed: Any) -> str:
    """Add a second line like this one to the same statement, and return its id."""
    twin = f"twin-{entry_id}"
    _write(workspace, "statement_entries", "entry_id", entry_id, {"entry_id": twin} | changed)
    return twin


def _write(workspace: Workspace, name: str, key: str, value: str, changed: dict[str, Any]) -> None:
    """Store a copy of one record with changed fields, in its own commit."""
    table = workspace.lake.catalogue[name]
    (stored,) = workspace.snapshot().select(f"FROM {name} WHERE {key} = ?", [value]).to_pylist()
    row = stored | changed
    with workspace.lake.writer("test", workspace.now()) as writer:
        writer.upsert(table, pa.Table.from_pylist([row], schema=table.row_schema))


def record_steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the names of matching's steps that run from here on."""
    names: list[str] = []
    run_step = kept_run.Run._run

    def run(own: kept_run.Run, step: Step) -> None:
        names.append(step.name)
        run_step(own, step)

    monkeypatch.setattr(kept_run.Run, "_run", run)
    return names
