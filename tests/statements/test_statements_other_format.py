"""A change of format: MT940, camt and CSV of the same days add no duplicates."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import OURS, document, entry, rows, statement, write

from treasury.core.errors import StatementError
from treasury.lake import Lake
from treasury.statements import TABLES, AddReport, add_statements
from treasury.statements.field_values import own_account
from treasury.statements.store.withdraw import find_statement, withdraw_statement

pytestmark = pytest.mark.long_file

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)


class Desk:
    """A lake to which `add` adds files, each one day later than the file before."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.count = folder, 0
        self.lake = Lake(folder / "workspace", TABLES)

    def add(self, *texts: str) -> list[AddReport]:
        """Add files of any format, each in a separate call; OURS is the account of a CSV."""
        reports = []
        for text in texts:
            content = document(text) if text.startswith("<") else text
            path = write(self.folder, content, f"{self.count}.txt")
            self.count += 1
            now = NOW + timedelta(days=self.count)
            reports.append(
                add_statements(
                    self.lake, [path], now, declared={OURS: "own_bank"},
                    currencies={OURS: ("EUR",)}, account=OURS,
                )
            )  # fmt: skip
        return reports

    def booked(self) -> list[Decimal]:
        query = (
            "SELECT amount FROM statement_entries"
            " WHERE entry_status = 'BOOK' AND vanished_at IS NULL ORDER BY 1"
        )
        return self.lake.snapshot().sql(query)["amount"].to_pylist()

    def proofs(self) -> list[tuple[object, ...]]:
        query = (
            "SELECT * FROM statements WHERE vanished_at IS NULL"
            " ORDER BY closing_date, opening_date, format"
        )
        return rows(self.lake.snapshot().sql(query), "format", "proved")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def day(number: int, opening: str, closing: str) -> str:
    moved = Decimal(closing) - Decimal(opening)
    shown = f"2026-10-{number:02d}"
    text = statement(
        entry(f"{moved:.2f}"), opening=opening, closing=closing, days=(shown, shown),
        name=f"D{number}", sequence=number,
    )  # fmt: skip
    return text.replace("2026-10-15", shown).replace("2026-10-16", shown)


def day_as_mt(number: int, opening: str, closing: str, *, days: int = 1) -> str:
    """Return an MT940 statement of the days up to `number`; its texts differ from those of camt."""
    moved = Decimal(closing) - Decimal(opening)
    return (
        f":20:MT\n:25:{OURS}\n:28C:{number}/1\n"
        f":60F:C2610{number - days:02d}EUR{opening.replace('.', ',')}\n"
        f":61:2610{number:02d}C{moved:f}NTRFNONREF\n:86:other words\n".replace(".", ",", 0)
        + f":62F:C2610{number:02d}EUR{closing.replace('.', ',')}\n-\n"
    )


@pytest.mark.acceptance
@pytest.mark.parametrize("is_camt_first", [True, False])
def test_statements_that_overlap_by_a_day_in_two_formats_are_one_proved_chain(
    desk: Desk, is_camt_first: bool
) -> None:
    last = day(15, "20.00", "30.00")
    both = [day_as_mt(15, "20.00", "30.00"), last]
    both = both[::-1] if is_camt_first else both
    reports = desk.add(day_as_mt(14, "10.00", "20.00"), *both, day(16, "30.00", "45.00"))
    (repeated,) = reports[2].statements
    assert (repeated.state, repeated.proved, reports[2].entries_new) == ("known", True, 0)
    named = "camt.053" if is_camt_first else "MT940"
    assert f"its days are in 1.txt too, as {named}: it is not added" in repeated.proof
    assert desk.booked() == [Decimal(10), Decimal(10), Decimal(15)]
    assert [proved for _, proved in desk.proofs()] == [True, True, True]


@pytest.mark.acceptance
def test_partly_overlapping_statements_in_two_formats_are_refused_naming_both(desk: Desk) -> None:
    with pytest.raises(StatementError) as caught:
        desk.add(
            day_as_mt(15, "10.00", "30.00", days=5),
            statement(
                entry("5.00"), opening="20.00", closing="25.00", days=("2026-10-15", "2026-10-16")
            ).replace("2026-10-31", "2026-10-16"),
        )
    assert str(caught.value).startswith(
        "1.txt: camt.053 from 2026-10-15 to 2026-10-16, and 0.txt, MT940 from 2026-10-11 to"
        " 2026-10-15, have the same days only in part"
    )
    assert len(desk.proofs()) == 1


