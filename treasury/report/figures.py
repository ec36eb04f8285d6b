"""Two figures of a month: cash in and out by day, fees and the rate they mean.

Each function returns a matplotlib `Figure` of its own, made without pyplot's global state, a panel
for each currency, drawn from zero. Amounts become floats here, as places on a scale and nowhere
else; what is written beside them is formatted from the exact decimals.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from treasury.calendar import Month, is_target_day
from treasury.money import total
from treasury.reconcile.monthly import Reconciliation
from treasury.report.fees import Fees, fees_of
from treasury.report.words import amount_words, amounts_words, count, day

__all__ = [
    "INK",
    "cash_by_day",
    "cash_words",
    "fees_and_rate",
    "fees_figure_words",
    "figure_svg",
]

INK: Final = {
    "text": "#1c2733",
    "muted": "#5b6875",
    "grid": "#dde3e8",
    "closed": "#f2f5f7",
    "first": "#0072b2",
    "second": "#d55e00",
}
"""The colours of every figure: Okabe and Ito's blue and vermilion, told apart by any eye."""

_STYLE: Final[Any] = {
    "axes.edgecolor": INK["muted"],
    "axes.labelcolor": INK["muted"],
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.spines.left": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlepad": 22,
    "axes.titlecolor": INK["text"],
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "grid.color": INK["grid"],
    "grid.linewidth": 0.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "treasury",
    "text.color": INK["text"],
    "text.parse_math": False,
    "xtick.color": INK["muted"],
    "xtick.major.size": 3,
    "ytick.color": INK["muted"],
    "ytick.major.size": 0,
}
_WIDTH: Final = 9.2
_STRANGE: Final = re.compile(r"[^A-Za-z0-9.,+\- ]")
_NO_METADATA: Final = dict.fromkeys(("Date", "Creator", "Format", "Type"))


class Drawing(Figure):
    """A figure that a notebook shows by itself, as SVG."""

    def _repr_svg_(self) -> str:
        return figure_svg(self).decode()


def cash_by_day(r: Reconciliation) -> Figure:
    """Money in above the line and money out below it, by booking day, on our own bank accounts.

    Transfers between two of our own accounts are neither and are left out.
    """
    sums = _cash(r)
    currencies = sorted({currency for currency, _, _ in sums})
    with mpl.rc_context(_STYLE):
        figure, panels = _panels(len(currencies), height=2.9)
        for axes, currency in zip(panels, currencies, strict=False):
            _cash_panel(axes, r.month, currency, sums)
        if not currencies:
            _nothing(panels[0], "No booked line on our own bank accounts")
        return _settled(figure)


def fees_and_rate(r: Reconciliation) -> Figure:
    """Fees by the day of completion, and under them each request's effective rate."""
    fees = fees_of(r)
    currencies = [sums.currency for sums in fees.by_currency()]
    with mpl.rc_context(_STYLE):
        figure, panels = _panels(2 * len(currencies), height=2.2)
        for at, currency in enumerate(currencies):
            rows = [row for row in fees.requests.to_pylist() if row["fiat_currency"] == currency]
            _fee_panel(panels[2 * at], r.month, currency, rows)
            _rate_panel(panels[2 * at + 1], r.month, currency, rows)
        if not currencies:
            _nothing(panels[0], "No request completed in the month")
        return _settled(figure)


def cash_words(r: Reconciliation) -> str:
    """What `cash_by_day` shows, for a person who cannot see it."""
    rows = _own_lines(r)
    if not rows:
        return f"No booked line on our own bank accounts in {r.month.title}."
    money_in, money_out = (
        amounts_words((row["amount"], row["currency"]) for row in rows if row["direction"] == side)
        for side in ("CRDT", "DBIT")
    )
    return (
        f"Cash by booking day in {r.month.title} on our own bank accounts:"
        f" {money_in or 'nothing'} came in and {money_out or 'nothing'} went out,"
        f" over {count(len({row['booking_date'] for row in rows}), 'day')}."
        " Transfers between our own accounts are left out."
    )


def fees_figure_words(fees: Fees) -> str:
    """What `fees_and_rate` shows, for a person who cannot see it."""
    rates = [row for row in fees.requests["rate_bp"].to_pylist() if row is not None]
    spread = f"; single rates lie between {min(rates)} and {max(rates)}" if rates else ""
    parts = [
        f"{amount_words(sums.fee, sums.currency)} on {count(sums.requests, 'request')},"
        f" {sums.rate_bp if sums.rate_bp is not None else 'no'} basis points of the gross amount"
        for sums in fees.by_currency()
    ]
    told = "; ".join(parts) or "no request completed"
    return f"Fees by day of completion in {fees.months.title}: {told}{spread}."


def figure_svg(figure: Figure) -> bytes:
    """The figure as SVG; the same figure gives the same bytes."""
    out = io.BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(out, format="svg", metadata=_NO_METADATA)
    return out.getvalue()


def _own_lines(r: Reconciliation) -> list[dict[str, Any]]:
    columns = ["source", "line_class", "booking_date", "currency", "direction", "amount"]
    return [
        row
        for row in r.lines.select(columns).to_pylist()
        if row["source"] == "own_bank" and row["line_class"] != "own_transfer"
    ]


def _cash(r: Reconciliation) -> dict[tuple[str, str, date], Decimal]:
    groups: dict[tuple[str, str, date], list[Decimal]] = {}
    for row in _own_lines(r):
        key = (row["currency"], row["direction"], row["booking_date"])
        groups.setdefault(key, []).append(row["amount"])
    return {key: total(amounts) for key, amounts in groups.items()}


