"""The practice workspace as `treasury practice` and `treasury demo` leave it."""

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
    """Its services run in this process, with the payments and remarks of the colleagues."""
    company = Sandbox()
    with pytest.MonkeyPatch.context() as patch, company.serve() as served:
        for name in company.credentials:
            patch.setenv(f"TREASURY_{name.upper()}_SECRET", "")  # what is set goes away as well
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
