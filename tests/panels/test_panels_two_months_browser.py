"""The practice company's September and October, closed by two people from the close panel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import openpyxl
import pytest
from panel_hands import Keyboard, Mouse, says
from panel_lab import Desk
from panel_practice import Practice
from panel_rules import button, start_of
from playwright.sync_api import Locator, expect

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]

MAKER, REVIEWER = "ines", "jonas"
LEDGER = "account,currency,balance\nBE45539951876689,EUR,251686.06\n"
"""A ledger with the right balance of one bank account at the end of October."""


@contextmanager
def at_panel(desk: Desk, folder: Path, person: str, month: str, hand: Mouse) -> Iterator[Locator]:
    """Open the close panel in a notebook of one person."""
    who = f"import os\nos.environ['TREASURY_USER'] = {person!r}\n{start_of(folder)}"
    notebook = desk.open(f"{month}_{person}", who, f"t.panels.close({month!r})")
    try:
        notebook.run()
        expect(button(notebook.panel, "Sync").first).to_be_visible()
        expect(notebook.panel).to_contain_text(f"You are {person}, claimed")
        hand.enter(notebook.panel)
        yield notebook.panel
    finally:
        notebook.close()


def blockers(panel: Locator) -> list[str]:
    """Return the label of each kind and currency that blocks the month."""
    return panel.locator(".tp-checklist .tp-open button").all_inner_texts()


def choose_all_of(hand: Mouse, panel: Locator, label: str) -> int:
    """Press a blocker, which shows its items, and choose all; return their number."""
    number = int(re.search(r": ([0-9]+)", label)[1])  # type: ignore[index]
    links = panel.locator(".tp-checklist .tp-open")
    hand.activate(panel, links.get_by_role("button", name=label, exact=True))
    boxes = panel.locator(".tp-choice input")
    expect(boxes).to_have_count(number)
    if number == 1:
        hand.activate(panel, boxes.first)
    else:
        hand.press(panel, "Choose all")
    expect(panel.locator(".tp-choice input:checked")).to_have_count(number)
    return number


def confirm(hand: Mouse, panel: Locator, name: str) -> str:
    """Confirm the open step; return the sentence that it showed."""
    step = panel.locator(".tp-step")
    expect(step).to_be_visible()
    sentence = step.locator(".tp-sentence").inner_text()
    hand.activate(panel, button(step, name))
    return sentence


def decide(hand: Mouse, panel: Locator, label: str, act: str, **typed: str) -> None:
    """Decide all items of a blocker together, in the form that the button `act` opens."""
    number = choose_all_of(hand, panel, label)
    hand.press(panel, act)
    says(panel, "fill in the form, then press Review")
    foot = panel.locator(".tp-foot")
    for name, text in typed.items():
        role: Literal["combobox", "textbox"] = "combobox" if name == "Decision" else "textbox"
        field = foot.get_by_role(role, name=name.replace("_", " "), exact=True)
        if role == "combobox":
            hand.select(panel, field, text)
        else:
            hand.type_into(panel, field, text)
    hand.press(panel, "Review")
    sentence = confirm(hand, panel, "Confirm decisions")
    assert number == 1 or f"in bulk, {number} items" in sentence
    says(panel, f"Decided {number} item")


def decide_by_sheet(hand: Mouse, panel: Locator, folder: Path, decision: str) -> None:
    """Download the sheet of the blocking items, fill in a decision for each, and upload it."""
    hand.select(panel, panel.get_by_role("combobox", name="Blocks", exact=True), "true")
    expect(button(panel, "Clear filters")).to_be_visible()
    with panel.page.expect_download() as downloading:
        hand.press(panel, "Download sheet")
    path = folder / "decided.xlsx"
    downloading.value.save_as(path)
    book = openpyxl.load_workbook(path)
    sheet = book["Open items"]
    columns = {str(cell.value): cell.column for cell in sheet[1]}
    terms = {"Reason": "asked the provider", "Owner": "carla", "Clear by": "30/11/2026"}
    for row in range(2, sheet.max_row + 1):
        for name, text in ({"Decision": decision} | terms).items():
            sheet.cell(row, columns[name], text)
    book.save(path)
    hand.upload(panel, "Decide from a sheet", path)
    confirm(hand, panel, "Confirm decisions")
    says(panel, "Decided [0-9]+ items")


def sign(hand: Mouse, panel: Locator, title: str) -> str:
    """Sign the month, and verify its pack; return the sentence that was confirmed."""
    hand.press(panel, "Sign")
    sentence = confirm(hand, panel, "Confirm and sign")
    says(panel, f"Signed {title}")
    hand.press(panel, "Verify pack")
    says(panel, f"The pack of {title} is verified")
    return sentence


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("hand", [Mouse(), Keyboard()], ids=["mouse", "keyboard"])
def test_two_people_close_a_month_from_sync_to_the_verified_pack(
    desk: Desk, worked: Practice, hand: Mouse, tmp_path: Path
) -> None:
    folder = worked.workspace.folder
    sentences = []
    with at_panel(desk, folder, MAKER, "2026-09", hand) as panel:
        hand.press(panel, "Sync")
        says(panel, "Synced|Nothing new")
        suggested = next(label for label in blockers(panel) if label.startswith("Suggested"))
        reason = "the provider's payout advice names it"
        decide(hand, panel, suggested, "Decide", Decision="accept", Reason=reason)
        for label in blockers(panel):
            terms = {"Reason": "asked the provider $5", "Owner": "carla", "Clear_by": "30/11/2026"}
            decide(hand, panel, label, "Carry until", **terms)
        assert all("proposed to be carried" in label for label in blockers(panel))
        hand.press(panel, "Prepare")
        sentences.append(confirm(hand, panel, "Confirm and prepare"))
        says(panel, "Prepared September 2026")
    with at_panel(desk, folder, REVIEWER, "2026-09", hand) as panel:
        for label in blockers(panel):
            number = choose_all_of(hand, panel, label)
            hand.press(panel, "Accept proposal")
            confirm(hand, panel, "Confirm decisions")
            says(panel, f"Decided {number} item")
        sentences.append(sign(hand, panel, "September 2026"))
    ledger = tmp_path / "ledger.csv"
    ledger.write_text(LEDGER, "utf-8")
    with at_panel(desk, folder, MAKER, "2026-10", hand) as panel:
        hand.upload(panel, "Ledger balances", ledger)
        says(panel, "Ledger on 31 October 2026: 1 of [0-9]+ accounts compared, 0 to look at")
        decide_by_sheet(hand, panel, tmp_path, "Carry past the close")
        hand.press(panel, "Prepare")
        sentences.append(confirm(hand, panel, "Confirm and prepare"))
        says(panel, "Prepared October 2026")
    with at_panel(desk, folder, REVIEWER, "2026-10", hand) as panel:
        decide_by_sheet(hand, panel, tmp_path, "Accept that it is carried")
        sentences.append(sign(hand, panel, "October 2026"))
    entries = worked.journaled("period.prepare") + worked.journaled("period.close")
    entries.sort(key=lambda entry: entry.seq)
    assert [entry.actor.name for entry in entries] == [MAKER, REVIEWER] * 2
    assert [entry.body["text"] for entry in entries] == sentences
    for month in ("2026-09", "2026-10"):
        assert worked.workspace.verify_pack(folder / "close" / month).holds
    worked.workspace.journal.verify()
