"""What the practice bank answers to a payment file: pain.002.001.10, as banks send it.

First what verifying the payees gave, then what becomes of each payment. Left to itself it takes
most of them, rejects the tenth, knows the fifth by another name, and says nothing of the seventh;
or it answers all of them as it is told to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, Literal

import msgspec
from lxml import etree

from treasury.errors import InputError

__all__ = ["PaymentAnswer", "PaymentReport", "payment_reports"]

PaymentAnswer = Literal["mixed", "accept", "reject", "close_match", "no_match", "silence"]
_NAMESPACE: Final = "urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"
_MIXED: Final[dict[int, PaymentAnswer]] = {0: "reject", 5: "close_match", 7: "silence"}
"""How the bank answers a payment by the last digit of its place in the file."""
_PAYEE: Final = {"close_match": "RVMC", "no_match": "RVNM"}
_LARGEST: Final = 1 << 20


class PaymentReport(msgspec.Struct, frozen=True):
    """A file that the bank sends: its name and its XML."""

    name: str
    text: str


class _Payment(msgspec.Struct, frozen=True):
    reference: str
    amount: str
    currency: str
    payee: str
    iban: str
    answer: PaymentAnswer


def payment_reports(file: str, answer: PaymentAnswer, now: datetime) -> list[PaymentReport]:
    """The reports about a payment file, a pain.001, in the order in which the bank sends them."""
    message, execution, payments = _read(file, answer)
    spoken_of = [payment for payment in payments if payment.answer != "silence"]
    if not spoken_of:
        return []
    reports = []
    for number, codes in enumerate((_verified, _decided), 1):
        root = etree.Element(f"{{{_NAMESPACE}}}Document", nsmap={None: _NAMESPACE})
        about = _add(root, "CstmrPmtStsRpt")
        head = _add(about, "GrpHdr")
        _add(head, "MsgId", f"{message[:30]}-{number}")
        # What it decides comes a minute after what it verified.
        at = now.astimezone(UTC).replace(second=0, microsecond=0)
        _add(head, "CreDtTm", f"{at:%Y-%m-%dT%H:%M}:{number:02}Z")
        group = _add(about, "OrgnlGrpInfAndSts")
        _add(group, "OrgnlMsgId", message)
        _add(group, "OrgnlMsgNmId", "pain.001.001.09")
        batch = _add(about, "OrgnlPmtInfAndSts")
        _add(batch, "OrgnlPmtInfId", message)
        for payment in spoken_of:
            _payment(batch, payment, execution, *codes(payment))
        etree.indent(root)
        text = etree.tostring(root, xml_declaration=True, encoding="UTF-8").decode()
        reports.append(PaymentReport(f"pain002_{message[:30]}_{number}.xml", f"{text}\n"))
    return reports


def _verified(payment: _Payment) -> tuple[str, str, str]:
    """The status that says what verifying the payee gave; of a close match the name it knows."""
    name = f"{payment.payee} Holding" if payment.answer == "close_match" else ""
    return _PAYEE.get(payment.answer, "RCVC"), "", name


def _decided(payment: _Payment) -> tuple[str, str, str]:
    """The status of the money, and why."""
    return ("RJCT", "AC04", "") if payment.answer == "reject" else ("ACSP", "", "")


def _payment(batch: etree._Element, payment: _Payment, execution: str, *said: str) -> None:
    status, reason, words = said
    element = _add(batch, "TxInfAndSts")
    _add(element, "OrgnlEndToEndId", payment.reference)
    _add(element, "TxSts", status)
    if reason or words:
        why = _add(element, "StsRsnInf")
        if reason:
            _add(_add(why, "Rsn"), "Cd", reason)
        if words:
            _add(why, "AddtlInf", words)
    order = _add(element, "OrgnlTxRef")
    amount = _add(_add(order, "Amt"), "InstdAmt", payment.amount)
    amount.set("Ccy", payment.currency)
    _add(_add(order, "ReqdExctnDt"), "Dt", execution)
    _add(_add(_add(order, "Cdtr"), "Pty"), "Nm", payment.payee)
    _add(_add(_add(order, "CdtrAcct"), "Id"), "IBAN", payment.iban)


def _add(parent: etree._Element, name: str, text: str | None = None) -> etree._Element:
    element = etree.SubElement(parent, f"{{{_NAMESPACE}}}{name}")
    element.text = text
    return element


def _read(file: str, answer: PaymentAnswer) -> tuple[str, str, Sequence[_Payment]]:
    """The id, the day and the payments of a pain.001; InputError for anything else."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(file.encode()[:_LARGEST], parser)
    except etree.XMLSyntaxError as error:
        raise InputError(f"the file is no XML: {error.msg}", do="give a pain.001 file") from None
    message = root.findtext("{*}CstmrCdtTrfInitn/{*}GrpHdr/{*}MsgId")
    batch = root.find("{*}CstmrCdtTrfInitn/{*}PmtInf")
    if not message or batch is None or root.getroottree().docinfo.doctype:
        raise InputError("the file is no pain.001", do="give one that the funding panel made")
    payments = tuple(_orders(batch, answer))
    return message, batch.findtext("{*}ReqdExctnDt/{*}Dt") or "", payments


def _orders(batch: etree._Element, answer: PaymentAnswer) -> Iterator[_Payment]:
    for place, order in enumerate(batch.findall("{*}CdtTrfTxInf"), 1):
        amount = order.find("{*}Amt/{*}InstdAmt")
        if amount is None:
            raise InputError(f"payment {place} has no amount", do="give a pain.001 file")
        yield _Payment(
            reference=order.findtext("{*}PmtId/{*}EndToEndId") or "",
            amount=amount.text or "",
            currency=amount.get("Ccy", ""),
            payee=order.findtext("{*}Cdtr/{*}Nm") or "",
            iban=order.findtext("{*}CdtrAcct/{*}Id/{*}IBAN") or "",
            answer=_MIXED.get(place % 10, "accept") if answer == "mixed" else answer,
        )
