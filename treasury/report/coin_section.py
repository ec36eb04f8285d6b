"""The coins of a month as a section of the report: measured pools, disclosed balances, the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow.compute as pc

from treasury.close.coins.coin_accounts import CoinAccounts
from treasury.close.result_words import amount_words, amounts_words, day, short_account
from treasury.report.grids import Cell, Grid, Section, amount_cell, make_cell, make_grid
from treasury.text import clean

__all__ = ["coins_section"]

WORDS: Final = {
    "cost": "lower of cost and value",
    "reserves": "value, the difference to reserves",
    "profit_and_loss": "value, the difference to profit and loss",
    "weighted_average": "weighted average",
    "fifo": "first in, first out",
    "none": "the new basis",
    "next_month": "taken back on the first",
}
"""What the terms of measurement are called."""
TIES: Final = (
    "Opening + reversed + acquired + transferred - disposed + remeasured = closing. A request's fee"
    " is in no cost and no proceeds: it stands among the fees."
)
DISCLOSURE: Final = (
    "Disclosed: the proved balance at the month's last reference rate. That is an assumption, not a"
    " fair value, and nothing of it is posted."
)
RECOGNISED: Final = ("opening", "reversed", "acquired", "transferred", "disposed", "remeasured")


def coins_section(coins: CoinAccounts) -> Section:
    """The section; nothing of it has a figure."""
    grids = tuple(filter(None, (_measured(coins), _disclosed(coins), _unproved(coins))))
    notes = (TIES, DISCLOSURE, *coins.notes) if coins.measured.num_rows else (DISCLOSURE,)
    lead = f"{coins.title}." if grids else "No coins at the month's end."
    return Section("coins", "Coins", lead, grids, tuple(map(clean, notes)) if grids else ())


def _measured(coins: CoinAccounts) -> Grid | None:
    if not coins.measured.num_rows:
        return None
    return make_grid(
        "Measured: what coins are carried at",
        "Coin | >Quantity | >Opening | >Reversed | >Acquired | >Transferred | >Disposed"
        " | >Remeasured | >Closing | >Realised | >Value | Problem",
        coins.measured,
        _measured_row,
        sheet="Coins",
    )


def _measured_row(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    terms = ", ".join(WORDS[row[name]] for name in ("measurement", "cost_formula", "reversal"))
    return (
        make_cell(row["coin"], f"{_holder(row)}; {terms}"),
        make_cell(amount_words(row["closing_quantity"], row["coin"])),
        *(make_cell(_bare(row, name)) for name in RECOGNISED),
        amount_cell(row, "closing"),
        make_cell(_bare(row, "gain")),
        make_cell(_bare(row, "value"), row["valued_by"]),
        make_cell(row["problem"] or "ties", row["next_step"], "bad" if row["problem"] else "ok"),
    )


def _bare(row: Mapping[str, Any], name: str) -> str:
    """An amount whose currency stands beside it."""
    if row[name] is None:
        return "–"
    return amount_words(row[name], row["currency"]).removeprefix(f"{row['currency']} ")


def _holder(row: Mapping[str, Any]) -> str:
    return row["name"] or short_account(row["pool"])


def _disclosed(coins: CoinAccounts) -> Grid | None:
    rows = coins.disclosed
    if not rows.num_rows:
        return None
    known = rows.filter(pc.is_valid(rows["value"])).to_pylist()
    worth = [(row["value"], row["currency"]) for row in known]
    return make_grid(
        "Disclosed: no measurement is set, and nothing is posted",
        "Coin | >Quantity | >Value, assumed | Rate",
        rows,
        lambda row: (
            make_cell(row["coin"], _holder(row)),
            make_cell(amount_words(row["closing_quantity"], row["coin"])),
            make_cell(_bare(row, "value")),
            make_cell(day(row["rate_day"]) if row["rate_day"] else "none", row["valued_by"]),
        ),
        foot=((make_cell("All that has a rate"), Cell(), make_cell(amounts_words(worth)), Cell()),),
        sheet="Coins",
    )


def _unproved(coins: CoinAccounts) -> Grid | None:
    if not coins.unproved.num_rows:
        return None
    return make_grid(
        "Not proved: in no sum above",
        "Coin | What | >Quantity | >Value, assumed | Why",
        coins.unproved,
        lambda row: (
            make_cell(row["coin"]),
            make_cell(row["subject"], short_account(row["holder"])),
            make_cell("not known" if row["quantity"] is None else _quantity(row)),
            make_cell(_bare(row, "value")),
            make_cell(row["problem"], row["next_step"]),
        ),
        sheet="Coins not proved",
    )


def _quantity(row: Mapping[str, Any]) -> str:
    return amount_words(row["quantity"], row["coin"])
