"""Conversion of MT940 and MT942 movements to columns of `statement_entries`.

The head of a statement has the values common to all; field 61 has amount, direction and days; field
86 has the rest (`mt_details`). Every column is a list with one item per movement, so that large
files are read in a few passes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from treasury.core.errors import InputError
from treasury.core.identifiers import is_iban
from treasury.core.money import parse_amount
from treasury.statements.mt.mt_details import WORKING, Columns, details_of, references
from treasury.statements.mt.mt_tags import MtMovements
from treasury.statements.mt.mt_values import Lines, lines_of, with_currency
from treasury.statements.statement_draft import StatementDraft, StatementHead


def movement_columns(draft: StatementDraft, movements: MtMovements) -> Columns:
    """Return the columns of consecutive movements of a statement; empty if none can be read.

    A movement that cannot be read is recorded in the draft as lost.
    """
    try:
        lines = lines_of(movements.first)
    except InputError:
        readable = []
        for at, first in enumerate(movements.first):
            try:
                lines_of([first])
            except InputError as error:
                draft.lost("", error.what, movements.lines[at])
            else:
                readable.append(at)
        movements = _only(movements, readable)
        if not movements.first:
            return {}
        lines = lines_of(movements.first)
    columns, names = _columns(draft.head, lines, movements)
    draft.take_all(columns, [f"line {line}" for line in movements.lines], movements.raws, names)
    return columns


def _only(movements: MtMovements, places: Sequence[int]) -> MtMovements:
    return MtMovements(
        [movements.first[at] for at in places],
        [movements.texts[at] for at in places],
        [movements.raws[at] for at in places],
        [movements.lines[at] for at in places],
        frozenset(new for new, at in enumerate(places) if at in movements.numbered),
    )


def _columns(
    head: StatementHead, lines: Lines, movements: MtMovements
) -> tuple[Columns, list[str | None] | None]:
    """Return the columns, and the other parties' names if ids use a different spelling."""
    count = len(lines.sides)
    columns = details_of(movements.texts, movements.numbered)
    working: Columns = {name: columns.pop(name) for name in WORKING if name in columns}
    inferred = columns.pop("inferred", None)
    codes = zip(lines.kinds, working.get("code") or [None] * count, strict=True)
    columns.update(
        account=[head.account] * count,
        currency=[head.currency] * count,
        file_name=[head.file_name] * count,
        amount=lines.amounts,
        direction=[_DIRECTIONS[side] for side in lines.sides],
        is_reversal=[side[0] == "R" for side in lines.sides],
        booking_date=lines.booking_dates,
        value_date=lines.value_dates,
        account_servicer_reference=references(lines.own),
        proprietary_code=[f"{kind}+{code}" if code else kind or None for kind, code in codes],
    )
    _add_status(columns, head, lines, inferred)
    _add_own_references(columns, lines)
    _add_amounts(columns, lines, working)
    _add_parties(columns, lines)
    if "name_in_id" not in working:
        return columns, None
    pairs = zip(working["name_in_id"], columns["counterparty_name"], strict=True)
    return columns, [in_id if in_id is not None else name for in_id, name in pairs]


_DIRECTIONS: Final = {
    "C": "CRDT", "RD": "CRDT", "EC": "CRDT", "D": "DBIT", "RC": "DBIT", "ED": "DBIT",
}  # fmt: skip


def _add_status(
    columns: Columns, head: StatementHead, lines: Lines, details: Sequence[tuple[str, ...]] | None
) -> None:
    """Add the status, and list in `inferred` the columns that the bank did not state.

    The booking day is always inferred: MT940 omits its year, or the whole day.
    """
    count = len(lines.sides)
    is_report = head.format == "MT942"
    pending = [is_report or side[0] == "E" for side in lines.sides]
    columns["entry_status"] = ["PDNG" if is_pending else "BOOK" for is_pending in pending]
    inferred: list[tuple[str, ...]] = [("booking_date",)] * count
    for at in lines.moved:
        inferred[at] = ("value_date", "booking_date")
    if details is not None:
        inferred = [(*names, *two) for names, two in zip(inferred, details, strict=True)]
    if any(pending):
        inferred = [
            (*names, "entry_status") if is_pending else names
            for names, is_pending in zip(inferred, pending, strict=True)
        ]
    columns["inferred"] = inferred


