"""A line of a closed month is decided without reopening it, and posts to the open month."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from decide_desk import ANNA, BERT, clock_at, copy_of, double, first_line, october
from signed import close_month

from treasury.close.ledger.accounting import accounting
from treasury.core.money import total
from treasury.panels.steps.verdict_steps import sentence
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance

NOVEMBER = "2026-11-20T08:00:00+00:00"


@pytest.fixture(scope="module")
def closed(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk on 20 November, with October closed and a line in November; tests copy it."""
    desk = copy_of(month_end, tmp_path_factory.mktemp("late") / "desk")
    close_month(desk, "2026-10")
    later = clock_at(desk, NOVEMBER)
    paid = october(later)[0]["entry_id"]
    double(later, paid, booking_date=date(2026, 11, 5))
    return later


@pytest.fixture
def desk(closed: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(closed, tmp_path / "desk")


def test_a_late_decision_names_both_months_and_leaves_the_closed_one(
    desk: Workspace, lines: list[dict[str, Any]]
) -> None:
    line = first_line(lines, "suggested", "on_ramp", "DBIT")
    before = desk.periods.month("2026-10")
    journaled = desk.matches.accept(line["entry_id"], line["reference"], reason="seen", actor=ANNA)
    assert (journaled.closed_month, journaled.posts_to) == ("2026-10", "2026-11")
    assert sentence(journaled).endswith(
        " 2026-10 is closed and stays closed: the decision posts in 2026-11."
    )
    (entry,) = desk.journal.entries("match.accept")
    assert (entry.body["closed_month"], entry.body["posts_to"]) == ("2026-10", "2026-11")
    (row,) = desk.periods.late("2026-10").arrow.to_pylist()
    assert (row["change"], row["entry_id"], row["posts_to"]) == (
        "decided", line["entry_id"], "2026-11",
    )  # fmt: skip
    assert row["what"] == "accepted by anna after the close: seen"
    after = desk.periods.month("2026-10")
    assert after.r.lines.arrow.equals(before.r.lines.arrow)
    assert desk.reconcile("2026-10").lines.arrow.equals(before.r.lines.arrow)
    assert after.items.hash == before.items.hash
    assert desk.periods.verify("2026-10").answer.lines.arrow.equals(before.r.lines.arrow)
    panel = desk.panels.close("2026-10")
    assert len(panel.rows.arrow) == len(before.items)
    notes = [line.text for line in panel.frame().notes]
    assert any("October 2026 is closed; these items were open then" in text for text in notes), (
        notes
    )
    assert "LATE         1 item since the close: treasury periods late" in desk.status("2026-10")


def test_the_open_month_posts_the_difference_and_lists_it(
    desk: Workspace, lines: list[dict[str, Any]]
) -> None:
    line = first_line(lines, "suggested", "on_ramp", "DBIT")
    desk.matches.accept(line["entry_id"], line["reference"], reason="seen", actor=ANNA)
    november = desk.periods.month("2026-11")
    assert f"line:{line['entry_id']}" not in november.items.by_id, "it is decided"
    (item,) = november.items.select(kind="late_item")
    assert (item.state, item.blocks, item.entry_id) == ("DECIDED LATE", "never", line["entry_id"])
    books = accounting(november.r, november.zone, november.rolled.corrections.arrow)
    legs = {
        row["role"]: row["amount"]
        for row in books.postings.arrow.to_pylist()
        if row["entry"] == f"late:{line['entry_id']}"
    }
    amount: Decimal = line["amount"]
    assert legs == {"suspense": -amount, "on-ramp in transit": amount}
    assert total(legs.values()) == 0
    (text,) = {
        row["text"]
        for row in books.postings.arrow.to_pylist()
        if row["entry"] == f"late:{line['entry_id']}"
    }
    assert "decided after 2026-10 was closed" in text
    october_books = desk.accounting("2026-10").postings.arrow.to_pylist()
    assert not [row for row in october_books if row["entry"].startswith("late:")]
    assert desk.periods.roll_forward("2026-11").totals.arrow.num_rows


def test_an_undone_late_decision_leaves_nothing_to_post(
    desk: Workspace, lines: list[dict[str, Any]]
) -> None:
    line = first_line(lines, "suggested", "on_ramp", "DBIT")
    desk.matches.accept(line["entry_id"], line["reference"], reason="seen", actor=ANNA)
    desk.matches.undo(line["entry_id"], actor=BERT)
    assert desk.periods.late("2026-10").arrow.to_pylist() == []
    assert desk.periods.month("2026-11").rolled.corrections.arrow.num_rows == 0


def test_a_line_that_is_still_open_after_the_decision_blocks_the_open_month(
    desk: Workspace, lines: list[dict[str, Any]]
) -> None:
    line = first_line(lines, "suggested", "on_ramp", "DBIT")
    desk.matches.reject(line["entry_id"], line["reference"], reason="no", actor=ANNA)
    items = desk.open_items("2026-11")
    (late,) = items.select(kind="late_item").items
    assert late.blocks == "until accepted"
    assert late.counted_in == f"line:{line['entry_id']}"
