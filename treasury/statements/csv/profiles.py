"""CSV profiles: how one bank's export is laid out, told by the names of its columns.

A profile is a table of roles, each with the header names that a bank gives to the column. A file is
in the profile whose needed headers it has, wherever in the file the header row stands. Banks that
are not built in are described in a TOML file, which `treasury statements profile` proposes.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from treasury.errors import StatementError
from treasury.ground.decoding import convert
from treasury.ground.regular_files import open_regular

__all__ = ["BUILT_IN", "FOLDER", "ROLES", "Profile", "load_profiles", "plain", "to_toml"]

FOLDER: Final = "profiles"
"""The folder of a workspace that holds the profiles of its own."""

ROLES: Final = (
    "booking_date", "value_date", "amount", "debit", "credit", "sign", "currency", "balance",
    "text", "counterparty_name", "counterparty_account", "counterparty_agent", "account",
    "reference", "end_to_end_id", "mandate_id", "structured_reference", "kind", "status", "fee",
    "fee_currency", "balance_before", "debit_currency", "credit_currency", "payer_name",
    "payee_name",
)  # fmt: skip

Headers = tuple[str, ...]


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The layout of one bank's CSV files.

    `columns` gives for each role the headers it may have; of several that a file has, `text` joins
    them and any other role takes the first that is not empty. A header may be `#3`, the third
    column, for files without a header row; `shape` then says what such a row looks like, a letter
    a cell: d date, a amount, t text, i IBAN, c currency, - empty, ? amount or empty, * anything.
    """

    name: str
    columns: dict[str, Headers]
    needs: Headers = ()
    """Headers that only this bank's files have together; all of the roles' first ones if none."""
    day_order: Literal["dmy", "mdy", "ymd"] = "dmy"
    decimal: Literal["", ",", "."] = ""
    """What separates the decimals; worked out from the file where it is not said."""
    currency: str = ""
    """Of files that say it nowhere."""
    fee_included: bool = True
    """Whether the amount is what moved, with the fee already in it."""
    shape: str = ""

    def __post_init__(self) -> None:
        unknown = sorted(set(self.columns) - set(ROLES))
        if unknown:
            raise ValueError(f"profile {self.name}: {unknown[0]!r} is no role of a column")
        if not ("amount" in self.columns or {"debit", "credit"} & set(self.columns)):
            raise ValueError(f"profile {self.name}: no column of amounts")
        if "booking_date" not in self.columns:
            raise ValueError(f"profile {self.name}: no column booking_date")


def plain(header: str) -> str:
    """A header as it is compared: letters and digits, without accents or case.

    A replacement character stands for whatever letter was lost there.
    """
    text = unicodedata.normalize("NFKD", header.strip().strip("=\"'").casefold())
    return "".join(char for char in text if char.isalnum() or char in "#\ufffd")


def load_profiles(folder: Path) -> tuple[Profile, ...]:
    """The profiles in a folder's TOML files; StatementError names the one that cannot be used."""
    if not folder.is_dir():
        return ()
    return tuple(load_profile(path) for path in sorted(folder.glob("*.toml")))


def load_profile(path: Path) -> Profile:
    """The profile in a TOML file."""
    do = "see what `treasury statements profile FILE` proposes"
    try:
        with open_regular(path) as file:
            data = tomllib.load(file)
        return convert({"name": path.stem, **data}, Profile)
    except OSError as error:
        raise StatementError(f"{path}: {error.strerror or 'cannot be read'}", do=do) from None
    except (ValueError, msgspec.ValidationError) as error:
        raise StatementError(f"{path.name}: not a profile ({error})", do=do) from None


def to_toml(profile: Profile) -> str:
    """The profile as a person keeps it in a file."""
    lines = [f"name = {_quoted(profile.name)}"]
    lines += [f"needs = [{', '.join(map(_quoted, profile.needs))}]"] if profile.needs else []
    for name in ("day_order", "decimal", "currency", "shape"):
        value = getattr(profile, name)
        if value:
            lines.append(f"{name} = {_quoted(value)}")
    lines += [] if profile.fee_included else ["fee_included = false"]
    lines += ["", "[columns]"]
    for role, headers in profile.columns.items():
        lines.append(f"{role} = [{', '.join(map(_quoted, headers))}]")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", " ", escaped) + '"'


