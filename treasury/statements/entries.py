"""An entry of a camt file as rows: the rules that turn what a bank wrote into movements.

One row per transaction detail, or one for an entry without details. What moved the account is the
entry's amount; the details of a batch share it. The direction is that of the credit/debit indicator
alone: a reversal mark never turns it round. What we worked out because the bank did not state it is
named in `inferred`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Context, Decimal
from typing import Final

import msgspec

from treasury.errors import InputError
from treasury.money import parse_amount
from treasury.statements.rows import EntryRow
from treasury.statements.shape import Fields
from treasury.statements.values import account_number, day, is_true, reference

__all__ = ["Movement", "Setting", "Share", "entry_rows", "movement", "shares"]

_EXACT: Final = Context(prec=80)
_DIRECTIONS: Final = frozenset({"CRDT", "DBIT"})


class Setting(msgspec.Struct, frozen=True):
    """What an entry is in: account, its currency, a day to fall back on, and the file."""

    account: str | None
    currency: str | None
    day: date | None
    file_name: str


class Movement(msgspec.Struct, frozen=True):
    """What an entry did to the account."""

    amount: Decimal
    currency: str
    direction: str
    status: str
    booking_date: date
    value_date: date | None
    inferred: tuple[str, ...]

    @property
    def is_booked(self) -> bool:
        """Whether it is in the booked balance."""
        return self.status == "BOOK"


class Share(msgspec.Struct, frozen=True):
    """A detail's part of its entry; `amount` is None where the bank does not state it."""

    amount: Decimal | None
    direction: str
    is_inferred: bool = False


def movement(fields: Fields, setting: Setting) -> Movement:
    """What the entry did. InputError where amount, direction or a date cannot be read."""
    single = fields.single
    inferred = []
    amount = _positive(_required(single, "entry_amount", "amount"), "amount")
    currency = single.get("entry_amount_currency")
    if currency is None:
        currency = setting.currency
        inferred.append("currency")
        if currency is None:
            raise InputError("the amount has no currency")
    status = single.get("entry_status")
    if status is None:
        status = "BOOK"
        inferred.append("entry_status")
    value_date = _day(single, "value_date")
    booked = _day(single, "booking_date")
    if booked is None:
        booked = value_date or _day(single, "settlement_date") or setting.day
        inferred.append("booking_date")
        if booked is None:
            raise InputError("it has no date, and the statement has none either")
    direction = _direction(_required(single, "entry_direction", "credit/debit indicator"))
    return Movement(amount, currency, direction, status, booked, value_date, tuple(inferred))


def shares(entry: Movement, details: Sequence[Fields]) -> tuple[list[Share], str | None]:
    """Each detail's part of the entry, and what does not add up, if anything.

    A single detail has all of it: what it says itself may be before charges or in another currency.
    In a batch a detail says its own part; one that does not gets what the others leave, and where
    several do not, none of them gets a guess.
    """
    if len(details) <= 1:
        return _whole(entry, details)
    stated = [_stated(fields, entry.currency) for fields in details]
    ways = [_direction(f.single.get("direction", entry.direction)) for f in details]
    left = entry.amount
    for amount, way in zip(stated, ways, strict=True):
        if amount is not None:
            sign = _EXACT.subtract if way == entry.direction else _EXACT.add
            left = sign(left, amount)
    silent = stated.count(None)
    guess = left if silent == 1 and left >= 0 else None
    parts = [
        Share(guess, entry.direction, guess is not None) if amount is None else Share(amount, way)
        for amount, way in zip(stated, ways, strict=True)
    ]
    if silent == 0 and left != 0:
        return parts, f"details are {left:f} {entry.currency} short of the entry"
    if silent > 1 or (silent and guess is None):
        return parts, f"{silent} details of {len(details)} state no amount in {entry.currency}"
    return parts, None


def _whole(entry: Movement, details: Sequence[Fields]) -> tuple[list[Share], str | None]:
    stated = _stated(details[0], entry.currency, ("amount",)) if details else None
    if not stated or stated == entry.amount:  # a detail of 0 is a placeholder
        other = bool(details) and "amount" in details[0].single and not stated
        return [Share(entry.amount, entry.direction, other)], None
    share = [Share(entry.amount, entry.direction, is_inferred=True)]
    charges, currency = _charges(details[0])
    difference = _EXACT.subtract(stated, entry.amount).copy_abs()
    if charges is not None and currency == entry.currency and charges == difference:
        return share, None
    return share, f"its detail is {stated:f} {entry.currency}, the entry {entry.amount:f}"


_STATED: Final = ("amount", "transacted", "countervalue", "instructed")


def _stated(fields: Fields, currency: str, names: Sequence[str] = _STATED) -> Decimal | None:
    """The amount that a detail states in a currency: its own, else transacted, else converted."""
    for name in names:
        if name in fields.single and fields.single.get(f"{name}_currency", currency) == currency:
            return _positive(fields.single[name], f"{name} of a detail")
    return None


def entry_rows(
    entry: Movement, details: Sequence[Fields], parts: Sequence[Share], setting: Setting
) -> list[EntryRow]:
    """The rows of an entry, one for each of `details`, without ids, place and raw text."""
    alone = len(details) == 1
    return [
        _row(entry, fields, part, setting, alone=alone)
        for fields, part in zip(details, parts, strict=True)
    ]


