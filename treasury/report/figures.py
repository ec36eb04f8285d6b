"""The figures of one or several months, each drawn from rows, and each with a description.

Each figure has two functions. The first takes a DataFrame, an Arrow table or a list of rows and
returns a `Figure`; amounts in several currencies have a panel each, and bars begin at zero. The
second, `…_words`, returns a description for people who cannot see the figure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from treasury.close.result_words import amount_words, amounts_words, count, day
from treasury.core.calendar import Month
from treasury.core.money import total
from treasury.month.items.open_item import OpenItem
from treasury.report.drawing import (
    INK,
    amount_text,
    days,
    drawn,
    label,
    legend,
    nothing,
    panels,
    records,
    ruled,
    scale,
    together,
)

if TYPE_CHECKING:
    from treasury.report.drawing import Frame

_LINES: Final = ("source", "line_class", "booking_date", "currency", "direction", "amount")
_REQUESTS: Final = ("direction", "completed_on", "fiat_currency", "fiat_gross", "fee", "rate_bp")
_TREND: Final = ("month", "fiat_currency", "requests", "fee", "rate_bp")
_PAIRS: Final = (
    "month", "pair", "conversions", "value_currency", "reference_difference",
    "reference_difference_bp", "lowest_bp", "highest_bp", "difference_is",
)  # fmt: skip
_ITEMS: Final = ("currency", "amount", "age_days")
_TIMES: Final = ("direction", "seconds")
_DAYS: Final = ("day", "kind", "currency", "amount", "valued_by")
_WHOLE: Final = "all"

_AGES: Final = (
    (1, "today or yesterday"),
    (5, "2 to 5 days"),
    (10, "6 to 10 days"),
    (30, "11 to 30 days"),
    (None, "older"),
)
_WAITS: Final = (
    (4, "under 4 h"),
    (24, "4 h to 1 day"),
    (48, "1 to 2 days"),
    (72, "2 to 3 days"),
    (120, "3 to 5 days"),
    (None, "longer"),
)
_WAYS: Final = (("on-ramp", "■", INK["first"], ""), ("off-ramp", "▨", INK["second"], "////"))
"""The directions with key, colour and hatching; the hatching distinguishes them in black and white.
"""


@drawn
def cash_by_day(lines: Frame, month: Month) -> Figure:
    """Draw the money in and out of our bank accounts by booking day, in above zero and out below.

    `lines` as in `Reconciliation.lines`. Transfers between our own accounts are left out.
    """
    rows = _own_lines(lines)
    groups: dict[tuple[str, str, date], list[Decimal]] = {}
    for row in rows:
        key = (row["currency"], row["direction"], row["booking_date"])
        groups.setdefault(key, []).append(row["amount"])
    sums = {key: total(amounts) for key, amounts in groups.items()}
    currencies = sorted({currency for currency, _, _ in sums})
    figure, axes = panels(len(currencies), height=2.9)
    for panel, currency in zip(axes, currencies, strict=False):
        days(panel, month)
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
            panel.bar(places, heights, width=0.72, color=colour, zorder=2)
            parts.append((f"{word} {amount_text(total(own.values()), currency)}", colour))
        panel.axhline(0, color=INK["muted"], linewidth=0.9, zorder=3)
        panel.set_title(f"Cash in and out by day, {label(currency)}")
        legend(panel, parts)
        scale(panel, currency, below_is_out=True)
    if not currencies:
        nothing(axes[0], "No booked line on our own bank accounts")
    return figure


def cash_words(lines: Frame, month: Month) -> str:
    """Describe `cash_by_day`."""
    rows = _own_lines(lines)
    if not rows:
        return f"No booked line on our own bank accounts in {month.title}."
    money_in, money_out = (
        amounts_words((row["amount"], row["currency"]) for row in rows if row["direction"] == side)
        for side in ("CRDT", "DBIT")
    )
    return (
        f"Cash by booking day in {month.title} on our own bank accounts:"
        f" {money_in or 'nothing'} came in and {money_out or 'nothing'} went out,"
        f" over {count(len({row['booking_date'] for row in rows}), 'day')}."
        " Transfers between our own accounts are left out."
    )


@drawn
def fees_and_rate(requests: Frame, month: Month) -> Figure:
    """Draw fees by the day of completion, and below them each request's effective rate.

    `requests` as in `Fees.requests`.
    """
    rows = together(requests, "fee", _REQUESTS)
    currencies = sorted({row["fiat_currency"] for row in rows})
    figure, axes = panels(2 * len(currencies), height=2.2)
    for at, currency in enumerate(currencies):
        own = [row for row in rows if row["fiat_currency"] == currency]
        _fee_panel(axes[2 * at], month, currency, own)
        _rate_panel(axes[2 * at + 1], month, currency, own)
    if not currencies:
        nothing(axes[0], "No request completed in the month")
    return figure


def fees_and_rate_words(requests: Frame, month: Month) -> str:
    """Describe `fees_and_rate`."""
    rows = together(requests, "fee", _REQUESTS)
    rates = [row["rate_bp"] for row in rows if row["rate_bp"] is not None]
    spread = (
        f"; single rates lie between {min(rates)} and {max(rates)} basis points" if rates else ""
    )
    fees = amounts_words(
        (row["fee"], row["fiat_currency"])
        for row in rows
        for _ in range(row["rows"] if row["fee"] is None else 1)
    )
    requested = count(sum(row["rows"] for row in rows), "request")
    summary = f"{fees} on {requested}" if rows else "no request completed"
    return f"Fees by day of completion in {month.title}: {summary}{spread}."


@drawn
def fees_by_month(trend: Frame) -> Figure:
    """Draw each month's fees as bars with the effective rate above; `trend` as in `Fees.trend`."""
    rows = records(trend, _TREND)
    figure, parts = _by_currency(rows, "fiat_currency", 2.9, "No request completed in these months")
    for axes, currency, own in parts:
        places = range(len(own))
        fees = [float(row["fee"]) for row in own]
        axes.bar(places, fees, width=0.6, color=INK["first"], zorder=2)
        axes.margins(y=0.2)
        for at, row in enumerate(own):
            words = "–" if row["rate_bp"] is None else f"{row['rate_bp']} bp"
            axes.annotate(
                words, (at, fees[at]), xytext=(0, 4), textcoords="offset points",
                ha="center", color=INK["text"], fontsize=8,
            )  # fmt: skip
        axes.set_xlim(-0.6, max(len(own), 4) - 0.4)
        axes.set_xticks(places, [row["month"] for row in own])
        axes.set_ylim(bottom=0)
        ruled(axes)
        axes.set_title(f"Fees by month of completion, {label(currency)}")
        everything = amount_text(total(row["fee"] for row in own), currency)
        legend(axes, [(f"{everything}; above each bar the effective rate", INK["muted"])])
        scale(axes, currency)
    return figure


