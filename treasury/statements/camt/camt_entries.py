"""Rules that turn an entry of a camt file into rows.

There is one row per transaction detail, or one row for an entry without details. The account moves
by the entry's amount, which the details of a batch share. The credit/debit indicator alone gives
the direction: a reversal flag never reverses it. `inferred` names the columns with derived values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, tzinfo
from decimal import Decimal
from itertools import chain
from typing import Final

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import total
from treasury.statements.balance_proof import EXACT
from treasury.statements.camt.element_shapes import ElementValues
from treasury.statements.entry_rows import EntryRow
from treasury.statements.field_values import account_number, amount_in_xml, day, is_true, reference
from treasury.statements.statement_draft import StatementHead

_OPPOSITE: Final = {"CRDT": "DBIT", "DBIT": "CRDT"}
_DIGITS: Final = re.compile(r"[0-9]+\.[0-9]+", re.ASCII)
_SHORT: Final = 18


class CamtMovement(msgspec.Struct, frozen=True):
    """The effect of an entry on the account."""

    amount: Decimal
    currency: str
    direction: str
    status: str
    booking_date: date
    value_date: date | None
    inferred: tuple[str, ...]


class Share(msgspec.Struct, frozen=True):
    """A part of an entry's amount; each part becomes one row."""

    amount: Decimal
    direction: str
    details: tuple[int, ...] = (0,)
    """Positions of the details in this part: several if they state no amount, none for charges.
    """
    is_inferred: bool = False


def movement(
    fields: ElementValues,
    account_currency: str | None,
    fallback: date | None,
    zone: tzinfo | None = None,
) -> CamtMovement:
    """Return the movement of the entry, on the day `fallback` if it states no day.

    `zone` is the bank's time zone, used if a day is written as an instant in UTC. Raises InputError
    if amount, direction or a date cannot be read.
    """
    texts = fields.working
    inferred = []
    amount = _positive(_required(texts, "entry_amount", "amount"), "amount")
    currency = texts.get("entry_amount_currency")
    if currency is None:
        currency = account_currency
        inferred.append("currency")
        if currency is None:
            raise InputError("the amount has no currency")
    status = texts.get("entry_status")
    if status is None:
        status = "BOOK"
        inferred.append("entry_status")
    value_date = day_of(texts, "value_date", zone)
    booked = day_of(texts, "booking_date", zone)
    if booked is None:
        booked = value_date or day_of(texts, "settlement_date", zone) or fallback
        inferred.append("booking_date")
        if booked is None:
            raise InputError("it has no date, and the statement has none either")
    direction = _direction(_required(texts, "entry_direction", "credit/debit indicator"))
    return CamtMovement(amount, currency, direction, status, booked, value_date, tuple(inferred))


def shares(entry: CamtMovement, details: Sequence[ElementValues]) -> tuple[list[Share], str | None]:
    """Return the parts of the entry, and its details' unexplained difference as text, or None.

    A single detail gets the whole amount: its own amount may be before charges or in another
    currency. In a batch each detail states its own part. Details without an amount share the
    remainder, because the entry's total is certain even if the single amounts are not. Amounts of
    details may be before charges, either their own charges or those of the entry.
    """
    if len(details) <= 1:
        return _whole(entry, details)
    stated = [_stated(fields, entry.currency) for fields in details]
    ways = [_direction(f.working.get("direction", entry.direction)) for f in details]
    parts = [
        Share(amount, way, (at,))
        for at, (amount, way) in enumerate(zip(stated, ways, strict=True))
        if amount is not None
    ]
    remainder = entry.amount
    for part in parts:
        sign = EXACT.subtract if part.direction == entry.direction else EXACT.add
        remainder = sign(remainder, part.amount)
    relation = "short of" if remainder > 0 else "more than"
    mismatch = f"details are {remainder.copy_abs():f} {entry.currency} {relation} the entry"
    silent = tuple(at for at, amount in enumerate(stated) if amount is None)
    if silent or remainder == 0 or not any(stated):
        # A detail of 0 is a placeholder unless the other details add up to the whole entry.
        silent = tuple(at for at, amount in enumerate(stated) if not amount)
        parts = [part for part in parts if part.amount]
    if silent:
        return _with_silent(entry, parts, silent, remainder, mismatch)
    if remainder == 0:
        return parts, None
    explained = _after_charges(entry, details, parts, remainder)
    return (parts, mismatch) if explained is None else (explained, None)


