"""Which movement is which: the id of an entry that is the same whenever it is read again.

A movement is known by the bank's own reference together with what it moved, else by its content:
that is the first part of its id. Its booking day and, for rows alike in all of that, a counter
within the statement follow: the second of two twins has 1 in this file and in every other that
holds the whole day. Neither the file nor the place in it, nor what banks add later (status, value
date, free text), is part of the id.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from hashlib import blake2b

from treasury.statements.rows import EntryRow

__all__ = ["Ordinals", "content_id", "content_of", "entry_id", "id_of"]


def content_id(parts: Iterable[object]) -> str:
    """A hash of the parts in order, 32 hexadecimal digits."""
    text = "\x1f".join(["" if part is None else str(part) for part in parts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Ordinals:
    """How many times each id has been given; one of these for each statement."""

    def __init__(self) -> None:
        self._seen: dict[str | int, int] = {}

    def next(self, key: str | int) -> int:
        """0 for the first time `key` is asked for, then 1, 2 ..."""
        ordinal = self._seen.get(key, 0)
        self._seen[key] = ordinal + 1
        return ordinal


def entry_id(row: EntryRow, own_reference: str | None, ordinals: Ordinals) -> str:
    """The id of a complete row. `own_reference` is the bank's reference of this row alone.

    A reference is not trusted by itself: banks restart their counters and repeat a reference on a
    charge or a return, so what moved and when is part of the id with it.
    """
    # A statement may repeat a movement as information (INFO); that is not the movement itself.
    kind = "INFO" if row.entry_status == "INFO" else ""
    moved: tuple[object, ...] = (
        kind,
        row.account,
        row.direction,
        row.amount,
        row.currency,
        own_reference,
    )
    if own_reference is None:
        moved += (
            row.account_servicer_reference,
            row.end_to_end_id,
            row.transaction_id,
            row.uetr,
            row.instruction_id,
            row.mandate_id,
            _squeezed(row.remittance),
            _squeezed(row.structured_references),
            row.counterparty_account,
            row.counterparty_name,
        )
    content, booked = content_id(moved), row.booking_date
    # Half the hash and the day, as one number: a statement may have very many of them.
    key = (int(content[:16], 16) << 22) + (booked.toordinal() if booked else 0)
    return id_of(content, booked, ordinals.next(key))


def content_of(entry_id: str) -> str:
    """The part of an entry's id that says what moved, without the day and the counter."""
    return entry_id.partition(".")[0]


def id_of(content: str, booked: date | None, ordinal: int) -> str:
    """The id of a movement with this content on this day, the first being number 0."""
    return f"{content}.{booked}.{ordinal}"


def _squeezed(texts: Iterable[str]) -> str:
    """Line breaks and spaces left out: banks set them differently from file to file."""
    return "".join("".join(texts).split())
