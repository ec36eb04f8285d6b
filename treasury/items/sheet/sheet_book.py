"""The decision sheet as a workbook that explains itself.

Three sheets: how it works, a row for each open item, and (aside) what may be chosen for each. Facts
are locked, without a password; five columns are to be filled in. The list of a row's choices is
looked up by the item's id, so it is the right one wherever the row is moved to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.calendar import Month
from treasury.items.item_kinds import TURNS
from treasury.items.open_item import OPEN_ITEMS
from treasury.items.sheet.sheet_rows import DecisionRow
from treasury.lake import TEXT
from treasury.tables.workbook import Sheet, SheetColumn, Workbook
from treasury.text import clean

__all__ = ["DECISION", "SHOWN", "TITLES", "decision_book"]

ROWS: Final = "Open items"
_LISTS: Final = "Choices"
_GUIDE: Final = "How this works"
SHOWN: Final = "Shown"
DECISION: Final = "Decision"
_LIST_FORMULA: Final = (
    f"=OFFSET({_LISTS}!$B$1,MATCH({{item}}2,{_LISTS}!$A:$A,0)-1,0,"
    f"COUNTIF({_LISTS}!$A:$A,{{item}}2),1)"
)
_COLUMNS: Final = (
    SheetColumn("Whose move", "turn", width=12),
    SheetColumn("State", "state", width=18),
    SheetColumn("What", "label", width=24),
    SheetColumn("Name", "name", width=32),
    SheetColumn("Amount", "amount", "amount", 15),
    SheetColumn("Currency", "currency", width=9),
    SheetColumn("In or out", "direction", width=9),
    SheetColumn("Since", "since", "date", 11),
    SheetColumn("Age", "age", width=15),
    SheetColumn("The bank says", "bank_says", width=48),
    SheetColumn("May belong to", "candidates", width=60),
    SheetColumn("Next step", "next_step", width=40),
    SheetColumn("Said of it", "remark", width=30),
    SheetColumn(DECISION, "decision", "entry", 40),
    SheetColumn("Reason", "reason", "entry", 36),
    SheetColumn("Owner", "owner", "entry", 16),
    SheetColumn("Clear by", "expected_by", "entry", 12),
    SheetColumn("Proposed by", "proposed_by", "entry", 16),
    SheetColumn("Item", "item_id", width=24),
    SheetColumn(SHOWN, "seen", width=12),
)
TITLES: Final[Mapping[str, str]] = {
    column.field: column.title
    for column in _COLUMNS
    if column.kind == "entry" or column.field in {"name", "amount", "item_id", "seen"}
}
"""The columns that are read back, by their field: what is filled in, and what tells the item."""
_ITEM_COLUMN: Final = "$" + chr(ord("A") + [column.field for column in _COLUMNS].index("item_id"))
_ROW: Final = pa.schema(
    [
        OPEN_ITEMS.field(column.field)
        if column.field in {"amount", "since"}
        else pa.field(column.field, TEXT)
        for column in _COLUMNS
    ]
)


_STEPS: Final = (
    "",
    f"1. Go to the sheet {ROWS!r}. Each row is one open item, with its facts as they were.",
    "2. Choose in the column Decision, from the list of the row. Leave it empty to let it be.",
    "3. Give the Reason. A line that is closed, a remark, and an item that is carried need one.",
    "4. To carry an item or to hand it on, name its Owner; to carry it, give the day in Clear by.",
    "5. Put your name in Proposed by. It is kept beside the name of whoever applies the sheet.",
    "6. Save it as an Excel workbook (.xlsx) and have it applied: treasury decide FILE.",
    "",
    "You may sort, filter, format, move rows and columns, and add columns of your own.",
    "To sort, lift the protection of the sheet first: it has no password.",
    "Keep each row together: a decision is taken for the item that stands in its row, and only",
    "if nothing that is shown there has changed. Formulas are not read: type what you mean.",
    "This file decides nothing. Whoever applies it sees first what each row would do, in items",
    "and in currency, and which rows are refused and why.",
)


def decision_book(
    rows: Sequence[DecisionRow], month: Month, *, company: str, environment: str, as_of: datetime,
    zone: str,
) -> tuple[Workbook, dict[str, pa.Table]]:  # fmt: skip
    """The workbook of these rows of a month's open items, and the tables of its sheets."""
    about = f"{clean(company)}, {environment}, open items of {month.title}"
    columns = tuple(
        msgspec.structs.replace(column, choices=_LIST_FORMULA.format(item=_ITEM_COLUMN))
        if column.title == DECISION
        else column
        for column in _COLUMNS
    )
    book = Workbook(
        properties={"title": about},
        sheets=(
            Sheet(_GUIDE, (SheetColumn(_GUIDE, "text", width=110),), locked=True),
            Sheet(ROWS, columns, locked=True),
            Sheet(
                _LISTS,
                (
                    SheetColumn("Item", "item_id", width=24),
                    SheetColumn("Choice", "label", width=60),
                ),
                locked=True,
                aside=True,
            ),
        ),
        created=as_of,
        zone=zone,
        head=about,
    )
    choices = [
        {"item_id": row.item.item_id, "label": choice.label}
        for row in rows
        for choice in row.choices
    ]
    decidable = sum(bool(row.choices) for row in rows)
    counted = f"{len(rows):,} open items; {decidable:,} of them can be decided here."
    guide = [{"text": text} for text in (about, counted, *_STEPS)]
    return book, {
        _GUIDE: pa.Table.from_pylist(guide, schema=pa.schema([("text", TEXT)])),
        ROWS: pa.Table.from_pylist([_row(row, month) for row in rows], schema=_ROW),
        _LISTS: pa.Table.from_pylist(
            choices, schema=pa.schema([("item_id", TEXT), ("label", TEXT)])
        ),
    }


def _row(row: DecisionRow, month: Month) -> dict[str, Any]:
    item = row.item
    unit = item.clock if item.age == 1 else f"{item.clock}s"
    carry = (
        f"{item.proposed_by} proposed to carry it: {item.owner}, by {item.expected_by}"
        if item.proposed_by is not None and not item.is_accepted
        else ""
    )
    return {
        "turn": TURNS[item.turn],
        "state": item.state,
        "label": item.words.label,
        "name": item.name,
        "amount": item.amount,
        "currency": item.currency,
        "direction": item.direction,
        "since": item.since,
        "age": f"{item.age} {unit}" if item.age else "new",
        "bank_says": row.bank_says,
        "candidates": row.candidates,
        "next_step": item.next_step,
        "remark": "; ".join(filter(None, (item.remark, carry))),
        "item_id": item.item_id,
        "seen": f"{month} {row.seen}",
    }
