"""The filters of lists: the meaning of typed conditions, and filters of matches and funding."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from treasury.core.errors import InputError
from treasury.panels.frames.list_filters import ListFilter, conditions
from treasury.panels.frames.list_panel import ListPanel
from treasury.panels.frames.query_pages import ArrowTables, read_page
from treasury.workspace import Workspace

TODAY = date(2026, 11, 2)
FILTERS = (
    ListFilter(name="amount", label="Amount", kind="amount", columns=("amount",)),
    ListFilter(name="age", label="Age", kind="age", columns=("age",)),
    ListFilter(name="day", label="Day", kind="day", columns=("since", "due")),
)


@pytest.fixture(scope="module")
def notes() -> ArrowTables:
    return ArrowTables(
        notes=pa.table(
            {
                "text": ["rent, October", "1,5 hours", "21 Oct rent"],
                "amount": pa.array([Decimal("-4000.00"), Decimal("14000.50"), None]),
                "age": [5, 12, 3],
                "since": [date(2026, 10, 21), date(2026, 10, 25), None],
                "due": [date(2026, 10, 30), None, date(2026, 10, 21)],
            }
        )
    )


def found(notes: ArrowTables, search: str = "", **typed: str) -> list[str]:
    parts = conditions(FILTERS, typed, search, ("text", "amount"), TODAY)
    where = " AND ".join(part.sql for part in parts)
    values = [value for part in parts for value in part.values]
    page = read_page(notes, "SELECT * FROM notes", "text", where, values)
    assert page.total == 3
    return [row["text"][:4] for row in page.rows]


@pytest.mark.parametrize(
    ("search", "texts"),
    [
        ("rent, o", ["rent"]),
        ("1,5", ["1,5 "]),
        (",", ["1,5 ", "rent"]),
        (">4000", ["1,5 "]),
        (">=4000", ["1,5 ", "rent"]),
        (">= 4,000.00", ["1,5 ", "rent"]),
        ("3.999,99..4.000,00", ["rent"]),
        (">4k", ["1,5 "]),
        ("<5000 RENT", ["rent"]),
        ("rent <5000", ["rent"]),
        ("21 Oct", ["21 O", "rent"]),
        (">21 Oct", ["1,5 ", "rent"]),
        ("2026-10-20..25/10/2026", ["1,5 ", "21 O", "rent"]),
        ("EUR 14,000.50", ["1,5 "]),
        ("12 hours", []),
        ("", ["1,5 ", "21 O", "rent"]),
    ],
)
def test_a_search_takes_conditions_and_words(
    notes: ArrowTables, search: str, texts: list[str]
) -> None:
    assert found(notes, search) == texts


def test_each_filter_takes_a_value_a_bound_or_a_range(notes: ArrowTables) -> None:
    assert found(notes, age="5") == ["rent"]
    assert found(notes, age=">5 days") == ["1,5 "]
    assert found(notes, age="3..5") == ["21 O", "rent"]
    assert found(notes, amount="EUR 4,000") == ["rent"]
    assert found(notes, amount="3,9k..4k") == ["rent"]
    assert found(notes, amount=">1", day="21 Oct") == ["rent"]
    assert found(notes, "rent", age="<5") == ["21 O"]


@pytest.mark.parametrize(
    ("field", "typed", "why"),
    [
        ("amount", ">1.234", "has two meanings"), ("amount", "much", "is not an amount"),
        ("amount", "1e3", "is not an amount"), ("age", "old", "is not a number of days"),
        ("day", "32 Oct", "is not a day|has no year"),
    ],
)  # fmt: skip
def test_a_condition_that_cannot_be_read_names_its_field(
    notes: ArrowTables, field: str, typed: str, why: str
) -> None:
    with pytest.raises(InputError, match=f"^filter_{field}: .*({why})"):
        found(notes, **{field: typed})


def rows_shown(panel: ListPanel, **typed: str) -> list[dict[str, Any]]:
    frame = panel.press("search", **typed)
    assert frame.message is None, frame.message
    return list(panel.found_rows().values())


def test_the_matches_are_filtered_by_outcome_account_day_and_amount(month_end: Workspace) -> None:
    panel = month_end.panels.matches(size=100)
    every = list(panel.found_rows().values())
    names = [field.name for field in panel.frame().filters]
    assert names == [
        f"filter_{name}" for name in ("outcome", "account", "currency", "amount", "day")
    ]
    account, day = every[0]["account"], every[0]["booking_date"]
    for typed, of in (
        ({"outcome": "unreferenced"}, lambda row: row["outcome"] == "unreferenced"),
        ({"account": account}, lambda row: row["account"] == account),
        ({"amount": ">5000"}, lambda row: row["amount"] > 5000),
        ({"day": f"{day}"}, lambda row: row["booking_date"] == day),
    ):
        wanted = [row["entry_id"] for row in every if of(row)]
        shown = rows_shown(panel, **{f"filter_{name}": text for name, text in typed.items()})
        assert 0 < len(wanted) < len(every)
        assert sorted(row["entry_id"] for row in shown) == sorted(wanted)
    panel.press("decisions")
    assert panel.frame().filters == ()


@pytest.mark.acceptance
def test_the_requests_to_fund_are_filtered_and_all_found_ones_are_chosen(
    month_end: Workspace,
) -> None:
    panel = month_end.panels.funding(size=2)
    every = list(panel.found_rows().values())
    wanted = [row["request"] for row in every if row["state"] == "PAY" and row["send"] > 5000]
    shown = rows_shown(panel, filter_state="PAY", filter_amount=">5000")
    assert [row["request"] for row in shown] == wanted
    assert 2 < len(wanted) < len(every)
    frame = panel.press("choose_all")
    assert frame.table is not None
    assert list(frame.table.chosen) == wanted
    due = every[0]["due"]
    shown = rows_shown(panel, filter_day=f"{due:%-d %b %Y}")
    assert {row["due"] for row in shown} == {due}
