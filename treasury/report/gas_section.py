"""What company wallets paid for gas as a section of the report: by use, and each transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from treasury.close.coins.coin_value import REPORTING
from treasury.close.fees.gas_costs import GasCosts
from treasury.close.result_words import amount_words, day, short_account
from treasury.report.grids import Cell, Section, amount_cell, make_cell, make_grid
from treasury.text import clean

__all__ = ["gas_section"]

NONE: Final = (
    "No gas is known. An explorer's list of transactions names it: `treasury wallets add FILE`."
)
BELONGS: Final = (
    "Gas belongs to the request whose hash its transaction has, else to the transfer; a transaction"
    " counts once. One that failed moved nothing and paid its gas."
)
VALUED: Final = (
    "Valued on its day by the reference rates. A native coin has one by the company's own file"
    " alone; what has none is in no value, and not zero."
)


def gas_section(gas: GasCosts) -> Section:
    """The section; nothing of it has a figure."""
    if not gas.each.num_rows:
        return Section("gas", "Gas", NONE)
    coins = tuple(
        (
            make_cell(f"All in {coin}"),
            *(Cell() for _ in range(3)),
            make_cell(amount_words(paid, coin)),
            Cell(),
            Cell(),
        )
        for coin, paid in gas.coins
    )
    value = (
        make_cell("All that has a value"),
        *(Cell() for _ in range(4)),
        make_cell("–" if gas.value is None else amount_words(gas.value, REPORTING)),
        make_cell(gas.not_valued or "–"),
    )
    grids = (
        make_grid(
            "Gas by use and coin",
            "For | Month | >Transactions | >Failed | >Gas | >Value | >No reference rate",
            gas.by_use,
            lambda row: (
                make_cell(row["used_for"]),
                make_cell(row["month"]),
                make_cell(row["payments"]),
                make_cell(row["failed"] or "–"),
                amount_cell(row, "gas", "coin"),
                _value_cell(row),
                make_cell(row["not_valued"] or "–"),
            ),
            foot=(*coins, value),
            sheet="Gas",
        ),
        make_grid(
            "Gas of each transaction",
            "For | Day | Wallet | >Gas | >Value | Rate",
            gas.each,
            _payment_row,
            sheet="Gas payments",
        ),
    )
    rests_on = clean("Reference rates: " + "; ".join(gas.rests_on) + ".")
    notes = (BELONGS, VALUED, *((rests_on,) if gas.rests_on else ()))
    return Section("gas", "Gas", f"{gas.title}.", grids, notes)


def _payment_row(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    more = f" and {row['shared_by'] - 1} more" if row["shared_by"] > 1 else ""
    return (
        make_cell(f"{row['reference']}{more}" or "–", row["used_for"]),
        make_cell(day(row["paid_on"])),
        make_cell(short_account(row["wallet"]), f"{row['chain']} {row['transaction_hash'][:10]}…"),
        make_cell(amount_words(row["gas"], row["coin"]), "failed" if row["failed"] else "", ""),
        _value_cell(row),
        make_cell(row["not_valued"] or row["valued_by"]),
    )


def _value_cell(row: Mapping[str, Any]) -> Cell:
    """The value, or that there is none: never zero."""
    if row["gas_value"] is None:
        return make_cell("no reference rate")
    return amount_cell(row, "gas_value", "value_currency")