def _panels(number: int, *, height: float) -> tuple[Figure, Sequence[Axes]]:
    number = max(number, 1)
    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.06)
    figure = Drawing(figsize=(_WIDTH, height * number), layout=layout)
    grid = figure.subplots(number, 1, squeeze=False)
    return figure, list(grid[:, 0])


def _settled(figure: Figure) -> Figure:
    """The figure with its places fixed: each drawing would move them a little further."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    return figure


def _cash_panel(
    axes: Axes, month: Month, currency: str, sums: Mapping[tuple[str, str, date], Decimal]
) -> None:
    _days(axes, month)
    parts = []
    for direction, word, colour, sign in (
        ("CRDT", "in", INK["first"], 1),
        ("DBIT", "out", INK["second"], -1),
    ):
        own = {
            at: amount
            for (of, way, at), amount in sums.items()
            if (of, way) == (currency, direction)
        }
        places = [at.day for at in own]
        heights = [sign * float(amount) for amount in own.values()]
        axes.bar(places, heights, width=0.72, color=colour, zorder=2)
        parts.append((f"{word} {_amount(total(own.values()), currency)}", colour))
    axes.axhline(0, color=INK["muted"], linewidth=0.9, zorder=3)
    axes.set_title(f"Cash in and out by day, {_label(currency)}")
    _legend(axes, parts)
    _scale(axes, currency)


def _fee_panel(axes: Axes, month: Month, currency: str, rows: Sequence[Mapping[str, Any]]) -> None:
    _days(axes, month)
    base: dict[int, float] = {}
    parts = []
    for direction, colour in (("on-ramp", INK["first"]), ("off-ramp", INK["second"])):
        own: dict[int, list[Decimal]] = {}
        for row in rows:
            if row["direction"] == direction and row["fee"] is not None:
                own.setdefault(row["completed_on"].day, []).append(row["fee"])
        heights = [float(total(amounts)) for amounts in own.values()]
        floors = [base.get(at, 0.0) for at in own]
        axes.bar(
            list(own), heights, bottom=floors, width=0.72,
            color=colour, edgecolor="white", linewidth=0.6, zorder=2,
        )  # fmt: skip
        for at, height in zip(own, heights, strict=True):
            base[at] = base.get(at, 0.0) + height
        everything = total(amount for amounts in own.values() for amount in amounts)
        parts.append((f"{direction} {_amount(everything, currency)}", colour))
    axes.set_title(f"Fees by day of completion, {_label(currency)}")
    _legend(axes, parts)
    _scale(axes, currency)
    axes.set_ylim(bottom=0)


def _rate_panel(axes: Axes, month: Month, currency: str, rows: Sequence[Mapping[str, Any]]) -> None:
    _days(axes, month)
    parts = []
    for direction, word, colour, marker in (
        ("on-ramp", "● on-ramp", INK["first"], "o"),
        ("off-ramp", "■ off-ramp", INK["second"], "s"),
    ):
        # One point for all requests of a day within a basis point: no eye could part them.
        points = sorted(
            {
                (row["completed_on"].day, round(row["rate_bp"]))
                for row in rows
                if row["direction"] == direction and row["rate_bp"] is not None
            }
        )
        # A day's points stand side by side: the circle a little left, the square a little right.
        shift = -0.16 if marker == "o" else 0.16
        axes.scatter(
            [at + shift for at, _ in points], [float(rate) for _, rate in points],
            s=30, marker=marker, color=colour, edgecolors="white", linewidths=0.6, zorder=3,
        )  # fmt: skip
        parts.append((word, colour))
    axes.set_title(f"Effective rate of each request, {_label(currency)}: basis points of gross")
    _legend(axes, parts)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_ylim(0, 1.25 * max((float(row["rate_bp"] or 0) for row in rows), default=0) or 100)


def _days(axes: Axes, month: Month) -> None:
    """The days of a month from left to right; those on which TARGET is closed are shaded."""
    for at in month.days():
        if not is_target_day(at):
            axes.axvspan(at.day - 0.5, at.day + 0.5, color=INK["closed"], linewidth=0, zorder=0)
    last = month.last.day
    places = [1, *range(5, last - 1, 5), last]
    axes.set_xlim(0.4, last + 0.6)
    axes.set_xticks(places, [day(month.first), *map(str, places[1:-1]), day(month.last)])
    axes.grid(axis="y", zorder=1)
    axes.set_axisbelow(True)


def _legend(axes: Axes, parts: Iterable[tuple[str, str]]) -> None:
    """Names in their colours under the title, so that no key has to be looked up."""
    at = 0.0
    for words, colour in parts:
        axes.annotate(
            words, (0, 1), xytext=(at, 8), xycoords="axes fraction", textcoords="offset points",
            color=colour, fontweight="bold", annotation_clip=False,
        )  # fmt: skip
        at += 6.4 * len(words) + 14


def _scale(axes: Axes, currency: str) -> None:
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(_tick(_label(currency))))


def _tick(currency: str) -> Callable[[float, int], str]:
    def words(place: float, _: int) -> str:
        return (
            f"{currency} {abs(place):,.0f}" if place == int(place) else f"{currency} {place:,.2f}"
        )

    return words


def _amount(amount: Decimal, currency: str) -> str:
    return amount_words(amount, _label(currency))


def _label(currency: str) -> str:
    """A currency code that any font can draw; it comes from outside."""
    return _STRANGE.sub("?", currency)[:12]


def _nothing(axes: Axes, words: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", color=INK["muted"])
