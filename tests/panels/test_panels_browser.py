"""The approvals panel in JupyterLab, in a real browser: the rules that only apply there.

Only the panel itself is examined, not the cell that shows it.
"""

from __future__ import annotations

import re

import pytest
from panel_lab import Notebook
from panel_practice import ON_RAMP, Practice
from playwright.sync_api import Locator, expect

pytestmark = [pytest.mark.browser, pytest.mark.long_file]

REQUESTS = "/ramp/v1/ramp-requests"


@pytest.fixture
def panel(notebook: Notebook) -> Locator:
    notebook.run()
    expect(notebook.panel.get_by_role("button", name="Approve")).to_be_visible()
    return notebook.panel


def button(panel: Locator, name: str) -> Locator:
    return panel.get_by_role("button", name=re.compile(f"^{name}"))


def propose(panel: Locator, verb: str = "Approve", reference: str = ON_RAMP) -> Locator:
    """Choose a request and press a button; return the section to confirm."""
    panel.get_by_role("checkbox", name=reference).check()
    button(panel, verb).click()
    step = panel.get_by_role("region", name=f"{verb} {reference}?")
    expect(button(step, "Confirm")).to_be_visible()
    return step


@pytest.mark.acceptance
def test_two_steps_approve_and_show_the_journal_entry(panel: Locator, practice: Practice) -> None:
    request_id = practice.waiting()[0]["id"]
    step = propose(panel)
    asked = step.locator(".tp-sentence").inner_text()
    assert practice.decisions() == []
    button(step, "Confirm").click()
    expect(panel.get_by_role("status")).to_contain_text(f"Approved {ON_RAMP}")
    (entry,) = practice.journaled("action.sending")
    assert entry.body["text"] == asked
    expect(panel.get_by_role("status")).to_contain_text(asked)
    assert practice.request(request_id).status == "AWAITING_FUNDS"
    assert practice.events(request_id, "APPROVED") == ["checker@harbourlane.test"]


@pytest.mark.acceptance
def test_the_saved_notebook_holds_no_account_no_amount_and_no_secret(
    notebook: Notebook, panel: Locator, practice: Practice
) -> None:
    off_ramp = practice.waiting()[1]
    step = propose(panel, reference=off_ramp["payment_reference"])
    expect(step).to_contain_text(off_ramp["company_bank_account_iban"])
    saved = notebook.saved()
    assert "application/vnd.jupyter.widget-state+json" in saved
    told = [off_ramp["company_bank_account_iban"], off_ramp["payment_reference"], "7,500"]
    hidden = [secret for _, secret in practice.company.credentials.values()]
    assert [text for text in (*told, *hidden) if text in saved] == []


def test_the_note_for_saved_pages_is_hidden_next_to_a_live_panel(
    notebook: Notebook, panel: Locator
) -> None:
    note = notebook.view.locator(".treasury-note")
    expect(note).to_have_count(1)
    expect(note).to_be_hidden()
    assert "Approvals: " in notebook.saved()
