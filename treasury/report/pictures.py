"""The figures of a close: each drawn once, for the page and for the pack, with its words."""

from __future__ import annotations

from functools import cached_property

import msgspec
from matplotlib.figure import Figure

from treasury.close.closing import Closing
from treasury.report.drawing import figure_svg
from treasury.report.exposure.exposure_figure import exposure_by_day, exposure_words
from treasury.report.figures import (
    cash_by_day,
    cash_words,
    conversion_costs,
    conversion_costs_words,
    fees_and_rate,
    fees_and_rate_words,
    funding_times,
    funding_times_words,
    open_items_by_age,
    open_items_words,
)

__all__ = ["Drawn", "month_figures"]


class Drawn(msgspec.Struct, frozen=True, eq=False, dict=True):
    """A figure, and what it shows in words for who cannot see it."""

    figure: Figure
    words: str

    @cached_property
    def svg(self) -> bytes:
        """The figure as SVG."""
        return figure_svg(self.figure)


def month_figures(closing: Closing) -> dict[str, Drawn]:
    """The figures of a month by the name of their file."""
    r, requests, waits = closing.r, closing.fees.requests, closing.waits
    costs = closing.fees.costs.by_pair
    # The items whose money is counted, with their age at the month's end in calendar days.
    last = closing.r.month.last
    items = [
        {
            "currency": item.currency,
            "amount": item.counted_amount,
            "age_days": max((last - item.since).days, 0),
        }
        for item in closing.items
        if item.counted_amount is not None
        and item.since is not None
        and item.subject not in ("balance", "ledger")
    ]
    stood, limit = closing.exposure.days, closing.exposure.whole["limit"]
    return {
        "cash": Drawn(cash_by_day(r.lines, r.month), cash_words(r.lines, r.month)),
        "fees": Drawn(fees_and_rate(requests, r.month), fees_and_rate_words(requests, r.month)),
        "conversion-costs": Drawn(conversion_costs(costs), conversion_costs_words(costs)),
        "funding": Drawn(funding_times(waits), funding_times_words(waits)),
        "exposure": Drawn(
            exposure_by_day(stood, r.month, limit), exposure_words(stood, r.month, limit)
        ),
        "open-items": Drawn(open_items_by_age(items), open_items_words(items)),
    }
