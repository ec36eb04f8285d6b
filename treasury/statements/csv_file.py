"""Reads a bank's CSV export by its profile: rows in, statements proved by their balance column out.

CSV has no statements: the rows of one account and currency are one. Its balances are those stated
above the table, else those of the balance column, which has to follow the amounts row by row.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Context, Decimal
from itertools import pairwise
from typing import Final, Literal

import msgspec
import pyarrow as pa

from treasury.errors import InputError, StatementError
from treasury.money import format_amount
from treasury.statements.csv_layout import Layout, Row, layout_of, proposal, rows_of
from treasury.statements.csv_values import amount_in, cell, day_in, decimal_sign, is_amount
from treasury.statements.draft import MOST_PROBLEMS, Draft, Head
from treasury.statements.identity import Ordinals
from treasury.statements.profiles import BUILT_IN, Profile, plain
from treasury.statements.proof import Balance
from treasury.statements.rows import EntryRow, Problem, StatementRow, entry_batch
from treasury.statements.stream import Source, Stream, UnknownFormat
from treasury.statements.values import account_number, reference

__all__ = ["GUESSED", "CsvFile", "decoded"]

GUESSED: Final = "CSV proposed"
"""The format of a file without a profile."""

_BATCH: Final = 1024
_MOST_BYTES: Final = 128 << 20
_CHUNK: Final = 1 << 20
_EXACT: Final = Context(prec=80)


class _Movement(msgspec.Struct, gc=False):
    """A row that moved money, with the rows of text below it."""

    row: EntryRow
    line: int
    signed: Decimal
    balance: Decimal | None
    raw: str


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
        self._source = source if isinstance(source, Stream) else Stream(source)
        self._profiles = (*profiles, *BUILT_IN)
        self._account = account
        self._preamble: dict[str, str] = {}
        self.decimal: Literal["", ",", "."] = ""
        self._usual_debit = -1
        self._lost: list[tuple[str, int, str]] = []
        self._groups: dict[tuple[str | None, str | None], list[_Movement]] = {}

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, once they are all read."""
        return self._source.sha256

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of `statement_entries`, some thousands at a time, in the file's order."""
        lines = self._lines()
        layout = self.layout = self._layout(lines)
        self.format = f"CSV {layout.profile.name}"
        rows = list(rows_of(lines, layout.delimiter, self.file_name))
        above, below = rows[: max(layout.header, 0)], rows[layout.header + 1 :]
        self._preamble = _stated(above)
        self._learn(below, layout)
        for row in below:
            self._take(row, layout)
        ids = Ordinals()
        done: list[StatementRow] = []
        head = "\n".join(row.raw for row in rows[: layout.header + 1])
        for (account, currency), moved in self._groups.items():
            draft = self._draft(layout, account, currency, moved, ids)
            for start in range(0, len(moved), _BATCH):
                batch = moved[start : start + _BATCH]
                for one in batch:
                    own = one.row.account_servicer_reference
                    draft.take(one.row, own, f"line {one.line}", one.raw)
                    draft.count(one.row)
                yield entry_batch([one.row for one in batch])
            done.append(draft.finish(head))
            self.problems += draft.problems[: MOST_PROBLEMS - len(self.problems)]
        self.statements = tuple(
            msgspec.structs.replace(row, file_sha256=self.sha256) for row in done
        )
        if not done:
            self.problems.append(Problem(self.file_name, "", "there is no movement in the file"))

    def _lines(self) -> list[str]:
        data = bytearray()
        while chunk := self._source.read(_CHUNK):
            data += chunk
            if len(data) > _MOST_BYTES:
                raise self._refused(f"more than {_MOST_BYTES >> 20} MB of CSV", "split it by month")
        text, encoding = decoded(bytes(data))
        if encoding not in {"utf-8", "utf-16"}:
            self.problems.append(Problem(self.file_name, "", f"not UTF-8; read as {encoding}"))
        if "\0" in text:
            raise UnknownFormat(
                f"{self.file_name}: not a bank statement in any known format", do=_KNOWN
            )
        return io.StringIO(text, newline=None).readlines()

    def _layout(self, lines: Sequence[str]) -> Layout:
        known = layout_of(lines, self._profiles, self.file_name)
        if known is not None:
            return known
        guessed = proposal(lines, self.file_name)
        if guessed is None:
            raise UnknownFormat(
                f"{self.file_name}: not a bank statement in any known format", do=_KNOWN
            )
        return guessed

    def _learn(self, rows: Sequence[Row], layout: Layout) -> None:
        """What only the whole file shows: the decimal sign, and how debits are signed."""
        places = [p for role in _AMOUNTS for p in layout.columns.get(role, ())]
        cells = (cell(r.cells[p]) for r in rows for p in places if p < len(r.cells))
        self.decimal = layout.profile.decimal or decimal_sign(c for c in cells if is_amount(c))
        debits = (self._cell(row, layout, "debit") for row in rows)
        signs = [text.startswith(("-", "\u2212")) or text.endswith("-") for text in debits if text]
        self._usual_debit = -1 if sum(signs) * 2 > len(signs) else 1

    def _cell(self, row: Row, layout: Layout, role: str) -> str:
        """The first cell of a role that is not empty."""
        for place in layout.columns.get(role, ()):
            if place < len(row.cells) and (text := cell(row.cells[place])):
                return text
        return ""

    def _take(self, row: Row, layout: Layout) -> None:
        day = self._cell(row, layout, "booking_date")
        has_amount = any(self._cell(row, layout, role) for role in ("amount", "debit", "credit"))
        if not has_amount:
            self._continue(row, layout)
            return
        if not any(map(str.isdigit, day)):
            if day == "":
                self._lose(row, layout, "it has no booking date")
            return  # a row of totals below the table
        try:
            self._move(row, layout, day)
        except InputError as error:
            self._lose(row, layout, error.what)

    def _key(self, row: Row, layout: Layout) -> tuple[str | None, str | None]:
        account = self._cell(row, layout, "account") or self._preamble.get("account", "")
        currency = self._cell(row, layout, "currency") or layout.header_currency or ""
        currency = currency or self._preamble.get("currency", "") or layout.profile.currency
        number = account_number(account) if account else self._account
        return number or None, _SIGNS.get(currency, currency.upper()) or None

    def _lose(self, row: Row, layout: Layout, why: str) -> None:
        self._groups.setdefault(self._key(row, layout), [])
        self._lost.append((f"line {row.line}", row.line, why))

    def _move(self, row: Row, layout: Layout, day: str) -> None:
        key = self._key(row, layout)
        order = layout.profile.day_order
        booked = day_in(day, order)
        value = self._cell(row, layout, "value_date")
        signed, is_reversal = self._signed(row, layout)
        fee = self._amount(row, layout, "fee") or Decimal(0)
        if not layout.profile.fee_included:
            signed = _EXACT.subtract(signed, fee.copy_abs())
        balance = self._amount(row, layout, "balance")
        entry = self._entry(row, layout, key, signed)
        entry.booking_date = booked
        entry.value_date = day_in(value, order) if value else None
        entry.is_reversal = is_reversal
        if fee:
            entry.charges_amount, entry.charges_currency = fee.copy_abs(), key[1]
        self._groups.setdefault(key, []).append(
            _Movement(entry, row.line, signed, balance, row.raw)
        )

    def _amount(self, row: Row, layout: Layout, role: str) -> Decimal | None:
        text = self._cell(row, layout, role)
        return amount_in(text, self.decimal) if text else None

    def _signed(self, row: Row, layout: Layout) -> tuple[Decimal, bool]:
        """What the account gained or lost; whether in the other direction's column."""
        amount = self._amount(row, layout, "amount")
        if amount is not None:
            sign = plain(self._cell(row, layout, "sign"))
            if sign in _OUT:
                return -amount.copy_abs(), False
            if sign and sign not in _IN:
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

    def _entry(
        self, row: Row, layout: Layout, key: tuple[str | None, str | None], signed: Decimal
    ) -> EntryRow:
        account, currency = key

        def said(role: str) -> str | None:
            return self._cell(row, layout, role) or None

        status = _STATUS.get(plain(said("status") or ""), "")
        inferred = [] if status else ["entry_status"]
        if not self._cell(row, layout, "currency") and currency == layout.profile.currency:
            inferred.append("currency")
        places = layout.columns.get("booking_date", ())
        if places and not cell(row.cells[places[0]] if places[0] < len(row.cells) else ""):
            inferred.append("booking_date")
        other = said("counterparty_account")
        entry = EntryRow(
            account=account,
            currency=currency,
            amount=signed.copy_abs(),
            direction="DBIT" if signed < 0 else "CRDT",
            entry_status=status or "BOOK",
            account_servicer_reference=reference(said("reference")),
            end_to_end_id=reference(said("end_to_end_id")),
            mandate_id=reference(said("mandate_id")),
            remittance=self._texts(row, layout),
            structured_references=tuple(filter(None, [said("structured_reference")])),
            proprietary_code=said("kind"),
            counterparty_name=said("counterparty_name"),
            counterparty_account=account_number(other) if other else None,
            counterparty_agent=said("counterparty_agent"),
            inferred=tuple(inferred),
            file_name=self.file_name,
        )
        side = "debtor" if entry.direction == "CRDT" else "creditor"
        for part in ("name", "account", "agent"):
            setattr(entry, f"{side}_{part}", getattr(entry, f"counterparty_{part}"))
        return entry

    def _texts(self, row: Row, layout: Layout) -> tuple[str, ...]:
        places = layout.columns.get("text", ())
        texts = (cell(row.cells[p]) for p in places if p < len(row.cells))
        return tuple(dict.fromkeys(text for text in texts if text))

    def _continue(self, row: Row, layout: Layout) -> None:
        """A row without an amount goes on with the text of the movement above it."""
        texts = self._texts(row, layout)
        above = next(reversed(self._groups.values()), None)
        if texts and above and not self._is_prose(row, layout):
            last = above[-1]
            last.row.remittance = (*last.row.remittance, *texts)
            last.raw = f"{last.raw}\n{row.raw}"

    def _is_prose(self, row: Row, layout: Layout) -> bool:
        """Whether the row is the small print below a table."""
        return len(row.cells) < min(len(layout.columns), 3)

    def _draft(
        self,
        layout: Layout,
        account: str | None,
        currency: str | None,
        moved: Sequence[_Movement],
        ids: Ordinals,
    ) -> Draft:
        days = [one.row.booking_date for one in moved if one.row.booking_date]
        first, last = (min(days), max(days)) if days else (None, None)
        ordered, off = _in_time(moved)
        balances = self._balances(ordered, currency or "", first, last)
        head = Head(
            file_name=self.file_name,
            format=self.format,
            place=f"line {moved[0].line}" if moved else "the table",
            account=account,
            currency=currency,
            from_date=first,
            to_date=last,
            balances=balances,
            told_apart_by=("CSV",),
        )
        draft = Draft(head, ids)
        for position, line, why in self._lost:
            draft.lost(position, why, line)
        self._lost = []
        for line, stated, reached in off[:MOST_PROBLEMS]:
            shown = format_amount(stated, currency or ""), format_amount(reached, currency or "")
            draft.problem(f"line {line}", f"balance {shown[0]}, the movements reach {shown[1]}")
        if layout.is_proposed:
            what = "no profile is known for it; the columns are guessed"
            draft.problem("", f"{what}: see `treasury statements profile {self.file_name}`")
        return draft

    def _balances(
        self, ordered: Sequence[_Movement], currency: str, first: date | None, last: date | None
    ) -> tuple[Balance, ...]:
        """Opening and closing: as stated above the table, else as the balance column has them."""
        stated = [self._above(name) for name in ("opening", "closing")]
        column = _ends(ordered)
        ends = [a if a is not None else b for a, b in zip(stated, column, strict=True)]
        days = (first, last)
        return tuple(
            Balance(code, amount, currency, day)
            for code, amount, day in zip(("OPBD", "CLBD"), ends, days, strict=True)
            if amount is not None
        )

    def _above(self, name: str) -> Decimal | None:
        text = self._preamble.get(name, "")
        try:
            return amount_in(text, self.decimal) if text else None
        except InputError:
            return None  # not in the file's own notation, so no balance to prove anything by

    def _refused(self, why: str, do: str) -> StatementError:
        return StatementError(f"{self.file_name}: {why}", do=do)


