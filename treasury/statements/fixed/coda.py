"""Reader of CODA, version 2: the coded account statements of Belgian banks.

The standard is Febelfin's, "Coded statement of account (CODA)". A movement is a record 21 followed
by records 22, 23 and 31 to 33; a total is followed by details with its number. Details of types 5
to 7 are payments and replace the total; details of types 8 and 9 only explain the amount.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

import msgspec

from treasury.core.errors import InputError
from treasury.core.identifiers import is_iban
from treasury.core.money import format_amount, total
from treasury.statements.balance_proof import EXACT, StatementBalance
from treasury.statements.byte_stream import ByteSource
from treasury.statements.entry_rows import EntryRow
from treasury.statements.field_values import account_number, reference
from treasury.statements.fixed.fixed_records import (
    FixedFile,
    FixedRecord,
    set_parties,
    six_digit_day,
)
from treasury.statements.statement_draft import StatementDraft, StatementHead

_ACCOUNTS: Final = {"0": (0, 12, 13), "1": (0, 34, 34), "2": (0, 31, 34), "3": (0, 34, 34)}
"""Positions of account and currency in their field, by the code of the account's structure."""
_PAYMENTS: Final = frozenset("567")
_THOUSANDTHS: Final = Decimal("0.001")
_DIGITS: Final = re.compile(r"[0-9]{15}", re.ASCII)
_PRINTED: Final = re.compile(r"\+\+\+ ?(\d{3})/(\d{4})/(\d{5}) ?\+\+\+", re.ASCII)
_BELGIAN: Final = re.compile(r"[0-9]{12}[ 0-9](?:[A-Z]{3}| {3})", re.ASCII)
_REASON: Final = re.compile(r"[A-Z]{2}[A-Z0-9]{2}", re.ASCII)
_MODULUS: Final = 97
_BELGIUM: Final = "111400"
"""`BE00` as digits, from which the check digits of an IBAN are computed."""

_COMMUNICATION: Final = {"21": (62, 115), "22": (10, 63), "23": (82, 125)}
_INFORMATION: Final = {"31": (40, 113), "32": (10, 115), "33": (10, 100)}
"""Positions of the communication in each record; in records 21 and 31 its type comes first."""
_SILENT: Final = frozenset({"105", "106", "108", "111", "113", "114", "115"})
"""Types of communication about the amount or the card, without a message."""


class _Statement(msgspec.Struct):
    """A statement being read: its draft, the records outside its entries, and its counts."""

    header: FixedRecord
    draft: StatementDraft | None = None
    currency: str | None = None
    states_currency: bool = True
    raws: list[str] = []
    records: int = 0
    sums: dict[str, Decimal] = {}
    is_ended: bool = False


