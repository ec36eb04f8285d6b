"""Reads a bank's CSV export by its profile: rows in, statements proved by their balance column out.

CSV has no statements: the rows of one account and currency are one. Its balances are those stated
above the table, else those of the balance column, which has to follow the amounts row by row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Context, Decimal
from itertools import islice, pairwise
from typing import Final, Literal

import msgspec
import pyarrow as pa

from treasury.errors import InputError, StatementError
from treasury.money import format_amount
from treasury.statements.csv_course import Course
from treasury.statements.csv_layout import SAMPLE, Layout, layout_of, proposal
from treasury.statements.csv_text import CsvText, Row
from treasury.statements.csv_values import amount_in, cell, day_in, decimal_sign, is_amount
from treasury.statements.csv_words import IN, LABELS, OUT, SIGNS, STATUS, TOTALS
from treasury.statements.draft import MOST_PROBLEMS, Draft, Head
from treasury.statements.identity import Ordinals
from treasury.statements.profiles import BUILT_IN, Profile, plain
from treasury.statements.proof import Balance
from treasury.statements.rows import EntryRow, Problem, StatementRow, entry_batch
from treasury.statements.stream import Source, Stream, UnknownFormat
from treasury.statements.values import account_number, reference

__all__ = ["GUESSED", "CsvFile"]

GUESSED: Final = "CSV proposed"
"""The format of a file without a profile."""

_BATCH: Final = 1024
_MOST_GROUPS: Final = 10_000
_MOST_ROW: Final = 1 << 20
_EXACT: Final = Context(prec=80)

_Key = tuple[str | None, str | None]


class _Movement(msgspec.Struct, gc=False):
    """A row that says something about an account: what it moved, its balance, or both.

    `status` is empty for a row that only states a balance. `more` are texts of the rows below it.
    """

    key: _Key
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


class CsvFile:
    """One file being read: exhaust `batches()`, then `statements`, `problems`, `format` hold.

    `account` is that of files that name none. StatementError where no profile fits and none can be
    proposed; a file read by a proposed one says so, and is not proved.
    """

    def __init__(
        self,
        source: Source,
        file_name: str,
        profiles: Sequence[Profile] = (),
        account: str | None = None,
    ) -> None:
        self.file_name = file_name
        self.format = "CSV"
        self.statements: tuple[StatementRow, ...] = ()
        self.problems: list[Problem] = []
        self.layout: Layout | None = None
        self.decimal: Literal["", ",", "."] = ""
        self._source = source if isinstance(source, Stream) else Stream(source)
        self._profiles = (*profiles, *BUILT_IN)
        self._account = account
        self._stated: dict[str, str] = {}
        self._usual_debit = -1
        self._lost: list[tuple[_Key, int, str]] = []
        self._lost_count = 0

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, once they are all read."""
        return self._source.sha256

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of `statement_entries`, some thousands at a time, in the file's order."""
        with CsvText(self._source, self.file_name) as text:
            if text.has_nul:
                raise self._unknown()
            if text.encoding[:3] != "utf":
                what = f"not UTF-8; read as {text.encoding.title()}"
                self.problems.append(Problem(self.file_name, "", what))
            layout = self.layout = self._layout(text)
            self.format = f"CSV {layout.profile.name}"
            above = list(islice(text.rows(layout.delimiter), layout.header + 1))
            self._stated = _stated(above[:-1])
            self._learn(_below(text, layout), layout)
            courses = self._courses(text, layout)
            drafts = self._drafts(courses, layout)
            yield from self._entries(text, layout, drafts)
        head = "\n".join(row.raw for row in above)
        done = [draft.finish(head) for draft in drafts.values()]
        for draft in drafts.values():
            self.problems += draft.problems[: max(0, MOST_PROBLEMS - len(self.problems))]
        self.statements = tuple(
            msgspec.structs.replace(row, file_sha256=self.sha256) for row in done
        )
        if not done:
            self.problems.append(Problem(self.file_name, "", "there is no movement in the file"))

    def _layout(self, text: CsvText) -> Layout:
        lines = list(islice(text.lines(), SAMPLE))
        known = layout_of(lines, self._profiles, self.file_name)
        found = known or proposal(lines, self.file_name)
        if found is None:
            raise self._unknown()
        return found

    def _unknown(self) -> UnknownFormat:
        what = f"{self.file_name}: not a bank statement in any known format"
        return UnknownFormat(what, do=_KNOWN)

    def _learn(self, rows: Iterator[Row], layout: Layout) -> None:
        """What only the whole file shows: the decimal sign, and how debits are signed."""
        places = [p for role in _AMOUNTS for p in layout.columns.get(role, ())]
        signs = Counter[bool]()

        def amounts() -> Iterator[str]:
            for row in rows:
                debit = self._cell(row, layout, "debit")
                if debit:
                    signs[debit.startswith(("-", "\u2212")) or debit.endswith("-")] += 1
                cells = (cell(row.cells[p]) for p in places if p < len(row.cells))
                yield from filter(is_amount, cells)

        found = decimal_sign(amounts())
        self.decimal = layout.profile.decimal or found
        self._usual_debit = -1 if signs[True] > signs[False] else 1

    def _courses(self, text: CsvText, layout: Layout) -> dict[_Key, Course]:
        """Days and balances of each account and currency, in the order of the file."""
        courses: dict[_Key, Course] = {}
        for one in self._movements(text, layout):
            course = courses.get(one.key)
            if course is None:
                course = courses[one.key] = Course(one.row.line)
            moved = one.signed if one.status == "BOOK" else Decimal(0)
            course.add(one.row.line, one.booked if one.status else None, moved, one.balance)
            if len(courses) > _MOST_GROUPS:
                raise StatementError(
                    f"{self.file_name}: more than {_MOST_GROUPS} accounts in one file",
                    do="look whether the profile names the right column for the account",
                )
        for key, line, _ in self._lost:
            courses.setdefault(key, Course(line))
        return courses

    def _entries(
        self, text: CsvText, layout: Layout, drafts: dict[_Key, Draft]
    ) -> Iterator[pa.RecordBatch]:
        self._lost_count = -1  # they are told already
        batch: list[EntryRow] = []
        for one in self._movements(text, layout):
            if not one.status:
                continue
            entry = self._entry(one, layout)
            draft = drafts[one.key]
            raw = "\n".join((one.row.raw, *one.raw))
            draft.take(entry, entry.account_servicer_reference, f"line {one.row.line}", raw)
            draft.count(entry)
            batch.append(entry)
            if len(batch) >= _BATCH:
                yield entry_batch(batch)
                batch = []
        if batch:
            yield entry_batch(batch)

    def _movements(self, text: CsvText, layout: Layout) -> Iterator[_Movement]:
        """The movements, each with the rows of text below it."""
        last: _Movement | None = None
        for row in _below(text, layout):
            one = self._read(row, layout)
            if one is not None:
                if last is not None:
                    yield last
                last = one
            elif last is not None and self._goes_on(row, layout):
                last.more += self._texts(row, layout)
                last.raw.append(row.raw)
                if len(last.raw) > _MOST_ROW >> 10:
                    raise StatementError(
                        f"{self.file_name} line {row.line}: a movement of more than"
                        f" {_MOST_ROW >> 10} rows",
                        do="look whether the profile names the right columns for amounts",
                    )
        if last is not None:
            yield last

    def _cell(self, row: Row, layout: Layout, role: str) -> str:
        """The first cell of a role that is not empty."""
        for place in layout.columns.get(role, ()):
            if place < len(row.cells) and (text := cell(row.cells[place])):
                return text
        return ""

    def _read(self, row: Row, layout: Layout) -> _Movement | None:
        """The movement or balance in a row; None where it has neither, or cannot be read."""
        has_amount = any(self._cell(row, layout, role) for role in ("amount", "debit", "credit"))
        has_balance = bool(self._cell(row, layout, "balance"))
        if not has_amount and not has_balance:
            return None
        day = self._cell(row, layout, "booking_date")
        if not any(map(str.isdigit, day)) and _is_total(row, day):
            return None
        key = self._key(row, layout)
        try:
            if not day:
                raise InputError("it has no booking date")
            if not has_amount:
                balance = self._amount(row, layout, "balance")
                return _Movement(key, row, "", None, balance=balance)
            return self._moved(row, layout, key, day)
        except InputError as error:
            self._lose(key, row.line, error.what)
            return None

    def _key(self, row: Row, layout: Layout) -> _Key:
        account = self._cell(row, layout, "account") or self._stated.get("account", "")
        currency = self._cell(row, layout, "currency") or layout.header_currency or ""
        currency = currency or self._stated.get("currency", "") or layout.profile.currency
        currency = currency or self._beside_amount(row, layout)
        number = account_number(account) if account else self._account
        return number or None, SIGNS.get(currency, currency.upper()) or None

    def _beside_amount(self, row: Row, layout: Layout) -> str:
        """The currency that stands beside an amount, as in `1,50 EUR`."""
        for role in ("amount", "debit", "credit", "balance"):
            if matched := _CODE.search(self._cell(row, layout, role)):
                return matched[0]
        return ""

    def _lose(self, key: _Key, line: int, why: str) -> None:
        if self._lost_count >= 0:
            self._lost_count += 1
            if self._lost_count <= MOST_PROBLEMS:
                self._lost.append((key, line, why))

    def _moved(self, row: Row, layout: Layout, key: _Key, day: str) -> _Movement:
        order = layout.profile.day_order
        value = self._cell(row, layout, "value_date")
        signed, is_reversal = self._signed(row, layout)
        fee = self._amount(row, layout, "fee") or Decimal(0)
        if not layout.profile.fee_included:
            signed = _EXACT.subtract(signed, fee.copy_abs())
        status = STATUS.get(plain(self._cell(row, layout, "status")), "")
        return _Movement(
            key,
            row,
            status or "BOOK",
            day_in(day, order),
            day_in(value, order) if value else None,
            signed,
            is_reversal,
            fee.copy_abs(),
            self._amount(row, layout, "balance"),
        )

    def _amount(self, row: Row, layout: Layout, role: str) -> Decimal | None:
        text = self._cell(row, layout, role)
        return amount_in(text, self.decimal) if text else None

    def _signed(self, row: Row, layout: Layout) -> tuple[Decimal, bool]:
        """What the account gained or lost; whether in the other direction's column."""
        amount = self._amount(row, layout, "amount")
        if amount is not None:
            sign = plain(self._cell(row, layout, "sign"))
            if sign in OUT:
                return -amount.copy_abs(), False
            if sign and sign not in IN:
                raise InputError(f"{sign[:20]!r} says neither debit nor credit")
            return (amount.copy_abs() if sign else amount), False
        credit = self._amount(row, layout, "credit")
        debit = self._amount(row, layout, "debit")
        if debit is not None and (debit or credit is None):
            if credit:
                raise InputError("it has both a debit and a credit")
            lost = debit * self._usual_debit
            return -lost, lost < 0
        assert credit is not None
        return credit, credit < 0

    def _entry(self, one: _Movement, layout: Layout) -> EntryRow:
        (account, currency), row = one.key, one.row

        def said(role: str) -> str | None:
            return self._cell(row, layout, role) or None

        other = said("counterparty_account")
        entry = EntryRow(
            account=account,
            currency=currency,
            amount=one.signed.copy_abs(),
            direction="DBIT" if one.signed < 0 else "CRDT",
            entry_status=one.status,
            is_reversal=one.is_reversal,
            booking_date=one.booked,
            value_date=one.value,
            account_servicer_reference=reference(said("reference")),
            end_to_end_id=reference(said("end_to_end_id")),
            mandate_id=reference(said("mandate_id")),
            remittance=(*self._texts(row, layout), *one.more),
            structured_references=tuple(filter(None, [said("structured_reference")])),
            proprietary_code=said("kind"),
            counterparty_name=said("counterparty_name"),
            counterparty_account=account_number(other) if other else None,
            counterparty_agent=said("counterparty_agent"),
            inferred=self._inferred(row, layout, currency),
            file_name=self.file_name,
        )
        if one.fee:
            entry.charges_amount, entry.charges_currency = one.fee, currency
        side = "debtor" if entry.direction == "CRDT" else "creditor"
        for part in ("name", "account", "agent"):
            setattr(entry, f"{side}_{part}", getattr(entry, f"counterparty_{part}"))
        return entry

    def _inferred(self, row: Row, layout: Layout, currency: str | None) -> tuple[str, ...]:
        """The columns that the row does not state by itself."""
        inferred = []
        if plain(self._cell(row, layout, "status")) not in STATUS:
            inferred.append("entry_status")
        if not self._cell(row, layout, "currency") and currency == layout.profile.currency:
            inferred.append("currency")
        places = layout.columns.get("booking_date", ())
        if places and not cell(row.cells[places[0]] if places[0] < len(row.cells) else ""):
            inferred.append("booking_date")
        return tuple(inferred)

    def _texts(self, row: Row, layout: Layout) -> tuple[str, ...]:
        places = layout.columns.get("text", ())
        texts = (cell(row.cells[p]) for p in places if p < len(row.cells))
        return tuple(dict.fromkeys(text for text in texts if text))

    def _goes_on(self, row: Row, layout: Layout) -> bool:
        """Whether a row goes on with the text of the movement above it.

        It says nothing else, and is not the small print below a table, which has few cells.
        """
        if len(row.cells) < min(len(layout.columns), 3) or not self._texts(row, layout):
            return False
        roles = ("amount", "debit", "credit", "balance")
        return not any(self._cell(row, layout, role) for role in roles)

    def _drafts(self, courses: dict[_Key, Course], layout: Layout) -> dict[_Key, Draft]:
        ids = Ordinals()
        drafts = {key: self._draft(key, course, layout, ids) for key, course in courses.items()}
        for key, line, why in self._lost:
            drafts[key].lost(f"line {line}", why, line)
        if self._lost_count > len(self._lost):
            more = self._lost_count - len(self._lost)
            next(iter(drafts.values())).problem("", f"and {more} rows more that cannot be read")
        return drafts

    def _draft(self, key: _Key, course: Course, layout: Layout, ids: Ordinals) -> Draft:
        account, currency = key
        first, last = course.first_day, course.last_day
        head = Head(
            file_name=self.file_name,
            format=self.format,
            place=f"line {course.line}",
            account=account,
            currency=currency,
            from_date=first,
            to_date=last,
            balances=self._balances(course, currency or ""),
            told_apart_by=("CSV",),
        )
        draft = Draft(head, ids)
        for off in course.off:
            stated, reached = (format_amount(a, currency or "") for a in (off.stated, off.reached))
            draft.problem(f"line {off.line}", f"balance {stated}, the movements reach {reached}")
        if layout.is_proposed:
            what = "no profile is known for it; the columns are guessed"
            draft.problem("", f"{what}: see `treasury statements profile {self.file_name}`")
        return draft

    def _balances(self, course: Course, currency: str) -> tuple[Balance, ...]:
        """Opening and closing: as stated above the table, else as the balance column has them."""
        stated = [self._above(name) for name in ("opening", "closing")]
        ends = [a if a is not None else b for a, b in zip(stated, course.ends, strict=True)]
        days = (course.first_day, course.last_day)
        return tuple(
            Balance(code, amount, currency, day)
            for code, amount, day in zip(("OPBD", "CLBD"), ends, days, strict=True)
            if amount is not None
        )

    def _above(self, name: str) -> Decimal | None:
        text = self._stated.get(name, "")
        try:
            return amount_in(text, self.decimal) if text else None
        except InputError:
            return None  # not in the file's own notation, so no balance to prove anything by


