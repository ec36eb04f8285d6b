"""Dates and numbers of statements, compared with those of other statements."""

from datetime import date
from typing import Any

from treasury.statements.store.statement_facts import FACT_COLUMNS, StatementFacts, facts_of


def facts(**stated: Any) -> StatementFacts:
    row = {"statement_id": "s", "file_name": "s.xml", "proved": True, "entry_count": 0}
    return facts_of({**dict.fromkeys(FACT_COLUMNS), **row, **stated})


def test_a_statement_ends_on_the_day_of_its_closing_balance() -> None:
    october = facts(
        from_date=date(2026, 10, 1), to_date=date(2026, 11, 1), closing_date=date(2026, 10, 31)
    )
    assert (october.first, october.last) == (date(2026, 10, 1), date(2026, 10, 31))
    assert not october.covers(None, date(2026, 11, 1))


def test_a_statement_without_dates_covers_no_day() -> None:
    assert not facts().covers(None, date(2026, 10, 1))
    assert facts(to_date=date(2026, 10, 1)).last == date(2026, 10, 1)


def test_numbers_are_missing_between_two_statements_of_a_year() -> None:
    january, march = (
        facts(from_date=day, to_date=day, sequence_number=number)
        for number, day in ((1, date(2026, 1, 31)), (3, date(2026, 3, 31)))
    )
    assert list(march.missing_numbers(january)) == [2]
    assert not march.has_next_number(january)
