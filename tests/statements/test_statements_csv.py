"""CSV by profile: recognised by its columns, parsed strictly, proved by its balances."""

import io
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from csv_samples import BANKS, CURRENCIES
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.core.errors import InputError, StatementError
from treasury.statements import propose_profile, read_file, to_toml
from treasury.statements.csv.csv_file import CsvFile
from treasury.statements.csv.csv_values import amount_in, day_in, decimal_sign
from treasury.statements.csv.profiles import Profile, built_in_profiles, load_profile

SHARED = Path(__file__).parents[3] / "shared" / "statements"
KBC = (
    "Rekeningnummer;Rubrieknaam;Naam;Munt;Afschriftnummer;Datum;Omschrijving;Valuta;Bedrag;Saldo;"
    "rekeningnummer tegenpartij;BIC tegenpartij;Naam tegenpartij;gestructureerde mededeling;"
    "Vrije mededeling\n"
    "BE68 5390 0754 7034;;X;EUR;10;16/10/2026;Overschrijving;16/10/2026;-1.234,50;8.765,50;"
    "BE71;TESTBEBB;Leverancier;;Factuur 8\n"
    "BE68 5390 0754 7034;;X;EUR;10;15/10/2026;Overschrijving;15/10/2026;5.000,00;10.000,00;"
    "BE72;TESTBEBB;Klant;+++090/9337/55493+++;\n"
)


def test_a_known_bank_is_read_and_proved_by_its_balance_column(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, KBC, "export.txt"))
    assert file.format == "CSV kbc"
    assert rows(file.statements, "account", "proved", "opening_balance", "closing_balance") == [
        ("BE68539007547034", True, Decimal(5000), Decimal("8765.5"))
    ]
    names = ("booking_date", "direction", "amount", "counterparty_name", "structured_references")
    assert rows(file.entries, *names) == [
        (date(2026, 10, 16), "DBIT", Decimal("1234.5"), "Leverancier", []),
        (date(2026, 10, 15), "CRDT", Decimal(5000), "Klant", ["+++090/9337/55493+++"]),
    ]


def test_a_wrong_balance_is_named_with_its_line(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, KBC.replace("8.765,50", "8.765,51")))
    assert file.statements["proved"].to_pylist() == [False]
    assert "line 2: balance EUR 8,765.51, the movements reach EUR 8,765.50" in (
        file.statements["proof"][0].as_py()
    )


def test_an_unreadable_row_loses_only_itself(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, KBC.replace("-1.234,50", "-1.23x")))
    assert file.entries.num_rows == 1
    assert "line 2" in str(file.problems[0])
    assert file.statements["proved"].to_pylist() == [False]


def test_debit_and_credit_columns_and_text_continuation_rows_are_read(tmp_path: Path) -> None:
    text = (
        "Datum;Buchungstext;ZKB-Referenz;Belastung EUR;Gutschrift EUR;Valuta;Saldo EUR\n"
        "16.10.2026;Payment;R2;40.00;;16.10.2026;160.00\n;more about it;;;;;\n"
        "15.10.2026;Credit;R1;;100.00;15.10.2026;200.00\nTotal;;;40.00;100.00;;\n"
    )
    file = read_file(write(tmp_path, text), account="CH93")
    assert rows(file.entries, "direction", "amount", "remittance", "account") == [
        ("DBIT", Decimal(40), ["Payment", "more about it"], "CH93"),
        ("CRDT", Decimal(100), ["Credit"], "CH93"),
    ]
    assert rows(file.statements, "proved", "currency") == [(True, "EUR")]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_common_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    file = read_file(write(tmp_path, KBC.replace("Klant", "Zürich").encode(encoding)))
    assert "Zürich" in file.entries["counterparty_name"].to_pylist()


UNKNOWN = (
    "Some Bank export\n\nPosting date|Narrative|Paid out|Paid in|Balance|IBAN\n"
    "10/13/2026|Invoice 7|12.00||88.00|GB29TEST\n10/14/2026|Refund||3.50|91.50|GB29TEST\n"
)


