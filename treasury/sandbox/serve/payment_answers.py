"""The practice bank's reports on a payment file, as pain.002.001.10.

The first report states the results of verifying the payees, the second the status of each payment.
By default, the bank rejects every tenth payment, of each ten knows the payee of the fifth by
another name and does not report on the seventh, and accepts the rest. A test can request the same
answer for all payments instead.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, Literal

import msgspec
from lxml import etree

from treasury.core.errors import InputError
from treasury.sandbox.serve.iso_message import Tree, iso_message

PaymentAnswer = Literal["mixed", "accept", "reject", "close_match", "no_match", "silence"]
_MIXED: Final[dict[int, PaymentAnswer]] = {0: "reject", 5: "close_match", 7: "silence"}
"""The bank's answer, by the last digit of the payment's position in the file."""
_PAYEE: Final = {"close_match": "RVMC", "no_match": "RVNM"}
_LARGEST: Final = 1 << 20
_AMOUNT: Final = "{*}Amt/{*}InstdAmt"
_NAME: Final = "{*}Cdtr/{*}Nm"


class PaymentReport(msgspec.Struct, frozen=True):
    """A file from the bank: its name and its XML."""

    name: str
    text: str


def payment_reports(file: str, answer: PaymentAnswer, now: datetime) -> list[PaymentReport]:
    """Return the reports on a payment file (pain.001), in the order of sending.

    There are no reports if the bank is silent about all payments.
    """
    message, execution, orders = _read(file)
    answers = [
        (order, _MIXED.get(place % 10, "accept") if answer == "mixed" else answer)
        for place, order in enumerate(orders, 1)
    ]
    spoken_of = [(order, outcome) for order, outcome in answers if outcome != "silence"]
    if not spoken_of:
        return []
    # The second report is dated a second after the first.
    at = now.astimezone(UTC).replace(second=0, microsecond=0)
    reports = []
    for number, codes in enumerate((_verified, _decided), 1):
        payments = [
            _payment(order, execution, *codes(order, outcome)) for order, outcome in spoken_of
        ]
        tree = {
            "GrpHdr": {
                "MsgId": f"{message[:30]}-{number}",
                "CreDtTm": f"{at:%Y-%m-%dT%H:%M}:{number:02}Z",
            },
            "OrgnlGrpInfAndSts": {"OrgnlMsgId": message, "OrgnlMsgNmId": "pain.001.001.09"},
            "OrgnlPmtInfAndSts": {"OrgnlPmtInfId": message, "TxInfAndSts": payments},
        }
        text = iso_message("pain.002.001.10", {"CstmrPmtStsRpt": tree}).decode()
        reports.append(PaymentReport(f"pain002_{message[:30]}_{number}.xml", text))
    return reports


def _verified(order: etree._Element, answer: PaymentAnswer) -> tuple[str, str, str]:
    """Return the result of verifying a payee; a close match includes the name at the bank."""
    name = f"{order.findtext(_NAME) or ''} Holding" if answer == "close_match" else ""
    return _PAYEE.get(answer, "RCVC"), "", name


def _decided(_: etree._Element, answer: PaymentAnswer) -> tuple[str, str, str]:
    """Return the status of the payment and its reason."""
    return ("RJCT", "AC04", "") if answer == "reject" else ("ACSP", "", "")


def _payment(order: etree._Element, execution: str, *outcome: str) -> Tree:
    (status, reason, words), amount = outcome, order.find(_AMOUNT)
    assert amount is not None
    why = {"Rsn": {"Cd": reason} if reason else None, "AddtlInf": words or None}
    return {
        "OrgnlEndToEndId": order.findtext("{*}PmtId/{*}EndToEndId") or "", "TxSts": status,
        "StsRsnInf": why if reason or words else None,
        "OrgnlTxRef": {
            "Amt": {"InstdAmt": (amount.text or "", amount.get("Ccy", ""))},
            "ReqdExctnDt": {"Dt": execution},
            "Cdtr": {"Pty": {"Nm": order.findtext(_NAME) or ""}},
            "CdtrAcct": {"Id": {"IBAN": order.findtext("{*}CdtrAcct/{*}Id/{*}IBAN") or ""}},
        },
    }  # fmt: skip


def _read(file: str) -> tuple[str, str, list[etree._Element]]:
    """Return the id, day and payments of a pain.001 file. Raises InputError for other text."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(file.encode()[:_LARGEST], parser)
    except etree.XMLSyntaxError as error:
        raise InputError(f"the file is not XML: {error.msg}", do="give a pain.001 file") from None
    message = root.findtext("{*}CstmrCdtTrfInitn/{*}GrpHdr/{*}MsgId")
    batch = root.find("{*}CstmrCdtTrfInitn/{*}PmtInf")
    if not message or batch is None or root.getroottree().docinfo.doctype:
        raise InputError("the file is not a pain.001", do="give one that the funding panel wrote")
    orders = batch.findall("{*}CdtTrfTxInf")
    for place, order in enumerate(orders, 1):
        if order.find(_AMOUNT) is None:
            raise InputError(f"payment {place} has no amount", do="give a pain.001 file")
    return message, batch.findtext("{*}ReqdExctnDt/{*}Dt") or "", orders
