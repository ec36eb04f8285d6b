"""Simulate payments that the practice company's people made on the past month's last TARGET day.

One payment file pays ten requests. The bank carries out most orders, rejects one, reports a
different name for one payee, and does not answer one. The colleague ines remarks on the rejected
order, and jonas answers. All steps use the same code as real work: the funding panel, the bank's
reports, the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused
from treasury.journal import Actor, Journal
from treasury.journal.decision_history import files_made
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

_MADE: Final = timedelta(hours=2)
"""The time from the last request's approval to the payment file."""
_ANSWERED: Final = timedelta(minutes=10)
"""The time from the payment file to the bank's answer."""
_REJECTED: Final = "RJCT"
_REMARK: Final = "the bank says the account is closed; asked the provider, ticket 77"
_ANSWER: Final = "they confirm the account: ask the bank, then make a new file"


def begin_payments(folder: Path, company: Sandbox) -> Sequence[str]:
    """Create the requests that the payment file pays; return their ids.

    If the workspace has decisions from a version without these payments, return no ids and change
    nothing.
    """
    entries = Workspace(folder).journal.entries()
    if entries and not files_made(entries):
        return ()
    return [request.id for request in company.ramp.payment_run()]


def play_payments(workspace: Workspace, company: Sandbox, requests: Sequence[str]) -> None:
    """Pay the requests by a file, add the bank's answers and remarks; repeating it has no effect.

    The workspace must be synced and have its statements. The bank's reports are written next to the
    statement files.
    """
    if not requests or files_made(workspace.journal.entries()).keys() & set(requests):
        return
    approved = max(
        workspace.sql(
            "SELECT id, updated_at FROM ramp_requests WHERE id IN (SELECT unnest($ids))",
            {"ids": list(requests)},
        ).arrow.to_pylist(),
        key=lambda row: row["updated_at"],
    )["updated_at"]
    made = approved + _MADE
    desk = _desk_of(workspace, "ines", made)
    try:
        text = _payment_file(desk, requests)
    finally:
        desk.close_clients()
    reports = company.banks.payment_file(file=text, answered_at=made + _ANSWERED)
    paths = [workspace.folder / "bank" / report.name for report in reports]
    for path, report in zip(paths, reports, strict=True):
        path.write_text(report.text, "utf-8")
    workspace.statements.add(paths)
    (rejected,) = workspace.sql(
        "SELECT original_end_to_end_id AS name FROM payment_statuses WHERE status = $status",
        {"status": _REJECTED},
    ).arrow.to_pylist()
    month = Month.of(made.astimezone(workspace.settings.zone).date())
    ines, jonas = (_desk_of(workspace, name, workspace.now()) for name in ("ines", "jonas"))
    ines.items.remark(rejected["name"], _REMARK, month=month)
    (asked,) = ines.items.remarks().arrow.to_pylist()
    jonas.items.remark(rejected["name"], _ANSWER, month=month, answers=asked["seq"])


def _desk_of(workspace: Workspace, name: str, at: datetime) -> Workspace:
    """Return the workspace as it is for a colleague at an instant."""
    desk = Workspace(workspace.folder)
    company = msgspec.structs.replace(desk.settings.workspace, now=at)
    desk.settings = msgspec.structs.replace(desk.settings, workspace=company)
    colleague = Actor(name, "environment")
    desk.journal = Journal(desk.folder, now=desk.settings.now, who=lambda: colleague)
    return desk


def _payment_file(desk: Workspace, requests: Sequence[str]) -> str:
    """Make a payment file of requests in the funding panel; return its content."""
    panel = desk.panels.funding()
    parts: list[dict[str, Any]] = []

    def take(content: dict[str, Any], *_: object, **__: object) -> None:
        if "file" in content:
            parts.append(content["file"])

    panel.send = take
    account = next(own.account for own in desk.settings.accounts if own.source == "own_bank")
    panel.press("export", chosen=requests, pay_from=account)
    panel.wait()
    step = panel.frame().step
    if step is not None:
        panel.press("confirm", step=step.key)
        panel.wait()
    if not parts:
        message = panel.frame().message
        raise ActionRefused(
            "the practice company's payment file was not made"
            + (f": {message.title}" if message is not None else ""),
            do="practise in another folder, with --workspace",
        )
    while not parts[-1]["last"]:
        panel.press("part", part=str(len(parts)))
    return "".join(part["text"] for part in parts)
