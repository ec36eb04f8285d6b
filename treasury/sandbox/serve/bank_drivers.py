"""Drivers of the banks: functions that cause events outside both services.

A customer's wire to a virtual account becomes a line in the provider's report and a credit at the
finance service. Any other line is only booked, and a payment file is only answered with reports.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Literal

from treasury.core.calendar import is_target_day
from treasury.core.errors import InputError
from treasury.sandbox.finance.arrivals import Arrival
from treasury.sandbox.finance.finance_drivers import FinanceDrivers
from treasury.sandbox.http.exchange import stored
from treasury.sandbox.serve.payment_answers import PaymentAnswer, PaymentReport, payment_reports
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