class CodaFile(FixedFile):
    """One CODA file being read."""

    format = "CODA"
    begins = re.compile(rb"0{5}\d{6}[0-9 ]{3}05[ D]")
    width = 128
    most_records = 100_000

    def __init__(
        self,
        source: ByteSource,
        file_name: str,
        account: str | None = None,
        currencies: Mapping[str, str] | None = None,
    ) -> None:
        """Create a reader; `account` and `currencies` are used if the file states none."""
        super().__init__(source, file_name)
        self._account = account
        self._currencies = currencies or {}
        self._statement: _Statement | None = None

    def take(self, record: FixedRecord) -> Iterator[EntryRow]:
        """Read a record, and yield the rows that are complete by then."""
        kind = record.text[0]
        if kind == "0":
            yield from self.close()
            self._begin(record)
            return
        if self._statement is None:
            raise self.refused(record, "a record precedes the first header")
        if kind in "1238":
            self._statement.records += 1
        if kind in "23":
            if record.text[:2] == "21" and record.text[6:10] == "0000":
                yield from self._flush()
            self.keep(record)
            return
        yield from self._flush()
        self._take_other(self._statement, kind, record)

    def close(self) -> Iterator[EntryRow]:
        """Yield the rows that are complete at the end of the file or of a statement."""
        yield from self._flush()
        statement, self._statement = self._statement, None
        if statement is None or statement.draft is None:
            return
        if not statement.is_ended:
            statement.draft.problem("", "it ends before its trailer record")
        self.complete(statement.draft.finish("\n".join(statement.raws)), statement.draft)

    def _begin(self, record: FixedRecord) -> None:
        version = record.text[127:128]
        if version != "2":
            raise self.refused(record, f"CODA version {version!r} is not supported, only version 2")
        self._statement = _Statement(record, raws=[record.text])

    def _take_other(self, statement: _Statement, kind: str, record: FixedRecord) -> None:
        statement.raws.append(record.text)
        try:
            if kind == "1":
                self._take_old_balance(statement, record)
            elif kind == "8":
                amount, day = _signed_amount(record.text[41:57]), six_digit_day(record.text[57:63])
                balance = StatementBalance("CLBD", amount, statement.currency or "", day)
                self._draft_of(statement, record).balances.append(balance)
            elif kind == "9":
                # The trailer states the bank's own count of records and sums of movements.
                statement.is_ended = True
                draft, currency = self._draft_of(statement, record), statement.currency or ""
                stated = record.field(16, 22)
                if not stated.isdigit() or int(stated) != statement.records:
                    draft.problem("", f"the bank states {stated} records, read {statement.records}")
                for way, start in (("DBIT", 22), ("CRDT", 37)):
                    bank = _amount_of(record.text[start : start + 15])
                    read = statement.sums.get(way, Decimal(0))
                    if bank != read:
                        sums_text = (
                            f"{format_amount(bank, currency)}, read {format_amount(read, currency)}"
                        )
                        draft.problem("", f"the bank states {way} {sums_text}")
            elif kind != "4":
                raise InputError(f"a record of kind {kind!r} is not known")
        except InputError as error:
            if statement.draft is None:
                raise self.refused(record, error.what) from None
            statement.draft.problem(f"line {record.line}", error.what, record.line)

    def _take_old_balance(self, statement: _Statement, record: FixedRecord) -> None:
        text = record.text
        structure = text[1:2]
        # Some banks leave the structure blank; then the account number shows it.
        if structure == " ":
            is_domestic = _BELGIAN.match(text[5:42]) is not None
            structure = "3" if is_iban(text[5:39].strip()) else "0" if is_domestic else "1"
        places = _ACCOUNTS.get(structure)
        if places is None:
            raise InputError(f"{text[1:2]!r} is not a code for the structure of an account number")
        start, end, at = places
        account, currency = text[5:42][start:end].strip(), text[5:42][at : at + 3].strip()
        if structure == "0":
            account = belgian_iban(account)
        account = account_number(account or self._account or "")
        statement.states_currency = bool(currency)
        statement.currency = currency or self._currencies.get(account) or None
        amount, day = _signed_amount(text[42:58]), six_digit_day(text[58:64])
        balance = StatementBalance("OPBD", amount, statement.currency or "", day)
        head = statement.header
        number = text[125:128]
        statement.draft = StatementDraft(
            StatementHead(
                file_name=self.file_name,
                format=self.format,
                place=f"line {head.line}",
                message_id=head.field(24, 34) or None,
                bank_statement_id=record.field(2, 5) or None,
                sequence_number=int(number) if number.strip("0 ").isdigit() else None,
                account=account or None,
                account_name=record.field(64, 90) or None,
                servicer_bic=head.field(60, 71) or None,
                currency=statement.currency,
                balances=(balance,),
                told_apart_by=("CODA", balance.day),
            ),
            self._ids,
        )

    def _draft_of(self, statement: _Statement, record: FixedRecord) -> StatementDraft:
        if statement.draft is None:
            raise self.refused(record, "a record before the old balance")
        return statement.draft

    def _flush(self) -> Iterator[EntryRow]:
        """Yield the rows of the current entry; none if it cannot be read."""
        records, self._entry = self._entry, []
        if not records:
            return
        statement = self._statement
        assert statement is not None
        draft = self._draft_of(statement, records[0])
        position = f"line {records[0].line}"
        try:
            parts = _parts(records)
            parent, payments = _movement_of(parts, statement.currency)
        except InputError as error:
            draft.lost(position, error.what, records[0].line)
            return
        draft.count(parent)
        before = statement.sums.get(parent.direction, Decimal(0))
        statement.sums[parent.direction] = EXACT.add(before, parent.amount or Decimal(0))
        if payments:
            signed = [
                (row.amount or Decimal(0)) * (1 if row.direction == parent.direction else -1)
                for row in payments
            ]
            if total(signed) != parent.amount:
                sums = format_amount(total(signed), parent.currency or "")
                whole = format_amount(parent.amount or Decimal(0), parent.currency or "")
                draft.problem(position, f"details are {sums}, the entry {whole}")
        by_line = {part[0].line: part for part in parts}
        for row in payments or [parent]:
            line = int(row.position)
            raw = records if row is parent else [*parts[0], *by_line[line]]
            row.account, row.file_name = draft.head.account, self.file_name
            if not statement.states_currency:
                row.inferred = (*row.inferred, "currency")
            own = None if payments else row.account_servicer_reference
            draft.take(row, own, f"line {line}", "\n".join(record.text for record in raw))
            yield row


