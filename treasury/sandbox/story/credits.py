"""Customers' payments to the virtual accounts, as reported for the provider's master account.

Most are small credits with the complete code in various spellings. `credits.toml` adds credits that
a person must check. The provider's report does not show the conversions to stablecoins, only a
weekly sweep per asset; `Conversion` has the day and the amounts of each.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import date, timedelta
from decimal import Decimal
from itertools import count
from random import Random
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from treasury.core.calendar import Month, add_target_days, is_target_day, next_target_day
from treasury.core.decoding import convert
from treasury.core.files.package_files import package_toml
from treasury.core.money import net_crypto
from treasury.sandbox.story.cast import Cast, Payer
from treasury.sandbox.story.lines import Book, Expectation, Line
from treasury.sandbox.story.mangle import MANGLINGS, UNBROKEN, Text
from treasury.sandbox.story.rates import Quotes

_PER_MONTH: Final = {10: 332}
_USUAL: Final = 90
_WEIGHTS: Final = tuple(60 if name in {"plain", "after_words"} else 4 for name in UNBROKEN)
_SHARE: Final = (5, 2, 3, 2)
"""Number of customers for each of the four virtual accounts."""
_EMPTY_CODE_DAYS: Final = 2
"""Number of days until the service assigns a wire without the whole code."""


class Conversion(msgspec.Struct, frozen=True):
    """Euros that were converted to stablecoins in an account's wallet."""

    day: date
    account_id: str
    asset: str
    amount: Decimal
    euros: Decimal


class _Credit(msgspec.Struct, frozen=True):
    """One credit, with the list positions of its virtual account and its customer."""

    day: date
    account: int
    customer: int
    mangling: str
    amount: Decimal
    note: str = ""


_SCRIPT: Final = convert(package_toml(__package__, "credits.toml")["credits"], tuple[_Credit, ...])
_STRANGERS: Final = 24
"""Customers from this position on pay only the credits in `credits.toml`."""


class Credits:
    """Books the credits on the virtual accounts, month by month."""

    def __init__(self, cast: Cast, random: Random, book: Book, quotes: Quotes) -> None:
        self._cast = cast
        self._quotes = quotes
        self._random = random
        self._book = book
        self._numbers = count(1)

    def tell(self) -> list[Conversion]:
        """Book six months of credits and sweeps; return the conversions behind them."""
        for number in range(5, 11):
            self._month(Month(2026, number))
        self._october()
        conversions = self._conversions()
        # Every Friday (or the next TARGET day) the provider debits the converted euros per asset.
        swept: dict[tuple[date, str], Decimal] = defaultdict(Decimal)
        for conversion in conversions:
            friday = conversion.day + timedelta((4 - conversion.day.weekday()) % 7)
            friday = friday if is_target_day(friday) else next_target_day(friday)
            swept[friday, conversion.asset] += conversion.euros
        provider = Payer("Test Bank", self._cast.virtual_accounts[0].iban, "TESTBEBB")
        for (day, asset), euros in sorted(swept.items()):
            if day <= date(2026, 10, 31):
                self._book.add(
                    Line(
                        account=self._cast.master_iban, booked=day, amount=euros, direction="DBIT",
                        counterparty=provider, bank_code="PMNT/ICDT/BOOK",
                        info=f"Conversion sweep EUR/{asset}", line_class="conversion_sweep",
                    )
                )  # fmt: skip
        return conversions

    def _month(self, month: Month) -> None:
        days = [d for d in month.days() if is_target_day(d) and d >= date(2026, 5, 6)]
        for _ in range(_PER_MONTH.get(month.month, _USUAL)):
            customer = self._random.randrange(_STRANGERS)
            mangling = self._random.choices(UNBROKEN, _WEIGHTS)[0]
            day = self._random.choice(days)
            amount = Decimal(self._random.randrange(9000, 480000)) / 100
            batch = ""
            if month.month == 10 and day.day in {14, 21} and _home(customer) == 2:
                batch = f"B{day:%m%d}"
            paid = _Credit(day, _home(customer), customer, mangling, amount)
            self._book.add(self._credit(paid, batch=batch))

    def _credit(self, paid: _Credit, **more: Any) -> Line:
        account, way = self._cast.virtual_accounts[paid.account], MANGLINGS[paid.mangling]
        text = way.write(account.reference_code, self._random.randrange(1000, 9999))
        if not text.end_to_end_id and self._random.random() < 0.5:
            text = replace(text, end_to_end_id=f"E{next(self._numbers):06d}C")
        defaults: dict[str, Any] = {
            "expectation": Expectation("virtual_bank_account", account.id, account.reference_code),
            "mangling": way.name, "unbroken": way.unbroken, "ceiling": way.ceiling,
            "own_iban": account.iban,
        }  # fmt: skip
        instant = self._random.random() < 0.2
        return Line(
            account=self._cast.master_iban, booked=paid.day, direction="CRDT", text=text,
            amount=paid.amount.quantize(Decimal("0.01")),
            counterparty=self._cast.customers[paid.customer],
            bank_code="PMNT/RRCT/ESCT" if instant else "PMNT/RCDT/ESCT", **(defaults | more),
        )  # fmt: skip

    def _october(self) -> None:
        self._book.add(*(self._credit(paid, note=paid.note) for paid in _SCRIPT))
        first, second, third, _ = self._cast.virtual_accounts
        misdirected = _Credit(date(2026, 10, 8), 0, 4, "after_words", Decimal("1575.00"))
        self._book.add(self._credit(
            misdirected, own_iban=third.iban, contradiction="account", ceiling="never",
            note="arrived at another virtual IBAN",
        ))  # fmt: skip
        line = self._credit(
            _Credit(date(2026, 10, 23), 0, 6, "plain", Decimal("2740.00")),
            contradiction="two_codes", ceiling="never", note="two valid codes",
        )  # fmt: skip
        both = Text((f"{first.reference_code} and {second.reference_code}",))
        self._book.add(replace(line, text=both))
        line = self._credit(
            _Credit(date(2026, 10, 19), 0, 1, "plain", Decimal("640.00")),
            returned=True, ceiling="never", note="sent back by the provider",
        )  # fmt: skip
        text = replace(line.text, end_to_end_id="E900001C")
        line = replace(line, text=text)
        back = replace(
            line, booked=add_target_days(line.booked, 2), direction="DBIT",
            bank_code="PMNT/RCDT/RRTN", return_reason="MS03", note="return of the credit",
        )  # fmt: skip
        self._book.add(line, back)

    def _conversions(self) -> list[Conversion]:
        """Return the conversions for all credits that the service can assign."""
        by_id = {account.id: account for account in self._cast.virtual_accounts}
        conversions = []
        for line in self._book:
            if line.account != self._cast.master_iban or line.returned or line.contradiction:
                continue
            assert line.expectation is not None
            account = by_id[line.expectation.id]
            day = line.booked if line.unbroken else line.booked + timedelta(_EMPTY_CODE_DAYS)
            asset = account.target_cryptocurrency
            rate = self._quotes.rate(asset, day)
            coins = net_crypto(line.amount, Decimal(0), rate, asset)
            conversions.append(Conversion(day, account.account_id, asset, coins, line.amount))
        return sorted(conversions, key=lambda conversion: (conversion.day, conversion.account_id))


def _home(customer: int) -> int:
    """Return the virtual account that a customer pays to."""
    spread = [place for place, share in enumerate(_SHARE) for _ in range(share)]
    return spread[customer % len(spread)]
