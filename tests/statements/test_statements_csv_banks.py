"""Exports of banks and payment providers that built-in profiles read."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from csv_samples import OURS, read

from treasury.statements import read_file

REVOLUT = (
    "Date started (UTC),Date completed (UTC),ID,Type,Description,Reference,Payer,Payment currency,"
    "Amount,Fee,Fee currency,Balance,Account\n"
    "2026-10-02,2026-10-02,b,TRANSFER,Out,Ref,,EUR,-100.00,{},{},{},EUR Main\n"
    "2026-10-01,2026-10-01,a,TOPUP,In,,,EUR,500.00,0.00,EUR,500.00,EUR Main\n"
)


@pytest.mark.parametrize(
    ("fee", "currency", "balance", "amount"),
    [
        ("-4.50", "EUR", "395.50", "104.50"),
        ("4.50", "EUR", "395.50", "104.50"),
        ("-4.50", "EUR", "400.00", "100.00"),
        ("-4.50", "GBP", "400.00", "100.00"),
    ],
)
def test_a_separate_fee_counts_if_the_balance_includes_it(
    tmp_path: Path, fee: str, currency: str, balance: str, amount: str
) -> None:
    file = read_file(write(tmp_path, REVOLUT.format(fee, currency, balance), "a.csv"))
    assert file.statements["proved"].to_pylist() == [True]
    assert file.entries["amount"].to_pylist() == [Decimal(amount), Decimal(500)]


UBS = {
    "de": "Bewertungsdatum;Bankbeziehung;Portfolio;Produkt;IBAN;Whrg.;Datum von;Datum bis;"
    "Beschreibung;Abschluss;Buchungsdatum;Valuta;Beschreibung 1;Beschreibung 2;Beschreibung 3;"
    "Transaktions-Nr.;Devisenkurs;Einzelbetrag;Belastung;Gutschrift;Saldo",
    "fr": "Date d'évaluation;Relation bancaire;Portefeuille;Produit;IBAN;Monn.;Date du;Date au;"
    "Description;Date de transaction;Date de comptabilisation;Date de valeur;Description 1;"
    "Description 2;Description 3;N° de transaction;Cours;Sous-montant;Débit;Crédit;Solde",
    "it": "Data di valutazione;Relazione bancaria;Portafoglio;Prodotto;IBAN;Mon.;Data dal;Data al;"
    "Descrizione;Data di chiusura;Data di registrazione;Valuta;Descrizione 1;Descrizione 2;"
    "Descrizione 3;N. di transazione;Corso;Importo singolo;Addebito;Accredito;Saldo",
}


@pytest.mark.parametrize("header", UBS.values(), ids=UBS)
def test_classic_ubs_exports_have_an_account_and_a_currency(tmp_path: Path, header: str) -> None:
    row = "31.10.2026;1;;2;CH93 0076 2011 6238 5295 7;CHF;01.10.2026;31.10.2026;x;{0};{0};{0};a;b;;"
    text = (
        f"{header}\n{row.format('02.10.2026')}T2;;;20.00;;80.00\n"
        f"{row.format('01.10.2026')}T1;;;;50.00;100.00\n"
    )
    file = read_file(write(tmp_path, text, "a.csv"))
    assert (file.format, *file.statements["proved"].to_pylist()) == ("CSV ubs classic", True)
    assert rows(file.entries, "account", "currency", "direction", "remittance") == [
        ("CH9300762011623852957", "CHF", "DBIT", ["a", "b"]),
        ("CH9300762011623852957", "CHF", "CRDT", ["a", "b"]),
    ]


STRANGERS = {
    "asn without header": (
        (
            "01-10-2026,{0},NL11,Acme,,,,EUR,100.00,EUR,20.00,01-10-2026,01-10-2026,1,NGM,7,,'in',1\n"
            "02-10-2026,{0},NL11,Acme,,,,EUR,120.00,EUR,-5.00,02-10-2026,02-10-2026,1,NG,8,,'out',1\n"
        ),
        True,
    ),
    "easybank without header": (
        "{0};in;01.10.2026;01.10.2026;+20,00;EUR\n\n{0};out;02.10.2026;02.10.2026;-5,00;EUR\n",
        None,
    ),
    "raiffeisen at without header": (
        (
            '01.10.2026;"in";01.10.2026;20,00;EUR;01.10.2026 01:00:00:000;\n'
            '02.10.2026;"out";02.10.2026;-5,00;EUR;02.10.2026 01:00:00:000;\n'
        ),
        None,
    ),
    "raiffeisen without header": (
        "2026-10-01;in;20;120.00;2026-10-01\n;more;;;\n2026-10-02;out;-5;115.00;2026-10-02\n",
        True,
    ),
    "swedbank lt": (
        (
            '"Sąskaitos Nr.","","Data","Gavėjas","Paaiškinimai","Suma","Valiuta","D/K",'
            '"Įrašo Nr."\n'
            '"{0}","10","2026-10-01","","Likutis pradžiai","100.00","EUR","K",""\n'
            '"{0}","20","2026-10-01","A","in","20.00","EUR","K","1"\n'
            '"{0}","20","2026-10-02","A","out","5.00","EUR","D","2"\n'
            '"{0}","86","2026-10-31","","Likutis pabaigai","115.00","EUR","K",""\n'
        ),
        True,
    ),
    "bancoposta": (
        (
            "Data;Valuta;Addebiti;Accrediti;Descrizione operazioni\n"
            "30/09/26;;;100,00;|SALDO INIZIALE\n01/10/26;01/10/26;;20,00;in\n"
            "02/10/26;02/10/26;5,00;;out\n31/10/26;;;115,00|;SALDO FINALE\n"
        ),
        True,
    ),
    "monzo": (
        (
            "id,created,amount,currency,local_amount,local_currency,category,description\n"
            "tx1,2026-10-01 12:34:56 +0000,20,EUR,20,EUR,general,in\n"
            "tx2,2026-10-02 12:34:56 +0000,-5,EUR,-5,EUR,general,out\n"
        ),
        None,
    ),
    "paypal": (
        (
            '"Datum","Zeitzone","Name","Typ","Status","Währung","Brutto","Gebühr","Netto",'
            '"Transaktionscode","Versandkosten","Guthaben","Betreff"\n'
            '"01.10.2026","C","A","Zahlung","Abgeschlossen","EUR","20,50","-0,50","20,00","T1","0,00",'
            '"120,00","in"\n'
            '"02.10.2026","C","A","Zahlung","Abgeschlossen","EUR","-5,00","0,00","-5,00","T2","9",'
            '"115,00","out"\n'
        ),
        True,
    ),
    "revolut": (
        (
            "Art,Produkt,Datum des Beginns,Datum des Abschlusses,Beschreibung,Betrag,Gebühr,"
            "Währung,Status,Kontostand\n"
            "Zahlung,Giro,2026-10-01 22:40,2026-10-01,in,20.00,0.00,EUR,Abgeschlossen,120.00\n"
            "Zahlung,Giro,2026-10-02 22:40,2026-10-02,out,-4.00,1.00,EUR,Abgeschlossen,115.00\n"
        ),
        True,
    ),
    "ubs": (
        (
            "Abschlussdatum;Abschlusszeit;Buchungsdatum;Valutadatum;Währung;Transaktionsbetrag;"
            "Belastung/Gutschrift;Saldo;Transaktions-Nr.;Beschreibung1;Beschreibung2;Beschreibung3;\n"
            '2026-10-02;;;2026-10-02;EUR;-5.00;Belastung;115.00;2;"out";"";;\n'
            '2026-10-01;;;2026-10-01;EUR;20.00;Gutschrift;120.00;1;"in";"";;\n'
        ),
        True,
    ),
    "postfinance 2003": (
        "\0Data;Descrizione della transazione;Accreditamento;Debito;Valuta;Saldo\n"
        "30.09.2026;Saldo;;;;100.00\n01.10.2026;in;20.00;;01.10.2026;120.00\n"
        "02.10.2026;out;;-5.00;02.10.2026;115.00\n" + "\n" * 1000,
        True,
    ),
    "credit suisse without booking day": (
        "Valutadatum,Text,Belastung,Gutschrift\n01.10.2026,in,,20.00\n02.10.2026,out,5.00,\n",
        None,
    ),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_exports_of_further_banks_are_recognised(tmp_path: Path, name: str) -> None:
    text, proof = STRANGERS[name]
    path = write(tmp_path, text.format("AT611904300234573201"), "a.csv")
    file = read_file(path, account=OURS)
    assert file.format == f"CSV {name}"
    signed = {
        row["remittance"][0].strip("'"): row["amount"] * (1 if row["direction"] == "CRDT" else -1)
        for row in file.entries.to_pylist()
    }
    assert signed == {"in": 20, "out": -5}
    assert set(file.entries["entry_status"].to_pylist()) == {"BOOK"}
    (proved,) = file.statements["proved"].to_pylist()
    assert proved is bool(proof), file.statements["proof"].to_pylist()


def test_a_wise_business_movement_has_the_stated_direction(tmp_path: Path) -> None:
    text = (
        'ID,Status,Direction,"Created on","Finished on","Source fee amount","Source fee currency",'
        '"Source name","Source amount (after fees)","Source currency","Target name",'
        '"Target amount (after fees)","Target currency",Reference\n'
        "T1,COMPLETED,IN,2026-10-01 10:00:00,2026-10-01 10:00:01,4.14,USD,Payer,90.00,USD,Us,"
        "80.00,EUR,in\n"
        "T2,COMPLETED,OUT,2026-10-02 10:00:00,2026-10-02 10:00:01,2.50,EUR,Us,20.00,EUR,Payee,"
        "25.00,USD,out\n"
        "T3,COMPLETED,NEUTRAL,2026-10-03 10:00:00,2026-10-03 10:00:01,1.00,EUR,Us,9.00,EUR,Us,"
        "10.00,USD,own\n"
    )
    file = read(tmp_path, text)
    assert file.format == "CSV wise business"
    assert rows(file.entries, "direction", "amount", "currency", "counterparty_name") == [
        ("CRDT", Decimal("80.00"), "EUR", "Payer"), ("DBIT", Decimal("22.50"), "EUR", "Payee"),
    ]  # fmt: skip
    assert "'NEUTRAL' is neither debit nor credit" in file.problems[0].what + str(file.problems)
    assert not any(file.statements["proved"].to_pylist())


REVOLUT_PT = (
    "Tipo,Produto,Data de início,Data de conclusão,Descrição,Montante,Comissão,Moeda,Estado,Saldo"
)


@pytest.mark.parametrize(
    "header",
    [
        "Rodzaj,Produkt,Data rozpoczęcia,Data zrealizowania,Opis,Kwota,Opłata,Waluta,State,Saldo",
        "Type,Product,Startdatum,Datum voltooid,Beschrijving,Bedrag,Kosten,Valuta,Status,Saldo",
        REVOLUT_PT,
    ],
    ids=["pl", "nl", "pt"],
)
def test_revolut_is_recognised_in_more_languages_and_its_fee_is_added(
    tmp_path: Path, header: str
) -> None:
    text = f"{header}\nX,Y,2026-09-20 10:00:00,2026-09-20 10:00:01,A,-10.00,1.00,EUR,DONE,89.00\n"
    file = read(tmp_path, text)
    assert file.format == "CSV revolut"
    assert rows(file.entries, "amount", "charges_amount") == [(Decimal("11.00"), Decimal("1.00"))]


@pytest.mark.parametrize(
    ("header", "first"),
    [
        ("Fecha,Zona horaria,Nombre,Tipo,Estado,Divisa,Bruto,Tarifa,Neto,Id. de transacción,Saldo",
         "01/10/2026,CET,A,Pago,Completado,EUR"),
        ("Datum,Tijdzone,Naam,Type,Status,Valuta,Bruto,Kosten,Net,Transactiereferentie,Saldo",
         "01/10/2026,CET,A,Betaling,Voltooid,EUR"),
    ],
    ids=["es", "nl"],
)  # fmt: skip
def test_paypal_is_recognised_in_more_languages(tmp_path: Path, header: str, first: str) -> None:
    file = read(tmp_path, f'{header}\n{first},"100,00","-3,00","97,00",T1,"97,00"\n')
    assert file.format == "CSV paypal"
    assert rows(file.entries, "amount", "entry_status") == [(Decimal("97.00"), "BOOK")]
