"""Movements in several files: twins, intraday rows, corrections, pending movements."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from camt_samples import OURS, balance, detail, document, entry, rows, statement, write

from treasury.lake import Lake
from treasury.statements import TABLES, add_statements
from treasury.statements.store.movement_identity import MovementVersion

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
TWIN = entry("10.00", "CRDT", detail("INV 1"))
DAY = ("2026-10-15", "2026-10-15")
MORNING = statement(TWIN, closing="110.00", name="A", sequence=1, days=DAY)
EVENING = statement(TWIN, opening="110.00", closing="120.00", name="B", sequence=2, days=DAY)
MONTH = statement(TWIN, TWIN, closing="120.00", name="M")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "workspace", TABLES)


class Desk:
    """A lake to which each call of `add` adds a file, one day later than the call before."""

    def __init__(self, lake: Lake, folder: Path) -> None:
        self.lake, self.folder, self.count = lake, folder, 0

    def add(self, *statements: str, message: str = "BkToCstmrStmt") -> None:
        self.count += 1
        path = write(self.folder, document(*statements, message=message), f"{self.count}.xml")
        now = NOW + timedelta(days=self.count)
        add_statements(self.lake, [path], now, declared={OURS: "own_bank"})

    def rows(self, *names: str) -> list[tuple[object, ...]]:
        return rows(self.lake.snapshot().sql("SELECT * FROM statement_entries ORDER BY 1"), *names)


@pytest.fixture
def desk(lake: Lake, tmp_path: Path) -> Desk:
    return Desk(lake, tmp_path)


@pytest.mark.acceptance
@pytest.mark.parametrize("order", [(MORNING, EVENING), (EVENING, MORNING)])
def test_twins_in_two_statements_of_one_day_are_both_kept_in_every_reading(
    desk: Desk, order: tuple[str, str]
) -> None:
    for text in (*order, *order, MONTH, *order):
        desk.add(text)
    assert desk.rows("entry_status", "is_twin") == [("BOOK", True)] * 2


@pytest.mark.acceptance
def test_a_month_followed_by_its_daily_statements_adds_no_movement(desk: Desk) -> None:
    for text in (MONTH, MORNING, EVENING):
        desk.add(text)
    assert desk.rows("entry_status", "is_twin") == [("BOOK", True)] * 2


def intraday(*entries: str) -> str:
    return statement(*entries, balances=balance("ITBD", "100.00"), kind="Rpt", name="I", days=DAY)


REPORT = "BkToCstmrAcctRpt"
WORDED = entry("10.00", "CRDT", detail("INV 1 in other words"))


@pytest.mark.acceptance
@pytest.mark.parametrize("first_report", [True, False])
def test_a_provisional_row_with_other_texts_is_superseded_by_the_statement(
    desk: Desk, first_report: bool
) -> None:
    if first_report:
        desk.add(intraday(WORDED), message=REPORT)
        assert desk.rows("entry_status") == [("BOOK",)]
        desk.add(MORNING)
    else:
        desk.add(MORNING)
        desk.add(intraday(WORDED), message=REPORT)
    assert sorted(desk.rows("entry_status")) == [("BOOK",), ("SUPERSEDED",)]
    desk.add(intraday(WORDED), message=REPORT)
    assert sorted(desk.rows("entry_status")) == [("BOOK",), ("SUPERSEDED",)]


def test_an_unproved_statement_supersedes_nothing(desk: Desk) -> None:
    desk.add(intraday(WORDED), message=REPORT)
    desk.add(MORNING.replace("110.00", "111.00"))
    assert desk.rows("entry_status") == [("BOOK",)] * 2


@pytest.mark.acceptance
def test_a_pending_movement_booked_on_a_later_day_stays_one_movement(desk: Desk) -> None:
    pending = TWIN.replace("<Sts><Cd>BOOK</Cd></Sts>", "<Sts>PDNG</Sts>").replace(
        "<Dt>2026-10-15</Dt>", "<Dt>2026-10-14</Dt>"
    )
    desk.add(intraday(pending), message=REPORT)
    desk.add(MORNING)
    desk.add(MORNING)
    desk.add(intraday(pending), message=REPORT)
    ((status, booked),) = desk.rows("entry_status", "booking_date")
    assert (status, str(booked)) == ("BOOK", "2026-10-15")


@pytest.mark.acceptance
def test_a_corrected_statement_supersedes_the_entries_it_omits(desk: Desk) -> None:
    wrong = statement(TWIN, entry("7.00", "CRDT", detail("not ours")), closing="117.00")
    right = statement(TWIN, closing="110.00").replace("T23:00:00+", "T23:30:00+")
    desk.add(wrong)
    desk.add(right)
    wanted = [("BOOK",), ("SUPERSEDED",)]
    assert sorted(desk.rows("entry_status")) == wanted
    stored = desk.lake.snapshot().sql("SELECT closing_balance FROM statements")
    assert [str(value.normalize()) for value in stored["closing_balance"].to_pylist()] == ["1.1E+2"]
    desk.add(wrong)
    assert sorted(desk.rows("entry_status")) == wanted


def corrected(text: str) -> str:
    return text.replace("T23:00:00+", "T23:30:00+")


WRONG = statement(TWIN, entry("7.00", "CRDT", detail("not ours")), closing="117.00")
RIGHT = corrected(statement(TWIN, closing="110.00"))
TYPO = statement(entry("10.00", "CRDT", detail("typo")), closing="110.00")
WORDS = corrected(TYPO.replace("typo", "text"))
MOVED = corrected(TYPO.replace("<Dt>2026-10-15</Dt>", "<Dt>2026-10-14</Dt>"))


@pytest.mark.acceptance
@pytest.mark.parametrize("together", [True, False], ids=["one call", "two calls"])
@pytest.mark.parametrize("newer_first", [True, False])
@pytest.mark.parametrize(("old", "new"), [(WRONG, RIGHT), (TYPO, WORDS), (TYPO, MOVED)])
def test_of_two_versions_of_a_statement_the_newer_counts_in_any_order(
    desk: Desk, old: str, new: str, newer_first: bool, together: bool
) -> None:
    """This holds without bank references, and with equal counts, sums and balances."""
    order = (new, old) if newer_first else (old, new)
    if together:
        paths = [write(desk.folder, document(text), f"{n}.xml") for n, text in enumerate(order)]
        add_statements(desk.lake, paths, NOW, declared={OURS: "own_bank"})
    else:
        for text in order:
            desk.add(text)
    for again in (old, new, old):
        booked = [row for row in desk.rows("entry_status", "booking_date", "remittance")
                  if row[0] == "BOOK"]  # fmt: skip
        expected = {WRONG: ("2026-10-15", ["INV 1"]), WORDS: ("2026-10-15", ["text"])}
        day, words = expected.get(old if old == WRONG else new, ("2026-10-14", ["typo"]))
        assert [(str(d), texts) for _, d, texts in booked] == [(day, words)]
        desk.add(again)


@pytest.mark.acceptance
def test_a_corrected_statement_without_movements_supersedes_all_of_them(desk: Desk) -> None:
    desk.add(TYPO)
    desk.add(corrected(statement(closing="100.00")))
    assert desk.rows("entry_status") == [("SUPERSEDED",)]


@pytest.mark.acceptance
def test_many_equal_rows_are_kept_and_recognised_without_pairwise_comparison(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.statements.store.written_rows._COMPARED_AT_ONCE", 7)
    looked_at = 0
    real = MovementVersion.replaces

    def counted(self: MovementVersion, known: MovementVersion) -> bool:
        nonlocal looked_at
        looked_at += 1
        return real(self, known)

    monkeypatch.setattr(MovementVersion, "replaces", counted)
    many = statement(*[TWIN] * 300, closing="3100.00")
    desk.add(many)
    desk.add(many)
    assert desk.rows("is_twin") == [(True,)] * 300
    assert looked_at <= 300
    desk.add(statement(*[TWIN] * 301, name="more", closing="3110.00"))
    assert len(desk.rows("entry_id")) == 301
