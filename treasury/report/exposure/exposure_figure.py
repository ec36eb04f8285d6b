"""What stood with the provider at the end of each day, drawn, and the same in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from matplotlib.figure import Figure

from treasury.calendar import Month
from treasury.close.result_words import amount_words, count, day
from treasury.report.drawing import (
    INK,
    amount_text,
    days,
    legend,
    nothing,
    panels,
    records,
    scale,
    settled,
    style,
)

if TYPE_CHECKING:
    from treasury.report.drawing import Frame

__all__ = ["exposure_by_day", "exposure_words"]

_DAYS: Final = ("day", "kind", "currency", "amount", "valued_by")
_WHOLE: Final = "all"


def exposure_by_day(exposure_days: Frame, month: Month, limit: Decimal | None = None) -> Figure:
    """What all of it was worth at the end of each day; `exposure_days` as in EXPOSURE_DAYS.

    `limit` is that of all of it, in the reporting currency, as a line.
    """
    rows = _whole(exposure_days)
    with style():
        figure, axes = panels(1, height=2.9)
        panel = axes[0]
        if not rows:
            nothing(panel, "Nothing stood with the provider")
            return settled(figure)
        days(panel, month)
        currency = rows[0]["currency"]
        places, heights = [row["day"].day for row in rows], [float(row["amount"]) for row in rows]
        panel.bar(places, heights, width=0.72, color=INK["first"], zorder=2)
        most = max(row["amount"] for row in rows)
        parts = [(f"at most {amount_text(most, currency)}", INK["first"])]
        if limit is not None:
            panel.axhline(
                float(limit), color=INK["second"], linewidth=1.4, linestyle="--", zorder=3
            )
            parts.append((f"- - limit {amount_text(limit, currency)}", INK["second"]))
        panel.set_ylim(bottom=0)
        panel.set_title("With the provider at the end of each day, what is proved")
        legend(panel, parts)
        scale(panel, currency)
        return settled(figure)


def exposure_words(exposure_days: Frame, month: Month, limit: Decimal | None = None) -> str:
    """What `exposure_by_day` shows."""
    rows = _whole(exposure_days)
    if not rows:
        return f"Nothing stood with the provider in {month.title}, as far as is proved."
    currency, last = rows[0]["currency"], rows[-1]
    most = max(rows, key=lambda row: row["amount"])
    words = (
        f"With the provider at the end of each day of {month.title}, what is proved: at most"
        f" {amount_words(most['amount'], currency)} on {day(most['day'])},"
        f" {amount_words(last['amount'], currency)} on {day(last['day'])}."
    )
    without = sum(1 for row in rows if row["valued_by"])
    if without:
        words += f" On {count(without, 'day')} something has no reference rate and is left out."
    if limit is None:
        return words
    above = sum(1 for row in rows if row["amount"] > limit)
    over = f"{count(above, 'day')} ended above it"
    return f"{words} The limit is {amount_words(limit, currency)}; {over}."


def _whole(exposure_days: Frame) -> list[Mapping[str, Any]]:
    """The rows of all that stood, a row a day; none where nothing ever did."""
    rows = [row for row in records(exposure_days, _DAYS) if row["kind"] == _WHOLE]
    order: dict[date, Mapping[str, Any]] = {row["day"]: row for row in rows}
    return [order[at] for at in sorted(order)] if any(row["amount"] for row in rows) else []
