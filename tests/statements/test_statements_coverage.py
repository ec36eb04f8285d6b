"""How far an account's statements reach, and what breaks the chain."""

from datetime import date
from pathlib import Path

import pytest
from camt_samples import OURS, document, rows, statement, write

from treasury.statements import coverage, read_statements

OCTOBER = ("2026-10-01", "2026-10-31")
NOVEMBER = ("2026-11-01", "2026-11-30")
DECEMBER = ("2026-12-01", "2026-12-31")


def covered(folder: Path, *statements: str) -> list[tuple[object, ...]]:
    read = read_statements(
        write(folder, document(text), f"{number}.xml") for number, text in enumerate(statements)
    )
    table = coverage(read.statements, {OURS: "own_bank"})
    return rows(table, "covered_from", "covered_to", "gaps")


def flat(balance: str, days: tuple[str, str], sequence: int = 1) -> str:
    return statement(opening=balance, closing=balance, days=days, sequence=sequence)


def test_months_that_follow_are_one_chain_in_any_order(tmp_path: Path) -> None:
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


def test_an_opening_that_is_not_the_last_closing_breaks_the_chain(tmp_path: Path) -> None:
    assert covered(tmp_path, flat("1.00", OCTOBER), flat("2.00", NOVEMBER)) == [
        (
            date(2026, 11, 1),
            date(2026, 11, 30),
            ["between 2026-10-31 and 2026-11-01: closing EUR 1.00, next opening EUR 2.00"],
        )
    ]


def test_a_statement_that_is_not_proved_covers_nothing(tmp_path: Path) -> None:
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
def test_a_weekend_without_statements_is_no_gap_but_a_week_is(
    tmp_path: Path, monday: str, whole: bool
) -> None:
    friday = flat("1.00", ("2026-10-30", "2026-10-30")).replace("ElctrncSeqNb>1<", "ElctrncSeqNb><")
    after = flat("1.00", (monday, monday)).replace("ElctrncSeqNb>1<", "ElctrncSeqNb><")
    ((start, _, _),) = covered(tmp_path, friday, after)
    assert (start == date(2026, 10, 30)) is whole


def test_an_account_without_statements_is_listed_with_none(tmp_path: Path) -> None:
    table = coverage(read_statements([]).statements, {"BE71": "provider_report"})
    assert rows(table, "account", "source", "covered_to", "statements") == [
        ("BE71", "provider_report", None, 0)
    ]


def test_an_account_that_is_not_declared_comes_last(tmp_path: Path) -> None:
    path = write(tmp_path, document(flat("1.00", OCTOBER)))
    table = coverage(read_statements([path]).statements, {"BE71": "own_bank"})
    assert rows(table, "account", "source") == [("BE71", "own_bank"), (OURS, None)]
