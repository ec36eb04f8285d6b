"""Reads CODA, version 2: the coded statements of account of Belgian banks.

The standard is Febelfin's, "Coded statement of account (CODA)". A movement is a record 21 with 22,
23 and 31 to 33 below it; one that totals others is followed by them as details of its number.
Those of types 5 to 7 are payments of their own, and are the rows in its place; those of type 8 and
9 only say what an amount is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from typing import Final

import msgspec

from treasury.errors import InputError
from treasury.money import format_amount, total
from treasury.statements.balance_proof import StatementBalance
from treasury.statements.byte_stream import ByteSource
from treasury.statements.entry_rows import EntryRow
from treasury.statements.field_values import account_number
from treasury.statements.fixed.coda_entry import amount_of, belgian_iban, entry_of, signed_amount
from treasury.statements.fixed.fixed_records import FixedFile, FixedRecord, six_digit_day
from treasury.statements.statement_draft import StatementDraft, StatementHead

__all__ = ["CodaFile", "looks_like_coda"]

_EXACT: Final = Context(prec=80)
_BEGINS: Final = re.compile(rb"0{5}\d{6}[0-9 ]{3}05[ D]")
_ACCOUNTS: Final = {"0": (0, 12, 13), "1": (0, 34, 34), "2": (0, 31, 34), "3": (0, 34, 34)}
"""Where account and currency stand in their field, by the account's structure."""
_PAYMENTS: Final = frozenset("567")
_MOST_RECORDS: Final = 100_000


def looks_like_coda(head: bytes) -> bool:
    """Whether a file that begins like this is in CODA, of whatever version."""
    return _BEGINS.match(head) is not None


class _Statement(msgspec.Struct):
    """A statement being read: its draft, the records outside its entries, what was counted."""

    header: FixedRecord
    draft: StatementDraft | None = None
    currency: str = ""
    raws: list[str] = []
    records: int = 0
    sums: dict[str, Decimal] = {}
    is_ended: bool = False


class CodaFile(FixedFile):
    """One CODA file being read."""

    format = "CODA"
    width = 128

    def __init__(self, source: ByteSource, file_name: str) -> None:
        super().__init__(source, file_name)
        self._statement: _Statement | None = None
        self._entry: list[FixedRecord] = []

    def take(self, record: FixedRecord) -> Iterator[EntryRow]:
        """The rows that are complete with this record."""
        kind = record.text[0]
        if kind == "0":
            yield from self.close()
            self._begin(record)
            return
        if self._statement is None:
            raise self.refused(record, "a record before any header")
        if kind in "1238":
            self._statement.records += 1
        if kind in "23":
            if record.text[:2] == "21" and record.text[6:10] == "0000":
                yield from self._flush()
            self._entry.append(record)
            if len(self._entry) > _MOST_RECORDS:
                raise self.refused(record, f"more than {_MOST_RECORDS} records of one entry")
            return
        yield from self._flush()
        self._take_other(self._statement, kind, record)

    def close(self) -> Iterator[EntryRow]:
        """The rows that are complete with the end of the file or of a statement."""
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
            raise self.refused(record, f"CODA of version {version!r}; version 2 is read")
        self._statement = _Statement(record, raws=[record.text])

    def _take_other(self, statement: _Statement, kind: str, record: FixedRecord) -> None:
        statement.raws.append(record.text)
        try:
            if kind == "1":
                self._take_old_balance(statement, record)
            elif kind == "8":
                amount, day = signed_amount(record.text[41:57]), six_digit_day(record.text[57:63])
                balance = StatementBalance("CLBD", amount, statement.currency, day)
                self._draft_of(statement, record).add_balance(balance)
            elif kind == "9":
                # The bank's own count of records and sums of what moved.
                statement.is_ended = True
                draft, currency = self._draft_of(statement, record), statement.currency
                stated = record.field(16, 22)
                if not stated.isdigit() or int(stated) != statement.records:
                    draft.problem("", f"the bank says {stated} records, read {statement.records}")
                for way, start in (("DBIT", 22), ("CRDT", 37)):
                    bank = amount_of(record.text[start : start + 15])
                    read = statement.sums.get(way, Decimal(0))
                    if bank != read:
                        sums_text = (
                            f"{format_amount(bank, currency)}, read {format_amount(read, currency)}"
                        )
                        draft.problem("", f"the bank says {way} {sums_text}")
            elif kind != "4":
                raise InputError(f"a record of kind {kind!r} is not known")
        except InputError as error:
            if statement.draft is None:
                raise self.refused(record, error.what) from None
            statement.draft.problem(f"line {record.line}", error.what, record.line)

    def _take_old_balance(self, statement: _Statement, record: FixedRecord) -> None:
        text = record.text
        places = _ACCOUNTS.get(text[1:2])
        if places is None:
            raise InputError(f"{text[1:2]!r} is no structure of an account number")
        start, end, at = places
        account, statement.currency = text[5:42][start:end], text[5:42][at : at + 3]
        if text[1:2] == "0":
            account = belgian_iban(account)
        amount = signed_amount(text[42:58])
        balance = StatementBalance("OPBD", amount, statement.currency, six_digit_day(text[58:64]))
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
                account=account_number(account) or None,
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
        """The rows of the entry whose records are complete."""
        records, self._entry = self._entry, []
        if not records:
            return
        statement = self._statement
        assert statement is not None
        draft = self._draft_of(statement, records[0])
        position = f"line {records[0].line}"
        try:
            parts = _parts(records, self.width)
            parent = entry_of(parts[0], statement.currency)
            payments = [
                entry_of(part, statement.currency, parent)
                for part in parts[1:]
                if part[0].text[53] in _PAYMENTS
            ]
        except InputError as error:
            draft.lost(position, error.what, records[0].line)
            return
        self._count(statement, draft, parent)
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
            own = None if payments else row.account_servicer_reference
            draft.take(row, own, f"line {line}", "\n".join(record.text for record in raw))
            yield row

    def _count(self, statement: _Statement, draft: StatementDraft, parent: EntryRow) -> None:
        draft.count(parent)
        way, amount = parent.direction, parent.amount or Decimal(0)
        statement.sums[way] = _EXACT.add(statement.sums.get(way, Decimal(0)), amount)


def _parts(records: Sequence[FixedRecord], width: int) -> list[list[FixedRecord]]:
    """The records of an entry and of each of its details. InputError for a torn record."""
    parts: list[list[FixedRecord]] = []
    for record in records:
        if len(record.text) != width:
            count = len(record.text)
            raise InputError(f"line {record.line} has {count} characters instead of {width}")
        if record.text[:2] == "21":
            parts.append([record])
        elif not parts:
            raise InputError(f"line {record.line}: a record 21 should stand before it")
        elif record.text[2:6] != parts[0][0].text[2:6]:
            raise InputError(f"line {record.line} is of another entry")
        else:
            parts[-1].append(record)
    return parts