def test_a_proposed_profile_reads_the_file_of_an_unknown_bank(tmp_path: Path) -> None:
    path = write(tmp_path, UNKNOWN, "some-bank.csv")
    proposal = propose_profile(path)
    assert not proposal.is_known
    assert (proposal.profile.name, proposal.profile.day_order) == ("some-bank", "mdy")
    guessed = read_file(path)
    assert guessed.statements["proved"].to_pylist() == [False]
    assert "guessed" in guessed.statements["proof"][0].as_py()
    kept = load_profile(write(tmp_path, to_toml(proposal.profile), "some-bank.toml"))
    assert kept == proposal.profile
    file = read_file(path, profiles=[kept])
    assert file.format == "CSV some-bank"
    # The file names no currency, so it is not proved.
    assert rows(file.statements, "proved", "account") == [(False, "GB29TEST")]
    assert rows(file.entries, "amount", "direction", "booking_date") == [
        (Decimal(12), "DBIT", date(2026, 10, 13)),
        (Decimal("3.5"), "CRDT", date(2026, 10, 14)),
    ]


@pytest.mark.parametrize(
    "text", ["", "hello", "a,b,c\n1,2,3\n", "x\0y;z\n" * 5, "%PDF-1.7\n1 0 obj"]
)
def test_a_file_that_is_not_a_bank_statement_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(StatementError) as caught:
        read_file(write(tmp_path, text, "odd"))
    assert caught.value.do


def test_a_profile_without_an_amount_column_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, '[columns]\nbooking_date = ["Date"]\n', "bad.toml")
    with pytest.raises(StatementError, match="no amount column"):
        load_profile(path)


@pytest.mark.parametrize(
    ("text", "decimal", "amount"),
    [
        ("1.234,56", ",", "1234.56"), ("1,234.56", ".", "1234.56"), ("1'234.56", ".", "1234.56"),
        ("-0,5", ",", "-0.5"), ("12,00-", ",", "-12"), ("(3.50)", ".", "-3.5"),
        ("EUR 1 234,5", ",", "1234.5"), ("€7", "", "7"), ("+5", ".", "5"),
    ],
)  # fmt: skip
def test_amounts_are_read_with_the_files_decimal_sign(text: str, decimal: str, amount: str) -> None:
    assert amount_in(text, decimal) == Decimal(amount)


@pytest.mark.parametrize(
    ("text", "decimal"),
    [("1.234", ""), ("1,234.56", ","), ("12.34.56", "."), ("", "."), ("1,2,3", "."), ("x", ".")],
)
def test_an_ambiguous_amount_is_an_error(text: str, decimal: str) -> None:
    with pytest.raises(InputError):
        amount_in(text, decimal)


def test_the_decimal_sign_is_detected_from_the_whole_file() -> None:
    assert decimal_sign(["1.234", "5.000", "12,5"]) == ","
    assert decimal_sign(["1.234,00", "7"]) == ","
    assert decimal_sign(["1'234.5"]) == "."
    assert decimal_sign(["12", "7"]) == "none"
    assert decimal_sign(["1.234", "2.345"]) == ""


@given(st.decimals(-(10**9), 10**9, places=2), st.sampled_from([",", "."]))
def test_an_amount_with_thousands_separators_is_read_back(amount: Decimal, decimal: str) -> None:
    shown = f"{amount:,.2f}"
    if decimal == ",":
        shown = shown.translate(str.maketrans(",.", ".,"))
    assert amount_in(shown, decimal) == amount


def test_days_are_read_in_the_profiles_order() -> None:
    assert day_in("03/04/2026", "dmy") == date(2026, 4, 3)
    assert day_in("03/04/2026", "mdy") == date(2026, 3, 4)
    assert day_in("2026-04-03 10:00", "dmy") == date(2026, 4, 3)
    assert day_in("3-Apr-26", "dmy") == date(2026, 4, 3)
    with pytest.raises(InputError):
        day_in("31.02.2026", "dmy")


def test_built_in_profiles_have_unique_names() -> None:
    names = [profile.name for profile in built_in_profiles()]
    assert len(set(names)) == len(names) > 15
    assert all(profile.title for profile in built_in_profiles())


COUNTS = {
    "format1_20111109": 91, "format4_20230905": 111, "format1_20121101-B": 25,
    "CreditCard": 3, "format3_20101031": 36, "format6_20240228": 25, "format3_20130101": 509,
    "format5_20220518": 1003, "format1_20173006": 552, "format2_en": 10, "format3_fr": 195,
    "format3_it": 6, "format2_20091105": 50, "format3_20170130A": 7,
}  # fmt: skip


