""" "Nothing is open" appears only if every source that could contradict it was read."""

from __future__ import annotations

import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from treasury.cli import treasury
from treasury.close.checklist import checklist
from treasury.core.errors import JournalError, NothingStored
from treasury.core.settings import FILE_NAME
from treasury.journal import Actor
from treasury.report.report_page import render_html
from treasury.workspace import Workspace

MONTH = "2026-10"


@pytest.fixture
def empty(month_end: Workspace, tmp_path: Path) -> Workspace:
    """Return a desk with the practice company's settings and no stored records."""
    (tmp_path / "empty").mkdir()
    shutil.copy(month_end.folder / FILE_NAME, tmp_path / "empty")
    return Workspace(tmp_path / "empty")


@pytest.fixture(scope="module")
def unread(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk of the practice company that has its bank files and was never synced."""
    folder = tmp_path_factory.mktemp("unread")
    shutil.copy(month_end.folder / FILE_NAME, folder)
    workspace = Workspace(folder)
    workspace.statements.add(sorted((month_end.folder / "bank").glob("*.xml")))
    return workspace


def run(workspace: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(treasury, ["-w", str(workspace.folder), *arguments])


@pytest.mark.acceptance
def test_an_empty_workspace_reports_the_missing_sources_and_the_next_step(empty: Workspace) -> None:
    screen = run(empty, "status", "2026-10").stdout
    assert "STATEMENTS   not known: no statement is stored" in screen
    assert "SERVICES     not known: never read" in screen
    assert "CLOSE        not known: nothing is stored for 2026-10" in screen
    morning = run(empty, "status").stdout
    assert "services never read" in morning
    assert "TODAY        not known: nothing is stored for 2026-11" in morning
    assert "OCTOBER      not known: nothing is stored" in morning
    for shown in (screen, morning):
        assert "NEXT         treasury sync, then treasury statements add FILE" in shown
        assert not re.search(r"nothing:|none|ready| 0\b", shown.partition("\n")[2])


@pytest.mark.acceptance
def test_an_instant_before_the_first_commit_is_not_known(month_end: Workspace) -> None:
    before = month_end.at("2026-11-01T09:00Z")
    assert "TODAY        not known" in before.status()
    assert before.status().startswith("Sun 1 Nov 2026 10:00 CET · ")
    assert "asked at 1 Nov 10:00 CET" in before.status("2026-10")
    with pytest.raises(NothingStored, match="the services were never read - run"):
        before.awaiting_funds()
    with pytest.raises(NothingStored, match="nothing is stored for 2026-10"):
        before.open_items(MONTH)
    done = run(month_end, "awaiting-funds", "--as-of", "2026-11-01T09:00Z")
    assert isinstance(done.exception, NothingStored)
    assert done.stdout == ""


@pytest.mark.acceptance
def test_a_desk_with_only_bank_files_reports_that_the_services_were_never_read(
    unread: Workspace,
) -> None:
    screen = unread.status("2026-10")
    assert "STATEMENTS   3 of 3 proved, to 31 Oct" in screen
    assert "Services not read after the month's end  " in screen
    assert "IN TRANSIT   not known: the services were never read" in screen
    assert "FEES         not known: the services were never read" in screen
    assert "source:services" in unread.status().listed("prove").by_id
    with pytest.raises(NothingStored, match="were never read"):
        unread.awaiting_funds()
    assert unread.panels.funding().frame().empty.startswith("the waiting requests are not known")
    closing = unread.periods.month(MONTH)
    states = {step.title: step.state for step in checklist(closing).steps}
    assert states["Sync"] == "open"
    assert states["In transit"] == states["Roll-forward"] == "not asked"
    page = render_html(closing)
    assert page.count("not known: the services were never read") >= 3
    assert "No request awaits funds" not in page
    item = closing.items.by_id["source:services"]
    assert (item.kind, item.state, item.is_blocking) == ("not_synced", "MISSING", True)


def test_a_month_without_a_statement_shows_that_and_the_time_of_the_last_sync(
    month_end: Workspace,
) -> None:
    screen = month_end.status("2026-04")
    assert "STATEMENTS   18 statements stored, none for this month" in screen
    assert "SERVICES     last read 2 Nov 09:00 CET" in screen
    assert "CLOSE        not known: nothing is stored for 2026-04" in screen


@pytest.mark.acceptance
def test_a_month_that_has_just_begun_lists_open_items_before_its_first_line(
    month_end: Workspace,
) -> None:
    screen = month_end.status("2026-11")
    assert "STATEMENTS   0 of 3 proved" in screen
    assert "BANK LINES   not known: the statements of the month are not complete" in screen
    carried = month_end.open_items("2026-10").select(subject="request", kind="payout_missing")
    listed = month_end.open_items("2026-11")
    assert {item.item_id for item in carried} <= set(listed.by_id)
    assert len(listed.select(kind="statement_missing")) == 3


@pytest.mark.acceptance
def test_the_exceptions_panel_names_the_missing_sources(
    empty: Workspace, month_end: Workspace
) -> None:
    assert empty.panels.close().frame().empty == "No data yet. Sync first."
    panel = month_end.panels.close("2026-04")
    assert panel.frame().table is None
    assert panel.frame().empty.startswith("The open items are unknown: nothing is stored for 2026-")


# A journal that does not verify


@pytest.fixture
def changed(month_end: Workspace, tmp_path: Path) -> Workspace:
    """Return a desk with a journal that was changed after it was written."""
    shutil.copytree(month_end.folder, tmp_path / "desk")
    workspace = Workspace(tmp_path / "desk")
    anna = Actor("anna", "environment")
    for number in range(3):
        workspace.journal.append("note", f"n{number}", {"text": "as written"}, actor=anna)
    workspace.journal.close()
    with sqlite3.connect(tmp_path / "desk" / "journal.sqlite") as connection:
        for trigger in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {trigger[0]}")
        connection.execute('UPDATE entries SET body = \'{"text":"other"}\' WHERE seq = 2')
    return Workspace(tmp_path / "desk")


@pytest.mark.acceptance
def test_an_invalid_journal_is_an_item_that_cannot_be_accepted(
    changed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = changed.open_items(MONTH).by_id["source:journal"]
    assert (item.kind, item.blocks, item.is_blocking) == (
        "journal_broken",
        "never acceptable",
        True,
    )
    assert "entry 2 was changed after it was written" in item.next_step
    assert changed.open_items(MONTH).items[0] == item
    assert "Journal does not verify" in changed.status("2026-10")
    assert item.item_id in changed.status().listed("other").by_id
    done = run(changed, "exceptions", "--blocking")
    assert done.exit_code == 0
    assert "Journal" in done.stdout
    assert changed.panels.close().frame().table is not None
    monkeypatch.setenv("TREASURY_USER", "anna")
    pack = changed.close(MONTH, tmp_path / "pack")
    assert "Journal does not verify" in (pack.folder / "report.html").read_text("utf-8")
    with pytest.raises(JournalError, match="entry 2 was changed"):
        changed.close(MONTH, sign=True)


@pytest.mark.acceptance
def test_a_journal_that_lost_its_end_is_an_item_too(month_end: Workspace, tmp_path: Path) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    anna = Actor("anna", "environment")
    desk.journal.append("note", "n1", {}, actor=anna)
    shutil.copy(desk.folder / "journal.sqlite", tmp_path / "older.sqlite")
    desk.journal.append("note", "n2", {}, actor=anna)
    assert desk.journal.problem() == ""
    desk.journal.close()
    shutil.copy(tmp_path / "older.sqlite", desk.folder / "journal.sqlite")
    again = Workspace(desk.folder)
    assert "source:journal" in again.open_items(MONTH).by_id
