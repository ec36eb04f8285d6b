"""Cash of the practice company as a person sees it: flows, shell, queries, chart, report."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from itertools import pairwise
from typing import Any

import pytest
from click.testing import CliRunner, Result

from treasury import plots
from treasury.cli import treasury
from treasury.close.cash.cash_answer import Cash
from treasury.close.closing import Closing
from treasury.core.calendar import Month
from treasury.report.cash.cash_section import flows_section, funds_section
from treasury.report.drawing import figure_svg
from treasury.workspace import Workspace


@pytest.fixture(scope="module")
def cash(month_end: Workspace) -> Cash:
    return month_end.cash()


@pytest.fixture(scope="module")
def closing(month_end: Workspace) -> Closing:
    return month_end.periods.month("2026-10")


def run(workspace: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(treasury, ["--workspace", str(workspace.folder), *arguments])


def test_every_waiting_request_is_a_flow_on_its_due_day(month_end: Workspace, cash: Cash) -> None:
    flows = {row["item"]: row for row in cash.flows.arrow.to_pylist() if row["flow"] == "to_fund"}
    payable = [
        row for row in month_end.awaiting_funds().arrow.to_pylist()
        if row["state"] in {"PAY", "SEND CRYPTO", "RETURNED"}
    ]  # fmt: skip
    assert payable
    today = date(2026, 11, 2)
    for row in payable:
        flow = flows[row["reference"]]
        assert (flow["amount"], flow["direction"]) == (row["send"], "out")
        assert flow["state"] == ("overdue" if row["due"] < today else "expected")
        assert flow["day"] == max(row["due"], today)


def test_payouts_and_deliveries_follow_the_clock_of_their_rail(cash: Cash) -> None:
    flows = {row["item"]: row for row in cash.flows.arrow.to_pylist()}
    delivery = flows["PAY-2026-005375"]
    assert (delivery["flow"], delivery["state"], delivery["currency"]) == (
        "delivery", "expected", "USDC",
    )  # fmt: skip
    # The service finishes by 2 November, and the payout takes a TARGET day.
    payout = flows["PAY-2026-005379"]
    assert (payout["flow"], payout["day"], payout["currency"]) == (
        "payout", date(2026, 11, 3), "EUR",
    )  # fmt: skip
    missing = flows["PAY-2026-005349"]
    assert (missing["state"], missing["day"], missing["evidence"]) == (
        "not_seen", None, "NOT AT BANK",
    )  # fmt: skip
    silent = flows["PAY-2026-005364"]
    assert (silent["flow"], silent["state"]) == ("delivery", "not_seen")


def test_a_flow_that_may_have_arrived_or_needs_an_answer_is_in_no_sum(cash: Cash) -> None:
    apart = cash.apart.arrow.to_pylist()
    assert {row["state"] for row in apart} == {"not_seen", "undated"}
    evidence = Counter(row["evidence"] for row in apart if row["state"] == "undated")
    assert evidence["NEEDS DECISION"] > 0
    assert evidence["BLOCKED"] > 0
    assert evidence["PAID TWICE"] == 1
    refund = next(row for row in apart if row["evidence"] == "PAID TWICE")
    assert (refund["flow"], refund["currency"]) == ("refund", "EUR")
    assert len(cash.expected) + len(cash.apart) == len(cash.flows)
    assert cash.expected.arrow["day"].null_count == 0


def test_the_forecast_adds_up(cash: Cash) -> None:
    funds = {(row["funds"], row["currency"]): row["amount"] for row in cash.funds.arrow.to_pylist()}
    rows = [row for row in cash.forecast.arrow.to_pylist() if row["currency"] == "EUR"]
    assert rows[0]["opening"] == funds["own_banks", "EUR"]
    for before, after in pairwise(rows):
        assert after["opening"] == before["balance"]
    flows = [row for row in cash.expected.arrow.to_pylist() if row["currency"] == "EUR"]
    signed = [row["amount"] if row["direction"] == "in" else -row["amount"] for row in flows]
    assert rows[-1]["balance"] == rows[0]["opening"] + sum(signed)
    assert sum(row["flows"] for row in rows) == len(flows)
    # The screen shows amounts with their sign, like any other table of items.
    assert sum(cash.expected.where(currency="EUR").df["signed_amount"]) == sum(signed)


def test_the_shell_shows_what_the_notebook_shows(month_end: Workspace, cash: Cash) -> None:
    shown = run(month_end, "cash", "--days", "14")
    assert shown.exit_code == 0, shown.output
    assert "Cash at 2 Nov 09:00 CET, and the next 14 days" in shown.output
    assert "own banks" in shown.output
    assert "Days with flows, and the lowest" in shown.output
    assert "without a date or an amount: in no sum" in shown.stderr
    rows: list[dict[str, Any]] = json.loads(run(month_end, "cash", "--format", "json").stdout)
    assert [row["funds"] for row in rows] == cash.funds.arrow["funds"].to_pylist()
    apart = run(month_end, "cash", "--apart", "--format", "json")
    assert len(json.loads(apart.stdout)) == len(cash.apart)


@pytest.mark.acceptance
def test_queries_read_the_current_cash(month_end: Workspace, cash: Cash) -> None:
    rows = month_end.sql(
        "SELECT f.currency, count(*) AS n FROM cash_flows AS f JOIN cash_forecast AS d"
        " ON d.day = f.day AND d.currency = f.currency GROUP BY f.currency"
    )
    assert sum(row["n"] for row in rows.arrow.to_pylist()) == len(cash.expected)
    held = month_end.sql("SELECT count(*) AS n FROM cash_position").arrow["n"].to_pylist()
    assert held == [len(cash.position)]


def test_the_chart_has_a_panel_per_currency_and_the_lowest_point(cash: Cash) -> None:
    figure = plots.cash(cash)
    assert [axes.get_title("left") for axes in figure.axes] == [
        f"Cash at the end of each day from what is known, {currency}"
        for currency in sorted(set(cash.lowest.arrow["currency"].to_pylist()))
    ]
    words = repr(figure)
    for row in cash.lowest.arrow.to_pylist():
        assert f"the lowest point is {row['currency']}" in words
    assert b"lowest EUR" in figure_svg(figure)


def test_the_report_has_the_funds_of_the_accounts_it_proves(closing: Closing) -> None:
    section = funds_section(closing.cash, Month.parse("2026-10"))
    funds, ahead = section.grids
    cells = {(row[0].text, row[1].text): row[2].text for row in funds.rows}
    own = [
        row["closing"] for row in closing.balances.arrow.to_pylist()
        if row["kind"] == "bank" and row["name"] != "Virtual accounts (provider)"
    ]  # fmt: skip
    assert cells["own banks", "EUR"] == f"EUR {sum(own):,.2f}"
    # Balances that the month does not prove have a row of their own.
    unproved = Counter(
        row["currency"] for row in closing.balances.arrow.to_pylist() if not row["proved"]
    )
    counted = {row[1].text: row[4].text for row in funds.rows if row[0].text == "not proved"}
    assert {code: int(counted[code]) for code in unproved} == dict(unproved)
    assert next(row[0].text for row in ahead.rows) == "EUR"
    flows = flows_section(closing.cash, Month.parse("2026-10"))
    *listed, by_day = flows.grids
    assert sum(len(grid.rows) + grid.more for grid in listed) == len(closing.cash.flows)
    assert sum(row[1].note == "lowest" for row in by_day.rows) >= 1
    assert flows.figure == "forecast"
