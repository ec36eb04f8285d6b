"""A month closed in JupyterLab by two people: one with the mouse, one with the keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from panel_lab import Desk, Notebook
from panel_practice import Practice
from panel_rules import button, start_of, violations
from playwright.sync_api import Locator, expect
from signed import ANNA, BERT, LATER

from treasury.journal import Draft

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]

MONTH = "2026-10"


@contextmanager
def closing_as(desk: Desk, folder: Path, person: str, name: str) -> Iterator[Notebook]:
    """Open a notebook with the close panel for one person, as a separate login."""
    who = f"import os\nos.environ['TREASURY_USER'] = {person!r}\n{start_of(folder)}"
    notebook = desk.open(name, who, f"t.panels.close({MONTH!r})")
    try:
        notebook.run()
        expect(button(notebook.panel, "Sync").first).to_be_visible()
        yield notebook
    finally:
        notebook.close()


def carry_others(month: Practice, kind: str) -> None:
    """Carry every blocking item of another kind, as two people would do one by one."""
    drafts = []
    for item in month.workspace.open_items(MONTH).blocking:
        if item.kind == kind:
            continue
        body = {
            "amount": item.amount, "currency": item.currency, "state": item.state,
            "owner": "carla", "expected_by": LATER, "reason": "carried forward",
        }  # fmt: skip
        drafts.append(Draft("item.proposed", item.item_id, body, ANNA))
        drafts.append(Draft("item.accepted", item.item_id, {}, BERT))
    month.workspace.journal.decide(lambda _: drafts)


def press(panel: Locator, name: str) -> None:
    """Press a button by keyboard."""
    one = button(panel, name).first
    one.focus()
    one.press("Enter")


def confirm_by_keyboard(panel: Locator, name: str) -> None:
    """Reach the button that confirms from the step's heading by Tab, and press it."""
    expect(panel.locator(".tp-step h3")).to_be_focused()
    confirm = button(panel.locator(".tp-step"), name)
    for _ in range(12):
        panel.page.keyboard.press("Tab")
        if confirm.evaluate("one => one === document.activeElement"):
            break
    expect(confirm).to_be_focused()
    panel.page.keyboard.press("Enter")


@pytest.mark.timeout(900)
def test_two_people_close_a_month_one_with_the_mouse_and_one_with_the_keyboard(
    desk: Desk, month: Practice
) -> None:
    carry_others(month, "no_reference")
    folder, head = month.workspace.folder, month.workspace.journal.head()
    with closing_as(desk, folder, "ines", "closing_ines") as notebook:
        panel = notebook.panel
        notebook.run()  # looking twice decides nothing
        expect(panel).to_have_count(1)
        expect(panel).to_contain_text("You are ines, claimed")
        assert month.workspace.journal.head() == head
        assert violations(panel) == []
        expect(button(panel, "Prepare")).to_have_attribute("aria-disabled", "true")
        button(panel, "Unreferenced: 3").click()
        boxes = panel.locator(".tp-choice input")
        expect(boxes).to_have_count(3)
        panel.get_by_label("Search").press_sequentially("unreferenced >2000")
        expect(boxes).to_have_count(2)  # typing is enough, without Enter
        button(panel, "Clear filters").click()
        expect(panel.get_by_label("Search")).to_be_focused()
        button(panel, "Unreferenced: 3").click()
        expect(boxes).to_have_count(3)
        for box in boxes.all():
            box.check()
        button(panel, "Carry until").click()
        panel.get_by_label("Reason").last.fill("asked the payer $5 and $6")
        panel.get_by_label("Owner").last.fill("jonas")
        panel.get_by_label("Clear by").fill("30 Nov")
        assert violations(panel) == []
        button(panel, "Review").click()
        step = panel.locator(".tp-step")
        expect(step).to_contain_text("in bulk, 3 items")
        expect(step).to_contain_text("EUR 6,725.50 (3)")
        expect(step).to_contain_text("asked the payer $5 and $6")
        assert violations(panel) == []
        assert month.journaled("period.") == []
        button(step, "Confirm decisions").click()
        expect(panel.get_by_role("status")).to_contain_text("Decided 3 items")
        button(panel, "Prepare").click()
        sentence = step.locator(".tp-sentence")
        expect(sentence).to_contain_text("Prepare the close of October 2026")
        asked = sentence.inner_text()
        button(step, "Confirm and prepare").dblclick()
        expect(panel.get_by_role("status")).to_contain_text("Prepared October 2026")
        (prepared,) = month.journaled("period.prepare")
        assert (prepared.body["text"], prepared.actor.name) == (asked, "ines")
        expect(button(panel, "Sign")).to_have_attribute("aria-disabled", "true")
        expect(panel).to_contain_text("the preparer does not sign")

    with closing_as(desk, folder, "jonas", "closing_jonas") as notebook:
        panel = notebook.panel
        expect(panel).to_contain_text("You are jonas, claimed")
        press(panel, "Unreferenced: 3")
        boxes = panel.locator(".tp-choice input")
        expect(boxes).to_have_count(3)
        for box in boxes.all():
            box.press("Space")
            expect(box).to_be_checked()
        press(panel, "Accept proposal")
        confirm_by_keyboard(panel, "Confirm decisions")
        expect(panel.get_by_role("status")).to_contain_text("Decided 3 items")
        expect(button(panel, "Sign")).to_have_attribute("aria-disabled", "false")
        press(panel, "Sign")
        sentence = panel.locator(".tp-sentence")
        expect(sentence).to_contain_text(re.compile("Pack [0-9a-f]{64}[.] By jonas, claimed[.]"))
        asked = sentence.inner_text()
        assert violations(panel) == []
        confirm_by_keyboard(panel, "Confirm and sign")
        expect(panel.get_by_role("status")).to_contain_text("Signed October 2026")
        expect(panel.get_by_role("status")).to_be_focused()
        assert violations(panel) == []
        expect(button(panel, "Reopen")).to_have_attribute("aria-disabled", "false")
    (signed,) = month.journaled("period.close")
    assert (signed.body["text"], signed.actor.name) == (asked, "jonas")
    assert month.workspace.verify_pack(folder / "close" / MONTH).holds
    month.workspace.journal.verify()
