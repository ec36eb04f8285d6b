"""A statement is compared with the previous one and with its account's declared currency."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import OURS, document, entry, rows, statement, write

from treasury.lake import Lake
from treasury.statements import (
    TABLES,
    AddReport,
    add_statements,
    check_statements,
    propose_profile,
    read_statements,
    to_toml,
)

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)


class Desk:
    """A lake to which each call of `add` adds a file, one day later than the call before."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.count = folder, 0
        self.lake = Lake(folder / "workspace", TABLES)

    def add(self, *texts: str, currency: str = "EUR") -> AddReport:
        self.count += 1
        path = write(self.folder, document(*texts), f"{self.count}.xml")
        return add_statements(
            self.lake,
            [path],
            NOW + timedelta(days=self.count),
            declared={OURS: "own_bank"},
            currencies={OURS: (currency,)},
        )

    def proofs(self) -> list[tuple[object, ...]]:
        stored = self.lake.snapshot().sql("SELECT * FROM statements ORDER BY opening_date")
        return rows(stored, "sequence_number", "proved")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def day(number: int, opening: str, closing: str, *, sequence: int | None = None) -> str:
    """Return a statement of a day of October, with one entry if the balances differ."""
    moved = Decimal(closing) - Decimal(opening)
    one = entry(f"{moved:.2f}") if moved else ""
    shown = f"2026-10-{number:02d}"
    text = statement(
        one, opening=opening, closing=closing, days=(shown, shown), name=f"D{number}",
        sequence=sequence or number,
    )  # fmt: skip
    return text.replace("2026-10-15", shown).replace("2026-10-16", shown)


@pytest.mark.acceptance
def test_consecutive_statements_are_proved(desk: Desk) -> None:
    desk.add(day(5, "100.00", "110.00"), day(6, "110.00", "115.00"))
    assert desk.proofs() == [(5, True), (6, True)]


@pytest.mark.acceptance
def test_a_statement_that_does_not_open_at_the_previous_closing_is_not_proved(
    desk: Desk,
) -> None:
    desk.add(day(5, "100.00", "110.00"))
    report = desk.add(day(6, "111.00", "115.00"))
    assert desk.proofs() == [(5, True), (6, False)]
    (said,) = report.not_proved
    assert said.proof.startswith(
        "opening EUR 111.00, but the statement before it (number 5 in 1.xml), to 2026-10-05,"
        " closed with EUR 110.00; opening EUR 111.00 + "
    )


@pytest.mark.acceptance
def test_missing_numbers_are_reported_but_do_not_fail_the_proof_if_balances_connect(
    desk: Desk,
) -> None:
    report = desk.add(day(5, "100.00", "110.00"), day(8, "110.00", "115.00"))
    assert desk.proofs() == [(5, True), (8, True)]
    assert "numbers 6 to 7 are not known" in str(report)
    assert "numbers 6 to 7 are not known" in report.statements[1].proof


@pytest.mark.acceptance
def test_missing_numbers_fail_the_proof_if_balances_do_not_connect(desk: Desk) -> None:
    report = desk.add(day(5, "100.00", "110.00"), day(8, "111.00", "115.00"))
    assert desk.proofs() == [(5, True), (8, False)]
    (said,) = report.not_proved
    assert said.proof.startswith(
        "numbers 6 to 7 are not known; opening EUR 111.00, but the statement before it (number 5 in"
        " 1.xml), to 2026-10-05, closed with EUR 110.00; "
    )
    desk.add(day(6, "110.00", "110.50"))
    assert desk.proofs() == [(5, True), (6, True), (8, False)]
    desk.add(day(7, "110.50", "111.00"))
    assert {proved for _, proved in desk.proofs()} == {True}


@pytest.mark.acceptance
def test_a_number_restarting_with_the_year_reports_the_missing_first_numbers(desk: Desk) -> None:
    december = day(31, "100.00", "110.00", sequence=250).replace("2026-10", "2026-12")
    january = day(5, "111.00", "115.00", sequence=3).replace("2026-10", "2027-01")
    report = desk.add(december, january)
    assert desk.proofs() == [(250, True), (3, False)]
    assert "numbers 1 to 2 are not known" in report.not_proved[0].proof
    carried_on = day(5, "110.00", "115.00", sequence=251).replace("2026-10", "2027-01")
    assert not Desk(desk.folder / "other").add(december, carried_on).problems


def span(first: int, last: int, opening: str, closing: str, sequence: int) -> str:
    """Return a statement of these days of October, with one entry on the last day."""
    moved = entry(f"{Decimal(closing) - Decimal(opening):.2f}")
    days = (f"2026-10-{first:02d}", f"2026-10-{last:02d}")
    return statement(
        moved, opening=opening, closing=closing, days=days, name=f"{first}-{last}",
        sequence=sequence,
    ).replace("2026-10-15", days[1])  # fmt: skip


