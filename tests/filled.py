"""A practice workspace with the records of its month."""

from __future__ import annotations

import os
from pathlib import Path

from treasury.cli.commands.practice import prepare
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace


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
