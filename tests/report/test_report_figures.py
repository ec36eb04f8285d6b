from __future__ import annotations

import subprocess
import sys
from datetime import date
from decimal import Decimal

from lxml import etree
from matplotlib.figure import Figure
from report_samples import HOSTILE, account, fee, line, reconciliation

from treasury.report.fees import fees_of
from treasury.report.figures import (
    Drawing,
    cash_by_day,
    cash_words,
    fees_and_rate,
    fees_figure_words,
    figure_svg,
)

MONTH = reconciliation(
    statements=[account()],
    lines=[
        line("a", amount=Decimal(500)),
        line("b", amount=Decimal(200), direction="DBIT", booking_date=date(2026, 10, 20)),
        line("c", amount=Decimal(9999), outcome="ignored", line_class="own_transfer"),
        line("d", amount=Decimal(7777), source="provider_report"),
    ],
    fee_requests=[fee(), fee(ramp_type="OFF_RAMP", fee=Decimal(50))],
)


def bars(figure: Figure, panel: int = 0) -> list[tuple[int, float]]:
    axes = figure.axes[panel]
    return [
        (round(bar.get_x() + bar.get_width() / 2), bar.get_height())
        for group in axes.containers
        for bar in group
    ]


def test_money_in_stands_above_the_line_and_money_out_below_it() -> None:
    assert bars(cash_by_day(MONTH)) == [(14, 500.0), (20, -200.0)]


def test_every_axis_of_amounts_has_its_zero() -> None:
    for figure in (cash_by_day(MONTH), fees_and_rate(MONTH)):
        for axes in figure.axes:
            low, high = axes.get_ylim()
            assert low <= 0 <= high


def test_fees_of_a_day_are_stacked_by_direction() -> None:
    assert bars(fees_and_rate(MONTH)) == [(13, 200.0), (13, 50.0)]
    on_ramp, off_ramp = fees_and_rate(MONTH).axes[0].containers
    assert off_ramp[0].get_y() == on_ramp[0].get_height()


def test_a_hundred_requests_of_a_day_at_one_rate_are_one_point() -> None:
    r = reconciliation(fee_requests=[fee(request_id=str(at)) for at in range(100)])
    points = fees_and_rate(r).axes[1].collections[0].get_offsets()
    assert [tuple(point) for point in points.tolist()] == [(12.84, 80.0)]


def test_each_currency_has_panels_of_its_own() -> None:
    r = reconciliation(
        lines=[line("a"), line("b", currency="USD")],
        fee_requests=[fee(), fee(fiat_currency="GBP")],
    )
    assert len(cash_by_day(r).axes) == 2
    assert len(fees_and_rate(r).axes) == 4


def test_the_same_figure_gives_the_same_bytes() -> None:
    for draw in (cash_by_day, fees_and_rate):
        once = draw(MONTH)
        assert figure_svg(once) == figure_svg(once) == figure_svg(draw(MONTH))
        assert b"metadata" not in figure_svg(once)


def test_text_from_outside_is_neither_markup_nor_mathematics_nor_missing_from_the_font() -> None:
    r = reconciliation(
        lines=[line(currency=code) for code in (HOSTILE, r"$\foo$", "\u4e2d\u6587")],
        fee_requests=[fee(fiat_currency=r"$\frac$"), fee(fiat_currency=HOSTILE)],
    )
    for figure in (cash_by_day(r), fees_and_rate(r)):
        root = etree.fromstring(figure_svg(figure))
        assert not root.findall(".//{*}img")


def test_a_month_without_anything_to_draw_says_so() -> None:
    empty = reconciliation()
    assert b"No booked line" in figure_svg(cash_by_day(empty))
    assert b"No request completed" in figure_svg(fees_and_rate(empty))
    assert cash_words(empty) == "No booked line on our own bank accounts in October 2026."


def test_the_words_tell_what_the_figures_show() -> None:
    assert cash_words(MONTH) == (
        "Cash by booking day in October 2026 on our own bank accounts: EUR 500.00 came in and"
        " EUR 200.00 went out, over 2 days. Transfers between our own accounts are left out."
    )
    assert fees_figure_words(fees_of(MONTH)) == (
        "Fees by day of completion in October 2026: EUR 250.00 on 2 requests, 50.00 basis points of"
        " the gross amount; single rates lie between 20.00 and 80.00."
    )


def test_a_figure_shows_itself_in_a_notebook() -> None:
    figure = cash_by_day(MONTH)
    assert isinstance(figure, Drawing)
    assert "<svg" in figure._repr_svg_()


def test_drawing_needs_no_global_state_of_pyplot() -> None:
    code = "import sys, treasury.report.figures; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
