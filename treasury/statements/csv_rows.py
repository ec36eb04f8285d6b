"""What a row of a bank's CSV says: a movement, a balance, a total, or more text of the row above.

A row alone does not show everything. Which sign separates the decimals, how debits are signed and
the currency beside amounts that mostly lack one are learnt from all rows first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from itertools import pairwise
from typing import Final, Literal

import msgspec

from treasury.errors import InputError, StatementError
from treasury.statements.csv_layout import Layout
from treasury.statements.csv_text import Row
from treasury.statements.csv_values import amount_in, cell, day_in, decimal_sign, is_amount, is_day
from treasury.statements.csv_words import (
    BALANCES,
    CODE,
    IN,
    LABELS,
    OUT,
    SIGNS,
    STATUS,
    TOTAL_ENDS,
    TOTALS,
    TURNOVERS,
)
from treasury.statements.draft import MOST_PROBLEMS
from treasury.statements.profiles import plain
from treasury.statements.values import account_number

__all__ = ["Key", "Movement", "Rows", "stated_above"]

Key = tuple[str | None, str | None]
"""Account and currency."""

_EXACT: Final = Context(prec=80)
_MINUS: Final = frozenset({"-", "\u2212"})
_AMOUNTS: Final = ("amount", "debit", "credit", "balance", "fee")
_MOVED: Final = ("amount", "debit", "credit")


class Movement(msgspec.Struct, gc=False):
    """A row that says something about an account: what it moved, its balance, or both.

    `status` is empty for a row that only states a balance. `more` are texts of the rows below it.
    """

    key: Key
    row: Row
    status: str
    booked: date | None
    value: date | None = None
    signed: Decimal = Decimal(0)
    is_reversal: bool = False
    fee: Decimal = Decimal(0)
    balance: Decimal | None = None
    more: list[str] = []
    raw: list[str] = []


class Rows:
    """The rows of one file, by its layout. `stated` is what stands above the table.

    `account` is that of files that name none, `currencies` those of accounts for which the file
    states none. `notes` says, by line, what a person should know about rows that are read, or left
    out as one of the `totals` counted so far.
    """

    def __init__(
        self,
        layout: Layout,
        stated: Mapping[str, str],
        account: str | None,
        file_name: str,
        currencies: Mapping[str, str],
    ) -> None:
        self.notes: dict[int, str] = {}
        self.totals = 0
        self.decimal: Literal["", ",", "."] = layout.profile.decimal
        self._layout = layout
        self._stated = stated
        self._account = account
        self._file_name = file_name
        self._currencies = currencies
        self._usual_debit = -1
        self._usual_currency = ""
        self._unknown: set[str] = set()

    def learn(self, rows: Iterable[Row]) -> None:
        """What only the whole file shows: the decimal sign, the sign of debits, the currency."""
        places = [p for role in _AMOUNTS for p in self._layout.columns.get(role, ())]
        signs = Counter[bool]()
        currencies: set[str] = set()

        def amounts() -> Iterator[str]:
            for row in rows:
                debit = self.cell(row, "debit")
                if debit:
                    signs[debit[0] in _MINUS or debit[-1] == "-"] += 1
                cells = [text for p in places if p < len(row.cells) if (text := row.cells[p])]
                for text in filter(is_amount, map(cell, cells)):
                    if not text[0].isdigit() or not text[-1].isdigit():
                        currencies.update(CODE.findall(text))
                    yield text

        found = decimal_sign(amounts())
        self.decimal = self.decimal or found
        self._usual_debit = -1 if signs[True] > signs[False] else 1
        self._usual_currency = currencies.pop() if len(currencies) == 1 else ""

    def cell(self, row: Row, role: str) -> str:
        """The first cell of a role that is not empty."""
        for place in self._layout.columns.get(role, ()):
            if place < len(row.cells) and (text := cell(row.cells[place])):
                return text
        return ""

    def read(self, row: Row) -> Movement | None:
        """The movement or balance in a row; None where it has neither. InputError says why not."""
        has_amount = any(self.cell(row, role) for role in _MOVED)
        has_balance = bool(self.cell(row, "balance"))
        if not has_amount and not has_balance:
            return None
        day = self.cell(row, "booking_date") or self.cell(row, "value_date")
        if not is_day(day):
            if STATUS.get(plain(day)) == "PDNG":
                self._note(row, f"left out: {day[:40]!r} instead of a day, so it is not booked yet")
                return None
            if self._is_total(row, day):
                self.totals += 1
                return None
            raise InputError(f"{day[:40]!r} is not a date" if day else "it has no booking date")
        if not has_amount:
            return self._balance(row, self._amount(row, "balance"))
        label = "".join(plain(text) for text in self.texts(row))
        if label in BALANCES:
            return self._balance(row, self._signed(row)[0])
        if label in TURNOVERS:
            self._note(row, "left out as a turnover")
            return None
        return self._moved(row, day)

    def key(self, row: Row) -> Key:
        """The account and currency that a row is about."""
        account = self.cell(row, "account") or self._stated.get("account", "")
        currency = self._said_currency(row) or self._layout.profile.currency or self._usual_currency
        number = account_number(account.strip("'")) if account else self._account
        currency = currency or self._currencies.get(account_number(number or ""), "")
        return number or None, SIGNS.get(currency, currency.upper()) or None

    def _said_currency(self, row: Row) -> str:
        """The currency that a row, its header or what stands above it states."""
        said = self.cell(row, "currency") or self._layout.header_currency
        return said or self._stated.get("currency", "") or self._beside_amount(row)

    def texts(self, row: Row) -> tuple[str, ...]:
        """What the payment is for, a text once."""
        places = self._layout.columns.get("text", ())
        texts = (cell(row.cells[p]) for p in places if p < len(row.cells))
        return tuple(dict.fromkeys(text for text in texts if text))

    def goes_on(self, row: Row) -> bool:
        """Whether a row goes on with the text of the movement above it.

        It says nothing else, and is not the small print below a table, which has few cells.
        """
        if len(row.cells) < min(len(self._layout.columns), 3) or not self.texts(row):
            return False
        return not any(self.cell(row, role) for role in (*_MOVED, "balance"))

    def inferred(self, row: Row, currency: str | None) -> tuple[str, ...]:
        """The columns that the row does not state by itself."""
        inferred = []
        if plain(self.cell(row, "status")) not in STATUS:
            inferred.append("entry_status")
        if currency and not self._said_currency(row):
            inferred.append("currency")
        places = self._layout.columns.get("booking_date", ())
        if places and not cell(row.cells[places[0]] if places[0] < len(row.cells) else ""):
            inferred.append("booking_date")
        return tuple(inferred)

    def above(self, name: str) -> Decimal | None:
        """The balance `opening` or `closing` that is stated above the table."""
        text = self._stated.get(name, "")
        try:
            return amount_in(text, self.decimal) if text else None
        except InputError:
            return None  # not in the file's own notation, so no balance to prove anything by

    def _moved(self, row: Row, day: str) -> Movement:
        order = self._layout.profile.day_order
        value = self.cell(row, "value_date")
        signed, is_reversal = self._signed(row)
        fee = (self._amount(row, "fee") or Decimal(0)).copy_abs()
        if not self._layout.profile.fee_included:
            signed = _EXACT.subtract(signed, fee)
        return Movement(
            self.key(row),
            row,
            self._status(row),
            day_in(day, order),
            day_in(value, order) if value else None,
            signed,
            is_reversal,
            fee,
            self._amount(row, "balance"),
        )

    def _balance(self, row: Row, balance: Decimal | None) -> Movement:
        return Movement(self.key(row), row, "", None, balance=balance)

    def _status(self, row: Row) -> str:
        """Booked where nothing else is said; a word that is not known counts as pending."""
        text = self.cell(row, "status")
        status = STATUS.get(plain(text)) if text else "BOOK"
        if status is None and text not in self._unknown and len(self._unknown) < MOST_PROBLEMS:
            self._unknown.add(text)
            self._note(row, f"the status {text[:40]!r} is not known; taken as pending")
        return status or "PDNG"

    def _amount(self, row: Row, role: str) -> Decimal | None:
        text = self.cell(row, role)
        return amount_in(text, self.decimal) if text else None

    def _signed(self, row: Row) -> tuple[Decimal, bool]:
        """What the account gained or lost; whether in the other direction's column."""
        amount = self._amount(row, "amount")
        if amount is not None:
            said = self.cell(row, "sign")
            sign = plain(said)
            if sign in OUT or said in _MINUS:
                return -amount.copy_abs(), False
            if said and sign not in IN and said != "+":
                raise InputError(f"{said[:20]!r} says neither debit nor credit")
            return (amount.copy_abs() if said else amount), False
        credit = self._amount(row, "credit")
        debit = self._amount(row, "debit")
        if debit is not None and (debit or credit is None):
            if credit:
                raise InputError("it has both a debit and a credit")
            lost = debit * self._usual_debit
            return -lost, lost < 0
        assert credit is not None
        return credit, credit < 0

    def _beside_amount(self, row: Row) -> str:
        """The currency that stands beside an amount, as in `1,50 EUR`."""
        for role in (*_MOVED, "balance"):
            text = self.cell(row, role)
            is_bare = not text or (text[0].isdigit() and text[-1].isdigit())
            if not is_bare and (matched := CODE.search(text)):
                return matched[0]
        return ""

    def _is_total(self, row: Row, day: str) -> bool:
        """Whether a row without a day is one of totals: it has amounts and says at most what of."""
        words = [text for text in map(cell, row.cells) if text and not is_amount(text)]
        if not words:
            return True
        if any(map(str.isdigit, day)):
            words = [day]  # a day that there is not, unless it is a label such as `Saldo 31.10.`
        alone = bool(day) and words == [day] and not any(map(str.isdigit, day))
        if alone or any(map(_says_total, words)):
            self._note(row, f"left out as a total: {words[0][:60]!r}")
            return True
        return False

    def _note(self, row: Row, what: str) -> None:
        if len(self.notes) < MOST_PROBLEMS:
            self.notes[row.line] = what

    def check_quotes(self, row: Row) -> None:
        """StatementError where a quote that nobody closed has swallowed further rows."""
        lines = row.raw.split("\n")
        if len(lines) == 1:
            return
        (day, *_), amounts = self._layout.columns["booking_date"], self._layout.columns
        places = [p for role in _MOVED for p in amounts.get(role, ())]
        for at, line in enumerate(lines[1:], 1):
            cells = [cell(text) for text in line.split(self._layout.delimiter)]
            if (
                len(cells) >= len(row.cells)
                and len(cells) > day
                and is_day(cells[day])
                and any(p < len(cells) and is_amount(cells[p]) for p in places)
            ):
                raise StatementError(
                    f"{self._file_name} line {row.line}: a quote that begins there is not closed,"
                    f" and line {row.line + at} would be lost in it",
                    do="export it from the bank again; nothing of it was stored",
                )


def _says_total(text: str) -> bool:
    first, *others = (plain(word).lstrip("#") for word in text.split(maxsplit=2)[:2])
    return first in TOTALS or first.endswith(TOTAL_ENDS) or "".join((first, *others)) in TOTALS


def stated_above(above: Sequence[Row]) -> dict[str, str]:
    """What the rows above the table say: the account, its currency, its balances."""
    found: dict[str, str] = {}
    for row in above[:200]:
        cells = [cell(text) for text in row.cells]
        for label, value in pairwise(cells):
            role = LABELS.get(plain(label).lstrip("#"))
            if role and value:
                found.setdefault(role, value)
    if "iban" in found:
        found["account"] = found["iban"]
    return found
