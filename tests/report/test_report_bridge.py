"""Money in transit has three definitions; the bridge has rows that explain their differences."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from treasury.close.closing import Closing
from treasury.close.ledger.accounting import TRANSIT, accounting
from treasury.close.ledger.transit_bridge import BRIDGE, TransitBridge
from treasury.close.month_proof import in_transit
from treasury.core.money import total
from treasury.report.excel import workbook_beside
from treasury.report.sections import sections
from treasury.workspace import Workspace

MONTH = "2026-10"
KINDS = {"on-ramp in transit": "on_ramp", "off-ramp in transit": "off_ramp"}


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month(MONTH)


def summed(bridge: TransitBridge, name: str, **wanted: str) -> Decimal:
    return total(
        row[name]
        for row in bridge.rows.arrow.to_pylist()
        if all(row[key] == value for key, value in wanted.items())
    )


@pytest.mark.acceptance
def test_each_column_adds_up_to_the_figure_that_its_surface_shows(october: Closing) -> None:
    bridge = october.bridge
    sure, _ = in_transit(october.r)
    for currency in {row["currency"] for row in sure}:
        shown = total(row["amount"] for row in sure if row["currency"] == currency)
        assert summed(bridge, "report", currency=currency) == shown
    for row in accounting(october.r, october.zone).balances().arrow.to_pylist():
        if row["role"] in KINDS:
            kind = KINDS[row["role"]]
            assert summed(bridge, "journal", kind=kind, currency=row["currency"]) == row["balance"]
    for row in october.rolled.roll_forward.arrow.to_pylist():
        found = summed(bridge, "roll_forward", kind=row["kind"], currency=row["currency"])
        assert found == row["closing"]


def test_the_undecided_8_850_leads_from_the_report_to_the_journal(october: Closing) -> None:
    bridge = october.bridge
    assert summed(bridge, "report", kind="on_ramp") == Decimal(50_188)
    assert summed(bridge, "journal", kind="on_ramp") == Decimal(41_338)
    apart = [
        row
        for row in bridge.rows.arrow.to_pylist()
        if row["kind"] == "on_ramp" and row["report"] != row["journal"]
    ]
    assert [(row["reference"], row["journal"], row["why"]) for row in apart] == [
        (
            "PAY-2026-005253",
            Decimal(-8_850),
            "completed, and its payment is not decided: the line is in suspense",
        )
    ]


@pytest.mark.acceptance
def test_an_own_transfer_with_both_legs_has_no_row(october: Closing) -> None:
    books = accounting(october.r, october.zone).postings.arrow.to_pylist()
    assert [row for row in books if row["role"] == TRANSIT[2]]
    assert not [
        row for row in october.bridge.rows.arrow.to_pylist() if row["kind"] == "own_transfer"
    ]


@pytest.mark.acceptance
def test_the_report_the_workbook_and_the_workspace_show_the_same_rows(
    month_end: Workspace, october: Closing, tmp_path: Path
) -> None:
    assert month_end.transit_bridge(MONTH).rows.arrow.equals(october.bridge.rows.arrow)
    assert "In transit bridge" in month_end.transit_bridge(MONTH).sheets()
    (section,) = [one for one in sections(october) if one.anchor == "bridge"]
    (grid,) = [one for one in section.grids if one.sheet == "In transit bridge"]
    cells = [[cell.text for cell in row] for row in grid.rows]
    assert ["on-ramp", "total", "10", "50,188.00", "41,338.00", "95,362.01"] in cells
    with workbook_beside(october, tmp_path / "close.xlsx"):
        pass
    sheet = load_workbook(tmp_path / "close.xlsx", read_only=True)["In transit bridge"]
    rows = [row for row in sheet.iter_rows(values_only=True) if row[0]]
    assert len(rows) >= len(october.bridge.rows)


def test_each_subject_has_one_row_with_a_reason(october: Closing) -> None:
    rows: list[dict[str, Any]] = october.bridge.rows.arrow.to_pylist()
    assert october.bridge.rows.arrow.schema == BRIDGE
    keys = [(row["kind"], row["currency"], row["subject_id"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert all(row["why"] and row["reference"] for row in rows)


def test_the_steps_count_every_row_once(october: Closing) -> None:
    steps = october.bridge.steps.arrow.to_pylist()
    assert sum(step["rows"] for step in steps) == len(october.bridge.rows)
    for name in ("report", "journal", "roll_forward"):
        assert total(step[name] for step in steps) == summed(october.bridge, name)
