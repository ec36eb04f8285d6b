"""A batch total in one message and its payments in another, in every order of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest
from camt_samples import OURS, balance, detail, document, entry, rows, statement, write

from treasury.lake import Lake
from treasury.statements import (
    TABLES,
    AddReport,
    add_statements,
    find_statement,
    withdraw_statement,
)

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
DAY = ("2026-10-15", "2026-10-15")
REFERENCE = "<AcctSvcrRef>SAM-77</AcctSvcrRef>"
PARTS = (
    detail("PAY-2026-004417", amount="20.00", refs="<AcctSvcrRef>OWN-1</AcctSvcrRef>"),
    detail("PAY-2026-004471", amount="5.00", refs="<AcctSvcrRef>OWN-2</AcctSvcrRef>"),
)
TOTAL = entry("25.00", more=REFERENCE)
BATCH = entry("25.00", "CRDT", *PARTS, more=REFERENCE)
MESSAGES = {
    "Stmt": "BkToCstmrStmt",
    "Rpt": "BkToCstmrAcctRpt",
    "Ntfctn": "BkToCstmrDbtCdtNtfctn",
}


def booked(*entries: str, closing: str = "125.00", name: str = "S") -> str:
    return document(statement(*entries, closing=closing, name=name, days=DAY))


def reported(kind: str, *entries: str, name: str = "N") -> str:
    text = statement(*entries, balances="", kind=kind, name=name, days=DAY)
    return document(text, message=MESSAGES[kind])


class Desk:
    """A lake to which each call of `add` adds files, one day later than the call before."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.lake = Lake(folder / "workspace", TABLES)

    def add(self, *texts: str) -> AddReport:
        self.count += 1
        paths = [
            write(self.folder, text, f"{self.count}-{at}.xml") for at, text in enumerate(texts)
        ]
        now = NOW + timedelta(days=self.count)
        return add_statements(self.lake, paths, now, declared={OURS: "own_bank"})

    def rows(self) -> list[tuple[object, ...]]:
        """Return amount, status and format of each stored row that is not withdrawn."""
        entries = self.lake.snapshot().sql(
            "SELECT e.amount::INTEGER AS amount, e.entry_status AS status, s.format FROM"
            " statement_entries AS e JOIN statements AS s USING (statement_id)"
            " WHERE e.vanished_at IS NULL ORDER BY 1, 2, 3"
        )
        return rows(entries, "amount", "status", "format")


DETAILED = [(5, "BOOK", "camt.054"), (20, "BOOK", "camt.054"), (25, "SUPERSEDED", "camt.053")]
BOOKED, NOTIFIED = booked(TOTAL), reported("Ntfctn", BATCH)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "calls",
    [
        [(BOOKED,), (NOTIFIED,)],
        [(NOTIFIED,), (BOOKED,)],
        [(BOOKED, NOTIFIED)],
        [(NOTIFIED, BOOKED)],
        [(BOOKED,), (NOTIFIED,), (BOOKED,), (NOTIFIED,)],
        [(NOTIFIED,), (BOOKED,), (NOTIFIED,), (BOOKED,), (NOTIFIED, BOOKED)],
    ],
)
def test_notified_payments_replace_their_total_in_any_order_of_arrival(
    tmp_path: Path, calls: Sequence[Sequence[str]]
) -> None:
    desk = Desk(tmp_path)
    for texts in calls:
        desk.add(*texts)
        again = desk.add(*texts)
        assert (again.entries_new, again.entries_changed) == (0, 0)
    assert desk.rows() == DETAILED


