"""The rules of display, over all six panels at once, in a real browser.

One notebook shows the six panels of a practice month; a second one those of a month with hostile
text in its records. Nearly all tests only look, so they share both notebooks.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import at_the_desk
from panel_hostile import HOSTILE, hostile
from panel_lab import Desk, at_last
from panel_practice import Practice, practising
from panel_rules import (
    CONTRAST,
    PANELS,
    WAYS,
    Gallery,
    button,
    copied,
    propose_transfers,
    violations,
)
from playwright.sync_api import Locator, expect

from treasury.cli.commands.practice import prepare
from treasury.workspace import Workspace

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]

SIZE = 4
THEMES = ("JupyterLab Light", "JupyterLab Dark")
WIDTHS = (1280, 1000, 760, 500)
PICTURES = os.environ.get("TREASURY_PICTURES")
"""A folder for pictures of each panel, for inspection."""


@pytest.fixture(scope="module")
def clean(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Practice]:
    folder = tmp_path_factory.mktemp("gallery") / "workspace"
    with at_the_desk(), practising(folder, month_end) as practice:
        propose_transfers(practice, "100.00", "250.50")
        yield practice


@pytest.fixture(scope="module")
def shown(desk: Desk, clean: Practice) -> Gallery:
    return Gallery(desk, clean.workspace.folder, "gallery", size=SIZE)


@pytest.fixture(scope="module")
def attacked(
    desk: Desk, clean: Practice, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gallery]:
    """Yield the six panels of a month with hostile text in its records."""
    with hostile(clean.served) as served:
        folder = tmp_path_factory.mktemp("attacked") / "workspace"
        workspace = prepare(folder, clean.company, served)
        workspace.sync()
        workspace.statements.add(hostile_statements(folder))
        workspace.close_clients()
        yield Gallery(desk, folder, "attacked", size=SIZE)


def hostile_statements(folder: Path) -> list[Path]:
    """Add markup to every name and remittance text of the bank files, and return their paths."""
    marked = HOSTILE.replace("<", "&lt;").replace(">", "&gt;")
    files = sorted((folder / "bank").glob("*.xml"))
    for file in files:
        text = file.read_text("utf-8")
        text = text.replace("</Nm>", f"{marked[:60]}</Nm>")
        file.write_text(text.replace("</Ustrd>", f" {marked}</Ustrd>"), "utf-8")
    return files


@pytest.fixture(autouse=True)
def _as_it_was(desk: Desk, request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    desk.page.set_viewport_size({"width": 1280, "height": 1000})
    if "theme" in request.fixturenames:
        desk.theme(THEMES[0])


@pytest.fixture(params=PANELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def picture(panel: Locator, name: str) -> None:
    """Save a picture of the panel if `TREASURY_PICTURES` names a folder."""
    if PICTURES is not None:
        panel.screenshot(path=Path(PICTURES) / f"{name}.png")


def poor_contrast(panel: Locator) -> list[str]:
    """Return the panel's texts with too little contrast."""
    found: list[str] = panel.evaluate(CONTRAST)
    return found


def hidden_from_view(panel: Locator) -> list[str]:
    """Return the panel's texts and controls that are outside it, or cut off."""
    found: list[str] = panel.evaluate(CUT_OFF)
    return found


NARROWER = "([panel, most]) => panel.getBoundingClientRect().width < most"
CUT_OFF = """panel => {
    const edge = panel.getBoundingClientRect();
    const cut = [];
    for (const one of panel.querySelectorAll('*')) {
        if (one.closest('.tp-unseen, thead') || !one.checkVisibility()) continue;
        const box = one.getBoundingClientRect();
        if (box.width > 1 && (box.right > edge.right + 1 || box.left < edge.left - 1))
            cut.push(`${one.tagName} ${one.className}: ${one.textContent.slice(0, 40)}`);
    }
    return cut;
}"""


# 5. Outside text is text.


def test_rule_5_markup_in_every_field_of_every_record_is_literal_and_runs_nothing(
    desk: Desk, attacked: Gallery, name: str
) -> None:
    attacked.notebook.show()
    panel = attacked.panel(name)
    assert panel.locator("img, script, a, style, iframe").count() == 0
    assert desk.page.evaluate("() => window.harmed") is None
    assert desk.dialogs == []
    if name != "sync":  # Names of tables and times are not outside text.
        expect(panel).to_contain_text("<img src=x onerror=")


def test_rule_5_markup_is_literal_in_a_step_and_in_its_result(
    desk: Desk, attacked: Gallery
) -> None:
    attacked.notebook.show()
    panel = attacked.panel("approvals")
    panel.locator(".tp-choice input").nth(1).check()
    button(panel, "Approve").click()
    expect(button(panel, "Confirm approval")).to_be_visible()
    expect(panel.locator(".tp-step")).to_contain_text(HOSTILE)
    button(panel, "Confirm approval").click()
    expect(panel.get_by_role("status")).to_contain_text(HOSTILE)
    assert panel.locator("img, script, a, style, iframe").count() == 0
    assert desk.page.evaluate("() => window.harmed") is None


