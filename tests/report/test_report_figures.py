from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from lxml import etree
from matplotlib.figure import Figure
from report_samples import HOSTILE, account, fee, line, reconciliation

from treasury.close.fees.fee_table import fees_of
from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.month.reconciliation import Reconciliation
from treasury.report import figures, plots
from treasury.report.drawing import Drawing, figure_png, figure_svg, scale

OCTOBER = Month(2026, 10)


def cash_by_day(r: Reconciliation) -> Figure:
    return figures.cash_by_day(r.lines, OCTOBER)


def fees_and_rate(r: Reconciliation) -> Figure:
    return figures.fees_and_rate(fees_of(r).requests, OCTOBER)


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


def test_money_in_is_drawn_above_the_line_and_money_out_below() -> None:
    assert bars(cash_by_day(MONTH)) == [(14, 500.0), (20, -200.0)]


@pytest.mark.acceptance
def test_labels_below_zero_have_a_minus_sign_unless_they_are_money_out() -> None:
    axes = Figure().subplots()
    scale(axes, "EUR")
    assert axes.yaxis.get_major_formatter()(-1500, 0) == "EUR -1,500"
    scale(axes, "EUR", below_is_out=True)
    assert axes.yaxis.get_major_formatter()(-1500, 0) == "EUR 1,500"


def test_every_axis_of_amounts_has_its_zero() -> None:
    for figure in (cash_by_day(MONTH), fees_and_rate(MONTH)):
        for axes in figure.axes:
            low, high = axes.get_ylim()
            assert low <= 0 <= high


@pytest.mark.acceptance
def test_fees_of_a_day_are_stacked_by_direction() -> None:
    assert bars(fees_and_rate(MONTH)) == [(13, 200.0), (13, 50.0)]
    on_ramp, off_ramp = fees_and_rate(MONTH).axes[0].containers
    assert off_ramp[0].get_y() == on_ramp[0].get_height()


def test_a_hundred_requests_of_a_day_at_one_rate_are_one_point() -> None:
    r = reconciliation(fee_requests=[fee(request_id=str(at)) for at in range(100)])
    points = fees_and_rate(r).axes[1].collections[0].get_offsets()
    assert [tuple(point) for point in points.tolist()] == [(12.84, 80.0)]


@pytest.mark.acceptance
def test_each_currency_has_separate_panels() -> None:
    r = reconciliation(
        lines=[line("a"), line("b", currency="USD")],
        fee_requests=[fee(), fee(fiat_currency="GBP")],
    )
    assert len(cash_by_day(r).axes) == 2
    assert len(fees_and_rate(r).axes) == 4


@pytest.mark.acceptance
def test_the_same_figure_gives_the_same_bytes() -> None:
    for draw in (cash_by_day, fees_and_rate):
        once = draw(MONTH)
        assert figure_svg(once) == figure_svg(once) == figure_svg(draw(MONTH))
        assert b"metadata" not in figure_svg(once)


@pytest.mark.acceptance
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
    assert (
        figures.cash_words(empty.lines, OCTOBER)
        == "No booked line on our own bank accounts in October 2026."
    )


def test_the_words_describe_the_figures() -> None:
    assert figures.cash_words(MONTH.lines, OCTOBER) == (
        "Cash by booking day in October 2026 on our own bank accounts: EUR 500.00 came in and"
        " EUR 200.00 went out, over 2 days. Transfers between our own accounts are left out."
    )
    assert figures.fees_and_rate_words(fees_of(MONTH).requests, OCTOBER) == (
        "Fees by day of completion in October 2026: EUR 250.00 on 2 requests;"
        " single rates lie between 20.00 and 80.00 basis points."
    )


def test_a_figure_shows_itself_in_a_notebook() -> None:
    figure = cash_by_day(MONTH)
    assert isinstance(figure, Drawing)
    assert "<svg" in figure._repr_svg_()


def test_a_figure_has_a_light_ground_and_its_words_in_dark_hosts_and_marimo() -> None:
    figure = plots.cash(MONTH.lines, "2026-10")
    html = figure._repr_html_()
    assert html.count("<svg") == 1
    assert "background:white" in html
    assert f"<figcaption>{figure.words}</figcaption>" in html
    assert figure._mime_() == ("text/html", html)


@pytest.mark.acceptance
def test_drawing_needs_no_global_state_of_pyplot() -> None:
    code = "import sys, treasury.report.figures; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


