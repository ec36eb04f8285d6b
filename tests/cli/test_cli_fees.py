"""The fees on the command line, for one month and several, the calculator and an invoice."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner, Result

from treasury.cli import treasury
from treasury.cli.commands.practice import prepare
from treasury.core.errors import InputError
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

MONTHS = "2026-07..2026-10"


def run(desk: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(
        treasury, ["--workspace", str(desk.folder), "fees", *arguments], catch_exceptions=False
    )


def rows(desk: Workspace, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(desk, *arguments, "--format", "json").stdout)
    return found


@pytest.fixture
def served(month_end: Workspace, tmp_path: Path) -> Iterator[Workspace]:
    """Yield a copy of the month's workspace while its services run."""
    before, company = dict(os.environ), Sandbox(7)
    shutil.copytree(month_end.folder, tmp_path / "desk")
    try:
        with company.serve() as at:
            yield prepare(tmp_path / "desk", company, at)
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.acceptance
def test_several_months_are_summed_by_the_named_groups(month_end: Workspace) -> None:
    by_month = rows(month_end, "--month", MONTHS, "--by", "month, ramp_type")
    assert by_month == rows(month_end, "--month", MONTHS, "--by", "month, direction")
    assert [row["month"] for row in by_month] == sorted(row["month"] for row in by_month)
    assert {row["month"] for row in by_month} == {"2026-07", "2026-08", "2026-09", "2026-10"}
    assert {row["ramp_type"] for row in by_month} == {"off_ramp", "on_ramp"}
    each = rows(month_end, "--month", MONTHS, "--per-request")
    stored = {
        row["id"]: row["fiat_fee_amount"]
        for row in month_end.sql("SELECT id, fiat_fee_amount FROM ramp_requests").arrow.to_pylist()
    }
    assert all(Decimal(row["fee"]) == stored[row["request_id"]] for row in each)
    whole = sum(Decimal(row["fee"]) for row in each)
    assert sum(Decimal(row["fee"]) for row in by_month) == whole == Decimal("9267.82")
    assert len(each) == sum(row["requests"] for row in by_month) == 84