@pytest.mark.first_case
@pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no folder {SHARED}: CSV profiles are not tested on real exports"
)
@pytest.mark.parametrize("name", COUNTS)
def test_real_exports_are_read_by_built_in_profiles(name: str) -> None:
    (path,) = (SHARED / "csv").glob(f"*{name}*")
    file = read_file(path)
    assert file.format != "CSV proposed"
    assert file.entries.num_rows == COUNTS[name]
    assert not any("not read" in problem.what for problem in file.problems)


@pytest.mark.parametrize("profile", built_in_profiles(), ids=lambda one: one.name)
def test_a_profile_survives_writing_and_reading(tmp_path: Path, profile: Profile) -> None:
    assert load_profile(write(tmp_path, to_toml(profile), "kept.toml")) == profile


@pytest.mark.parametrize("bank", BANKS)
def test_each_built_in_profile_reads_its_bank(tmp_path: Path, bank: str) -> None:
    file = read_file(write(tmp_path, BANKS[bank], "export.csv"), account="XX99")
    assert file.format == f"CSV {bank}"
    moved = rows(file.entries, "booking_date", "direction", "amount", "entry_status")
    assert sorted(moved) == [
        (date(2026, 10, 1), "CRDT", Decimal("100.5"), "BOOK"),
        (date(2026, 10, 2), "DBIT", Decimal("1234.56"), "BOOK"),
    ]
    ((currency, closing, proof),) = rows(file.statements, "currency", "closing_balance", "proof")
    assert currency == CURRENCIES.get(bank, "EUR")
    if closing is not None:
        assert closing == Decimal("3865.94")
        assert f"{currency} 5,000.00 + credits {currency} 100.50" in str(proof)


def test_total_and_balance_rows_are_not_movements(tmp_path: Path) -> None:
    text = KBC.splitlines()
    first, second = text[2], text[1]
    cells = [""] * 15
    cells[5], cells[6], cells[9] = "14/10/2026", "Beginsaldo", "5.000,00"
    total = [""] * 15
    total[6], total[8] = "Totaal", "3.765,50"
    lines = [text[0], ";".join(cells), first, second, ";".join(total)]
    lines[1] = "BE68539007547034;;X;EUR" + lines[1][3:]
    file = read_file(write(tmp_path, "\n".join(lines)))
    assert file.entries.num_rows == 2
    assert rows(file.statements, "proved", "opening_balance", "closing_balance") == [
        (True, Decimal(5000), Decimal("8765.5"))
    ]


def test_each_account_and_currency_in_a_file_is_a_separate_statement(tmp_path: Path) -> None:
    other = KBC.splitlines()[1:]
    text = KBC + "\n".join(line.replace("BE68 5390 0754 7034", "BE99") for line in other) + "\n"
    text += "\n".join(line.replace(";EUR;", ";USD;") for line in other)
    file = read_file(write(tmp_path, text))
    assert rows(file.statements, "account", "currency", "proved", "entry_count") == [
        ("BE68539007547034", "EUR", True, 2), ("BE99", "EUR", True, 2),
        ("BE68539007547034", "USD", True, 2),
    ]  # fmt: skip


ABROAD = (
    (
        "Date;Description;D/C;Amount;Balance\n01.10.26;Rent;D;1 000.00;4 000.00\n"
        "02.10.26;Sale;C;2'500.00;6'500.00\n"
    ),
    (
        "Bokföringsdag,Valutadag,Referens,Belopp,Bokfört saldo\n"
        "2026-10-02,2026-10-02,Faktura,1000.00,5000.00\n"
        "2026-10-01,2026-10-01,Hyra,-500.00,4000.00\n"
    ),
    (
        "Data operacji;Opis operacji;Kwota;\n2026-10-02;PRZELEW;1 234,56 PLN;\n"
        "2026-10-01;OPŁATA;-10,00 PLN;\n"
    ),
    (
        "Bokføringsdato\tBeskrivelse\tUt fra konto\tInn på konto\tSaldo\n"
        "02.10.2026\tHusleie\t500,00\t\t4500,00\n01.10.2026\tSalg\t\t1000,00\t5000,00\n"
    ),
    (
        'Date;Libellé;Débit euros;Crédit euros;\n31/10/2026;"VIREMENT\nSEPA";;1 234,56;\n'
        "30/10/2026;PRLV;45,00;;\n"
    ),
)


