"""Practice workspaces that are filled in a new folder, while the practice services run."""

from __future__ import annotations

import os
from pathlib import Path

from treasury.cli.commands.practice import play, prepare
from treasury.cli.practised_payments import begin_payments
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace


def practise(folder: Path, company: Sandbox) -> Workspace:
    """Create the workspace that `treasury practice` and `treasury demo` give a user."""
    before = dict(os.environ)
    try:
        with company.serve() as served:
            workspace = prepare(folder, company, served)
            requests = begin_payments(folder, company)
            workspace.sync()
            play(workspace, company, requests, lambda _, work: work())
            workspace.close_clients()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return workspace


def fill(folder: Path, company: Sandbox) -> Workspace:
    """Create a practice workspace, sync it and add its bank files; the services stop afterwards."""
    before = dict(os.environ)
    try:
        with company.serve() as served:
            workspace = prepare(folder, company, served)
            workspace.sync()
            workspace.close_clients()
        workspace.statements.add(sorted((folder / "bank").glob("*.xml")))
    finally:
        os.environ.clear()
        os.environ.update(before)
    return workspace
