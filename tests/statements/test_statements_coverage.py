"""The days that an account's statements cover, and the gaps that break the chain."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from camt_samples import OURS, document, rows, statement, write

from treasury.core.calendar import Month
from treasury.core.settings import BankAccount, StatementDays
from treasury.statements import coverage, read_statements
from treasury.statements.store.coverage import month_coverage

OCTOBER = ("2026-10-01", "2026-10-31")
NOVEMBER = ("2026-11-01", "2026-11-30")
DECEMBER = ("2026-12-01", "2026-12-31")


def covered(
    folder: Path, *statements: str, days: StatementDays | None = None
) -> list[tuple[object, ...]]:
    read = read_statements(
        write(folder, document(text), f"{number}.xml") for number, text in enumerate(statements)
    )
    account = BankAccount(account=OURS, source="own_bank", statement_days=days)
    table = coverage(read.statements.arrow, [account])
    return rows(table, "covered_from", "covered_to", "gaps")


def flat(balance: str, days: tuple[str, str], sequence: int = 1) -> str:
    """Return a statement without entries, so that it opens and closes with this balance."""
    return statement(opening=balance, closing=balance, days=days, sequence=sequence)


def test_consecutive_months_are_one_chain_in_any_order(tmp_path: Path) -> None:
    assert covered(tmp_path, flat("1.00", NOVEMBER), flat("1.00", OCTOBER)) == [
        (date(2026, 10, 1), date(2026, 11, 30), [])
    ]


def test_a_missing_month_breaks_the_chain_even_at_the_same_balance(tmp_path: Path) -> None:
    assert covered(tmp_path, flat("0.00", OCTOBER, 1), flat("0.00", DECEMBER, 3)) == [
        (
            date(2026, 12, 1),
            date(2026, 12, 31),
            ["2026-11-01 to 2026-11-30 missing: closing EUR 0.00, next opening EUR 0.00"],
        )
    ]


def test_the_banks_counter_bridges_days_without_a_statement(tmp_path: Path) -> None:
    assert covered(tmp_path, flat("5.00", OCTOBER, 1), flat("5.00", DECEMBER, 2)) == [
        (date(2026, 10, 1), date(2026, 12, 31), [])
    ]


def test_an_opening_that_differs_from_the_last_closing_breaks_the_chain(tmp_path: Path) -> None:
    assert covered(tmp_path, flat("1.00", OCTOBER), flat("2.00", NOVEMBER)) == [
        (
            date(2026, 11, 1),
            date(2026, 11, 30),
            ["between 2026-10-31 and 2026-11-01: closing EUR 1.00, next opening EUR 2.00"],
        )
    ]


def test_an_unproved_statement_covers_nothing(tmp_path: Path) -> None:
    wrong = statement(opening="1.00", closing="3.00", days=NOVEMBER)
    assert covered(tmp_path, flat("1.00", OCTOBER), wrong) == [
        (date(2026, 10, 1), date(2026, 10, 31), [])
    ]


def test_a_statement_within_another_changes_nothing(tmp_path: Path) -> None:
    inside = flat("7.00", ("2026-10-15", "2026-10-15"))
    assert covered(tmp_path, flat("1.00", OCTOBER), inside, flat("1.00", NOVEMBER)) == [
        (date(2026, 10, 1), date(2026, 11, 30), [])
    ]


@pytest.mark.parametrize(("monday", "whole"), [("2026-11-02", True), ("2026-11-09", False)])
def test_a_weekend_without_statements_is_not_a_gap_but_a_week_is(
    tmp_path: Path, monday: str, whole: bool
) -> None:
    friday = flat("1.00", ("2026-10-30", "2026-10-30")).replace("ElctrncSeqNb>1<", "ElctrncSeqNb><")
    after = flat("1.00", (monday, monday)).replace("ElctrncSeqNb>1<", "ElctrncSeqNb><")
    ((start, _, _),) = covered(tmp_path, friday, after)
    assert (start == date(2026, 10, 30)) is whole


def test_an_account_without_statements_is_listed_with_zero(tmp_path: Path) -> None:
    table = coverage(
        read_statements([]).statements.arrow,
        [BankAccount(account="BE71", source="provider_report")],
    )
    assert rows(table, "account", "source", "covered_to", "statements") == [
        ("BE71", "provider_report", None, 0)
    ]


def test_an_undeclared_account_comes_last(tmp_path: Path) -> None:
    path = write(tmp_path, document(flat("1.00", OCTOBER)))
    table = coverage(
        read_statements([path]).statements.arrow, [BankAccount(account="BE71", source="own_bank")]
    )
    assert rows(table, "account", "source") == [("BE71", "own_bank"), (OURS, None)]


@pytest.mark.parametrize(
    ("days", "after", "is_whole"),
    [
        ("business", "2026-11-03", False),
        ("business", "2026-11-02", True),
        ("every", "2026-11-02", False),
        ("every", "2026-10-31", True),
        ("movements", "2026-11-25", True),
        (("fri",), "2026-11-05", True),
        (("fri",), "2026-11-09", False),
    ],
)
def test_a_chain_continues_if_no_statement_is_expected_in_between(
    tmp_path: Path, days: StatementDays, after: str, is_whole: bool
) -> None:
    friday, later = (
        flat("1.00", (day, day)).replace("ElctrncSeqNb>1<", "ElctrncSeqNb><")
        for day in ("2026-10-30", after)
    )
    ((start, _, _),) = covered(tmp_path, friday, later, days=days)
    assert (start == date(2026, 10, 30)) is is_whole


def test_each_currency_of_an_account_is_covered_by_its_own_statements(tmp_path: Path) -> None:
    euros = document(flat("1.00", OCTOBER))
    dollars = document(flat("9.00", NOVEMBER)).replace("EUR", "USD")
    read = read_statements(
        write(tmp_path, text, f"{number}.xml") for number, text in enumerate((euros, dollars))
    )
    accounts = [
        BankAccount(account=OURS, source="own_bank", currency=code) for code in ("EUR", "USD")
    ]
    table = coverage(read.statements.arrow, accounts)
    assert rows(table, "currency", "covered_from", "covered_to", "gaps") == [
        ("EUR", date(2026, 10, 1), date(2026, 10, 31), []),
        ("USD", date(2026, 11, 1), date(2026, 11, 30), []),
    ]


@pytest.mark.parametrize(
    ("first", "last", "missing"),
    [
        ("2026-05-01", "2026-10-31", None),
        # 31 October is a Saturday.
        ("2026-05-01", "2026-10-30", None),
        ("2026-05-01", "2026-10-15", "2026-10-16"),
        ("2026-05-01", "2026-08-14", "2026-10-01"),
        ("2026-10-09", "2026-11-30", "2026-10-01"),
        ("2026-11-02", "2026-11-30", "2026-10-01"),
    ],
)
def test_a_month_is_covered_if_no_further_statement_is_expected_in_it(
    tmp_path: Path, first: str, last: str, missing: str | None
) -> None:
    assert missing_from(tmp_path, flat("1.00", (first, last))) == missing


@pytest.mark.parametrize(
    ("settings", "missing"),
    [
        ({"opened": date(2026, 10, 9)}, None),
        ({"opened": date(2026, 10, 8)}, "2026-10-08"),
        ({"opened": date(2026, 11, 3)}, None),
        ({"closed": date(2026, 9, 30)}, None),
        ({"statement_days": ("fri",)}, "2026-10-02"),
    ],
)
def test_a_month_must_be_covered_only_while_its_account_is_open(
    tmp_path: Path, settings: dict[str, Any], missing: str | None
) -> None:
    october = flat("1.00", ("2026-10-09", "2026-10-31"))
    assert missing_from(tmp_path, october, **settings) == missing


def missing_from(folder: Path, text: str, **settings: Any) -> str | None:
    """Return the first day of October for which a statement is missing, or None."""
    read = read_statements([write(folder, document(text))])
    account = BankAccount(account=OURS, source="own_bank", **settings)
    (row,) = month_coverage(read.statements.arrow, [account], None, Month(2026, 10)).to_pylist()
    assert row["is_covered"] is (row["missing_from"] is None)
    return None if row["missing_from"] is None else str(row["missing_from"])
