"""Payment orders for upload to a bank: SEPA credit transfers as pain.001.001.09.

The bank pays exactly what the file says. So an order is refused if SEPA cannot carry the payee's
name, the reference or the amount unchanged; pay it by hand at the bank. The payer's name and the
towns do not affect a payment, so they are transliterated to SEPA's letters. The message id is
derived from the orders, so a bank that receives the same orders twice sees the same id twice.

Structure: ISO 20022 CustomerCreditTransferInitiationV09, as restricted by the EPC's
customer-to-bank guidelines for SEPA credit transfers (EPC132-08).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final
from xml.etree import ElementTree as ET

import msgspec

from treasury.actions.sepa_letters import sepa_letters
from treasury.core.errors import InputError
from treasury.core.identifiers import is_bic, is_iban, plain_account
from treasury.core.money import format_amount, is_exact_in, total
from treasury.core.settings import Settings
from treasury.core.text import clean, visible

NAMESPACE: Final = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
LARGEST: Final = Decimal("999999999.99")
_CHARACTERS: Final = re.compile(r"[A-Za-z0-9/\-?:().,'+ ]+")
_REFERENCE: Final = re.compile(r"(?!/)(?!.*//)(?!.*/$).{1,35}")


class Payer(msgspec.Struct, frozen=True, kw_only=True):
    """The paying account; `name` is its holder as registered at the bank."""

    name: str
    iban: str
    town: str = ""
    country: str = ""
    """ISO 3166 alpha-2 code. SEPA requires country and town if a payee's bank is outside the EEA.
    """
    batch_booking: bool = False
    """Whether the bank debits the total of the file instead of each order."""


class CreditTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """A payment order in EUR; `reference` is both the end-to-end id and the remittance text."""

    reference: str
    beneficiary: str
    iban: str
    amount: Decimal
    bic: str | None = None
    town: str = ""
    country: str = ""
    """The payee's country, ISO 3166 alpha-2; empty if not given."""

    def __str__(self) -> str:
        bic = f", BIC {self.bic}" if self.bic else ""
        place = f", {clean(self.town)} {clean(self.country)}" if self.town else ""
        return (
            f"{self.reference}: {format_amount(self.amount, 'EUR')} to {clean(self.beneficiary)}"
            f"{place}, IBAN {self.iban}{bic}"
        )


