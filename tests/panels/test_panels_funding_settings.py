"""The settings of payer, payee and bank appear in the panel's payment file."""

from __future__ import annotations

import re
from typing import Any

import pytest
from lxml import etree
from panel_practice import Practice, said

from treasury.actions import payment_orders
from treasury.actions.payment_orders import NAMESPACE
from treasury.core.settings import FILE_NAME
from treasury.panels import FundingPanel
from treasury.panels.frames.blocks import Frame
from treasury.workspace import Workspace

PAYEE = "LT353250012345678901"
SPACE = {"p": NAMESPACE}
ADDRESS = 'town = "Antwerp"\ncountry = "BE"'
OF_BANK = 'batch_booking = true\nanswers = "rejections"'


@pytest.fixture
def paying(month: Practice) -> Practice:
    """Return a practice desk with statements that show which requests are not paid yet."""
    return month


def with_settings(practice: Practice, **lines: str) -> FundingPanel:
    """Add lines to the settings of the company, of its account and at the end; return the panel."""
    path = practice.workspace.folder / FILE_NAME
    text = path.read_text("utf-8")
    for pattern, name in (
        (r"(?m)^company = .*$", "company"),
        (r'(?m)^account = ".*6689"$', "account"),
    ):
        text, count = re.subn(pattern, lambda found: f"{found[0]}\n{lines.get(name, '')}", text)  # noqa: B023
        assert count == 1
    path.write_text(text + lines.get("end", ""), "utf-8")
    return Workspace(path.parent).panels.funding(size=50)


def export(panel: FundingPanel) -> Frame:
    """Ask for a payment file of the first payable row, and return the screen."""
    request = next(row["request"] for row in panel.rows.arrow.to_pylist() if row["state"] == "PAY")
    panel.press("export", chosen=(request,), pay_from="6689")
    assert panel.wait()
    return panel.frame()


@pytest.mark.acceptance
def test_the_file_has_the_addresses_and_the_booking_that_the_settings_state(
    paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    payee = f'\n[payees.{PAYEE}]\ntown = "Vilnius"\ncountry = "LT"\n'
    panel = with_settings(paying, company=ADDRESS, account=OF_BANK, end=payee)
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(panel, "send", lambda content, *_: sent.append(content))
    step = export(panel).step
    assert step is not None
    assert any("Vilnius LT" in text for text in step.items)
    panel.press("confirm", step=step.key)
    assert panel.wait()
    (file,) = [content["file"] for content in sent if "file" in content]
    root = etree.fromstring(file["text"].encode())

    def texts(path: str) -> list[str | None]:
        return [found.text for found in root.findall(path, SPACE)]

    assert texts(".//p:Dbtr/p:PstlAdr/*") == ["Antwerp", "BE"]
    assert texts(".//p:Cdtr/p:PstlAdr/*") == ["Vilnius", "LT"]
    assert texts(".//p:BtchBookg") == ["true"]
    (entry,) = paying.journaled("payment_file.made")
    assert entry.body["answers"] == "rejections"


@pytest.mark.acceptance
def test_a_payment_outside_the_eea_needs_our_address_and_none_is_invented(
    paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = with_settings(paying)
    step = export(panel).step
    assert step is not None
    panel.press("back", step=step.key)
    monkeypatch.setattr(payment_orders, "EEA", frozenset({"BE"}))
    frame = export(panel)
    assert frame.step is None
    assert "outside the EEA, and the payer's address is missing" in said(frame)
    assert paying.journaled("payment_file.made") == []


def test_a_company_with_umlauts_is_confirmed_and_written_in_the_letters_of_sepa(
    paying: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    payee = f'\n[payees.{PAYEE}]\ntown = "Šiauliai"\ncountry = "LT"\n'
    holder = 'holder = "Müller & Söhne GmbH"'
    panel = with_settings(paying, account=holder, end=payee)
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(panel, "send", lambda content, *_: sent.append(content))
    step = export(panel).step
    assert step is not None
    assert "Muller + Sohne GmbH" in str(step.facts)
    assert any("Siauliai LT" in text for text in step.items)
    panel.press("confirm", step=step.key)
    assert panel.wait()
    (file,) = [content["file"] for content in sent if "file" in content]
    root = etree.fromstring(file["text"].encode())
    assert [one.text for one in root.findall(".//p:Dbtr/p:Nm", SPACE)] == ["Muller + Sohne GmbH"]
    assert [one.text for one in root.findall(".//p:Cdtr//p:TwnNm", SPACE)] == ["Siauliai"]
