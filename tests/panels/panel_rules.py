"""Helpers for the tests of the panels' rules: six panels in a notebook, and each kind of decision.

A `Way` is a decision that a panel offers, from the choice to the button that confirms. Every rule
about decisions applies to every way, so its test is written once and run over all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from panel_lab import Desk, Notebook
from panel_practice import ON_RAMP, Practice
from playwright.sync_api import Locator, expect
from signed import carry_all

from treasury.core.money import format_amount
from treasury.panels.frames.query_pages import SIZE

PANELS = ("approvals", "funding", "matches", "close", "transfers", "sync")
SENDER = "f5520527-134b-49e6-ac6e-833cf327cb46"
RECEIVER = "aaaa0793-25d6-433b-ae47-6f2de3994601"
MAKER = "maker.one"
CHECKER = "jonas"
HASH = "0x" + "ab" * 32


def button(place: Locator, name: str) -> Locator:
    """Return the button with a label that begins with this name."""
    return place.get_by_role("button", name=re.compile(f"^{re.escape(name)}"))


def outcome(panel: Locator) -> Locator:
    """Return the place where a panel shows its result or error."""
    return panel.locator(".tp-status, [role=alert]")


def copied(copy: Locator) -> str:
    """Return the clipboard after a Copy button has confirmed the copy.

    The button confirms for a moment only, which a slow test would miss, so the page watches it.
    """
    copy.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy.evaluate(WATCH)
    copy.click()
    expect(copy).to_have_attribute("data-said", "Copied")
    return str(copy.page.evaluate("() => navigator.clipboard.readText()"))


WATCH = """one => {
    const said = () => {
        if (one.textContent.startsWith("Copied")) one.dataset.said = one.textContent;
    };
    new MutationObserver(said).observe(one, {childList: true, characterData: true, subtree: true});
}"""


def start_of(folder: Path) -> str:
    """Return the cell that opens a workspace."""
    return f"import treasury\nt = treasury.open({str(folder)!r})"


class Gallery:
    """Six panels in one notebook, each in a separate cell, with `size` rows per page."""

    def __init__(self, desk: Desk, folder: Path, name: str, *, size: int) -> None:
        self.desk = desk
        calls = [f"t.panels.{panel}(size={size})" for panel in PANELS]
        self.notebook = desk.open(name, start_of(folder), *calls)
        self.run()

    def run(self) -> None:
        """Run every cell, and wait until each panel is shown and idle."""
        self.notebook.show().run()
        self.settled()

    def settled(self) -> None:
        """Wait until each panel is shown and idle."""
        expect(self.notebook.panel).to_have_count(len(PANELS))
        for name in PANELS:
            expect(button(self.panel(name), "Sync").first).to_be_enabled()

    def panel(self, name: str) -> Locator:
        """Return the panel with that title."""
        title = self.desk.page.get_by_role("heading", name=name.title(), exact=True, level=2)
        return self.notebook.panel.filter(has=title)


@contextmanager
def one_panel(
    desk: Desk, folder: Path, name: str, call: str, *, size: int = SIZE
) -> Iterator[Notebook]:
    """Open a notebook with one panel on screen, `size` rows per page."""
    notebook = desk.open(name, start_of(folder), f"t.panels.{call}(size={size})")
    try:
        notebook.run()
        expect(button(notebook.panel, "Sync").first).to_be_visible()
        yield notebook
    finally:
        notebook.close()


def propose_transfers(practice: Practice, *amounts: str) -> list[str]:
    """Propose transfers of USDC as a colleague; return the actions' ids."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_USER", MAKER)
        return [
            practice.workspace.actions.propose(
                "crypto_transfer.create", sender_account_id=SENDER, receiver_account_id=RECEIVER,
                chain="BASE", asset="USDC", amount=amount,
            ).id
            for amount in amounts
        ]  # fmt: skip


