"""Unusual notations of dates, amounts, signs and totals in European bank exports."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from click.testing import CliRunner
from csv_samples import BANKS, OURS, read

from treasury.cli import treasury
from treasury.core.errors import StatementError
from treasury.statements import propose_profile, read_file

TABLES = {
    "czech": """Datum;Částka;Měna;Zůstatek;Popis
1. 10. 2026;1 234,50;CZK;2 234,50;a
15. 10. 2026;-234,50;CZK;2 000,00;b
""",
    "a currency sign next to the amount": """Datum;Částka;Zůstatek;Popis
01.10.2026;1 234,50 Kč;2 234,50 Kč;a
15.10.2026;-234,50 Kč;2 000,00 Kč;b
""",
    "polish": """Data operacji;Tytuł;Kwota;Saldo po operacji
2026-10-01;a;1 234,50 zł;2 234,50 zł
2026-10-15;b;-234,50 zł;2 000,00 zł
""",
    "polish with marked headers": """mBank S.A.;

#Saldo początkowe;1 000,00 PLN;

#Data operacji;#Tytuł;#Kwota;#Saldo po operacji;
2026-10-01;a;1 234,50;2 234,50;
2026-10-15;b;-234,50;2 000,00;
;;#Saldo końcowe;2 000,00 PLN;
""",
    "hungarian": """Könyvelés dátuma;Összeg;Egyenleg;Közlemény
2026. 10. 01.;1 234,50 Ft;2 234,50 Ft;a
2026.10.15.;-234,50 Ft;2 000 Ft;b
""",
    "american": """Date,Description,Amount,Running Bal.
10/01/2026,a,"$1,234.50","$2,234.50"
10/15/2026,b,(234.50),"$2,000.00"
""",
    "debit or credit in a column": """Buchungstag;Text;Betrag;S/H;Saldo;Währung
01.10.2026;a;1.234,50;H;2.234,50;EUR
15.10.2026;b;234,50;S;2.000,00;EUR
""",
    "a column of signs": """Datum;Omschrijving;Bedrag;+/-;Saldo;Munt
01-10-2026;a;1.234,50;+;2.234,50;EUR
15-10-2026;b;234,50;-;2.000,00;EUR
""",
    "debit or credit behind the amount": """Date,Description,Amount,Balance,Currency
01/10/2026,a,"1,234.50 CR","2,234.50 CR",GBP
15/10/2026,b,234.50 DR,"2,000.00 CR",GBP
""",
    "months by name": """Date,Details,Paid out,Paid in,Balance,Currency
01 Oct 2026,a,,"1,234.50","2,234.50",GBP
"Oct 15, 2026",b,234.50,,"2,000.00",GBP
""",
    "months by name in German": """Datum;Text;Betrag;Saldo;Währung
1. Okt. 2026;a;1.234,50;2.234,50;EUR
15. Oktober 2026;b;-234,50;2.000,00;EUR
""",
    "balances and turnovers among the rows": """Konto;Kuupäev;Selgitus;Summa;Valuuta;Deebet/Kreedit
BE68539007547034;01.10.2026;Algsaldo;1000,00;EUR;K
BE68539007547034;01.10.2026;a;1234,50;EUR;K
BE68539007547034;15.10.2026;b;234,50;EUR;D
BE68539007547034;31.10.2026;Käive;1000,00;EUR;K
BE68539007547034;31.10.2026;Lõppsaldo;2000,00;EUR;K
""",
    "totals below": """Datum;Text;Betrag;Saldo;Währung