def _movement_of(
    parts: Sequence[Sequence[FixedRecord]], currency: str | None
) -> tuple[EntryRow, list[EntryRow]]:
    """Return an entry's row and its payments' rows, with the texts of details."""
    parent = _entry_of(parts[0], currency)
    payments: list[EntryRow] = []
    for part in parts[1:]:
        if part[0].text[53] in _PAYMENTS:
            payments.append(_entry_of(part, currency, parent))
        else:
            _add_detail_texts(payments[-1] if payments else parent, part)
    if parent.amount and not any(row.amount for row in payments):
        # Details with an amount of 0 only describe the movement.
        for part in parts[1:] if payments else ():
            _add_detail_texts(parent, part)
        payments = []
    return parent, payments


def _parts(records: Sequence[FixedRecord]) -> list[list[FixedRecord]]:
    """Return the records of an entry, and those of each detail.

    Raises InputError for an incomplete or misplaced record.
    """
    parts: list[list[FixedRecord]] = []
    for record in records:
        record.require_width(CodaFile.width)
        if record.text[:2] == "21":
            parts.append([record])
        elif not parts:
            raise InputError(f"line {record.line}: a record 21 is missing before it")
        elif record.text[2:6] != parts[0][0].text[2:6]:
            raise InputError(f"line {record.line} belongs to another entry")
        else:
            parts[-1].append(record)
    return parts


def _amount_of(text: str) -> Decimal:
    """Return an amount of fifteen digits, three of which are decimals.

    Raises InputError for anything else.
    """
    if not _DIGITS.fullmatch(text):
        raise InputError(f"{text!r} is not an amount")
    return Decimal(text) * _THOUSANDTHS


def _signed_amount(text: str) -> Decimal:
    """Return a signed amount; its first digit is 0 for a credit, 1 for a debit."""
    if text[:1] not in {"0", "1"}:
        raise InputError(f"{text[:1]!r} is neither credit nor debit")
    amount = _amount_of(text[1:])
    return -amount if text[0] == "1" else amount


def belgian_iban(number: str) -> str:
    """Return the IBAN for a Belgian account number of twelve digits; return others unchanged."""
    if not (number.isascii() and number.isdigit()) or len(number) != len("539007547034"):
        return number
    return f"BE{_MODULUS + 1 - int(number + _BELGIUM) % _MODULUS:02d}{number}"


def belgian_reference(digits: str) -> str | None:
    """Return a Belgian structured communication as printed; None if its check digits fail."""
    if not (digits.isascii() and digits.isdigit()) or len(digits) != len("090933755493"):
        return None
    if int(digits[10:]) != (int(digits[:10]) % _MODULUS or _MODULUS):
        return None
    return f"+++{digits[:3]}/{digits[3:7]}/{digits[7:]}+++"


def _entry_of(
    records: Sequence[FixedRecord], currency: str | None, parent: EntryRow | None = None
) -> EntryRow:
    """Return the row of a movement, or of a detail whose movement is `parent`.

    A detail without a booking day has that of its movement. The row's `position` is the line of the
    first record. Raises InputError if a value cannot be read.
    """
    first = records[0]
    text = first.text
    signed = _signed_amount(text[31:47])
    booked = six_digit_day(text[115:121])
    row = EntryRow(
        position=str(first.line),
        amount=signed.copy_abs(),
        currency=currency,
        direction="DBIT" if text[31] == "1" else "CRDT",
        entry_status="BOOK",
        booking_date=booked,
        value_date=six_digit_day(text[47:53]),
        account_servicer_reference=reference(first.field(10, 31) or None),
        proprietary_code=first.field(53, 61) or None,
    )
    if booked is None:
        row.booking_date = parent.booking_date if parent is not None else row.value_date
        row.inferred = ("booking_date",)
        if row.booking_date is None:
            raise InputError("it has neither an entry date nor a value date")
    _add_texts(row, records)
    for record in records[1:]:
        if record.text.startswith("22"):
            row.end_to_end_id = reference(record.field(63, 98) or None)
            row.counterparty_agent = record.field(98, 109) or None
            if _REASON.fullmatch(record.text[113:117]):
                row.return_reason = record.text[113:117]
        elif record.text.startswith("23"):
            account = account_number(record.text[10:44])
            row.counterparty_account = account if account.strip("0") else None
            row.counterparty_name = record.field(47, 82) or None
    if parent is not None and row.direction == parent.direction:
        for name in _INHERITED:
            if getattr(row, name) is None:
                setattr(row, name, getattr(parent, name))
    set_parties(row)
    return row