@pytest.mark.acceptance
def test_a_pending_notification_details_the_booked_total(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    pending = NOTIFIED.replace("<Cd>BOOK</Cd>", "<Cd>PDNG</Cd>")
    for text in (pending, BOOKED, pending):
        desk.add(text)
    assert desk.rows() == DETAILED


REPORTED = reported("Rpt", TOTAL, name="R")
REPORTED_BATCH = reported("Rpt", BATCH, name="R")


@pytest.mark.acceptance
@pytest.mark.parametrize("order", [*permutations((REPORTED, NOTIFIED, BOOKED))])
def test_a_total_in_an_intraday_report_and_the_statement_counts_once(
    tmp_path: Path, order: Sequence[str]
) -> None:
    desk = Desk(tmp_path)
    for text in (*order, *order):
        desk.add(text)
    assert desk.rows() == DETAILED


@pytest.mark.acceptance
@pytest.mark.parametrize("order", [*permutations((REPORTED_BATCH, NOTIFIED, BOOKED))])
def test_payments_in_two_messages_count_once(tmp_path: Path, order: Sequence[str]) -> None:
    desk = Desk(tmp_path)
    for text in (*order, *order):
        desk.add(text)
    assert [row[:2] for row in desk.rows()] == [(5, "BOOK"), (20, "BOOK"), (25, "SUPERSEDED")]


@pytest.mark.parametrize("order", [*permutations((REPORTED, NOTIFIED))])
def test_a_reported_total_and_its_payments_count_once_before_the_statement(
    tmp_path: Path, order: Sequence[str]
) -> None:
    desk = Desk(tmp_path)
    for text in order:
        desk.add(text)
    assert [row[:2] for row in desk.rows()] == [(5, "BOOK"), (20, "BOOK"), (25, "SUPERSEDED")]


@pytest.mark.first_case
@pytest.mark.parametrize("order", [*permutations((booked(BATCH), reported("Ntfctn", TOTAL)))])
def test_payments_of_the_statement_replace_the_total_of_a_notification(
    tmp_path: Path, order: Sequence[str]
) -> None:
    desk = Desk(tmp_path)
    for text in order:
        desk.add(text)
    assert desk.rows() == [
        (5, "BOOK", "camt.053"), (20, "BOOK", "camt.053"), (25, "SUPERSEDED", "camt.054"),
    ]  # fmt: skip


ONE_BY_ONE = tuple(
    reported("Ntfctn", entry(amount, "CRDT", detail(text), more=REFERENCE), name=f"N{amount}")
    for amount, text in (("20.00", "PAY-2026-004417"), ("5.00", "PAY-2026-004471"))
)


@pytest.mark.acceptance
@pytest.mark.parametrize("order", [*permutations((BOOKED, *ONE_BY_ONE))][::2])
def test_payments_in_separate_notifications_replace_their_total(
    tmp_path: Path, order: Sequence[str]
) -> None:
    desk = Desk(tmp_path)
    for text in (*order, order[1]):
        desk.add(text)
    assert desk.rows() == DETAILED


@pytest.mark.acceptance
@pytest.mark.parametrize("is_first", [True, False])
def test_a_total_does_not_take_the_text_of_one_notified_payment(
    tmp_path: Path, is_first: bool
) -> None:
    desk = Desk(tmp_path)
    part = detail("PAY-2026-004417", amount="20.00")
    one_of_several = reported("Ntfctn", entry("25.00", "CRDT", part, more=REFERENCE))
    for text in (one_of_several, BOOKED) if is_first else (BOOKED, one_of_several):
        desk.add(text)
    assert desk.rows() == [(25, "BOOK", "camt.053")]
    (row,) = desk.lake.snapshot().sql("SELECT * FROM statement_entries").to_pylist()
    assert row["remittance"] == []


@pytest.mark.acceptance
def test_an_incomplete_set_of_notified_payments_does_not_replace_the_total(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for text in (BOOKED.replace("25.00", "26.00"), *ONE_BY_ONE):
        desk.add(text)
    assert [row for row in desk.rows() if row[1] == "BOOK"] == [(26, "BOOK", "camt.053")]


@pytest.mark.acceptance
def test_a_notification_of_the_total_is_not_one_of_its_payments(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for text in (reported("Ntfctn", TOTAL, name="T"), *ONE_BY_ONE, BOOKED):
        desk.add(text)
    assert [row for row in desk.rows() if row[1] == "BOOK"] == DETAILED[:2]


OTHERWISE = {
    "another sum": reported("Ntfctn", BATCH.replace(">5.00<", ">4.00<")),
    "another reference": reported("Ntfctn", BATCH.replace("SAM-77", "SAM-78")),
    "another currency": reported("Ntfctn", BATCH.replace('Ccy="EUR"', 'Ccy="USD"')),
    "the other direction": reported("Ntfctn", BATCH.replace("CRDT", "DBIT")),
    "no reference": reported("Ntfctn", BATCH.replace(REFERENCE, "")),
    "another day": reported("Ntfctn", BATCH.replace("<Dt>2026-10-15</Dt>", "<Dt>2026-10-14</Dt>")),
}


@pytest.mark.acceptance
@pytest.mark.parametrize("notified", OTHERWISE.values(), ids=OTHERWISE)
@pytest.mark.parametrize("is_first", [True, False])
def test_payments_that_do_not_match_the_total_do_not_replace_it(
    tmp_path: Path, notified: str, is_first: bool
) -> None:
    desk = Desk(tmp_path)
    for text in (notified, BOOKED) if is_first else (BOOKED, notified):
        desk.add(text)
    assert [row for row in desk.rows() if row[2] == "camt.053"] == [(25, "BOOK", "camt.053")]
    # The statement does not cover the other day, so the notification of that day still counts.
    if notified != OTHERWISE["another day"]:
        assert {row[1] for row in desk.rows() if row[2] == "camt.054"} == {"SUPERSEDED"}


@pytest.mark.acceptance
def test_two_indistinguishable_totals_are_not_replaced(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.add(booked(TOTAL, TOTAL, closing="150.00"))
    desk.add(NOTIFIED)
    assert [row[:2] for row in desk.rows() if row[1] == "BOOK"] == [(25, "BOOK")] * 2


@pytest.mark.acceptance
def test_each_of_several_totals_is_replaced_by_its_own_payments(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    other = "<AcctSvcrRef>SAM-78</AcctSvcrRef>"
    out = detail("x", amount="3.00"), detail("y", amount="4.00")
    desk.add(booked(TOTAL, entry("7.00", "DBIT", more=other), entry("1.00"), closing="119.00"))
    desk.add(reported("Ntfctn", BATCH, entry("7.00", "DBIT", *out, more=other)))
    assert [row[:2] for row in desk.rows()] == [
        (1, "BOOK"), (3, "BOOK"), (4, "BOOK"), (5, "BOOK"), (7, "SUPERSEDED"), (20, "BOOK"),
        (25, "SUPERSEDED"),
    ]  # fmt: skip


@pytest.mark.acceptance
def test_a_corrected_statement_without_the_total_removes_its_payments(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.add(BOOKED)
    desk.add(NOTIFIED)
    corrected = booked(entry("25.00", more="<AcctSvcrRef>OTHER</AcctSvcrRef>"))
    desk.add(corrected.replace("T23:00:00+01:00</CreDtTm>", "T23:30:00+01:00</CreDtTm>"))
    assert [row for row in desk.rows() if row[1] == "BOOK"] == [(25, "BOOK", "camt.053")]
    desk.add(NOTIFIED)
    assert [row for row in desk.rows() if row[1] == "BOOK"] == [(25, "BOOK", "camt.053")]


@pytest.mark.acceptance
def test_a_total_counts_again_after_its_payments_are_withdrawn(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    desk.add(BOOKED)
    desk.add(NOTIFIED)
    notification = find_statement(desk.lake.snapshot(), "2-0.xml")
    withdrawal = withdraw_statement(desk.lake, notification, NOW + timedelta(days=5), {})
    assert withdrawal.add_again == ("1-0.xml",)
    desk.count = 5
    desk.add(BOOKED)
    assert desk.rows() == [(25, "BOOK", "camt.053")]


@pytest.mark.acceptance
def test_a_total_of_an_unproved_statement_is_also_replaced_by_its_payments(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    desk.add(booked(TOTAL, closing="126.00"))
    desk.add(NOTIFIED)
    assert [row[:2] for row in desk.rows()] == [(5, "BOOK"), (20, "BOOK"), (25, "SUPERSEDED")]


@pytest.mark.acceptance
def test_a_total_is_found_among_many_entries(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    many = [entry("1.00", more=f"<AcctSvcrRef>R{at}</AcctSvcrRef>") for at in range(1500)]
    assert balance("CLBD", "1625.00", day=DAY[1]) in booked(*many, TOTAL, closing="1625.00")
    desk.add(NOTIFIED)
    desk.add(booked(*many, TOTAL, closing="1625.00"))
    assert [row[:2] for row in desk.rows() if row[0] != 1] == [
        (5, "BOOK"), (20, "BOOK"), (25, "SUPERSEDED"),
    ]  # fmt: skip


SINGLE = "<EndToEndId>E2E-7</EndToEndId>"
BARE = booked(entry("25.00", more=REFERENCE))
NOTIFIED_ONE = reported(
    "Ntfctn", entry("25.00", "CRDT", detail("PAY-2026-004417", refs=SINGLE), more=REFERENCE)
)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "calls",
    [
        [(BARE,), (NOTIFIED_ONE,)],
        [(NOTIFIED_ONE,), (BARE,)],
        [(BARE, NOTIFIED_ONE)],
        [(NOTIFIED_ONE, BARE)],
    ],
)
def test_an_entry_without_texts_takes_those_of_its_notification(
    tmp_path: Path, calls: Sequence[Sequence[str]]
) -> None:
    desk = Desk(tmp_path)
    for texts in calls:
        desk.add(*texts)
    for text in (BARE, NOTIFIED_ONE):
        again = desk.add(text)
        assert (again.entries_new, again.entries_changed) == (0, 0)
    assert desk.rows() == [(25, "BOOK", "camt.053")]
    (row,) = desk.lake.snapshot().sql("SELECT * FROM statement_entries").to_pylist()
    assert (row["remittance"], row["end_to_end_id"]) == (["PAY-2026-004417"], "E2E-7")


@pytest.mark.acceptance
def test_texts_of_the_statement_take_precedence_over_those_of_a_notification(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    worded = entry("25.00", "CRDT", detail("Its own words"), more=REFERENCE)
    for text in (booked(worded), NOTIFIED_ONE):
        desk.add(text)
    (row,) = desk.lake.snapshot().sql("SELECT * FROM statement_entries").to_pylist()
    assert (row["remittance"], row["end_to_end_id"]) == (["Its own words"], None)
