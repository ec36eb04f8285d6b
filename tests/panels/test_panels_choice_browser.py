"""A person's selection stays while a panel draws itself again."""

from __future__ import annotations

import re

import pytest
from panel_lab import Desk
from panel_practice import Practice
from playwright.sync_api import expect

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]

PARTIES = "/finance/v1/parties"


@pytest.mark.parametrize("how", ["choice", "row"])
def test_a_row_that_is_chosen_while_work_is_under_way_stays_chosen(
    desk: Desk, month: Practice, request: pytest.FixtureRequest, how: str
) -> None:
    month.company.faults.add(PARTIES, method="GET", delay=5.0)
    start = f"import treasury\nt = treasury.open({str(month.workspace.folder)!r})"
    notebook = desk.open(request.node.name, start, "t.panels.transfers()")
    try:
        notebook.run()
        panel = notebook.panel
        panel.get_by_role("button", name="Sync").click()
        expect(panel.get_by_role("progressbar")).to_be_visible()
        third = panel.locator("tbody tr").nth(2)
        choice = third.locator(".tp-choice input")
        (choice if how == "choice" else third.locator("td").nth(1)).click()
        # The sync is still running, so the row was chosen meanwhile.
        expect(panel.get_by_role("progressbar")).to_be_visible()
        expect(panel.get_by_role("progressbar")).to_have_count(0)
        expect(choice).to_be_checked()
        panel.get_by_role("button", name=re.compile("^Trace")).click()
        expect(panel.get_by_role("button", name=re.compile("^Close"))).to_be_visible()
        expect(panel.get_by_text("No row is chosen")).to_have_count(0)
    finally:
        notebook.close()