# 6. Money and text are never maths.


@pytest.mark.parametrize("name", ["approvals", "funding", "matches", "close"], indirect=True)
def test_rule_6_five_dollars_and_six_dollars_are_not_a_formula(
    attacked: Gallery, name: str
) -> None:
    attacked.notebook.show()
    panel = attacked.panel(name)
    expect(panel).to_contain_text("$5 and $6")
    assert panel.locator("mjx-container, .MathJax, math").count() == 0


# 8. The keyboard reaches everything, and no key of a panel triggers the notebook.


def test_rule_8_typing_dd_on_anything_that_takes_the_focus_deletes_no_cell(
    shown: Gallery, name: str
) -> None:
    shown.notebook.show()
    cells, panel = shown.notebook.cells.count(), shown.panel(name)
    places = panel.locator("button, input, [tabindex]")
    assert places.count() > 5
    total = places.count()
    for number in range(total):
        place = places.nth(number)
        place.focus()
        panel.page.keyboard.press("d")
        panel.page.keyboard.press("d")
        # Text typed into a search or a filter narrows the list, until it is removed.
        if place.get_attribute("data-field") is not None:
            place.fill("")
            place.press("Enter")
            expect(places).to_have_count(total)
    expect(shown.notebook.cells).to_have_count(cells)
    for field in panel.locator("input[data-field]").all():
        field.fill("")


def test_rule_8_tab_moves_through_a_panel_in_reading_order(shown: Gallery, name: str) -> None:
    shown.notebook.show()
    panel = shown.panel(name)
    wanted: list[str] = panel.evaluate(TAB_STOPS)
    panel.locator("button, input, select").first.focus()
    found = []
    for _ in wanted:
        found.append(panel.page.evaluate(f"() => ({NAMED})(document.activeElement)"))
        panel.page.keyboard.press("Tab")
    assert found == wanted


NAMED = """one => one.dataset.press ?? one.dataset.field ?? one.dataset.copy
    ?? (one.type === 'radio' ? 'one of the rows' : `row ${one.value}`)"""
TAB_STOPS = f"""panel => {{
    const named = {NAMED};
    const radios = new Set();
    return [...panel.querySelectorAll('button, input, select')].filter(one => {{
        if (one.type !== 'radio') return true;
        const known = radios.has(one.name);
        radios.add(one.name);
        return !known;
    }}).map(named);
}}"""


# 9. Names and live status for assistive technology; legible in both themes and when narrow.


@pytest.mark.parametrize("theme", THEMES)
def test_rule_9_axe_finds_nothing_in_either_theme(
    desk: Desk, shown: Gallery, name: str, theme: str
) -> None:
    shown.notebook.show()
    desk.theme(theme)
    assert violations(shown.panel(name)) == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("way", sorted(WAYS.keys() - {"carry_out"}))
def test_rule_9_axe_finds_nothing_in_a_step_that_asks(
    desk: Desk, shown: Gallery, way: str, theme: str
) -> None:
    shown.notebook.show()
    desk.theme(theme)
    panel = shown.panel(WAYS[way].panel)
    requests = button(panel, "Ramp requests")
    if way == "approve" and requests.get_attribute("aria-pressed") != "true":
        requests.click()
        expect(requests).to_have_attribute("aria-pressed", "true")
    WAYS[way].begin(panel)
    try:
        assert violations(panel) == []
        assert poor_contrast(panel) == []
    finally:
        button(panel, "Go back").click()
        expect(panel.locator(".tp-step")).to_have_count(0)
        if way == "propose":
            button(panel, "Close form").click()
            expect(button(panel, "Trace")).to_be_visible()


def test_rule_9_progress_and_status_have_their_roles(shown: Gallery, name: str) -> None:
    panel = shown.panel(name)
    assert panel.get_by_role("status").count() == 1
    labelled = panel.evaluate("one => document.getElementById(one.getAttribute('aria-labelledby'))")
    assert labelled is not None
    assert panel.get_attribute("aria-busy") == "false"
    for box in panel.locator(".tp-choice input").all():
        assert box.get_attribute("aria-label")


@pytest.mark.parametrize("theme", THEMES)
def test_rule_9_every_text_is_legible_in_both_themes(
    desk: Desk, shown: Gallery, name: str, theme: str
) -> None:
    shown.notebook.show()
    desk.theme(theme)
    assert at_last(lambda: poor_contrast(shown.panel(name))) == []
    picture(shown.panel(name), f"{name}-{theme.split()[1].lower()}")


