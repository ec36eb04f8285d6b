"""The panels that look and match, in JupyterLab: the rules that only hold in a real browser."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import pytest
from conftest import USER, secrets_of_practice
from panel_hostile import HOSTILE, hostile
from panel_lab import Desk, Notebook
from panel_month import a_month
from panel_practice import Practice
from playwright.sync_api import Locator, expect

from treasury.cli.practice import prepare
from treasury.money import format_amount

pytestmark = pytest.mark.browser

expect.set_options(timeout=60_000)
PICTURES = os.environ.get("TREASURY_PICTURES")
"""A folder for pictures of each panel, to be looked at."""


@pytest.fixture
def month(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Practice]:
    for name, secret in secrets_of_practice().items():
        monkeypatch.setenv(name, secret)
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    monkeypatch.setenv("TREASURY_USER", USER)
    with a_month(tmp_path / "workspace") as made:
        yield made


@contextmanager
def shown(desk: Desk, folder: Path, call: str, name: str) -> Iterator[Notebook]:
    """A notebook with one panel on screen."""
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


def picture(desk: Desk, notebook: Notebook, name: str) -> None:
    """Pictures in light, dark and on a phone's width, where somebody asked for them."""
    if PICTURES is None:
        return
    folder = Path(PICTURES)
    desk.page.set_viewport_size({"width": 1280, "height": 2600})
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        desk.theme(theme)
        notebook.panel.screenshot(path=folder / f"{name}-{theme.split()[1].lower()}.png")
    desk.theme("JupyterLab Light")
    desk.narrow()
    desk.page.set_viewport_size({"width": 400, "height": 5200})
    notebook.panel.screenshot(path=folder / f"{name}-400.png")
    desk.page.set_viewport_size({"width": 1280, "height": 1000})


def test_a_match_is_accepted_in_two_steps_whatever_is_clicked(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    with shown(desk, month.workspace.folder, "matches", request.node.name) as notebook:
        panel = notebook.panel
        panel.locator(".tp-choice input").first.check()
        button(panel, "Accept").dblclick()
        expect(button(panel, "Confirm match")).to_be_visible()
        assert month.journaled("match.") == []
        sentence = panel.locator(".tp-sentence").inner_text()
        picture(desk, notebook, "matches")
        button(panel, "Confirm match").evaluate(
            "button => { for (let n = 0; n < 5; n++) button.click(); }"
        )
        expect(panel.get_by_role("status")).to_contain_text("Accepted 1 line")
        (entry,) = month.journaled("match.accept")
        amount = Decimal(entry.body["facts"]["line"]["amount"])
        assert format_amount(amount, "EUR") in sentence
        notebook.run()
        expect(button(panel, "Decided (1)")).to_be_visible()
        assert len(month.journaled("match.")) == 1


def test_candidates_are_compared_and_a_missing_reason_stands_beside_its_field(
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
        picture(desk, notebook, "candidates")
        assert month.journaled("match.") == []


def test_a_trace_is_read_and_its_text_is_what_copy_gives(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    with shown(desk, month.workspace.folder, "exceptions", request.node.name) as notebook:
        panel = notebook.panel
        picture(desk, notebook, "exceptions")
        panel.locator(".tp-choice input").first.check()
        button(panel, "Trace").click()
        letter = panel.get_by_role("button", name="Copy Text for the provider")
        expect(letter).to_be_visible()
        item = month.workspace.reconcile("2026-10").differences.to_pylist()[0]
        text = month.workspace.trace(item["request_id"]).provider_text()
        assert letter.get_attribute("data-copy") == text.rstrip("\n")
        picture(desk, notebook, "trace")
        button(panel, "Close").click()
        expect(letter).to_have_count(0)


def test_a_transfer_is_proposed_with_errors_beside_its_fields(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    with shown(desk, month.workspace.folder, "transfers", request.node.name) as notebook:
        panel = notebook.panel
        picture(desk, notebook, "transfers")
        button(panel, "New crypto transfer").click()
        panel.get_by_label("Amount", exact=True).fill("-5")
        button(panel, "Check").click()
        expect(panel.get_by_label("Amount")).to_have_attribute("aria-invalid", "true")
        expect(panel.get_by_role("alert")).to_contain_text("Nothing was proposed")
        picture(desk, notebook, "transfer-form")
        assert month.journaled("action.") == []


def test_a_sync_says_what_it_brought_and_a_key_deletes_no_cell(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    with shown(desk, month.workspace.folder, "sync", request.node.name) as notebook:
        panel = notebook.panel
        picture(desk, notebook, "sync")
        cells = notebook.cells.count()
        button(panel, "Sync").first.focus()
        desk.page.keyboard.type("dd")
        assert notebook.cells.count() == cells
        desk.page.keyboard.press("Enter")
        expect(panel.get_by_role("status")).to_contain_text("Synced")


@pytest.mark.parametrize("call", ["matches", "transfers", "exceptions", "sync"])
def test_hostile_text_in_every_field_stays_text(
    desk: Desk, month: Practice, tmp_path: Path, request: pytest.FixtureRequest, call: str
) -> None:
    with hostile(month.served) as served:
        there = prepare(tmp_path / "hostile", month.company, served)
        there.sync()
        files = [Path(one) for one in (month.workspace.folder / "bank").glob("*.xml")]
        for file in files:
            text = file.read_text("utf-8")
            marked = HOSTILE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
            file.write_text(text.replace("</Nm>", f"{marked[:60]}</Nm>"), "utf-8")
        there.statements.add(sorted(files))
        name = re.sub(r"\W", "_", request.node.name)
        with shown(desk, there.folder, call, name) as notebook:
            assert notebook.panel.locator("img, script").count() == 0
            assert desk.page.evaluate("() => window.harmed") is None
            if call in {"matches", "transfers"}:
                expect(notebook.panel).to_contain_text("<img src=x onerror=")
            saved = notebook.saved()
            assert "onerror" not in saved
        there.close_clients()