def _profile(
    name: str,
    needs: Iterable[str],
    columns: Mapping[str, str],
    *,
    day_order: Literal["dmy", "mdy", "ymd"] = "dmy",
    decimal: Literal["", ",", "."] = "",
    currency: str = "",
    shape: str = "",
    fee_included: bool = True,
) -> Profile:
    """A built-in profile; the headers of a role are separated by `|`."""
    split = {role: tuple(headers.split("|")) for role, headers in columns.items()}
    return Profile(
        name=name, columns=split, needs=tuple(needs), day_order=day_order, decimal=decimal,
        currency=currency, shape=shape, fee_included=fee_included,
    )  # fmt: skip


_UBS_NUMBER: Final = (
    "Transaction no.|N° de transaction|No de transaction|N. di transazione|Transaktions-Nr."
)
_POSTFINANCE_TEXT: Final = (
    "Notification text|Avisierungstext|Texte de notification|Testo di avviso|Buchungsdetails"
)
_POSTFINANCE_CREDIT: Final = (
    "Credit in CHF|Gutschrift in CHF|Crédit en CHF|Accredito in CHF|Credit in EUR|"
    "Gutschrift in EUR|Crédit en EUR|Accredito in EUR"
)
_REVOLUT_BEGUN: Final = (
    "Started Date|Datum des Beginns|Date de début|Data di inizio|Fecha de inicio|"
    "Data rozpoczęcia|Startdatum|Data de início"
)
_REVOLUT_ENDED: Final = (
    "Completed Date|Datum des Abschlusses|Date de fin|Data di completamento|Fecha de finalización|"
    "Data zrealizowania|Datum voltooid|Data de conclusão"
)
_REVOLUT_AMOUNT: Final = "Amount|Betrag|Montant|Importo|Importe|Kwota|Bedrag|Montante"
_REVOLUT_FEE: Final = "Fee|Gebühr|Frais|Costo|Comisión|Opłata|Kosten|Comissão"
_PAYPAL_FEE: Final = "Commission|Gebühr|Entgelt|Tariffa|Tarifa|Comisión|Kosten"
_PAYPAL_NUMBER: Final = (
    "Numéro de transaction|Transaktionscode|Codice transazione|Id. de transacción|"
    "Transactiereferentie"
)
_FORTIS_DAY: Final = "Uitvoeringsdatum|Date d'exécution|Execution date"

