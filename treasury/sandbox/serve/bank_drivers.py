"""Drivers of the banks: functions that cause events outside both services.

A customer's wire to a virtual account becomes a line in the provider's report and a credit at the
finance service. Any other line is only booked, and a payment file is only answered with reports.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, Literal

import msgspec
from lxml import etree

from treasury.core.calendar import is_target_day
from treasury.core.errors import InputError
from treasury.sandbox.finance.arrivals import Arrival
from treasury.sandbox.finance.finance_drivers import FinanceDrivers
from treasury.sandbox.http.exchange import stored
from treasury.sandbox.serve.iso_message import Tree, iso_message
from treasury.sandbox.state.clock import FIRST_DAY
from treasury.sandbox.state.shapes import VirtualBankAccount
from treasury.sandbox.story.bank import carries_code, cents
from treasury.sandbox.story.cast import Payer
from treasury.sandbox.story.lines import Expectation, Line
from treasury.sandbox.story.mangle import Text
from treasury.sandbox.story.world import World

_NOBODY: Payer = Payer("Practice Payer BV", "NL02TEST0123456789", "TESTNL2A")


class BankDrivers:
    """Drivers of the company's banks and payers."""

    def __init__(self, world: World, finance: FinanceDrivers) -> None:
        self._world = world
        self._finance = finance

    def sepa_credit(
        self,
        *,
        iban: str,
        amount: Decimal,
        text: str,
        payer: str = _NOBODY.name,
        payer_iban: str = _NOBODY.iban,
        instant: bool = False,
    ) -> Arrival:
        """Send a customer's wire to a virtual account; see `FinanceDrivers.sepa_credit`."""
        with self._world.act() as world:
            euros = cents(amount)
            arrival = self._finance.sepa_credit(iban, euros, text, instant=instant)
            account = stored(world, "virtual_account", arrival.source_id, VirtualBankAccount)
            code = account.reference_code
            world.bank.book(Line(
                account=world.cast.master_iban, booked=world.bank.day(world.clock.today),
                amount=euros, direction="CRDT", own_iban=iban,
                counterparty=Payer(payer, payer_iban, _NOBODY.bic),
                text=Text((text,) if text else ()), unbroken=carries_code(text, code),
                bank_code="PMNT/RRCT/ESCT" if instant else "PMNT/RCDT/ESCT",
                expectation=Expectation("virtual_bank_account", account.id, code),
                ceiling="auto" if carries_code(text, code) else "suggest",
            ))  # fmt: skip
            return arrival

    def payment_file(
        self, *, file: str, answer: PaymentAnswer = "mixed", answered_at: datetime | None = None
    ) -> list[PaymentReport]:
        """Return the bank's reports about a payment file (pain.001 text). No money moves.

        The reports are dated now, or at the earlier instant `answered_at`.
        """
        with self._world.act() as world:
            now = world.clock.now
            if answered_at is not None and not (answered_at.tzinfo and answered_at <= now):
                raise InputError(
                    f"the bank cannot answer at {answered_at:%Y-%m-%dT%H:%M%z}",
                    do=f"give an instant with a time zone, up to {now:%Y-%m-%dT%H:%MZ}",
                )
            return payment_reports(file, answer, answered_at or now)

    def bank_line(
        self,
        *,
        account: str,
        amount: Decimal,
        direction: Literal["CRDT", "DBIT"],
        name: str,
        iban: str = "",
        text: str = "",
        booked: date | None = None,
    ) -> Line:
        """Book any other line on an account that has statements, today or on the past day `booked`.

        A line in the past appears in the statements that are written from now on.
        """
        with self._world.act() as world:
            today = world.clock.today
            if booked is not None and not (FIRST_DAY <= booked <= today and is_target_day(booked)):
                raise InputError(
                    f"the bank books nothing on {booked}",
                    do=f"give a TARGET day from {FIRST_DAY} to {today}",
                )
            ibans = [own.iban for own in world.bank.accounts]
            if account not in ibans:
                raise InputError(
                    f"{account} has no statements in the sandbox",
                    do=f"use one of: {', '.join(ibans)}",
                )
            return world.bank.book(Line(
                account=account, booked=booked or world.bank.day(today), amount=cents(amount),
                direction=direction, counterparty=Payer(name, iban, _NOBODY.bic if iban else ""),
                text=Text((text,) if text else ()), line_class="other_business",
                bank_code="PMNT/RCDT/ESCT" if direction == "CRDT" else "PMNT/ICDT/ESCT",
            ))  # fmt: skip


PaymentAnswer = Literal["mixed", "accept", "reject", "close_match", "no_match", "silence"]
_MIXED: Final[dict[int, PaymentAnswer]] = {0: "reject", 5: "close_match", 7: "silence"}
"""The bank's answer, by the last digit of the payment's position in the file.

The fifth of ten payees has another name, the seventh payment gets no answer, and the tenth is
rejected.
"""
_PAYEE: Final = {"close_match": "RVMC", "no_match": "RVNM"}
_LARGEST: Final = 1 << 20
_AMOUNT: Final = "{*}Amt/{*}InstdAmt"
_NAME: Final = "{*}Cdtr/{*}Nm"


class PaymentReport(msgspec.Struct, frozen=True):
    """A file from the bank: its name and its XML."""

    name: str
    text: str


def payment_reports(file: str, answer: PaymentAnswer, now: datetime) -> list[PaymentReport]:
    """Return the reports (pain.002.001.10) on a payment file (pain.001), in the order of sending.

    The first has the results of verifying the payees, the second the status of each payment.

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
