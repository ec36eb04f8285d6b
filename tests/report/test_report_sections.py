"""The report and the workbook show the same figures."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from openpyxl import load_workbook

from treasury.close.closing import Closing
from treasury.close.late_items import LATE_ITEMS
from treasury.core.money import total
from treasury.month.items.item_facts import needing_a_person
from treasury.report.excel import workbook_beside
from treasury.report.grids import Grid
from treasury.report.report_page import render_html
from treasury.report.sections import sections
from treasury.workspace import Workspace

MONTH = "2026-10"


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month(MONTH)


def grids(closing: Closing, anchor: str, sheet: str) -> list[Grid]:
    (section,) = [one for one in sections(closing) if one.anchor == anchor]
    return [grid for grid in section.grids if grid.sheet == sheet]


def sheet_rows(closing: Closing, folder: Path, name: str) -> list[Mapping[str, object]]:
    """Return the rows of a sheet of the close's workbook by column title."""
    path = folder / "close.xlsx"
    with workbook_beside(closing, path):
        pass
    rows = [
        row
        for row in load_workbook(path, read_only=True)[name].iter_rows(values_only=True)
        if any(cell is not None for cell in row)
    ]
    at = next(n for n, row in enumerate(rows) if len([c for c in row if c]) > 3)
    return [dict(zip(map(str, rows[at]), row, strict=False)) for row in rows[at + 1 :]]


@pytest.mark.acceptance
def test_unexplained_and_undecided_are_two_figures_alike_in_report_and_workbook(
    october: Closing, tmp_path: Path
) -> None:
    (grid,) = grids(october, "accounts", "Balances")
    heads = [head.title for head in grid.heads]
    shown = {
        (row[0].note or row[0].text, row[1].text): (
            row[heads.index("Unexplained")].text,
            row[heads.index("Undecided")].text,
        )
        for row in grid.rows
    }
    assert len(shown) == len(grid.rows)
    stored = sheet_rows(october, tmp_path, "Balances")
    assert len(stored) == len(grid.rows)
    for row, (unexplained, undecided) in zip(stored, shown.values(), strict=True):
        for name, text in (("Unexplained", unexplained), ("Undecided", undecided)):
            amount = Decimal(0) if text == "–" else Decimal(text.replace(",", ""))
            assert Decimal(str(row[name] or 0)) == amount, (name, row)
    needing = needing_a_person(october.r.lines.arrow)
    assert needing.num_rows == sum(
        filter(None, october.balances.arrow["undecided_lines"].to_pylist())
    )
    assert total(needing["amount"].to_pylist()) == total(
        filter(None, october.balances.arrow["undecided"].to_pylist())
    )


@pytest.mark.acceptance
def test_an_own_transfer_is_counted_once_and_its_rule_is_named(october: Closing) -> None:
    (grid,) = grids(october, "assumptions", "")
    assert grid.caption == "Left out of matching, by rule"
    shown = {(row[0].text, row[1].text): (row[2].text, row[3].text) for row in grid.rows}
    assert shown["Own transfer", "own transfer"] == ("2", "EUR 55,000.00")
    left = [row for row in october.r.lines.arrow.to_pylist() if row["line_class"]]
    assert sum(int(lines) for lines, _ in shown.values()) == len(left)
    assert {rule for _, rule in shown} == {row["rule_name"] for row in left}


def test_late_items_are_the_same_rows_in_report_and_workbook(
    october: Closing, tmp_path: Path
) -> None:
    assert not grids(october, "earlier", "Late items")
    row = dict.fromkeys(LATE_ITEMS.names) | {
        "entry_id": "l1",
        "month": "2026-09",
        "posts_to": MONTH,
        "change": "line added",
        "what": "a late line",
        "booking_date": date(2026, 9, 30),
        "known_from": datetime(2026, 10, 12, 8, tzinfo=UTC),
        "direction": "DBIT",
        "amount": Decimal(5),
        "currency": "EUR",
    }
    late = pa.Table.from_pylist([row], schema=LATE_ITEMS)
    learnt = msgspec.structs.replace(
        october, rolled=msgspec.structs.replace(october.rolled, late=late)
    )
    (grid,) = grids(learnt, "earlier", "Late items")
    assert len(grid.rows) == len(sheet_rows(learnt, tmp_path, "Late items")) == 1


@pytest.mark.acceptance
def test_money_that_may_be_returned_is_named_with_every_second_payment(
    month_end: Workspace, october: Closing
) -> None:
    (item,) = october.items.select(kind="paid_twice")
    back = "A credit of 19 Oct may be the money back; decide it first"
    assert item.next_step == back
    assert month_end.trace(item.subject_id).next_step == back
    panel = month_end.panels.close(MONTH).rows.arrow.to_pylist()
    assert [row["next_step"] for row in panel if row["item_id"] == item.item_id] == [back]
    told = [row for row in october.r.differences.arrow.to_pylist() if row["state"] == "PAID TWICE"]
    assert [row["next_step"] for row in told] == [back]
    assert back in render_html(october)
