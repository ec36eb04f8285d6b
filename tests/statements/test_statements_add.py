"""Adding to the lake: no duplicates, all files or none, and the better version is kept."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from camt_samples import OURS, balance, detail, document, entry, rows, statement, write

from treasury.core.errors import StatementError
from treasury.lake import Lake
from treasury.statements import (
    TABLES,
    AddReport,
    add_statements,
    check_statements,
    read_statements,
)

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
SHARED = Path(__file__).parents[3] / "shared" / "statements"
DECLARED = {OURS: "own_bank"}
TWIN = entry("10.00", "CRDT", detail("INV 1"))
MONTH = document(statement(TWIN, TWIN, entry("5.00", "DBIT"), closing="115.00"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "workspace", TABLES)


def add(lake: Lake, *paths: Path, days: int = 0) -> AddReport:
    return add_statements(lake, paths, NOW + timedelta(days=days), declared=DECLARED)


def stored(lake: Lake, table: str = "statement_entries") -> pa.Table:
    return lake.snapshot().sql(f"SELECT * FROM {table} ORDER BY ALL")


@pytest.mark.acceptance
def test_statements_are_stored_with_their_proof_and_entries(lake: Lake, tmp_path: Path) -> None:
    report = add(lake, write(tmp_path, MONTH))
    assert (report.statements_new, report.entries_new, report.entries_known) == (1, 3, 0)
    assert rows(stored(lake, "statements"), "account", "proved", "entry_count", "added_at") == [
        (OURS, True, 3, NOW)
    ]
    assert sum(stored(lake)["amount"].to_pylist()) == Decimal("25.00")


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["file.xml", "renamed.xml"])
def test_adding_a_file_again_changes_nothing(lake: Lake, tmp_path: Path, name: str) -> None:
    add(lake, write(tmp_path, MONTH))
    before = stored(lake), stored(lake, "statements")
    report = add(lake, write(tmp_path, MONTH, name), days=1)
    assert (report.statements_new, report.entries_new, report.entries_changed) == (0, 0, 0)
    assert [statement.state for statement in report.statements] == ["known"]
    assert report.entries_known == 3
    assert (stored(lake), stored(lake, "statements")) == before


@pytest.mark.acceptance
def test_adding_a_folder_with_two_versions_again_changes_nothing(
    lake: Lake, tmp_path: Path
) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    text = (
        ":20:A\n:25:{}\n:28C:5/1\n:60F:C261001EUR1,\n"
        ":61:261002C1,NMSC\n:86:{}\n:62F:C261002EUR2,\n-"
    )
    for number, words in enumerate(("as it was", "as it should be")):
        write(folder, text.format(OURS, words), f"{number}.sta")
    assert add(lake, folder).entries_new >= 1
    before = stored(lake)
    assert before.filter(pc.field("entry_status") == "BOOK")["remittance"].to_pylist() == [
        ["as it should be"]
    ]
    report = add(lake, folder, days=1)
    assert (report.statements_new, report.entries_new, report.entries_changed) == (0, 0, 0)
    assert stored(lake) == before


@pytest.mark.acceptance
@pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no folder {SHARED}: adding is not tested on real files of banks"
)
def test_all_real_files_are_added_and_adding_them_a_third_time_changes_nothing(lake: Lake) -> None:
    first = add(lake, SHARED)
    assert first.entries_new + first.entries_known == sum(s.entry_count for s in first.statements)
    ids = stored(lake)["entry_id"]
    # Some files are versions of others, so the second call may still change a row.
    add(lake, SHARED, days=1)
    before = stored(lake)
    assert before["entry_id"] == ids
    again = add(lake, SHARED, days=2)
    assert (again.statements_new, again.entries_new, again.entries_changed) == (0, 0, 0)
    assert stored(lake) == before
    assert check_statements(read_statements([SHARED], go_on=True)).arrow.num_rows == len(
        first.statements
    )


@pytest.mark.acceptance
def test_a_file_given_twice_in_one_call_is_added_once(lake: Lake, tmp_path: Path) -> None:
    report = add(lake, write(tmp_path, MONTH), write(tmp_path, MONTH, "copy.xml"))
    assert (stored(lake).num_rows, stored(lake, "statements").num_rows) == (3, 1)
    assert (report.entries_new, report.entries_known) == (3, 3)


@pytest.mark.acceptance
def test_overlapping_files_neither_duplicate_movements_nor_lose_twins(
    lake: Lake, tmp_path: Path
) -> None:
    daily = statement(TWIN, TWIN, closing="120.00", name="D15", days=("2026-10-15", "2026-10-15"))
    add(lake, write(tmp_path, document(daily), "daily.xml"))
    report = add(lake, write(tmp_path, MONTH, "month.xml"))
    assert (report.statements_new, report.entries_new, report.entries_known) == (1, 1, 2)
    assert stored(lake).num_rows == 3


@pytest.mark.acceptance
def test_pending_becomes_booked_as_one_movement(lake: Lake, tmp_path: Path) -> None:
    pending = entry("10.00", "CRDT", detail("INV 1"), status="<Sts>PDNG</Sts>")
    report = statement(
        pending, balances=balance("ITBD", "100.00"), kind="Rpt", days=("2026-10-15", "2026-10-15")
    )
    add(lake, write(tmp_path, document(report, message="BkToCstmrAcctRpt"), "052.xml"))
    assert stored(lake)["entry_status"].to_pylist() == ["PDNG"]
    booked = statement(TWIN, closing="110.00", days=("2026-10-15", "2026-10-15"))
    result = add(lake, write(tmp_path, document(booked), "053.xml"), days=1)
    assert (result.entries_new, result.entries_changed) == (0, 1)
    assert stored(lake)["entry_status"].to_pylist() == ["BOOK"]
    assert stored(lake, "statement_entries_history").num_rows == 1


@pytest.mark.acceptance
def test_a_booked_movement_is_not_replaced_by_a_pending_one(lake: Lake, tmp_path: Path) -> None:
    add(lake, write(tmp_path, document(statement(TWIN, closing="110.00"))))
    pending = entry("10.00", "CRDT", detail("INV 1"), status="<Sts>PDNG</Sts>")
    add(lake, write(tmp_path, document(statement(pending, name="LATER")), "late.xml"))
    assert stored(lake)["entry_status"].to_pylist() == ["BOOK"]


@pytest.mark.acceptance
def test_a_corrected_statement_supersedes_and_keeps_the_old_version(
    lake: Lake, tmp_path: Path
) -> None:
    reference = "<AcctSvcrRef>R1</AcctSvcrRef>"
    first = statement(entry("10.00", "CRDT", detail("typo"), more=reference), closing="110.00")
    second = first.replace("typo", "text").replace("T23:00:00", "T23:30:00")
    add(lake, write(tmp_path, document(first)))
    report = add(lake, write(tmp_path, document(second)), days=1)
    assert (report.entries_new, report.entries_changed) == (0, 1)
    assert stored(lake)["remittance"].to_pylist() == [["text"]]
    assert stored(lake, "statement_entries_history")["remittance"].to_pylist() == [["typo"]]


def test_one_refused_file_prevents_the_whole_call(lake: Lake, tmp_path: Path) -> None:
    good, bad = write(tmp_path, MONTH), write(tmp_path, MONTH[:-9], "bad.xml")
    with pytest.raises(StatementError, match=r"bad\.xml"):
        add(lake, good, bad)
    assert lake.snapshot().commit is None
    assert stored(lake).num_rows == 0


@pytest.mark.acceptance
def test_an_unproved_statement_is_stored_and_reported(lake: Lake, tmp_path: Path) -> None:
    report = add(lake, write(tmp_path, document(statement(TWIN, closing="111.00"))))
    assert [s.statement_id for s in report.not_proved] == [report.statements[0].statement_id]
    assert "EUR 1.00 off" in report.not_proved[0].proof
    assert stored(lake).num_rows == 1


def test_an_undeclared_account_is_reported_with_the_next_step(lake: Lake, tmp_path: Path) -> None:
    report = add_statements(lake, [write(tmp_path, MONTH)], NOW, declared={})
    assert report.statements[0].source is None
    assert [p.what for p in report.problems] == [
        f"account {OURS} is not declared; add it to [[accounts]]"
    ]


@pytest.mark.acceptance
def test_spaces_in_a_declared_account_are_ignored(lake: Lake, tmp_path: Path) -> None:
    declared = {"be68 5390 0754 7034": "provider_report"}
    report = add_statements(lake, [write(tmp_path, MONTH)], NOW, declared=declared)
    assert (report.statements[0].source, report.problems) == ("provider_report", ())
    assert report.statements[0].from_date == date(2026, 10, 1)


def test_a_message_without_statements_can_be_added(lake: Lake, tmp_path: Path) -> None:
    report = add(lake, write(tmp_path, document()))
    assert (report.statements, report.entries_new) == ((), 0)
    assert "no statement" in report.problems[0].what


@pytest.mark.acceptance
def test_files_without_any_statement_make_no_commit(lake: Lake, tmp_path: Path) -> None:
    write(tmp_path, "dear customer", "letter.txt")
    add(lake, write(tmp_path, MONTH))
    before = lake.snapshot().sql("SELECT count(*) AS n FROM commits")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letter.txt").rename(tmp_path / "letters" / "letter.txt")
    with pytest.raises(StatementError, match="the given files contain no bank statement") as caught:
        add(lake, tmp_path / "letters", days=1)
    assert "letter.txt" in str(caught.value.do)
    assert lake.snapshot().sql("SELECT count(*) AS n FROM commits").equals(before)


def twelve_twins(order: range) -> str:
    """Return a batch of twelve payments in this order that differ only in the payer's account."""
    parties = (
        f"<RltdPties><DbtrAcct><Id><Othr><Id>P{n}</Id></Othr></Id></DbtrAcct></RltdPties>"
        for n in order
    )
    details = [detail("INV", amount="1.00", more=one) for one in parties]
    return document(statement(entry("12.00", "CRDT", *details), closing="112.00"))


