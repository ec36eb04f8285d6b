"""Meaning of a CSV row: a movement, a balance, a total, or more text for the row above.

The decimal sign, the sign of debits and a currency that only some amounts state are first derived
from all rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from itertools import pairwise
from typing import Final, Literal

import msgspec

from treasury.core.errors import InputError, StatementError
from treasury.statements.csv import csv_words
from treasury.statements.csv.csv_layout import Layout, is_header
from treasury.statements.csv.csv_text import CsvRow
from treasury.statements.csv.csv_values import (
    amount_in,
    cell,
    day_in,
    decimal_sign,
    is_amount,
    is_day,
    is_signed,
    without_breaks,
)
from treasury.statements.csv.profiles import plain
from treasury.statements.field_values import account_number, own_account
from treasury.statements.statement_draft import MOST_PROBLEMS

Key = tuple[str | None, str | None]
"""Account and currency."""

_EXACT: Final = Context(prec=80)
_MINUS: Final = frozenset({"-", "\u2212"})
_AMOUNTS: Final = ("amount", "debit", "credit", "balance", "balance_before", "fee")
MOVED: Final = ("amount", "debit", "credit")
"""Roles of columns that have the moved amount."""
_DECIDES: Final = (*_AMOUNTS, "sign", "currency", "status")
"""Roles that a row must not lack: without them it would be read as a different movement."""


class CsvMovement(msgspec.Struct, gc=False):
    """A row of one account with an amount, a balance, or both.

    `status` is empty for a row that only states a balance. `more` are texts of the rows below it.
    """

    key: Key
    row: CsvRow
    status: str
    booked: date | None
    value: date | None = None
    signed: Decimal = Decimal(0)
    is_reversal: bool = False
    fee: Decimal = Decimal(0)
    balance: Decimal | None = None
    more: list[str] = []
    raw: list[str] = []


class CsvRows:
    """Reader of the rows of one file by its layout. `stated` are the values above the table.

    `account` is used for files that name none, and `currencies` for accounts without a stated
    currency. `fee_included` is true if amounts include the fee. `notes` maps lines to notes for
    people, about rows that are read or left out; `totals` counts the rows of totals so far.
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
        self.shows_decimal = False
        """Whether the amounts of the file show the decimal sign."""
        self.positive = layout.profile.positive
        self.oldest: Literal["", "in", "out"] = ""
        """Direction, stated by a person, of rows whose direction the balances do not show."""
        self.unknown_status: Literal["PDNG", "BOOK"] = "PDNG"
        """Status given to a row with an unknown word for its status."""
        self.states_signs = False
        """Whether any amount of the file states its direction."""
        self.fee_included = layout.profile.fee_included
        self.layout = layout
        self._stated = stated
        self._account = account
        self._file_name = file_name
        self._currencies = currencies
        self._own: dict[str, str] = {}
        """Map from each account number in the file to the declared account."""
        self._usual_debit = -1
        self._usual_currency = ""
        self._unknown: set[str] = set()
        self._cell_count = 0
        self._last_needed = max(
            (place for role in _DECIDES for place in layout.columns.get(role, ())), default=0
        )

    def learn(self, rows: Iterable[CsvRow]) -> None:
        """Derive decimal sign, sign of debits, currency and number of cells from the whole file."""
        counts = Counter[int]()
        places = [p for role in _AMOUNTS for p in self.layout.columns.get(role, ())]
        signs = Counter[bool]()
        currencies: set[str] = set()

        def amounts() -> Iterator[str]:
            for row in rows:
                debit = self.cell(row, "debit")
                if debit:
                    signs[debit[0] in _MINUS or debit[-1] == "-"] += 1
                cells = [text for p in places if p < len(row.cells) if (text := row.cells[p])]
                counts[len(row.cells)] += bool(cells)
                self.states_signs |= is_signed(self.cell(row, "amount"))
                for text in filter(is_amount, map(cell, cells)):
                    if not text[0].isdigit() or not text[-1].isdigit():
                        currencies.update(csv_words.CODE.findall(text))
                    yield text

        # All amounts are read even if the profile states the decimal sign: they may contradict it.
        sign = decimal_sign(amounts())
        self.shows_decimal = sign in {",", "."}
        if not self.decimal:
            self.decimal = "." if sign == "none" else sign
        self._usual_debit = -1 if signs[True] > signs[False] else 1
        self._usual_currency = currencies.pop() if len(currencies) == 1 else ""
        # This is the number of cells in nearly all rows with amounts; 0 if rows differ.
        header = len(self.layout.headers)
        usual = max(counts, key=lambda count: (counts[count], count == header), default=0)
        others = counts.total() - counts[usual]
        self._cell_count = usual if others <= max(1, counts.total() // 10) else 0

    def cell(self, row: CsvRow, role: str) -> str:
        """Return the first non-empty cell of a role."""
        for place in self.layout.columns.get(role, ()):
            if place < len(row.cells) and (text := cell(row.cells[place])):
                return text
        return ""

    def read(self, row: CsvRow, above: CsvMovement | None = None) -> CsvMovement | None:
        """Return the movement or balance in a row; None if it has neither or is left out.

        Raises InputError with the reason if the row cannot be read. `above` is the movement above
        the row: a row that repeats its reference may end before the amounts.
        """
        reference = self.cell(row, "reference")
        if not reference or above is None or reference != self.cell(above.row, "reference"):
            self._check_count(row)
        has_amount = any(self.cell(row, role) for role in MOVED)
        has_balance = bool(self.cell(row, "balance"))
        if not has_amount and not has_balance:
            return None
        day = self.cell(row, "booking_date") or self.cell(row, "value_date")
        if not is_day(day):
            if self._is_header_again(row, day):
                return None
            if csv_words.STATUS.get(plain(day)) == "PDNG":
                self._note(row, f"left out: {day[:40]!r} instead of a day, so it is not booked yet")
                return None
            if self._is_total(row, day):
                self.totals += 1
                return None
            raise InputError(f"{day[:40]!r} is not a date" if day else "it has no booking date")
        if not has_amount:
            return self._balance(row, self._amount(row, "balance"))
        label = "".join(plain(text) for text in self.texts(row))
        if label in csv_words.BALANCES:
            return self._balance(row, self._signed(row)[0])
        if label in csv_words.TURNOVERS:
            self._note(row, "left out as a turnover")
            return None
        return self._moved(row, day)

    def _is_header_again(self, row: CsvRow, day: str) -> bool:
        """Return whether a row repeats the table's header.

        Raises InputError for the header of another table, StatementError for the same columns in a
        different order.
        """
        if not is_header(row):
            return False
        headers = [plain(text) for text in row.cells]
        if headers != self.layout.headers:
            if sorted(headers) == sorted(self.layout.headers):
                raise StatementError(
                    f"{self._file_name} line {row.line}: another table begins: {day[:40]!r}",
                    do="put each table into its own file; the file was not stored",
                )
            raise InputError(f"{day[:40]!r} without an amount in the row, as in a header")
        self._note(row, "left out: the header is repeated")
        return True

    def _check_count(self, row: CsvRow) -> None:
        """Raise InputError for a row with a day and the wrong number of cells."""
        count, usual, header = len(row.cells), self._cell_count, len(self.layout.headers)
        # If a decimal comma separates cells too, every row has more cells than the header.
        is_beyond = any(map(cell, row.cells[header:])) if header else False
        if (count == usual or not usual) and not is_beyond:
            return
        is_dated = any(is_day(self.cell(row, role)) for role in ("booking_date", "value_date"))
        is_cut = is_dated and count < usual and count <= self._last_needed + 1
        is_shifted = (is_beyond or count > max(usual, header)) and (
            is_dated or any(is_day(cell(text)) for text in row.cells)
        )
        if is_cut or is_shifted:
            is_usual = usual in {0, count}
            others = f"the header has {header}" if is_usual else f"the others have {usual}"
            raise InputError(f"it has {count} cells, where {others}")

    def key(self, row: CsvRow) -> Key:
        """Return the account and currency of a row, by which rows form statements."""
        account = self.cell(row, "account") or self._stated.get("account", "")
        currency = self._said_currency(row) or self.layout.profile.currency or self._usual_currency
        number = account_number(account.strip("'") if account else self._account or "")
        if number not in self._own:
            self._own[number] = own_account(number, self._currencies)
        number = self._own[number]
        currency = currency or self._currencies.get(number, "")
        return number or None, csv_words.SIGNS.get(currency, currency.upper()) or None

    def _said_currency(self, row: CsvRow) -> str:
        """Return the currency that a row, the header or the text above the table states, or ""."""
        currency = self.cell(row, "currency")
        if not currency and (side := self._side(row)):
            currency = self.cell(row, "debit_currency" if side < 0 else "credit_currency")
        currency = currency or self.layout.header_currency or self._stated.get("currency", "")
        if currency:
            return currency
        # An amount may have its currency next to it, as in `1,50 EUR`.
        for role in (*MOVED, "balance"):
            text = self.cell(row, role)
            is_bare = not text or (text[0].isdigit() and text[-1].isdigit())
            if not is_bare and (matched := csv_words.CODE.search(text)):
                return matched[0]
        return ""

    def texts(self, row: CsvRow) -> tuple[str, ...]:
        """Return the texts of the payment without duplicates."""
        places = self.layout.columns.get("text", ())
        texts = (without_breaks(cell(row.cells[p])) for p in places if p < len(row.cells))
        return tuple(dict.fromkeys(text for text in texts if text))

    def goes_on(self, row: CsvRow, movement: CsvMovement) -> bool:
        """Return whether a row without an amount continues the text of the movement above.

        Such a row has the movement's reference, or only texts. A footer with an amount in another
        column, or a row with a day, is left out with a note.
        """
        if any(self.cell(row, role) for role in (*MOVED, "balance")) or not self.texts(row):
            return False
        reference = self.cell(row, "reference")
        if reference and reference == self.cell(movement.row, "reference"):
            return True
        first = next(filter(None, map(cell, row.cells)))
        if is_day(self.cell(row, "booking_date")) or is_day(self.cell(row, "value_date")):
            self._note(row, f"left out: it has a day but no amount: {first[:40]!r}")
            return False
        if reference or self.cell(row, "booking_date"):
            if any(is_amount(text) for text in map(cell, row.cells)):
                self._note(row, f"left out: no amount in its column: {first[:40]!r}")
            return False
        # Small print below the table has few cells and begins in the first column.
        return not cell(row.cells[0]) or len(row.cells) >= min(len(self.layout.columns), 3)

    def inferred(self, row: CsvRow, currency: str | None) -> tuple[str, ...]:
        """Return the names of the columns with a value that the row does not state."""
        inferred = []
        if plain(self.cell(row, "status")) not in csv_words.STATUS:
            inferred.append("entry_status")
        if currency and not self._said_currency(row):
            inferred.append("currency")
        places = self.layout.columns.get("booking_date", ())
        is_other = places == self.layout.columns.get("value_date")
        stated = cell(row.cells[places[0]]) if places and places[0] < len(row.cells) else ""
        if is_other or not stated:
            inferred.append("booking_date")
        return tuple(inferred)

    def above(self, name: str) -> Decimal | None:
        """Return the `opening` or `closing` balance stated above the table."""
        text = self._stated.get(name, "")
        try:
            return amount_in(text, self.decimal) if text else None
        except InputError:
            # An amount that is not in the file's notation may be misread, so it is ignored.
            return None

    def _moved(self, row: CsvRow, day: str) -> CsvMovement:
        order = self.layout.profile.day_order
        value = self.cell(row, "value_date")
        signed, is_reversal = self._signed(row)
        key = self.key(row)
        fee = self._fee(row, key) if "fee" in self.layout.columns else Decimal(0)
        if fee and not self.fee_included:
            signed = _EXACT.subtract(signed, fee)
        balance = self._amount(row, "balance")
        if balance is None and "balance_before" in self.layout.columns:
            before = self._amount(row, "balance_before")
            balance = None if before is None else _EXACT.add(before, signed)
        status = self._status(row)
        booked, valued = day_in(day, order), day_in(value, order) if value else None
        return CsvMovement(key, row, status, booked, valued, signed, is_reversal, fee, balance)

    def _fee(self, row: CsvRow, key: Key) -> Decimal:
        """Return the fee of a row.

        It is 0 if the fee is in another currency, or if `_side` shows a credit, because its sender
        paid the fee.
        """
        if self.cell(row, "fee_currency") not in {"", key[1]} or self._side(row) > 0:
            return Decimal(0)
        return (self._amount(row, "fee") or Decimal(0)).copy_abs()

    def _balance(self, row: CsvRow, balance: Decimal | None) -> CsvMovement:
        return CsvMovement(self.key(row), row, "", None, balance=balance)

    def _status(self, row: CsvRow) -> str:
        """Return the status of a row: BOOK by default, `unknown_status` for an unknown word.

        A stated effect on the balance decides: an incomplete payment may block money, while an
        authorisation moves none.
        """
        text = self.cell(row, "status")
        status = csv_words.STATUS.get(plain(text)) if text else "BOOK"
        effect = plain(self.cell(row, "balance_effect"))
        if effect:
            if effect in csv_words.IN | csv_words.OUT:
                return "BOOK"
            return "INFO" if status == "BOOK" else status or "PDNG"
        if status is None and text not in self._unknown and len(self._unknown) < MOST_PROBLEMS:
            self._unknown.add(text)
            self._note(row, f"the status {text[:40]!r} is not known; taken as pending")
        return status or self.unknown_status

    def book_unknown(self) -> None:
        """Read unknown words for a status as booked, because the balances include these rows."""
        self.unknown_status = "BOOK"
        for line, note in self.notes.items():
            self.notes[line] = note.replace(
                "is not known; taken as pending", "is not known; taken as booked, as balances show"
            )

    @property
    def has_unknown_status(self) -> bool:
        """Return whether a row had an unknown word for a status."""
        return bool(self._unknown)

    def _amount(self, row: CsvRow, role: str) -> Decimal | None:
        text = self.cell(row, role)
        return amount_in(text, self.decimal) if text else None

    def _signed(self, row: CsvRow) -> tuple[Decimal, bool]:
        """Return the signed amount, and whether it reverses the direction of its column."""
        amount = self._amount(row, "amount")
        if amount is not None:
            sign_text = self.cell(row, "sign")
            sign = plain(sign_text)
            if sign in csv_words.OUT or sign_text in _MINUS:
                return -amount.copy_abs(), False
            if sign_text and sign not in csv_words.IN and sign_text != "+":
                raise InputError(f"{sign_text[:20]!r} is neither debit nor credit")
            if not sign_text and self.positive == "out":
                return -amount, False
            # With "balance" the sign is derived later, from the balances around the row.
            return (amount.copy_abs() if sign_text else amount), False
        side = self._side(row)
        if not side and {"sign", "debit_currency"} <= self.layout.columns.keys():
            raise InputError(f"{self.cell(row, 'sign')[:20]!r} is neither debit nor credit")
        credit = self._amount(row, "credit") if side >= 0 else None
        debit = self._amount(row, "debit") if side <= 0 else None
        if debit is not None and (debit or credit is None):
            if credit:
                raise InputError("it has both a debit and a credit")
            lost = debit * self._usual_debit
            return -lost, lost < 0
        if credit is None:
            raise InputError("it has no amount on its side, debit or credit")
        return credit, credit < 0

    def _side(self, row: CsvRow) -> int:
        """Return -1 for a debit and 1 for a credit if each has its own currency column, else 0."""
        if "debit_currency" not in self.layout.columns:
            return 0
        sign = plain(self.cell(row, "sign"))
        return -1 if sign in csv_words.OUT else 1 if sign in csv_words.IN else 0

    def counterparty_name(self, row: CsvRow, *, is_debit: bool) -> str:
        """Return the other party's name: the payer of a credit, the payee of a debit."""
        name = self.cell(row, "counterparty_name")
        return name or self.cell(row, "payee_name" if is_debit else "payer_name")

    def _is_total(self, row: CsvRow, day: str) -> bool:
        """Return whether a row without a day is a total: it has amounts, and no text but labels."""
        words = [text for text in map(cell, row.cells) if text and not is_amount(text)]
        if not words:
            return True
        if any(map(str.isdigit, day)):
            # A text with digits may be an invalid day, but also a label such as `Saldo 31.10.`.
            words = [day]
        alone = bool(day) and words == [day] and not any(map(str.isdigit, day))
        if alone or any(map(_says_total, words)):
            self._note(row, f"left out as a total: {words[0][:60]!r}")
            return True
        return False

    def _note(self, row: CsvRow, note: str) -> None:
        if len(self.notes) < MOST_PROBLEMS:
            self.notes[row.line] = note

    def check_quotes(self, row: CsvRow) -> None:
        """Raise StatementError if an unclosed quote has swallowed the rows below it."""
        lines = row.raw.split("\n")
        if len(lines) == 1:
            return
        (day, *_), amounts = self.layout.columns["booking_date"], self.layout.columns
        places = [p for role in MOVED for p in amounts.get(role, ())]
        for at, line in enumerate(lines[1:], 1):
            cells = [cell(text) for text in line.split(self.layout.delimiter)]
            if (
                len(cells) >= len(row.cells)
                and len(cells) > day
                and is_day(cells[day])
                and any(p < len(cells) and is_amount(cells[p]) for p in places)
            ):
                raise StatementError(
                    f"{self._file_name} line {row.line}: a quote that begins there is not closed,"
                    f" and line {row.line + at} would be lost in it",
                    do="export it from the bank again; the file was not stored",
                )


def _says_total(text: str) -> bool:
    first, *others = (plain(word).lstrip("#") for word in text.split(maxsplit=2)[:2])
    return (
        first in csv_words.TOTALS
        or first.endswith(csv_words.TOTAL_ENDS)
        or "".join((first, *others)) in csv_words.TOTALS
    )


def stated_above(above: Sequence[CsvRow]) -> dict[str, str]:
    """Return the account, currency and balances stated above the table.

    A value is right of its label or below it.
    """
    stated: dict[str, str] = {}
    rows = [[cell(text) for text in row.cells] for row in above[:200]]
    for cells, below in pairwise((*rows, [])):
        for place, label in enumerate(cells):
            role = csv_words.LABELS.get(plain(label).lstrip("#"))
            if role is None:
                continue
            texts = (*cells[place + 1 : place + 2], *below[place : place + 1])
            # A name may follow the account, as in `DE02 1203 … / Girokonto`.
            values = (part for text in texts for part in (text, text.partition(" / ")[0]))
            value = next(filter(_IS_STATED[role], values), None)
            if value is not None:
                stated.setdefault(role, value)
    if "iban" in stated:
        stated["account"] = stated["iban"]
    return stated


def looks_like_account(text: str) -> bool:
    """Return whether a text can be an account number: it has digits and no words."""
    number = account_number(text.strip("'"))
    return _ACCOUNT.fullmatch(number) is not None


_ACCOUNT: Final = re.compile(
    r"[A-Z]{2}[0-9]{2}[A-Z0-9]*|(?=(?:[^0-9]*[0-9]){3})[A-Z]{0,4}[-./*X0-9]+[A-Z]{0,3}", re.ASCII
)
_IS_STATED: Final[dict[str, Callable[[str], bool]]] = {
    "iban": looks_like_account,
    "account": looks_like_account,
    "currency": lambda text: (
        text in csv_words.SIGNS or re.fullmatch("[A-Za-z]{3}", text) is not None
    ),
    "opening": is_amount,
    "closing": is_amount,
}
"""Condition on the value for each kind of label."""
