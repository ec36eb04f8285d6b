"""The figures of a close: each drawn once, for the page and the pack, with its description."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec
from matplotlib.figure import Figure

from treasury.close.closing import Closing
from treasury.report import figures
from treasury.report.cash.cash_figure import forecast_by_day, forecast_words
from treasury.report.drawing import figure_svg


class Drawn(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A figure, and its description for people who cannot see it."""

    figure: Figure
    words: str

    @cached_property
    def svg(self) -> bytes:
        """The figure as SVG."""
        return figure_svg(self.figure)


def month_figures(closing: Closing) -> dict[str, Drawn]:
    """Return the figures of a month by file name."""
    r, requests, waits = closing.r, closing.fees.requests, closing.waits
    costs = closing.fees.costs.by_pair
    items = figures.aged_items(closing.items, r.month.last)
    stood, limit = closing.exposure.days, closing.exposure.whole["limit"]
    each: dict[str, tuple[Callable[..., Figure], Callable[..., str], tuple[Any, ...]]] = {
        "cash": (figures.cash_by_day, figures.cash_words, (r.lines, r.month)),
        "fees": (figures.fees_and_rate, figures.fees_and_rate_words, (requests, r.month)),
        "conversion-costs": (figures.conversion_costs, figures.conversion_costs_words, (costs,)),
        "funding": (figures.funding_times, figures.funding_times_words, (waits,)),
        "exposure": (figures.exposure_by_day, figures.exposure_words, (stood, r.month, limit)),
        "forecast": (forecast_by_day, forecast_words, (closing.cash,)),
        "open-items": (figures.open_items_by_age, figures.open_items_words, items),
    }
    return {name: Drawn(draw(*rows), words(*rows)) for name, (draw, words, rows) in each.items()}
