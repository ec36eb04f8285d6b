"""Overlapping CSV exports; the later one has a movement on another day."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from test_statements_respelled import BUNQ, HEADER, Desk, bunq

FIRST = HEADER + "2026-10-05,a,-10.00,90.00\n2026-10-06,b,-20.00,70.00\n"
LATER = HEADER + "2026-10-06,a,-10.00,90.00\n2026-10-06,b,-20.00,70.00\n2026-10-07,c,-1.00,69.00\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "workspace")


def amounts(desk: Desk) -> list[Decimal]:
    return sorted(Decimal(str(amount)) for (amount,) in desk.rows("amount"))


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("texts", "together"),
    [
        ((FIRST, LATER), False),
        ((LATER, FIRST), False),
        ((FIRST, LATER, FIRST, LATER), False),
        ((FIRST, LATER, FIRST, LATER), True),
    ],
)
def test_a_movement_on_another_day_counts_once_if_the_balances_require_it(
    desk: Desk, texts: tuple[str, ...], together: bool
) -> None:
    *_, report = desk.add(texts, together=together)
    assert amounts(desk) == [1, 10, 20]
    assert desk.rows("is_twin") == [(False,)] * 3
    assert all(statement.proved for statement in report.statements)
    problem = next(problem for problem in report.problems if "another day" in problem.what)
    assert "2026-10-06, known on 2026-10-05" in problem.what or "05, known on" in problem.what


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "later",
    [
        LATER.replace(",a,", ',"A, in other words",'),
        HEADER + "\n".join(reversed(LATER.splitlines()[1:])) + "\n",
        HEADER + "2026-10-06,c,-1.00,69.00\n2026-10-05,b,-20.00,70.00\n",
    ],
    ids=["other words", "newest first", "only the moved one is in both"],
)
def test_texts_row_order_and_common_days_do_not_matter(desk: Desk, later: str) -> None:
    desk.add((FIRST, later))
    assert amounts(desk) == [1, 10, 20]


@pytest.mark.acceptance
def test_equal_movements_on_the_next_day_stay_if_the_balances_include_them(desk: Desk) -> None:
    swept = "2026-10-{0:02},in,500.00,500.00\n2026-10-{0:02},out,-500.00,0.00\n"
    first, second = (HEADER + swept.format(day) for day in (5, 6))
    *_, report = desk.add((first, second))
    assert amounts(desk) == [500] * 4
    assert report.problems == ()
    assert desk.rows("is_twin") == [(False,)] * 4


SINGLE = HEADER + "2026-10-05,a,-10.00,90.00\n"


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "texts",
    [
        (FIRST, HEADER + "2026-10-07,b,-20.00,70.00\n2026-10-08,c,-1.00,69.00\n"),
        (SINGLE, HEADER + "2026-10-06,a,-10.00,90.00\n2026-10-07,b,-20.00,70.00\n"),
    ],
    ids=["days apart", "one row"],
)
def test_a_movement_that_days_missing_from_both_may_explain_is_reported(
    desk: Desk, texts: tuple[str, ...]
) -> None:
    *_, report = desk.add(texts)
    assert [twin for (twin,) in desk.rows("is_twin")].count(True) == 2
    assert any("a different day" in problem.what for problem in report.problems)


@pytest.mark.acceptance
def test_a_balance_that_recurs_after_missing_days_loses_no_row(desk: Desk) -> None:
    first, second, third = (
        HEADER + f"2026-10-0{day},swept,{amount},{after}\n"
        for day, amount, after in (
            (5, "500.00", "500.00"),
            (6, "-500.00", "0.00"),
            (7, "500.00", "500.00"),
        )
    )
    desk.add((first, third))
    assert amounts(desk) == [500, 500]
    desk.add((first, second, third))
    assert amounts(desk) == [500] * 3


@pytest.mark.acceptance
def test_exports_without_a_common_balance_are_not_proved_together(desk: Desk) -> None:
    corrected = HEADER + "2026-10-05,a,-10.50,89.50\n2026-10-06,b,-20.00,69.50\n"
    corrected += "2026-10-07,c,-1.00,68.50\n"
    first, later = desk.add((FIRST, corrected))
    assert [statement.proved for statement in first.statements] == [True]
    (statement,) = later.statements
    assert not statement.proved
    assert "0.csv do not lead from the first balance to the last" in statement.proof
    desk.add((FIRST, corrected))
    # Only the row with the same text and day is recognised.
    assert len(desk.rows("amount")) == 4


@pytest.mark.acceptance
def test_without_balances_a_row_that_both_exports_should_contain_is_reported(desk: Desk) -> None:
    same = bunq("Payer BV", "PAY-2026-004471")
    ends = bunq("X", "y", day="01"), bunq("X", "z", day="09")
    later = same.replace("2026-10-05", "2026-10-06")
    *_, report = desk.add((BUNQ + ends[0] + same + ends[1], BUNQ + ends[0] + later + ends[1]))
    twins = [row for row in desk.rows("booking_date", "is_twin") if row[1]]
    assert twins == [(date(2026, 10, 5), True), (date(2026, 10, 6), True)]
    (problem,) = [problem for problem in report.problems if "a different day" in problem.what]
    assert problem.file_name == "1.csv"


@pytest.mark.acceptance
def test_without_balances_a_daily_payment_is_not_taken_for_a_known_one(desk: Desk) -> None:
    desk.add((BUNQ + bunq("Shop", "coffee"), BUNQ + bunq("Shop", "coffee", day="06")))
    assert desk.rows("is_twin") == [(False,)] * 2


@pytest.mark.acceptance
def test_many_equal_movements_do_not_take_quadratic_time(desk: Desk) -> None:
    def rows(day: int) -> str:
        pair = f"2026-10-{day:02},in,1.00,1.00\n2026-10-{day:02},out,-1.00,0.00\n"
        return HEADER + pair * 2_000

    desk.add((rows(5), rows(6)))
    assert len(amounts(desk)) == 8_000