@pytest.mark.acceptance
@pytest.mark.parametrize("zone", ["Europe/Brussels", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_a_request_belongs_to_the_month_of_completion_in_local_time(
    month_end: Workspace, tmp_path: Path, zone: str
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    path = tmp_path / "desk" / "treasury.toml"
    path.write_text(path.read_text("utf-8").replace("Europe/Brussels", zone), "utf-8")
    desk = Workspace(tmp_path / "desk")
    completed = desk.sql(
        "SELECT payment_reference, completed_at FROM ramp_requests WHERE status = 'SUCCEEDED'"
    ).arrow.to_pylist()
    local = {
        row["payment_reference"]: row["completed_at"].astimezone(ZoneInfo(zone))
        for row in completed
    }
    found = desk.fees("2026-06..2026-10").rows
    assert {row["reference"]: (row["month"], row["completed_on"]) for row in found} == {
        reference: (f"{at:%Y-%m}", at.date())
        for reference, at in local.items()
        if 6 <= at.month <= 10
    }


@pytest.mark.acceptance
def test_network_is_an_alias_of_chain(month_end: Workspace) -> None:
    by_network = rows(month_end, "--month", "2026-10", "--by", "network")
    assert by_network == rows(month_end, "--month", "2026-10", "--by", "chain")
    assert [row["chain"] for row in by_network] == ["BASE", "ETHEREUM"]


def test_a_request_and_its_finding_are_printed_on_one_line(month_end: Workspace) -> None:
    shown = run(month_end, "--month", "2026-10", "--per-request").stdout.splitlines()
    lines = [line.split() for line in shown if line.strip().startswith("PAY-") and "→" in line]
    assert len(lines) == 21
    assert all(line[-2:] == ["as", "expected"] for line in lines)


def test_the_trend_has_every_month_and_its_change(month_end: Workspace) -> None:
    trend = rows(month_end, "--month", MONTHS, "--trend")
    assert [(row["month"], row["fee"], row["fee_change"]) for row in trend] == [
        ("2026-07", "2450.62", None),
        ("2026-08", "2641.00", "190.38"),
        ("2026-09", "2198.34", "-442.66"),
        ("2026-10", "1977.86", "-220.48"),
    ]


@pytest.mark.acceptance
def test_a_month_within_a_range_equals_the_month_alone(month_end: Workspace) -> None:
    alone = rows(month_end, "--month", "2026-09", "--per-request")
    among = rows(month_end, "--month", MONTHS, "--per-request")
    assert alone == [row for row in among if row["month"] == "2026-09"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--month", "2026-10..2026-07"), "2026-10"),
        (("--month", "2026-10", "--by", "moon"), "moon"),
        (("--month", "2026-10", "--trend", "--per-request"), "give one"),
    ],
)
def test_an_invalid_query_is_refused(
    month_end: Workspace, options: tuple[str, ...], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        run(month_end, *options)


@pytest.mark.acceptance
def test_the_calculator_confirms_the_recorded_fees(served: Workspace) -> None:
    asked = rows(served, "--month", "2026-10", "--calculate", "--per-request")
    assert len(asked) == 21
    assert {(row["expected_by"], row["finding"]) for row in asked} == {
        ("calculated", "as expected")
    }
    assert {row["ramp_type"] for row in asked} == {"on_ramp", "off_ramp"}


@pytest.mark.acceptance
def test_the_calculator_is_queried_for_a_range_of_months(served: Workspace) -> None:
    fees = served.fees("2026-09..2026-10", calculate=True)
    assert set(fees.requests.arrow["expected_by"].to_pylist()) == {"calculated"}
    assert [row["variance"] for row in fees.by("month").arrow.to_pylist()] == [0, 0]
    with pytest.raises(InputError, match="cannot ask the calculator"):
        served.at("2026-11-02T09:00Z").fees("2026-10", calculate=True)
    served.close_clients()


def test_a_matching_invoice_exits_with_0(month_end: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "invoice.csv"
    recorded = rows(month_end, "--month", "2026-10", "--per-request")
    lines = [f"{row['reference']},{row['fee']},EUR,1.00" for row in recorded]
    path.write_text("\n".join(["reference,fee,currency,vat", *lines]), "utf-8")
    done = run(month_end, "--month", "2026-10", "--invoice", str(path))
    assert done.exit_code == 0
    assert "EUR 1,977.86 invoiced, EUR 1,977.86 recorded, VAT EUR 21.00, 0 lines" in done.stdout


def test_a_gap_on_the_invoice_exits_with_1(month_end: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "invoice.csv"
    path.write_text("reference,fee,currency\nPAY-2026-005175,80.01,EUR\n", "utf-8")
    done = run(month_end, "--month", "2026-10", "--invoice", str(path), "--format", "json")
    assert done.exit_code == 1
    found = {row["reference"]: row["finding"] for row in json.loads(done.stdout)}
    assert found["PAY-2026-005175"] == "EUR 0.01 more than recorded"
    assert list(found.values()).count("recorded, not on the invoice") == 20


def test_the_cost_of_conversions_is_the_same_as_in_python(month_end: Workspace) -> None:
    costs = month_end.fees("2026-10").costs
    shown = rows(month_end, "--month", "2026-10", "--cost")
    assert [(row["pair"], row["conversions"], row["not_valued"]) for row in shown] == [
        (row["pair"], row["conversions"], row["not_valued"])
        for row in costs.by_pair.arrow.to_pylist()
    ]
    for row, exact in zip(shown, costs.by_pair.arrow.to_pylist(), strict=True):
        for name in ("stated_fee", "reference_difference", "reference_difference_bp"):
            assert (row[name] is None) == (exact[name] is None)
            assert row[name] is None or Decimal(row[name]) == exact[name]
    printed = run(month_end, "--month", "2026-10", "--cost").output
    assert costs.title in printed
    assert "Without a value" in printed
    assert "Reference rates: ECB" in printed
    assert "assumed: 1 USDC = 1 USD" in printed


def test_the_cost_is_a_separate_result(month_end: Workspace) -> None:
    with pytest.raises(InputError, match="six different answers"):
        run(month_end, "--cost", "--trend")
