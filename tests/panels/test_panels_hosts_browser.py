"""Panels on pages like those of marimo and VS Code: no padding, dark or light, shadow trees."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from panel_practice import Practice
from panel_rules import CONTRAST, button
from playwright.sync_api import Browser, Page

from treasury.panels.frames.panel import Panel
from treasury.panels.frames.panel_text import literal

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]

GROUNDS = {"light": "#ffffff", "dark": "#181c1a"}
PAGE = """<!doctype html><html style="color-scheme: {scheme}; background: {ground}">
<style>* {{ margin: 0; padding: 0; }}</style><body>{table}<div id="host"></div>"""
VS_CODE = """<!doctype html><html style="background: {ground}">
<style>:root {{ --jp-ui-font-color1: rgba(0, 0, 0, 0.87); --jp-layout-color0: white; }}</style>
<body class="vscode-{scheme}"><div id="host"></div>"""
"""A page with JupyterLab's light colours, as the widget manager of VS Code makes it."""
SHADOW = "document.querySelector('#host').attachShadow({mode: 'open'})"
SHOW = """async ({script, style, frame}) => {
    const source = URL.createObjectURL(new Blob([script], {type: 'text/javascript'}));
    const module = await import(source);
    const tree = document.querySelector('#host').attachShadow({mode: 'open'});
    tree.innerHTML = '<style></style><div></div>';
    tree.firstChild.textContent = style;
    const model = {send() {}, on(_, draw) { window.draw = draw; }, off() {}};
    module.default.render({model, el: tree.lastChild});
    window.draw({number: 1, frame});
}"""
DRAW = "message => window.draw(message)"
FOCUSED = "() => document.querySelector('#host').shadowRoot.activeElement?.dataset.focus"
GAP = """() => {
    const texts = [...document.querySelectorAll('tr')].map((row) =>
        [...row.cells].map((cell) => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getBoundingClientRect();
        }));
    const rows = texts.map((row) => row.filter((box) => box.width));
    const gaps = rows.flatMap((row) => row.slice(1).map((box, at) => box.left - row[at].right));
    return Math.min(...gaps);
}"""

BROKEN = """() => {
    const root = document.querySelector('#host').shadowRoot;
    const captions = document.querySelectorAll('caption');
    const texts = [...captions, ...root.querySelectorAll('td .tp-line')];
    const lines = (node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size;
    };
    const dated = (text) => /^(since|due) [0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text);
    const kept = texts.filter((one) => one.matches('caption') || dated(one.textContent));
    return [kept.length, kept.filter((one) => lines(one) > 1).map((one) => one.textContent)];
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.new_page(viewport={"width": 1600, "height": 1000})
    yield opened
    opened.close()


def show(page: Page, scheme: str, panel: Panel, table: str = "") -> None:
    page.set_content(PAGE.format(scheme=scheme, ground=GROUNDS[scheme], table=table))
    frame = literal(panel.frame())
    page.evaluate(SHOW, {"script": panel._esm, "style": panel._css, "frame": frame})


@pytest.mark.parametrize("scheme", GROUNDS)
def test_texts_have_contrast_without_the_colours_of_jupyter(
    page: Page, month: Practice, scheme: str
) -> None:
    table = month.workspace.reconcile("2026-10").lines.head(5)._repr_html_()
    show(page, scheme, month.workspace.panels.funding(size=4), table)
    panel = page.locator(".treasury-panel")
    assert panel.locator("tbody tr").count() == 4
    assert panel.evaluate(CONTRAST) == []
    assert page.locator(".tex2jax_ignore").evaluate(CONTRAST) == []


@pytest.mark.parametrize("scheme", GROUNDS)
@pytest.mark.parametrize("has_colours", [True, False], ids=["colours", "no colours"])
def test_texts_have_contrast_in_vs_code(
    page: Page, month: Practice, scheme: str, has_colours: bool
) -> None:
    page.set_content(VS_CODE.format(scheme=scheme, ground=GROUNDS[scheme]))
    if has_colours:
        ink = {"light": "#3b3b3b", "dark": "#cccccc"}[scheme]
        colours = f"--vscode-foreground: {ink}; --vscode-editor-background: {GROUNDS[scheme]}"
        page.evaluate("colours => { document.body.style.cssText = colours; }", colours)
    panel = month.workspace.panels.funding(size=4)
    given = {"script": panel._esm, "style": panel._css, "frame": literal(panel.frame())}
    page.evaluate(SHOW.replace(SHADOW, "document.querySelector('#host')"), given)
    shown = page.locator(".treasury-panel")
    assert shown.locator("tbody tr").count() == 4
    assert shown.evaluate(CONTRAST) == []


def test_columns_keep_a_gap_if_the_page_resets_the_padding(page: Page, month: Practice) -> None:
    workspace = month.workspace
    for result in (workspace.reconcile("2026-10"), workspace.fees("2026-10")):
        page.set_content(PAGE.format(scheme="light", ground="#fff", table=result._repr_html_()))
        assert page.evaluate(GAP) > 10


@pytest.mark.parametrize("width", [700, 1050, 1280])
def test_no_date_of_an_item_and_no_caption_is_broken(
    page: Page, month: Practice, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 1000})
    table = month.workspace.reconcile("2026-10")._repr_html_()
    show(page, "light", month.workspace.panels.close("2026-10"), table)
    number, broken = page.evaluate(BROKEN)
    assert number > 10
    assert broken == []


def test_the_rows_of_lines_are_one_text_line_high(page: Page, month: Practice) -> None:
    table = month.workspace.reconcile("2026-10").lines.head(8)._repr_html_()
    page.set_content(PAGE.format(scheme="light", ground="#fff", table=table))
    heights = page.evaluate("() => [...document.querySelectorAll('tr')].map((r) => r.clientHeight)")
    assert len(heights) == 9
    assert max(heights) < 1.5 * min(heights)


def test_the_focus_moves_to_a_message_in_a_shadow_tree(page: Page, month: Practice) -> None:
    panel = month.workspace.panels.funding(size=4)
    show(page, "light", panel)
    button(page.locator(".treasury-panel"), "Sync").focus()
    panel.press("download")
    frame = literal(panel.frame()) | {"focus": "message"}
    assert frame["message"]["title"].startswith("Downloaded")
    page.evaluate(DRAW, {"number": 2, "frame": frame})
    assert page.evaluate(FOCUSED) == "message"
