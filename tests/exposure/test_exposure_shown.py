"""The display of an exposure: the section, the figure, the letter, and hostile text."""

from __future__ import annotations

import re
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from exposure_samples import AFTER, OCTOBER, START, at, doubted, exposed, span

from treasury.close.valuation.exposure.provider_exposure import ProviderExposure
from treasury.report.confirmation_letter import confirmation_letter
from treasury.report.exposure.exposure_section import exposure_section
from treasury.report.figures import exposure_by_day, exposure_words
from treasury.report.grids import Section

HOSTILE = "<script>alert(1)</script>\u202e=cmd|'/c'!A0"


class Tags(HTMLParser):
    """The tags, attribute names and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.words += f" {data}"


def flat(section: Section) -> str:
    """Return the title, the lead and all cells of a section as one text."""
    rows = (row for grid in section.grids for row in grid.rows)
    cells = (f"{cell.text} {cell.note}" for row in rows for cell in row)
    return " | ".join((section.title, section.lead, *cells))


def hostile() -> ProviderExposure:
    """Return an exposure with hostile text in every free field."""
    return exposed(
        span("5.00", at(30), reference=HOSTILE, evidence=HOSTILE, state=HOSTILE),
        doubted("7.00", reference=HOSTILE, problem=HOSTILE, next_step=HOSTILE, subject="line"),
        company=HOSTILE,
    )


def test_a_letter_escapes_all_text() -> None:
    letter = confirmation_letter(hostile())
    page = Tags(letter)
    assert "script" not in page.tags
    assert not {name for name in page.attributes if name.startswith(("on", "src", "href"))}
    assert "\u202e" not in letter
    assert page.words.count("<script>alert(1)</script>") == 7, "it is present as text"


def test_a_letter_loads_nothing_and_asks_for_confirmation_of_each_figure() -> None:
    letter = confirmation_letter(exposed(span("5.00", at(30)), doubted(None, subject_id="r2")))
    assert not re.search(r"https?:|url\(|@import|<link|<img", letter)
    words = " ".join(Tags(letter).words.split())
    assert "Confirmation of balances held for us at the end of 31 Oct 2026" in words
    assert "By our records as of 2 Nov 2026 09:00 CET (Europe/Brussels)" in words
    assert words.count("Your figure") == 3
    assert "fiat in transit EUR PAY-1 not known unknown reason" in words
    assert "SANDBOX, no real money" in words


def test_a_letter_of_an_open_month_names_its_instant_with_the_year() -> None:
    words = Tags(confirmation_letter(exposed(span("5.00", at(3)), known_at=at(6, 10)))).words
    assert "at 6 Oct 2026 10:00 CEST" in " ".join(words.split())


def test_a_letter_contains_whole_tables_and_says_when_there_are_none() -> None:
    many = exposed(*(span("1.00", at(30), reference=f"PAY-{n:04}") for n in range(300)))
    words = Tags(confirmation_letter(many)).words
    assert all(f"PAY-{n:04}" in words for n in range(300))
    assert "By our records you held nothing for us." in Tags(confirmation_letter(exposed())).words


def test_the_section_shows_sums_limits_ages_positions_and_doubts() -> None:
    cleared = span(
        "40.00", at(29), AFTER, subject_id="r2", left_at=AFTER, left_by="money back",
    )  # fmt: skip
    exposure = exposed(
        span("60.00", at(30)), cleared, doubted("7.00", subject_id="r3"),
        span("9", at(30), subject_id="r4", currency="ETH"), EUR="99.00", all="1000",
    )  # fmt: skip
    section = exposure_section(exposure)
    words = flat(section)
    assert section.lead == (
        "With the provider at the end of 31 Oct: EUR 100.00, without ETH: no reference rate; 1"
        " position not provable. The most in the month: EUR 100.00, 30 Oct 12:00 CET. Cleared by"
        " 2 Nov 09:00 CET: EUR 40.00."
    )
    assert "EUR 1 row not in the sums, at most EUR 7.00 | EUR 100.00" in words
    assert "EUR 99.00  | above 2 days ended above" in words
    assert "no reference rate not provable: no file has ETH" in words
    assert "EUR 1,000.00  | not provable" in words
    assert "2 Nov 09:00 CET money back" in words
    assert "EUR 7.00" in words
    captions = [grid.caption for grid in section.grids]
    assert captions == [
        "By currency, and against the limits", "By age", "Positions with the provider",
        "Not provable: not included above",
    ]  # fmt: skip


def test_a_limit_exceeded_only_within_a_day_is_reported() -> None:
    exposure = exposed(span("5.00", at(3)), span("900.00", at(14, 9), at(14, 17)), EUR="100")
    assert "within above it within a day" in flat(exposure_section(exposure))


def test_the_section_is_empty_only_if_every_source_was_read() -> None:
    nothing = exposure_section(exposed())
    assert nothing.lead == "The provider held nothing at the end of 31 Oct."
    assert nothing.grids == ()
    unread = exposure_section(exposed(), unread="not known: the services were never read")
    assert unread.lead == "Not known: the services were never read."
    gone = exposure_section(exposed(span("5.00", at(3), at(4))))
    assert "EUR 0.00" in gone.lead
    assert "The most in the month: EUR 5.00" in gone.lead
    limited = exposure_section(exposed(doubted(None, currency="", subject="source"), all="5"))
    assert "1 position not provable" in limited.lead


def test_the_section_escapes_hostile_text() -> None:
    assert "\u202e" not in flat(exposure_section(hostile()))
    shown = hostile()._repr_html_()
    assert "<script>" not in shown
    assert "\u202e" not in shown


# The figure


def test_the_figure_draws_every_day_and_the_limit() -> None:
    exposure = exposed(span("60.00", at(5)), span("60.00", at(7), at(10)))
    figure = exposure_by_day(exposure.days, OCTOBER, exposure.totals.arrow["amount"][-1].as_py())
    (panel,) = figure.axes
    bars = [bar.get_height() for bar in panel.patches if round(bar.get_width(), 2) == 0.72]
    assert bars == [0] * 4 + [60] * 2 + [120] * 3 + [60] * 22
    assert [line.get_ydata()[0] for line in panel.lines] == [60]
    assert "of each day" in panel.get_title(loc="left") + panel.get_title()


def test_the_text_of_the_figure_agrees_with_it() -> None:
    exposure = exposed(span("60.00", at(5)), span("60.00", at(7), at(10)), all="100.00")
    limit = exposure.whole["limit"]
    assert exposure_words(exposure.days, OCTOBER, limit) == (
        "With the provider at the end of each day of October 2026, as far as proved: at most EUR"
        " 120.00 on 7 Oct, EUR 60.00 on 31 Oct. The limit is EUR 100.00; 3 days ended above it."
    )
    assert "limit" not in exposure_words(exposure.days, OCTOBER)
    ether = exposed(span("60.00", at(5)), span("1", at(30), currency="ETH"))
    told = exposure_words(ether.days, OCTOBER)
    assert "On 2 days a currency has no reference rate and is left out." in told
    assert exposure_words(exposed().days, OCTOBER) == (
        "No proved balance with the provider in October 2026."
    )
    assert exposure_by_day(exposed().days, OCTOBER).axes


@pytest.mark.parametrize("known_at", [START - timedelta(days=9), START, START + timedelta(hours=5)])
def test_a_future_or_new_month_is_shown_too(known_at: Any) -> None:
    exposure = exposed(span("5.00", at(3, month=9)), known_at=known_at)
    assert "EUR 5.00" in exposure_section(exposure).lead
    assert exposure_by_day(exposure.days, OCTOBER).axes
    assert "EUR 5.00" in Tags(confirmation_letter(exposure)).words
