"""The funding panel in JupyterLab, in a real browser: the rules that only apply there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from pain_samples import payment, report
from panel_lab import Desk, Notebook
from panel_practice import Practice
from panel_rules import copied
from playwright.sync_api import Locator, expect

from treasury.actions.payment_orders import NAMESPACE
from treasury.journal import Actor

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]

HASH = "0x" + "ab" * 32


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
    """Return the first row in a state."""
    box = panel.page.get_by_role("checkbox", name=re.compile(f", {state}$"))
    return panel.get_by_role("row").filter(has=box).first


def test_a_copy_button_gives_the_text_in_the_journal(panel: Locator, paying: Practice) -> None:
    pay = row(panel, "PAY")
    got = {
        what: copied(pay.get_by_role("button", name=f"Copy {what}", exact=True))
        for what in ("reference", "beneficiary", "IBAN", "BIC", "amount")
    }
    pay.get_by_role("checkbox").check()
    panel.get_by_label("Reason").fill("released at the bank")
    button(panel, "Mark as sent").click()
    expect(panel.get_by_role("status")).to_contain_text("Marked as sent by ana.lyst: 1")
    expect(panel.get_by_label("Reason")).to_have_value("")
    other = row(panel, "RETURNED").get_by_role("checkbox")
    panel.get_by_label("Reason").fill("typed before the choice")
    other.check()
    expect(panel.get_by_label("Reason")).to_have_value("typed before the choice")
    other.uncheck()
    expect(panel.get_by_label("Reason")).to_have_value("")
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
    account = field.get_by_role("option").filter(has_text="BE45539951876689")
    expect(account).to_have_text("BE45539951876689, EUR 251,686.06 on 31 Oct 2026")
    field.select_option("BE45539951876689")
    button(panel, "Payment file").dblclick()
    step = panel.get_by_role("region", name="Make a payment file of 1 payment?")
    expect(button(step, "Confirm")).to_be_visible()
    with desk.page.expect_download() as saving:
        button(step, "Confirm").click()
    saving.value.save_as(tmp_path / "payments.xml")
    root: Any = etree.parse(tmp_path / "payments.xml").getroot()
    assert root.findtext(f".//{{{NAMESPACE}}}NbOfTxs") == "1"
    expect(panel.get_by_role("status")).to_contain_text("upload it at the bank once")


def test_the_banks_answer_is_shown_and_a_close_match_accepted_in_two_steps(
    panel: Locator, paying: Practice, tmp_path: Path
) -> None:
    desk = paying.workspace
    request = next(r for r in desk.awaiting_funds().arrow.to_pylist() if r["state"] == "PAY")
    body = {
        "requests": [request["request"]],
        "references": [request["reference"]],
        "message_id": "PAY-ABC",
        "execution": "2026-11-02",
        "payees": [("Ramp Operator BV", request["to_account"])],
    }
    paying.act_at("2026-10-29T16:00:00Z")
    desk.journal.append(
        "payment_file.made", "payments-1.xml", body, actor=Actor("bert", "environment")
    )

    def answer(number: int, *said: str, **changed: str) -> None:
        text = changed.pop("text", "")
        path = tmp_path / f"answer-{number}.xml"
        told = payment(request["reference"], *said, text=text, iban=request["to_account"])
        path.write_text(report(told, message_id=f"BANK-{number}", **changed))
        desk.statements.add(path)
        button(panel, "Sync").click()
        expect(panel.get_by_role("status")).to_contain_text("Synced")

    answer(1, "RVMC", text="<b>Ramp Operator B.V.</b>", at="2026-10-30T08:00:00Z")
    waiting = row(panel, "WITH THE BANK")
    expect(waiting).to_contain_text("The bank knows the payee as <b>Ramp Operator B.V.</b>")
    expect(waiting.get_by_role("button", name="Copy IBAN")).to_have_count(0)
    waiting.get_by_role("checkbox").check()
    button(panel, "Accept payee").click()
    expect(panel.get_by_role("alert")).to_contain_text("reason: is missing")
    panel.get_by_label("Reason").fill("called them")
    button(panel, "Accept payee").click()
    step = panel.get_by_role("region", name=f"Accept the payee of {request['reference']}?")
    expect(step).to_contain_text("Ramp Operator BV")
    expect(step).to_contain_text("bears the loss if it went to the wrong payee")
    button(step, "Confirm name").click()
    expect(row(panel, "WITH THE BANK")).to_contain_text("Wait for the debit")
    (entry,) = paying.journaled("payment_file.payee_accepted")
    assert entry.body["known_as"] == "<b>Ramp Operator B.V.</b>"

    answer(2, "RJCT", "AC04", at="2026-10-30T09:00:00Z")
    rejected = row(panel, "REJECTED")
    expect(rejected).to_contain_text("AC04 account closed")
    expect(rejected.get_by_role("button", name="Copy IBAN")).to_have_count(1)


def test_the_result_of_a_file_shows_in_both_panels_and_on_the_first_screen(
    desk: Desk, panel: Locator, paying: Practice, tmp_path: Path
) -> None:
    workspace = paying.workspace
    waiting = [r for r in workspace.awaiting_funds().arrow.to_pylist() if r["state"] == "PAY"]
    said = {"IN FILE": (), "REJECTED": ("RJCT", "AC04"), "CHECK BANK": ("RJCT", "AM05")}
    paying.act_at("2026-10-29T16:00:00Z")
    for request, (state, codes) in zip(waiting, said.items(), strict=False):
        message = f"PAY-{state}"
        body = {
            "requests": [request["request"]],
            "references": [request["reference"]],
            "message_id": message,
            "execution": "2026-11-02",
        }
        maker = Actor("bert", "environment")
        workspace.journal.append("payment_file.made", f"{state}.xml", body, actor=maker)
        if codes:
            path = tmp_path / f"{state}.xml"
            told = payment(request["reference"], *codes)
            path.write_text(report(told, original=message, at="2026-10-30T09:00:00Z"))
            workspace.statements.add(path)
    references = {state: r["reference"] for r, state in zip(waiting, said, strict=False)}
    assert len(references) == len(said)
    button(panel, "Sync").click()
    for state, reference in references.items():
        expect(row(panel, state).filter(has_text=reference)).to_be_visible()

    start = f"import treasury\nt = treasury.open({str(workspace.folder)!r})"
    screen = "t.status()"
    notebook = desk.open("states", start, screen, "t.panels.close('2026-10')").run()
    close = notebook.panel
    expect(close.get_by_role("table")).to_be_visible()
    search = close.get_by_label("Search")
    for state, reference in references.items():
        search.fill(reference)
        search.press("Enter")
        shown = close.get_by_role("row").filter(has_text=reference).first
        expect(shown).to_contain_text(state)
    printed = notebook.view.locator(".jp-OutputArea-output").first
    for words in ("IN FILE", "REJECTED"):
        expect(printed).to_contain_text(words)
    notebook.close()
