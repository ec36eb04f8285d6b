"""Exports in the layouts of banks, each with one credit and one debit.

The credit is 100.50 and the debit 1,234.56; balances, if present, go from 5,000 to 3,865.94.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from camt_samples import write

from treasury.statements import StatementFile, read_file

OURS = "BE68539007547034"
BANKS: Final[dict[str, str]] = {
    "rabobank": (
        '"IBAN/BBAN","Munt","BIC","Volgnr","Datum","Rentedatum","Bedrag","Saldo na trn",'
        '"Tegenrekening IBAN/BBAN","Naam tegenpartij","BIC tegenpartij","Code","Omschrijving-1"\n'
        '"NL91","EUR","TESTNL2A","1","2026-10-01","2026-10-01","+100,50","+5100,50","NL92","A",'
        '"TESTNL2B","cb","In"\n'
        '"NL91","EUR","TESTNL2A","2","2026-10-02","2026-10-02","-1234,56","+3865,94","NL93","B",'
        '"TESTNL2B","bg","Out"\n'
    ),
    "ing nl": (
        '"Datum";"Naam / Omschrijving";"Rekening";"Tegenrekening";"Code";"Af Bij";"Bedrag (EUR)";'
        '"Mutatiesoort";"Mededelingen";"Saldo na mutatie"\n'
        '"20261002";"B";"NL91";"NL93";"OV";"Af";"1234,56";"Overschrijving";"Out";"3865,94"\n'
        '"20261001";"A";"NL91";"NL92";"OV";"Bij";"100,50";"Overschrijving";"In";"5100,50"\n'
    ),
    "belfius": (
        "Boekingsdatum vanaf;01/10/2026\nRekening;Boekingsdatum;Rekeninguittrekselnummer;"
        "Transactienummer;Rekening tegenpartij;Naam tegenpartij bevat;Straat en nummer;Postcode en"
        " plaats;Transactie;Valutadatum;Bedrag;Devies;BIC;Landcode;Mededelingen\n"
        "BE68;02/10/2026;;2;BE70;B;;;Out;02/10/2026;-1.234,56;EUR;TESTBEBB;BE;x\n"
        "BE68;01/10/2026;;1;BE69;A;;;In;01/10/2026;100,50;EUR;TESTBEBB;BE;y\n"
    ),
    "bnp paribas fortis": (
        "Volgnummer;Uitvoeringsdatum;Valutadatum;Bedrag;Valuta rekening;Rekeningnummer;Type"
        " verrichting;Tegenpartij;Naam van de tegenpartij;Mededeling;Details;Status\n"
        "2026-2;02/10/2026;02/10/2026;-1234,56;EUR;BE68;Overschrijving;BE70;B;Out;d;Geaccepteerd\n"
        "2026-1;01/10/2026;01/10/2026;100,50;EUR;BE68;Overschrijving;BE69;A;In;d;Geaccepteerd\n"
    ),
    "sparkasse camt": (
        '"Auftragskonto";"Buchungstag";"Valutadatum";"Buchungstext";"Verwendungszweck";'
        '"Glaeubiger ID";"Mandatsreferenz";"Kundenreferenz (End-to-End)";"Sammlerreferenz";'
        '"Beguenstigter/Zahlungspflichtiger";"Kontonummer/IBAN";"BIC (SWIFT-Code)";"Betrag";'
        '"Waehrung";"Info"\n'
        '"DE89";"02.10.26";"02.10.26";"DAUERAUFTRAG";"Out";"";"";"";"";"B";"DE91";"X";"-1.234,56";'
        '"EUR";"Umsatz gebucht"\n'
        '"DE89";"01.10.26";"01.10.26";"GUTSCHRIFT";"In";"";"";"E2E";"";"A";"DE90";"X";"100,50";'
        '"EUR";"Umsatz gebucht"\n'
    ),
    "volksbank": (
        "Bezeichnung Auftragskonto;IBAN Auftragskonto;BIC Auftragskonto;Bankname Auftragskonto;"
        "Buchungstag;Valutadatum;Name Zahlungsbeteiligter;IBAN Zahlungsbeteiligter;BIC (SWIFT-Code)"
        " Zahlungsbeteiligter;Buchungstext;Verwendungszweck;Betrag;Waehrung;Saldo nach Buchung\n"
        "Giro;DE89;X;VB;02.10.2026;02.10.2026;B;DE91;X;Lastschrift;Out;-1234,56;EUR;3865,94\n"
        "Giro;DE89;X;VB;01.10.2026;01.10.2026;A;DE90;X;Gutschrift;In;100,50;EUR;5100,50\n"
    ),
    "dkb": (
        '"Girokonto";"DE89370400440532013000"\n"Zeitraum:";"01.10.2026 - 31.10.2026"\n""\n'
        '"Buchungsdatum";"Wertstellung";"Status";"Zahlungspflichtige*r";"Zahlungsempfänger*in";'
        '"Verwendungszweck";"Umsatztyp";"IBAN";"Betrag (€)";"Gläubiger-ID";"Mandatsreferenz";'
        '"Kundenreferenz"\n'
        '"02.10.26";"02.10.26";"Gebucht";"Me";"B";"Out";"Ausgang";"DE91";"-1.234,56";"";"";""\n'
        '"01.10.26";"01.10.26";"Gebucht";"A";"Me";"In";"Eingang";"DE90";"100,50";"";"";""\n'
    ),
    "ing de": (
        "IBAN;DE89\nBuchung;Valuta;Auftraggeber/Empfänger;Buchungstext;Verwendungszweck;Saldo;"
        "Währung;Betrag;Währung\n"
        "02.10.2026;02.10.2026;B;Lastschrift;Out;3.865,94;EUR;-1.234,56;EUR\n"
        "01.10.2026;01.10.2026;A;Gutschrift;In;5.100,50;EUR;100,50;EUR\n"
    ),
    "commerzbank": (
        "Buchungstag;Wertstellung;Umsatzart;Buchungstext;Betrag;Währung;Auftraggeberkonto;"
        "Bankleitzahl Auftraggeberkonto;IBAN Auftraggeberkonto;Kategorie\n"
        "02.10.2026;02.10.2026;Lastschrift;Out;-1.234,56;EUR;1;2;DE89;\n"
        "01.10.2026;01.10.2026;Gutschrift;In;100,50;EUR;1;2;DE89;\n"
    ),
    "n26": (
        '"Booking Date","Value Date","Partner Name","Partner Iban",Type,"Payment Reference",'
        '"Account Name","Amount (EUR)","Original Amount","Original Currency","Exchange Rate"\n'
        "2026-10-01,2026-10-01,A,DE90,Credit Transfer,In,Main,100.50,,,\n"
        "2026-10-02,2026-10-02,B,DE91,Debit Transfer,Out,Main,-1234.56,,,\n"
    ),
    "wise": (
        "TransferWise ID,Date,Amount,Currency,Description,Payment Reference,Running Balance,"
        "Exchange From,Exchange To,Exchange Rate,Payer Name,Payee Name,Payee Account Number,"
        "Merchant,Total fees\n"
        "TRANSFER-2,02-10-2026,-1234.56,EUR,Sent,Out,3865.94,,,,,B,DE91,,0.00\n"
        "TRANSFER-1,01-10-2026,100.50,EUR,Received,In,5100.50,,,,A,,,,0.00\n"
    ),
    "revolut": (
        "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
        "TOPUP,Current,2026-10-01 09:00:00,2026-10-01 09:00:01,In,100.50,0.00,EUR,COMPLETED,5100.50"
        "\nTRANSFER,Current,2026-10-02 09:00:00,2026-10-02 09:00:01,Out,-1233.56,1.00,EUR,"
        "COMPLETED,3865.94\n"
    ),
    "revolut business": (
        "Date started (UTC),Date completed (UTC),ID,Type,State,Description,Reference,Payer,"
        "Orig currency,Orig amount,Payment currency,Amount,Total amount,Fee,Fee currency,Balance,"
        "Account,Beneficiary account number,Beneficiary IBAN,Beneficiary BIC\n"
        "2026-10-02,2026-10-02,id2,TRANSFER,COMPLETED,To B,Out,,EUR,-1234.36,EUR,-1234.36,-1234.56,"
        "0.20,EUR,3865.94,EUR Main,,DE91,X\n"
        "2026-10-01,2026-10-01,id1,TOPUP,COMPLETED,From A,In,A,EUR,100.50,EUR,100.50,100.50,0.00,"
        "EUR,5100.50,EUR Main,,,\n"
    ),
    "bunq": (
        '"Date","Interest Date","Amount","Account","Counterparty","Name","Description"\n'
        '"2026-10-02","2026-10-02","-1,234.56","NL91","NL93","B","Out"\n'
        '"2026-10-01","2026-10-01","100.50","NL91","NL92","A","In"\n'
    ),
    "swedbank": (
        '"Client account";"Row type";"Date";"Beneficiary/Payer";"Details";"Amount";"Currency";'
        '"Debit/Credit";"Transfer reference";"Transaction type";"Reference number";'
        '"Document number";\n'
        '"EE38";"10";"01.10.2026";"";"Opening balance";"5000,00";"EUR";"K";"";"AS";"";"";\n'
        '"EE38";"20";"01.10.2026";"A";"In";"100,50";"EUR";"K";"2026100100001";"MK";"13";"1";\n'
        '"EE38";"20";"02.10.2026";"B";"Out";"1234,56";"EUR";"D";"2026100200001";"MK";"";"2";\n'
        '"EE38";"82";"02.10.2026";"";"Turnover";"1234,56";"EUR";"D";"";"K2";"";"";\n'
        '"EE38";"82";"02.10.2026";"";"Turnover";"100,50";"EUR";"K";"";"K2";"";"";\n'
        '"EE38";"86";"02.10.2026";"";"Closing balance";"3865,94";"EUR";"K";"";"LS";"";"";\n'
    ),
    "mbank": (
        "mBank S.A.\n\n#Waluta;#Wpływy;#Wydatki;\nPLN;100,50;-1 234,56;\n\n"
        "#Saldo początkowe;5 000,00 PLN;\n\n"
        "#Data operacji;#Data księgowania;#Opis operacji;#Tytuł;#Nadawca/Odbiorca;#Numer konta;"
        "#Kwota;#Saldo po operacji;\n"
        '2026-10-01;2026-10-01;PRZELEW;"In";"A";\'61109010140000071219812874\';100,50;5 100,50;\n'
        '2026-10-02;2026-10-02;PRZELEW;"Out";"B";\'\';-1 234,56;3 865,94;\n'
        ";;;;;;#Saldo końcowe;3 865,94 PLN;\n"
    ),
    "lloyds": (
        "Transaction Date,Transaction Type,Sort Code,Account Number,Transaction Description,"
        "Debit Amount,Credit Amount,Balance\n"
        "02/10/2026,DD,'11-22-33,12345678,Out,1234.56,,3865.94\n"
        "01/10/2026,FPI,'11-22-33,12345678,In,,100.50,5100.50\n"
    ),
    "natwest": (
        "Date, Type, Description, Value, Balance, Account Name, Account Number\n\n"
        '02/10/2026,D/D,"\'Out",-1234.56,3865.94,"\'OURS","\'112233-12345678",\n'
        '01 Oct 2026,BAC,"\'In",100.50,5100.50,"\'OURS","\'112233-12345678",\n'
    ),
}
CURRENCIES: Final = {"mbank": "PLN", "lloyds": "GBP", "natwest": "GBP"}
"""Currencies of the samples that are not in euros."""


def read(folder: Path, text: str) -> StatementFile:
    """Read an export; `OURS` is the account if the text names none."""
    return read_file(write(folder, text, "export.csv"), account=OURS)
