"""Fees, conversion costs and gas of a month as sections of the report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from typing import Any, Final

import pyarrow.compute as pc

from treasury.close.close_words import fees_words
from treasury.close.fees.conversion_costs import ConversionCosts
from treasury.close.fees.fee_checks import CHECK
from treasury.close.fees.fee_table import Fees, FeeTotal
from treasury.close.fees.gas_costs import GasCosts
from treasury.close.result_words import amount_words, count, day
from treasury.close.valuation.coins.coin_value import REPORTING
from treasury.core.tables.column_texts import value_text
from treasury.core.text import clean
from treasury.core.wording import DIRECTIONS
from treasury.month.funding import short_account
from treasury.month.reconciliation import Reconciliation
from treasury.report.grids import (
    NOTES,
    Cell,
    Grid,
    Section,
    amount_cell,
    filled,
    make_cell,
    make_grid,
)

_RATE_ABSENT: Final = "no reference rate"
_GAS_VALUE: Final = ("gas_value", "value_currency", _RATE_ABSENT)
"""The words for gas without a value, which is not zero."""
_LACK_A_RATE: Final = (_RATE_ABSENT, "not provable: no file has")
"""Beginnings of the reasons that mean only that a rate is missing."""


def fees_section(r: Reconciliation, fees: Fees, *, unread: str = "") -> Section:
    """Return the section on fees, with the figure `fees_and_rate`."""
    lead = f"{fees_words(fees)}, by the day of completion."
    if not len(fees.requests):
        none = f"{unread}." if unread else "No request completed in the month."
        return Section("fees", "Fees", none, filled(_accruals(r)))
    totals = make_grid(
        "Fees by direction, pair and tier",
        "Direction | Pair | Tier | >Requests | >Gross | >Fee | >Net | >Rate, bp | >Expected fee",
        fees.totals.arrow,
        _fee_total_row,
        foot=tuple(_fee_foot(sums) for sums in fees.by_currency()),
        sheet="Fees",
    )
    requests = make_grid(
        "Requests completed in the month",
        "Reference | Completed | Pair | >Gross | >Fee | >Net | >Rate, bp | >Crypto | Finding",
        fees.requests.arrow,
        _fee_row,
        sheet="Fees",
    )
    return Section(
        "fees", "Fees", lead, filled(totals, requests, _accruals(r)), NOTES["fees"], "fees"
    )


def _fee_total_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    missing = f"{row['without_fee']} without a recorded fee" if row["without_fee"] else ""
    return (
        row["direction"],
        row["pair"],
        row["tier"],
        make_cell(row["requests"], missing),
        amount_cell(row, "fiat_gross", "fiat_currency"),
        amount_cell(row, "fee", "fiat_currency"),
        amount_cell(row, "fiat_net", "fiat_currency"),
        _points(row["rate_bp"]),
        amount_cell(
            row,
            "expected_fee",
            "fiat_currency",
            note=_checked(row["to_check"], row["without_expected"]),
        ),
    )


def _checked(to_check: int, without: int) -> str:
    """Return a note that counts the fees to check and the fees without an expected amount."""
    parts = ((to_check, "to check"), (without, "not computed"))
    return ", ".join(f"{number} {word}" for number, word in parts if number)


def _fee_foot(sums: FeeTotal) -> tuple[Cell, ...]:
    amounts = (make_cell(amount_words(a, sums.currency)) for a in (sums.gross, sums.fee, sums.net))
    return (
        make_cell(f"All in {sums.currency}"),
        *[Cell()] * 2,
        make_cell(sums.requests),
        *amounts,
        _points(sums.rate_bp),
        make_cell(
            amount_words(sums.expected, sums.currency),
            _checked(sums.to_check, sums.without_expected),
        ),
    )


def _fee_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        make_cell(row["reference"] or "no reference", row["direction"]),
        day(row["completed_on"]),
        make_cell(row["pair"], row["chain"] or ""),
        amount_cell(row, "fiat_gross", "fiat_currency"),
        amount_cell(row, "fee", "fiat_currency"),
        amount_cell(row, "fiat_net", "fiat_currency"),
        _points(row["rate_bp"]),
        amount_cell(row, "crypto", "crypto_currency", note=_exchange(row)),
        make_cell(row["finding"], tone="bad" if row["finding"].startswith(CHECK) else ""),
    )


def _exchange(row: Mapping[str, Any]) -> str:
    """Return the conversion rate, and its deviation from the pair's other rates of that day."""
    if row["exchange_rate"] is None:
        return ""
    at = f"at {value_text(row['exchange_rate'])}"
    if row["rate_deviation_bp"] is None:
        return at
    return (
        f"{at}, {row['rate_deviation_bp']:+,.2f} bp from {count(row['others_that_day'], 'other')}"
    )


def _accruals(r: Reconciliation) -> Grid:
    return make_grid(
        "Accruals, not in the sums above: funded by month end, not completed by then",
        "Reference | Direction | Status | >Gross | >Fee",
        r.fee_accruals.arrow,
        lambda row: (
            row["reference"] or "no reference",
            DIRECTIONS.get(row["ramp_type"], row["ramp_type"]),
            row["status"],
            amount_cell(row, "fiat_gross", "fiat_currency"),
            amount_cell(row, "fee", "fiat_currency"),
        ),
        sheet="Accruals",
    )