def ready_transfers(practice: Practice, *amounts: str) -> None:
    """Propose transfers, and approve them as a second person."""
    ids = propose_transfers(practice, *amounts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_USER", CHECKER)
        practice.workspace.actions.approve(*ids)


def writes(practice: Practice) -> list[str]:
    """Return the paths of the writes that reached the services, without token requests."""
    return [
        path
        for method, path, _ in practice.served.requests
        if method != "GET" and "token" not in path
    ]


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """A decision: its buttons, and its effects.

    `sent` is the number of writes that reach the service, `entry` the kind of the journal entry
    that holds the decision. `told` returns the texts of that entry that a person must have read.
    """

    panel: str
    choose: Callable[[Locator], None]
    verb: str
    confirm: str
    done: str
    sent: int
    entry: str
    told: Callable[[Any, Practice], tuple[str, ...]]
    prepare: Callable[[Practice], object] = lambda _: None

    def begin(self, panel: Locator) -> Locator:
        """Choose the rows and press the first button; return the section to confirm."""
        self.choose(panel)
        button(panel, self.verb).click()
        step = panel.locator(".tp-step")
        expect(button(step, self.confirm)).to_be_visible()
        return step

    def finish(self, panel: Locator) -> None:
        """Press the button that confirms, and wait until the decision is shown as done."""
        button(panel.locator(".tp-step"), self.confirm).click()
        expect(panel.get_by_role("status")).to_contain_text(self.done)


def _choose_request(panel: Locator) -> None:
    panel.get_by_role("checkbox", name=ON_RAMP).check()


def _choose_off_ramp(panel: Locator) -> None:
    panel.get_by_role("checkbox", name=re.compile(", SEND CRYPTO$")).first.check()
    panel.get_by_label("Transaction hash").fill(HASH)


def _choose_line(panel: Locator) -> None:
    panel.locator(".tp-choice input").first.check()


def _choose_action(panel: Locator) -> None:
    actions = button(panel, "Actions (")
    if actions.get_attribute("aria-pressed") != "true":
        actions.click()
    box = panel.get_by_role("checkbox", name=re.compile("crypto_transfer.create")).first
    box.check()


def _fill_transfer(panel: Locator) -> None:
    if not panel.get_by_label("Sender account id").is_visible():
        button(panel, "New crypto transfer").click()
    given = {"Sender account id": SENDER, "Receiver account id": RECEIVER, "Chain": "BASE",
             "Asset": "USDC", "Amount": "12.50"}  # fmt: skip
    for name, value in given.items():
        panel.get_by_label(name, exact=True).fill(value)


def _sentence(entry: Any, _: Practice) -> tuple[str, ...]:
    return (entry.body["text"],)


def _line_facts(entry: Any, _: Practice) -> tuple[str, ...]:
    line = entry.body["facts"]["line"]
    amount = format_amount(Decimal(line["amount"]), line["currency"])
    return (amount, line["counterparty_account"], line["account"], line["booking_date"])


def _proposed(entry: Any, practice: Practice) -> tuple[str, ...]:
    (first,) = practice.workspace.journal.entries("action.proposed", entry.subject)
    return (first.body["text"],)


WAYS = {
    "approve": Way(
        panel="approvals", choose=_choose_request, verb="Approve", confirm="Confirm approval",
        done=f"Approved {ON_RAMP}", sent=1, entry="action.sending", told=_sentence,
    ),
    "carry_out": Way(
        panel="approvals", choose=_choose_action, verb="Carry out", confirm="Confirm and send",
        done="Carried out: 1 done", sent=1, entry="action.sending", told=_proposed,
        prepare=lambda practice: ready_transfers(practice, "100.00"),
    ),
    "submit_hash": Way(
        panel="funding", choose=_choose_off_ramp, verb="Submit hash", confirm="Confirm and submit",
        done="Submitted the hash of", sent=1, entry="action.proposed", told=_sentence,
    ),
    "accept": Way(
        panel="matches", choose=_choose_line, verb="Accept…", confirm="Confirm match",
        done="Accepted 1 line", sent=0, entry="match.accept", told=_line_facts,
    ),
    "propose": Way(
        panel="transfers", choose=_fill_transfer, verb="Check", confirm="Confirm proposal",
        done="nothing is sent yet", sent=0, entry="action.proposed", told=_sentence,
    ),
    "prepare_month": Way(
        panel="close", choose=lambda _: None, verb="Prepare", confirm="Confirm and prepare",
        done="Prepared October 2026", sent=0, entry="period.prepare", told=_sentence,
        prepare=lambda practice: carry_all(practice.workspace, "2026-10"),
    ),
}  # fmt: skip


def violations(panel: Locator) -> list[str]:
    """Return the errors that axe-core finds in the panel, each with its rule and its element."""
    panel.evaluate("one => one.setAttribute('data-axe', '')")
    found = Axe().run(panel.page, context=["[data-axe]"]).response["violations"]
    panel.evaluate("one => one.removeAttribute('data-axe')")
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]


# Contrast of each text with its background, by WCAG 2: reports values below 4.5 to 1.
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
        for (let at = one; at; at = at.parentElement ?? at.getRootNode().host) {
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