def fees_by_month_words(trend: Frame) -> str:
    """Describe `fees_by_month`."""
    rows = records(trend, _TREND)
    if not rows:
        return "No request completed in these months."
    parts = (
        f"{row['month']} {amount_words(row['fee'], row['fiat_currency'])}"
        f" on {count(row['requests'], 'request')}"
        + ("" if row["rate_bp"] is None else f" at {row['rate_bp']} basis points")
        for row in rows
    )
    return f"Fees and effective rate by month: {'; '.join(parts)}."


@drawn
def conversion_costs(costs: Frame) -> Figure:
    """Draw the difference from the reference rates by pair, in basis points, with its range.

    `costs` as in `ConversionCosts.by_pair`.
    """
    rows = _valued_pairs(costs)
    figure, (axes,) = panels(1, height=max(1.6, 0.5 * len(rows) + 1))
    if not rows:
        nothing(axes, "No conversion has a value")
        return figure
    points = [float(row["reference_difference_bp"]) for row in rows]
    axes.barh(range(len(rows)), points, height=0.5, color=INK["first"], zorder=2)
    for at, row in enumerate(rows):
        bounds = [float(row["lowest_bp"]), float(row["highest_bp"])]
        axes.plot(bounds, [at, at], color=INK["text"], linewidth=1.2, marker="|", zorder=3)
        euros = amount_text(row["reference_difference"], row["value_currency"])
        axes.annotate(
            f"{row['reference_difference_bp']} bp · {euros} ·"
            f" {count(row['conversions'], 'conversion')}",
            (max(0.0, *bounds), at), xytext=(6, 0), textcoords="offset points",
            va="center", fontsize=8, annotation_clip=False,
        )  # fmt: skip
    axes.axvline(0, color=INK["muted"], linewidth=0.9, zorder=1)
    axes.set_yticks(range(len(rows)), [_pair_label(row, rows) for row in rows])
    axes.invert_yaxis()
    least, most = axes.get_xlim()
    axes.set_xlim(least, most + 0.6 * max(most - least, 1.0))
    axes.set_title("Difference from the reference by pair: basis points of the converted amount")
    legend(axes, [("the line is the range of single conversions", INK["muted"])])
    return figure


