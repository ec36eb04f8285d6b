from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import cache
from html.parser import HTMLParser
from typing import Any

import pytest
from report_samples import (
    HOSTILE,
    PROVIDER,
    SCHEMAS,
    VIRTUAL,
    ZONE,
    account,
    fee,
    line,
    reconciliation,
    transit,
    virtual,
    waiting,
)

from treasury.close.closing import closing_of
from treasury.month.reconciliation import Reconciliation
from treasury.report import open_lines
from treasury.report.excel import SHEETS
from treasury.report.grids import MOST_ROWS_SHOWN
from treasury.report.pictures import month_figures
from treasury.report.report_page import render_html
from treasury.report.sections import sections

OPEN_OUTCOMES = ("suggested", "conflict", "duplicate", "unreferenced", "returned", "ignored")
BROUGHT_BACK = "returned AC04: brings back the payment of 2026-10-14"
MAY_BE_BACK = "no reference; as much moved the other way on {}: it may have come back"
VOID = {"meta", "col", "img", "br"}
LOADING = {"src", "srcset", "data", "action", "poster", "background", "formaction"}


class Page(HTMLParser):
    """The elements and texts of a page; `open` has the elements that are not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page(r: Reconciliation) -> Page:
    return Page(render_html(closing_of(r, ZONE)))


@cache
def full_page() -> Page:
    """Return the page of the full month, rendered once for all tests."""
    return page(FULL)


FULL = reconciliation(
    statements=[
        account(closing_balance=Decimal("387949.74")),
        account(account=PROVIDER, source="provider_report", name="Provider",
                closing_balance=Decimal("387549.74")),
    ],
    lines=[
        line("a"),
        line("s", outcome="suggested", expectation_id="x1", reference="PAY-1",
             reason="damaged reference", runner_up_id="x2", margin=Decimal("0.1")),
        line("c", outcome="conflict", reason="status: CANCELLED", reference="PAY-2"),
        line("d", outcome="duplicate"),
        line("u", outcome="unreferenced", statement_account=PROVIDER, account=VIRTUAL),
        line("r", outcome="returned", reason=BROUGHT_BACK),
        line("i", outcome="ignored", reason="refunded in cash"),
        line("b", outcome="ignored", line_class="bank_charge", direction="DBIT"),
    ],
    earlier_lines=[line("old", outcome="unreferenced", booking_date=date(2026, 9, 2))],
    awaiting_funds=[waiting()],
    virtual_accounts=[virtual()],
    in_transit=[transit()],
    fee_requests=[fee()],
    candidates=[
        {"entry_id": "s", "expectation_id": "x1", "tier": 4, "score": Decimal("0.6"),
         "reason": "damaged reference", "rank": 1},
        {"entry_id": "s", "expectation_id": "x2", "tier": 4, "score": Decimal("0.5"),
         "reason": "damaged too", "rank": 2},
    ],
)  # fmt: skip


@pytest.mark.acceptance
def test_sections_have_the_order_of_the_desk() -> None:
    headings = [a["id"] for a in full_page().named("section")]
    assert headings == [
        "verdict",
        "accounts",
        "blocking",
        "transit",
        "awaiting",
        "collections",
        "fees",
        "month-on-month",
        "funds",
        "bridge",
        "exceptions",
        "conversion-costs",
        "gas",
        "coins",
        "exposure",
        "flows",
        "controls",
        "decisions",
        "earlier",
        "assumptions",
        "evidence",
    ]


@pytest.mark.acceptance
def test_every_part_of_the_month_is_shown() -> None:
    text = full_page().text
    for words in (
        "Not ready to close: 6 of ",
        "6 items = 6 yours",
        "8 = 1 matched + 1 suggested + 1 unreferenced + 1 conflict + 1 returned",
        "May be PAY-1",
        "x2: damaged too (0.50)",
        "Margin over the runner-up: 0.10",
        "Conflict, the request is CANCELLED",
        "Unreferenced; reached virtual IBAN …7034",
        "Returned AC04: brings back the payment of 14 Oct",
        "Ignored: refunded in cash",
        "Bank charge",
        "Pay today with this reference",
        "EUR 25,000.00",
        "USDC 26,865.995017",
        "by provider report",
        "1 line, EUR 100.00; open items of this month too.",
        "5f5f5f",
        "october.xml",
    ):
        assert words in text


@pytest.mark.acceptance
def test_lines_classed_by_a_rule_are_not_shown_as_decided_by_a_person() -> None:
    ruled = line("ruled", outcome="ignored", line_class="bank_charge", rule_name="charges")
    by_hand = line("by_hand", outcome="ignored", decided_by="anna", reason="refunded in cash")
    for rows, grids in (([ruled], 0), ([ruled, by_hand], 1)):
        told = sections(closing_of(reconciliation(lines=rows), ZONE))
        (section,) = (one for one in told if one.anchor == "decisions")
        assert len(section.grids) == grids
        assert all(len(grid.rows) == 1 for grid in section.grids)


def test_open_lines_are_shown_in_the_desks_words_without_foreign_ids() -> None:
    told = {
        "returned": BROUGHT_BACK,
        "suggested": MAY_BE_BACK.format("2026-10-14"),
    }
    lines = [line("a"), *(line(one, outcome=one, reason=why) for one, why in told.items())]
    old = [line("old", outcome="unreferenced", booking_date=date(2026, 9, 2))]
    found = open_lines(reconciliation(lines=lines, earlier_lines=old)).to_pylist()
    assert [(row["on_screen"], row["why"]) for row in found] == [
        ("Unreferenced", ""),
        ("Suggested", MAY_BE_BACK.format("14 Oct")),
    ]
    assert found[0]["account"] == "…6689"


@pytest.mark.acceptance
def test_runner_up_and_margin_open_only_when_asked_for() -> None:
    text = render_html(closing_of(FULL, ZONE))
    at = text.index("Margin over")
    assert text.rindex("<details>", 0, at) > text.rindex("<td", 0, at)


@pytest.mark.acceptance
def test_the_page_loads_no_external_resource() -> None:
    shown = full_page()
    for tag, attributes in shown.elements:
        assert tag not in {"script", "link", "iframe", "object", "embed", "form", "base"}
        assert not LOADING & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "url(http" not in render_html(closing_of(FULL, ZONE))


def test_the_page_forbids_scripts_and_loads_by_itself() -> None:
    policies = [a for a in full_page().named("meta") if a.get("http-equiv")]
    assert [p["content"] for p in policies] == [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    ]


def hostile() -> Reconciliation:
    """Return a month with hostile markup in nearly every text."""

    def poisoned(row: dict[str, Any], table: str, *keep: str) -> dict[str, Any]:
        texts = [field.name for field in SCHEMAS[table] if str(field.type) == "string"]
        return {**row, **{name: HOSTILE for name in texts if name not in keep}}

    kept = (
        "statement_account",
        "account",
        "source",
        "direction",
        "line_class",
        "outcome",
        "entry_id",
    )
    return reconciliation(
        company=HOSTILE,
        statements=[poisoned(account(problem="x"), "statements", "source")],
        lines=[
            poisoned(line(entry, outcome=entry, margin=Decimal("0.1")), "lines", *kept)
            for entry in OPEN_OUTCOMES
        ],
        awaiting_funds=[poisoned(waiting(), "awaiting_funds")],
        virtual_accounts=[
            poisoned(virtual(), "virtual_accounts"),
            poisoned(virtual(f"NOT PROVABLE: {HOSTILE}"), "virtual_accounts", "proof"),
        ],
        in_transit=[poisoned(transit(), "in_transit")],
        fee_requests=[poisoned(fee(), "fee_requests")],
        fee_accruals=[
            poisoned({"fiat_gross": Decimal(1), "fee": Decimal(1)}, "fee_accruals"),
        ],
        candidates=[
            {"entry_id": "suggested", "expectation_id": HOSTILE, "tier": 4,
             "score": Decimal("0.5"), "reason": HOSTILE, "rank": rank}
            for rank in (1, 2)
        ],
    )  # fmt: skip


@pytest.mark.acceptance
def test_no_outside_text_becomes_an_element() -> None:
    shown = page(hostile())
    assert not shown.named("img")
    assert shown.text.count(HOSTILE) > 30


def test_tables_are_named_and_their_headers_have_a_scope() -> None:
    shown = full_page()
    assert len(shown.named("caption")) == len(shown.named("table")) > 10
    assert all(
        attributes.get("scope") in {"col", "row", "rowgroup"} for attributes in shown.named("th")
    )
    for picture in (a for _, a in shown.elements if a.get("role") == "img"):
        assert picture["aria-label"]


def test_no_two_elements_share_an_id() -> None:
    ids = [a["id"] for _, a in full_page().elements if a.get("id")]
    assert len(ids) == len(set(ids))


def test_links_inside_the_page_have_targets() -> None:
    shown = full_page()
    ids = {a["id"] for _, a in shown.elements if a.get("id")}
    targets = {value for _, a in shown.elements for n, value in a.items() if n.endswith("href")}
    assert {str(target).removeprefix("#") for target in targets} <= ids


@pytest.mark.acceptance
def test_the_same_month_gives_the_same_page() -> None:
    assert render_html(closing_of(FULL, ZONE)) == render_html(closing_of(FULL, ZONE))


def test_every_list_that_may_be_cut_names_a_sheet_that_has_it() -> None:
    grids = [grid for section in sections(closing_of(FULL, ZONE)) for grid in section.grids]
    short = {"Left out of matching, by rule", "SHA-256 of the data behind this report"}
    assert {grid.caption for grid in grids if not grid.sheet} == short
    assert {grid.sheet for grid in grids} - {""} <= {sheet.name for sheet in SHEETS}


@pytest.mark.acceptance
def test_every_figure_of_the_pack_is_in_the_page_with_its_words() -> None:
    closing = closing_of(FULL, ZONE)
    assert not len(closing.exposure.positions), "without a balance there is no figure"
    drawn = {name: one for name, one in month_figures(closing).items() if name != "exposure"}
    told = [a["aria-label"] for a in full_page().named("div") if a.get("role") == "img"]
    assert sorted(told) == sorted(one.words for one in drawn.values())


def test_a_fee_that_rounding_cannot_explain_is_flagged_at_its_rate() -> None:
    fees = [
        fee(fee=Decimal("200.50")),
        fee(request_id="r2", reference="PAY-2", exchange_rate=Decimal("0.9240")),
        fee(request_id="r3", reference="PAY-3", fee_percentage=None, exchange_rate=None),
    ]
    shown = page(reconciliation(fee_requests=fees))
    assert "CHECK: EUR 0.50 more than on-ramp tier 1 gives" in shown.text
    assert "1 to check, 1 not computed" in shown.text
    assert "at 0.924, +9.75 bp from 1 other" in shown.text
    flagged = [a["class"] for a in shown.named("span") if (a["class"] or "").startswith("badge")]
    assert flagged.count("badge bad") == 1


@pytest.mark.acceptance
def test_a_printed_page_names_its_month() -> None:
    assert 'content: "Month close, October 2026"' in render_html(closing_of(FULL, ZONE))


def test_a_long_list_counts_its_omitted_rows() -> None:
    lines = [line(str(at), outcome="unreferenced") for at in range(MOST_ROWS_SHOWN + 5)]
    text = page(reconciliation(lines=lines)).text
    assert "5 more rows are in close.xlsx, sheet Lines" in text


@pytest.mark.acceptance
def test_reconciled_is_shown_only_with_its_exceptions() -> None:
    proof = "NOT PROVABLE: no provider report"
    only = page(reconciliation(lines=[line()], virtual_accounts=[virtual(proof)])).text
    assert "Reconciled except credits not provable." in only
    more = page(
        reconciliation(lines=[line(outcome="suggested")], virtual_accounts=[virtual(proof)])
    ).text
    assert "Credits not provable" in more
    assert "econciled" not in more


@pytest.mark.parametrize("tables", [{}, {"statements": []}])
def test_an_empty_month_has_a_page(tables: dict[str, Any]) -> None:
    text = page(reconciliation(**tables)).text
    assert ("Ready to close" in text) == (not tables)
