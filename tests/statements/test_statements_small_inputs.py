"""Small inputs modelled on public bug reports about bank files."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows

from treasury.lake import Lake
from treasury.statements import TABLES, add_statements, read_file

SMALL = Path(__file__).parents[3] / "shared" / "strangers" / "small"
pytestmark = pytest.mark.skipif(
    not SMALL.is_dir(),
    reason=f"no folder {SMALL}: files that banks write and that were once misread are not tested",
)
PAID = "PAY-2026-004417"
LINES = {
    "F01_cfonb_bank_code_of_record_04.txt": [
        ("22.79", "DBIT", ["PRLV SEPA OPERATEUR", "FACTURE 3706114"]),
        ("50.00", "CRDT", ["VIR SEPA CLIENT", PAID]),
    ],
    "F06a_cfonb_without_line_ends.txt": [("50.00", "CRDT", ["VIR RECU PAYER", PAID])],
    "F07_camt_details_without_amounts.xml": [
        ("145.00", "CRDT", [PAID, "PAY-2026-004471"]), ("5.00", "CRDT", ["plain"]),
    ],
    "F08_camt_two_documents_in_one_file.xml": [
        ("50.00", "CRDT", ["one"]), ("70.00", "CRDT", ["two"]),
    ],
    "F14_camt_utc_instants.xml": [("50.00", "CRDT", ["x"])],
    "F19_camt_entry_charges_several_details.xml": [
        ("1000.00", "DBIT", ["Invoice 77"]), ("500.00", "DBIT", ["Invoice 78"]),
        ("26.00", "DBIT", []),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_every_line_is_read_and_proved_by_the_balances(name: str) -> None:
    file = read_file(SMALL / name)
    assert set(file.statements["proved"].to_pylist()) == {True}
    assert rows(file.entries, "amount", "direction", "remittance") == [
        (Decimal(amount), direction, texts) for amount, direction, texts in LINES[name]
    ]


def test_cfonb_without_trailing_blanks_gives_the_same_records(
    tmp_path: Path,
) -> None:
    run = (SMALL / "F06a_cfonb_without_line_ends.txt").read_text("ascii").rstrip("\n")
    records = [run[at : at + 120].rstrip() for at in range(0, len(run), 120)]
    cut = tmp_path / "cut.txt"
    cut.write_text("\n".join(records), "ascii")
    assert read_file(cut).statements["proved"].to_pylist() == [True]


def test_the_reference_in_the_last_free_text_of_coda_is_read() -> None:
    (row,) = read_file(SMALL / "F04_coda_second_information_record.cod").entries.to_pylist()
    assert row["additional_information"].endswith(f"1111 GENT Belgie mededeling {PAID}")


def test_instants_in_utc_become_days_in_the_country_of_the_account() -> None:
    file = read_file(SMALL / "F14_camt_utc_instants.xml")
    first = date(2026, 11, 1)
    assert rows(file.entries, "booking_date", "value_date") == [(first, first)]
    assert rows(file.statements, "from_date", "opening_date", "closing_date") == [(first,) * 3]


def test_a_dash_within_a_statement_of_mt940_does_not_end_it() -> None:
    file = read_file(SMALL / "F09_mt940_dash_inside_statement.sta")
    assert rows(file.entries, "account", "currency", "amount") == [
        ("10050000/1234567", "EUR", Decimal(1))
    ]
    (proof,) = file.statements["proof"].to_pylist()
    assert "= interim EUR 2.00" in proof


@pytest.mark.acceptance
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_notified_details_replace_the_booked_total(tmp_path: Path, order: tuple[int, int]) -> None:
    names = "F02a_camt053_total.xml", "F02b_camt054_details.xml"
    lake = Lake(tmp_path / "workspace", TABLES)
    for at, place in enumerate(order):
        now = datetime(2026, 11, 2 + at, tzinfo=UTC)
        declared = {"NL05TEST0417164300": "own_bank"}
        add_statements(lake, [SMALL / names[place]], now, declared=declared)
    query = "SELECT * FROM statement_entries WHERE entry_status = 'BOOK' ORDER BY amount"
    assert rows(lake.snapshot().sql(query), "amount", "remittance") == [
        (Decimal("500.00"), ["PAY-2026-004471"]), (Decimal("9126.40"), [PAID]),
    ]  # fmt: skip
