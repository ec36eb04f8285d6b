"""Ledger files are read as accounting programs export them; ambiguous amounts are refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from treasury.close.ledger.ledger_accounts import BooksTerms, LedgerTerms, read_mapping
from treasury.close.ledger.ledger_lines import ledger_lines, ledger_postings
from treasury.close.ledger.provided_ledger import read_ledger
from treasury.core.errors import InputError

HELD = Decimal("251686.06")


def read(text: str, *, ask: bool = True, **terms: str) -> list[tuple[str, str, Decimal]]:
    """Return account, currency and balance of each line of a ledger file."""
    lines = ledger_lines(Path("ledger.csv"), text.encode(), LedgerTerms(**terms), ask=ask)
    return [
        (line.values["account"], line.values["currency"], line.values["balance"]) for line in lines
    ]


@pytest.mark.parametrize(
    "text",
    [
        "account,currency,balance\n1200,EUR,251686.06\n",
        'account,currency,balance\n1200,EUR,"251,686.06"\n',
        'account,currency,balance\n1200,EUR,"251.686,06"\n',
        "Konto;Währung;Saldo\n1200;EUR;251.686,06\n",
        "Konto;Währung;Saldo\n1200;EUR;251.686,06 S\n",
        "Konto;Saldo (EUR);S/H\n1200;251.686,06;S\n",
        "Compte;Devise;Débit;Crédit\n1200;EUR;251 686,06;\n",
        "Salden\n\nKonto;WKZ;Soll;Haben;Saldo\n1200;EUR;2,00;3,00;251.686,06\nSumme;;;;7,00\n",
        "Konto\tBezeichnung\tWhg\tSaldo\n1200\tBank\tEUR\t251686,06\n\tTotal\tEUR\t251686,06\n",
    ],
)
def test_the_formats_of_accounting_programs_give_the_same_balance(text: str) -> None:
    assert read(text) == [("1200", "EUR", HELD)]


@pytest.mark.parametrize(
    "text",
    [
        "Konto;Währung;Saldo\n1200;EUR;251.686,06-\n",
        "Konto;Währung;Saldo\n1200;EUR;-251.686,06\n",
        "Konto;Währung;Saldo\n1200;EUR;251.686,06 H\n",
        "Konto;Währung;Saldo;Soll/Haben\n1200;EUR;251.686,06;H\n",
        "account,currency,debit,credit\n1200,EUR,,251686.06\n",
    ],
)
def test_a_credit_balance_is_negative(text: str) -> None:
    assert read(text) == [("1200", "EUR", -HELD)]


def test_an_ambiguous_amount_is_asked_about_and_answered_in_the_mapping() -> None:
    text = "Konto;Währung;Saldo\n1200;EUR;1.234\n"
    with pytest.raises(InputError, match=r"'1\.234' may have decimals or thousands") as asked:
        read(text)
    assert asked.value.do == ('add decimal = "," or decimal = "." below [ledger] in accounts.toml')
    assert read(text, decimal=",") == [("1200", "EUR", Decimal(1234))]
    assert read(text, decimal=".") == [("1200", "EUR", Decimal("1.234"))]
    # A ledger that was journaled before ambiguous amounts were refused keeps its amounts.
    assert read(text, ask=False) == [("1200", "EUR", Decimal("1.234"))]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Konto;Saldo\n1200;2,00\n", "line 1: no column has the currency"),
        ("Konto;Saldo;Endsaldo\n1200;2,00;3,00\n", "'Saldo' and 'Endsaldo' may both be"),
        ("a;b\n1;2\n", "no line names the columns of account and balance"),
        ("account,currency,balance\n1200,EUR,1.000,00\n", "line 2: 4 cells for 3 columns"),
        ("Konto;Währung;Saldo\n1200;EUR;2,00\n1300;EUR;3.00\n1400;EUR;4,00\n", "line 3: "),
        ("Konto;Währung;Saldo\n1200;EUR;-2,00 S\n", "line 2: 'S' and '-2,00' disagree"),
        ("Konto;Währung;Saldo;S/H\n1200;EUR;2,00;X\n", "line 2: 'X' does not mark"),
        ("Konto;Währung;Saldo\n;EUR;2,00\n", "line 2: account is empty"),
        ("Konto;Währung;Saldo\n1200;EUR;\n", "line 2: balance is empty"),
    ],
)
def test_an_invalid_file_is_refused_with_its_problem(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(text)


def test_the_mapping_names_the_files_own_columns_and_currency() -> None:
    text = "Nummer;Stand\n1200;2,00\n"
    assert read(text, account="Nummer", balance="stand", currency="EUR") == [
        ("1200", "EUR", Decimal(2))
    ]
    mapping = read_mapping('[ledger]\ncurrency = "EUR"\n', "accounts.toml")
    assert mapping.terms == LedgerTerms(currency="EUR")
    with pytest.raises(InputError, match="unknown field `colour`") as wrong:
        read_mapping('[ledger]\ncolour = "red"\n', "accounts.toml")
    assert "decimal, currency" in (wrong.value.do or "")


def test_a_file_in_the_windows_encoding_is_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.csv"
    path.write_bytes("Konto;Währung;Saldo\n1200;EUR;2,00\n".encode("windows-1252"))
    assert "Währung" in read_ledger(path).content
    path.write_text("Konto;Währung;Saldo\n", "utf-8")
    with pytest.raises(InputError, match="names no account"):
        read_ledger(path)


def read_postings(text: str, **terms: str) -> list[tuple[str, str, Decimal, str, str, bool]]:
    """Return day, currency, amount, text, document and opening of each posting of account 1200."""
    rows = ledger_postings(Path("books.csv"), text.encode(), BooksTerms(**terms), ask=True)
    assert {row.account.lstrip("0") for row in rows} == {"1200"}
    return [
        (f"{row.day:%d.%m}", row.currency, row.amount, row.text, row.document, row.is_opening)
        for row in rows
    ]


POSTED = ("02.10", "EUR", Decimal("-1250.50"), "Payment", "RE-100", False)


@pytest.mark.parametrize(
    "text",
    [
        "account,date,amount,currency,text,document\n1200,2026-10-02,-1250.50,EUR,Payment,RE-100\n",
        (
            "Kontoblatt\n\nKonto;Datum;Beleg-Nr.;Buchungstext;Soll;Haben;Saldo;Währung\n"
            "001200;02.10.26;RE-100;Payment;;1.250,50;7,00;EUR\n;;;Summe;0,00;1.250,50;;EUR\n"
        ),
        (
            "Sachkonto;Buchungsdatum;Belegdatum;Betrag (EUR);S/H;Buchungstext;Belegnummer\n"
            "1200;02.10.2026;01.10.2026;1.250,50;H;Payment;RE-100\n1200;;;9,00;S;Endsaldo;\n"
        ),
        (
            "Sachkonto;Belegdatum;Betrag (EUR);Buchungstext;Beleg\n"
            "1200;02.10.2026 00:00;1.250,50-;Payment;RE-100\n"
        ),
        (
            "CompteNum\tEcritureDate\tEcritureLib\tPieceRef\tDebit (EUR)\tCredit\n"
            "1200\t20261002\tPayment\tRE-100\t0,00\t1250,50\n"
        ),
    ],
)
def test_postings_are_read_as_accounting_programs_export_them(text: str) -> None:
    assert read_postings(text) == [POSTED]


@pytest.mark.parametrize("label", ["Saldovortrag", "Opening balance 1 Oct", "EB-Wert per 01.10."])
def test_the_balance_before_the_postings_is_not_a_posting(label: str) -> None:
    text = f"Konto;Datum;Text;Soll;Haben;Währung\n1200;;{label};5,00;;EUR\n"
    if "Oct" in label:
        text = text.replace("1 Oct", "01.10.2026")
    ((_, _, amount, _, _, is_opening),) = read_postings(text)
    assert (amount, is_opening) == (5, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Konto;Saldo;Währung\n1200;1,00;EUR\n", "columns of account, date and amount"),
        ("Konto;Datum;Betrag\n1200;02.10.2026;1,00\n", "no column has the currency"),
        ("Konto;Datum;Betrag;Währung\n1200;;1,00;EUR\n", "line 2: date is empty"),
        ("Konto;Datum;Betrag;Währung\n1200;31.02.2026;1,00;EUR\n", "line 2: .* is not a day"),
        ("Konto;Datum;Betrag;Währung\n1200;02.10.2026;1.234;EUR\n", "may have decimals"),
    ],
)
def test_a_posting_that_cannot_be_read_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        read_postings(text)
    assert "[ledger]" not in (refused.value.do or "")


def test_the_mapping_states_how_to_read_the_postings() -> None:
    mapping = read_mapping('[books]\ncurrency = "EUR"\namount = "Wert"\n', "accounts.toml")
    rows = ledger_postings(
        Path("b.csv"), b"Konto;Datum;Wert\n1200;2026-10-02;3.5\n", mapping.books_terms
    )
    assert [(row.amount, row.currency) for row in rows] == [(Decimal("3.5"), "EUR")]
    with pytest.raises(InputError, match=r"accounts\.toml, \[books\]"):
        read_mapping('[books]\nbalance = "Saldo"\n', "accounts.toml")
