"""TARGET days, months and instants."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treasury.core.calendar import (
    Month,
    add_target_days,
    is_target_day,
    next_target_day,
    parse_day,
    parse_instant,
    target_days_between,
)
from treasury.core.errors import InputError

BRUSSELS = ZoneInfo("Europe/Brussels")


def test_the_friday_before_easter_is_followed_by_tuesday() -> None:
    assert next_target_day(date(2026, 4, 2)) == date(2026, 4, 7)
    assert target_days_between(date(2026, 4, 2), date(2026, 4, 7)) == 1


@pytest.mark.parametrize("day", ["2026-01-01", "2026-04-03", "2026-04-06", "2026-05-01",
                                 "2026-12-25", "2027-03-26", "2026-10-31"])  # fmt: skip
def test_target_is_closed(day: str) -> None:
    assert not is_target_day(date.fromisoformat(day))


def test_christmas_eve_and_national_holidays_are_open() -> None:
    assert is_target_day(date(2026, 12, 24))
    assert is_target_day(date(2026, 7, 21))


@given(st.dates(date(2000, 1, 1), date(2060, 1, 1)), st.integers(1, 30))
def test_counting_days_back_gives_the_days_added(day: date, count: int) -> None:
    later = add_target_days(day, count)
    assert is_target_day(later)
    assert target_days_between(day, later) == count


def test_a_month_ends_where_the_next_begins_also_when_the_clock_changes() -> None:
    october = Month.parse("2026-10")
    assert october.start(BRUSSELS) == datetime(2026, 9, 30, 22, tzinfo=UTC)
    assert october.end(BRUSSELS) == datetime(2026, 10, 31, 23, tzinfo=UTC)
    assert (october.first, october.last) == (date(2026, 10, 1), date(2026, 10, 31))
    assert Month.parse("2026-12").next == Month(2027, 1)
    assert Month.parse("2027-01").previous == Month(2026, 12)
    assert len(list(Month(2028, 2).days())) == 29
    assert (str(october), october.title) == ("2026-10", "October 2026")


@pytest.mark.parametrize("text", ["2026-13", "2026-00", "26-10", "2026/10", "October", ""])
def test_an_invalid_month_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a month"):
        Month.parse(text)


@pytest.mark.parametrize("text", ["0000-01", "1899-12", "2100-01", "9999-12"])
def test_a_month_far_from_today_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=f"'{text}' is outside the years 1900 to 2099 - give"):
        Month.parse(text)


def test_an_instant_without_a_time_zone_is_utc() -> None:
    assert parse_instant("2026-11-01T09:00") == datetime(2026, 11, 1, 9, tzinfo=UTC)
    assert parse_instant("2026-11-01T09:00+01:00") == datetime(2026, 11, 1, 8, tzinfo=UTC)
    with pytest.raises(InputError, match="not a date and time"):
        parse_instant("yesterday")


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-30",
        "30/11/2026",
        "30.11.2026",
        "30 Nov",
        "30 nov 2026",
        " 30  November 2026",
        "30. Nov.",
    ],
)
def test_a_day_is_read_as_people_type_it(text: str) -> None:
    assert parse_day(text, date(2026, 11, 2)) == date(2026, 11, 30)


@pytest.mark.parametrize(
    ("text", "today", "day"),
    [
        ("5 Jan", date(2026, 11, 30), date(2027, 1, 5)),
        ("28 Dec", date(2027, 1, 4), date(2026, 12, 28)),
        ("29 Feb", date(2027, 3, 1), date(2028, 2, 29)),
    ],
)
def test_a_day_without_a_year_is_the_nearest_one(text: str, today: date, day: date) -> None:
    assert parse_day(text, today) == day


@pytest.mark.parametrize(
    "text",
    [
        "",
        "30",
        "31 Nov",
        "30.11",
        "31/11/2026",
        "11/30/2026",
        "30 Nvo 2026",
        "30/11/26",
        "30.11/2026",
    ],
)
def test_other_text_is_not_a_day(text: str) -> None:
    with pytest.raises(InputError, match="is not a day"):
        parse_day(text, date(2026, 11, 2))


def test_a_day_without_a_year_needs_today() -> None:
    with pytest.raises(InputError, match="'30 Nov' has no year"):
        parse_day("30 Nov")
