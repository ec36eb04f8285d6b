"""Lines on the company's own accounts that have nothing to do with the services.

They are payroll, taxes, rent, charges, interest, payments for other invoices, and transfers between
the two own accounts. Matching must separate them from the relevant lines.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from random import Random
from typing import Any

from treasury.core.calendar import Month, is_target_day, next_target_day
from treasury.sandbox.story.cast import COMPANY, PAYOUT_IBAN, Cast, Payer
from treasury.sandbox.story.lines import Book, Line
from treasury.sandbox.story.mangle import Text


def tell_business(cast: Cast, random: Random, book: Book) -> None:
    """Book six months of other business on the two own accounts."""
    payout = Payer(COMPANY.name, PAYOUT_IBAN, "TESTNL2A")
    operating = Payer(COMPANY.name, cast.funding_iban, "TESTBEBB")
    own = {"line_class": "own_transfer"}
    for number in range(5, 11):
        days = [day for day in Month(2026, number).days() if is_target_day(day)]
        paid, taxed = days[-4], next_target_day(date(2026, number, 14))
        salaries = [
            _line(
                cast.funding_iban, paid, Decimal(random.randrange(210000, 420000)) / 100, employee,
                f"Salary {paid:%B %Y}", bank_code="PMNT/ICDT/SALA", purpose="SALA",
                batch=f"SALA{paid:%y%m}",
            )
            for employee in cast.employees
        ]  # fmt: skip
        taxes = [
            _line(
                cast.funding_iban, taxed, Decimal(random.randrange(low, high)) / 100,
                cast.tax_office, f"{name} {taxed:%m/%Y}", purpose="TAXS",
            )
            for name, low, high in (
                ("VAT return", 900000, 1900000), ("Wage withholding tax", 400000, 700000),
            )
        ]  # fmt: skip
        rent = _line(
            cast.funding_iban, days[1], Decimal("6850.00"), cast.landlord,
            f"Rent Kade 14 {number:02d}",
        )  # fmt: skip
        invoices = [
            _line(
                cast.funding_iban if n % 2 else PAYOUT_IBAN, random.choice(days),
                Decimal(random.randrange(900000, 4200000)) / 100, client,
                f"Invoice HLT-26{number:02d}-{n:03d}", direction="CRDT",
                bank_code="PMNT/RCDT/ESCT",
            )
            for n, client in enumerate(cast.clients)
        ]  # fmt: skip
        moved = Decimal(random.randrange(50, 90) * 1000)
        book.add(
            *salaries, *taxes, rent, *invoices,
            _line(PAYOUT_IBAN, days[9], moved, operating, "Own transfer", **own),
            _line(
                cast.funding_iban, days[9], moved, payout, "Own transfer",
                direction="CRDT", bank_code="PMNT/RCDT/ESCT", **own,
            ),
            *_bank(cast, days[-1]),
        )  # fmt: skip


def _line(
    account: str, day: date, amount: Decimal, counterparty: Payer, text: str, **more: Any
) -> Line:
    fields: dict[str, Any] = {
        "direction": "DBIT", "bank_code": "PMNT/ICDT/ESCT", "line_class": "other_business",
    }  # fmt: skip
    return Line(
        account=account, booked=day, amount=amount.quantize(Decimal("0.01")),
        counterparty=counterparty, text=Text((text,) if text else ()), **(fields | more),
    )  # fmt: skip


def _bank(cast: Cast, day: date) -> list[Line]:
    nobody = Payer("", "", "")
    charges = {"line_class": "bank_charge", "bank_code": "ACMT/MDOP/CHRG"}
    return [
        _line(cast.funding_iban, day, Decimal("48.50"), nobody, "", info="Account fee", **charges),
        _line(PAYOUT_IBAN, day, Decimal("12.00"), nobody, "", info="Account fee", **charges),
        _line(
            PAYOUT_IBAN, day, Decimal("9.30"), nobody, "", info="Instant payment fee", **charges
        ),
        _line(
            PAYOUT_IBAN, day, Decimal("41.17"), nobody, "", info="Credit interest",
            direction="CRDT", bank_code="ACMT/MCOP/INTR",
        ),
    ]  # fmt: skip
