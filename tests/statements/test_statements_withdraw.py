"""Withdrawing a statement: its movements, the proofs of other statements, adding it again."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from camt_samples import OURS, detail, document, entry, rows, statement, write

from treasury.core.errors import InputError
from treasury.lake import Lake
from treasury.statements import (
    TABLES,
    AddReport,
    Withdrawal,
    add_statements,
    find_statement,
    withdraw_statement,
)

pytestmark = pytest.mark.acceptance

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
CURRENCIES = {OURS: ("EUR",)}
FIRST = entry("10.00", "CRDT", detail("INV 1"))
SECOND = entry("5.00", "CRDT", detail("INV 2"))
MONTH = document(statement(FIRST, SECOND, closing="115.00"))
DAY = ("2026-10-15", "2026-10-15")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "workspace", TABLES)


def add(lake: Lake, *paths: Path, days: int = 0) -> AddReport:
    return add_statements(
        lake, paths, NOW + timedelta(days=days), declared={OURS: "own_bank"}, currencies=CURRENCIES
    )


def withdraw(lake: Lake, name: str, *, days: int = 0) -> Withdrawal:
    statement = find_statement(lake.snapshot(), name)
    return withdraw_statement(lake, statement, NOW + timedelta(days=days), CURRENCIES)


def counting(lake: Lake, table: str, *names: str) -> list[tuple[object, ...]]:
    found = lake.snapshot().sql(f"SELECT * FROM {table} WHERE vanished_at IS NULL ORDER BY ALL")
    return rows(found, *names)


def test_withdrawn_movements_do_not_count_but_an_earlier_view_keeps_them(
    lake: Lake, tmp_path: Path
) -> None:
    add(lake, write(tmp_path, MONTH, "october.xml"))
    done = withdraw(lake, "october.xml", days=1)
    assert (done.movements, done.add_again) == (2, ())
    assert counting(lake, "statements", "file_name") == []
    assert counting(lake, "statement_entries", "amount") == []
    before = lake.snapshot(NOW + timedelta(hours=1))
    assert before.sql("SELECT 1 FROM statement_entries WHERE vanished_at IS NULL").num_rows == 2


def test_adding_the_file_again_restores_the_statement(lake: Lake, tmp_path: Path) -> None:
    path = write(tmp_path, MONTH, "october.xml")
    add(lake, path)
    before = counting(lake, "statement_entries", "entry_id", "amount", "entry_status")
    withdraw(lake, "october.xml", days=1)
    again = add(lake, path, days=2)
    assert [one.state for one in again.statements] == ["new"]
    assert counting(lake, "statement_entries", "entry_id", "amount", "entry_status") == before
    assert counting(lake, "statements", "proved") == [(True,)]


def test_a_statement_that_shares_withdrawn_movements_is_unproved_until_added_again(
    lake: Lake, tmp_path: Path
) -> None:
    month = write(tmp_path, MONTH, "october.xml")
    one_day = write(
        tmp_path,
        document(statement(FIRST, SECOND, closing="115.00", days=DAY, sequence=2)),
        "day.xml",
    )
    add(lake, month)
    assert add(lake, one_day, days=1).entries_new == 0
    done = withdraw(lake, "october.xml", days=2)
    assert done.add_again == ("day.xml",)
    ((proved, proof),) = counting(lake, "statements", "proved", "proof")
    assert not proved
    assert str(proof).startswith("some of its movements are no longer stored: add its file again")
    report = add(lake, one_day, days=3)
    assert report.entries_new + report.entries_changed == 2
    assert counting(lake, "statements", "proved") == [(True,)]
    assert len(counting(lake, "statement_entries", "entry_id")) == 2


def test_following_statements_are_rechecked_after_a_withdrawal(lake: Lake, tmp_path: Path) -> None:
    october = document(statement(closing="100.00"))
    wrong = document(
        statement(opening="90.00", closing="90.00", days=("2026-11-01", "2026-11-30"), sequence=2)
    )
    add(lake, write(tmp_path, october, "october.xml"), write(tmp_path, wrong, "november.xml"))
    assert set(counting(lake, "statements", "file_name", "proved")) == {
        ("november.xml", False),
        ("october.xml", True),
    }
    withdraw(lake, "october.xml", days=1)
    assert counting(lake, "statements", "file_name", "proved") == [("november.xml", True)]


def test_a_name_that_matches_no_or_several_statements_is_refused(
    lake: Lake, tmp_path: Path
) -> None:
    texts = (
        statement(closing="100.00"),
        statement(days=("2026-11-01", "2026-11-30"), sequence=2, closing="100.00"),
    )
    add(lake, write(tmp_path, document(*texts), "both.xml"))
    with pytest.raises(InputError, match="no stored statement"):
        withdraw(lake, "other.xml")
    with pytest.raises(InputError, match=r"stands for 2: both\.xml"):
        withdraw(lake, "both.xml")
    ids = [str(one) for (one,) in counting(lake, "statements", "statement_id")]
    withdraw(lake, ids[0][:8])
    assert counting(lake, "statements", "statement_id") == [(ids[1],)]