def _with_silent(
    entry: CamtMovement,
    parts: list[Share],
    silent: tuple[int, ...],
    remainder: Decimal,
    mismatch: str,
) -> tuple[list[Share], str | None]:
    """Return the parts, with the remainder for details without an amount, and any mismatch."""
    everything = tuple(range(len(parts) + len(silent)))
    whole = [Share(entry.amount, entry.direction, everything)]
    if not parts or (len(parts) == 1 and remainder == 0):
        # All details together describe one movement of the whole amount.
        return whole, None
    if remainder < 0:
        return whole, mismatch
    if remainder == 0:
        rest = [Share(remainder, entry.direction, (at,), is_inferred=True) for at in silent]
    else:
        rest = [Share(remainder, entry.direction, silent, is_inferred=True)]
    return sorted([*parts, *rest], key=lambda part: part.details), None


def _after_charges(
    entry: CamtMovement,
    details: Sequence[ElementValues],
    parts: Sequence[Share],
    remainder: Decimal,
) -> list[Share] | None:
    """Return the parts with charges applied, or None if charges do not explain the remainder.

    Charges of a detail belong to its part, and charges of the entry are a separate part.
    """
    if any(part.direction != entry.direction for part in parts):
        return None
    add = EXACT.add if remainder > 0 else EXACT.subtract
    charged_way = entry.direction if remainder > 0 else _OPPOSITE[entry.direction]
    own = [_charges_in(fields, entry.currency) for fields in details]
    of_entry = _charges_in(details[0], entry.currency, "entry_")
    if charged_way != ("DBIT" if of_entry > 0 else "CRDT"):
        of_entry = Decimal(0)
    # Details and entry may state the same charges, so each is tried alone first.
    for charges, more in (
        (own, Decimal(0)), ([Decimal(0)] * len(own), of_entry), (own, of_entry),
    ):  # fmt: skip
        moved = [add(part.amount, charge) for part, charge in zip(parts, charges, strict=True)]
        if total([*charges, more.copy_abs()]) != remainder.copy_abs() or min(moved) < 0:
            continue
        charged_parts = [
            Share(amount, part.direction, part.details, is_inferred=amount != part.amount)
            for part, amount in zip(parts, moved, strict=True)
        ]
        return [*charged_parts, *([Share(more.copy_abs(), charged_way, ())] if more else [])]
    return None


def _charges_in(fields: ElementValues, currency: str, level: str = "") -> Decimal:
    """Return the charges stated in a currency; 0 if there are none."""
    amount, stated_currency = _charges(fields, level)
    return amount if amount is not None and stated_currency == currency else Decimal(0)


def _whole(entry: CamtMovement, details: Sequence[ElementValues]) -> tuple[list[Share], str | None]:
    texts = details[0].working if details else {}
    if not details or all(texts.get(own) == texts.get(f"entry_{own}") for own in _OWN):
        return [Share(entry.amount, entry.direction)], None
    stated = _stated(details[0], entry.currency, ("amount",))
    # A detail of 0 is a placeholder.
    if not stated or stated == entry.amount:
        is_inferred = "amount" in texts and stated is None
        return [Share(entry.amount, entry.direction, is_inferred=is_inferred)], None
    share = [Share(entry.amount, entry.direction, is_inferred=True)]
    difference = EXACT.subtract(stated, entry.amount).copy_abs()
    charges = (_charges(details[0], level) for level in ("", "entry_"))
    if any(a is not None and (a.copy_abs(), c) == (difference, entry.currency) for a, c in charges):
        return share, None
    return share, f"its detail is {stated:f} {entry.currency}, the entry {entry.amount:f}"


_OWN: Final = ("amount", "amount_currency")
_STATED: Final = ("amount", "transacted", "countervalue", "instructed")


def _stated(fields: ElementValues, currency: str, names: Sequence[str] = _STATED) -> Decimal | None:
    """Return the first amount of a detail (its own, then those in AmtDtls) in this currency."""
    for name in names:
        if name in fields.working and fields.working.get(f"{name}_currency", currency) == currency:
            return _positive(fields.working[name], f"{name} of a detail")
    return None


