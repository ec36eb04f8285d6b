"""The practice company's September and October, closed by two people from the close panel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from panel_hands import Keyboard, Mouse, says
from panel_lab import Desk
from panel_practice import Practice
from panel_rules import button, start_of
from playwright.sync_api import Locator, expect

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]

MAKER, REVIEWER = "ines", "jonas"
LEDGER = "account,currency,balance\nBE45539951876689,EUR,123456.78\n"
"""A ledger with a wrong balance of one bank account."""


@contextmanager
def at_panel(
    desk: Desk, folder: Path, person: str, month: str, hand: Mouse
) -> Iterator[Locator]:
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


def show_blocking(hand: Mouse, panel: Locator, kind: str) -> int:
    """Show the blocking items of a kind and choose all; return their number."""
    one = button(panel.locator(".tp-checklist"), f"{kind}: ").first
    number = int(re.sub(r"\D.*", "", one.inner_text().removeprefix(f"{kind}: ")))
    hand.activate(panel, one)
    boxes = panel.locator(".tp-choice input")
    expect(boxes).to_have_count(number)
    if number == 1:
        hand.activate(panel, boxes.first)
    else:
        hand.press(panel, "Choose all")
    for box in boxes.all():
        expect(box).to_be_checked()
    return number


def confirm(hand: Mouse, panel: Locator, name: str) -> str:
    """Confirm the open step; return the sentence that it showed."""
    step = panel.locator(".tp-step")
    expect(step).to_be_visible()
    sentence = step.locator(".tp-sentence").inner_text()
    hand.activate(panel, button(step, name))
    return sentence


def carry(hand: Mouse, panel: Locator, kind: str) -> None:
    """Propose to carry every blocking item of a kind and a currency."""
    number = show_blocking(hand, panel, kind)
    hand.press(panel, "Carry until")
    says(panel, "fill in the form, then press Review")
    foot = panel.locator(".tp-foot")
    hand.type_into(panel, foot.get_by_label("Reason"), f"asked about: {kind}")
    hand.type_into(panel, foot.get_by_label("Owner"), "carla")
    hand.type_into(panel, foot.get_by_label("Clear by"), "30/11/2026")
    hand.press(panel, "Review")
    sentence = confirm(hand, panel, "Confirm decisions")
    if number > 1:
        assert f"in bulk, {number} items" in sentence
    says(panel, f"Decided {number} item")


def accept(hand: Mouse, panel: Locator, kind: str) -> None:
    """Accept the first candidate of every suggested line."""
    number = show_blocking(hand, panel, kind)
    hand.press(panel, "Decide")
    says(panel, "fill in the form, then press Review")
    foot = panel.locator(".tp-foot")
    hand.select(panel, foot.get_by_label("Decision"), "accept")
    hand.type_into(panel, foot.get_by_label("Reason"), "the provider's payout advice names it")
    hand.press(panel, "Review")
    confirm(hand, panel, "Confirm decisions")
    says(panel, f"Decided {number} items")


def open_kinds(panel: Locator) -> list[str]:
    """Return the kinds that block the month, one for each currency."""
    labels = panel.locator(".tp-checklist .tp-open button").all_inner_texts()
    return [label.partition(": ")[0] for label in labels]


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("hand", [Mouse(), Keyboard()], ids=["mouse", "keyboard"])
def test_two_people_close_september_and_october(
    desk: Desk, worked: Practice, hand: Mouse, tmp_path: Path
) -> None:
    folder = worked.workspace.folder
    with at_panel(desk, folder, MAKER, "2026-09", hand) as panel:
        hand.press(panel, "Sync")
        says(panel, "Synced|Nothing new")
        accept(hand, panel, "Suggested")
        for kind in open_kinds(panel):
            carry(hand, panel, kind)
        hand.press(panel, "Prepare")
        prepared = confirm(hand, panel, "Confirm and prepare")
        says(panel, "Prepared September 2026")