# Each is laid out as files of the bank are, or as several public programs that read them agree.
BUILT_IN: Final = (
    _profile(
        "ubs",
        (_UBS_NUMBER,
         "Description1|Descrizione1|Beschreibung1", "Description2|Descrizione2|Beschreibung2"),
        {
            "booking_date": "Booking date|Date de comptabilisation|Data di registrazione|"
            "Buchungsdatum|Trade date|Date de transaction|Data dell'operazione|Abschlussdatum",
            "value_date": "Value date|Date de valeur|Data di valuta|Valutadatum",
            "amount": "Transaction amount|Transaktionsbetrag|Montant de la transaction|"
            "Importo della transazione",
            "debit": "Debit|Debit amount|Addebito|Belastung|Débit",
            "credit": "Credit|Credit amount|Accredito|Gutschrift|Crédit",
            "currency": "Currency|Monnaie|Moneta|Währung",
            "balance": "Balance|Solde|Saldo",
            "reference": _UBS_NUMBER,
            "text": "Description1|Descrizione1|Beschreibung1|Description2|Descrizione2|"
            "Beschreibung2|Description3|Descrizione3|Beschreibung3",
        },
    ),
    _profile(
        "ubs classic",
        ("Banking relationship|Bankbeziehung|Relation bancaire|Relazione bancaria",
         "Description 1|Beschreibung 1|Descrizione 1", _UBS_NUMBER, "IBAN"),
        {
            "booking_date": "Booking date|Buchungsdatum|Date de comptabilisation|"
            "Data di registrazione|Trade date|Abschlussdatum|Abschluss|Date de transaction|"
            "Data di chiusura|Data dell'operazione",
            "value_date": "Value date|Valutadatum|Valuta|Date de valeur|Data di valuta",
            "debit": "Debit|Belastung|Débit|Addebito",
            "credit": "Credit|Gutschrift|Crédit|Accredito",
            "currency": "Ccy.|Whrg.|Währung|Mon.|Monn.|Monnaie|Moneta",
            "balance": "Balance|Saldo|Solde",
            "account": "IBAN",
            "reference": _UBS_NUMBER,
            "text": "Description 1|Beschreibung 1|Descrizione 1|Description 2|Beschreibung 2|"
            "Descrizione 2|Description 3|Beschreibung 3|Descrizione 3",
        },
    ),
    _profile(
        "credit suisse",
        ("Buchungsdatum|Date comptable|Booking date|Data di registrazione",
         "Text|Texte|Testo", "Belastung|Débit|Debit|Addebito", "Gutschrift|Crédit|Credit|Accredito",
         "Valutadatum|Date de valeur|Value date|Data di valuta", "Saldo|Solde|Balance"),
        {
            "booking_date": "Buchungsdatum|Date comptable|Booking date|Data di registrazione",
            "value_date": "Valutadatum|Date de valeur|Value date|Data di valuta",
            "debit": "Belastung|Débit|Debit|Addebito",
            "credit": "Gutschrift|Crédit|Credit|Accredito",
            "balance": "Saldo|Solde|Balance",
            "text": "Text|Texte|Testo",
        },
    ),
    _profile(
        "credit suisse without booking day",
        ("Valutadatum|Date de valeur|Value date|Data di valuta", "Text|Texte|Testo",
         "Belastung|Débit|Debit|Addebito", "Gutschrift|Crédit|Credit|Accredito"),
        {
            "booking_date": "Valutadatum|Date de valeur|Value date|Data di valuta",
            "value_date": "Valutadatum|Date de valeur|Value date|Data di valuta",
            "debit": "Belastung|Débit|Debit|Addebito",
            "credit": "Gutschrift|Crédit|Credit|Accredito",
            "text": "Text|Texte|Testo",
        },
    ),
    _profile(
        "postfinance 2003",
        ("Data|Datum|Date", "Descrizione della transazione|Buchungstext|Texte comptable",
         "Accreditamento|Gutschrift|Crédit", "Debito|Lastschrift|Débit",
         "Valuta|Valeur", "Saldo|Solde"),
        {
            "booking_date": "Data|Datum|Date",
            "value_date": "Valuta|Valeur",
            "credit": "Accreditamento|Gutschrift|Crédit",
            "debit": "Debito|Lastschrift|Débit",
            "balance": "Saldo|Solde",
            "text": "Descrizione della transazione|Buchungstext|Texte comptable",
        },
        currency="CHF",
    ),
    _profile(
        "postfinance",
        ("BookingDate", "BookingText", "DebitAmount", "CreditAmount"),
        {
            "booking_date": "BookingDate",
            "value_date": "ValutaDate",
            "debit": "DebitAmount",
            "credit": "CreditAmount",
            "balance": "Balance",
            "text": "BookingText",
        },
        currency="CHF",
    ),
    _profile(
        "postfinance e-finance",
        ("Date|Datum|Data", _POSTFINANCE_TEXT, _POSTFINANCE_CREDIT),
        {
            "booking_date": "Date|Datum|Data",
            "kind": "Type of transaction|Bewegungstyp|Type de transaction|Tipo di transazione",
            "debit": "Debit in CHF|Lastschrift in CHF|Débit en CHF|Addebito in CHF|Debit in EUR|"
            "Lastschrift in EUR|Débit en EUR|Addebito in EUR",
            "credit": _POSTFINANCE_CREDIT,
            "balance": "Saldo in CHF|Balance in CHF|Solde en CHF|Saldo in EUR|Balance in EUR",
            "text": _POSTFINANCE_TEXT,
        },
    ),
    _profile(
        "postfinance without header",
        (),
        {
            "booking_date": "#1", "text": "#2", "credit": "#3", "debit": "#4", "value_date": "#5",
            "balance": "#6",
        },
        currency="CHF",
        shape="dt??d?",
    ),
    _profile(
        "raiffeisen",
        ("Booked At", "Text", "Credit/Debit Amount", "Balance", "Valuta Date"),
        {
            "booking_date": "Booked At", "value_date": "Valuta Date",
            "amount": "Credit/Debit Amount", "balance": "Balance", "account": "IBAN",
            "text": "Text",
        },
        currency="CHF",
    ),
    _profile(
        "zkb",
        ("Datum|Date", "Buchungstext|Booking text", "ZKB-Referenz|ZKB reference",
         "Valuta|Value date"),
        {
            "booking_date": "Datum|Date",
            "value_date": "Valuta|Value date",
            "debit": "Belastung CHF|Belastung EUR|Belastung USD|Debit CHF|Debit EUR",
            "credit": "Gutschrift CHF|Gutschrift EUR|Gutschrift USD|Credit CHF|Credit EUR",
            "balance": "Saldo CHF|Saldo EUR|Saldo USD|Balance CHF|Balance EUR",
            "reference": "ZKB-Referenz|ZKB reference",
            "structured_reference": "Referenznummer|Reference number",
            "text": "Buchungstext|Booking text|Zahlungszweck|Payment purpose",
        },
    ),
    _profile(
        "sparkasse camt",
        ("Auftragskonto", "Buchungstag", "Valutadatum", "Verwendungszweck", "Betrag", "Waehrung"),
        {
            "booking_date": "Buchungstag", "value_date": "Valutadatum", "amount": "Betrag",
            "currency": "Waehrung", "account": "Auftragskonto", "kind": "Buchungstext",
            "text": "Verwendungszweck", "status": "Info",
            "counterparty_name": "Beguenstigter/Zahlungspflichtiger",
            "counterparty_account": "Kontonummer/IBAN|Kontonummer",
            "counterparty_agent": "BIC (SWIFT-Code)|BLZ",
            "end_to_end_id": "Kundenreferenz (End-to-End)", "mandate_id": "Mandatsreferenz",
        },
    ),
    _profile(
        "volksbank",
        ("Bezeichnung Auftragskonto", "IBAN Auftragskonto", "Buchungstag", "Betrag"),
        {
            "booking_date": "Buchungstag", "value_date": "Valutadatum", "amount": "Betrag",
            "currency": "Waehrung", "account": "IBAN Auftragskonto", "kind": "Buchungstext",
            "text": "Verwendungszweck", "balance": "Saldo nach Buchung",
            "counterparty_name": "Name Zahlungsbeteiligter",
            "counterparty_account": "IBAN Zahlungsbeteiligter",
            "counterparty_agent": "BIC (SWIFT-Code) Zahlungsbeteiligter",
            "mandate_id": "Mandatsreferenz",
        },
    ),
    _profile(
        "ing de",
        ("Buchung", "Auftraggeber/Empfänger", "Buchungstext", "Verwendungszweck", "Betrag"),
        {
            "booking_date": "Buchung", "value_date": "Valuta|Wertstellungsdatum",
            "amount": "Betrag", "currency": "Währung", "balance": "Saldo", "kind": "Buchungstext",
            "text": "Verwendungszweck", "counterparty_name": "Auftraggeber/Empfänger",
        },
        currency="EUR",
    ),
    _profile(
        "dkb",
        ("Buchungsdatum", "Zahlungspflichtige*r", "Zahlungsempfänger*in", "Verwendungszweck"),
        {
            "booking_date": "Buchungsdatum", "value_date": "Wertstellung",
            "amount": "Betrag (€)|Betrag (EUR)", "text": "Verwendungszweck",
            "kind": "Umsatztyp", "counterparty_account": "IBAN", "status": "Status",
            "mandate_id": "Mandatsreferenz", "end_to_end_id": "Kundenreferenz",
        },
        currency="EUR",
    ),
    _profile(
        "commerzbank",
        ("Buchungstag", "Wertstellung", "Umsatzart", "Buchungstext", "Betrag"),
        {
            "booking_date": "Buchungstag", "value_date": "Wertstellung", "amount": "Betrag",
            "currency": "Währung", "account": "IBAN Kontoinhaber|IBAN Auftraggeberkonto",
            "kind": "Umsatzart", "text": "Buchungstext",
        },
        currency="EUR",
    ),
    _profile(
        "n26",
        ("Payee|Partner Name", "Amount (EUR)"),
        {
            "booking_date": "Date|Booking Date", "value_date": "Value Date",
            "amount": "Amount (EUR)", "kind": "Transaction type|Type",
            "text": "Payment reference|Payment Reference",
            "counterparty_name": "Payee|Partner Name",
            "counterparty_account": "Account number|Partner Iban",
        },
        day_order="ymd",
        currency="EUR",
    ),
    _profile(
        "rabobank",
        ("IBAN/BBAN", "Munt", "Volgnr", "Rentedatum", "Bedrag"),
        {
            "booking_date": "Datum", "value_date": "Rentedatum", "amount": "Bedrag",
            "currency": "Munt", "balance": "Saldo na trn", "account": "IBAN/BBAN",
            "kind": "Code", "reference": "Transactiereferentie",
            "text": "Omschrijving-1|Omschrijving-2|Omschrijving-3",
            "counterparty_name": "Naam tegenpartij",
            "counterparty_account": "Tegenrekening IBAN/BBAN",
            "counterparty_agent": "BIC tegenpartij", "mandate_id": "Machtigingskenmerk",
            "structured_reference": "Betalingskenmerk",
        },
        day_order="ymd",
    ),
    _profile(
        "ing nl",
        ("Naam / Omschrijving|Name / Description", "Rekening|Account", "Af Bij|Debit/credit",
         "Mutatiesoort|Transaction type"),
        {
            "booking_date": "Datum|Date", "amount": "Bedrag (EUR)|Amount (EUR)",
            "sign": "Af Bij|Debit/credit", "account": "Rekening|Account",
            "counterparty_name": "Naam / Omschrijving|Name / Description",
            "counterparty_account": "Tegenrekening|Counterparty",
            "text": "Mededelingen|Notifications", "kind": "Code",
            "balance": "Saldo na mutatie|Resulting balance",
        },
        day_order="ymd",
        currency="EUR",
    ),
    _profile(
        "kbc",
        ("Rekeningnummer|Account number", "Afschriftnummer|Statement number", "Munt|Currency",
         "Omschrijving|Description", "Bedrag|Amount"),
        {
            "booking_date": "Datum|Date", "value_date": "Valuta|Value date",
            "amount": "Bedrag|Amount", "currency": "Munt|Currency", "balance": "Saldo|Balance",
            "account": "Rekeningnummer|Account number",
            "counterparty_name": "Naam tegenpartij|Counterparty name",
            "counterparty_account": "rekeningnummer tegenpartij|Counterparty account number|"
            "counterparty's account number",
            "counterparty_agent": "BIC tegenpartij|Counterparty BIC|counterparty bic",
            "structured_reference": "gestructureerde mededeling|structured reference",
            "text": "Vrije mededeling|Free-format reference|Omschrijving|Description",
        },
        decimal=",",
    ),
    _profile(
        "belfius",
        ("Rekening|Compte", "Boekingsdatum|Date de comptabilisation", "Devies|Devise",
         "Naam tegenpartij bevat|Nom contrepartie contient"),
        {
            "booking_date": "Boekingsdatum|Date de comptabilisation",
            "value_date": "Valutadatum|Date valeur", "amount": "Bedrag|Montant",
            "currency": "Devies|Devise", "account": "Rekening|Compte",
            "counterparty_name": "Naam tegenpartij bevat|Nom contrepartie contient",
            "counterparty_account": "Rekening tegenpartij|Compte contrepartie",
            "counterparty_agent": "BIC",
            "text": "Mededelingen|Communications|Transactie|Transaction",
        },
        decimal=",",
    ),
    _profile(
        "bnp paribas fortis",
        ("Volgnummer|Nº de séquence|Sequence number", _FORTIS_DAY,
         "Valutadatum|Date valeur|Value date"),
        {
            "booking_date": _FORTIS_DAY,
            "value_date": "Valutadatum|Date valeur|Value date", "amount": "Bedrag|Montant|Amount",
            "currency": "Valuta rekening|Devise du compte|Account currency",
            "account": "Rekeningnummer|Numéro de compte|Account number",
            "counterparty_account": "Tegenpartij|Contrepartie|Counterparty",
            "counterparty_name": "Naam van de tegenpartij|Nom de la contrepartie|"
            "Name of counterparty",
            "text": "Mededeling|Communication|Details|Détails", "status": "Status|Statut",
            "kind": "Type verrichting|Type de transaction|Transaction type",
        },
    ),
    _profile(
        "revolut business",
        ("Date started (UTC)", "Date completed (UTC)", "ID", "Amount", "Balance"),
        {
            "booking_date": "Date completed (UTC)|Date started (UTC)",
            "amount": "Total amount|Amount", "currency": "Payment currency|Currency",
            "balance": "Balance", "account": "Account", "reference": "ID", "kind": "Type",
            "status": "State", "text": "Reference|Description", "counterparty_name": "Payer",
            "counterparty_account": "Beneficiary IBAN|Beneficiary account number",
            "counterparty_agent": "Beneficiary BIC", "fee": "Fee", "fee_currency": "Fee currency",
        },
        day_order="ymd",
    ),
    _profile(
        "revolut",
        ("Product|Produkt|Produit|Prodotto|Producto|Produto", _REVOLUT_BEGUN, _REVOLUT_ENDED,
         _REVOLUT_AMOUNT, _REVOLUT_FEE),
        {
            "booking_date": f"{_REVOLUT_ENDED}|{_REVOLUT_BEGUN}",
            "amount": _REVOLUT_AMOUNT,
            "currency": "Currency|Währung|Devise|Valuta|Divisa|Waluta|Moeda",
            "balance": "Balance|Kontostand|Solde|Saldo", "kind": "Type|Art|Tipo|Rodzaj",
            "status": "State|Status|État|Stato|Estado|Stan", "fee": _REVOLUT_FEE,
            "text": "Description|Beschreibung|Descrizione|Descripción|Opis|Beschrijving|Descrição",
        },
        day_order="ymd",
        fee_included=False,
    ),
    _profile(
        "bunq",
        ("Date", "Interest Date", "Amount", "Account", "Counterparty", "Name", "Description"),
        {
            "booking_date": "Date", "value_date": "Interest Date", "amount": "Amount",
            "account": "Account", "counterparty_account": "Counterparty",
            "counterparty_name": "Name", "text": "Description",
        },
        day_order="ymd",
        currency="EUR",
    ),
    _profile(
        "swedbank",
        ("Kliendi konto|Client account", "Reatüüp|Row type", "Deebet/Kreedit|Debit/Credit"),
        {
            "account": "Kliendi konto|Client account", "booking_date": "Kuupäev|Date",
            "counterparty_name": "Saaja/Maksja|Beneficiary/Payer", "text": "Selgitus|Details",
            "amount": "Summa|Amount", "currency": "Valuuta|Currency",
            "sign": "Deebet/Kreedit|Debit/Credit",
            "reference": "Arhiveerimistunnus|Transfer reference",
            "kind": "Makse tüüp|Transaction type",
            "structured_reference": "Viitenumber|Reference number",
        },
    ),
    _profile(
        "mbank",
        ("#Data operacji", "#Opis operacji", "#Kwota", "#Saldo po operacji"),
        {
            "booking_date": "#Data księgowania|#Data operacji", "value_date": "#Data operacji",
            "kind": "#Opis operacji", "text": "#Tytuł",
            "counterparty_name": "#Nadawca/Odbiorca", "counterparty_account": "#Numer konta",
            "amount": "#Kwota", "balance": "#Saldo po operacji",
        },
        day_order="ymd",
    ),
    _profile(
        "lloyds",
        ("Transaction Date", "Sort Code", "Account Number", "Debit Amount", "Credit Amount"),
        {
            "booking_date": "Transaction Date", "kind": "Transaction Type",
            "account": "Account Number", "text": "Transaction Description",
            "debit": "Debit Amount", "credit": "Credit Amount", "balance": "Balance",
        },
        currency="GBP",
    ),
    _profile(
        "natwest",
        ("Date", "Type", "Description", "Value", "Balance", "Account Name", "Account Number"),
        {
            "booking_date": "Date", "kind": "Type", "text": "Description", "amount": "Value",
            "balance": "Balance", "account": "Account Number",
        },
        currency="GBP",
    ),
    _profile(
        "wise",
        ("TransferWise ID", "Payment Reference", "Running Balance"),
        {
            "booking_date": "Date", "amount": "Amount", "currency": "Currency",
            "balance": "Running Balance", "reference": "TransferWise ID",
            "text": "Payment Reference|Description",
            "counterparty_name": "Payer Name|Payee Name|Merchant",
            "counterparty_account": "Payee Account Number",
        },
    ),
    _profile(
        "wise business",
        ("Direction", "Source amount (after fees)", "Source currency",
         "Target amount (after fees)", "Target currency", "Source fee amount"),
        {
            "booking_date": "Finished on|Created on", "sign": "Direction", "status": "Status",
            "debit": "Source amount (after fees)", "debit_currency": "Source currency",
            "credit": "Target amount (after fees)", "credit_currency": "Target currency",
            "fee": "Source fee amount", "fee_currency": "Source fee currency",
            "payer_name": "Source name", "payee_name": "Target name",
            "reference": "ID", "text": "Reference",
        },
        day_order="ymd",
        fee_included=False,
    ),
    _profile(
        "swedbank lt",
        ("Sąskaitos Nr.", "Gavėjas", "Paaiškinimai", "Suma", "D/K", "Įrašo Nr."),
        {
            "account": "Sąskaitos Nr.", "booking_date": "Data", "counterparty_name": "Gavėjas",
            "text": "Paaiškinimai", "amount": "Suma", "currency": "Valiuta", "sign": "D/K",
            "reference": "Įrašo Nr.", "kind": "Kodas",
        },
        day_order="ymd",
    ),
    _profile(
        "paypal",
        ("Fuseau horaire|Zeitzone|Fuso orario|Zona horaria|Tijdzone",
         "Avant commission|Brutto|Lordo|Bruto", _PAYPAL_FEE, "Net|Netto|Neto", _PAYPAL_NUMBER),
        {
            "booking_date": "Date|Datum|Data|Fecha", "amount": "Net|Netto|Neto",
            "currency": "Devise|Währung|Valuta|Divisa",
            "fee": _PAYPAL_FEE, "balance": "Solde|Guthaben|Saldo",
            "reference": _PAYPAL_NUMBER,
            "counterparty_name": "Nom|Name|Nome|Nombre|Naam", "kind": "Type|Typ|Tipo",
            "status": "État|Status|Stato|Estado",
            "text": "Titre de l'objet|Artikelbezeichnung|Titolo oggetto|Objet|Betreff|Oggetto|"
            "Remarque|Hinweis|Messaggio|Nombre del artículo|Objectnaam|Asunto|Onderwerp",
        },
    ),
    _profile(
        "monzo",
        ("id", "created", "amount", "currency", "local_amount", "local_currency"),
        {
            "booking_date": "created", "amount": "amount", "currency": "currency",
            "reference": "id", "kind": "category", "text": "description|notes",
        },
        day_order="ymd",
    ),
    _profile(
        "monzo 2020",
        ("Transaction ID", "Local amount", "Local currency", "Money Out", "Money In"),
        {
            "booking_date": "Date", "amount": "Amount", "currency": "Currency",
            "reference": "Transaction ID", "kind": "Type", "counterparty_name": "Name",
            "text": "Description|Notes and #tags",
        },
    ),
    _profile(
        "bancoposta",
        ("Data|Data Contabile", "Valuta|Data Valuta", "Addebiti|Addebiti (euro)",
         "Accrediti|Accrediti (euro)", "Descrizione operazioni"),
        {
            "booking_date": "Data|Data Contabile", "value_date": "Valuta|Data Valuta",
            "debit": "Addebiti|Addebiti (euro)", "credit": "Accrediti|Accrediti (euro)",
            "text": "Descrizione operazioni",
        },
        currency="EUR",
    ),
    _profile(
        "asn without header",
        (),
        {
            "booking_date": "#1", "account": "#2", "counterparty_account": "#3",
            "counterparty_name": "#4", "currency": "#8", "balance_before": "#9", "amount": "#11",
            "value_date": "#13", "kind": "#15", "reference": "#16", "text": "#18",
        },
        shape="di*****cacadd*t****",
    ),
    _profile(
        "easybank without header",
        (),
        {
            "account": "#1", "text": "#2", "booking_date": "#3", "value_date": "#4",
            "amount": "#5", "currency": "#6",
        },
        shape="itddac",
    ),
    _profile(
        "raiffeisen at without header",
        (),
        {"booking_date": "#1", "text": "#2", "value_date": "#3", "amount": "#4", "currency": "#5"},
        shape="dtdac*",
    ),
    _profile(
        "raiffeisen without header",
        (),
        {
            "booking_date": "#1", "text": "#2", "amount": "#3", "balance": "#4",
            "value_date": "#5",
        },
        currency="CHF",
        shape="dtaad",
    ),
)  # fmt: skip