@pytest.mark.acceptance
@pytest.mark.first_case
@pytest.mark.parametrize("order", [range(12), range(11, -1, -1)])
def test_more_than_ten_twins_keep_their_ids_in_a_second_file(
    lake: Lake, tmp_path: Path, order: range
) -> None:
    """The counter of twins must sort as a number, and ids must not depend on the order."""
    text = twelve_twins(range(12)).replace("<DbtrAcct><Id>", "<DbtrAcct><Id>")
    add(lake, write(tmp_path, text))
    before = {row["entry_id"]: row["debtor_account"] for row in stored(lake).to_pylist()}
    add(lake, write(tmp_path, twelve_twins(order), "again.xml"), days=1)
    after = {row["entry_id"]: row["debtor_account"] for row in stored(lake).to_pylist()}
    assert (len(before), after) == (12, before)


VERSION = ":20:A\n:25:{}\n:28C:5/1\n:60F:C261001EUR1,\n{}:62F:C261002EUR{},\n-"
MOVED = ":61:261002C{},NMSC\n:86:{}\n"


@pytest.mark.acceptance
@pytest.mark.parametrize("closings", [("2", "2"), ("2", "9"), ("9", "2"), ("9", "9")])
@pytest.mark.parametrize("each", [True, False])
def test_adding_versions_of_a_statement_again_changes_nothing(
    lake: Lake, tmp_path: Path, closings: tuple[str, str], each: bool
) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    for number, closing in enumerate(closings):
        text = VERSION.format(OURS, MOVED.format(1, f"text {number}"), closing)
        write(folder, text, f"{number}.sta")
    calls = [[path] for path in sorted(folder.iterdir())] if each else [[folder]]
    for days, paths in enumerate(calls):
        add(lake, *paths, days=days)
    before = stored(lake), stored(lake, "statements")
    for days, paths in enumerate(calls, 5):
        report = add(lake, *paths, days=days)
        assert (report.statements_new, report.entries_new, report.entries_changed) == (0, 0, 0)
        assert (stored(lake), stored(lake, "statements")) == before
