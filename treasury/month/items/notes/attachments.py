"""Files attached to open items, accounts and checklist steps, from the journal's entries.

The journal has an entry for each attachment, with the SHA-256 of the bytes. The bytes are in the
journal's own database, once per content. Two people may remove them: the entries stay, so the hash
and the removal remain known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.tables.column_types import BOOL, INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.journal import Entry
from treasury.journal.chain import reads_entries
from treasury.journal.journal_schema import ATTACHED, ERASED
from treasury.journal.period_history import closed_periods
from treasury.journal.person_names import same_person
from treasury.month.items.notes.file_kinds import FILE_KINDS

REMOVAL: Final = "item.removal_proposed"
_SHA256: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)

ATTACHMENTS: Final = grouped_schema(
    (INTEGER, "seq"),
    (TEXT, "item_id", "file_name", "kind"),
    (INTEGER, "size"),
    (TEXT, "sha256", "month", "attached_by"),
    (INSTANT, "attached_at"),
    (BOOL, "late"),
    (TEXT, "state", "removal_reason", "removal_proposed_by", "removed_by"),
    (INSTANT, "removed_at"),
    (BOOL, "removed_alone"),
    (INTEGER, "removal_seq"),
)
"""One row per attachment in order; `size` is in bytes, `seq` is its place in the journal.

`item_id` is the id of an open item, `account:` and the account, or `step:`, the checklist step and
the month. `late` is true if the file was attached after the close of `month`. `state` is `stored`,
`removal_proposed` (it waits for a second person) or `removed`; `removal_seq` is the entry of the
removal.
"""


@reads_entries
def attachment_table(entries: Iterable[Entry]) -> pa.Table:
    """Return every attachment among the journal's entries; columns as in ATTACHMENTS."""
    rows: list[dict[str, Any]] = []
    everything = tuple(entries)
    closes = {month: period.entry.seq for month, period in closed_periods(everything).items()}
    for entry in everything:
        body = entry.body
        if entry.kind == ATTACHED:
            # The hash and the kind become the name of a file in a pack.
            if not _SHA256.fullmatch(body["sha256"]) or body["kind"] not in FILE_KINDS:
                raise ValueError("its file has an invalid hash or kind")
            row = {name: body[name] for name in ("file_name", "kind", "size", "sha256", "month")}
            rows.append(
                row
                | {
                    "seq": entry.seq,
                    "item_id": entry.subject,
                    "attached_by": entry.actor.name,
                    "attached_at": entry.at,
                    "late": entry.seq > closes.get(body["month"], entry.seq),
                    "state": "stored",
                }
            )
        elif entry.kind == REMOVAL:
            for row in _of_content(rows, entry.subject):
                row["state"] = "removal_proposed"
                row["removal_reason"] = body["reason"]
                row["removal_proposed_by"] = entry.actor.name
        elif entry.kind == ERASED:
            for row in _of_content(rows, entry.subject):
                alone = same_person(row["removal_proposed_by"] or "", entry.actor.name)
                row |= {
                    "state": "removed",
                    "removed_by": entry.actor.name,
                    "removed_at": entry.at,
                    "removed_alone": alone,
                    "removal_seq": entry.seq,
                }
    return pa.Table.from_pylist(rows, schema=ATTACHMENTS)


@reads_entries
def waiting_removals(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the files with a removal that waits for a second person, by their first attachment.

    The columns are those of ATTACHMENTS and `proposed_at`.
    """
    everything = tuple(entries)
    proposed = {entry.subject: entry.at for entry in everything if entry.kind == REMOVAL}
    waiting: dict[str, dict[str, Any]] = {}
    for row in attachment_table(everything).to_pylist():
        if row["state"] == "removal_proposed":
            waiting.setdefault(row["sha256"], row | {"proposed_at": proposed[row["sha256"]]})
    return list(waiting.values())


def _of_content(rows: Iterable[dict[str, Any]], sha256: str) -> list[dict[str, Any]]:
    """Return the attachments of these bytes that are not removed."""
    return [row for row in rows if row["sha256"] == sha256 and row["state"] != "removed"]


def attached_in(
    attachments: pa.Table, month: Month, items: Collection[str], since: int
) -> pa.Table:
    """Return the attachments in the pack of a month's close; columns as in ATTACHMENTS.

    These are the files attached in the month or to one of its open `items`. Files that were
    attached late to earlier months, and removals, are in the pack of the next close: they follow
    the journal entry `since`, which closed the previous month.
    """
    rows = attachments.to_pylist()
    carried = [
        row["month"] == str(month)
        or row["item_id"] in items
        or (row["late"] and row["month"] < str(month) and row["seq"] > since)
        or (row["removal_seq"] or 0) > since > 0
        for row in rows
    ]
    return attachments.filter(pa.array(carried, pa.bool_()))


def pack_name(row: Mapping[str, Any]) -> str:
    """Return the path of an attached file in a close pack, made of its hash and its kind."""
    return f"attachments/{row['sha256']}.{row['kind']}"
