"""Charts of a workspace's results: each takes a result, or a data frame with the same columns.

The attribute `words` of a chart describes it, and is shown below it in a notebook.

    from treasury import plots

    plots.fees(t.fees("2026-07..2026-10"))
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from matplotlib.figure import Figure

from treasury.close.cash.cash_answer import Cash
from treasury.close.closing import Closing
from treasury.close.fees.fee_table import Fees
from treasury.close.valuation.exposure.provider_exposure import ProviderExposure
from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.core.nearest_names import unknown_in_module
from treasury.core.tables.table import Table
from treasury.month.items.open_items import OpenItems
from treasury.month.reconciliation import Reconciliation
from treasury.report import figures
from treasury.report.cash.cash_figure import forecast_by_day, forecast_words
from treasury.report.drawing import Drawing

if TYPE_CHECKING:
    from treasury.report.drawing import Frame

__all__ = [
    "cash", "conversion_costs", "exposure", "fees", "fees_of_month", "funding_times",
    "open_items_by_age",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Raise UnknownName with the nearest chart."""
        raise unknown_in_module(__name__, name, __all__)


def cash(lines: Cash | Reconciliation | Frame, month: str | Month | None = None) -> Figure:
    """Draw the cash forecast, or money in and out by booking day.

    Parameters
    ----------
    lines
        The answer of `t.cash()`; or a reconciliation, or a frame as in `Reconciliation.lines`.
    month
        The month of a frame.

    Returns
    -------
    Figure
        One panel per currency: the balance at the end of each day with its lowest point and the
        accounts' floors; or the money in and out by booking day.

    Raises
    ------
    InputError
        If a column is missing, or the month of a frame.

    Examples
    --------
    >>> plots.cash(t.cash(30))
    >>> plots.cash(t.reconcile("2026-10"))
    """
    if isinstance(lines, Cash):
        return _told(forecast_by_day, forecast_words, lines)
    if isinstance(lines, Reconciliation):
        month, lines = lines.month, lines.lines
    frame = _frame("cash", lines)
    return _told(figures.cash_by_day, figures.cash_words, frame, _month("cash", month))


def fees(trend: Fees | Frame) -> Figure:
    """Draw the fees of each month and their rate.

    Parameters
    ----------
    trend
        The fees, or a frame as in `Fees.trend`.

    Returns
    -------
    Figure
        One panel per currency; rates in basis points.

    Raises
    ------
    InputError
        If a column is missing.

    Examples
    --------
    >>> plots.fees(t.fees("2026-07..2026-10"))
    """
    frame = trend.trend if isinstance(trend, Fees) else _frame("fees", trend)
    return _told(figures.fees_by_month, figures.fees_by_month_words, frame)


def fees_of_month(requests: Fees | Frame, month: str | Month | None = None) -> Figure:
    """Draw the fees of a month by day, and each request's rate.

    Parameters
    ----------
    requests
        The fees, or a frame as in `Fees.requests`.
    month
        The month of a frame.

    Returns
    -------
    Figure
        Two panels per currency; rates in basis points.

    Raises
    ------
    InputError
        If a column is missing, or the month of a frame.

    Examples
    --------
    >>> plots.fees_of_month(t.fees("2026-10"))
    """
    if isinstance(requests, Fees):
        month, requests = requests.months.last, requests.requests
    rows = (_frame("fees_of_month", requests), _month("fees_of_month", month))
    return _told(figures.fees_and_rate, figures.fees_and_rate_words, *rows)


def conversion_costs(costs: Fees | Frame) -> Figure:
    """Draw conversion costs by pair.

    Parameters
    ----------
    costs
        The fees, or a frame as in `Fees.costs.by_pair`.

    Returns
    -------
    Figure
        One bar per pair, in basis points.

    Raises
    ------
    InputError
        If a column is missing.

    Examples
    --------
    >>> plots.conversion_costs(t.fees("2026-10"))
    """
    frame = costs.costs.by_pair if isinstance(costs, Fees) else _frame("conversion_costs", costs)
    return _told(figures.conversion_costs, figures.conversion_costs_words, frame)