def merged(details: Sequence[ElementValues]) -> ElementValues:
    """Merge the values of several details of an entry into those of one detail.

    A column has a value if all details agree on it; texts and references are joined. Differing ids
    are added to the text, where matching searches them.
    """
    first = details[0]
    columns = {
        name: text
        for name, text in first.columns.items()
        if all(fields.columns.get(name) == text for fields in details)
    }
    texts = [
        fields.columns[name]
        for name in ("additional_information", "end_to_end_id", "instruction_id")
        for fields in details
        if name not in columns and reference(fields.columns.get(name)) is not None
    ]
    if texts:
        common = columns.get("additional_information"), first.working.get("entry_information")
        columns["additional_information"] = " ".join(dict.fromkeys([*filter(None, common), *texts]))
    working = {
        name: text
        for name, text in first.working.items()
        if name.removesuffix("_currency") not in _OF_ONE_DETAIL
        and all(fields.working.get(name) == text for fields in details)
    }
    lists = {name: several for name, several in first.lists.items() if name.startswith("entry_")}
    for name in ("remittance", "structured_references"):
        several = chain.from_iterable(fields.lists.get(name, ()) for fields in details)
        lists[name] = list(dict.fromkeys(several))
    return ElementValues(columns, working, lists, first.names)


_OF_ONE_DETAIL: Final = frozenset(
    {"amount", "transacted", "countervalue", "instructed", "charges", "exchange_rate"}
    | {"source", "target"}
)
"""Amounts that belong to one detail, so they are dropped when several are merged."""


def entry_row(
    entry: CamtMovement, fields: ElementValues, part: Share, head: StatementHead, *, alone: bool
) -> EntryRow:
    """Return the row for an entry or one of its details, without ids, position and raw text."""
    texts = fields.working
    row = EntryRow(**fields.columns)  # type: ignore[arg-type]  # the paths name text columns only
    row.account = head.account
    row.file_name = head.file_name
    row.amount = part.amount
    row.currency = entry.currency
    row.direction = part.direction
    row.entry_status = entry.status
    row.is_reversal = is_true(texts.get("is_reversal"))
    row.booking_date = entry.booking_date
    row.value_date = entry.value_date
    row.inferred = (*entry.inferred, "amount") if part.is_inferred else entry.inferred
    row.remittance = fields.lists.get("remittance", ())
    row.structured_references = fields.lists.get("structured_references", ())
    if "domain" in texts:
        row.bank_transaction_code = _code(texts, "")
    elif "entry_domain" in texts:
        row.bank_transaction_code = _code(texts, "entry_")
    row.proprietary_code = texts.get("proprietary_code") or texts.get("entry_proprietary_code")
    row.additional_information = row.additional_information or texts.get("entry_information")
    own = reference(texts.get("servicer_reference"))
    whole = reference(texts.get("entry_servicer_reference"))
    row.account_servicer_reference = (whole or own) if alone else (own or whole)
    for name, text in fields.columns.items():
        if text[0] in "Nn" and name in _REFERENCES and reference(text) is None:
            # The text is a placeholder for a missing reference.
            setattr(row, name, None)
    if not _BATCH.isdisjoint(fields.names):
        row.message_id = row.message_id or reference(texts.get("batch_message_id"))
        row.payment_information_id = row.payment_information_id or reference(
            texts.get("batch_payment_information_id")
        )
    is_converted = texts.get("amount_currency", row.currency) != row.currency
    if is_converted or not _OTHER_AMOUNTS.isdisjoint(fields.names):
        _add_other_amounts(row, fields, alone=alone)
    _add_parties(row, is_return=row.is_reversal or "returned" in texts or bool(row.return_reason))
    return row


_REFERENCES: Final = frozenset({
    "entry_reference", "message_id", "payment_information_id", "instruction_id", "end_to_end_id",
    "transaction_id", "uetr", "mandate_id",
})  # fmt: skip


_BATCH: Final = frozenset({"batch_message_id", "batch_payment_information_id"})
_OTHER_AMOUNTS: Final = frozenset(
    f"{level}{name}"
    for level in ("", "entry_")
    for name in ("charges", "charges_record", "instructed", "exchange_rate")
)


