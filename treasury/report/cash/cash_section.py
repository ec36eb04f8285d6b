"""The report's sections on funds at the month's end, and on the flows that are expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from treasury.close.cash.cash_answer import Cash
from treasury.close.result_words import amount_words, count, day, moment
from treasury.core.calendar import Month
from treasury.core.money import total
from treasury.core.text import clean
from treasury.core.wording import FLOWS, FUNDS, state_words
from treasury.month.funding import short_account
from treasury.report.grids import NOTES, Section, amount_cell, filled, make_cell, make_grid

_AMOUNTS: Final = ("opening", "money_in", "money_out", "balance", "lowest")
_DAY_AMOUNTS: Final = _AMOUNTS[:-1]

_Row = Mapping[str, Any]


def funds_section(cash: Cash, month: Month, *, unread: str = "") -> Section:
    """Return the totals of a month's end per currency, and the lowest balance of each forecast.

    `unread` is a note that the services were never read.
    """
    grids = filled(
        make_grid(
            "Funds per currency; no row is part of another, and rows are not added up",
            "What | Currency | >Amount | Rests on | >Not counted",
            cash.funds.arrow,
            lambda row: (
                FUNDS[row["funds"]],
                row["currency"],
                amount_cell(row, absent="–" if row["funds"] == "in_transit" else "not known"),
                day(row["proved_to"], month.year),
                f"{row['not_counted']:,}" if row["not_counted"] else "–",
            ),
            sheet="Funds",
        ),
        make_grid(
            f"The next {cash.days} days from {moment(cash.at, cash.zone, month.year)},"
            " from what is known",
            "Currency | >Balance | >In | >Out | >At the end | >Lowest | On",
            _summaries(cash),
            lambda row: (
                row["currency"],
                *(amount_cell(row, name, absent="not proved") for name in _AMOUNTS),
                day(row["on"], month.year),
            ),
            sheet="Expected flows",
        ),
    )
    lead = f"With the provider: {unread}." if unread else ""
    notes = (*NOTES["funds"], *map(clean, cash.notes))
    return Section("funds", f"Funds at {day(month.last)}", lead, grids, notes)


def _summaries(cash: Cash) -> list[dict[str, Any]]:
    """Return one row per currency that has flows: its first and last balance, and the lowest."""
    rows: dict[str, list[_Row]] = {}
    for row in cash.forecast.arrow.to_pylist():
        rows.setdefault(row["currency"], []).append(row)
    return [
        {
            "currency": currency,
            "opening": own[0]["opening"],
            "money_in": total(row["money_in"] for row in own),
            "money_out": total(row["money_out"] for row in own),
            "balance": own[-1]["balance"],
            "lowest": min((row["lowest"] for row in own if row["is_lowest"]), default=None),
            "on": min((row["day"] for row in own if row["is_lowest"]), default=None),
        }
        for currency, own in rows.items()
        if any(row["flows"] for row in own)
    ]


def flows_section(cash: Cash, month: Month) -> Section:
    """Return the flows behind the forecast, those in no sum, its days, and accounts' floors."""
    captions = {
        "Expected, by day": cash.expected.arrow,
        "In no sum: without a date, not seen though it has passed, or later": cash.apart.arrow,
    }
    grids = filled(
        *(
            make_grid(
                caption,
                "Day | What | Reference | >In | >Out | Account | State",
                rows,
                lambda row: (
                    day(row["day"] or row["due"], month.year) or "no date",
                    FLOWS[row["flow"]],
                    row["item"],
                    *(
                        amount_words(row["amount"], row["currency"])
                        if row["direction"] == side
                        else "–"
                        for side in ("in", "out")
                    ),
                    short_account(row["account"]),
                    make_cell(state_words(row["state"]), row["evidence"]),
                ),
                sheet="Expected flows",
            )
            for caption, rows in captions.items()
        )
    )
    number = len(cash.flows)
    own = sum(row["flow"] == "own_flow" for row in cash.flows.arrow.to_pylist())
    if not number:
        return Section("flows", "Expected flows", "No flow is known.")
    lead = f"{count(number, 'flow')} known, {own:,} of them our own."
    grids += filled(
        make_grid(
            "Balance at the end of each day with a flow",
            "Currency | Day | >Before | >In | >Out | >Balance",
            [row for row in cash.forecast.arrow.to_pylist() if row["flows"]],
            lambda row: (
                row["currency"],
                make_cell(day(row["day"], month.year), "lowest" if row["is_lowest"] else ""),
                *(amount_cell(row, name, absent="not proved") for name in _DAY_AMOUNTS),
            ),
            sheet="Forecast",
        ),
        make_grid(
            "Floors of accounts",
            "Account | >Floor | >Lowest | On | Verdict",
            cash.floors.arrow,
            lambda row: (
                make_cell(row["name"] or short_account(row["account"]), row["currency"]),
                *(amount_cell(row, name, absent="not proved") for name in ("floor", "lowest")),
                day(row["lowest_on"], month.year),
                row["verdict"].replace("_", " "),
            ),
            sheet="Forecast",
        ),
    )
    return Section("flows", "Expected flows", lead, grids, (), "forecast")