def conversion_costs_words(costs: Frame) -> str:
    """Describe `conversion_costs`."""
    rows = _valued_pairs(costs)
    if not rows:
        return "No conversion has a value."
    parts = (
        f"{_pair_label(row, rows)} {row['reference_difference_bp']} basis points, between"
        f" {row['lowest_bp']} and {row['highest_bp']},"
        f" {amount_words(row['reference_difference'], row['value_currency'])}"
        f" on {count(row['conversions'], 'conversion')}"
        for row in rows
    )
    return f"Difference from the reference rates: {'; '.join(parts)}."


def _valued_pairs(costs: Frame) -> list[dict[str, Any]]:
    return [row for row in records(costs, _PAIRS) if row["reference_difference_bp"] is not None]


def _pair_label(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the label of a pair, with month and source of rates if these differ between rows."""
    words = [row["pair"]]
    if len({other["month"] for other in rows}) > 1:
        words.append(row["month"])
    pairs = [(other["month"], other["pair"]) for other in rows]
    if pairs.count((row["month"], row["pair"])) > 1:
        words.append(row["difference_is"].removeprefix("difference ").partition(" (")[0])
    return ", ".join(words)


def aged_items(items: Iterable[OpenItem], at: date) -> tuple[list[dict[str, Any]], str]:
    """Return the items that totals include, with their age in calendar days, and a note.

    Balances, ledger differences, and items without a counted amount or a first day are left out.
    The note states the day to which the ages count, and how many items are left out.
    """
    each = list(items)
    rows = [
        {
            "currency": item.currency,
            "amount": item.counted_amount,
            "age_days": max((at - item.since).days, 0),
        }
        for item in each
        if item.counted_amount is not None
        and item.since is not None
        and item.subject not in ("balance", "ledger")
    ]
    return rows, age_note(at, len(each) - len(rows))


def age_note(at: date, left_out: int) -> str:
    """Return the note of an age chart: the day of the ages, and the number of items left out."""
    words = f"Ages are calendar days to {at:%-d %b %Y}"
    if left_out:
        words += (
            f"; not drawn: {count(left_out, 'item')} about balances, without an amount or"
            " a day, or with an amount that another item has"
        )
    return words


@drawn
def open_items_by_age(items: Frame, note: str = "") -> Figure:
    """Draw open amounts by age, with the number of items next to each bar, and a note below.

    `items`: one row per item with `currency`, `amount` and `age_days`.
    """
    figure, parts = _by_currency(records(items, _ITEMS), "currency", 2.4, "No open items")
    for axes, currency, rows in parts:
        for at in range(len(_AGES)):
            own = [row for row in rows if _bucket(_AGES, row["age_days"]) == at]
            amount = total(row["amount"] for row in own)
            axes.barh(at, float(amount), height=0.62, color=INK["first"], zorder=2)
            if own:
                axes.annotate(
                    f"{amount_text(amount, currency)} · {count(len(own), 'item')}",
                    (float(amount), at), xytext=(6, 0), textcoords="offset points",
                    va="center", fontsize=8, annotation_clip=False,
                )  # fmt: skip
        axes.set_yticks(range(len(_AGES)), [words for _, words in _AGES])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.35 * max(axes.get_xlim()[1], 1e-9))
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.set_title(f"Open items by age, {label(currency)}")
        everything = amount_text(total(row["amount"] for row in rows), currency)
        legend(axes, [(f"{everything} in {count(len(rows), 'item')}", INK["muted"])])
    if note:
        figure.supxlabel(note, x=0.01, ha="left", fontsize=8, color=INK["muted"])
    return figure


def open_items_words(items: Frame, note: str = "") -> str:
    """Describe `open_items_by_age`."""
    rows = records(items, _ITEMS)
    if not rows:
        return "No open items."
    parts = []
    for bucket, (_, words) in enumerate(_AGES):
        own = [row for row in rows if _bucket(_AGES, row["age_days"]) == bucket]
        if own:
            sums = amounts_words((row["amount"], row["currency"]) for row in own)
            parts.append(f"{words} {sums} in {count(len(own), 'item')}")
    return f"Open items by age: {'; '.join(parts)}.{f' {note}.' if note else ''}"


@drawn
def funding_times(times: Frame) -> Figure:
    """Draw how long requests waited for funds: the number of requests by waiting time.

    `times`: one row per request with its `direction` and the `seconds` it awaited funds.
    """
    rows = records(times, _TIMES)
    figure, (axes,) = panels(1, height=2.9)
    if not rows:
        nothing(axes, "No request was funded")
        return figure
    base = [0] * len(_WAITS)
    parts = []
    counts = _counted(rows)
    for way, key, colour, stripes in _WAYS:
        if (own := counts.get(way)) is None:
            continue
        axes.bar(
            range(len(_WAITS)), own, bottom=base, width=0.7, hatch=stripes,
            color=colour, edgecolor="white", linewidth=0.6, zorder=2,
        )  # fmt: skip
        base = [below + number for below, number in zip(base, own, strict=True)]
        parts.append((f"{key} {way} {sum(own):,}", colour))
    axes.set_xticks(range(len(_WAITS)), [words for _, words in _WAITS])
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylim(bottom=0)
    ruled(axes)
    axes.set_title("Time awaiting funds: number of requests")
    legend(axes, parts)
    return figure


def funding_times_words(times: Frame) -> str:
    """Describe `funding_times`."""
    rows = records(times, _TIMES)
    if not rows:
        return "No request was funded."
    counts = _counted(rows)
    parts = [
        f"{words}: " + ", ".join(f"{counts[way][at]} {way}" for way in counts if counts[way][at])
        for at, (_, words) in enumerate(_WAITS)
        if any(counts[way][at] for way in counts)
    ]
    return f"How long {count(len(rows), 'request')} awaited funds: {'; '.join(parts)}."


@drawn
def exposure_by_day(exposure_days: Frame, month: Month, limit: Decimal | None = None) -> Figure:
    """Draw the value of all balances at the end of each day; columns as in EXPOSURE_DAYS.

    `limit` is the limit of all balances in the reporting currency, drawn as a line.
    """
    rows = _whole(exposure_days)
    figure, axes = panels(1, height=2.9)
    panel = axes[0]
    if not rows:
        nothing(panel, "No balance with the provider")
        return figure
    days(panel, month)
    currency = rows[0]["currency"]
    places, heights = [row["day"].day for row in rows], [float(row["amount"]) for row in rows]
    panel.bar(places, heights, width=0.72, color=INK["first"], zorder=2)
    most = max(row["amount"] for row in rows)
    parts = [(f"at most {amount_text(most, currency)}", INK["first"])]
    if limit is not None:
        panel.axhline(float(limit), color=INK["second"], linewidth=1.4, linestyle="--", zorder=3)
        parts.append((f"- - limit {amount_text(limit, currency)}", INK["second"]))
    panel.set_ylim(bottom=0)
    panel.set_title("With the provider at the end of each day, as far as proved")
    legend(panel, parts)
    scale(panel, currency)
    return figure


def exposure_words(exposure_days: Frame, month: Month, limit: Decimal | None = None) -> str:
    """Describe `exposure_by_day`."""
    rows = _whole(exposure_days)
    if not rows:
        return f"No proved balance with the provider in {month.title}."
    currency, last = rows[0]["currency"], rows[-1]
    most = max(rows, key=lambda row: row["amount"])
    words = (
        f"With the provider at the end of each day of {month.title}, as far as proved: at most"
        f" {amount_words(most['amount'], currency)} on {day(most['day'])},"
        f" {amount_words(last['amount'], currency)} on {day(last['day'])}."
    )
    without = sum(1 for row in rows if row["valued_by"])
    if without:
        words += f" On {count(without, 'day')} a currency has no reference rate and is left out."
    if limit is None:
        return words
    above = sum(1 for row in rows if row["amount"] > limit)
    over = f"{count(above, 'day')} ended above it"
    return f"{words} The limit is {amount_words(limit, currency)}; {over}."


def _whole(exposure_days: Frame) -> list[Mapping[str, Any]]:
    """Return one row per day with the total of all balances; no rows if there was no balance."""
    rows = [row for row in records(exposure_days, _DAYS) if row["kind"] == _WHOLE]
    order: dict[date, Mapping[str, Any]] = {row["day"]: row for row in rows}
    return [order[at] for at in sorted(order)] if any(row["amount"] for row in rows) else []


def _by_currency(
    rows: Sequence[Mapping[str, Any]], column: str, height: float, empty: str
) -> tuple[Figure, list[tuple[Axes, str, list[Mapping[str, Any]]]]]:
    """Return a figure with a panel for each currency, and each currency's rows."""
    currencies = sorted({row[column] for row in rows})
    figure, axes = panels(len(currencies), height=height)
    if not currencies:
        nothing(axes[0], empty)
    own = [[row for row in rows if row[column] == currency] for currency in currencies]
    return figure, list(zip(axes, currencies, own, strict=False))


def _own_lines(lines: Frame) -> list[dict[str, Any]]:
    return [
        row
        for row in together(lines, "amount", _LINES)
        if row["source"] == "own_bank" and row["line_class"] != "own_transfer"
    ]


def _fee_panel(axes: Axes, month: Month, currency: str, rows: Sequence[Mapping[str, Any]]) -> None:
    days(axes, month)
    base: dict[int, float] = {}
    parts = []
    for direction, key, colour, stripes in _WAYS:
        own: dict[int, list[Decimal]] = {}
        for row in rows:
            if row["direction"] == direction and row["fee"] is not None:
                own.setdefault(row["completed_on"].day, []).append(row["fee"])
        heights = [float(total(amounts)) for amounts in own.values()]
        floors = [base.get(at, 0.0) for at in own]
        axes.bar(
            list(own), heights, bottom=floors, width=0.72, hatch=stripes,
            color=colour, edgecolor="white", linewidth=0.6, zorder=2,
        )  # fmt: skip
        for at, height in zip(own, heights, strict=True):
            base[at] = base.get(at, 0.0) + height
        everything = total(amount for amounts in own.values() for amount in amounts)
        parts.append((f"{key} {direction} {amount_text(everything, currency)}", colour))
    axes.set_title(f"Fees by day of completion, {label(currency)}")
    legend(axes, parts)
    scale(axes, currency)
    axes.set_ylim(bottom=0)


def _rate_panel(axes: Axes, month: Month, currency: str, rows: Sequence[Mapping[str, Any]]) -> None:
    days(axes, month)
    parts = []
    for direction, word, colour, marker in (
        ("on-ramp", "● on-ramp", INK["first"], "o"),
        ("off-ramp", "■ off-ramp", INK["second"], "s"),
    ):
        # Requests of a day whose rates round to the same basis point share one point, because
        # separate points would overlap.
        points = sorted(
            {
                (row["completed_on"].day, round(row["rate_bp"]))
                for row in rows
                if row["direction"] == direction and row["rate_bp"] is not None
            }
        )
        # Points of a day are side by side: the circle slightly left, the square slightly right.
        shift = -0.16 if marker == "o" else 0.16
        axes.scatter(
            [at + shift for at, _ in points], [float(rate) for _, rate in points],
            s=30, marker=marker, color=colour, edgecolors="white", linewidths=0.6, zorder=3,
        )  # fmt: skip
        parts.append((word, colour))
    axes.set_title(f"Effective rate of each request, {label(currency)}: basis points of gross")
    legend(axes, parts)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set_ylim(0, 1.25 * max((float(row["rate_bp"] or 0) for row in rows), default=0) or 100)


def _counted(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = {}
    for row in rows:
        own = counts.setdefault(row["direction"], [0] * len(_WAITS))
        own[_bucket(_WAITS, row["seconds"] // 3600)] += 1
    return dict(sorted(counts.items(), reverse=True))


def _bucket(edges: Sequence[tuple[int | None, str]], value: int) -> int:
    """Return the bucket of a value; for ages, but not for waits, it includes its upper limit."""
    below = value if edges is _AGES else value + 1
    return next(at for at, (edge, _) in enumerate(edges) if edge is None or below <= edge)
