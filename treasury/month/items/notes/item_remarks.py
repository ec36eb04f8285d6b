"""Remarks on open items, accounts and checklist steps, with author and place in the journal.

These remarks do not change an item's state, but settle an item of a kind in SETTLED_BY_REMARK. The
remarks in `decisions.remarks` can change the state, such as "will not fund" on a request. Both are
shown with the item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.tables.column_types import INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.core.text import clean
from treasury.journal import Entry
from treasury.journal.chain import reads_entries
from treasury.month.items.item_facts import table_rows
from treasury.month.items.open_item import OpenItem

REMARKED: Final = "item.remarked"
SETTLED_BY_REMARK: Final = frozenset({"field_new"})
"""Kinds of items that a person only has to look at; any remark settles the item."""
_SHOWN: Final = 3
"""How many of the last remarks are shown; `treasury items remarks` lists all."""

ITEM_REMARKS: Final = grouped_schema(
    (INTEGER, "seq"),
    (TEXT, "item_id", "remark", "remarked_by"),
    (INSTANT, "remarked_at"),
    (INTEGER, "answers"),
    (TEXT, "answered_by"),
)
"""One row per remark in order; `item_id` is as in ATTACHMENTS.

`answers` is the place of the remark that it answers, `answered_by` the person who last answered
this remark.
"""


@reads_entries
def item_remarks(entries: Iterable[Entry]) -> pa.Table:
    """Return the remarks among the journal's entries; columns as in ITEM_REMARKS."""
    rows: dict[int, dict[str, Any]] = {}
    for entry in entries:
        if entry.kind != REMARKED:
            continue
        answers = entry.body.get("answers")
        rows[entry.seq] = {
            "seq": entry.seq,
            "item_id": entry.subject,
            "remark": entry.body["remark"],
            "remarked_by": entry.actor.name,
            "remarked_at": entry.at,
            "answers": answers,
            "answered_by": None,
        }
        if answers in rows:
            rows[answers]["answered_by"] = entry.actor.name
    return pa.Table.from_pylist(list(rows.values()), schema=ITEM_REMARKS)


def with_remarks(
    items: Iterable[OpenItem], remarks: pa.Table | None, zone: tzinfo
) -> list[OpenItem]:
    """Return the items with their last remarks as text; days are in the reporting time zone."""
    words = remark_words(remarks, zone)
    return [
        msgspec.structs.replace(
            item, remark=" · ".join(filter(None, (item.remark, words[item.item_id])))
        )
        if item.item_id in words
        else item
        for item in items
    ]


def remark_words(remarks: pa.Table | None, zone: tzinfo) -> dict[str, str]:
    """Return the last remarks on each item, account and step as text, the latest last, by its id.

    Days are in the reporting time zone.
    """
    threads: dict[str, list[Mapping[str, Any]]] = {}
    names: dict[int, str] = {}
    for row in table_rows(remarks):
        threads.setdefault(row["item_id"], []).append(row)
        names[row["seq"]] = row["remarked_by"]
    words: dict[str, str] = {}
    for subject, thread in threads.items():
        earlier = len(thread) - _SHOWN
        parts = [f"{earlier} earlier {'remark' if earlier == 1 else 'remarks'}"] * (earlier > 0)
        for said in thread[-_SHOWN:]:
            day = said["remarked_at"].astimezone(zone)
            to = f" to {clean(names[said['answers']])}" if said["answers"] in names else ""
            by, text = clean(said["remarked_by"]), clean(said["remark"])
            parts.append(f"{by}{to}, {day:%-d %b}: {text}")
        words[subject] = " · ".join(parts)
    return words
