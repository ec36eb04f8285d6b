"""Random companies, each played for two months: every true open item is listed exactly once.

The truth is the sandbox's: its requests, its transfers and the purpose of each bank line. Only
`make acceptance` plays these ten companies.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from drawn_company import OPEN_REQUEST, OPEN_TRANSFER, DrawnCompany, drawn_company
from openpyxl import load_workbook

from treasury.cli import treasury
from treasury.close.checklist import checklist
from treasury.close.closing import Closing
from treasury.core.calendar import Month, parse_instant
from treasury.core.money import total
from treasury.month.items import OpenItems
from treasury.report import month_screen
from treasury.report.excel import workbook_beside
from treasury.report.sections import sections

pytestmark = pytest.mark.acceptance

SEEDS = [pytest.param(seed, marks=[pytest.mark.acceptance] * (seed > 11)) for seed in range(11, 21)]


def began_by_the_end(instant: str, month: Month, drawn: DrawnCompany) -> bool:
    return parse_instant(instant) < month.end(drawn.desk.settings.zone)


def require_complete(drawn: DrawnCompany, closing: Closing) -> None:
    """Check that every open request and transfer and every undecided line has exactly one item."""
    items, month = closing.items, closing.r.month
    listed = Counter(item.subject_id for item in items.select(subject="request"))
    open_requests = {
        request.id
        for request in drawn.requests
        if request.status in OPEN_REQUEST and began_by_the_end(request.created_at, month, drawn)
    }
    assert open_requests <= set(listed)
    moving = {
        transfer.id
        for transfer in drawn.transfers
        if transfer.status in OPEN_TRANSFER and began_by_the_end(transfer.created_at, month, drawn)
    }
    transfers = Counter(item.transfer_id for item in items if item.transfer_id)
    assert moving <= set(transfers)
    lines = Counter(item.subject_id for item in items.select(subject="line"))
    for counter in (listed, transfers, lines):
        assert max(counter.values(), default=1) == 1
    require_lines(drawn, closing, set(lines))


def require_lines(drawn: DrawnCompany, closing: Closing, listed: set[str]) -> None:
    """Check that each line is matched to its true record, classed, decided or listed."""
    outcomes = {row["entry_id"]: row for row in closing.r.matches.lines.arrow.to_pylist()}
    last = closing.r.month.last.isoformat()
    lines = drawn.truth_by_entry()
    came_back = {_paid(truth) for truth in lines.values() if truth["returned"]}
    for entry, truth in lines.items():
        row = outcomes[entry]
        if truth["booking_date"] > last:
            assert entry not in listed
        elif row["outcome"] == "matched":
            assert truth["expectation"] is not None
            assert truth["expectation"]["id"] == row["expectation_id"]
        elif row["outcome"] == "returned":
            assert truth["returned"] or (_paid(truth) in came_back), truth
        elif row["outcome"] == "ignored" or row["line_class"] is not None:
            decided = (truth["account"], truth["account_servicer_reference"])
            assert truth["line_class"] or decided in drawn.closed_lines, truth
        else:
            assert entry in listed, (row, truth)


def _paid(truth: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return the record and the amount that a line paid, which a wire and its return share."""
    return (truth["expectation"] or {}).get("id"), truth["amount"]


def require_payouts(drawn: DrawnCompany, items: OpenItems, month: Month) -> None:
    """Check that each payout that the service completed is on a statement or listed."""
    arrived = {
        truth["expectation"]["id"]
        for truth in drawn.truth_by_entry().values()
        if truth["expectation"] is not None and truth["direction"] == "CRDT"
    }
    listed = {item.subject_id for item in items.select(subject="request")}
    for request in drawn.requests:
        finished = request.status == "SUCCEEDED" and request.ramp_type == "OFF_RAMP"
        if finished and began_by_the_end(request.events[-1].created_at, month, drawn):
            assert request.id in arrived | listed, request.payment_reference


def require_counted_once(items: OpenItems) -> None:
    """Check that items are unique, and that shared money counts in one item that counts itself."""
    assert len(items.by_id) == len(items)
    for item in items:
        if item.counted_in is not None:
            assert items.by_id[item.counted_in].counted_in is None
    for currency in {item.currency for item in items}:
        mine = [item for item in items if item.currency == currency]
        counted = total(one.counted_amount for one in mine if one.counted_amount is not None)
        groups = [group for group in items.groups if group.currency == currency]
        assert counted == total(
            amount
            for one in groups
            for amount in (one.coming, one.going, one.standing)
            if amount is not None
        )


def require_one_count(drawn: DrawnCompany, closing: Closing, folder: Path) -> None:
    """Check that every screen and report has the items of the list and no others."""
    items, month = closing.items, str(closing.r.month)
    ids = [item.item_id for item in items]
    assert [item.item_id for item in drawn.desk.open_items(month)] == ids
    assert sum(items.turns.values()) == sum(group.items for group in items.groups) == len(ids)
    screen = month_screen(closing)
    assert sum(len(row.items) for row in screen.rows) == len(items.blocking)
    assert f" {len(ids)} open items" in screen or not items.blocking
    assert sum(one.items for one in checklist(closing).blockers) == len(items.blocking)
    shown = [one for one in sections(closing) if one.anchor in {"blocking", "waiting"}]
    rows = [row for section in shown for grid in section.grids for row in grid.rows]
    assert sum(len(row) > 1 for row in rows) == len(ids)
    panel = drawn.desk.panels.close(month)
    assert panel.rows.arrow["item_id"].to_pylist() == ids
    done = CliRunner().invoke(
        treasury, ["-w", str(drawn.folder), "exceptions", "--month", month, "--format", "json"]
    )
    assert [row["item_id"] for row in json.loads(done.stdout)] == ids
    with workbook_beside(closing, folder / "close.xlsx"):
        pass
    book = load_workbook(folder / "close.xlsx", read_only=True)
    cells = [row for row in book["Open items"].iter_rows(values_only=True) if row[0]]
    heads = next(row for row in cells if "item_id" in row or "Item id" in row)
    at = next(place for place, head in enumerate(heads) if head in ("item_id", "Item id"))
    assert [row[at] for row in cells[cells.index(heads) + 1 :]] == ids


def require_invariants(drawn: DrawnCompany) -> Closing:
    """Check the invariants of the list of the month that has ended."""
    closing = drawn.desk.periods.month(drawn.month)
    require_complete(drawn, closing)
    require_payouts(drawn, closing.items, closing.r.month)
    require_counted_once(closing.items)
    return closing


@pytest.fixture
def drawn(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DrawnCompany]:
    with drawn_company(request.param, tmp_path / "desk") as company:
        yield company


def begun_by_deciding(before: Closing, after: Closing) -> list[str]:
    """Return the items that a decision created, except the excess of a line."""
    return [
        item.item_id
        for item in after.items
        if item.item_id not in before.items.by_id and item.kind != "more_than_expected"
    ]


@pytest.mark.parametrize("drawn", SEEDS, indirect=True)
def test_two_drawn_months_list_every_true_open_item_once(
    drawn: DrawnCompany, tmp_path: Path
) -> None:
    drawn.begin()
    october = require_invariants(drawn)
    require_one_count(drawn, october, tmp_path)
    drawn.decide()
    decided = require_invariants(drawn)
    assert begun_by_deciding(october, decided) == []
    drawn.pass_november()
    november = require_invariants(drawn)
    drawn.decide()
    decided = require_invariants(drawn)
    assert begun_by_deciding(november, decided) == []
    require_one_count(drawn, decided, tmp_path)
