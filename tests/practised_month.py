"""The practice workspace in the state that `treasury practice` and `treasury demo` create."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from treasury.cli.commands.practice import add_wallet_files, prepare
from treasury.cli.practised_payments import begin_payments, play_payments
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace


@contextmanager
def practised(folder: Path) -> Iterator[Workspace]:
    """Yield the workspace, with its services in this process and its payments and remarks made."""
    company = Sandbox()
    with pytest.MonkeyPatch.context() as patch, company.serve() as served:
        for name in company.credentials:
            # Monkeypatch also removes the variables that the practice sets.
            patch.setenv(f"TREASURY_{name.upper()}_SECRET", "")
        workspace = prepare(folder, company, served)
        requests = begin_payments(folder, company)
        try:
            workspace.sync()
            workspace.statements.add(sorted((folder / "bank").glob("*.xml")))
            add_wallet_files(workspace, company)
            play_payments(workspace, company, requests)
            yield workspace
        finally:
            workspace.close_clients()