def _row(
    entry: Movement, fields: Fields, part: Share, setting: Setting, *, alone: bool
) -> EntryRow:
    single, several = fields.single, fields.several
    get = single.get
    row = EntryRow(
        account=setting.account,
        entry_reference=reference(get("entry_reference")),
        account_servicer_reference=_bank_reference(fields, alone=alone),
        message_id=reference(get("message_id") or get("batch_message_id")),
        payment_information_id=reference(
            get("payment_information_id") or get("batch_payment_information_id")
        ),
        instruction_id=reference(get("instruction_id")),
        end_to_end_id=reference(get("end_to_end_id")),
        transaction_id=reference(get("transaction_id")),
        uetr=reference(get("uetr")),
        mandate_id=reference(get("mandate_id")),
        amount=part.amount,
        currency=entry.currency,
        direction=part.direction,
        entry_status=entry.status,
        is_reversal=is_true(get("is_reversal")),
        booking_date=entry.booking_date,
        value_date=entry.value_date,
        remittance=several.get("remittance", ()),
        structured_references=several.get("structured_references", ()),
        additional_information=get("additional_information") or get("entry_information"),
        debtor_name=get("debtor_name"),
        debtor_account=_account(get("debtor_account")),
        debtor_agent=get("debtor_agent"),
        creditor_name=get("creditor_name"),
        creditor_account=_account(get("creditor_account")),
        creditor_agent=get("creditor_agent"),
        ultimate_debtor_name=get("ultimate_debtor_name"),
        ultimate_creditor_name=get("ultimate_creditor_name"),
        bank_transaction_code=_code(single, "") or _code(single, "entry_"),
        proprietary_code=get("proprietary_code") or get("entry_proprietary_code"),
        return_reason=get("return_reason"),
        inferred=(*entry.inferred, "amount") if part.is_inferred else entry.inferred,
        file_name=setting.file_name,
    )
    _add_other_amounts(row, fields, alone=alone)
    _add_counterparty(
        row, is_return=row.is_reversal or "returned" in single or row.return_reason is not None
    )
    return row


def _bank_reference(fields: Fields, *, alone: bool) -> str | None:
    """The entry's reference where the row is the whole entry, else the detail's own first."""
    own = reference(fields.single.get("account_servicer_reference"))
    whole = reference(fields.single.get("entry_servicer_reference"))
    return (whole or own) if alone else (own or whole)


def _add_other_amounts(row: EntryRow, fields: Fields, *, alone: bool) -> None:
    """Charges, the instructed amount and the exchange; the entry's own only for a sole detail."""
    single = fields.single
    levels = ("", "entry_") if alone else ("",)
    for level in levels:
        if row.charges_amount is None:
            row.charges_amount, row.charges_currency = _charges(fields, level)
        if row.instructed_amount is None and f"{level}instructed" in single:
            row.instructed_amount = parse_amount(
                single[f"{level}instructed"], what="instructed amount"
            )
            row.instructed_currency = single.get(f"{level}instructed_currency")
        if row.exchange_rate is None and f"{level}exchange_rate" in single:
            row.exchange_rate = parse_amount(single[f"{level}exchange_rate"], what="exchange rate")
            row.source_currency = single.get(f"{level}source_currency")
            row.target_currency = single.get(f"{level}target_currency")
    own = single.get("amount_currency")
    if row.instructed_amount is None and own is not None and own != row.currency:
        row.instructed_amount = parse_amount(single["amount"], what="amount of a detail")
        row.instructed_currency = own


def _charges(fields: Fields, level: str = "") -> tuple[Decimal | None, str | None]:
    """The charges' total, or the sum of their records where those are in one currency."""
    total = fields.single.get(f"{level}charges")
    if total is not None:
        return parse_amount(total, what="charges"), fields.single.get(f"{level}charges_currency")
    records = fields.several.get(f"{level}charges_record", ())
    currencies = fields.several.get(f"{level}charges_record_currency", [])
    if len(set(currencies)) != 1:
        return None, None
    amount = Decimal(0)
    for text in records:
        amount = _EXACT.add(amount, parse_amount(text, what="charges"))
    return amount, currencies[0]


def _add_counterparty(row: EntryRow, *, is_return: bool) -> None:
    """The party that is not us: who pays a credit, who gets a debit.

    A return names the parties of the payment that comes back, so there it is the other way round.
    An account number that is our own settles it.
    """
    debtor = (row.direction == "CRDT") != is_return
    if row.account is not None and row.debtor_account != row.creditor_account:
        if row.debtor_account == row.account:
            debtor = False
        elif row.creditor_account == row.account:
            debtor = True
    if debtor:
        row.counterparty_name = row.debtor_name
        row.counterparty_account = row.debtor_account
        row.counterparty_agent = row.debtor_agent
    else:
        row.counterparty_name = row.creditor_name
        row.counterparty_account = row.creditor_account
        row.counterparty_agent = row.creditor_agent
    if is_return:
        row.original_end_to_end_id = row.end_to_end_id


def _code(single: dict[str, str], level: str) -> str | None:
    domain = single.get(f"{level}domain")
    if domain is None:
        return None
    parts = (domain, single.get(f"{level}family"), single.get(f"{level}sub_family"))
    return "/".join(part for part in parts if part)


def _account(text: str | None) -> str | None:
    return None if text is None else account_number(text)


def _required(single: dict[str, str], name: str, what: str) -> str:
    text = single.get(name)
    if text is None:
        raise InputError(f"it has no {what}")
    return text


def _positive(text: str, what: str) -> Decimal:
    amount = parse_amount(text, what=what)
    if amount < 0:
        raise InputError(f"{what}: {amount:f} is negative; the direction has its own element")
    return amount


def _direction(text: str) -> str:
    if text not in _DIRECTIONS:
        raise InputError(f"credit/debit indicator {text[:20]!r} is neither CRDT nor DBIT")
    return text


def _day(single: dict[str, str], name: str) -> date | None:
    text = single.get(name)
    return None if text is None else day(text)
