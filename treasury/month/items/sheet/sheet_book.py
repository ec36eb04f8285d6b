"""The decision sheet as a workbook with its own instructions.

It has three sheets: the instructions, a row per open item, and the choices for each item. Facts are
locked, without a password; five columns are for input. The list of choices in a row is looked up by
the item's id, so it stays right if the row is moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.calendar import Month
from treasury.core.files.package_files import package_text
from treasury.core.tables.column_types import TEXT
from treasury.core.tables.workbook import Sheet, SheetColumn, Workbook
from treasury.core.wording import state_words
from treasury.month.items.item_kinds import TURNS
from treasury.month.items.open_item import OPEN_ITEMS
from treasury.month.items.sheet.sheet_rows import DecisionRow

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
    SheetColumn("At the bank", "bank_says", width=48),
    SheetColumn("May belong to", "candidates", width=60),
    SheetColumn("Next step", "next_step", width=40),
    SheetColumn("Remarks", "remark", width=30),
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
"""The columns that are read back, by field: the inputs and the item's identification."""
_ITEM_COLUMN: Final = "$" + chr(ord("A") + [column.field for column in _COLUMNS].index("item_id"))
_ROW: Final = pa.schema(
    [
        OPEN_ITEMS.field(column.field)
        if column.field in {"amount", "since"}
        else pa.field(column.field, TEXT)
        for column in _COLUMNS
    ]
)
_STEPS: Final = package_text("treasury.month.items.sheet", "sheet_guide.txt").splitlines()


def decision_book(
    rows: Sequence[DecisionRow], month: Month, about: str, as_of: datetime, zone: str
) -> tuple[Workbook, dict[str, pa.Table]]:
    """Return a workbook with these open items of a month, and the tables of its sheets."""
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
        {"item_id": row.item.item_id, "label": choice.words}
        for row in rows
        for choice in row.choices
    ]
    decidable = sum(bool(row.choices) for row in rows)
    counted = f"{len(rows):,} open items; {decidable:,} of them can be decided here."
    guide = [{"text": text} for text in (about, counted, *_STEPS)]
    return book, {
        _GUIDE: pa.Table.from_pylist(guide, schema=pa.schema([("text", TEXT)])),
        ROWS: pa.Table.from_pylist([_row(row, month) for row in rows], schema=_ROW),
        _LISTS: pa.Table.from_pylist(choices, pa.schema({"item_id": TEXT, "label": TEXT})),
    }


def _row(row: DecisionRow, month: Month) -> dict[str, Any]:
    item = row.item
    unit = item.clock if item.age == 1 else f"{item.clock}s"
    carry = (
        f"{item.proposed_by} proposed to carry it: {item.owner}, by {item.expected_by}"
        if item.proposed_by is not None and not item.is_accepted
        else ""
    )
    return msgspec.structs.asdict(item) | {
        "turn": TURNS[item.turn],
        "state": state_words(item.state),
        "label": item.words.label,
        "age": f"{item.age} {unit}" if item.age else "new",
        "bank_says": row.bank_says,
        "candidates": row.candidates,
        "remark": "; ".join(filter(None, (item.remark, carry))),
        "seen": f"{month} {row.seen}",
        # These columns are empty, because people fill them in.
        **dict.fromkeys(("owner", "expected_by", "proposed_by")),
    }
