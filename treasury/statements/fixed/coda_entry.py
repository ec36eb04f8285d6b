"""A movement of CODA as a row: its records 21, 22 and 23, and the information of 31 to 33."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from treasury.errors import InputError
from treasury.statements.entry_rows import EntryRow
from treasury.statements.field_values import account_number, reference
from treasury.statements.fixed.fixed_records import FixedRecord, set_parties, six_digit_day

__all__ = ["amount_of", "belgian_iban", "belgian_reference", "entry_of", "signed_amount"]

_THOUSANDTHS: Final = Decimal("0.001")
_DIGITS: Final = re.compile(r"[0-9]{15}", re.ASCII)
_PRINTED: Final = re.compile(r"\+\+\+ ?(\d{3})/(\d{4})/(\d{5}) ?\+\+\+", re.ASCII)
_REASON: Final = re.compile(r"[A-Z]{2}[A-Z0-9]{2}", re.ASCII)
_MODULUS: Final = 97
_BELGIUM: Final = "111400"
"""`BE00` with its letters as numbers, as the check digits of an IBAN are worked out."""

_COMMUNICATION: Final = {"21": (62, 115), "22": (10, 63), "23": (82, 125)}
_INFORMATION: Final = {"31": (40, 113), "32": (10, 115), "33": (10, 100)}
"""Where the communication stands in each record; 21 and 31 have its type before it."""
_SILENT: Final = frozenset({"105", "106", "108", "111", "113", "114", "115"})
"""Types of communication that describe the amount or the card, and carry no message."""


def amount_of(text: str) -> Decimal:
    """An amount of fifteen digits, of which three are decimals. InputError for anything else."""
    if not _DIGITS.fullmatch(text):
        raise InputError(f"{text!r} is not an amount")
    return Decimal(text) * _THOUSANDTHS


def signed_amount(text: str) -> Decimal:
    """An amount with its sign before it: 0 for a credit, 1 for a debit."""
    if text[:1] not in {"0", "1"}:
        raise InputError(f"{text[:1]!r} is neither credit nor debit")
    amount = amount_of(text[1:])
    return -amount if text[0] == "1" else amount


def belgian_iban(number: str) -> str:
    """The IBAN of a Belgian account number of twelve digits; anything else as it is."""
    if not (number.isascii() and number.isdigit()) or len(number) != len("539007547034"):
        return number
    return f"BE{_MODULUS + 1 - int(number + _BELGIUM) % _MODULUS:02d}{number}"


def belgian_reference(digits: str) -> str | None:
    """A Belgian structured communication as printed, if its check digits hold."""
    if not (digits.isascii() and digits.isdigit()) or len(digits) != len("090933755493"):
        return None
    if int(digits[10:]) != (int(digits[:10]) % _MODULUS or _MODULUS):
        return None
    return f"+++{digits[:3]}/{digits[3:7]}/{digits[7:]}+++"


def entry_of(
    records: Sequence[FixedRecord], currency: str, parent: EntryRow | None = None
) -> EntryRow:
    """The row of a movement or of one of its details, which has its parent's day.

    Its `position` is the line of its first record. InputError for what cannot be read.
    """
    first = records[0]
    text = first.text
    signed = signed_amount(text[31:47])
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
    _add_communication(row, text[61], _joined(records, _COMMUNICATION))
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
    _add_information(row, records)
    if parent is not None and row.direction == parent.direction:
        for name in _INHERITED:
            if getattr(row, name) is None:
                setattr(row, name, getattr(parent, name))
    set_parties(row)
    return row


def _joined(records: Sequence[FixedRecord], places: dict[str, tuple[int, int]]) -> str:
    """A communication that goes on over several records, put together as it was cut."""
    parts = (places.get(record.text[:2]) for record in records)
    return "".join(
        record.text[place[0] : place[1]]
        for record, place in zip(records, parts, strict=True)
        if place is not None
    )


def _add_communication(row: EntryRow, kind: str, text: str) -> None:
    """The message of a payment: free text, or by the three digits of its structure."""
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
        # Gross amount in both currencies, rate, currency, and a structured communication.
        if _DIGITS.fullmatch(message[15:30]) and message[42:45].isalpha():
            row.instructed_amount = amount_of(message[15:30])
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
    """The structured communications printed within a free text, whose check digits hold."""
    references = (belgian_reference("".join(digits)) for digits in _PRINTED.findall(text))
    return tuple(filter(None, references))


def _add_information(row: EntryRow, records: Sequence[FixedRecord]) -> None:
    """What records 31 to 33 say beside: the other party's name, or more text."""
    groups: list[list[FixedRecord]] = []
    for record in records:
        if record.text.startswith("31"):
            groups.append([record])
        elif record.text[0] == "3" and groups:
            groups[-1].append(record)
    for group in groups:
        text = _joined(group, _INFORMATION)
        code = text[:3] if group[0].text[39] == "1" else ""
        if code in {"001", "008", "009"}:
            row.counterparty_name = row.counterparty_name or text[3:73].strip() or None
        elif code in {"", "002"}:
            message = " ".join(text[len(code) :].split())
            row.additional_information = row.additional_information or message or None


_INHERITED: Final = (
    "counterparty_name", "counterparty_account", "counterparty_agent", "end_to_end_id",
)  # fmt: skip
"""What a detail has from its parent where it does not state it."""
