"""An open item in a panel: as a row of the list, with the words and columns that filters use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.closing import Closing
from treasury.core.money import format_amount
from treasury.core.tables.column_types import INTEGER, TEXT
from treasury.core.wording import state_words
from treasury.month.items import KINDS, OPEN_ITEMS, TURNS
from treasury.month.items.item_kinds import OWNERS
from treasury.panels.frames.blocks import ListRow, Text, cell
from treasury.panels.frames.list_filters import ListFilter
from treasury.panels.frames.panel_text import day

FILTERS: Final = (
    ListFilter(
        name="kind", label="Kind", kind="choice", columns=("kind",),
        words=lambda kind: KINDS[kind].label,
    ),
    ListFilter(name="state", label="State", kind="choice", columns=("state_words",)),
    ListFilter(
        name="turn", label="Turn", kind="choice", columns=("turn",),
        words=lambda turn: {str(key): words.capitalize() for key, words in TURNS.items()}[turn],
    ),
    ListFilter(name="owner", label="Owner", kind="choice", columns=("owner_words",)),
    ListFilter(name="account", label="Account", kind="choice", columns=("account",)),
    ListFilter(name="currency", label="Currency", kind="choice", columns=("currency",)),
    ListFilter(
        name="blocking", label="Blocks", kind="choice", columns=("blocking",),
        words={"true": "yes", "false": "no"}.__getitem__,
    ),
    ListFilter(name="amount", label="Amount", kind="amount", columns=("amount",)),
    ListFilter(name="age", label="Age", kind="age", columns=("age",)),
    ListFilter(name="day", label="Since or due", kind="day", columns=("since", "due")),
)  # fmt: skip
"""The filters of the open items, in the order of the screen."""
SEARCHED: Final = (
    "state_words", "kind_words", "name", "direction", "amount", "currency", "next_step", "item_id",
    "request_id", "entry_id", "transfer_id", "remark", "owner_words", "account", "proposed_by",
    "accepted_reason",
)  # fmt: skip


NO_ITEMS: Final = pa.schema(
    [
        *OPEN_ITEMS,
        ("place", INTEGER),
        *((name, TEXT) for name in ("state_words", "kind_words", "owner_words", "account")),
        ("files", INTEGER),
    ]
).empty_table()
"""The table of the panel without items."""


def with_shown_columns(items: pa.Table, closing: Closing) -> pa.Table:
    """Return open items with further columns: place, words on screen, owner, account, files."""
    attached = Counter(closing.rolled.attachments.arrow["item_id"].to_pylist())
    numbers = [attached[name] for name in items["item_id"].to_pylist()]
    owners = _words(items["turn"], {str(turn): name for turn, name in OWNERS.items()}.__getitem__)
    return (
        items.append_column("place", pa.array(range(items.num_rows), INTEGER))
        .append_column("state_words", _words(items["state"], state_words))
        .append_column("kind_words", _words(items["kind"], lambda kind: KINDS[kind].label))
        .append_column("owner_words", pc.coalesce(items["owner"], owners))
        .append_column("account", _accounts(items, closing))
        .append_column("files", pa.array(numbers, INTEGER))
    )


def _words(column: pa.ChunkedArray, words: Callable[[str], str]) -> pa.ChunkedArray:
    """Return the words of a column's codes, each looked up once."""
    codes = column.unique()
    shown = pa.array([words(code) for code in codes.to_pylist()], TEXT)
    return shown.take(pc.index_in(column, value_set=codes))


def _accounts(items: pa.Table, closing: Closing) -> pa.ChunkedArray:
    """Return the account of each item about a bank line or a balance; empty for other items."""
    columns = ["entry_id", "account", "statement_account"]
    both = (closing.r.earlier_lines.arrow, closing.r.lines.arrow)
    lines = pa.concat_tables([each.select(columns) for each in both])
    own = pc.coalesce(lines["account"], lines["statement_account"]).combine_chunks()
    line_ids = lines["entry_id"].combine_chunks()
    of_line = own.take(pc.index_in(items["entry_id"], value_set=line_ids))
    balances = closing.balances.arrow
    subjects = pc.list_element(pc.split_pattern(items["subject_id"], "/", max_splits=1), 0)
    at = pc.index_in(subjects, value_set=balances["of"].combine_chunks())
    return pc.coalesce(of_line, balances["name"].combine_chunks().take(at), "")


def item_row(row: Mapping[str, Any]) -> ListRow:
    """Return the list row of an open item."""
    amount = "" if row["amount"] is None else format_amount(row["amount"], row["currency"] or "?")
    unit = row["clock"] if row["age"] == 1 else f"{row['clock']}s"
    state, kind = state_words(row["state"]), KINDS[row["kind"]].label
    is_said = state.casefold() == kind.casefold()
    return ListRow(
        label=f"{state}, {row['name']}, {amount}",
        cells=(
            cell(
                Text(row["name"] or "no reference", "strong"),
                Text(state, "warn" if row["blocking"] else "plain"),
                None if is_said else Text(kind, "quiet"),
            ),
            cell(Text(amount), row["counted_in"] and Text("counted with its line", "quiet")),
            cell(
                Text(f"{row['age']} {unit}" if row["age"] else "new", "strong"),
                Text(row["owner_words"], "quiet"),
                row["since"] and Text(f"since {day(row['since'])}", "quiet"),
                row["due"] and Text(f"due {day(row['due'])}", "quiet"),
            ),
            cell(
                Text(row["next_step"]),
                _carrying(row),
                row["remark"] and Text(row["remark"], "quiet"),
                Text("1 file" if row["files"] == 1 else f"{row['files']:,} files", "quiet")
                if row["files"]
                else None,
            ),
        ),
    )


def _carrying(row: Mapping[str, Any]) -> Text | None:
    """Return who proposed to carry an item, until when and why, and who accepted it."""
    if row["proposed_by"] is None:
        return None
    until = f"until {day(row['expected_by'])}, proposed by {row['proposed_by']}"
    reason = f": {row['accepted_reason']}" if row["accepted_reason"] else ""
    if row["accepted_by"] is None:
        return Text(f"To be carried {until}{reason}; a colleague accepts it", "warn")
    alone = ", alone" if row["accepted_alone"] else ""
    return Text(f"Carried {until}, accepted by {row['accepted_by']}{alone}{reason}", "good")
