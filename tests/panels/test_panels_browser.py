"""The approvals panel in JupyterLab, in a real browser: the rules that only hold there.

What is looked at is the panel's own content; its source in a cell is never taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from panel_hostile import HOSTILE, hostile
from panel_lab import Desk, Lab, Notebook, until
from panel_practice import ON_RAMP, Practice
from playwright.sync_api import Locator, expect

from treasury.cli.practice import prepare

pytestmark = pytest.mark.browser

REQUESTS = "/ramp/v1/ramp-requests"
expect.set_options(timeout=60_000)


@pytest.fixture
def panel(notebook: Notebook) -> Locator:
    notebook.run()
    expect(notebook.panel.get_by_role("button", name="Approve")).to_be_visible()
    return notebook.panel


def button(panel: Locator, name: str) -> Locator:
    return panel.get_by_role("button", name=re.compile(f"^{name}"))


def propose(panel: Locator, verb: str = "Approve", reference: str = ON_RAMP) -> Locator:
    """Choose a request and take the first step; the section that asks to confirm."""
    panel.get_by_role("checkbox", name=reference).check()
    button(panel, verb).click()
    step = panel.get_by_role("region", name=f"{verb} {reference}?")
    expect(button(step, "Confirm")).to_be_visible()
    return step


def test_two_steps_approve_and_say_what_the_journal_says(
    panel: Locator, practice: Practice
) -> None:
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


def test_a_double_click_on_approve_sends_nothing(panel: Locator, practice: Practice) -> None:
    panel.get_by_role("checkbox", name=ON_RAMP).check()
    button(panel, "Approve").dblclick()
    expect(button(panel, "Confirm")).to_be_visible()
    assert practice.decisions() == []
    assert practice.journaled("action.") == []


def test_confirm_never_stands_where_approve_stood(panel: Locator) -> None:
    approve = button(panel, "Approve").bounding_box()
    step = propose(panel)
    still, confirm = button(panel, "Approve").bounding_box(), button(step, "Confirm").bounding_box()
    assert approve is not None
    assert still is not None
    assert confirm is not None
    assert confirm["y"] > still["y"] + still["height"]
    assert confirm["x"] > approve["x"] + approve["width"]


def test_five_clicks_in_one_turn_are_one_execution(panel: Locator, practice: Practice) -> None:
    step = propose(panel)
    button(step, "Confirm").evaluate("button => { for (let n = 0; n < 5; n++) button.click(); }")
    expect(panel.get_by_role("status")).to_contain_text(f"Approved {ON_RAMP}")
    assert len(practice.decisions()) == 1
    assert len(practice.journaled("action.sending")) == 1


def test_two_views_of_a_panel_are_one_panel(
    desk: Desk, practice: Practice, request: pytest.FixtureRequest
) -> None:
    folder = practice.workspace.folder
    notebook = desk.open(
        request.node.name,
        f"import treasury\npanel = treasury.open({str(folder)!r}).panels.approvals()",
        "panel",
        "panel",
    ).run()
    try:
        first, second = notebook.panel.nth(0), notebook.panel.nth(1)
        button(second, "Approve").wait_for()
        step = propose(first)
        expect(button(second, "Confirm")).to_be_visible()
        desk.page.evaluate(
            "() => document.querySelectorAll('[data-press=confirm]').forEach(one => one.click())"
        )
        expect(second.get_by_role("status")).to_contain_text(f"Approved {ON_RAMP}")
        expect(step).to_have_count(0)
        assert len(practice.decisions()) == 1
    finally:
        notebook.close()


def test_a_cell_run_three_times_has_one_effect(
    notebook: Notebook, panel: Locator, practice: Practice
) -> None:
    for _ in range(2):
        notebook.run()
    expect(panel).to_have_count(1)
    expect(button(panel, "Approve")).to_be_visible()
    button(propose(panel), "Confirm").click()
    expect(panel.get_by_role("status")).to_contain_text(f"Approved {ON_RAMP}")
    notebook.run()
    expect(panel.get_by_text("Approved by ana.lyst")).to_be_visible()
    expect(panel.get_by_role("checkbox", name=ON_RAMP)).to_have_count(0)
    assert len(practice.decisions()) == 1


def test_decided_elsewhere_is_already_decided(panel: Locator, practice: Practice) -> None:
    row = practice.waiting()[0]
    practice.workspace.client("checker").ramp.requests.approve(row["id"], version=row["version"])
    panel.get_by_role("checkbox", name=ON_RAMP).check()
    button(panel, "Approve").click()
    expect(panel.get_by_role("status")).to_contain_text(f"{ON_RAMP} is already decided")
    expect(button(panel, "Confirm")).to_have_count(0)
    assert len(practice.decisions()) == 1


def test_a_failing_service_is_visible_and_can_be_tried_again(
    panel: Locator, practice: Practice
) -> None:
    practice.company.faults.add(REQUESTS, method="GET", status=400)
    panel.get_by_role("checkbox", name=ON_RAMP).check()
    button(panel, "Approve").click()
    expect(panel.get_by_role("alert")).to_contain_text("Nothing was sent.")
    step = propose(panel)
    expect(panel.get_by_role("alert")).to_have_count(0)
    button(step, "Confirm").click()
    expect(panel.get_by_role("status")).to_contain_text(f"Approved {ON_RAMP}")


def test_cancel_acts_while_the_service_is_slow(panel: Locator, practice: Practice) -> None:
    step = propose(panel)
    practice.company.faults.add(REQUESTS, method="GET", delay=2.0)
    button(step, "Confirm").click()
    expect(panel.get_by_role("progressbar")).to_be_visible()
    button(panel, "Cancel").click()
    expect(panel.get_by_role("status")).to_contain_text("Nothing was sent.")
    assert practice.decisions() == []


def test_the_keyboard_does_it_all_and_keeps_its_focus(panel: Locator, practice: Practice) -> None:
    page = panel.page
    panel.get_by_role("checkbox", name=ON_RAMP).focus()
    page.keyboard.press("Space")
    for _ in range(panel.get_by_role("checkbox").count()):
        page.keyboard.press("Tab")
    expect(button(panel, "Approve")).to_be_focused()
    page.keyboard.press("Enter")
    heading = panel.get_by_role("heading", name=f"Approve {ON_RAMP}?")
    expect(heading).to_be_focused()
    page.keyboard.press("Escape")
    expect(button(panel, "Approve")).to_be_focused()
    page.keyboard.press("Enter")
    expect(heading).to_be_focused()
    page.keyboard.press("Tab")
    expect(button(panel, "Go back")).to_be_focused()
    page.keyboard.press("Tab")
    expect(button(panel, "Confirm")).to_be_focused()
    page.keyboard.press("Enter")
    expect(panel.get_by_role("status")).to_contain_text(f"Approved {ON_RAMP}")
    expect(panel.get_by_role("status")).to_be_focused()
    assert len(practice.decisions()) == 1


def test_typing_dd_on_anything_that_takes_the_focus_deletes_no_cell(
    notebook: Notebook, panel: Locator
) -> None:
    cells = notebook.cells.count()
    propose(panel)
    places = panel.locator("button, input, [tabindex]")
    assert places.count() > 8
    for number in range(places.count()):
        places.nth(number).focus()
        panel.page.keyboard.press("d")
        panel.page.keyboard.press("d")
    expect(notebook.cells).to_have_count(cells)
    expect(button(panel, "Confirm")).to_be_visible()


def test_the_panel_comes_back_after_a_reload(
    desk: Desk, notebook: Notebook, panel: Locator, practice: Practice
) -> None:
    propose(panel)
    notebook.saved()
    desk.reload(notebook)
    expect(button(panel, "Confirm")).to_be_visible()
    button(panel, "Confirm").click()
    expect(panel.get_by_role("status")).to_contain_text(f"Approved {ON_RAMP}")
    assert len(practice.decisions()) == 1


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


def test_no_request_leaves_the_host(desk: Desk, lab: Lab, panel: Locator) -> None:
    button(propose(panel), "Confirm").click()
    expect(panel.get_by_role("status")).to_contain_text("Approved")
    away = [url for url in desk.requests if not url.startswith((lab.url, "data:", "blob:"))]
    assert desk.requests
    assert away == []


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_every_text_is_legible_in_both_themes(desk: Desk, panel: Locator, theme: str) -> None:
    desk.theme(theme)
    try:
        propose(panel)
        poor = panel.evaluate(CONTRAST)
        assert poor == []
    finally:
        desk.theme("JupyterLab Light")


def test_at_400_pixels_nothing_is_cut_off(desk: Desk, panel: Locator) -> None:
    desk.page.set_viewport_size({"width": 500, "height": 1000})
    try:
        desk.narrow()
        propose(panel)
        box = panel.bounding_box()
        assert box is not None
        assert box["width"] < 400
        assert panel.evaluate("one => one.scrollWidth <= one.clientWidth") is True
        assert panel.locator(".tp-scroll").evaluate("one => one.scrollWidth <= one.clientWidth")
    finally:
        desk.page.set_viewport_size({"width": 1280, "height": 1000})


@pytest.fixture
def attacked(
    desk: Desk, practice: Practice, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Locator]:
    with hostile(practice.served) as served:
        workspace = prepare(tmp_path / "attacked", practice.company, served)
        workspace.sync()
        workspace.close_clients()
        notebook = desk.open(
            request.node.name,
            f"import treasury\nt = treasury.open({str(workspace.folder)!r})",
            "t.panels.approvals()",
        ).run()
        expect(button(notebook.panel, "Approve")).to_be_visible()
        yield notebook.panel
        notebook.close()


def test_hostile_text_in_every_field_is_literal_and_runs_nothing(
    desk: Desk, attacked: Locator, practice: Practice
) -> None:
    attacked.get_by_role("checkbox").nth(1).check()
    button(attacked, "Approve").click()
    expect(button(attacked, "Confirm")).to_be_visible()
    sentence = attacked.locator(".tp-sentence")
    assert sentence.inner_text().count(HOSTILE) >= 4
    assert attacked.locator(".tp-facts").inner_text().count(HOSTILE) >= 6
    expect(attacked.locator("tbody tr").first).to_contain_text(HOSTILE)
    assert attacked.locator("img, script, a, mjx-container").count() == 0
    button(attacked, "Confirm").click()
    expect(attacked.get_by_role("status")).to_contain_text(HOSTILE)
    assert desk.page.evaluate("() => window.harmed") is None
    assert until(practice.decisions, "the approval to arrive")


# Contrast of each text with its ground, by WCAG 2: what is below 4.5 to 1.
CONTRAST = """panel => {
    const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const read = (colour) => {
        paint.clearRect(0, 0, 1, 1);
        paint.fillStyle = colour;
        paint.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = (top, under) =>
        top.slice(0, 3).map((c, n) => c * top[3] + under[n] * (1 - top[3]));
    const ground = (one) => {
        const layers = [];
        for (let at = one; at; at = at.parentElement) {
            layers.push(read(getComputedStyle(at).backgroundColor));
            if (layers.at(-1)[3] === 1) break;
        }
        return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
    };
    const light = (colour) => colour
        .map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, n) => sum + c * [0.2126, 0.7152, 0.0722][n], 0);
    const poor = [];
    for (const one of panel.querySelectorAll('*')) {
        const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!own || !one.checkVisibility()) continue;
        const under = ground(one);
        const [a, b] = [light(over(read(getComputedStyle(one).color), under)), light(under)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) poor.push(`${one.textContent.slice(0, 40)}: ${ratio.toFixed(2)}`);
    }
    return poor;
}"""
