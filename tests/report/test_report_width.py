"""The report in a real browser: no table is too wide for a screen, a phone or paper."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest
from decide_desk import copy_of
from playwright.sync_api import Browser, sync_playwright
from report_samples import (
    PROVIDER,
    ZONE,
    account,
    fee,
    line,
    reconciliation,
    transit,
    virtual,
    waiting,
)
from signed import carry_all, close_month

from treasury.close.closing import Rolled, closing_of
from treasury.close.ledger.provided_ledger import LedgerFile
from treasury.report.pack import pdf_printing
from treasury.report.report_page import render_html
from treasury.workspace import Workspace

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(pdf_printing.browser() is None, reason="no Chromium installed"),
]

LARGE = Decimal("98765432.10")
COINS = Decimal("98765432.123456")
WORD = "INVOICE/" * 30
PLACES = {"screen": (1280, "screen"), "phone": (390, "screen"), "paper": (1032, "print")}
"""The width in pixels and the medium of each place; A4 landscape within its margins has 1032."""
WIDE = """(() => {
    const isClipped = one =>
        one !== null && (getComputedStyle(one).clipPath !== 'none' || isClipped(one.parentElement));
    return [...document.querySelectorAll('body *')]
        .filter(one => one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1)
        .filter(one => !one.closest('svg') && !one.querySelector('svg') && !isClipped(one))
        .map(one => `${one.tagName} ${one.className}: ${one.innerText.slice(0, 60)}`);
})()"""
"""The elements whose content is wider than they are, without hidden ones and figures."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu"]
        found = playwright.chromium.launch(executable_path=pdf_printing.browser(), args=flags)
        yield found
        found.close()


def page() -> str:
    """Return a report with large amounts, long words and long findings."""
    r = reconciliation(
        statements=[account(opening_balance=LARGE), account(account=PROVIDER, name=WORD)],
        lines=[
            line("s", outcome="suggested", amount=LARGE, remittance=WORD, counterparty_name=WORD),
            line("c", outcome="conflict", reason=f"different codes in one text: {WORD}"),
        ],
        awaiting_funds=[
            waiting("SENT WRONG", send=LARGE, next_step="Short by EUR 12.00; ask the provider"),
            waiting("SEND CRYPTO", send=COINS, currency="USDC", to="ETHEREUM …c3ea"),
        ],
        in_transit=[transit(amount=COINS, currency="USDC", where_now="bank or service: unseen")],
        virtual_accounts=[virtual("NOT PROVABLE: no provider report", amount=LARGE)],
        fee_requests=[
            fee(fiat_gross=LARGE, fiat_net=LARGE, crypto=COINS, fee=Decimal("790123.46")),
            fee(request_id="r2", exchange_rate=Decimal("0.9240")),
        ],
    )
    ledger = LedgerFile(
        content="account,currency,balance\nBE11,EUR,123456789.12\n", file_name="l.csv", sha256=""
    )
    return render_html(closing_of(r, ZONE, Rolled(), ledger=ledger))


@pytest.fixture(scope="module")
def october(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the practice month's report."""
    path = tmp_path_factory.mktemp("october") / "report.html"
    path.write_text(render_html(month_end.periods.month("2026-10")), "utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def second_month(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of a report with a closed month before it, and with acts of people."""
    folder = tmp_path_factory.mktemp("second_month")
    desk = copy_of(month_end, folder / "desk")
    close_month(desk, "2026-09")
    carry_all(desk, "2026-10")
    path = folder / "report.html"
    path.write_text(render_html(desk.periods.month("2026-10")), "utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [1440, 1280, 1000, 400])
def test_nothing_of_the_practice_month_is_cut_off(
    browser: Browser, second_month: str, width: int
) -> None:
    shown = browser.new_page(viewport={"width": width, "height": 800})
    shown.goto(second_month)
    for section in ("controls", "month-on-month"):
        assert shown.locator(f"#{section} tbody tr").count() > 1
    assert shown.evaluate(WIDE) == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.close()


def test_the_front_of_the_practice_month_has_at_most_twelve_pages(
    browser: Browser, october: str, tmp_path: Path
) -> None:
    shown = browser.new_page()
    shown.goto(october)
    pages = {}
    for name, hidden in (("all", "none"), ("front", "#appendix, #appendix ~ section")):
        shown.add_style_tag(content=f"{hidden} {{ display: none }}")
        shown.pdf(path=tmp_path / f"{name}.pdf", prefer_css_page_size=True)
        pages[name] = (tmp_path / f"{name}.pdf").read_bytes().count(b"/Type /Page\n")
    assert 3 < pages["front"] <= 12 < pages["all"]
    shown.close()


@pytest.mark.parametrize("place", PLACES)
def test_no_table_is_cut_off(browser: Browser, tmp_path: Path, place: str) -> None:
    (tmp_path / "report.html").write_text(page(), "utf-8")
    width, media = PLACES[place]
    shown = browser.new_page(viewport={"width": width, "height": 800})
    shown.emulate_media(media="print" if media == "print" else "screen")
    shown.goto((tmp_path / "report.html").as_uri())
    assert shown.evaluate(WIDE) == []
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    shown.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screens_need_no_horizontal_scroll_in_a_notebook(
    browser: Browser, month_end: Workspace, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    screens = [month_end.status(), month_end.status("2026-10")]
    html = "".join(screen._repr_html_() for screen in screens)
    style = "<meta charset='utf-8'><meta name='color-scheme' content='light dark'>"
    (tmp_path / "screens.html").write_text(f"<!doctype html>{style}{html}", "utf-8")
    shown = browser.new_page(viewport={"width": 1000, "height": 800}, color_scheme=scheme)
    shown.goto((tmp_path / "screens.html").as_uri())
    tiles = shown.locator("details")
    assert tiles.count() == sum(len(screen.rows) for screen in screens)
    assert not tiles.first.locator("table").is_visible()
    tiles.first.locator("summary").click()
    rows = tiles.first.locator("tr")
    assert rows.count() == 1 + len(screens[0].rows[0].items)
    assert rows.first.is_visible()
    shown.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert shown.evaluate("document.documentElement.scrollWidth") <= 1000
    wide = "[...document.querySelectorAll('div')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    assert shown.evaluate(f"{wide}.length") == 0
    colours = "one => [getComputedStyle(one).color, getComputedStyle(document.body).color]"
    own, page_colour = shown.locator("td").first.evaluate(colours)
    assert own == page_colour
    shown.close()
