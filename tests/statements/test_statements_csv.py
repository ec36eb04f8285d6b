"""CSV by profile: recognised by its columns, amounts and days held strictly, proved by balances."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from hypothesis import given
from hypothesis import strategies as st

from treasury.errors import InputError, StatementError
from treasury.statements import propose_profile, read_file, to_toml
from treasury.statements.csv_values import amount_in, day_in, decimal_sign
from treasury.statements.profiles import BUILT_IN, load_profile

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


def test_a_balance_that_does_not_follow_is_named_with_its_line(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, KBC.replace("8.765,50", "8.765,51")))
    assert file.statements["proved"].to_pylist() == [False]
    assert "line 2: balance EUR 8,765.51, the movements reach EUR 8,765.50" in (
        file.statements["proof"][0].as_py()
    )


def test_a_row_that_cannot_be_read_costs_only_itself(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, KBC.replace("-1.234,50", "-1.23x")))
    assert file.entries.num_rows == 1
    assert "line 2" in str(file.problems[0])
    assert file.statements["proved"].to_pylist() == [False]


def test_debit_and_credit_columns_and_rows_of_text(tmp_path: Path) -> None:
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
def test_usual_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    file = read_file(write(tmp_path, KBC.replace("Klant", "Zürich").encode(encoding)))
    assert "Zürich" in file.entries["counterparty_name"].to_pylist()


UNKNOWN = (
    "Some Bank export\n\nPosting date|Narrative|Paid out|Paid in|Balance|IBAN\n"
    "10/13/2026|Invoice 7|12.00||88.00|GB29TEST\n10/14/2026|Refund||3.50|91.50|GB29TEST\n"
)


def test_an_unknown_bank_gets_a_profile_proposed_that_then_reads_it(tmp_path: Path) -> None:
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
    assert rows(file.statements, "proved", "account") == [(False, "GB29TEST")]  # no currency in it
    assert rows(file.entries, "amount", "direction", "booking_date") == [
        (Decimal(12), "DBIT", date(2026, 10, 13)),
        (Decimal("3.5"), "CRDT", date(2026, 10, 14)),
    ]


@pytest.mark.parametrize(
    "text", ["", "hello", "a,b,c\n1,2,3\n", "x\0y;z\n" * 5, "%PDF-1.7\n1 0 obj"]
)
def test_what_is_no_statement_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(StatementError) as caught:
        read_file(write(tmp_path, text, "odd"))
    assert caught.value.do


def test_a_profile_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, '[columns]\nbooking_date = ["Date"]\n', "bad.toml")
    with pytest.raises(StatementError, match="no column of amounts"):
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
def test_what_could_be_another_amount_is_an_error(text: str, decimal: str) -> None:
    with pytest.raises(InputError):
        amount_in(text, decimal)


def test_the_decimal_sign_is_what_the_whole_file_shows() -> None:
    assert decimal_sign(["1.234", "5.000", "12,5"]) == ","
    assert decimal_sign(["1.234,00", "7"]) == ","
    assert decimal_sign(["1'234.5"]) == "."
    assert decimal_sign(["12", "7"]) == "."
    assert decimal_sign(["1.234", "2.345"]) == ""


@given(st.decimals(-(10**9), 10**9, places=2), st.sampled_from([",", "."]))
def test_a_grouped_amount_reads_back(amount: Decimal, decimal: str) -> None:
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


def test_built_in_profiles_have_names_of_their_own() -> None:
    assert len({profile.name for profile in BUILT_IN}) == len(BUILT_IN) > 15


COUNTS = {
    "format1_20111109": 91, "format4_20230905": 111, "format1_20121101-B": 25,
    "CreditCard": 3, "format3_20101031": 36, "format6_20240228": 25, "format3_20130101": 509,
    "format5_20220518": 1003, "format1_20173006": 552, "format2_en": 10, "format3_fr": 195,
    "format3_it": 6, "format2_20091105": 50, "format3_20170130A": 7,
}  # fmt: skip


@pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of real bank files is not here")
@pytest.mark.parametrize("name", COUNTS)
def test_real_exports_are_read_by_built_in_profiles(name: str) -> None:
    (path,) = (SHARED / "csv").glob(f"*{name}*")
    file = read_file(path)
    assert file.format != "CSV proposed"
    assert file.entries.num_rows == COUNTS[name]
    assert not any("not read" in problem.what for problem in file.problems)