_POINTERS: Final = frozenset({"EREF", "KREF+", "KREF", "EREF+", "MREF+", "IREF+", "PREF", "MARF"})


def _add_own_references(columns: Columns, lines: Lines) -> None:
    """Use the account owner's reference as the end-to-end id of movements that state none."""
    own = references(lines.references)
    if not any(own):
        return
    count = len(own)
    stated = columns.get("end_to_end_id", [None] * count)
    accounts = columns.get("counterparty_account", [None] * count)
    adopted = [
        text
        if text is not None
        and stated_id is None
        and len(text) > 1
        and text not in _POINTERS
        and text != account
        else None
        for text, stated_id, account in zip(own, stated, accounts, strict=True)
    ]
    if any(adopted):
        both = zip(adopted, stated, strict=True)
        columns["end_to_end_id"] = [stated_id if text is None else text for text, stated_id in both]
        columns["inferred"] = [
            names if text is None else (*names, "end_to_end_id")
            for text, names in zip(adopted, columns["inferred"], strict=True)
        ]


def _add_parties(columns: Columns, lines: Lines) -> None:
    """Add payer and payee, swapped for a return."""
    reasons = columns.get("return_reason")
    returned = columns["is_reversal"]
    if reasons is not None or "NRTI" in lines.kinds:
        reasons = reasons or [None] * len(returned)
        returned = [
            is_reversal or reason is not None or kind == "NRTI"
            for is_reversal, reason, kind in zip(returned, reasons, lines.kinds, strict=True)
        ]
    pays = [
        (direction == "CRDT") != is_return
        for direction, is_return in zip(columns["direction"], returned, strict=True)
    ]
    is_paid = [not it_pays for it_pays in pays]
    for part in ("name", "account", "agent"):
        values = columns.get(f"counterparty_{part}")
        if values is not None:
            columns[f"debtor_{part}"] = _where(pays, values)
            columns[f"creditor_{part}"] = _where(is_paid, values)
    if any(returned) and "end_to_end_id" in columns:
        columns["original_end_to_end_id"] = _where(returned, columns["end_to_end_id"])


def _where(selected: Sequence[bool], values: list[Any]) -> list[Any]:
    if all(selected):
        return values
    return [value if it_is else None for value, it_is in zip(values, selected, strict=True)]


_EXTRA: Final = re.compile(r"/(OCMT|CHGS|EXCH)/([^/\n]+)(?:/(?=[/\s]|$))?")
_KEEP: Final = {"OCMT": "instructed", "CHGS": "charges", "EXCH": "rate"}
"""Names of amounts that did not move the account."""


def _add_amounts(columns: Columns, lines: Lines, working: Columns) -> None:
    """Add instructed amount, charges and rate, from a movement's second line or its text.

    Few movements have such values, so they are handled one by one.
    """
    count = len(lines.sides)
    stated = {name: working.get(name, [None] * count) for name in _KEEP.values()}
    places = {at for texts in stated.values() for at, text in enumerate(texts) if text is not None}
    for at in sorted(places | lines.more.keys()):
        amounts = {name: texts[at] for name, texts in stated.items()}
        more = lines.more.get(at, "")
        amounts |= {_KEEP[key]: value for key, value in _EXTRA.findall(more)}
        leftover = " ".join(_EXTRA.sub("", more).strip().rstrip("/").split())
        if is_iban(leftover):
            # Some banks write only the other party's account below a movement.
            accounts = _column(columns, "counterparty_account", count)
            accounts[at] = accounts[at] or leftover
        elif leftover and _column(columns, "additional_information", count)[at] is None:
            columns["additional_information"][at] = leftover
        for name in ("instructed", "charges"):
            if amounts[name]:
                amount, currency = with_currency(amounts[name])
                _column(columns, f"{name}_amount", count)[at] = amount
                of_amount = _column(columns, f"{name}_currency", count)
                of_amount[at] = currency or columns["currency"][at]
        if amounts["rate"]:
            # A rate that cannot be read is left empty, because `raw` has its text.
            with suppress(InputError):
                rate = parse_amount(amounts["rate"].strip().replace(",", "."))
                _column(columns, "exchange_rate", count)[at] = rate


def _column(columns: Columns, name: str, count: int) -> list[Any]:
    return columns.setdefault(name, [None] * count)
