"""The funding panel in JupyterLab, in a real browser: the rules that only hold there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from lxml import etree
from panel_hostile import HOSTILE, hostile
from panel_lab import Desk, Notebook
from panel_practice import Practice
from playwright.sync_api import Locator, expect

from treasury.actions.pain import NAMESPACE
from treasury.cli.practice import prepare

pytestmark = pytest.mark.browser

HASH = "0x" + "ab" * 32
expect.set_options(timeout=30_000)


def opened(desk: Desk, folder: Path, name: str, panel: str = "funding") -> Notebook:
    start = f"import treasury\nt = treasury.open({str(folder)!r})"
    notebook = desk.open(name, start, f"t.panels.{panel}()").run()
    expect(notebook.panel.get_by_role("table")).to_be_visible()
    return notebook


@pytest.fixture
def paying(practice: Practice) -> Practice:
    folder = practice.workspace.folder
    practice.workspace.statements.add(sorted((folder / "bank").glob("*.xml")))
    return practice


@pytest.fixture
def open_notebook(
    desk: Desk, paying: Practice, request: pytest.FixtureRequest
) -> Iterator[Notebook]:
    notebook = opened(desk, paying.workspace.folder, request.node.name)
    yield notebook
    notebook.close()


@pytest.fixture
def panel(open_notebook: Notebook) -> Locator:
    return open_notebook.panel


def button(panel: Locator, name: str) -> Locator:
    return panel.get_by_role("button", name=re.compile(f"^{name}"))


def row(panel: Locator, state: str) -> Locator:
    """The first row in a state."""
    box = panel.page.get_by_role("checkbox", name=re.compile(f", {state}$"))
    return panel.get_by_role("row").filter(has=box).first


def copied(panel: Locator, place: Locator, what: str) -> str:
    """What a Copy button leaves in the clipboard."""
    place.get_by_role("button", name=f"Copy {what}", exact=True).click()
    expect(place.get_by_text("Copied")).to_have_count(1)
    text = panel.page.evaluate("() => navigator.clipboard.readText()")
    expect(place.get_by_text("Copied")).to_have_count(0)
    return str(text)


def test_what_a_copy_button_yields_is_what_the_journal_has(
    panel: Locator, paying: Practice
) -> None:
    panel.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    pay = row(panel, "PAY")
    got = {
        what: copied(panel, pay, what)
        for what in ("reference", "beneficiary", "IBAN", "BIC", "amount")
    }
    pay.get_by_role("checkbox").check()
    panel.get_by_label("Reason").fill("released at the bank")
    button(panel, "Mark as sent").click()
    expect(panel.get_by_role("status")).to_contain_text("Marked as sent by ana.lyst: 1")
    (entry,) = paying.journaled("request.marked_sent")
    bank = paying.request(entry.subject).deposit_bank_account
    assert got["reference"] == entry.body["facts"]["payment_reference"]
    assert got["amount"] == entry.body["facts"]["fiat_amount"]
    assert (got["beneficiary"], got["IBAN"], got["BIC"]) == (bank.beneficiary, bank.iban, bank.bic)


def test_the_payment_file_is_saved_by_the_second_step(
    desk: Desk, panel: Locator, tmp_path: Path
) -> None:
    row(panel, "PAY").get_by_role("checkbox").check()
    button(panel, "Payment file").click()
    expect(panel.get_by_role("alert")).to_contain_text("pay_from: is missing")
    field = panel.get_by_label("Pay from")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("6689")
    button(panel, "Payment file").dblclick()
    step = panel.get_by_role("region", name="Make a payment file of 1 payment?")
    expect(button(step, "Confirm")).to_be_visible()
    with desk.page.expect_download() as saving:
        button(step, "Confirm").click()
    saving.value.save_as(tmp_path / "payments.xml")
    root: Any = etree.parse(tmp_path / "payments.xml").getroot()
    assert root.findtext(f".//{{{NAMESPACE}}}NbOfTxs") == "1"
    expect(panel.get_by_role("status")).to_contain_text("upload it at the bank once")


def test_five_clicks_in_one_turn_submit_one_hash(panel: Locator, paying: Practice) -> None:
    row(panel, "SEND CRYPTO").get_by_role("checkbox").check()
    panel.get_by_label("Transaction hash").fill(HASH)
    button(panel, "Submit hash").click()
    confirm = button(panel, "Confirm and submit")
    expect(confirm).to_be_visible()
    asked = panel.locator(".tp-sentence").inner_text()
    confirm.evaluate("button => { for (let n = 0; n < 5; n++) button.click(); }")
    expect(panel.get_by_role("status")).to_contain_text("Submitted the hash of")
    (entry,) = paying.journaled("action.proposed")
    assert entry.body["text"] == asked
    assert len(paying.journaled("action.sending")) == 1


def test_the_keyboard_reaches_everything_and_dd_deletes_no_cell(
    open_notebook: Notebook, panel: Locator
) -> None:
    cells = open_notebook.cells.count()
    places = panel.locator("button, input, [tabindex]")
    assert places.count() > 20
    for number in range(places.count()):
        places.nth(number).focus()
        panel.page.keyboard.press("d")
        panel.page.keyboard.press("d")
    expect(open_notebook.cells).to_have_count(cells)


def test_the_saved_notebook_holds_no_account_and_no_reference(
    open_notebook: Notebook, panel: Locator
) -> None:
    expect(panel).to_contain_text("LT353250012345678901")
    saved = open_notebook.saved()
    assert "application/vnd.jupyter.widget-state+json" in saved
    told = ("LT353250012345678901", "PAY-2026", "Ramp Operator")
    assert [text for text in told if text in saved] == []


def test_no_request_leaves_the_host(desk: Desk, panel: Locator) -> None:
    expect(panel).to_be_visible()
    away = [url for url in desk.requests if not url.startswith((desk.lab.url, "data:", "blob:"))]
    assert away == []


def test_at_400_pixels_nothing_is_cut_off(desk: Desk, panel: Locator) -> None:
    desk.page.set_viewport_size({"width": 500, "height": 1000})
    try:
        desk.narrow()
        box = panel.bounding_box()
        assert box is not None
        assert box["width"] < 400
        assert panel.evaluate("one => one.scrollWidth <= one.clientWidth") is True
        cells = panel.locator("tbody td:not(.tp-choice)")
        for number in range(cells.count()):
            cell = cells.nth(number).bounding_box()
            assert cell is None or cell["width"] > 100
    finally:
        desk.page.set_viewport_size({"width": 1280, "height": 1000})


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
@pytest.mark.parametrize("name", ["approvals", "funding"])
def test_axe_finds_nothing_in_either_theme(
    desk: Desk, paying: Practice, request: pytest.FixtureRequest, name: str, theme: str
) -> None:
    key = re.sub(r"\W", "_", request.node.name)
    notebook = opened(desk, paying.workspace.folder, key, name)
    desk.theme(theme)
    try:
        panel = notebook.panel
        assert violations(panel) == []
        boxes = panel.get_by_role("checkbox", name=re.compile(", PAY$|crypto"))
        boxes.first.check()
        if name == "funding":
            panel.locator("[data-press=export]").click()
            expect(panel.get_by_role("alert")).to_be_visible()
            assert violations(panel) == []
            panel.get_by_label("Pay from").fill("6689")
            panel.locator("[data-press=export]").click()
        else:
            panel.locator("[data-press=approve]").click()
        expect(button(panel, "Confirm")).to_be_visible()
        assert violations(panel) == []
    finally:
        desk.theme("JupyterLab Light")
        notebook.close()


def violations(panel: Locator) -> list[str]:
    """What axe-core finds wrong in the panel: its rule and the element."""
    panel.evaluate("one => one.setAttribute('data-axe', '')")
    found = Axe().run(panel.page, context=["[data-axe]"]).response["violations"]
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]


def test_hostile_text_in_every_field_is_literal_and_cannot_be_copied_or_paid(
    desk: Desk, paying: Practice, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with hostile(paying.served) as served:
        workspace = prepare(tmp_path / "attacked", paying.company, served)
        workspace.sync()
        workspace.close_clients()
        notebook = opened(desk, workspace.folder, request.node.name)
        try:
            panel = notebook.panel
            expect(panel).to_contain_text(HOSTILE)
            assert panel.locator("img, script, a, mjx-container").count() == 0
            assert desk.page.evaluate("() => window.harmed") is None
        finally:
            notebook.close()
