"""CSV rows other than plain movements: continued text, short rows, footers, holds, details."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from csv_samples import read

from treasury.statements import read_file

HEADER = (
    "Buchungstag;Wert;Umsatzart;Begünstigter / Auftraggeber;Verwendungszweck;IBAN;Soll;Haben;"
    "Währung\n"
)
ROWS = (
    "5.10.2026;5.10.2026;Gutschrift;Payer BV;PAY-2026-004417;NL91ABNA0417164300;;50,00;EUR\n"
    "6.10.2026;6.10.2026;Lastschrift;Shop;Einkauf;DE02120300000000202051;-20,00;;EUR\n"
)


def test_a_short_row_and_a_footer_are_reported_and_not_appended_to_the_previous_row(
    tmp_path: Path,
) -> None:
    short = "7.10.2026;7.10.2026;Entgelt;;PAY-2026-009999\n"
    footer = "Kontostand;31.10.2026;;;1.025,00;EUR\n"
    file = read(tmp_path, HEADER + ROWS + short + footer)
    assert file.entries["remittance"].to_pylist() == [["PAY-2026-004417"], ["Einkauf"]]
    said = {problem.line: problem.what for problem in file.problems if problem.line}
    assert said[4] == "entry not read: it has 5 cells, where the others have 9"
    assert said[5] == "left out: no amount in its column: 'Kontostand'"


def test_a_row_with_a_date_but_no_amount_is_reported_and_not_appended(
    tmp_path: Path,
) -> None:
    dated = "7.10.2026;7.10.2026;Hinweis;;PAY-2026-009999;;;;EUR\n"
    file = read(tmp_path, HEADER + ROWS + dated)
    assert file.entries["remittance"].to_pylist() == [["PAY-2026-004417"], ["Einkauf"]]
    assert [(p.line, p.what) for p in file.problems if "left out" in p.what] == [
        (4, "left out: it has a day but no amount: '7.10.2026'")
    ]


def test_a_row_with_only_text_continues_the_previous_row(tmp_path: Path) -> None:
    file = read(tmp_path, HEADER + ROWS + ";;;;and more;;;;\n")
    assert file.entries["remittance"].to_pylist()[1] == ["Einkauf", "and more"]


def test_a_short_text_row_without_trailing_cells_continues_the_previous_row(
    tmp_path: Path,
) -> None:
    file = read(tmp_path, f"{BALANCES}{BALANCED};PAY-2026-004417\nsmall print\n")
    assert file.entries["remittance"].to_pylist() == [["a"], ["b", "PAY-2026-004417"]]


BALANCES = "Date;Description;Amount;Balance\n"
BALANCED = "2026-10-05;a;-20.00;80.00\n2026-10-06;b;50.00;130.00\n"


@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
def test_a_movement_after_the_last_balance_is_not_proved(tmp_path: Path, order: int) -> None:
    lines = (BALANCED + "2026-10-07;not booked yet;-5.00;\n").splitlines()[::order]
    file = read(tmp_path, BALANCES + "\n".join(lines))
    assert file.entries.num_rows == 3
    assert file.statements["proved"].to_pylist() == [False]
    assert "closing is  130.00 ( 5.00 off)" in file.statements["proof"].to_pylist()[0]


def test_amounts_split_by_the_delimiter_are_not_read(tmp_path: Path) -> None:
    text = "Date,Description,Amount\n2026-10-05,a,-20,50\n2026-10-06,b,50,25\n"
    file = read(tmp_path, text)
    assert file.entries.num_rows == 0
    said = "line 2: entry not read: it has 4 cells, where the header has 3"
    assert said in file.statements["proof"].to_pylist()[0]


UBS = (
    "Date d'évaluation;Relation bancaire;Portefeuille;Produit;IBAN;Monn.;Date du;Date au;"
    "Description;"
    "Date de conclusion;Date de comptabilisation;Date de valeur;Description 1;Description 2;"
    "Description 3;N\ufffd de transaction;Cours;Sous-montant;Débit;Crédit;Solde\n"
)
_UBS_ROW = "29.06.2026;1;;1;CH9300762011623852957;CHF;01.06.2026;30.06.2026;N;{0};{0};{0};"


def test_short_detail_rows_belong_to_the_row_with_their_reference(
    tmp_path: Path,
) -> None:
    first, second = _UBS_ROW.format("04.06.2026"), _UBS_ROW.format("05.06.2026")
    text = (
        f"{UBS}{second}A;F;M;T1;;;;100.00;1'100.00\n{second}Detail of A;;;T1;;\n"
        f"{first}B;;;T2;;;50.00;;1'000.00\n{first}Detail of B;;;T2\n"
    )
    file = read(tmp_path, text)
    assert file.format == "CSV ubs classic"
    assert rows(file.entries, "direction", "amount", "remittance") == [
        ("CRDT", 100, ["A", "F", "M", "Detail of A"]), ("DBIT", 50, ["B", "Detail of B"])
    ]  # fmt: skip
    assert file.statements["proved"].to_pylist() == [True]


def test_a_short_row_of_another_reference_is_not_read(tmp_path: Path) -> None:
    row = _UBS_ROW.format("04.06.2026")
    text = f"{UBS}{row}A;F;M;T1;;;;100.00;1'100.00\n{row}Torn;;;T9;;\n"
    file = read(tmp_path, text)
    assert file.entries["remittance"].to_pylist() == [["A", "F", "M"]]
    assert "it has 18 cells, where the others have 21" in file.statements["proof"].to_pylist()[0]


ZKB = (
    '"Datum";"Buchungstext";"ZKB-Referenz";"Belastung CHF";"Gutschrift CHF";"Valuta";"Saldo CHF"\n'
    '"03.11.2026";"Auftrag<br />Gebühr";"R1";"{}";"";"04.11.2026";"1\'298.00"\n'
    '"02.11.2026";"Eingang";"R2";"";"1\'000.00";"02.11.2026";"2\'000.00"\n'
)


@pytest.mark.parametrize(
    "cell", ["702.00<br />2.00<br />700.00", "2.00<br/>700.00<br/>702.00", "702.00<BR>702.00"]
)
def test_a_total_with_its_parts_in_one_cell_is_the_amount(tmp_path: Path, cell: str) -> None:
    file = read(tmp_path, ZKB.format(cell))
    assert rows(file.entries, "amount", "remittance") == [
        (Decimal(702), ["Auftrag Gebühr"]), (Decimal(1000), ["Eingang"])
    ]  # fmt: skip
    assert file.statements["proved"].to_pylist() == [True]


def test_several_amounts_in_one_cell_are_not_read_if_none_is_the_sum(tmp_path: Path) -> None:
    file = read(tmp_path, ZKB.format("702.00<br />2.00<br />701.00"))
    assert file.entries["amount"].to_pylist() == [Decimal(1000)]
    assert "none is the sum of the others" in str(file.problems)


TABLE = "Buchungstag;Verwendungszweck;Betrag\n05.10.2026;a;-3,10\n"
PREAMBLES = {
    "values below their labels": (
        ("Umsätze;;;\nKonto;Filial-/Kontonummer;IBAN;Währung\n"
        "Giro direkt;123 4567890 00;DE02120300000000202051;EUR\n\n"),
        "DE02120300000000202051",
    ),
    "a name and a number": (
        "Kontobezeichnung;Kontonummer;BLZ;Währung\nGeschäft;1234567 00;10070024;EUR\n\n",
        "123456700",
    ),
    "values next to their labels": (
        "IBAN;DE02 1203 0000 0000 2020 51\nWährung;EUR\n\n", "DE02120300000000202051",
    ),
    "a number and a name in one cell": (
        '"Kontonummer:";"DE02120300000000202051 / Girokonto"\n"Währung";"EUR"\n\n',
        "DE02120300000000202051",
    ),
    "a name after the label": ("Konto;Giro direkt\nWährung;EUR\n\n", None),
}  # fmt: skip


@pytest.mark.parametrize(("preamble", "account"), PREAMBLES.values(), ids=PREAMBLES)
def test_account_and_currency_above_a_table_are_recognised_by_their_form(
    tmp_path: Path, preamble: str, account: str | None
) -> None:
    file = read_file(write(tmp_path, preamble + TABLE, "export.csv"))
    assert rows(file.statements, "account", "currency") == [(account, "EUR")]


def test_the_counterparty_is_chosen_from_payer_and_payee(tmp_path: Path) -> None:
    text = (
        '"Girokonto";"DE02120300000000202051"\n""\n'
        '"Buchungsdatum";"Wertstellung";"Status";"Zahlungspflichtige*r";"Zahlungsempfänger*in";'
        '"Verwendungszweck";"Umsatztyp";"IBAN";"Betrag (€)";"Mandatsreferenz";"Kundenreferenz"\n'
        '"06.10.26";"06.10.26";"Gebucht";"Payer BV";"Us";"PAY";"Eingang";"NL91";"1.050,00";"";""\n'
        '"05.10.26";"05.10.26";"Gebucht";"Us";"Shop";"x";"Ausgang";"DE91";"-20,5";"";""\n'
    )
    file = read(tmp_path, text)
    assert file.format == "CSV dkb"
    assert rows(file.entries, "direction", "counterparty_name", "debtor_name", "creditor_name") == [
        ("CRDT", "Payer BV", "Payer BV", None), ("DBIT", "Shop", None, "Shop")
    ]  # fmt: skip


PAYPAL = {
    "de": (
        (
            "Datum,Zeitzone,Name,Typ,Status,Währung,Brutto,Gebühr,Netto,Transaktionscode,Guthaben,"
            "Auswirkung auf Guthaben"
        ),
        ("Abgeschlossen", "Ausstehend"),
        ("Haben", "Soll", "Memo"),
    ),
    "fr": (
        (
            "Date,Fuseau horaire,Nom,Type,État,Devise,Avant commission,Commission,Net,"
            "Numéro de transaction,Solde,Impact sur le solde"
        ),
        ("Terminé", "En attente"),
        ("Crédit", "Débit", "Mémo"),
    ),
}


@pytest.mark.parametrize("language", PAYPAL)
def test_a_hold_counts_as_booked_if_it_changes_the_balance(tmp_path: Path, language: str) -> None:
    header, (done, waits), (credit, debit, memo) = PAYPAL[language]
    moved = [
        ("01", done, "100,00", "100,00", credit), ("02", waits, "-13,00", "87,00", debit),
        ("03", done, "-13,00", "74,00", debit), ("04", done, "13,00", "87,00", credit),
        ("05", waits, "-9,00", "87,00", memo),
    ]  # fmt: skip
    text = (
        header
        + "\n"
        + "".join(
            f'{day}/10/2026,C,A,T,{status},EUR,"{net}","0,00","{net}",T{day},"{balance}",{effect}\n'
            for day, status, net, balance, effect in moved
        )
    )
    file = read(tmp_path, text)
    assert file.format == "CSV paypal"
    assert file.entries["entry_status"].to_pylist() == ["BOOK"] * 4 + ["PDNG"]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize(("balance", "status"), [("87,00", "BOOK"), ("100,00", "PDNG")])
def test_the_balances_decide_an_unknown_status(tmp_path: Path, balance: str, status: str) -> None:
    text = (
        "Datum;Text;Betrag;Saldo;Status\n01.10.2026;a;100,00;100,00;Gebucht\n"
        f"02.10.2026;b;-13,00;{balance};Zurückgestellt\n"
    )
    file = read(tmp_path, text)
    assert file.entries["entry_status"].to_pylist() == ["BOOK", status]
    assert any("'Zurückgestellt' is not known" in problem.what for problem in file.problems)


def test_wise_business_is_recognised_by_its_german_headers(tmp_path: Path) -> None:
    text = (
        "ID,Status,Richtung,Erstellt am,Abgeschlossen am,Betrag der Ausgangsgebühr,"
        "Währung der Ausgangsgebühr,Quellenname,Ausgangsbetrag (nach Gebühren),Ausgangswährung,"
        "Name des Empfängers,Zielbetrag (nach Gebühren),Zielwährung,Referenz\n"
        "T1,COMPLETED,IN,2026-10-01 10:00:00,2026-10-01 10:00:01,4.14,USD,Payer,90.00,USD,Us,"
        "80.00,EUR,in\n"
        "T2,COMPLETED,OUT,2026-10-02 10:00:00,2026-10-02 10:00:01,2.50,EUR,Us,20.00,EUR,Payee,"
        "25.00,USD,out\n"
    )
    file = read(tmp_path, text)
    assert file.format == "CSV wise business"
    assert rows(file.entries, "direction", "amount", "currency", "counterparty_name") == [
        ("CRDT", Decimal("80.00"), "EUR", "Payer"), ("DBIT", Decimal("22.50"), "EUR", "Payee"),
    ]  # fmt: skip
