"""Ids of entries: a movement has the same id in every file and each time it is read.

The first part of an id is a hash of account, direction, amount, currency and the bank's reference;
without a reference, further content is hashed. The second part is the booking day, the third a
counter of equal rows in the statement: the second of two twins (equal movements of a day) has 1 in
every file with the whole day. The file, the position in it and values that banks add later (value
date, status, free text) are not part of the id.
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
    """Return a hash of the parts in order, 32 hexadecimal digits."""
    return _digest("\x1f".join(["" if part is None else str(part) for part in parts]))


def _digest(text: str) -> str:
    hashed = _EMPTY_HASH.copy()
    hashed.update(text.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


_EMPTY_HASH: Final = blake2b(digest_size=16)


class Ordinals:
    """Counters of 64-bit keys within one statement.

    Nearly all keys occur once and are held sorted, with eight bytes each, because a statement may
    have millions.
    """

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted: list[array[int]] = []
        self._again: dict[int, int] = {}

    def next(self, key: int) -> int:
        """Return how often `key` occurred before: 0 for the first time, then 1, 2 and so on."""
        if key in self._recent or self._is_old(key):
            self._again[key] = ordinal = self._again.get(key, 0) + 1
            return ordinal
        self._recent.add(key)
        if len(self._recent) >= _MOST_RECENT:
            self._sort()
        return 0

    def next_all(self, keys: Sequence[int]) -> Iterable[int]:
        """Return the counters of several keys, most of which are new."""
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
        """Merge the recent keys into the sorted runs; each run is longer than the next."""
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
"""Further columns that identify a movement without a bank reference."""
_LISTS: Final = frozenset({"remittance", "structured_references"})


def entry_id(row: EntryRow, own_reference: str | None, ordinals: Ordinals) -> str:
    """Return the id of a complete row; `own_reference` is the bank's reference of this row alone.

    Amount and day are part of the id too: banks restart their counters, and repeat a reference on a
    charge or a return.
    """
    # An INFO row may repeat a booked movement of the statement, so it needs another id.
    kind = "INFO" if row.entry_status == "INFO" else ""
    moved: list[object] = [
        kind, row.account, row.direction, row.amount, row.currency, own_reference
    ]  # fmt: skip
    if own_reference is None:
        for name in _WITHOUT_REFERENCE:
            value = getattr(row, name)
            moved.append(_squeezed(value) if name in _LISTS else value)
    content, booked = content_id(moved), row.booking_date
    # Half of the hash and the day form one number, which saves memory for millions of keys.
    return id_of(content, booked, ordinals.next(int(content[:16], 16) ^ _mixed(booked)))


def entry_ids(columns: Mapping[str, Sequence[Any]], ordinals: Ordinals) -> list[str]:
    """Return the same ids as `entry_id` for columns of complete rows of one account and currency.

    The bank's own reference is `account_servicer_reference`. Other content columns may be missing,
    which means null. No row may have the status INFO.
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
    """Return a 64-bit number for a day, far from the numbers of other days."""
    return (day.toordinal() if day else 0) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF


def content_of(entry_id: str) -> str:
    """Return the hash in an entry's id, without day and counter."""
    return entry_id.partition(".")[0]


def id_of(content: str, booked: date | None, ordinal: int) -> str:
    """Return the id of a movement with this hash and day; `ordinal` counts equal ones from 0."""
    return f"{content}.{booked}.{ordinal}"


def _squeezed(texts: Iterable[str]) -> str:
    """Join the texts without line breaks and spaces, which differ between files."""
    return "".join("".join(texts).split())