def pain001(
    transfers: Sequence[CreditTransfer],
    payer: Payer,
    made_at: datetime,
    execution: date,
    *,
    attempt: int = 0,
) -> str:
    """Return the payment file of these orders as XML, with amounts in EUR.

    `attempt` makes the message id differ from those of earlier files of these orders that the bank
    has answered. Raise InputError, naming the order and the field, for content that SEPA cannot
    carry.
    """
    if not transfers:
        raise InputError("there is nothing to pay", do="choose the items to pay")
    if not is_iban(payer.iban):
        raise InputError(
            f"pay_from: {clean(payer.iban)[:40]} is not an IBAN",
            do="correct the account in its settings",
        )
    payer = _written(payer)
    if problem := payer_problem(payer):
        raise InputError(f"pay_from: {problem}; no file was made", do=HOLDER_STEP)
    transfers = [msgspec.structs.replace(t, town=sepa_letters(t.town)) for t in transfers]
    for transfer in transfers:
        _check(transfer)
    _check_address(payer, transfers)
    # Banks may change the case in their answers, so ids that differ only in case are the same.
    references = Counter(transfer.reference.upper() for transfer in transfers)
    if len(references) < len(transfers):
        repeated = next(name for name, count in references.items() if count > 1)
        raise _refused(f"{repeated}: the reference occurs more than once")
    number, whole = str(len(transfers)), _amount(total(transfer.amount for transfer in transfers))
    message = message_id(transfers, payer, attempt)
    root = ET.Element("Document", xmlns=NAMESPACE)
    order = _under(root, "CstmrCdtTrfInitn")
    head = _under(order, "GrpHdr")
    _under(head, "MsgId", message)
    _under(head, "CreDtTm", f"{made_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    _under(head, "NbOfTxs", number)
    _under(head, "CtrlSum", whole)
    _under(head, "InitgPty/Nm", payer.name)
    batch = _under(order, "PmtInf")
    _under(batch, "PmtInfId", message)
    _under(batch, "PmtMtd", "TRF")
    _under(batch, "BtchBookg", "true" if payer.batch_booking else "false")
    _under(batch, "NbOfTxs", number)
    _under(batch, "CtrlSum", whole)
    _under(batch, "PmtTpInf/SvcLvl/Cd", "SEPA")
    _under(batch, "ReqdExctnDt/Dt", execution.isoformat())
    debtor = _under(batch, "Dbtr")
    _under(debtor, "Nm", payer.name)
    _add_address(debtor, payer)
    _under(batch, "DbtrAcct/Id/IBAN", plain_account(payer.iban))
    _under(batch, "DbtrAgt/FinInstnId/Othr/Id", "NOTPROVIDED")
    _under(batch, "ChrgBr", "SLEV")
    for transfer in transfers:
        _add(batch, transfer)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def payers_of(settings: Settings) -> list[Payer]:
    """Return our EUR accounts that can pay, as payers of a payment file."""
    company = settings.workspace
    return [
        _written(
            Payer(
                name=account.holder or company.company,
                iban=plain_account(account.account),
                town=company.town or "",
                country=company.country or "",
                batch_booking=account.batch_booking,
            )
        )
        for account in settings.accounts
        if account.source == "own_bank" and account.currency == "EUR" and is_iban(account.account)
    ]


def _written(payer: Payer) -> Payer:
    """Return the payer with its name and town in SEPA's letters."""
    return msgspec.structs.replace(
        payer, name=sepa_letters(payer.name), town=sepa_letters(payer.town)
    )


def payer_problem(payer: Payer) -> str | None:
    """Return the error if SEPA cannot carry the payer's name; None if it can."""
    return _text_problem("the payer's name", sepa_letters(payer.name), 70)


HOLDER_STEP: Final = (
    "give the name as its bank has it, in Latin letters and at most 70 characters: holder ="
    ' "…" under the account in [[accounts]] of treasury.toml'
)


def _add(batch: ET.Element, transfer: CreditTransfer) -> None:
    order = _under(batch, "CdtTrfTxInf")
    _under(order, "PmtId/EndToEndId", transfer.reference)
    amount = _under(order, "Amt/InstdAmt", _amount(transfer.amount))
    amount.set("Ccy", "EUR")
    if transfer.bic:
        _under(order, "CdtrAgt/FinInstnId/BICFI", plain_account(transfer.bic))
    creditor = _under(order, "Cdtr")
    _under(creditor, "Nm", transfer.beneficiary)
    _add_address(creditor, transfer)
    _under(order, "CdtrAcct/Id/IBAN", plain_account(transfer.iban))
    _under(order, "RmtInf/Ustrd", transfer.reference)


def _add_address(party: ET.Element, holder: Payer | CreditTransfer) -> None:
    """Add a party's town and country, if set; SEPA accepts no other form of address."""
    if holder.town:
        address = _under(party, "PstlAdr")
        _under(address, "TwnNm", holder.town)
        _under(address, "Ctry", holder.country)


def _under(parent: ET.Element, path: str, text: str | None = None) -> ET.Element:
    """Add elements of these names, each inside the one before; return the innermost."""
    for name in path.split("/"):
        parent = ET.SubElement(parent, name)
    parent.text = text
    return parent


def _amount(amount: Decimal) -> str:
    return f"{amount:.2f}"


def message_id(transfers: Sequence[CreditTransfer], payer: Payer, attempt: int = 0) -> str:
    """Return the message id of a file, equal for equal orders but different for each attempt."""
    ordered = sorted(
        (order.reference, order.beneficiary, plain_account(order.iban), _amount(order.amount))
        for order in transfers
    )
    told_apart = [attempt] if attempt else []
    whole = msgspec.json.encode([plain_account(payer.iban), ordered, *told_apart])
    return f"PAY-{hashlib.sha256(whole).hexdigest()[:30].upper()}"


# Checks that SEPA can carry the content


def _check(transfer: CreditTransfer) -> None:
    name = clean(transfer.reference)[:40] or "an order without a reference"
    if not _REFERENCE.fullmatch(transfer.reference):
        raise _refused(f"{name}: the reference must be 1 to 35 characters, with no // or outer /")
    _check_text(f"{name}: the reference", transfer.reference, 35)
    _check_text(f"{name}: the beneficiary", transfer.beneficiary, 70)
    if not is_iban(transfer.iban):
        raise _refused(
            f"{name}: {clean(transfer.iban)[:40]} is not an IBAN: its check digits are wrong"
        )
    if transfer.bic and not is_bic(plain_account(transfer.bic)):
        raise _refused(f"{name}: {clean(transfer.bic)[:40]} is not a BIC")
    if not 0 < transfer.amount <= LARGEST or not is_exact_in(transfer.amount, "EUR"):
        raise _refused(
            f"{name}: {transfer.amount:f} is not an amount from 0.01 to {LARGEST} in whole cents"
        )
    place = f"[payees.{plain_account(transfer.iban)}] in treasury.toml"
    _check_place(f"{name}: the payee", transfer, place)


EEA: Final = frozenset(
    {"AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE"}
    | {"IS", "IT", "LI", "LT", "LU", "LV", "MT", "NL", "NO", "PL", "PT", "RO", "SE", "SI", "SK"}
)
"""Countries of IBANs in the European Economic Area."""


def _check_address(payer: Payer, transfers: Sequence[CreditTransfer]) -> None:
    """Raise InputError if the payer's address is invalid.

    It may be missing, unless a payee's bank is outside the EEA.
    """
    _check_place("company", payer, "[workspace] in treasury.toml")
    if payer.town:
        return
    beyond = next((t for t in transfers if plain_account(t.iban)[:2] not in EEA), None)
    if beyond is not None:
        raise InputError(
            f"{clean(beyond.reference)[:40]}: the payee's bank is outside the EEA, and the payer's"
            " address is missing; no file was made",
            do="give town and country under [workspace] in treasury.toml",
        )


def _check_place(subject: str, holder: Payer | CreditTransfer, place: str) -> None:
    """Raise InputError unless town and country are both valid or both missing.

    `place` is the setting's name, for the error.
    """
    if bool(holder.town) != bool(holder.country):
        raise InputError(
            f"{subject}: its address has only a town or only a country; no file was made",
            do=f"give town and country under {place}",
        )
    if holder.town:
        step = f"give the town in at most 35 Latin characters under {place}"
        _check_text(f"{subject}: its town", holder.town, 35, step)
        if not re.fullmatch(r"[A-Z]{2}", holder.country):
            raise InputError(
                f"{subject}: {visible(holder.country)[:20]} is not a country code; no file was"
                " made",
                do=f"write it like BE under {place}",
            )


def _check_text(subject: str, text: str, longest: int, do: str = "") -> None:
    if problem := _text_problem(subject, text, longest):
        raise _refused(problem, do)


def _text_problem(subject: str, text: str, longest: int) -> str | None:
    if not text.strip():
        return f"{subject} is missing"
    if len(text) > longest:
        return f"{subject} is longer than SEPA's {longest} characters"
    if not _CHARACTERS.fullmatch(text) or text != text.strip():
        return f"{subject} holds a character that SEPA does not carry: {visible(text)}"
    return None


def _refused(problem: str, do: str = "") -> InputError:
    return InputError(
        f"{problem}; no file was made", do=do or "leave it out, or pay it by hand at the bank"
    )