def test_of_two_statements_with_overlapping_days_only_the_first_is_proved(
    desk: Desk,
) -> None:
    report = desk.add(span(1, 15, "100.00", "110.00", 1), span(10, 25, "105.00", "120.00", 2))
    assert desk.proofs() == [(1, True), (2, False)]
    assert (
        "the days 2026-10-10 to 2026-10-15 are in another statement too (number 1 in 1.xml), which"
        " closed with EUR 110.00, and this one opens with EUR 105.00"
    ) in report.not_proved[0].proof
    desk.add(span(1, 15, "100.00", "110.00", 1))
    assert desk.proofs() == [(1, True), (2, False)]


def test_a_shared_day_is_not_an_overlap_if_balances_connect(
    desk: Desk,
) -> None:
    assert not desk.add(span(1, 15, "100.00", "110.00", 1), span(15, 25, "110.00", "120.00", 2),
                        day(30, "120.00", "121.00", sequence=3)).problems  # fmt: skip
    assert {proved for _, proved in desk.proofs()} == {True}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("second", "proved"),
    [
        (day(6, "105.00", "119.00", sequence=5), False),
        (day(5, "102.00", "110.00", sequence=5), False),
        (day(5, "110.00", "119.00", sequence=5), True),
    ],
    ids=["another day", "the same day", "the next page"],
)
def test_a_repeated_number_proves_only_one_statement_unless_balances_connect(
    desk: Desk, second: str, proved: bool
) -> None:
    desk.add(day(4, "90.00", "100.00"), day(5, "100.00", "110.00"))
    text = second.replace("<Id>D5</Id>", "<Id>again</Id>").replace("T23:00", "T23:30")
    desk.add(text)
    assert [holds for _, holds in desk.proofs()].count(False) == (not proved)
    if not proved:
        path = write(desk.folder, document(day(4, "90.00", "100.00"), text), "check.xml")
        other = write(desk.folder, document(day(5, "100.00", "110.00")), "other.xml")
        checks = check_statements(read_statements([other, path])).arrow
        failed = [row["proof"] for row in checks.to_pylist() if not row["proved"]]
        assert [proof.partition(" (")[0] for proof in failed] == [
            "the bank gave number 5 to another statement too"
        ]


@pytest.mark.acceptance
def test_filling_a_gap_removes_the_doubt_about_the_next_statement(desk: Desk) -> None:
    desk.add(day(5, "100.00", "110.00"), day(7, "112.00", "115.00"))
    report = desk.add(day(6, "110.00", "112.00"))
    stored = desk.lake.snapshot().sql("SELECT * FROM statements ORDER BY opening_date")
    assert rows(stored, "proved", "doubt") == [(True, None)] * 3
    assert not any("not known" in proof for proof in stored["proof"].to_pylist())
    assert any("proved now" in problem.what for problem in report.problems)


@pytest.mark.acceptance
def test_an_earlier_statement_added_later_can_invalidate_a_stored_proof(desk: Desk) -> None:
    desk.add(day(6, "111.00", "115.00"))
    assert desk.proofs() == [(6, True)]
    report = desk.add(day(5, "100.00", "110.00"))
    assert desk.proofs() == [(5, True), (6, False)]
    assert any("closed with EUR 110.00" in problem.what for problem in report.problems)
    desk.add(day(6, "111.00", "115.00"))
    assert desk.proofs() == [(5, True), (6, False)]


@pytest.mark.acceptance
def test_a_constant_sequence_number_raises_no_doubt(desk: Desk) -> None:
    several = [day(n, f"{100 + n}.00", f"{101 + n}.00", sequence=1) for n in range(5, 9)]
    assert not desk.add(*several).problems
    assert {proved for _, proved in desk.proofs()} == {True}


@pytest.mark.acceptance
def test_a_monthly_and_a_daily_statement_do_not_contradict(desk: Desk) -> None:
    month = statement(entry("10.00"), opening="100.00", closing="110.00", name="M", sequence=44)
    assert not desk.add(month, day(15, "100.00", "110.00")).problems
    assert {proved for _, proved in desk.proofs()} == {True}


def test_a_statement_in_an_undeclared_currency_is_stored_but_not_proved(desk: Desk) -> None:
    report = desk.add(day(5, "100.00", "110.00"), currency="CHF")
    assert desk.proofs() == [(5, False)]
    assert report.not_proved[0].proof.startswith(
        f"account {OURS} is declared in CHF, not in EUR; opening EUR 100.00"
    )
    # This time the account is declared in the right currency.
    desk.add(day(5, "100.00", "110.00"))
    assert desk.proofs() == [(5, True)]


def test_check_compares_files_that_are_read_together(tmp_path: Path) -> None:
    path = write(tmp_path, document(day(5, "100.00", "110.00"), day(6, "111.00", "115.00")))
    checks = check_statements(read_statements([path])).arrow
    assert rows(checks, "proved") == [(True,), (False,)]
    other = check_statements(read_statements([path]), currencies={OURS: ("USD",)}).arrow
    assert "declared in USD" in other["proof"][0].as_py()