TREND = [
    {
        "month": "2026-08",
        "fiat_currency": "EUR",
        "requests": 2,
        "fee": Decimal("9.5"),
        "rate_bp": Decimal("80.00"),
    },
    {"month": "2026-09", "fiat_currency": "EUR", "requests": 0, "fee": Decimal(0), "rate_bp": None},
    {
        "month": "2026-10",
        "fiat_currency": "GBP",
        "requests": 1,
        "fee": Decimal(3),
        "rate_bp": Decimal("60.00"),
    },
]
ITEMS = [
    {"currency": "EUR", "amount": Decimal("100.10"), "age_days": 0},
    {"currency": "EUR", "amount": Decimal("50.00"), "age_days": 1},
    {"currency": "EUR", "amount": Decimal("7.00"), "age_days": 31},
    {"currency": "USDC", "amount": Decimal("5.000001"), "age_days": 6},
]
TIMES = [
    {"direction": "on-ramp", "seconds": 4 * 3600 - 1},
    {"direction": "on-ramp", "seconds": 4 * 3600},
    {"direction": "off-ramp", "seconds": 900_000},
]
DRAWN = (
    (figures.fees_by_month, TREND),
    (figures.open_items_by_age, ITEMS),
    (figures.funding_times, TIMES),
)


@pytest.mark.acceptance
@pytest.mark.parametrize(("draw", "rows"), DRAWN)
def test_a_figure_draws_a_dataframe_as_it_draws_rows_or_arrow(
    draw: Callable[[Any], Figure], rows: list[dict[str, Any]]
) -> None:
    svg = figure_svg(draw(rows))
    assert figure_svg(draw(pd.DataFrame(rows))) == svg
    assert figure_svg(draw(pa.Table.from_pylist(rows))) == svg
    assert figure_png(draw(rows)) == figure_png(draw(rows))
    assert figure_png(draw(rows)).startswith(b"\x89PNG")


@pytest.mark.parametrize(("draw", "rows"), DRAWN)
def test_an_empty_figure_is_labelled_and_a_missing_column_is_refused(
    draw: Callable[[Any], Figure], rows: list[dict[str, Any]]
) -> None:
    assert b"No" in figure_svg(draw([]))
    with pytest.raises(InputError, match="needs a column"):
        draw(pd.DataFrame(rows).drop(columns=list(rows[0])[-1]))


def test_fees_of_each_month_are_drawn_in_the_panel_of_their_currency() -> None:
    figure = figures.fees_by_month(TREND)
    assert bars(figure) == [(0, 9.5), (1, 0.0)]
    assert bars(figure, 1) == [(0, 3.0)]
    assert figures.fees_by_month_words(TREND) == (
        "Fees and effective rate by month: 2026-08 EUR 9.50 on 2 requests at 80.00 basis points;"
        " 2026-09 EUR 0.00 on 0 requests; 2026-10 GBP 3.00 on 1 request at 60.00 basis points."
    )


def test_open_items_are_summed_by_age_in_their_own_currency() -> None:
    widths = [
        bar.get_width()
        for group in figures.open_items_by_age(ITEMS).axes[0].containers
        for bar in group
    ]
    assert widths == [150.1, 0.0, 0.0, 0.0, 7.0]
    assert figures.open_items_words(ITEMS) == (
        "Open items by age: today or yesterday EUR 150.10 in 2 items;"
        " 6 to 10 days USDC 5.000001 in 1 item; older EUR 7.00 in 1 item."
    )


def test_the_age_chart_states_its_day_and_the_items_left_out() -> None:
    note = figures.age_note(date(2026, 10, 31), 3)
    assert figures.open_items_words(ITEMS, note).endswith(
        " Ages are calendar days to 31 Oct 2026; not drawn: 3 items about balances, without an"
        " amount or a day, or with an amount that another item has."
    )
    assert "3 items" in figures.open_items_by_age(ITEMS, note).get_supxlabel()


def test_waiting_times_are_counted_and_stacked_by_direction() -> None:
    assert figures.funding_times_words(TIMES) == (
        "How long 3 requests awaited funds: under 4 h: 1 on-ramp; 4 h to 1 day: 1 on-ramp;"
        " longer: 1 off-ramp."
    )
    assert [height for _, height in bars(figures.funding_times(TIMES))] == [
        1,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        1,
    ]