def decoded(data: bytes) -> tuple[str, str]:
    """The text of a file, and the encoding it was found to be in."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), "utf-16"
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return data.decode(encoding), "utf-8" if encoding == "utf-8-sig" else "Windows-1252"
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1"), "Latin-1"


def _in_time(
    moved: Sequence[_Movement],
) -> tuple[Sequence[_Movement], list[tuple[int, Decimal, Decimal]]]:
    """The movements from the oldest on, and where the balance column does not follow them."""
    forward, backward = moved, list(reversed(moved))
    off_forward, off_backward = _off(forward), _off(backward)
    days = [one.row.booking_date for one in moved]
    newest_first = bool(days) and (days[0] or date.min) > (days[-1] or date.min)
    if len(off_backward) < len(off_forward) or (
        len(off_backward) == len(off_forward) and newest_first
    ):
        return backward, off_backward
    return forward, off_forward


def _off(ordered: Sequence[_Movement]) -> list[tuple[int, Decimal, Decimal]]:
    """Line, stated balance and reached one, wherever the column does not follow the amounts."""
    off: list[tuple[int, Decimal, Decimal]] = []
    reached: Decimal | None = None
    for one in ordered:
        if one.row.entry_status == "BOOK" and reached is not None:
            reached = _EXACT.add(reached, one.signed)
        if one.balance is not None:
            if reached is not None and reached != one.balance:
                off.append((one.line, one.balance, reached))
            reached = one.balance
    return off


def _ends(ordered: Sequence[_Movement]) -> tuple[Decimal | None, Decimal | None]:
    """Opening and closing balance of the column; no opening where only one row states a balance.

    From a single balance the opening could be worked out, but would then prove nothing.
    """
    moved = Decimal(0)
    opening = closing = None
    stated = 0
    for one in ordered:
        if one.row.entry_status == "BOOK":
            moved = _EXACT.add(moved, one.signed)
            closing = None if closing is None else _EXACT.add(closing, one.signed)
        if one.balance is not None:
            stated += 1
            closing = one.balance
            if opening is None:
                opening = _EXACT.subtract(one.balance, moved)
    return (opening if stated > 1 else None), closing


def _stated(above: Sequence[Row]) -> dict[str, str]:
    """What the rows above the table say: the account, its currency, its balances."""
    found: dict[str, str] = {}
    for row in above[:200]:
        cells = [cell(text) for text in row.cells]
        for label, value in pairwise(cells):
            role = _LABELS.get(plain(label))
            if role and value:
                found.setdefault(role, value)
    if "iban" in found:
        found["account"] = found["iban"]
    return found


_KNOWN: Final = (
    "give camt.052/.053/.054, MT940/942 or CSV; for the CSV of an unknown bank describe its"
    " columns, see `treasury statements profile FILE`"
)
_AMOUNTS: Final = ("amount", "debit", "credit", "balance", "fee")
_SIGNS: Final = {"€": "EUR", "$": "USD", "£": "GBP"}
_OUT: Final = frozenset({"d", "dr", "debit", "debet", "af", "soll", "s", "debito", "out", "dbit"})
_IN: Final = frozenset(
    {"c", "cr", "credit", "bij", "haben", "h", "credito", "in", "crdt", "kredit"}
)
_BOOKED: Final = (
    "booked", "completed", "gebucht", "umsatzgebucht", "geaccepteerd", "accepte", "accepted",
    "executed", "settled", "posted", "verarbeitet",
)  # fmt: skip
_PENDING: Final = ("pending", "vorgemerkt", "umsatzvorgemerkt", "inbehandeling", "processing",
                   "created", "encours")  # fmt: skip
_FAILED: Final = ("declined", "failed", "reverted", "refuse", "geweigerd", "rejected", "cancelled",
                  "canceled", "refused")  # fmt: skip
_STATUS: Final = {
    **dict.fromkeys(_BOOKED, "BOOK"),
    **dict.fromkeys(_PENDING, "PDNG"),
    **dict.fromkeys(_FAILED, "INFO"),
}
_LABELS: Final = {
    **dict.fromkeys(("iban",), "iban"),
    **dict.fromkeys(
        ("accountnumber", "account", "konto", "kontonummer", "numerodiconto", "numerodecompte",
         "compte", "conto", "rekening", "rekeningnummer", "kartenkonto", "cuenta"), "account"),
    **dict.fromkeys(
        ("openingbalance", "saldoiniziale", "anfangssaldo", "soldeinitial", "beginsaldo",
         "alterkontostand", "startsaldo"), "opening"),
    **dict.fromkeys(
        ("closingbalance", "saldofinale", "schlusssaldo", "soldefinal", "eindsaldo", "endsaldo"),
        "closing"),
    **dict.fromkeys(
        ("valuedin", "valutazionein", "bewertetin", "evalueen", "currency", "wahrung", "devise",
         "moneta", "monnaie", "munt"), "currency"),
}  # fmt: skip