def _add_other_amounts(row: EntryRow, fields: ElementValues, *, alone: bool) -> None:
    """Add charges, instructed amount and exchange rate, also from the entry if it has one row."""
    texts = fields.working
    for level in ("", "entry_") if alone else ("",):
        if row.charges_amount is None:
            row.charges_amount, row.charges_currency = _charges(fields, level)
        if row.instructed_amount is None and f"{level}instructed" in texts:
            row.instructed_amount = amount_aside(texts[f"{level}instructed"])
            row.instructed_currency = texts.get(f"{level}instructed_currency")
        if row.exchange_rate is None and f"{level}exchange_rate" in texts:
            row.exchange_rate = amount_aside(texts[f"{level}exchange_rate"])
            row.source_currency = texts.get(f"{level}source_currency")
            row.target_currency = texts.get(f"{level}target_currency")
    own = texts.get("amount_currency")
    if row.instructed_amount is None and own not in {None, row.currency}:
        row.instructed_amount = amount_aside(texts["amount"])
        row.instructed_currency = own


def _charges(fields: ElementValues, level: str = "") -> tuple[Decimal | None, str | None]:
    """Return amount and currency of the charges: the total, or the sum of records less refunds."""
    stated = fields.working.get(f"{level}charges")
    if stated is not None:
        return amount_aside(stated), fields.working.get(f"{level}charges_currency")
    records = fields.lists.get(f"{level}charges_record")
    if records is None:
        return None, None
    currencies = fields.lists.get(f"{level}charges_record_currency", [])
    ways = fields.lists.get(f"{level}charges_way", [])
    ways = ways if len(ways) == len(records) else list(dict.fromkeys(ways)) or ["DBIT"]
    amounts = [amount_aside(text) for text in records]
    if (
        len(set(currencies)) != 1
        or len(currencies) != len(records)
        or len(ways) not in {1, len(records)}
        or None in amounts
    ):
        return None, None
    if len(ways) < len(records):
        ways *= len(records)
    net = Decimal(0)
    for amount, way in zip(amounts, ways, strict=True):
        add = EXACT.subtract if way == "CRDT" else EXACT.add
        net = add(net, amount or Decimal(0))
    return net, currencies[0]


def amount_aside(text: str | None) -> Decimal | None:
    """Return an informational amount or rate; None if it cannot be read, as `raw` has its text."""
    with suppress(InputError):
        return None if text is None else amount_in_xml(text)
    return None


def _add_parties(row: EntryRow, *, is_return: bool) -> None:
    """Add the counterparty: the payer of a credit, the payee of a debit.

    A return names the parties of the original payment, so payer and payee are swapped. If one
    account is the company's own, the other one is the counterparty's.
    """
    row.debtor_account = _account(row.debtor_account)
    row.creditor_account = _account(row.creditor_account)
    debtor = (row.direction == "CRDT") != is_return
    if row.account is not None and row.debtor_account != row.creditor_account:
        if row.debtor_account == row.account:
            debtor = False
        elif row.creditor_account == row.account:
            debtor = True
    if debtor:
        other = row.debtor_name, row.debtor_account, row.debtor_agent
    else:
        other = row.creditor_name, row.creditor_account, row.creditor_agent
    row.counterparty_name, row.counterparty_account, row.counterparty_agent = other
    if is_return:
        row.original_end_to_end_id = row.end_to_end_id


def _code(texts: dict[str, str], level: str) -> str:
    parts = (texts.get(f"{level}{part}") for part in ("domain", "family", "sub_family"))
    return "/".join(part for part in parts if part)


def _account(text: str | None) -> str | None:
    return None if text is None else account_number(text)


def _required(texts: dict[str, str], name: str, label: str) -> str:
    text = texts.get(name)
    if text is None:
        raise InputError(f"it has no {label}")
    return text


def _positive(text: str, label: str) -> Decimal:
    if len(text) < _SHORT and _DIGITS.fullmatch(text):
        # This pattern is the fast path: nearly every bank writes amounts like this.
        return Decimal(text)
    amount = amount_in_xml(text, label=label)
    if amount < 0:
        raise InputError(f"{label}: {amount:f} is negative, but the direction has its own element")
    return amount


def _direction(text: str) -> str:
    if text not in _OPPOSITE:
        raise InputError(f"credit/debit indicator {text[:20]!r} is neither CRDT nor DBIT")
    return text


def day_of(texts: dict[str, str], name: str, zone: tzinfo | None = None) -> date | None:
    """Return the day in a text, None for a missing text. Raises InputError for an invalid day."""
    text = texts.get(name)
    return None if text is None else day(text, zone)
