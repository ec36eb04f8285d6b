"""What the practice bank answers to a payment file: pain.002.001.10, as banks send it.

First what verifying the payees gave, then what becomes of each payment. Left to itself it takes
most of them, rejects the tenth, knows the fifth by another name, and says nothing of the seventh;
or it answers all of them as it is told to.
"""

from __future__ import annotations

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
_AMOUNT: Final = "{*}Amt/{*}InstdAmt"
_NAME: Final = "{*}Cdtr/{*}Nm"


class PaymentReport(msgspec.Struct, frozen=True):
    """A file that the bank sends: its name and its XML."""

    name: str
    text: str


def payment_reports(file: str, answer: PaymentAnswer, now: datetime) -> list[PaymentReport]:
    """The reports about a payment file, a pain.001, in the order in which the bank sends them."""
    message, execution, orders = _read(file)
    answers = [
        (order, _MIXED.get(place % 10, "accept") if answer == "mixed" else answer)
        for place, order in enumerate(orders, 1)
    ]
    spoken_of = [(order, outcome) for order, outcome in answers if outcome != "silence"]
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
        for order, outcome in spoken_of:
            _payment(batch, order, execution, *codes(order, outcome))
        etree.indent(root)
        text = etree.tostring(root, xml_declaration=True, encoding="UTF-8").decode()
        reports.append(PaymentReport(f"pain002_{message[:30]}_{number}.xml", f"{text}\n"))
    return reports


def _verified(order: etree._Element, answer: PaymentAnswer) -> tuple[str, str, str]:
    """The status that says what verifying the payee gave; of a close match the name it knows."""
    name = f"{order.findtext(_NAME) or ''} Holding" if answer == "close_match" else ""
    return _PAYEE.get(answer, "RCVC"), "", name


def _decided(_: etree._Element, answer: PaymentAnswer) -> tuple[str, str, str]:
    """The status of the money, and why."""
    return ("RJCT", "AC04", "") if answer == "reject" else ("ACSP", "", "")


def _payment(batch: etree._Element, order: etree._Element, execution: str, *outcome: str) -> None:
    status, reason, words = outcome
    element = _add(batch, "TxInfAndSts")
    _add(element, "OrgnlEndToEndId", order.findtext("{*}PmtId/{*}EndToEndId") or "")
    _add(element, "TxSts", status)
    if reason or words:
        why = _add(element, "StsRsnInf")
        if reason:
            _add(_add(why, "Rsn"), "Cd", reason)
        if words:
            _add(why, "AddtlInf", words)
    original = _add(element, "OrgnlTxRef")
    amount = order.find(_AMOUNT)
    assert amount is not None
    _add(_add(original, "Amt"), "InstdAmt", amount.text or "").set("Ccy", amount.get("Ccy", ""))
    _add(_add(original, "ReqdExctnDt"), "Dt", execution)
    _add(_add(_add(original, "Cdtr"), "Pty"), "Nm", order.findtext(_NAME) or "")
    iban = order.findtext("{*}CdtrAcct/{*}Id/{*}IBAN") or ""
    _add(_add(_add(original, "CdtrAcct"), "Id"), "IBAN", iban)


def _add(parent: etree._Element, name: str, text: str | None = None) -> etree._Element:
    element = etree.SubElement(parent, f"{{{_NAMESPACE}}}{name}")
    element.text = text
    return element


def _read(file: str) -> tuple[str, str, list[etree._Element]]:
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
    orders = batch.findall("{*}CdtTrfTxInf")
    for place, order in enumerate(orders, 1):
        if order.find(_AMOUNT) is None:
            raise InputError(f"payment {place} has no amount", do="give a pain.001 file")
    return message, batch.findtext("{*}ReqdExctnDt/{*}Dt") or "", orders
