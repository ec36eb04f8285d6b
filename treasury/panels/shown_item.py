"""An open item in a panel: as a row of the list, with the words and columns that filters use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from treasury.close.closing import Closing
from treasury.core.money import format_amount
from treasury.core.wording import state_words
from treasury.month.items import KINDS, TURNS
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
    ListFilter(name="amount", label="Amount", kind="amount", columns=("amount",)),
    ListFilter(name="age", label="Age", kind="age", columns=("age",)),
    ListFilter(name="day", label="Since or due", kind="day", columns=("since", "due")),
)  # fmt: skip
"""The filters of the open items, in the order of the screen."""
SEARCHED: Final = (
    "state_words", "kind_words", "name", "direction", "amount", "currency", "next_step", "item_id",
    "request_id", "entry_id", "transfer_id", "remark", "owner_words", "account",
)  # fmt: skip


def item_accounts(closing: Closing) -> dict[str, str]:
    """Return the account of each bank line and of each balance, by the id of its subject."""
    accounts = {}
    for lines in (closing.r.earlier_lines.arrow, closing.r.lines.arrow):
        for row in lines.select(["entry_id", "account", "statement_account"]).to_pylist():
            accounts[row["entry_id"]] = row["account"] or row["statement_account"]
    for row in closing.balances.arrow.select(["of", "name"]).to_pylist():
        accounts[row["of"]] = row["name"]
    return accounts


def shown_columns(
    rows: Sequence[Mapping[str, Any]], accounts: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return further columns of open items: their words on screen, their owner and account."""
    return {
        "state_words": [state_words(row["state"]) for row in rows],
        "kind_words": [KINDS[row["kind"]].label for row in rows],
        "owner_words": [row["owner"] or OWNERS[row["turn"]] for row in rows],
        "account": [
            accounts.get(row["entry_id"] or "")
            or accounts.get(row["subject_id"].partition("/")[0], "")
            for row in rows
        ],
    }


def item_row(row: Mapping[str, Any]) -> ListRow:
    """Return the list row of an open item."""
    amount = "" if row["amount"] is None else format_amount(row["amount"], row["currency"] or "?")
    unit = row["clock"] if row["age"] == 1 else f"{row['clock']}s"
    state = state_words(row["state"])
    return ListRow(
        label=f"{state}, {row['name']}, {amount}",
        cells=(
            (
                Text(row["name"] or "no reference", "strong"),
                Text(state, "warn" if row["blocking"] else "plain"),
                Text(KINDS[row["kind"]].label, "quiet"),
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
