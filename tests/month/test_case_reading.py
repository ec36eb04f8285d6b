"""Cases 1 to 8: bank files are read once, exactly and with their own signs."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from case_desk import OWN, camt, desk, entry, report

from treasury.statements import propose_profile, read_statements

ROWS = (entry("10.00", "CRDT", "INV 1"), entry("4.00", "DBIT", "INV 2", day="2026-10-16"))


@pytest.mark.acceptance
def test_case_01_the_same_file_twice_renamed_or_overlapping_adds_no_rows(tmp_path: Path) -> None:
    workspace = desk(tmp_path)
    day = ("2026-10-15", "2026-10-15")
    workspace.statements.add(report(tmp_path, ROWS[0], day=day[0]))
    workspace.statements.add(
        camt(tmp_path, ROWS[0], closing="110.00", days=day, name="daily.xml"),
        camt(tmp_path, *ROWS, closing="106.00"),
    )
    before = workspace.table("statement_entries").arrow
    assert before.num_rows == 2
    for name in ("october.xml", "renamed.xml"):
        added = workspace.statements.add(camt(tmp_path, *ROWS, closing="106.00", name=name))
        assert added.entries_new == 0
    assert workspace.table("statement_entries").arrow.equals(before)


@pytest.mark.acceptance
def test_case_02_two_identical_genuine_rows_stay_two(tmp_path: Path) -> None:
    workspace = desk(tmp_path)
    for name in ("first.xml", "again.xml"):
        workspace.statements.add(camt(tmp_path, ROWS[0], ROWS[0], closing="120.00", name=name))
        rows = workspace.table("statement_entries").arrow.to_pylist()
        assert len({row["entry_id"] for row in rows}) == len(rows) == 2


@pytest.mark.acceptance
def test_case_03_a_batch_is_its_details_and_without_them_one_row(tmp_path: Path) -> None:
    workspace = desk(tmp_path)
    batch = entry("60.00", text="part", details=("10.00", "20.00", "30.00"))
    workspace.statements.add(camt(tmp_path, batch, entry("5.00"), closing="165.00"))
    rows = workspace.table("statement_entries").arrow.to_pylist()
    assert sorted(row["amount"] for row in rows) == [5, 10, 20, 30]
    assert len({row["entry_id"] for row in rows}) == 4
    assert sum(workspace.reconcile("2026-10").lines.arrow["amount"].to_pylist()) == Decimal(65)


@pytest.mark.acceptance
def test_case_04_pending_then_booked_is_one_movement(tmp_path: Path) -> None:
    workspace = desk(tmp_path)
    pending = entry("10.00", "CRDT", "INV 1", status="PDNG")
    workspace.statements.add(report(tmp_path, pending, day="2026-10-15"))
    assert [
        row["entry_status"] for row in workspace.table("statement_entries").arrow.to_pylist()
    ] == ["PDNG"]
    workspace.statements.add(camt(tmp_path, ROWS[0], closing="110.00"))
    assert [
        row["entry_status"] for row in workspace.table("statement_entries").arrow.to_pylist()
    ] == ["BOOK"]
    assert workspace.reconcile("2026-10").lines.arrow.num_rows == 1


@pytest.mark.acceptance
def test_case_05_untied_balances_are_reported_per_statement(tmp_path: Path) -> None:
    workspace = desk(tmp_path)
    added = workspace.statements.add(camt(tmp_path, *ROWS, closing="106.01"))
    (stored,) = workspace.statements.list().arrow.to_pylist()
    assert not stored["proved"]
    assert "106.01" in stored["proof"]
    assert "106.01" in str(added)
    (account,) = workspace.reconcile("2026-10").statements.arrow.to_pylist()
    assert (account["statements"], account["proved"], account["complete"]) == (1, 0, False)


@pytest.mark.first_case
@pytest.mark.parametrize("mark_text", ["true", "false"])
@pytest.mark.parametrize(("direction", "closing"), [("CRDT", "110.00"), ("DBIT", "90.00")])
def test_case_06_a_reversal_mark_never_turns_the_direction(
    tmp_path: Path, mark_text: str, direction: str, closing: str
) -> None:
    workspace = desk(tmp_path)
    reversal = entry("10.00", direction, "INV 1", more=f"<RvslInd>{mark_text}</RvslInd>")
    workspace.statements.add(camt(tmp_path, reversal, closing=closing))
    (row,) = workspace.table("statement_entries").arrow.to_pylist()
    assert (row["direction"], row["is_reversal"]) == (direction, mark_text == "true")
    assert workspace.statements.list().arrow.to_pylist()[0]["proved"]


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("reversal", "direction", "closing"),
    [("C", "CRDT", "110"), ("D", "DBIT", "90"), ("RC", "DBIT", "90"), ("RD", "CRDT", "110")],
)
def test_case_06_a_reversal_in_mt940_has_the_opposite_direction(
    tmp_path: Path, reversal: str, direction: str, closing: str
) -> None:
    workspace = desk(tmp_path)
    workspace.statements.add(
        mt940(tmp_path, f"2610151015{reversal}10,00", f"261031EUR{closing},00")
    )
    (row,) = workspace.table("statement_entries").arrow.to_pylist()
    assert row["direction"] == direction
    assert workspace.statements.list().arrow.to_pylist()[0]["proved"]


@pytest.mark.parametrize(
    ("value", "booked", "day"),
    [
        ("270102", "1230", date(2026, 12, 30)),
        ("261230", "0102", date(2027, 1, 2)),
        ("261231", "1231", date(2026, 12, 31)),
        ("280229", "0229", date(2028, 2, 29)),
        ("280301", "0229", date(2028, 2, 29)),
    ],
)
def test_case_07_a_day_without_a_year_gets_the_nearest_year(
    tmp_path: Path, value: str, booked: str, day: date
) -> None:
    path = mt940(tmp_path, f"{value}{booked}C10,00", f"{value}EUR110,00", f"{value}EUR100,00")
    (row,) = read_statements([path]).entries.arrow.to_pylist()
    assert row["booking_date"] == day
    assert "booking_date" in row["inferred"]


@pytest.mark.parametrize(
    "amounts", [("1.234,56", "-1,00"), ("1,234.56", "-1.00")], ids=["comma", "point"]
)
def test_case_08_amounts_are_read_with_the_files_own_sign(
    tmp_path: Path, amounts: tuple[str, str]
) -> None:
    path = csv(tmp_path, *amounts)
    proposal = propose_profile(path, account=OWN)
    read = read_statements(
        [path], profiles=[proposal.profile], account=OWN
    ).entries.arrow.to_pylist()
    assert sorted((row["direction"], row["amount"]) for row in read) == [
        ("CRDT", Decimal("1234.56")),
        ("DBIT", Decimal(1)),
    ]


def test_case_08_an_unreadable_amount_is_named_and_never_zero(tmp_path: Path) -> None:
    good = propose_profile(csv(tmp_path, "1.234,56", "-1,00"), account=OWN).profile
    path = csv(tmp_path, "1.234,56", "12,34,5")
    reading = read_statements([path], profiles=[good], account=OWN)
    assert reading.entries.arrow["amount"].to_pylist() == [Decimal("1234.56")]
    problem, lost = reading.problems
    assert (problem.line, "12,34,5" in problem.what) == (3, True)
    assert lost.what == "1 entry is not read"
    assert reading.statements.arrow["proved"].to_pylist() == [False]


def mt940(folder: Path, movement: str, closing: str, opening: str = "261001EUR100,00") -> Path:
    """Write an MT940 file with one movement."""
    path = folder / "october.sta"
    lines = [":20:ONE", f":25:{OWN}", ":28C:10/1", f":60F:C{opening}"]
    lines += [f":61:{movement}NTRFNONREF//B1", ":86:INV 1", f":62F:C{closing}", "-", ""]
    path.write_text("\r\n".join(lines), "ascii")
    return path


def csv(folder: Path, *amounts: str) -> Path:
    """Write a CSV file of a bank for which there is no profile."""
    path = folder / "export.csv"
    rows = [f"2026-10-{15 + n};{amount};Invoice {n}" for n, amount in enumerate(amounts)]
    path.write_text("\n".join(["Date;Amount;Description", *rows, ""]), "utf-8")
    return path
