"""Which movement is which: the id of an entry that is the same whenever it is read again.

A movement is known by the bank's own reference together with what it moved, else by its content:
that is the first part of its id. Its booking day and, for rows alike in all of that, a counter
within the statement follow: the second of two twins has 1 in this file and in every other that
holds the whole day. Neither the file nor the place in it, nor what banks add later (status, value
date, free text), is part of the id.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from hashlib import blake2b
from itertools import chain, repeat
from typing import Any, Final

from treasury.statements.entry_rows import EntryRow


def content_id(parts: Iterable[object]) -> str:
    """A hash of the parts in order, 32 hexadecimal digits."""
    return _digest("\x1f".join(["" if part is None else str(part) for part in parts]))


def _digest(text: str) -> str:
    hashed = _EMPTY_HASH.copy()
    hashed.update(text.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


_EMPTY_HASH: Final = blake2b(digest_size=16)


class Ordinals:
    """How many times each key, a number of 64 bits, has been given; one of these a statement.

    Keys that came once, nearly all, end up sorted, at eight bytes each: a statement may have
    millions.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted: list[array[int]] = []
        self._again: dict[int, int] = {}

    def next(self, key: int) -> int:
        """0 for the first time `key` is asked for, then 1, 2 ..."""
        if key in self._recent or self._is_old(key):
            self._again[key] = ordinal = self._again.get(key, 0) + 1
            return ordinal
        self._recent.add(key)
        if len(self._recent) >= _MOST_RECENT:
            self._sort()
        return 0

    def next_all(self, keys: Sequence[int]) -> Iterable[int]:
        """The same for several keys, mostly all of them new."""
        fresh = set(keys)
        if (
            len(fresh) < len(keys)
            or not fresh.isdisjoint(self._recent)
            or (self._sorted and any(map(self._is_old, fresh)))
        ):
            return [self.next(key) for key in keys]
        self._recent |= fresh
        if len(self._recent) >= _MOST_RECENT:
            self._sort()
        return repeat(0)

    def _is_old(self, key: int) -> bool:
        for run in self._sorted:
            at = bisect_left(run, key)
            if at < len(run) and run[at] == key:
                return True
        return False

    def _sort(self) -> None:
        """Put the recent keys with the sorted ones, in ever longer runs, of which there are few."""
        run = array("Q", sorted(self._recent))
        while self._sorted and len(self._sorted[-1]) <= len(run):
            run = array("Q", sorted(chain(self._sorted.pop(), run)))
        self._sorted.append(run)
        self._recent = set()


_MOST_RECENT: Final = 1 << 16


_WITHOUT_REFERENCE: Final = (
    "account_servicer_reference", "end_to_end_id", "transaction_id", "uetr", "instruction_id",
    "mandate_id", "remittance", "structured_references", "counterparty_account",
    "counterparty_name",
)  # fmt: skip
"""What says which movement it is where the bank gives it no reference of its own."""
_LISTS: Final = frozenset({"remittance", "structured_references"})


def entry_id(row: EntryRow, own_reference: str | None, ordinals: Ordinals) -> str:
    """The id of a complete row. `own_reference` is the bank's reference of this row alone.

    A reference is not trusted by itself: banks restart their counters and repeat a reference on a
    charge or a return, so what moved and when is part of the id with it.
    """
    # A statement may repeat a movement as information (INFO); that is not the movement itself.
    kind = "INFO" if row.entry_status == "INFO" else ""
    moved: list[object] = [
        kind, row.account, row.direction, row.amount, row.currency, own_reference
    ]  # fmt: skip
    if own_reference is None:
        for name in _WITHOUT_REFERENCE:
            value = getattr(row, name)
            moved.append(_squeezed(value) if name in _LISTS else value)
    content, booked = content_id(moved), row.booking_date
    # Half the hash and the day, as one number: a statement may have very many of them.
    return id_of(content, booked, ordinals.next(int(content[:16], 16) ^ _mixed(booked)))


def entry_ids(columns: Mapping[str, Sequence[Any]], ordinals: Ordinals) -> list[str]:
    """The same ids for complete rows of one account and currency that are columns.

    Their bank's own reference is `account_servicer_reference`; what is no column is null.
    """
    own = columns["account_servicer_reference"]
    account, currency = (columns[name][0] or "" for name in ("account", "currency"))
    moved = [
        f"\x1f{account}\x1f{way}\x1f{amount}\x1f{currency}\x1f{own_reference or ''}"
        for way, amount, own_reference in zip(
            columns["direction"], columns["amount"], own, strict=True
        )
    ]
    if None in own:
        content_columns = zip(
            *(_as_text(columns, name) for name in _WITHOUT_REFERENCE), strict=False
        )
        moved = [
            text if own_reference is not None else "\x1f".join((text, *parts))
            for text, own_reference, parts in zip(moved, own, content_columns, strict=False)
        ]
    contents, booked = list(map(_digest, moved)), columns["booking_date"]
    days = {day: (f".{day}.", _mixed(day)) for day in set(booked)}
    keys = [
        int(content[:16], 16) ^ days[day][1] for content, day in zip(contents, booked, strict=True)
    ]
    numbers = ordinals.next_all(keys)
    return [
        f"{content}{days[day][0]}{number}"
        for content, day, number in zip(contents, booked, numbers, strict=False)
    ]


def _as_text(columns: Mapping[str, Sequence[Any]], name: str) -> Iterable[str]:
    values = columns.get(name)
    if values is None:
        return repeat("")
    if name in _LISTS:
        return [_squeezed(value) for value in values]
    return [value or "" for value in values]


def _mixed(day: date | None) -> int:
    """A number of 64 bits for a day, those of any two being far apart."""
    return (day.toordinal() if day else 0) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF


def content_of(entry_id: str) -> str:
    """The part of an entry's id that says what moved, without the day and the counter."""
    return entry_id.partition(".")[0]


def id_of(content: str, booked: date | None, ordinal: int) -> str:
    """The id of a movement with this content on this day, the first being number 0."""
    return f"{content}.{booked}.{ordinal}"


def _squeezed(texts: Iterable[str]) -> str:
    """Line breaks and spaces left out: banks set them differently from file to file."""
    return "".join("".join(texts).split())