@pytest.mark.parametrize("lines", ABROAD)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16"])
def test_a_profile_is_proposed_for_exports_of_other_countries(
    tmp_path: Path, lines: str, encoding: str
) -> None:
    path = write(tmp_path, lines.encode(encoding), "unknown.csv")
    proposal = propose_profile(path)
    assert not proposal.is_known
    assert proposal.entries.num_rows == 2
    assert set(proposal.entries["direction"].to_pylist()) == {"CRDT", "DBIT"}
    assert not any("not read" in problem.what for problem in proposal.problems)


@pytest.mark.acceptance
@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 28), st.integers(-(10**6), 10**6), st.booleans()),
        min_size=2, max_size=30,
    ),
    st.booleans(),
)  # fmt: skip
def test_a_balance_column_proves_the_rows_in_either_order(
    moves: list[tuple[int, int, bool]], newest_first: bool
) -> None:
    course, rows_ = Decimal(1000), []
    for number, (_, cents, shown) in enumerate(sorted(moves)):
        amount = Decimal(cents).scaleb(-2)
        course += amount
        balance = f"{course}" if shown or number in {0, len(moves) - 1} else ""
        rows_.append(f"BE68;X;EUR;10;{1 + number % 28:02d}/10/2026;T;;{amount};{balance}")
    days = [date(2026, 10, 1 + number % 28) for number in range(len(moves))]
    rows_ = [r for _, r in sorted(zip(days, rows_, strict=True), key=lambda one: one[0])]
    header = "Rekeningnummer;Naam;Munt;Afschriftnummer;Datum;Omschrijving;Valuta;Bedrag;Saldo"
    listed = rows_[::-1] if newest_first else rows_
    text = "\n".join([header, *listed]).replace(".", ",")
    file = CsvFile(io.BytesIO(text.encode()), "x.csv")
    count = sum(batch.num_rows for batch in file.batches())
    assert count == len(moves)
    # Beyond 28 movements, days repeat, and the order of rows within a day is lost.
    if len(moves) <= 28:
        (one,) = file.statements
        assert one.proved, one.proof
        assert (one.opening_balance, one.closing_balance) == (Decimal(1000), course)


@pytest.mark.parametrize("content", ["<Document/>", ":20:X\n:25:A\n:28C:1\n:60F:C261001EUR0,\n"])
def test_no_profile_is_proposed_for_other_formats(tmp_path: Path, content: str) -> None:
    with pytest.raises(StatementError, match="not a CSV; only a CSV needs a profile") as caught:
        propose_profile(write(tmp_path, content, "bank.xml"))
    assert caught.value.do == "read it without a profile: treasury statements read bank.xml"


FORTIS = (
    "Volgnummer;Uitvoeringsdatum;Valutadatum;Bedrag;Valuta rekening;Rekeningnummer;"
    "Type verrichting;Tegenpartij;Naam van de tegenpartij;Mededeling;Details;Status;"
    "Reden van weigering\n\n"
    "2026-00001;17/10/2026;17/10/2026;-12{0}05;EUR;BE68;Kaart;;;;D;Geaccepteerd;\n"
    "2026-;16/10/2026;16/10/2026;-1031{0}41;EUR;BE68;Overschrijving;BE1;N;M;D;Geaccepteerd;\n"
    "2026-;15/10/2026;15/10/2026;-99{0}00;EUR;BE68;Overschrijving;BE1;N;M;D;Geweigerd;Saldo\n"
)


@pytest.mark.parametrize("sign", [",", "."])
def test_a_bank_that_uses_either_decimal_sign_is_read(tmp_path: Path, sign: str) -> None:
    file = read_file(write(tmp_path, "\ufeff" + FORTIS.format(sign), "f.csv"))
    assert rows(file.entries, "amount", "entry_status") == [
        (Decimal("12.05"), "BOOK"), (Decimal("1031.41"), "BOOK"), (Decimal("99.00"), "INFO"),
    ]  # fmt: skip


def test_rows_may_end_with_a_carriage_return_alone(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, KBC.replace("\n", "\r"), "kbc.csv"))
    assert (file.format, file.entries.num_rows) == ("CSV kbc", 2)
    assert rows(file.statements, "proved") == [(True,)]