def _add_texts(row: EntryRow, records: Sequence[FixedRecord]) -> None:
    _add_communication(row, records[0].text[61], _joined(records, _COMMUNICATION))
    _add_information(row, records)


def _add_detail_texts(row: EntryRow, records: Sequence[FixedRecord]) -> None:
    """Add the texts of a detail that is not a payment, which may have the payer's words."""
    detail = EntryRow()
    _add_texts(detail, records)
    for text in (*detail.remittance, detail.additional_information or ""):
        if text not in {*row.remittance, row.additional_information}:
            _append(row, text)
    known = row.structured_references
    row.structured_references = tuple(dict.fromkeys((*known, *detail.structured_references)))


def _joined(records: Sequence[FixedRecord], places: dict[str, tuple[int, int]]) -> str:
    """Return the joined parts of a communication that spans several records."""
    parts = (places.get(record.text[:2]) for record in records)
    return "".join(
        record.text[place[0] : place[1]]
        for record, place in zip(records, parts, strict=True)
        if place is not None
    )


def _add_communication(row: EntryRow, kind: str, text: str) -> None:
    """Add the message of a payment: a free text, or a structure with a code of three digits."""
    if kind != "1":
        row.remittance = _squeezed(text)
        row.structured_references = _printed(text)
        return
    code, message = text[:3], text[3:]
    if code in {"101", "102"}:
        printed = belgian_reference(message[:12])
        row.structured_references = (printed,) if printed else ()
        row.remittance = () if printed else _squeezed(message)
    elif code == "100":
        row.structured_references = tuple(filter(None, [message.strip()]))
    elif code == "105":
        # The fields: gross amount in both currencies, rate, currency, structured communication.
        if _DIGITS.fullmatch(message[15:30]) and message[42:45].isalpha():
            row.instructed_amount = _amount_of(message[15:30])
            row.instructed_currency = message[42:45]
        structured = belgian_reference(message[45:57])
        row.structured_references = (structured,) if structured else ()
    elif code == "127":
        row.mandate_id = reference(message[44:79].strip() or None)
        row.remittance = _squeezed(message[79:141])
        row.structured_references = _printed(message[79:141])
        row.return_reason = message[142:146] if _REASON.fullmatch(message[142:146]) else None
    elif code not in _SILENT:
        row.remittance = _squeezed(message)


def _squeezed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, [" ".join(text.split())]))


def _printed(text: str) -> tuple[str, ...]:
    """Return the printed structured communications in a free text that have valid check digits."""
    references = (belgian_reference("".join(digits)) for digits in _PRINTED.findall(text))
    return tuple(filter(None, references))


def _add_information(row: EntryRow, records: Sequence[FixedRecord]) -> None:
    """Add the name of the other party and the texts in records 31 to 33."""
    groups: list[list[FixedRecord]] = []
    for record in records:
        if record.text.startswith("31"):
            groups.append([record])
        elif record.text[0] == "3" and groups:
            groups[-1].append(record)
    for group in groups:
        text = _joined(group, _INFORMATION)
        code = text[:3] if group[0].text[39] == "1" else ""
        if code in _NAMES:
            row.counterparty_name = row.counterparty_name or text[3:73].strip() or None
        elif code not in _AMOUNTS:
            # Any of these records may have the payer's words, so every text is added.
            _append(row, text[len(code) :])


_NAMES: Final = frozenset({"001", "008", "009"})
"""Types of information that begin with the name of the other party, or of its principal."""
_AMOUNTS: Final = frozenset({"004", "005", "006", "007", "010", "011"})
"""Types of information about banks, amounts, cash and securities, without a message."""


def _append(row: EntryRow, text: str) -> None:
    texts = (row.additional_information, " ".join(text.split()))
    row.additional_information = " ".join(filter(None, texts)) or None


_INHERITED: Final = (
    "counterparty_name", "counterparty_account", "counterparty_agent", "end_to_end_id",
    "additional_information",
)  # fmt: skip
"""Columns that a detail of the same direction copies from its movement if they are empty."""
