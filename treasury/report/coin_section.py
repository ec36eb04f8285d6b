"""The report's section on coins: measured pools, disclosed coins, and coins not proved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow.compute as pc

from treasury.close.result_words import amounts_words, day
from treasury.close.valuation.coins.coin_accounts import CoinAccounts
from treasury.core.text import clean
from treasury.month.funding import short_account
from treasury.report.grids import (
    NOTES,
    Cell,
    Section,
    amount_cell,
    bare_amount,
    filled,
    make_cell,
    make_grid,
)

_WORDS: Final = {
    "cost": "lower of cost and value",
    "reserves": "value, with the difference posted to reserves",
    "profit_and_loss": "value, with the difference posted to profit and loss",
    "weighted_average": "weighted average",
    "fifo": "first in, first out",
    "none": "the new basis",
    "next_month": "reversed on the first",
}
"""The words for the terms of measurement."""
_TERMS: Final = ("measurement", "cost_formula", "reversal")
_RECOGNISED: Final = ("opening", "reversed", "acquired", "transferred", "disposed", "remeasured")


def coins_section(coins: CoinAccounts) -> Section:
    """Return the section on coins, which has no figure."""
    known = coins.disclosed.arrow.filter(pc.is_valid(coins.disclosed.arrow["value"])).to_pylist()
    worth = [(row["value"], row["currency"]) for row in known]
    grids = filled(
        make_grid(
            "Measured: carrying amounts of coins",
            "Coin | >Quantity | >Opening | >Reversed | >Acquired | >Transferred | >Disposed"
            " | >Remeasured | >Closing | >Realised | >Value | Problem",
            coins.measured.arrow,
            lambda row: (
                make_cell(
                    row["coin"],
                    f"{_holder(row)}; {', '.join(_WORDS[row[name]] for name in _TERMS)}",
                ),
                amount_cell(row, "closing_quantity", "coin"),
                *(bare_amount(row, name) for name in _RECOGNISED),
                amount_cell(row, "closing"),
                bare_amount(row, "gain"),
                make_cell(bare_amount(row, "value"), row["valued_by"]),
                make_cell(
                    row["problem"] or "ties", row["next_step"], "bad" if row["problem"] else "ok"
                ),
            ),
            sheet="Coins",
        ),
        make_grid(
            "Disclosed: no measurement is set, and nothing is posted",
            "Coin | >Quantity | >Value, assumed | Rate",
            coins.disclosed.arrow,
            lambda row: (
                make_cell(row["coin"], _holder(row)),
                amount_cell(row, "closing_quantity", "coin"),
                bare_amount(row, "value"),
                make_cell(day(row["rate_day"]) if row["rate_day"] else "none", row["valued_by"]),
            ),
            foot=(
                (make_cell("All that has a rate"), Cell(), make_cell(amounts_words(worth)), Cell()),
            ),
            sheet="Coins",
        ),
        make_grid(
            "Not proved: not included above",
            "Coin | What | >Quantity | >Value, assumed | Why",
            coins.unproved.arrow,
            lambda row: (
                row["coin"],
                make_cell(row["subject"], short_account(row["holder"])),
                amount_cell(row, "quantity", "coin", "not known"),
                bare_amount(row, "value"),
                make_cell(row["problem"], row["next_step"]),
            ),
            sheet="Coins not proved",
        ),
    )
    notes = NOTES["disclosed"]
    if len(coins.measured):
        notes = (*NOTES["measured"], *notes, *coins.notes)
    lead = f"{coins.title}." if grids else "No coins at the month's end."
    return Section("coins", "Coins", lead, grids, tuple(map(clean, notes)) if grids else ())


def _holder(row: Mapping[str, Any]) -> str:
    return row["name"] or short_account(row["pool"])