def week(opening: str, *moved: str) -> str:
    """Return a camt statement of the 12th to the 16th, with one movement per day from the 12th."""
    several = [
        entry(amount, booked=f"<BookgDt><Dt>2026-10-{12 + at}</Dt></BookgDt>")
        for at, amount in enumerate(moved)
    ]
    closing = f"{Decimal(opening) + sum(map(Decimal, moved)):.2f}"
    text = statement(*several, opening=opening, closing=closing, days=("2026-10-12", "2026-10-16"))
    return text.replace("2026-10-31", "2026-10-16")


@pytest.mark.acceptance
@pytest.mark.parametrize("is_week_first", [True, False])
def test_daily_and_weekly_statements_in_two_formats_are_one_chain(
    desk: Desk, is_week_first: bool
) -> None:
    """In either order, the daily balances connect the week's opening with its closing."""
    days = [day_as_mt(12, "10.00", "20.00"), day_as_mt(14, "20.00", "25.00")]
    both = week("10.00", "10.00", "5.00")
    reports = desk.add(*([both, *days] if is_week_first else [*days, both]))
    assert desk.booked() == [Decimal(5), Decimal(10)]
    assert all(proved for _, proved in desk.proofs())
    repeated = [one for report in reports for one in report.statements if one.state == "known"]
    named = ["0.txt too, as camt.053"] * 2 if is_week_first else ["0.txt, 1.txt too, as MT940"]
    assert [one in row.proof for one, row in zip(named, repeated, strict=True)] == [True] * len(
        named
    )
    before = desk.booked(), desk.proofs()
    again = desk.add(*([both, *days] if is_week_first else [*days, both]))
    assert [report.entries_new + report.entries_changed for report in again] == [0, 0, 0]
    assert (desk.booked(), desk.proofs()) == before


@pytest.mark.acceptance
def test_a_weekly_statement_with_a_movement_missing_from_its_days_is_refused(desk: Desk) -> None:
    desk.add(day_as_mt(12, "10.00", "20.00"), day_as_mt(14, "20.00", "25.00"))
    text = week("10.00", "10.00", "5.00", "3.00").replace("28.00", "25.00")
    text = text.replace("</Stmt>", entry("3.00", "DBIT") + "</Stmt>")
    with pytest.raises(StatementError, match=r"2\.txt: camt\.053 .* and 0\.txt, MT940"):
        desk.add(text)


def test_contradictory_statements_in_two_formats_are_refused(desk: Desk) -> None:
    desk.add(day_as_mt(15, "20.00", "30.00"))
    with pytest.raises(StatementError, match=r"1\.txt.* and 0\.txt.*disagree"):
        desk.add(day(15, "20.00", "35.00"))
    assert desk.booked() == [Decimal(10)]


@pytest.mark.acceptance
def test_of_two_formats_for_the_same_days_the_proved_one_counts(desk: Desk) -> None:
    wrong = day_as_mt(15, "20.00", "30.00").replace("C10.00", "C9.00")
    desk.add(wrong)
    assert desk.booked() == [Decimal(9)]
    desk.add(day(15, "20.00", "30.00"))
    assert desk.booked() == [Decimal(10)]
    desk.add(wrong)
    assert desk.booked() == [Decimal(10)]
    assert desk.proofs() == [("MT940", False), ("camt.053", True)]


KBC = (
    "Rekeningnummer;Rubrieknaam;Naam;Munt;Afschriftnummer;Datum;Omschrijving;Valuta;Bedrag;"
    "Saldo;credit;debet;rekeningnummer tegenpartij;BIC tegenpartij;Naam tegenpartij;"
    "Adres tegenpartij;gestructureerde mededeling;Vrije mededeling\n"
)


def export(opening: str, *moved: tuple[int, str]) -> str:
    """Return a CSV of the same account; each row is given by a day of October and an amount."""
    balance, text = Decimal(opening), KBC
    for number, amount in moved:
        balance += Decimal(amount)
        text += (
            f"{OURS};;Us;EUR;  02026001;{number}/10/2026;in words of its own;{number}/10/2026;"
            f"{amount};{balance};{amount};;;;;;;\n".replace(".", ",")
        )
    return text