01.10.2026;a;1.234,50;2.234,50;EUR
15.10.2026;b;-234,50;2.000,00;EUR
Gesamt;;1.000,00;;
Saldo 31.10.2026;;2.000,00;;EUR
""",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_unusual_table_layouts_are_read_and_their_balances_agree(tmp_path: Path, text: str) -> None:
    file = read(tmp_path, text)
    found = rows(file.entries, "direction", "amount", "booking_date", "remittance")
    assert [(way, amount, str(day), texts) for way, amount, day, texts in found] == [
        ("CRDT", Decimal("1234.50"), "2026-10-01", ["a"]),
        ("DBIT", Decimal("234.50"), "2026-10-15", ["b"]),
    ]
    ((account, opening, closing, proof),) = rows(
        file.statements, "account", "opening_balance", "closing_balance", "proof"
    )
    assert (account, opening, closing) == (OURS, 1000, 2000)
    assert "columns are guessed" in str(proof)
    assert "off" not in str(proof)


def test_omitted_totals_are_reported_with_their_line(tmp_path: Path) -> None:
    file = read(tmp_path, TABLES["totals below"])
    assert [(p.line, p.what) for p in file.problems if "left out" in p.what] == [
        (4, "left out as a total: 'Gesamt'"),
        (5, "left out as a total: 'Saldo 31.10.2026'"),
    ]


@pytest.mark.parametrize("row", [";TotalEnergies;-100,00", "31.02.2026;Saldo alt;-100,00"])
def test_a_movement_without_a_date_is_not_taken_for_a_total(tmp_path: Path, row: str) -> None:
    file = read(tmp_path, f"Datum;Text;Betrag\n01.10.2026;a;1,00\n{row}\n")
    assert file.entries.num_rows == 1
    assert any(problem.line == 3 and "not read" in problem.what for problem in file.problems)


def test_pending_rows_without_a_date_are_omitted_and_reported(tmp_path: Path) -> None:
    text = "Datum;Text;Betrag;Saldo;Währung\nVorgemerkt;Shop;-5,00;;EUR\n"
    file = read(tmp_path, f"{text}15.10.2026;a;-1,00;9,00;EUR\n14.10.2026;b;-1,00;10,00;EUR\n")
    assert file.entries["remittance"].to_pylist() == [["a"], ["b"]]
    assert file.problems[0].line == 2
    assert file.problems[0].what.startswith("left out: 'Vorgemerkt' instead of a day")
    assert "not read" not in str(file.statements["proof"][0])


def test_a_missing_booking_date_defaults_to_the_value_date_and_is_marked(tmp_path: Path) -> None:
    file = read(
        tmp_path, "Datum;Valuta;Text;Betrag\n01.10.2026;01.10.2026;a;1,00\n;02.10.2026;b;-2,00"
    )
    (_, second) = rows(file.entries, "booking_date", "inferred")
    assert (str(second[0]), second[1]) == ("2026-10-02", ["entry_status", "booking_date"])


@pytest.mark.parametrize(
    ("header", "days", "order"),
    [
        ("Date,Description,Amount", ("10/01/2026", "10/02/2026", "10/15/2026"), "2026-10-01"),
        ("Date,Description,Amount", ("01/10/2026", "02/10/2026", "15/10/2026"), "2026-10-01"),
        ("Date,Description,Amount", ("10/10/2026", "10/10/2026", "11/11/2026"), "2026-10-10"),
        ("Boekdatum,Omschrijving,Bedrag", ("01-10-2026", "02-10-2026", "05-10-2026"), "2026-10-01"),
        ("Date,Libellé,Montant", ("01/10/2026", "02/10/2026", "05/10/2026"), "2026-10-01"),
    ],
)
def test_the_date_order_follows_from_the_values_or_the_language(
    tmp_path: Path, header: str, days: tuple[str, ...], order: str
) -> None:
    file = read(tmp_path, f"{header}\n" + "".join(f"{day},x,-1.00\n" for day in days))
    assert str(file.entries["booking_date"][0]) == order


def test_an_unknown_status_counts_as_pending_and_is_reported_once(tmp_path: Path) -> None:
    text = "Datum;Text;Betrag;Status\n" + "01.10.2026;a;-1,00;Zurückgestellt\n" * 3
    file = read(tmp_path, text)
    assert file.entries["entry_status"].to_pylist() == ["PDNG"] * 3
    said = [problem.line for problem in file.problems if "'Zurückgestellt'" in problem.what]
    assert said == [2]


@pytest.mark.parametrize(
    "below",
    [
        "03.10.2026;c;3,00\n",
        '03.10.2026;c "d" ;3,00\n04.10.2026;e;4,00\n',
        '03.10.2026;c;3,00\n04.10.2026;"e";4,00\n',
    ],
    ids=["to the end", "to a quote in a text", "to the next cell in quotes"],
)
def test_an_unclosed_quote_is_refused_by_line(tmp_path: Path, below: str) -> None:
    text = f'Datum;Text;Betrag\n01.10.2026;a;1,00\n02.10.2026;"open;2,00\n{below}'
    with pytest.raises(StatementError, match=r"export\.csv line 3: a quote that begins there"):
        read(tmp_path, text)


def test_a_multi_line_text_is_one_value(tmp_path: Path) -> None:
    file = read(tmp_path, 'Datum;Text;Betrag\n01.10.2026;"a; b\nc; d";1,00\n02.10.2026;e;-2,00\n')
    assert file.entries["remittance"].to_pylist() == [["a; b\nc; d"], ["e"]]


@pytest.mark.first_case
@pytest.mark.parametrize("row", [";Payment to someone;-1,00;2,00\n", ";;1,;\n"])
def test_a_table_of_mostly_other_rows_is_refused(tmp_path: Path, row: str) -> None:
    text = f"Datum;Text;Betrag;Saldo\n01.10.2026;a;1,00;2,00\n{row * 10_001}"
    with pytest.raises(StatementError, match="most of its rows are not movements; line 1000"):
        read(tmp_path, text)


@pytest.mark.parametrize("bank", sorted(BANKS.keys() - {"revolut", "revolut business"}))
def test_a_proposed_profile_reads_the_same_rows_as_the_built_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bank: str
) -> None:
    """Revolut is excluded, because no column has its amount including the fee."""
    names = ("account", "currency", "direction", "amount", "booking_date")
    known = read(tmp_path, BANKS[bank])
    monkeypatch.setattr("treasury.statements.csv.csv_file.built_in_profiles", tuple)
    path = write(tmp_path, BANKS[bank], "export.csv")
    # English dates may be month-first, so the answer states that these are day-first.
    guessed = propose_profile(path, account=OURS, answers={"days": "dmy"})
    assert (guessed.is_known, guessed.questions) == (False, ())
    found = rows(guessed.entries, *names)
    assert [row[2:] for row in found] == [row[2:] for row in rows(known.entries, *names)]
    assert {row[1] for row in found} <= {row[1] for row in rows(known.entries, *names)} | {None}
    assert len({row[0] for row in found}) == 1


HEADERS = {
    "one column for both ways": ("Datum;Text;Soll/Haben;Saldo", "1,00", "7,00"),
    "one column that names both ways": (
        "Booked At;Text;Credit/Debit Amount;Balance", "1,00", "7,00",
    ),
    "lost letters": ("Buchung;Text;Umsatz;W\ufffdhrung", "EUR", "EUR"),
    "words within others": ("Date;Relationship;Amount;Landcode;Text", "BE;x", "BE;y"),
}  # fmt: skip


@pytest.mark.parametrize(("header", "first", "second"), HEADERS.values(), ids=HEADERS)
def test_a_column_is_identified_by_its_header_and_its_values(
    tmp_path: Path, header: str, first: str, second: str
) -> None:
    text = f"{header}\n01.10.2026;CRDT;-5,00;{first}\n15.10.2026;BE;6,00;{second}\n"
    assert rows(read(tmp_path, text).entries, "direction", "amount") == [("DBIT", 5), ("CRDT", 6)]


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1250", "Zapłata za usługę"),
        ("cp1252", "Überweisung für Maître Çédille"),
        ("utf-8", "ł é"),
    ],
)
def test_regional_code_pages_are_detected(tmp_path: Path, encoding: str, text: str) -> None:
    content = f"Datum;Text;Betrag\n01.10.2026;{text};-1,00\n".encode(encoding)
    file = read_file(write(tmp_path, content, "export.csv"), account=OURS)
    assert file.entries["remittance"].to_pylist() == [[text]]


def test_a_central_european_file_is_read_by_its_profile(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, BANKS["mbank"].encode("cp1250"), "export.csv"), account=OURS)
    assert file.format == "CSV mbank"
    assert file.statements["proved"].to_pylist() == [True]
    assert file.entries["remittance"].to_pylist() == [["In"], ["Out"]]
    assert next(p.what for p in file.problems) == "not UTF-8; read as Windows-1250"


def without_header(first: int, debit: str, credit: str, step: int, *, days: int = 1) -> list[str]:
    """Return twelve rows: in turn a debit of `step` and a credit of three times `step`."""
    lines, balance = [], first
    for number in range(12):
        is_debit = number % 2 == 0
        balance += -step if is_debit else 3 * step
        cells = {
            debit: f"{step}.00" if is_debit else "",
            credit: "" if is_debit else f"{3 * step}.00",
        }
        day = f"{1 + number * days:02d}.10.2026"
        lines.append(f"{day};Text {number};{cells['third']};{cells['fourth']};{day};{balance}.00")
    return lines


def test_without_a_header_the_balances_identify_the_debit_column(tmp_path: Path) -> None:
    right = without_header(1000, "fourth", "third", 10)
    file = read_file(write(tmp_path, "\n".join(right), "a.csv"))
    assert file.format == "CSV postfinance without header"
    assert file.entries["direction"].to_pylist()[:2] == ["DBIT", "CRDT"]
    swapped = without_header(1000, "third", "fourth", 10)
    with pytest.raises(StatementError, match="not a bank statement in any known format"):
        read_file(write(tmp_path, "\n".join(swapped), "b.csv"))


@pytest.mark.parametrize("count", [1, 4])
def test_without_a_header_and_conclusive_balances_no_sign_is_guessed(
    tmp_path: Path, count: int
) -> None:
    """A single balance is not conclusive, and equal movements of one day fit in either order."""
    lines = [f"01.10.2026;Text;;10.00;01.10.2026;{1000 - 10 * n}.00" for n in range(count)]
    with pytest.raises(StatementError, match="not a bank statement in any known format"):
        read_file(write(tmp_path, "\n".join(lines), "a.csv"))


def test_a_header_of_an_unknown_bank_is_not_taken_for_a_total(tmp_path: Path) -> None:
    lines = ["Datum;Text;Belastung;Gutschrift;Valuta;Saldo"]
    lines += without_header(1000, "third", "fourth", 10)
    file = read_file(write(tmp_path, "\n".join(lines), "a.csv"))
    assert file.format == "CSV proposed"
    assert file.entries["direction"].to_pylist()[:2] == ["DBIT", "CRDT"]
    assert not any("total" in problem.what for problem in file.problems)


def test_a_repeated_header_is_skipped_and_a_different_one_refused(tmp_path: Path) -> None:
    bank = BANKS["lloyds"].splitlines()
    again = read_file(write(tmp_path, "\n".join([*bank[:2], bank[0], *bank[2:]]), "a.csv"))
    assert [(p.line, p.what) for p in again.problems] == [(3, "left out: the header is repeated")]
    assert again.statements["proved"].to_pylist() == [True]
    swapped = bank[0].replace("Debit Amount,Credit Amount", "Credit Amount,Debit Amount")
    with pytest.raises(StatementError, match=r"b\.csv line 3: another table begins"):
        read_file(write(tmp_path, "\n".join([*bank[:2], swapped, *bank[2:]]), "b.csv"))


def test_an_unreadable_row_without_a_known_account_fails_every_proof(tmp_path: Path) -> None:
    bank = BANKS["lloyds"].splitlines()
    torn = "01/10/2026,FPI,'11-22-33,1234,In,,100.x0,5100.50"
    file = read_file(write(tmp_path, "\n".join([*bank, torn]), "a.csv"))
    assert rows(file.statements, "account", "proved") == [("12345678", False)]
    assert "line 4: entry not read: '100.x0'" in file.statements["proof"].to_pylist()[0]


TORN = """Buchungstag;Verwendungszweck;Betrag;Waehrung;Saldo
01.10.2026;a;10,00;EUR;110,00
02.10.2026;b;20,00;EUR;130,00
{}
04.10.2026;d;40,00;EUR;200,00
"""


@pytest.mark.parametrize(
    ("row", "count"),
    [
        ("03.10.2026;c", 2),
        # The amount 30,00 is cut off after its first digit.
        ("03.10.2026;c;3", 3),
        ("03.10.2026;c;30,00;EUR", 4),
        ("03.10.2026;c;c;30,00;EUR;160,00", 6),
        (";03.10.2026;c;30,00;EUR;160,00", 6),
        ("03.10.2026;c;;30,00;EUR;", 6),
    ],
)
def test_a_row_with_a_wrong_number_of_cells_is_named_and_fails_the_proof(
    tmp_path: Path, row: str, count: int
) -> None:
    file = read(tmp_path, TORN.format(row))
    assert file.entries["remittance"].to_pylist() == [["a"], ["b"], ["d"]]
    assert file.statements["proved"].to_pylist() == [False]
    said = f"line 4: entry not read: it has {count} cells, where the others have 5"
    assert said in file.statements["proof"].to_pylist()[0]


def test_rows_without_their_empty_trailing_cells_are_read(tmp_path: Path) -> None:
    text = "Date;Amount;Currency;Balance;Description;Memo\n"
    text += "2026-10-01;1.00;EUR;11.00;a;b\n2026-10-02;1.00;EUR;12.00;a\n"
    text += "2026-10-03;1.00;EUR;13.00;a;b\n2026-10-04;1.00;EUR;14.00\n"
    assert read(tmp_path, text).entries.num_rows == 4


def test_dates_with_dots_are_never_read_month_first(tmp_path: Path) -> None:
    text = "Date;Details;Amount;Currency\n01.05.2026;x;1.50;EUR\n01.06.2026;y;-2.50;EUR\n"
    days = read(tmp_path, text).entries["booking_date"].to_pylist()
    assert [day.month for day in days] == [5, 6]


def test_postage_is_not_a_fee_and_a_word_for_debit_is_a_sign(tmp_path: Path) -> None:
    text = (
        "Date;Details;Amount;Currency;Frais d'expédition;Debit/Kredit\n"
        "01.05.2026;x;1.50;EUR;9.00;Belastung\n02.05.2026;y;2.50;EUR;9.00;Gutschrift\n"
    )
    file = read(tmp_path, text)
    assert rows(file.entries, "direction", "charges_amount") == [("DBIT", None), ("CRDT", None)]


def test_a_profile_template_lists_the_columns_that_could_not_be_identified(tmp_path: Path) -> None:
    path = write(tmp_path, "a;1x;b;c\nd;2x;e;f\n", "odd.csv")
    done = CliRunner().invoke(treasury, ["statements", "profile", str(path)])
    assert done.exit_code == 1
    assert "#   #2: 1x | 2x" in done.stdout
    assert "[columns]\nbooking_date = []" in done.stdout


def test_a_column_of_debit_and_credit_words_is_the_sign_under_any_header(tmp_path: Path) -> None:
    """Here the header is `Art der Buchung`, which usually names the type of movement."""
    text = (
        "Buchungstag;Beschreibung;Betrag;Art der Buchung\n"
        "01.02.2026;A;10,00;Belastung\n02.02.2026;B;5,00;Gutschrift\n"
    )
    assert rows(read(tmp_path, text).entries, "direction") == [("DBIT",), ("CRDT",)]


def test_of_gross_fee_and_net_the_net_is_the_amount(tmp_path: Path) -> None:
    text = (
        "Date,Description,Name,Currency,Gross,Fee,Net,Shipping and Handling Amount,"
        "Insurance Amount,Transaction ID,Balance\n"
        "13/10/2026,CET,A,EUR,100.00,-3.00,97.00,5.00,1.00,T1,97.00\n"
        "14/10/2026,CET,B,EUR,-97.00,0.00,-97.00,,,T2,0.00\n"
    )
    file = read(tmp_path, text)
    assert rows(file.entries, "direction", "amount") == [
        ("CRDT", Decimal("97.00")), ("DBIT", Decimal("97.00"))
    ]  # fmt: skip


def test_amounts_without_a_leading_zero_and_dates_with_colons_are_read(tmp_path: Path) -> None:
    text = "Date,Memo,Amount\n2026:10:01,a,-.46\n2026:10:13,b,12.00\n"
    file = read(tmp_path, text)
    assert [str(day) for day in file.entries["booking_date"].to_pylist()] == [
        "2026-10-01", "2026-10-13"
    ]  # fmt: skip
    assert rows(file.entries, "direction", "amount") == [
        ("DBIT", Decimal("0.46")), ("CRDT", Decimal("12.00"))
    ]  # fmt: skip


def test_signed_amounts_without_a_header_do_not_need_a_matching_balance(tmp_path: Path) -> None:
    """A wrong balance only fails the proof; unsigned amounts need a balance that agrees."""
    text = "2026-01-03;A;100;54.25;2026-01-03\n2026-03-04;B;-100;54.25;2026-03-04\n"
    file = read(tmp_path, text)
    assert file.format == "CSV raiffeisen without header"
    assert rows(file.entries, "direction", "amount") == [
        ("CRDT", Decimal(100)), ("DBIT", Decimal(100))
    ]  # fmt: skip
    assert file.statements["proved"].to_pylist() == [False]
    assert any("the movements reach" in problem.what for problem in file.problems)
    with pytest.raises(StatementError):
        read(tmp_path, text.replace("-100", "100"))
