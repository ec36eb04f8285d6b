"""`treasury journal verify` finds every change to entries about payments, items and notices."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from decision_sheets import fill_in
from notice_servers import desk, due, endpoint, settings
from practised_month import practised

from treasury.cli import treasury
from treasury.core.errors import JournalError
from treasury.journal import Actor, Entry, Journal
from treasury.month.items.sheet.sheet_rows import ACTS
from treasury.panels.steps.filed_payments import note_file
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance

JONAS = Actor("jonas", "environment")
KINDS = {
    "payment_file.made",
    "payment_file.payee_accepted",
    "payment_file.voided",
    "request.not_uploaded",
    "item.remarked",
    "item.proposed",
    "match.ignore",
    "notice.sending",
    "notice.sent",
    "notice.refused",
    "notice.unknown",
    "notice.settled",
}
CHANGES = {
    "at": "'2026-10-01T08:00:00.000000Z'",
    "kind": "kind || 'x'",
    "subject": "subject || 'x'",
    "actor": "'somebody'",
    "actor_source": "'hub'",
    "body": "replace(replace(body, ':', ': '), '{', '{ ')",
    "nonce": "'another'",
    "assurance": "'verified'",
}
"""The new value of each column in SQL; a body gets only more blanks."""


def tell(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journal a notice of each outcome: sent, refused, in doubt, settled."""
    monkeypatch.setenv("TREASURY_USER", "ines")
    with endpoint() as hook:
        notices = settings(url=hook.url)
        desk(workspace.journal, notices, lambda: [due(1)]).send()
        for number, status in ((2, 404), (3, 500)):
            hook.status = status
            desk(workspace.journal, notices, lambda number=number: [due(number)]).send()  # type: ignore[misc]
        (unknown,) = (
            row["notice"]
            for row in desk(workspace.journal, notices, list).list().arrow.to_pylist()
            if row["state"] == "unknown"
        )
        desk(workspace.journal, notices, list).settle(unknown, "lost", "not in the channel")


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Entry]]]:
    """Yield a practice workspace with an entry of each kind, and its entries."""
    folder = tmp_path_factory.mktemp("kinds") / "desk"
    with practised(folder) as workspace, pytest.MonkeyPatch.context() as patch:
        items = workspace.open_items("2026-10")
        (close,) = items.select(kind="payee_in_doubt").items
        workspace.funding.accept_payee(close.name, "compared the register", actor=JONAS)
        patch.setenv("TREASURY_USER", "ines")
        first, second = items.select(kind="overdue").items
        for name, item in (("voided.xml", first), ("not-uploaded.xml", second)):
            facts = {"message_id": name, "references": [item.name], "payer": "NL05TEST0417164300"}
            note_file(workspace.journal, name, [item.request_id or ""], facts, nonce=name)
        workspace.funding.void_file("voided.xml", "not at the bank", actor=JONAS)
        workspace.funding.not_uploaded(second.name, "not at the bank", actor=JONAS)
        sheet = workspace.exceptions_sheet(folder / "sheet.xlsx", "2026-10")
        line = items.select(kind="no_reference").items[0]
        carried = items.select(kind="silent").items[0]
        proposed = {"Reason": "as agreed", "Proposed by": "cy"}
        typed: dict[str, dict[str, Any]] = {
            line.item_id: proposed | {"Decision": ACTS["ignore"]},
            carried.item_id: proposed
            | {"Decision": ACTS["carry"], "Owner": "cy", "Clear by": date(2026, 11, 20)},
        }
        plan = workspace.decide(fill_in(sheet, typed))
        assert len(plan.planned) == 2, plan.verdicts
        tell(workspace, patch)
        yield folder, workspace.journal.entries()


def changed(folder: Path, copy: Path, statement: str) -> Path:
    """Return a copy of the workspace's journal after an SQL statement was run on it."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("lake", "bank", "sheet.xlsx"))
    with closing(sqlite3.connect(copy / "journal.sqlite")) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in names.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(statement).rowcount > 0
        connection.commit()
    return copy


def test_every_kind_of_entry_is_present_and_the_journal_verifies(
    decided: tuple[Path, list[Entry]],
) -> None:
    folder, entries = decided
    assert {entry.kind for entry in entries} >= KINDS
    assert {entry.body["sheet"]["proposed_by"] for entry in entries if "sheet" in entry.body} == {
        "cy"
    }
    done = CliRunner().invoke(treasury, ["-w", str(folder), "journal", "verify"])
    assert (done.exit_code, f"{len(entries)} entries, none changed" in done.output) == (0, True)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_changed_entry_is_found(
    decided: tuple[Path, list[Entry]], tmp_path: Path, kind: str
) -> None:
    folder, entries = decided
    for place in [entry.seq for entry in entries if entry.kind == kind]:
        for column, value in CHANGES.items():
            copy = changed(
                folder,
                tmp_path / f"{place}-{column}",
                f"UPDATE entries SET {column} = {value} WHERE seq = {place}",
            )
            with pytest.raises(JournalError, match=f"entry {place} was changed"):
                Journal(copy).verify()
        done = CliRunner().invoke(treasury, ["-w", str(copy), "journal", "verify"])
        # A shell prints this error as the command's only line.
        assert isinstance(done.exception, JournalError)
        assert f"entry {place} was changed" in str(done.exception)
        gone = changed(folder, tmp_path / f"{place}", f"DELETE FROM entries WHERE seq = {place}")
        with pytest.raises(JournalError):
            Journal(gone).verify()