def _below(text: CsvText, layout: Layout) -> Iterator[Row]:
    """The rows below the header."""
    return islice(text.rows(layout.delimiter), layout.header + 1, None)


def _is_total(row: Row, day: str) -> bool:
    """Whether a row without a day is one of totals: it says so, or has nothing but amounts."""
    words = [plain(text) for text in map(cell, row.cells) if text and not is_amount(text)]
    return bool(day) or not words or any(word.startswith(TOTALS) for word in words)


def _stated(above: Sequence[Row]) -> dict[str, str]:
    """What the rows above the table say: the account, its currency, its balances."""
    found: dict[str, str] = {}
    for row in above[:200]:
        cells = [cell(text) for text in row.cells]
        for label, value in pairwise(cells):
            role = LABELS.get(plain(label))
            if role and value:
                found.setdefault(role, value)
    if "iban" in found:
        found["account"] = found["iban"]
    return found


_CODE: Final = re.compile(r"^[A-Z]{3}(?![A-Z])|(?<![A-Z])[A-Z]{3}$|[€$£]")
_KNOWN: Final = (
    "give camt.052/.053/.054, MT940/942 or CSV; for the CSV of an unknown bank describe its"
    " columns, see `treasury statements profile FILE`"
)
_AMOUNTS: Final = ("amount", "debit", "credit", "balance", "fee")
