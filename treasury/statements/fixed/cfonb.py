"""Reader of CFONB 120, the account statements of French banks.

The standard is CFONB's, "Relevé de compte sur support informatique, 120 caractères". A statement
has a record 01 (old balance), records 04 (movements), each followed by its records 05 (details),
and a record 07 (new balance). A letter in place of an amount's last digit encodes the digit and the
sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from treasury.core.errors import InputError
from treasury.statements.balance_proof import StatementBalance
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

_AMOUNT: Final = re.compile(r"[0-9]{13}[{A-I}J-R]", re.ASCII)
_POSITIVE: Final = "{ABCDEFGHI"
_NEGATIVE: Final = "}JKLMNOPQR"
_KEY_DIGITS: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "12345678912345678923456789")
_MODULUS: Final = 97
_FRANCE: Final = "152700"
"""`FR00` as digits, from which the check digits of an IBAN are computed."""


def french_iban(bank: str, branch: str, account: str) -> str:
    """Return the IBAN of a French account; its key and check digits are computed.

    Raises InputError if the parts do not form an account.
    """
    digits = [part.translate(_KEY_DIGITS) for part in (bank, branch, account)]
    if [len(part) for part in digits] != [5, 5, 11] or not all(
        part.isascii() and part.isdigit() for part in digits
    ):
        raise InputError(f"{bank} {branch} {account} is not a French account number")
    weighted = sum(weight * int(part) for weight, part in zip((89, 15, 3), digits, strict=True))
    number = f"{bank}{branch}{account}{_MODULUS - weighted % _MODULUS:02d}"
    as_number = "".join(str(int(char, 36)) for char in number) + _FRANCE
    return f"FR{_MODULUS + 1 - int(as_number) % _MODULUS:02d}{number}"


class CfonbFile(FixedFile):
    """One CFONB 120 file being read."""

    format = "CFONB 120"
    begins = re.compile(rb"01\d{5}[ 0-9A-Z]{4}[0-9A-Z]{5}[A-Z]{3}\d[ 0-9][0-9A-Z]{11}")
    width = 120
    most_records = 10_000

    def __init__(self, source: ByteSource, file_name: str) -> None:
        super().__init__(source, file_name)
        self._draft: StatementDraft | None = None
        self._raws: list[str] = []
        self._account = ""

    def take(self, record: FixedRecord) -> Iterator[EntryRow]:
        """Read a record, and yield the row that is complete by then."""
        # Mail programs and editors cut the blanks at the end of a line.
        record = FixedRecord(record.text.ljust(self.width), record.line)
        kind = record.text[:2]
        if kind == "05" and self._entry:
            self.keep(record)
            return
        yield from self._flush()
        if kind == "01":
            yield from self.close()
            self._begin(record)
            return
        if self._draft is None:
            raise self.refused(record, "a record precedes the first old balance")
        if kind == "04":
            self._entry = [record]
        elif kind == "07":
            self._end(self._draft, record)
        else:
            reason = f"a record of kind {kind!r} is unknown, or not allowed here"
            self._draft.problem(f"line {record.line}", reason, record.line)

    def close(self) -> Iterator[EntryRow]:
        """Yield the row that is complete at the end of the file or of a statement."""
        yield from self._flush()
        draft, self._draft = self._draft, None
        if draft is not None:
            draft.problem("", "it ends before its new balance")
            self.complete(draft.finish("\n".join(self._raws)), draft)

    def _begin(self, record: FixedRecord) -> None:
        self._account, self._raws = _account_of(record), [record.text]
        try:
            balance = _balance(record, "OPBD")
            account = french_iban(record.text[2:7], record.text[11:16], record.text[21:32])
        except InputError as error:
            raise self.refused(record, error.what) from None
        self._draft = StatementDraft(
            StatementHead(
                file_name=self.file_name,
                format=self.format,
                place=f"line {record.line}",
                account=account,
                currency=balance.currency,
                balances=(balance,),
                told_apart_by=("CFONB", balance.day),
            ),
            self._ids,
        )

    def _end(self, draft: StatementDraft, record: FixedRecord) -> None:
        self._raws.append(record.text)
        try:
            if _account_of(record, draft.head.currency) != self._account:
                raise InputError("the new balance belongs to another account")
            draft.balances.append(_balance(record, "CLBD", draft.head.currency))
        except InputError as error:
            draft.problem(f"line {record.line}", error.what, record.line)
        self._draft = None
        self.complete(draft.finish("\n".join(self._raws)), draft)

    def _flush(self) -> Iterator[EntryRow]:
        """Yield the row of the current entry; none if it cannot be read."""
        records, self._entry = self._entry, []
        if not records or self._draft is None:
            return
        first, draft = records[0], self._draft
        try:
            if _account_of(first, draft.head.currency) != self._account:
                raise InputError("its account is not the statement's")
            row = _entry_of(first, draft.head.currency)
            for record in records[1:]:
                record.require_width(CfonbFile.width)
                if _account_of(record, draft.head.currency) != self._account:
                    raise InputError(f"line {record.line} belongs to another account")
                if record.text[48:118].strip():
                    _add_more(row, record.text[45:48].strip(), record.text[48:118])
        except InputError as error:
            draft.lost(f"line {first.line}", error.what, first.line)
            return
        row.account, row.file_name = draft.head.account, self.file_name
        set_parties(row)
        raw = "\n".join(record.text for record in records)
        draft.take(row, row.account_servicer_reference, f"line {first.line}", raw)
        draft.count(row)
        yield row


def _currency_of(record: FixedRecord, currency: str | None) -> str:
    """Return the currency of a record; if it is blank, that of the statement."""
    return record.field(16, 19) or currency or ""


def _account_of(record: FixedRecord, currency: str | None = None) -> str:
    """Return branch, currency and account number, which each record repeats.

    The bank code is not included: banks that merged write a different code in some movements
    (direct debits, fees) that are part of the statement all the same.
    """
    return f"{record.text[11:16]}{_currency_of(record, currency)}{record.text[21:32]}"


def _balance(record: FixedRecord, code: str, currency: str | None = None) -> StatementBalance:
    record.require_width(CfonbFile.width)
    text = record.text
    amount = _signed(text[90:104], text[19])
    return StatementBalance(
        code, amount, _currency_of(record, currency), six_digit_day(text[34:40])
    )


def _signed(text: str, decimals: str) -> Decimal:
    """Return a signed amount, negative for a debit; its last letter encodes the sign."""
    if not _AMOUNT.fullmatch(text) or not decimals.isdigit():
        raise InputError(f"{text!r} with {decimals!r} decimals is not an amount")
    last = text[-1]
    is_debit = last in _NEGATIVE
    digit = (_NEGATIVE if is_debit else _POSITIVE).index(last)
    amount = Decimal(f"{text[:-1]}{digit}").scaleb(-int(decimals))
    return -amount if is_debit else amount


def _entry_of(record: FixedRecord, currency: str | None) -> EntryRow:
    """Return the row of a record 04, a movement."""
    record.require_width(CfonbFile.width)
    text = record.text
    booked = six_digit_day(text[34:40])
    if booked is None:
        raise InputError("it has no booking date")
    signed = _signed(text[90:104], text[19])
    return EntryRow(
        amount=signed.copy_abs(),
        currency=_currency_of(record, currency),
        direction="DBIT" if text[103] in _NEGATIVE else "CRDT",
        entry_status="BOOK",
        booking_date=booked,
        value_date=six_digit_day(text[42:48]),
        entry_reference=record.field(81, 88).strip("0") and record.field(81, 88),
        end_to_end_id=reference(record.field(104, 120) or None),
        remittance=tuple(filter(None, [record.field(48, 79)])),
        proprietary_code="+".join(filter(None, (record.field(32, 34), record.field(7, 11))))
        or None,
        return_reason=(record.field(40, 42).strip("0") and record.field(40, 42)) or None,
    )


def _add_more(row: EntryRow, qualifier: str, text: str) -> None:
    """Add the values of a record 05; identifiers of the parties remain in `raw` only."""
    match qualifier:
        case "" | "LIB" | "LCC":
            row.remittance = (*row.remittance, text.strip())
        # This is the second half of a text of 140 characters, which may be split within a word.
        case "LC2":
            *before, last = row.remittance or ("",)
            row.remittance = (*before, f"{last}{text}".strip())
        case "LCS":
            row.structured_references = (*row.structured_references, text.strip())
        case "RCN":
            row.end_to_end_id = reference(text[:35].strip() or None) or row.end_to_end_id
        # Instructed amount: currency, number of decimals, fourteen digits.
        case "MMO":
            currency, decimals, digits = text[:3], text[3], text[4:18]
            if currency.isalpha() and decimals.isdigit() and digits.isascii() and digits.isdigit():
                row.instructed_amount = Decimal(digits).scaleb(-int(decimals))
                row.instructed_currency = currency
        case "CPY" | "CBE":
            row.counterparty_account = row.counterparty_account or account_number(text)
        case _ if name := _COLUMN.get(qualifier):
            setattr(row, name, getattr(row, name) or text.strip())
        case _ if qualifier not in _IDENTIFIERS:
            # Every text may have a reference, so all texts are added, even those of unknown kinds.
            texts = (row.additional_information, " ".join(text.split()))
            row.additional_information = " ".join(filter(None, texts))


_COLUMN: Final = {
    "NPY": "counterparty_name",
    "NBE": "counterparty_name",
    "BPY": "counterparty_agent",
    "BBE": "counterparty_agent",
    "NPO": "ultimate_debtor_name",
    "NBU": "ultimate_creditor_name",
    "RUM": "mandate_id",
}
_IDENTIFIERS: Final = frozenset({"IPY", "IBE", "IPO", "IBU"})
"""Qualifiers of a party's registration number, which is not a payment reference."""
