"""Ambiguous CSV of unknown banks: questions, and no rows until they are answered."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from csv_samples import OURS, read

from treasury.core.errors import InputError
from treasury.statements import Proposal, load_profiles, propose_profile, read_file, to_toml


def propose(folder: Path, text: str, **answers: str) -> Proposal:
    return propose_profile(write(folder, text, "export.csv"), account=OURS, answers=answers)


THOUSANDS = (
    "Buchungstag;Wertstellung;Name;Verwendungszweck;Betrag;Saldo\n"
    "05.10.2026;05.10.2026;A;Miete;-3.000;7.000\n06.10.2026;06.10.2026;B;Lohn;2.000;9.000\n"
)
ASKED = {
    "whole thousands": ("decimal", THOUSANDS),
    "whole thousands in English": (
        "decimal",
        ('Date,Description,Amount,Balance\n10/15/2026,Rent,"-3,000","7,000"\n'
        '10/16/2026,Wage,"2,000","9,000"\n'),
    ),
    "three decimals that end with 0": (
        "decimal", "Date;Details;Amount\n2026-05-01;x;-53.100\n2026-05-02;y;16.100\n",
    ),
    "a card's purchases without a minus": (
        "sign",
        ("TransactionId,Date,Amount,Currency,OriginalAmount,OriginalCurrency,MerchantName,Details\n"
        "T1,2026-10-05,53.10,CHF,53.10,CHF,Shop,a\nT2,2026-10-06,12.85,CHF,15.34,USD,Shop,b\n"),
    ),
    "a card's purchases and refunds": (
        "sign",
        ("Datum;Beschreibung;Karte;Währung;Betrag\n26/10/2026;Shop;**2748;CHF;39.64\n"
        "21/10/2026;Shop;**2748;CHF;-22.35\n"),
    ),
    "a card with a balance that is owed": (
        "sign",
        ("Datum;Beschreibung;Karte;Betrag;Saldo\n25/10/2026;Shop;1;39.64;139.64\n"
        "26/10/2026;Shop;1;10.00;149.64\n"),
    ),
    "amounts that are all positive": (
        "sign", "Datum;Text;Betrag\n05.10.2026;a;1,50\n06.10.2026;b;2,50\n",
    ),
    "sales before and after tax": (
        "amount",
        ("E-Mail,Datum,Transaktions-ID,Zahlungsart,Kartentyp,Durchgeführt mit,Beschreibung,"
        "Betrag inkl. MwSt.,Netto,Steuerbetrag,Trinkgeldbetrag,Gebühr,Auszahlung\n"
        "a@b.c,2026-10-31 19:56:55,T1,Umsatz,VISA,CREDIT,Tee,11.5,11.21,0.29,0.0,0.17,11.33\n"
        "a@b.c,2026-10-31 18:45:43,T2,Umsatz,VISA,DEBIT,Eis,2.5,2.44,0.06,0.0,0.1,2.4\n"),
    ),
    "an amount under an unknown header": (
        "amount",
        ("Date,Description,Montant total,Prix net,Virement\n2026-10-05,a,-22.65,-20.95,-22.08\n"
        "2026-10-06,b,45.00,41.63,43.87\n"),
    ),
    "a column of fees": (
        "fee",
        ("Date,Description,Amount,Fee,Currency\n2026-10-15,Payout,100.00,1.50,EUR\n"
        "2026-10-16,Refund,-20.00,0.00,EUR\n"),
    ),
    "a journal with debit and credit on one line": (
        "table",
        ("Datum;Konto;Gegenkonto;Buchungstext;Soll;Haben\n05.10.2026;1200;4400;Erlös;100,00;\n"
        "06.10.2026;4930;1200;Büro;;20,00\n"),
    ),
    "only an amount of tax": (
        "amount",
        "Date,Description,Tax Amount\n2026-10-05,a,-1.70\n2026-10-06,b,0.20\n",
    ),
    "two currencies": (
        "currency",
        ("Buchungstag;Text;Betrag;Währung;Währung der Buchung\n05.10.2026;a;-1,50;EUR;CHF\n"
        "06.10.2026;b;2,50;EUR;CHF\n"),
    ),
    "two names": (
        "name",
        ("Buchungstag;Name;Name 2;Verwendungszweck;Betrag\n05.10.2026;Max;Shop;x;-12,50\n"
        "06.10.2026;Max;Payer BV;PAY-2026-004417;100,00\n"),
    ),
    "a payee of payments in and out": (
        "name",
        "Datum;Text;Betrag;Empfänger\n05.10.2026;a;-1,50;Shop\n06.10.2026;b;2,50;Payer BV\n",
    ),
    "no column known as text": (
        "text",
        ("Buchungstag;Partei;Wortlaut;Betrag\n05.10.2026;Shop;Einkauf;-12,50\n"
        "06.10.2026;Payer BV;PAY-2026-004417;100,00\n"),
    ),
    "day or month first": (
        "days", "Date,Description,Amount\n10/01/2026,a,-1.00\n10/02/2026,b,-1.00\n",
    ),
    "a journal of accounts in words": (
        "table",
        ("Datum;Soll;Haben;Beschreibung;Betrag\n22.10.2026;6555 - Büro;2000 - Kreditoren;a;18.00\n"
        "23.10.2026;2000 - Kreditoren;1020 - Bank;b;80.00\n"),
    ),
    "a journal of numbers": (
        "table",
        ("Date,Document,Debit account,Credit account,Description,Amount\n"
        "2026-10-05,1,1020,3000,Sale,100.00\n2026-10-06,2,4000,1020,Goods,50.00\n"),
    ),
    "a journal with both sides of each entry": (
        "table",
        ("Blg,Datum,Kto,S/H,GKto,Netto,Text\n1,1.10.2026,3450,S,1100,3916.85,a\n"
        "1,1.10.2026,1100,H,3450,3916.85,a\n2,3.10.2026,6000,S,1021,1027.00,b\n"
        "2,3.10.2026,1021,H,6000,1027.00,b\n"),
    ),
    "a card with the debt as its balance": (
        "sign",
        ("Date,Merchant,Text,Amount,Balance\n2026-10-05,Shop,a,20.00,120.00\n"
        "2026-10-06,Hotel,b,50.00,170.00\n2026-10-07,,paid,-100.00,70.00\n"),
    ),
    "a journal of one ledger account against others": (
        "table",
        ("Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;Konto;Gegenkonto;Belegdatum;"
        "Buchungstext\n20,00;S;1200;4400;05.10.2026;a\n50,00;H;1200;1600;06.10.2026;b\n"),
    ),
    "accounts of payer and payee in two columns": (
        "account",
        ("Date,Debtor,Creditor,IBAN debtor,IBAN creditor,Amount,Text\n"
        "2026-10-05,We,Shop,NL12TRIO0123456789,DE75512108001245126199,-20.00,a\n"
        "2026-10-06,Payer,We,NL91ABNA0417164300,NL12TRIO0123456789,50.00,b\n"),
    ),
    "a list of invoices": (
        "table",
        ("Rechnungsnummer;Rechnungsdatum;Fälligkeit;Text;Betrag\n"
        "R1;05.10.2026;05.11.2026;A;119,00\nR2;06.10.2026;06.11.2026;B;-19,00\n"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("question", "text"), ASKED.values(), ids=ASKED)
def test_an_ambiguous_file_opens_a_question_and_gives_no_rows(
    tmp_path: Path, question: str, text: str
) -> None:
    proposal = propose(tmp_path, text)
    assert question in {asked.name for asked in proposal.questions}
    assert proposal.entries.num_rows == 0
    file = read_file(tmp_path / "export.csv", account=OURS)
    assert (file.entries.num_rows, file.statements.num_rows) == (0, 0)
    assert file.lost_count == len(text.splitlines()) - 1
    assert any(f"({question}: " in problem.what for problem in file.problems)


@pytest.mark.parametrize(
    ("sign", "amounts"), [(",", [3000, 2000]), (".", [Decimal(3), Decimal(2)])]
)
def test_an_answer_settles_its_question_and_is_kept_in_the_profile(
    tmp_path: Path, sign: str, amounts: list[Decimal]
) -> None:
    proposal = propose(tmp_path, THOUSANDS, decimal=sign)
    assert (proposal.questions, proposal.profile.decimal) == ((), sign)
    assert proposal.entries["amount"].to_pylist() == amounts
    write(tmp_path, to_toml(proposal.profile), "bank.toml")
    kept = read_file(tmp_path / "export.csv", profiles=load_profiles(tmp_path), account=OURS)
    assert kept.entries["amount"].to_pylist() == amounts


@pytest.mark.parametrize(("answer", "way"), [("in", "CRDT"), ("out", "DBIT")])
def test_an_answer_gives_unsigned_amounts_their_direction(
    tmp_path: Path, answer: str, way: str
) -> None:
    _, text = ASKED["a card's purchases and refunds"]
    proposal = propose(tmp_path, text, sign=answer)
    assert proposal.entries["direction"].to_pylist()[0] == way
    assert len(set(proposal.entries["direction"].to_pylist())) == 2
    write(tmp_path, to_toml(proposal.profile), "bank.toml")
    kept = read_file(tmp_path / "export.csv", profiles=load_profiles(tmp_path), account=OURS)
    assert rows(kept.entries, "direction") == rows(proposal.entries, "direction")


def test_a_column_without_a_header_is_kept_by_its_number(tmp_path: Path) -> None:
    text = "Buchungstag;Text;Umsatz; \n05.10.2026;a;12,50;S\n06.10.2026;b;100,00;H\n"
    proposal = propose(tmp_path, text)
    assert proposal.profile.columns["sign"] == ("#4",)
    write(tmp_path, to_toml(proposal.profile), "bank.toml")
    kept = read_file(tmp_path / "export.csv", profiles=load_profiles(tmp_path), account=OURS)
    assert kept.format == "CSV export"
    assert rows(kept.entries, "direction", "amount") == [("DBIT", Decimal("12.5")), ("CRDT", 100)]


def test_an_answer_chooses_the_column_of_amounts(tmp_path: Path) -> None:
    _, text = ASKED["an amount under an unknown header"]
    proposal = propose(tmp_path, text, amount="Virement")
    assert proposal.profile.columns["amount"] == ("Virement",)
    assert rows(proposal.entries, "direction", "amount") == [
        ("DBIT", Decimal("22.08")), ("CRDT", Decimal("43.87"))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "names"),
    [("Empfänger", ["Shop", "Us"]), ("by sign", ["Shop", None]), ("none", [None, None])],
)
def test_an_answer_decides_whose_name_a_single_name_column_contains(
    tmp_path: Path, answer: str, names: list[str | None]
) -> None:
    text = "Datum;Text;Betrag;Empfänger\n05.10.2026;a;-1,50;Shop\n06.10.2026;b;2,50;Us\n"
    proposal = propose(tmp_path, text, name=answer)
    assert proposal.questions == ()
    assert proposal.entries["counterparty_name"].to_pylist() == names


def test_an_invalid_answer_is_refused_and_the_valid_ones_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'left' is not an answer to decimal") as caught:
        propose(tmp_path, THOUSANDS, decimal="left")
    assert caught.value.do == "answer one of ',', '.'"


def test_a_decimal_sign_that_no_amount_contains_is_not_kept(tmp_path: Path) -> None:
    """Whole amounts contain no decimal sign, and the next file may have thousands separators."""
    text = "Buchungstag;Text;Betrag\n05.10.2026;a;-3\n06.10.2026;b;20\n"
    assert propose(tmp_path, text).profile.decimal == ""


PROVED = {
    "thousands next to hundreds": (
        (
            "Buchungstag;Verwendungszweck;Betrag;Saldo\n05.10.2026;a;-3.000;7.500\n"
            "06.10.2026;b;-500;7.000\n07.10.2026;c;2.000;9.000\n"
        ),
        [("DBIT", 3000), ("DBIT", 500), ("CRDT", 2000)],
    ),
    "credits": (
        "Date,Description,Amount,Balance\n2026-10-05,a,50.00,150.00\n2026-10-06,b,1.41,151.41\n",
        [("CRDT", 50), ("CRDT", Decimal("1.41"))],
    ),
    "debits without a minus": (
        "Date,Description,Amount,Balance\n2026-10-05,a,10.00,90.00\n2026-10-06,b,5.00,85.00\n",
        [("DBIT", 10), ("DBIT", 5)],
    ),
    "a ledger in which debit is money received": (
        (
            "Datum;Beleg;Text;Soll;Haben;Saldo\n05.10.2026;1;a;500,00;;1.500,00\n"
            "06.10.2026;2;b;;300,00;1.200,00\n"
        ),
        [("CRDT", 500), ("DBIT", 300)],
    ),
    "an account that is swept every day": (
        (
            "Datum;Text;Betrag;Saldo\n05.10.2026;a;10,00;10,00\n05.10.2026;b;-10,00;0,00\n"
            "06.10.2026;c;7,00;7,00\n06.10.2026;d;-7,00;0,00\n"
        ),
        [("CRDT", 10), ("DBIT", 10), ("CRDT", 7), ("DBIT", 7)],
    ),
    "balances before and after": (
        (
            "transactiondate;startsaldo;endsaldo;amount;description\n"
            "20261005;1000,00;987,50;-12,50;a\n20261006;987,50;1087,50;100,00;b\n"
        ),
        [("DBIT", Decimal("12.5")), ("CRDT", 100)],
    ),
    "two columns of amounts": (
        (
            "Datum;Text;Betrag;Gesamtbetrag;Saldo\n05.10.2026;a;-10,00;-11,00;89,00\n"
            "06.10.2026;b;-5,00;-6,00;83,00\n"
        ),
        [("DBIT", 11), ("DBIT", 6)],
    ),
}


@pytest.mark.parametrize(("text", "moved"), PROVED.values(), ids=PROVED)
def test_a_balance_column_settles_a_question(
    tmp_path: Path, text: str, moved: list[tuple[str, Decimal]]
) -> None:
    proposal = propose(tmp_path, text)
    assert proposal.questions == ()
    assert rows(proposal.entries, "direction", "amount") == moved


def test_debit_and_credit_as_card_types_are_not_a_sign(tmp_path: Path) -> None:
    _, text = ASKED["sales before and after tax"]
    proposal = propose(tmp_path, text, amount="Auszahlung", sign="in")
    assert "sign" not in proposal.profile.columns
    assert set(proposal.entries["direction"].to_pylist()) == {"CRDT"}
    assert "Steuerbetrag" in dict(proposal.unused)


NAMES = {
    "the name of an account is its owner's": (
        (
            '"TransactionDate","Description","Value","AccountBalance","AccountName","AccountNumber"\n'
            '"20261006","a","50.00","150.00","Our Savings","12345678"\n'
            '"20261005","b","1.41","100.00","Our Savings","12345678"\n'
        ),
        [(None, None), (None, None)],
    ),
    "the name of the other account is a name": (
        (
            "Boekdatum;Rekeningnummer;Bedrag;Debet / Credit;Naam tegenrekening;Tegenrekening;"
            "Omschrijving\n"
            "06-10-2026;NL12TRIO0123456789;50,00;Credit;Payer BV;NL91ABNA0417164300;PAY-1\n"
            "05-10-2026;NL12TRIO0123456789;20,00;Debet;Shop;NL91ABNA0417164300;b\n"
        ),
        [("Payer BV", "NL91ABNA0417164300"), ("Shop", "NL91ABNA0417164300")],
    ),
    "payer and payee by the sign": (
        (
            "Booking date;Sender;Recipient;Reference;Amount\n"
            "2026-10-05;Payer BV;Us Ltd;PAY-1;50.00\n"
            "2026-10-06;Us Ltd;Shop;x;-20.00\n"
        ),
        [("Payer BV", None), ("Shop", None)],
    ),
    "the holder of the other account": (
        (
            "Rekeningnummer;Transactiedatum;CreditDebet;Bedrag;Tegenrekeningnummer;"
            "Tegenrekeninghouder;Omschrijving\n"
            "NL12KNAB0123456789;05-10-2026;D;12,50;NL91ABNA0417164300;Shop;x\n"
        ),
        [("Shop", "NL91ABNA0417164300")],
    ),
    "a word that is no account": (
        (
            "Datum;Text;Betrag;Konto;Name\n05.10.2026;a;-1,50;Giro;Shop\n"
            "06.10.2026;b;2,50;Giro;Payer BV\n"
        ),
        [("Shop", None), ("Payer BV", None)],
    ),
}


@pytest.mark.parametrize(("text", "parties"), NAMES.values(), ids=NAMES)
def test_names_and_accounts_belong_to_the_counterparty(
    tmp_path: Path, text: str, parties: list[tuple[str | None, str | None]]
) -> None:
    proposal = propose(tmp_path, text)
    assert proposal.questions == ()
    assert rows(proposal.entries, "counterparty_name", "counterparty_account") == parties


def test_an_account_missing_from_some_rows_does_not_split_the_statement(tmp_path: Path) -> None:
    text = (
        "Date,Description,Devise,Montant,Solde,Compte bancaire\n"
        '01/10/2026,a,EUR,"-10,00","90,00",\n15/10/2026,b,EUR,"-50,00","40,00",12345\n'
    )
    file = read(tmp_path, text)
    assert rows(file.statements, "account", "entry_count") == [(OURS, 2)]
    assert dict(propose(tmp_path, text).unused) == {"Compte bancaire": "12345"}


@pytest.mark.parametrize("header", ["Narration", "Beschreibung", "Vwz.0", "Omschrijving-1"])
def test_further_headers_of_text_columns_are_recognised(tmp_path: Path, header: str) -> None:
    text = f"Datum;{header};Betrag;Gläubiger-ID\n05.10.2026;PAY-1;-1,50;DE98ZZZ09999999999\n"
    proposal = propose(tmp_path, text)
    assert proposal.entries["remittance"].to_pylist() == [["PAY-1"]]
    assert proposal.entries["account_servicer_reference"].to_pylist() == [None]
    assert dict(proposal.unused) == {"Gläubiger-ID": "DE98ZZZ09999999999"}


def test_the_currency_of_an_original_amount_is_not_the_account_currency(tmp_path: Path) -> None:
    text = (
        "Date;Amount;Original amount;Original currency;Description\n2026-12-30;-5.00;;;a\n"
        "2026-12-26;-538.28;-579.33;USD;b\n"
    )
    proposal = propose(tmp_path, text)
    assert "currency" not in proposal.profile.columns
    assert proposal.entries["currency"].to_pylist() == [None, None]
    assert proposal.entries["amount"].to_pylist() == [5, Decimal("538.28")]


def test_a_date_missing_from_some_movements_is_not_the_booking_date(tmp_path: Path) -> None:
    text = (
        "Zeitstempel,Beschreibung,Betrag,Auszahlungsdatum\n2026-10-06 16:59:00,a,-11.0,\n"
        "2026-10-05 16:10:03,b,5.0,2026-10-07\n"
    )
    days = propose(tmp_path, text).entries["booking_date"].to_pylist()
    assert [str(day) for day in days] == ["2026-10-06", "2026-10-05"]


@pytest.mark.parametrize(
    ("header", "others"),
    [
        ("Informations complémentaires", "Date;{};Libellé;Montant"),
        ("Observaciones", "Fecha operación;{};Concepto;Importe"),
        ("Viite", "Kirjauspäivä;{};Viesti;Määrä"),
    ],
)
def test_every_text_column_is_recognised_in_many_languages(
    tmp_path: Path, header: str, others: str
) -> None:
    rows = "05.10.2026;PAY-2026-004417;a;-20,00\n06.10.2026;PAY-2026-004471;b;50,00\n"
    proposal = propose(tmp_path, f"{others.format(header)}\n{rows}")
    texts = proposal.entries["remittance"].to_pylist()
    assert [sorted(row) for row in texts] == [["PAY-2026-004417", "a"], ["PAY-2026-004471", "b"]]


FEES = "Date,Description,Amount,Fee\n2026-10-15,Payout,100.00,1.50\n2026-10-16,Refund,-20.00,0.00\n"


@pytest.mark.parametrize(
    ("answer", "amount"), [("in", Decimal("100.00")), ("on top", Decimal("98.50"))]
)
def test_the_answer_about_fees_is_kept_with_the_profile(
    tmp_path: Path, answer: str, amount: Decimal
) -> None:
    proposal = propose(tmp_path, FEES, fee=answer)
    assert proposal.entries["amount"].to_pylist()[0] == amount
    assert proposal.profile.fee_included == (answer == "in")


def test_a_status_column_is_recognised_under_any_header(tmp_path: Path) -> None:
    text = (
        "Fecha;Concepto;Situación;Importe\n15/10/2026;a;Pendiente;-13,00\n"
        "16/10/2026;b;Completado;-10,00\n17/10/2026;c;Completado;5,00\n"
    )
    proposal = propose(tmp_path, text)
    assert proposal.profile.columns["status"] == ("Situación",)
    assert proposal.entries["entry_status"].to_pylist() == ["PDNG", "BOOK", "BOOK"]


def test_names_and_accounts_of_czech_and_lithuanian_exports_are_read(tmp_path: Path) -> None:
    czech = (
        "Datum zaúčtování;Název protiúčtu;Protiúčet;Částka;Zpráva pro příjemce\n"
        "05.10.2026;Dodavatel;123456789/0800;-10,00;Faktura 7\n"
        "06.10.2026;Zákazník;987654321/0100;20,00;PAY-2026-004417\n"
    )
    assert rows(propose(tmp_path, czech).entries, "counterparty_name", "counterparty_account") == [
        ("Dodavatel", "123456789/0800"), ("Zákazník", "987654321/0100"),
    ]  # fmt: skip
    lithuanian = (
        "Data;Mokėtojas;Gavėjas;Paskirtis;Suma\n2026-10-05;Mes UAB;Tiekėjas;x;-10,00\n"
        "2026-10-06;Pirkėjas;Mes UAB;PAY-2026-004417;20,00\n"
    )
    names = propose(tmp_path, lithuanian).entries["counterparty_name"].to_pylist()
    assert names == ["Tiekėjas", "Pirkėjas"]
