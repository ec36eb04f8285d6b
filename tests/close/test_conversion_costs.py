"""The cost of conversions, with sandbox providers that take a known margin in the rate."""

from __future__ import annotations

import shutil
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from filled import fill
from view_desk import observe, pay_in, rows, virtual

from treasury.cli.commands.practice import rate_files
from treasury.close.fees.conversion_costs import (
    IN_THE_RATE,
    TO_ASSUMED_RATE,
    TO_REFERENCE,
    TO_SEVERAL,
    VIRTUAL_ACCOUNT,
)
from treasury.close.fees.fee_table import Fees
from treasury.report.pack.pack_verification import verify_pack
from treasury.sandbox import Sandbox
from treasury.sandbox.story.rates import published
from treasury.workspace import Workspace

TENTH = Decimal("0.1")


def planted(folder: Path, scenario: str, seed: int = 7) -> Workspace:
    """Return a synced desk of the scenario, with the sandbox's rate file added."""
    desk = fill(folder, Sandbox(seed, scenario=scenario))
    (path,) = rate_files(folder)
    desk.rates.add(path)
    return desk


def copied(desk: Workspace, folder: Path) -> Workspace:
    shutil.copytree(desk.folder, folder)
    return Workspace(folder)


@pytest.fixture(scope="module")
def unrated(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk with a provider margin in the rate, without the sandbox's rate file."""
    return fill(tmp_path_factory.mktemp("unrated"), Sandbox(7, scenario="spread"))


@pytest.fixture(scope="module")
def spread(unrated: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    desk = copied(unrated, tmp_path_factory.mktemp("spread") / "desk")
    (path,) = rate_files(desk.folder)
    desk.rates.add(path)
    return desk


@pytest.fixture(scope="module")
def october(spread: Workspace) -> Fees:
    return spread.fees("2026-10")


def fixing(asset: str, day: date) -> Fraction:
    """Return the euros per coin at the sandbox's published rate of the day."""
    return Fraction(1) if asset == "EURC" else 1 / Fraction(published(day)["USD"])


def taken(row: dict[str, Any]) -> Fraction:
    """Return the provider's margin in euros: 35 basis points of the converted amount."""
    converted = Fraction(row["fiat_gross"]) - Fraction(row["fee"])
    if row["direction"] == "off-ramp":
        converted = Fraction(row["crypto"]) * fixing(row["crypto_currency"], row["completed_on"])
    return converted * Fraction(35, 10_000)


def test_a_margin_of_35_basis_points_is_shown_with_its_amount_in_euros(october: Fees) -> None:
    fees = october
    by_pair = [row for row in fees.costs.by_pair.arrow.to_pylist() if row["conversions"]]
    assert {row["pair"] for row in by_pair} >= {"EUR → USDC", "USDC → EUR"}
    for row in by_pair:
        own = [request for request in fees.rows if request["pair"] == row["pair"]]
        assert row["conversions"] == len(own)
        assert row["reference_difference_bp"].quantize(TENTH) == Decimal("35.0")
        assert row["lowest_bp"].quantize(TENTH) == row["highest_bp"].quantize(TENTH)
        euros = sum(map(taken, own), Fraction(0))
        # A payout is rounded to a cent and coins to their last decimal, so each adds at most half a
        # cent.
        assert abs(Fraction(row["reference_difference"]) - euros) <= Fraction(len(own) + 1, 200)
        is_assumed = "EURC" in row["pair"]
        assert row["difference_is"] == (TO_ASSUMED_RATE if is_assumed else TO_REFERENCE)
    (whole,) = fees.costs.sums
    assert whole.difference_is == TO_SEVERAL
    everything = sum(map(taken, fees.rows), Fraction(0))
    assert whole.reference_difference_bp == Decimal("35.00")
    assert abs(Fraction(whole.reference_difference) - everything) <= Fraction(11, 100)
    assert whole.conversions == len(fees.rows) == 21
    assert whole.stated_fee == sum(row["fee"] for row in fees.rows)


def test_each_request_has_its_values_and_their_source(october: Fees) -> None:
    for row in october.rows:
        assert row["not_valued"] == ""
        assert row["reference_difference_bp"].quantize(TENTH) == Decimal("35.0")
        assert row["stated_fee"] == row["fee"]
        cent = Decimal("0.01")
        parts = row["stated_fee"] + row["reference_difference"]
        assert abs(row["cost"] - parts) <= cent
        assert abs(row["cost"] - (row["given_value"] - row["received_value"])) <= cent
        if row["crypto_currency"] == "USDC":
            assert row["valued_by"] == f"ECB, {row['completed_on']}; 1 USDC = 1 USD"


def test_months_are_separate_and_summed_consistently(spread: Workspace, october: Fees) -> None:
    several = spread.fees("2026-09..2026-10").costs
    of_october = several.by_pair.arrow.filter(
        [month == "2026-10" for month in several.by_pair.arrow["month"].to_pylist()]
    )
    assert of_october.to_pylist() == october.costs.by_pair.arrow.to_pylist()
    assert several.sums[0].reference_difference_bp == Decimal("35.00")


@pytest.mark.acceptance
@pytest.mark.parametrize("seed", [7, pytest.param(11, marks=pytest.mark.acceptance)])
def test_a_provider_without_margin_shows_zero(tmp_path: Path, seed: int) -> None:
    costs = planted(tmp_path, "no-spread", seed).fees("2026-10").costs
    valued = [row for row in costs.by_pair.arrow.to_pylist() if row["conversions"]]
    assert valued
    for row in valued:
        assert row["reference_difference_bp"].quantize(TENTH) == 0
        assert abs(row["reference_difference"]) <= Decimal("0.05")
    (whole,) = costs.sums
    assert whole.reference_difference_bp == 0


@pytest.mark.acceptance
def test_a_gap_in_the_rates_names_the_requests_without_a_reference_rate(
    unrated: Workspace, october: Fees, tmp_path: Path
) -> None:
    desk = copied(unrated, tmp_path / "desk")
    (path,) = rate_files(desk.folder)
    days = sorted({row["completed_on"] for row in october.rows})
    gap = days[len(days) // 2]
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith(str(gap))), "utf-8")
    desk.rates.add(path)
    fees = desk.fees("2026-10")
    for row in fees.rows:
        is_dollars = row["crypto_currency"] == "USDC"
        if row["completed_on"] == gap and is_dollars:
            assert row["not_valued"] == f"no reference rate of USDC for {gap}"
            assert row["reference_difference"] is None
            assert row["cost"] is None
        else:
            assert row["reference_difference_bp"].quantize(TENTH) == Decimal("35.0")
    without = [row for row in fees.rows if row["not_valued"]]
    assert without
    (whole,) = fees.costs.sums
    assert whole.conversions == len(fees.rows) - len(without)
    assert whole.reference_difference_bp == Decimal("35.00")
    named = fees.costs.without_value.arrow.to_pylist()
    assert {row["reference"] for row in without} <= {row["reference"] for row in named}
    counted = [row for row in fees.costs.each.arrow.to_pylist() if row["source"] != VIRTUAL_ACCOUNT]
    assert sum(row["not_valued"] != "" for row in counted) == len(without)


@pytest.mark.acceptance
def test_only_rates_with_an_instant_determine_the_margin(
    spread: Workspace, october: Fees, tmp_path: Path
) -> None:
    desk = copied(spread, tmp_path / "desk")
    chosen = [row for row in october.rows if row["pair"] == "EUR → USDC"][:2]
    lines = ["day,base,quote,rate"]
    for row in chosen:
        at = row["completed_at"] - timedelta(minutes=10)
        lines.append(f"{at:%Y-%m-%dT%H:%MZ},EUR,USD,1.25")
    (tmp_path / "own.csv").write_text("\n".join((*lines, "")), "utf-8")
    desk.rates.add(tmp_path / "own.csv")
    fees = desk.fees("2026-10")
    named = {row["reference"]: row for row in fees.rows}
    for before in chosen:
        row = named[before["reference"]]
        assert row["difference_is"] == IN_THE_RATE
        exact = Fraction(row["fiat_net"]) - Fraction(row["crypto"]) * Fraction(8, 10)
        assert abs(Fraction(row["reference_difference"]) - exact) <= Fraction(1, 200)
    kinds = {
        row["difference_is"] for row in fees.costs.by_pair.arrow.to_pylist() if row["conversions"]
    }
    assert kinds == {IN_THE_RATE, TO_REFERENCE, TO_ASSUMED_RATE}
    assert [sums.conversions for sums in fees.costs.sums if sums.difference_is == IN_THE_RATE] == [
        2
    ]
    # Requests without a company rate in the hour before them use the ECB's rate of the day.
    others = [row for row in fees.rows if row["reference"] not in {r["reference"] for r in chosen}]
    assert others
    for row in others:
        assert row["difference_is"] != IN_THE_RATE
        assert "own.csv" not in row["valued_by"]
        assert row["reference_difference_bp"].quantize(TENTH) == Decimal("35.0")


@pytest.mark.acceptance
def test_a_conversion_on_a_virtual_account_shows_its_spread(tmp_path: Path) -> None:
    company = Sandbox(7, scenario="spread")
    account = virtual(observe(tmp_path, company))
    company.clock.advance(days=1)
    observe(tmp_path, company)
    pay_in(company, account, "1234.56")
    company.clock.advance(hours=5)
    observe(tmp_path, company)
    company.clock.advance(days=1)
    desk = observe(tmp_path, company, last=date(2026, 11, 3))
    (arrival,) = company.finance.all_arrivals()
    path = company.write_rate_file(tmp_path / "rates")
    assert path is not None
    desk.rates.add(path)
    costs = desk.fees("2026-11").costs
    proved = [row for row in rows(costs.each, source=VIRTUAL_ACCOUNT) if not row["not_valued"]]
    (row,) = [row for row in proved if row["source_id"] == account["account_id"]]
    assert (row["given"], row["received"]) == (arrival.euros, arrival.coins)
    assert row["stated_fee"] == 0
    assert row["difference_is"] == TO_REFERENCE
    assert row["converted_on"] == date(2026, 11, 3)
    assert row["valued_by"] == "ECB, 2026-11-03; 1 USDC = 1 USD"
    assert row["reference_difference_bp"] == Decimal("35.00")
    assert row["reference_difference"] == row["cost"] == Decimal("4.32")


def test_conversions_not_proved_by_balances_are_counted_separately(month_end: Workspace) -> None:
    costs = month_end.fees("2026-10").costs
    apart = rows(costs.each, source=VIRTUAL_ACCOUNT)
    assert len(apart) == costs.not_valued == 4
    for row in apart:
        assert row["cost"] is None
        assert "month's end" in row["not_valued"]
    assert sum(costs.by_pair.arrow["not_valued"].to_pylist()) == 4


@pytest.mark.acceptance
def test_the_pack_contains_the_costs_and_they_can_be_recomputed(
    spread: Workspace, tmp_path: Path
) -> None:
    desk = copied(spread, tmp_path / "desk")
    pack = desk.close("2026-10").folder
    for name in ("conversion_costs", "conversions_valued"):
        assert (pack / "tables" / f"{name}.parquet").is_file()
    assert (pack / "figures").is_dir()
    again = verify_pack(pack)
    assert (again.findings, again.notes) == ((), ())
    page = (pack / "report.html").read_text("utf-8")
    assert "Conversion costs" in page
    assert "35.00" in page
