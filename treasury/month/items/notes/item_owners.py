"""Owners of open items, accounts and checklist steps: who follows each up.

An item about an account's statements, balance or ledger has the account's owner unless it has its
own. The owner of a checklist step applies to later months too, until another one is named. The
owner in a proposal to carry an item comes first while the proposal is valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.tables.column_types import INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.journal import Entry
from treasury.journal.chain import reads_entries
from treasury.month.items.notes.note_subjects import ACCOUNT, step_id
from treasury.month.items.open_item import OpenItem

ASSIGNED: Final = "item.assigned"
_OF_ACCOUNTS: Final = ("statement", "balance", "ledger")
"""Subjects of items about an account; their ids begin with its number."""
ITEM_OWNERS: Final = grouped_schema(
    (INTEGER, "seq"), (TEXT, "item_id", "owner", "assigned_by"), (INSTANT, "assigned_at")
)
"""One row per open item, account or checklist step with an owner, in the order of assignment."""


@reads_entries
def owner_table(entries: Iterable[Entry]) -> pa.Table:
    """Return the current owners among the journal's entries; columns as in ITEM_OWNERS."""
    rows: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry.kind == ASSIGNED:
            rows.pop(entry.subject, None)
            rows[entry.subject] = {
                "seq": entry.seq,
                "item_id": entry.subject,
                "owner": entry.body["owner"],
                "assigned_by": entry.actor.name,
                "assigned_at": entry.at,
            }
    return pa.Table.from_pylist(list(rows.values()), schema=ITEM_OWNERS)


def owners_of(owners: pa.Table | None) -> dict[str, str]:
    """Return the owner of each item, account and step, by its id."""
    if owners is None:
        return {}
    ids, names = (owners[name].to_pylist() for name in ("item_id", "owner"))
    return dict(zip(ids, names, strict=True))


def with_owners(items: Iterable[OpenItem], owners: pa.Table | None) -> list[OpenItem]:
    """Return the items with the owners that people assigned, unless a carried item has one."""
    owner_names = owners_of(owners)
    if not owner_names:
        return list(items)
    owned = []
    for item in items:
        owner = owner_names.get(item.item_id)
        if owner is None and item.subject in _OF_ACCOUNTS:
            account = item.subject_id.partition("/")[0]
            owner = owner_names.get(f"{ACCOUNT}{account}")
        is_open = item.owner is None and owner is not None
        owned.append(msgspec.structs.replace(item, owner=owner) if is_open else item)
    return owned


def step_owner(owners: pa.Table | None, title: str, month: Month) -> str:
    """Return who owns a checklist step in a month: the last owner up to it; empty if none."""
    owner_names, step = owners_of(owners), step_id(title, month)
    prefix = step.removesuffix(str(month))
    earlier = [name for name in owner_names if name.startswith(prefix) and name <= step]
    return owner_names[max(earlier)] if earlier else ""
