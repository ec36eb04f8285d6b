"""Deadlines: TARGET days for SEPA, calendar days for other rails, and elapsed hours."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treasury.matching.rules import Rules
from treasury.month.clocks import (
    CALENDAR,
    TARGET,
    Rail,
    days_word,
    end_of,
    placed_by,
    rail_of,
    reacts_by,
    stage_of,
)

BRUSSELS = ZoneInfo("Europe/Brussels")
RULES = Rules()


@pytest.mark.parametrize("booked", [date(2027, 3, 25), date(2027, 3, 26), date(2027, 3, 28)])
def test_case_31_friday_before_easter_is_not_late_until_tuesday(booked: date) -> None:
    due = reacts_by(booked, RULES, rail=TARGET)
    assert due == date(2027, 3, 30)
    assert stage_of(due, date(2027, 3, 30), RULES, TARGET) == "expected"
    assert stage_of(due, date(2027, 3, 31), RULES, TARGET) == "late"
    assert stage_of(due, date(2027, 4, 1), RULES, TARGET) == "late"
    assert stage_of(due, date(2027, 4, 2), RULES, TARGET) == "missing"


@pytest.mark.parametrize(
    ("booked", "until"),
    [
        (date(2026, 10, 23), datetime(2026, 10, 25, 22, tzinfo=UTC)),
        (date(2026, 10, 24), datetime(2026, 10, 26, 22, tzinfo=UTC)),
        (date(2026, 10, 25), datetime(2026, 10, 27, 23, tzinfo=UTC)),
        (date(2027, 3, 27), datetime(2027, 3, 29, 23, tzinfo=UTC)),
        (date(2027, 3, 28), datetime(2027, 3, 30, 22, tzinfo=UTC)),
    ],
)
def test_case_31_48_hours_are_clock_hours_also_when_the_clocks_change(
    booked: date, until: datetime
) -> None:
    assert placed_by(booked, RULES, BRUSSELS) == until
    assert (until - end_of(booked, BRUSSELS)).total_seconds() == 48 * 3600


def test_an_instant_payment_is_due_the_same_day_on_any_day() -> None:
    saturday = date(2026, 10, 31)
    assert reacts_by(saturday, RULES, rail=TARGET, instant=True) == saturday
    assert reacts_by(saturday, RULES, rail=TARGET) == date(2026, 11, 2)


def test_rails_other_than_sepa_count_calendar_days_and_say_so() -> None:
    assert rail_of("EUR") is TARGET
    assert rail_of("GBP") is rail_of("USDC") is rail_of(None) is CALENDAR
    assert reacts_by(date(2026, 10, 30), RULES, rail=CALENDAR) == date(2026, 10, 31)
    assert days_word(1, CALENDAR) == "1 calendar day"
    assert days_word(3, TARGET) == "3 TARGET days"


def test_an_item_without_a_due_date_is_never_late() -> None:
    assert stage_of(None, date(2030, 1, 1), RULES, TARGET) == "expected"


@given(
    st.dates(date(2020, 1, 1), date(2035, 1, 1)),
    st.integers(0, 30),
    st.sampled_from([TARGET, CALENDAR]),
)
def test_an_item_only_ever_grows_later(booked: date, days: int, rail: Rail) -> None:
    due = reacts_by(booked, RULES, rail=rail)
    order = ("expected", "late", "missing")
    today = date.fromordinal(booked.toordinal() + days)
    tomorrow = date.fromordinal(today.toordinal() + 1)
    now, later = (order.index(stage_of(due, day, RULES, rail)) for day in (today, tomorrow))
    assert now <= later