def conversion_costs_section(costs: ConversionCosts, *, unread: str = "") -> Section:
    """Return conversion costs by month and pair; the figure is `conversion_costs`."""
    title, name = "Conversion costs", "conversion-costs"
    if not len(costs.each):
        none = f"{unread}." if unread else "No conversion in the month."
        return Section(name, title, none)
    grids = [
        make_grid(
            "Conversions by pair and month",
            "Pair | Month | >Conversions | >Given | >Stated fee | >Difference from the reference"
            " | >bp | >From, bp | >To, bp | >Cost",
            costs.by_pair.arrow,
            partial(_pair_row, _absences(costs)),
            foot=tuple(
                (
                    make_cell("All", sums.difference_is),
                    Cell(),
                    make_cell(sums.conversions),
                    Cell(),
                    make_cell(amount_words(sums.stated_fee, REPORTING)),
                    make_cell(amount_words(sums.reference_difference, REPORTING)),
                    _points(sums.reference_difference_bp),
                    Cell(),
                    Cell(),
                    make_cell(amount_words(sums.cost, REPORTING)),
                )
                for sums in costs.sums
            ),
            sheet="Conversion costs",
        )
    ]
    if costs.not_valued:
        grids.append(
            make_grid(
                "Without a value: not included above",
                "Conversion | Day | Pair | >Given | >Received | Why",
                costs.without_value.arrow,
                lambda row: (
                    make_cell(row["reference"] or "no reference", row["source"]),
                    day(row["converted_on"]),
                    row["pair"],
                    amount_cell(row, "given", "given_currency"),
                    amount_cell(row, "received", "received_currency"),
                    row["not_valued"],
                ),
                sheet="Conversions valued",
            )
        )
    rests_on = clean("Reference rates: " + "; ".join(costs.rests_on) + ".")
    notes = NOTES["conversion_costs"] + (rests_on,) * bool(costs.rests_on)
    return Section(name, title, f"{costs.title}.", tuple(grids), notes, "conversion-costs")


def _absences(costs: ConversionCosts) -> dict[tuple[str, str], str]:
    """Return why conversions have no value, by month and pair."""
    reasons: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
    without = costs.each.arrow.filter(pc.not_equal(costs.each.arrow["not_valued"], ""))
    for row in without.select(["month", "pair", "not_valued"]).to_pylist():
        reasons[row["month"], row["pair"]].add(row["not_valued"].startswith(_LACK_A_RATE))
    return {key: _RATE_ABSENT if all(of) else "without a value" for key, of in reasons.items()}


def _pair_row(
    absences: Mapping[tuple[str, str], str], row: Mapping[str, Any]
) -> tuple[object, ...]:
    without = f"{row['not_valued']} without a value" if row["not_valued"] else ""
    absence = absences.get((row["month"], row["pair"]), "")
    amounts = [
        amount_cell(row, name, "value_currency", absence)
        for name in ("given_value", "stated_fee", "reference_difference", "cost")
    ]
    return (
        make_cell(row["pair"], row["difference_is"]),
        row["month"],
        make_cell(row["conversions"], without),
        *amounts[:3],
        *(_points(row[f"{name}_bp"]) for name in ("reference_difference", "lowest", "highest")),
        amounts[3],
    )


def _points(basis_points: Decimal | None) -> Cell:
    return Cell("–" if basis_points is None else f"{basis_points:,.2f}")


def gas_section(gas: GasCosts) -> Section:
    """Return the section on gas, which has no figure."""
    if not len(gas.each):
        return Section("gas", "Gas", *NOTES["no_gas"])
    coins = tuple(
        (
            make_cell(f"All in {coin}"),
            *[Cell()] * 3,
            make_cell(amount_words(paid, coin)),
            *[Cell()] * 2,
        )
        for coin, paid in gas.coins
    )
    value = (
        make_cell("All with a value"),
        *[Cell()] * 4,
        make_cell("–" if gas.value is None else amount_words(gas.value, REPORTING)),
        make_cell(gas.not_valued or "–"),
    )
    grids = (
        make_grid(
            "Gas by use and coin",
            "For | Month | >Transactions | >Failed | >Gas | >Value | >No reference rate",
            gas.by_use.arrow,
            lambda row: (
                row["used_for"],
                row["month"],
                row["payments"],
                row["failed"] or "–",
                amount_cell(row, "gas", "coin"),
                amount_cell(row, *_GAS_VALUE),
                row["not_valued"] or "–",
            ),
            foot=(*coins, value),
            sheet="Gas",
        ),
        make_grid(
            "Gas of each transaction",
            "For | Day | Wallet | >Gas | >Value | Rate",
            gas.each.arrow,
            _payment_row,
            sheet="Gas payments",
        ),
    )
    rests_on = clean("Reference rates: " + "; ".join(gas.rests_on) + ".")
    notes = NOTES["gas"] + (rests_on,) * bool(gas.rests_on)
    return Section("gas", "Gas", f"{gas.title}.", grids, notes)


def _payment_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    more = f" and {row['shared_by'] - 1} more" if row["shared_by"] > 1 else ""
    return (
        make_cell(f"{row['reference']}{more}" or "–", row["used_for"]),
        day(row["paid_on"]),
        make_cell(short_account(row["wallet"]), f"{row['chain']} {row['transaction_hash'][:10]}…"),
        amount_cell(row, "gas", "coin", note="failed" if row["failed"] else ""),
        amount_cell(row, *_GAS_VALUE),
        row["not_valued"] or row["valued_by"],
    )
