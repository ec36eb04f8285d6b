"""A practice workspace with services in the test process, synced and ready for a panel.

One seed always gives the same company and first sync. So the first sync is run once, and each test
begins with a copy of its workspace.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from treasury.api import Client
from treasury.cli.commands.practice import prepare
from treasury.panels import ApprovalsPanel
from treasury.panels.frames.blocks import Frame, StepBlock
from treasury.sandbox import Sandbox, Served
from treasury.workspace import Workspace

ON_RAMP = "PAY-2026-005409"


class Practice:
    """A workspace, its practice company, and the services that the company serves."""

    def __init__(self, workspace: Workspace, company: Sandbox, served: Served) -> None:
        self.workspace = workspace
        self.company = company
        self.served = served

    def waiting(self) -> list[dict[str, Any]]:
        """Return the lake's requests awaiting approval, oldest first."""
        return self.workspace.sql(
            "SELECT * FROM ramp_requests WHERE status = 'AWAITING_APPROVAL' ORDER BY created_at, id"
        ).arrow.to_pylist()

    def request(self, request_id: str) -> Any:
        """Return a request as the service has it now."""
        return self.workspace.client("viewer").ramp.requests.get(request_id).value

    def drive(self, name: str, **given: object) -> Any:
        """Call a driver of the sandbox over HTTP, and return its result."""
        asked = httpx.post(f"{self.served.base_url}/sandbox/drive/{name}", json=given)
        asked.raise_for_status()
        return asked.json()["result"]

    @contextmanager
    def portal(self, credential: str) -> Iterator[Client]:
        """Yield a client that bypasses this desk, like a colleague in the provider's portal."""
        settings = self.workspace.settings
        assert settings.services is not None
        with Client(settings.services, settings.credential(credential)) as client:
            yield client

    def decisions(self) -> list[str]:
        """Return the decisions that reached the service, as paths in order of arrival."""
        ends = ("/approve", "/reject")
        return [path for method, path, _ in self.served.requests if path.endswith(ends)]

    def events(self, request_id: str, kind: str) -> list[str | None]:
        """Return the users that the service recorded for events of a kind."""
        events = self.request(request_id).events
        return [event.email for event in events if event.event_type == kind]

    def act_at(self, instant: str) -> None:
        """Set the journal's clock to an instant, so that entries precede the bank's answers."""
        journal, now = self.workspace.journal, datetime.fromisoformat(instant)
        journal._now = lambda: now

    def journaled(self, kind: str) -> list[Any]:
        """Return the journal's entries of a kind."""
        return self.workspace.journal.entries(kind)


@contextmanager
def practising(folder: Path, synced: Workspace) -> Iterator[Practice]:
    """Serve a new practice company to a workspace in `folder`, a copy of one that is `synced`."""
    shutil.copytree(synced.folder, folder)
    company = Sandbox()
    with company.serve() as served:
        workspace = prepare(folder, company, served)
        try:
            yield Practice(workspace, company, served)
        finally:
            workspace.close_clients()


def chosen(panel: ApprovalsPanel, number: int = 0) -> str:
    """Return the key of a row on screen."""
    table = panel.frame().table
    assert table is not None
    return table.rows[number].key


def propose(
    panel: ApprovalsPanel, verb: str = "approve", number: int = 0, **typed: str
) -> StepBlock:
    """Press the button of a decision on one row, and return the step to confirm."""
    panel.press(verb, chosen=chosen(panel, number), **typed)
    assert panel.wait()
    step = panel.frame().step
    assert step is not None, panel.frame().message
    return step


def confirm(panel: ApprovalsPanel, step: StepBlock) -> Frame:
    """Confirm a step, and return the screen with the result."""
    panel.press("confirm", step=step.key)
    assert panel.wait()
    return panel.frame()


def said(frame: Frame) -> str:
    """Return the message on screen, as one text."""
    assert frame.message is not None
    return "\n".join([frame.message.title, *(line.text for line in frame.message.lines)])