@pytest.mark.acceptance
def test_an_export_made_during_the_day_contradicts_no_later_statement(desk: Desk) -> None:
    header = "Rekeningnummer;Naam;Munt;Afschriftnummer;Datum;Omschrijving;Valuta;Bedrag;Saldo\n"
    text = f"{OURS};X;EUR;;05/10/2026;T;;1,00;101,00\n{OURS};X;EUR;;05/10/2026;T;;2,00;103,00\n"
    path = write(desk.folder, header + text, "noon.csv")
    add_statements(desk.lake, [path], NOW, declared={OURS: "own_bank"})
    desk.add(day(6, "110.00", "115.00"))
    assert {proved for _, proved in desk.proofs()} == {True}


@pytest.mark.acceptance
def test_statements_without_currency_or_account_are_not_compared(
    desk: Desk, tmp_path: Path
) -> None:
    head = "Datum;Text;Betrag;Saldo"
    first = write(tmp_path, f"{head}\n01.10.2026;a;1,00;2,00\n02.10.2026;b;1,00;3,00\n", "1.csv")
    other = write(tmp_path, f"{head}\n03.10.2026;c;1,00;7,00\n04.10.2026;d;1,00;8,00\n", "2.csv")
    profile = desk.lake.folder.parent / "profiles" / "some.toml"
    profile.parent.mkdir(parents=True)
    profile.write_text(to_toml(propose_profile(first).profile), "utf-8")
    for account, proof in ((None, "the statement names no account; "), (OURS, "")):
        report = add_statements(desk.lake, [first, other], NOW, declared={}, account=account)
        assert [one.proof for one in report.statements] == [
            f"{proof}the statement names no currency"
        ] * 2
        reading = read_statements([first, other], account=account)
        assert check_statements(reading).arrow["proved"].to_pylist() == [False, False]


def test_a_wrong_version_is_not_proved_by_the_right_one_with_the_same_id(
    desk: Desk, tmp_path: Path
) -> None:
    before = day(1, "0.00", "10.00")
    # The missing numbers 2 to 4 are reported but do not fail the proof.
    right = day(5, "10.00", "30.00", sequence=5)
    wrong = right.replace("30.00</Amt>", "50.00</Amt>")
    paths = [
        write(tmp_path, document(text), f"{name}.xml")
        for name, text in (("before", before), ("right", right), ("wrong", wrong))
    ]
    checks = check_statements(read_statements(paths)).arrow
    assert rows(checks, "file_name", "proved") == [
        ("before.xml", True), ("right.xml", True), ("wrong.xml", False)
    ]  # fmt: skip
    assert "(EUR 20.00 off)" in checks["proof"].to_pylist()[2]


@pytest.mark.first_case
@pytest.mark.parametrize("together", [True, False])
def test_a_truncated_version_is_listed_with_its_own_proof(
    desk: Desk, tmp_path: Path, together: bool
) -> None:
    whole = statement(
        entry("10.00"), entry("5.00", more="<AcctSvcrRef>B</AcctSvcrRef>"), closing="115.00"
    )
    short = statement(entry("10.00"), closing="115.00")
    if together:
        paths = [
            write(tmp_path, document(text), f"{number}.xml")
            for number, text in enumerate((whole, short))
        ]
        report = add_statements(desk.lake, paths, NOW, declared={OURS: "own_bank"})
        assert [one.proved for one in report.statements] == [True, False]
    else:
        desk.add(whole)
        report = desk.add(short)
    last = report.statements[-1]
    assert (last.proved, last.state) == (False, "known")
    assert "(EUR 5.00 off); it does not count: another version of it does" in last.proof
    assert report.failed == (last,)
    assert [proved for _, proved in desk.proofs()] == [True]


@pytest.mark.acceptance
def test_an_unbalanced_csv_adds_no_row_to_the_stored_statement(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "workspace", TABLES)
    head = "Transaction Date,Transaction Type,Sort Code,Account Number,Transaction Description"
    text = (
        f"{head},Debit Amount,Credit Amount,Balance\n"
        "01/10/2026,FPI,'10-00-00,123,A,,100.00,100.00\n"
        "02/10/2026,FPI,'10-00-00,123,B,,{},105.00\n"
    )
    for number, amount in enumerate(("5.00", "25.00")):
        path = write(tmp_path, text.format(amount), f"{number}.csv")
        report = add_statements(lake, [path], NOW, declared={"123": "own_bank"})
    assert [one.proved for one in report.statements] == [False]
    stored = lake.snapshot().sql("SELECT amount FROM statement_entries ORDER BY amount")
    assert stored["amount"].to_pylist() == [Decimal("5.00"), Decimal("100.00")]
