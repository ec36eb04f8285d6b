"""The chart of a cash forecast: each currency's balance, its lowest point and its floors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from treasury.close.cash.cash_answer import Cash
from treasury.close.result_words import amount_words, count, day
from treasury.report.drawing import (
    INK,
    amount_text,
    drawn,
    label,
    legend,
    nothing,
    panels,
    ruled,
    scale,
)


@drawn
def forecast_by_day(cash: Cash) -> Figure:
    """Draw the balance at the end of each day or week, a panel per currency.

    Currencies without a proved balance are left out. The lowest point is marked, and the floor of
    each account is a dashed line.
    """
    rows = _by_currency(cash)
    figure, axes = panels(len(rows), height=2.9)
    if not rows:
        nothing(axes[0], "No proved balance")
    for panel, (currency, own) in zip(axes, rows.items(), strict=False):
        _panel(panel, currency, own, cash)
    return figure


def _panel(panel: Axes, currency: str, own: list[Mapping[str, Any]], cash: Cash) -> None:
    lowest = next(row for row in own if row["is_lowest"])
    places = list(range(len(own)))
    heights = [float(row["balance"]) for row in own]
    panel.step(places, heights, where="mid", color=INK["first"], linewidth=1.8, zorder=3)
    at = own.index(lowest)
    panel.plot([at], [float(lowest["lowest"])], marker="o", color=INK["first"], zorder=4)
    words = f"lowest {amount_text(lowest['lowest'], currency)}, {day(lowest['day'])}"
    parts = [(words, INK["first"])]
    for floor in cash.floors.arrow.to_pylist():
        if floor["currency"] == currency:
            panel.axhline(
                float(floor["floor"]), color=INK["second"], linewidth=1.4, linestyle="--", zorder=2
            )
            parts.append((f"- - floor {amount_text(floor['floor'], currency)}", INK["second"]))
    if min(heights) > 0:
        panel.set_ylim(bottom=0)
    step = max(1, len(own) // 7)
    ticks = places[::step]
    panel.set_xlim(-0.6, len(own) - 0.4)
    panel.set_xticks(ticks, [day(own[place]["day"]) for place in ticks])
    ruled(panel)
    unit = "week" if own[0]["day"] != own[0]["last_day"] else "day"
    panel.set_title(f"Cash at the end of each {unit} from what is known, {label(currency)}")
    legend(panel, parts)
    scale(panel, currency)


def forecast_words(cash: Cash) -> str:
    """Describe `forecast_by_day`."""
    sentences = []
    for currency, own in _by_currency(cash).items():
        lowest = next(row for row in own if row["is_lowest"])
        on: date = lowest["day"]
        unit = "in the week from" if lowest["last_day"] != on else "on"
        sentences.append(
            f"{amount_words(own[0]['opening'], currency)} becomes"
            f" {amount_words(own[-1]['balance'], currency)}; the lowest point is"
            f" {amount_words(lowest['lowest'], currency)} {unit} {day(on)}."
        )
    title = f"The next {count(cash.days, 'day')} from what is known, nothing modelled:"
    return " ".join([title, *(sentences or ["no balance is proved."])])


def _by_currency(cash: Cash) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows of each currency with a proved balance."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in cash.forecast.arrow.to_pylist():
        if row["balance"] is not None:
            rows.setdefault(row["currency"], []).append(row)
    return rows
