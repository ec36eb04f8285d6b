"""The read-only and matching panels in JupyterLab: the rules that need a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import openpyxl
import pytest
from panel_lab import Desk, Notebook
from panel_practice import Practice
from playwright.sync_api import Locator, expect

from treasury.journal import Actor
from treasury.month.items.sheet.sheet_rows import ACTS

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]


@contextmanager
def shown(desk: Desk, folder: Path, call: str, name: str) -> Iterator[Notebook]:
    """Open a notebook with one panel on screen."""
    start = f"import treasury\nt = treasury.open({str(folder)!r})"
    notebook = desk.open(name, start, f"t.panels.{call}()")
    try:
        notebook.run()
        expect(button(notebook.panel, "Sync").first).to_be_visible()
        yield notebook
    finally:
        notebook.close()


def button(panel: Locator, name: str) -> Locator:
    return panel.get_by_role("button", name=re.compile(f"^{re.escape(name)}"))


def test_candidates_are_compared_and_a_missing_reason_is_an_error_at_its_field(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    with shown(desk, month.workspace.folder, "matches", request.node.name) as notebook:
        panel = notebook.panel
        panel.locator(".tp-choice input").first.check()
        button(panel, "Ignore").click()
        expect(panel.get_by_role("alert")).to_contain_text("is missing")
        expect(panel.get_by_label("Reason").first).to_have_attribute("aria-invalid", "true")
        button(panel, "Compare").click()
        expect(button(panel, "Reject")).to_be_visible()
        expect(panel.locator(".tp-choice input").first).to_be_visible()
        assert month.journaled("match.") == []


def test_a_trace_is_shown_and_copy_gives_its_text(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    with shown(desk, month.workspace.folder, "close", request.node.name) as notebook:
        panel = notebook.panel
        panel.locator(".tp-choice input").first.check()
        button(panel, "Trace").click()
        letter = panel.get_by_role("button", name="Copy Text for the provider")
        expect(letter).to_be_visible()
        item = month.workspace.open_items("2026-10").items[0]
        assert item.request_id is not None
        text = month.workspace.trace(item.request_id).provider_text()
        assert letter.get_attribute("data-copy") == text.rstrip("\n")
        button(panel, "Close").click()
        expect(letter).to_have_count(0)
        waiting = month.workspace.open_items("2026-10").turns["provider"]
        button(panel, "Provider's").click()
        expect(button(panel, f"Provider's ({waiting})")).to_have_attribute("aria-pressed", "true")


def test_a_transfer_is_proposed_with_errors_at_its_fields(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    with shown(desk, month.workspace.folder, "transfers", request.node.name) as notebook:
        panel = notebook.panel
        button(panel, "New crypto transfer").click()
        panel.get_by_label("Amount", exact=True).fill("-5")
        button(panel, "Check").click()
        expect(panel.get_by_label("Amount")).to_have_attribute("aria-invalid", "true")
        expect(panel.get_by_role("alert")).to_contain_text("Nothing was proposed")
        assert month.journaled("action.") == []


def test_a_sync_shows_its_result_and_a_key_deletes_no_cell(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    with shown(desk, month.workspace.folder, "sync", request.node.name) as notebook:
        panel = notebook.panel
        cells = notebook.cells.count()
        button(panel, "Sync").first.focus()
        desk.page.keyboard.type("dd")
        assert notebook.cells.count() == cells
        desk.page.keyboard.press("Enter")
        expect(panel.get_by_role("status")).to_contain_text("Synced")


def test_a_sheet_is_downloaded_filled_in_and_decided_from_in_the_browser(
    desk: Desk, month: Practice, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    item = month.workspace.open_items("2026-10").select(kind="no_reference").items[0]
    with shown(desk, month.workspace.folder, "close", request.node.name) as notebook:
        panel = notebook.panel
        with panel.page.expect_download() as download:
            button(panel, "Download sheet").click()
        sheet = tmp_path / "sheet.xlsx"
        download.value.save_as(sheet)
        book = openpyxl.load_workbook(sheet)
        page = book["Open items"]
        at = {cell.value: cell.column for cell in page[1]}
        for row in range(2, page.max_row + 1):
            if page.cell(row, at["Item"]).value == item.item_id:
                page.cell(row, at["Decision"]).value = ACTS["ignore"]
                page.cell(row, at["Reason"]).value = "the bank erred"
        book.save(sheet)
        with panel.page.expect_file_chooser() as chooser:
            button(panel, "Decide from a sheet").click()
        chooser.value.set_files(sheet)
        step = panel.locator(".tp-step")
        expect(step).to_contain_text("Decide 1 item from sheet.xlsx?")
        expect(step).to_contain_text("EUR 3,475.50")
        step.get_by_role("button", name="Confirm decisions").click()
        expect(panel.locator(".tp-status")).to_contain_text("Decided 1 item")
    (entry,) = month.workspace.journal.entries("match.")
    assert (entry.kind, entry.body["reason"]) == ("match.ignore", "the bank erred")


def test_a_remark_and_its_answer_are_typed_in_the_browser(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    item = month.workspace.open_items("2026-10").items[0]
    hostile = "<img src=x onerror=document.title='run'> $5 and $6"
    colleague = Actor("jonas", "environment")

    with shown(desk, month.workspace.folder, "close", request.node.name) as notebook:
        panel = notebook.panel
        row = panel.get_by_role("row").filter(has_text=item.name).first
        panel.locator(".tp-choice input").first.check()
        button(panel, "Remark").click()
        expect(panel.get_by_role("alert")).to_contain_text("remark: is missing")
        expect(panel.get_by_label("Remark")).to_have_attribute("aria-invalid", "true")
        panel.get_by_label("Remark").fill(hostile)
        button(panel, "Answer").click()
        expect(panel.get_by_role("alert")).to_contain_text("There is no remark")
        assert month.journaled("item.") == []
        panel.get_by_label("Remark").fill(hostile)
        button(panel, "Remark").dblclick()
        expect(panel.get_by_role("status")).to_contain_text("Remarked, by ana.lyst")
        expect(row).to_contain_text(f"ana.lyst, 2 Nov: {hostile}")
        expect(panel.get_by_label("Remark")).to_have_value("")
        (asked,) = month.journaled("item.")
        month.workspace.items.remark(
            item.item_id, "look again", month="2026-10", answers=asked.seq, actor=colleague
        )
        panel.locator(".tp-choice input").first.check()
        panel.get_by_label("Remark").fill("done")
        panel.get_by_label("Remark").press("Enter")
        # Typing alone journals nothing.
        assert len(month.journaled("item.")) == 2
        button(panel, "Answer").click()
        expect(panel.get_by_role("status")).to_contain_text("Answered jonas, by ana.lyst")
        expect(row).to_contain_text("jonas to ana.lyst, 2 Nov: look again")
        expect(row).to_contain_text("ana.lyst to jonas, 2 Nov: done")
        assert desk.page.title() != "run"
    question, answer, last = month.journaled("item.")
    assert [question.actor.name, answer.actor.name, last.actor.name] == [
        "ana.lyst", "jonas", "ana.lyst",
    ]  # fmt: skip
    assert question.body["remark"] == hostile
    assert last.body["answers"] == answer.seq
    month.workspace.journal.verify()