@pytest.mark.parametrize("width", WIDTHS)
def test_rule_9_nothing_is_cut_off_at_any_width(
    desk: Desk, shown: Gallery, name: str, width: int
) -> None:
    shown.notebook.show()
    desk.narrow()
    desk.page.set_viewport_size({"width": width, "height": 1000})
    panel = shown.panel(name)
    most = 400 if width == 500 else width
    panel.page.wait_for_function(NARROWER, arg=[panel.element_handle(), most])
    assert at_last(lambda: hidden_from_view(panel)) == []
    picture(panel, f"{name}-{width}")


# 11. Nothing is omitted silently.


def test_rule_11_a_search_finds_the_last_row_and_the_download_has_them_all(
    desk: Desk, shown: Gallery, clean: Practice, name: str, tmp_path: Path
) -> None:
    shown.notebook.show()
    panel = shown.panel(name)
    if name == "approvals":
        button(panel, "Ramp requests").click()
        expect(button(panel, "Ramp requests")).to_have_attribute("aria-pressed", "true")
    there = getattr(clean.workspace.panels, name)()
    with desk.page.expect_download() as saving:
        button(panel, "Download CSV").click()
    file = tmp_path / "all.csv"
    saving.value.save_as(file)
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == len(there.rows.arrow)
    if len(rows) <= SIZE:
        return
    said = panel.locator(".tp-pager")
    expect(said).to_contain_text(f"1 to {SIZE} of {len(rows)}")
    last = next(rows[-1][one] for one in SEARCHED if rows[-1].get(one))
    panel.get_by_label("Search").fill(last)
    panel.get_by_label("Search").press("Enter")
    expect(said).to_contain_text(re.compile(rf"of \d+ found, {len(rows)} in all|of {len(rows)}$"))
    expect(panel.locator("tbody tr")).not_to_have_count(0)
    panel.get_by_label("Search").fill("")
    panel.get_by_label("Search").press("Enter")
    expect(said).to_contain_text(f"1 to {SIZE} of {len(rows)}")


SEARCHED = ("reference", "entry_id", "transfer_id", "request_id", "id", "table")


# 12. Local and private.

TOLD = re.compile(r"\b[A-Z]{2}\d{2}[A-Z0-9]{11,30}\b|PAY-2026-\d{6}|[A-Z]{3,4} [\d,]+\.\d+")
"""Matches an account number, a payment reference or an amount."""


def test_rule_12_the_saved_notebook_contains_no_panel_content(
    shown: Gallery, clean: Practice
) -> None:
    shown.notebook.show()
    screen = "\n".join(shown.panel(name).inner_text() for name in PANELS)
    told = set(TOLD.findall(screen))
    assert len(told) > 10
    secrets = {secret for _, secret in clean.company.credentials.values()}
    saved = shown.notebook.saved()
    assert "application/vnd.jupyter.widget-state+json" in saved
    assert {text for text in told | secrets if text in saved} == set()


def test_rule_12_a_copy_button_gives_the_text_in_the_lake(shown: Gallery, clean: Practice) -> None:
    shown.notebook.show()
    panel = shown.panel("transfers")
    button(panel, "Accounts").click()
    text = copied(panel.get_by_role("button", name=re.compile("^Copy account id of")).first)
    ids = clean.workspace.sql("SELECT id FROM accounts").arrow["id"].to_pylist()
    assert text in ids
    button(panel, "Transfers (").click()


# 10. Safe to run again, to load the page again, and to restart the kernel. These tests are last,
# because they restart the kernel of the shared notebook.


def test_rule_10_six_panels_are_run_again_and_loaded_again(desk: Desk, shown: Gallery) -> None:
    shown.run()
    shown.run()
    shown.notebook.saved()
    shown.notebook.changed()
    desk.reload(shown.notebook)
    shown.settled()
    for name in PANELS:
        expect(shown.panel(name).get_by_role("table")).to_be_visible()


def test_rule_10_a_panel_reports_a_lost_kernel_and_works_when_run_again(
    shown: Gallery, clean: Practice
) -> None:
    shown.notebook.show()
    commit = clean.workspace.snapshot().commit
    shown.notebook.restart()
    for name in PANELS:
        button(shown.panel(name), "Sync").first.click()
    for name in PANELS:
        alert = shown.panel(name).get_by_role("alert")
        expect(alert).to_contain_text("The kernel has not answered")
        expect(alert).to_contain_text("run the cell again")
    shown.run()
    for name in PANELS:
        expect(shown.panel(name).get_by_role("alert")).to_have_count(0)
    assert clean.workspace.snapshot().commit == commit


def test_rule_12_no_request_leaves_the_host(desk: Desk, shown: Gallery) -> None:
    shown.settled()
    away = [url for url in desk.requests if not url.startswith((desk.lab.url, "data:", "blob:"))]
    assert desk.requests
    assert away == []