def open_items_by_age(items: OpenItems | Frame, at: date | None = None) -> Figure:
    """Draw open amounts by age.

    Parameters
    ----------
    items
        Open items, all or a selection such as `items.select(turn="us")`; or a frame with one row
        per item: `currency`, `amount` and `age_days`.
    at
        The day to which the ages of open items count calendar days; default: the month's last. The
        column `age` of open items counts to the present, in the unit of `clock`.

    Returns
    -------
    Figure
        One panel per currency.

    Raises
    ------
    InputError
        If a column is missing.

    Examples
    --------
    >>> plots.open_items_by_age(t.open_items("2026-10"))
    """
    if isinstance(items, OpenItems):
        aged: tuple[Any, ...] = figures.aged_items(items, at or items.month.last)
    else:
        aged = (_frame("open_items_by_age", items),)
    return _told(figures.open_items_by_age, figures.open_items_words, *aged)


def funding_times(waits: Closing | Frame) -> Figure:
    """Draw how long requests waited for funds.

    Parameters
    ----------
    waits
        A month, or a frame as in `Closing.waits`.

    Returns
    -------
    Figure
        The number of requests by waiting time.

    Raises
    ------
    InputError
        If a column is missing.

    Examples
    --------
    >>> plots.funding_times(t.periods.month("2026-10"))
    """
    frame = waits.waits if isinstance(waits, Closing) else _frame("funding_times", waits)
    return _told(figures.funding_times, figures.funding_times_words, frame)


def exposure(stood: ProviderExposure) -> Figure:
    """Draw the balances with the provider at the end of each day.

    Parameters
    ----------
    stood
        The exposure of a month, from `t.exposure`.

    Returns
    -------
    Figure
        The total by day in the reporting currency, with its limit.

    Raises
    ------
    InputError
        If the value is not an exposure.

    Examples
    --------
    >>> plots.exposure(t.exposure("2026-10"))
    """
    if not isinstance(stood, ProviderExposure):
        raise _cannot_draw("exposure", stood)
    rows = (stood.days, stood.month, stood.whole["limit"])
    return _told(figures.exposure_by_day, figures.exposure_words, *rows)


def _told(draw: Callable[..., Figure], words: Callable[..., str], *rows: Any) -> Figure:
    """Draw a figure, with its description for a notebook."""
    figure = draw(*rows)
    assert isinstance(figure, Drawing)
    figure.words = words(*rows)
    return figure


_TAKES: Final = {
    "cash": "t.reconcile(MONTH)",
    "conversion_costs": "t.fees(MONTHS)",
    "exposure": "t.exposure(MONTH)",
    "fees": "t.fees(MONTHS)",
    "fees_of_month": "t.fees(MONTH)",
    "funding_times": "t.periods.month(MONTH)",
    "open_items_by_age": "t.open_items(MONTH)",
}
"""The result that each chart draws."""


def _frame(chart: str, value: Any) -> Any:
    """Return the rows that a chart is given; raise InputError unless they are one table."""
    is_frame = isinstance(value, Table | pa.Table | list | tuple) or hasattr(value, "to_dict")
    if not is_frame:
        raise _cannot_draw(chart, value)
    return value


def _cannot_draw(chart: str, value: object) -> InputError:
    return InputError(
        f"plots.{chart} cannot draw a value of type {type(value).__name__}",
        do=f"write plots.{chart}({_TAKES[chart]})",
    )


def _month(chart: str, month: str | Month | None) -> Month:
    if month is None:
        raise InputError(
            f"plots.{chart} needs the month of a table",
            do=f'write plots.{chart}(table, "2026-10"), or plots.{chart}({_TAKES[chart]})',
        )
    return month if isinstance(month, Month) else Month.parse(month)
