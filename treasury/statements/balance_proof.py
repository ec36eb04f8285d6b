"""Proof of a statement: opening balance + booked entries = closing balance.

A statement with a failed proof is stored all the same, together with the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from decimal import Context, Decimal
from typing import Final

import msgspec

from treasury.core.money import format_amount

# Amounts may have more digits than Python's default precision of 28.
EXACT: Final = Context(prec=80)
_MOST_FAILURES: Final = 20

_INTERIM: Final = "ITBD"
_OPENING: Final = ("OPBD", "PRCD", _INTERIM)
_CLOSING: Final = ("CLBD", _INTERIM)


WITHOUT_BALANCES: Final = (
    "^(no balances|no opening balance|no closing balance|balances without a sign[^;]*|"
    ".* = interim [^;]*: more may be booked that day)$"
)
"""Pattern of proofs that fail only because a balance is missing, unsigned or interim."""


def is_provable(proof: str) -> bool:
    """Return whether a statement has the balances for a proof; `proof` is the text of its proof."""
    return re.match(WITHOUT_BALANCES, proof) is None


class StatementBalance(msgspec.Struct, frozen=True):
    """A balance of a statement: ISO 20022 code, amount (negative for a debit), and day."""

    code: str
    amount: Decimal
    currency: str
    day: date | None
    has_credit_line: bool = False
    """Whether the balance includes a credit line. Balances without a credit line are preferred."""
    is_signed: bool = True
    """Whether the bank states debit or credit; if not, the sign of `amount` is still unknown."""
    is_available: bool = False
    """Whether the full amount is available without a credit line: then it is not a debit."""


def opening_balance(
    balances: Sequence[StatementBalance], currency: str | None
) -> StatementBalance | None:
    """Return the booked opening balance, else the previous closing one, else the interim one.

    Return None if there is none of them. A balance in the account's currency is preferred. An
    interim balance opens every page of a statement but the first.
    """
    return _pick(balances, currency, _OPENING, last=False)


def closing_balance(
    balances: Sequence[StatementBalance], currency: str | None
) -> StatementBalance | None:
    """Return the booked closing balance, else the interim one; None if there is none."""
    return _pick(balances, currency, _CLOSING, last=True)


def _pick(
    balances: Sequence[StatementBalance], currency: str | None, codes: Sequence[str], *, last: bool
) -> StatementBalance | None:
    """Return the first or last balance, by day, else by position, of the first code in use."""
    for code in codes:
        coded = [balance for balance in balances if balance.code == code]
        own = [balance for balance in coded if balance.currency == currency] or coded
        own = [balance for balance in own if not balance.has_credit_line] or own
        if own:
            return max(reversed(own), key=_stated_day) if last else min(own, key=_stated_day)
    return None


def _stated_day(balance: StatementBalance) -> date:
    return balance.day or date.min


def _either(balance: StatementBalance) -> tuple[StatementBalance, ...]:
    if balance.is_signed or not balance.amount:
        return (balance,)
    return balance, msgspec.structs.replace(balance, amount=-balance.amount)


class Tally:
    """The running sum of one statement's entries, and the reasons against its proof."""

    def __init__(self, currency: str | None = None) -> None:
        self.currency = currency
        self.credits = Decimal(0)
        self.debits = Decimal(0)
        self._failures: list[str] = []
        self._untold = 0

    def add(self, amount: Decimal, currency: str, direction: str) -> None:
        """Add a booked entry; the proof fails if its currency is not that of the statement."""
        if self.currency is None:
            self.currency = currency
        if currency != self.currency:
            self.fail(f"{format_amount(amount, currency)} in a statement in {self.currency}")
        elif direction == "CRDT":
            self.credits = EXACT.add(self.credits, amount)
        else:
            self.debits = EXACT.add(self.debits, amount)

    def signed(
        self, opening: StatementBalance, closing: StatementBalance
    ) -> list[tuple[StatementBalance, StatementBalance]]:
        """Return the balances with each choice of signs for which the sum holds; plus is first."""
        moved = EXACT.subtract(self.credits, self.debits)
        return [
            (first, last)
            for first in _either(opening)
            for last in _either(closing)
            if EXACT.add(first.amount, moved) == last.amount
        ]

    def fail(self, why: str) -> None:
        """Record a reason why the statement is not proved."""
        if len(self._failures) < _MOST_FAILURES:
            self._failures.append(why)
        else:
            self._untold += 1

    def result(
        self,
        opening: StatementBalance | None,
        closing: StatementBalance | None,
        *,
        is_page: bool = False,
    ) -> tuple[bool, str]:
        """Return whether the statement is proved, and the sum or the failures as text."""
        holds, sum_text = self._sum(opening, closing, is_page=is_page)
        failures = [*([] if holds else [sum_text]), *self._failures]
        if self._untold:
            failures.append(f"and {self._untold} more")
        return not failures, "; ".join(failures) or sum_text

    def _sum(
        self, opening: StatementBalance | None, closing: StatementBalance | None, *, is_page: bool
    ) -> tuple[bool, str]:
        if opening is None or closing is None or (opening is closing):
            missing = "closing" if opening and not closing else "opening"
            both = opening is None and closing is None
            return False, "no balances" if both else f"no {missing} balance"
        if len(self.signed(opening, closing)) > 1:
            return False, "balances without a sign, and no movement that shows it"
        currency = opening.currency
        if closing.currency != currency or self.currency not in {None, currency}:
            currencies = ", ".join(filter(None, (currency, self.currency, closing.currency)))
            return False, f"opening, entries and closing are not in one currency ({currencies})"
        reached = EXACT.subtract(EXACT.add(opening.amount, self.credits), self.debits)
        sum_said = (
            f"opening {format_amount(opening.amount, currency)}"
            f" + credits {format_amount(self.credits, currency)}"
            f" - debits {format_amount(self.debits, currency)}"
        )
        if reached == closing.amount:
            reached_said = format_amount(reached, currency)
            if closing.code == _INTERIM and not is_page:
                return False, f"{sum_said} = interim {reached_said}: more may be booked that day"
            return True, f"{sum_said} = closing {reached_said}"
        off = EXACT.subtract(closing.amount, reached)
        return False, (
            f"{sum_said} = {format_amount(reached, currency)}, but closing is"
            f" {format_amount(closing.amount, currency)} ({format_amount(off, currency)} off)"
        )