WEEK = week("10.00", "10.00", "5.00")
EXPORT = export("10.00", (12, "10.00"), (13, "5.00"))


@pytest.mark.acceptance
@pytest.mark.parametrize("balance_column", [True, False])
@pytest.mark.parametrize("order", [(EXPORT, WEEK, EXPORT), (WEEK, EXPORT, WEEK)])
def test_an_export_of_a_statements_days_adds_no_duplicates(
    desk: Desk, order: tuple[str, ...], balance_column: bool
) -> None:
    without = "\n".join(";".join((*row.split(";")[:9], "", *row.split(";")[10:]))
                        for row in EXPORT.splitlines()[1:])  # fmt: skip
    texts = [text if balance_column or text != EXPORT else f"{KBC}{without}\n" for text in order]
    desk.add(texts[0])
    for text in texts[1:]:
        desk.add(text)
        assert desk.booked() == [Decimal(5), Decimal(10)]
        assert ("camt.053", True) in desk.proofs()


@pytest.mark.acceptance
def test_an_export_of_the_days_of_several_statements_adds_no_duplicates(desk: Desk) -> None:
    desk.add(day(12, "10.00", "20.00"), day(13, "20.00", "25.00"), day(14, "25.00", "27.00"))
    (report,) = desk.add(EXPORT)
    assert "its days are in 0.txt, 1.txt too, as camt.053" in report.statements[0].proof
    assert desk.booked() == [Decimal(2), Decimal(5), Decimal(10)]


@pytest.mark.parametrize("is_export_first", [True, False])
def test_an_export_that_extends_beyond_a_statement_is_refused_naming_both(
    desk: Desk, is_export_first: bool
) -> None:
    longer = export("10.00", (12, "10.00"), (13, "5.00"), (20, "1.00"))
    texts = [longer, WEEK] if is_export_first else [WEEK, longer]
    with pytest.raises(StatementError, match=r"1\.txt.* and 0\.txt.*only in part"):
        desk.add(*texts)


@pytest.mark.acceptance
def test_an_export_counts_again_if_the_statement_of_its_days_is_withdrawn(desk: Desk) -> None:
    desk.add(EXPORT, WEEK)
    stored = find_statement(desk.lake.snapshot(), "1.txt")
    withdrawal = withdraw_statement(desk.lake, stored, NOW + timedelta(days=9), {})
    assert withdrawal.add_again == ("0.txt",)
    desk.add(EXPORT)
    assert desk.booked() == [Decimal(5), Decimal(10)]
    assert [kind.startswith("CSV") for kind, _ in desk.proofs()] == [True]


IBAN = "DE89370400440532013000"


@pytest.mark.first_case
@pytest.mark.parametrize("is_camt_first", [True, False])
@pytest.mark.parametrize("declared", [IBAN, "37040044/532013000"])
def test_a_domestic_account_number_is_recognised_as_the_declared_iban(
    desk: Desk, declared: str, is_camt_first: bool
) -> None:
    """MT940 has bank code and account number, camt has the IBAN."""
    both = [
        day_as_mt(15, "20.00", "30.00").replace(OURS, "37040044/0532013000EUR"),
        document(day(15, "20.00", "30.00")).replace(OURS, IBAN),
    ]
    for number, text in enumerate(both[::-1] if is_camt_first else both):
        path = write(desk.folder, text, f"{number}.txt")
        report = add_statements(desk.lake, [path], NOW, declared={declared: "own_bank"})
    assert [one.account for one in report.statements] == [declared]
    assert desk.booked() == [Decimal(10)]


@pytest.mark.parametrize(
    ("stated", "declared"),
    [("123456789", "NL02ABNA0123456789"), ("539-0075470-34", "BE68539007547034"),
     ("61109010140000071219812874", "PL61109010140000071219812874"),
     ("37040044/532013000", IBAN)],
)  # fmt: skip
def test_an_account_number_inside_one_declared_iban_is_that_account(
    stated: str, declared: str
) -> None:
    assert own_account(stated, [declared, "FR1420041010050500013M02606"]) == declared
    assert own_account(declared, [stated]) == stated
    assert own_account(stated, []) == stated
    assert own_account(f"1{stated}", [declared]) == f"1{stated}"


def test_an_account_number_inside_two_declared_ibans_is_neither_account() -> None:
    assert own_account("123456789", ["NL02ABNA0123456789", "NL44RABO0123456789"]) == "123456789"
