"""A request that waits for funds in a panel: as a row of the list, with the filters of the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from treasury.core.money import format_amount
from treasury.core.text import visible
from treasury.core.wording import state_words
from treasury.panels.frames.blocks import LineStyle, ListRow, Text, cell
from treasury.panels.frames.list_filters import ListFilter
from treasury.panels.frames.panel_text import literal_text
from treasury.panels.payable_requests import SHOWN_DETAILS

FILTERS: Final = (
    ListFilter(name="state", label="State", kind="choice", columns=("state",), words=state_words),
    ListFilter(name="to", label="Pay to", kind="choice", columns=("to",)),
    ListFilter(name="currency", label="Currency", kind="choice", columns=("currency",)),
    ListFilter(name="amount", label="Amount", kind="amount", columns=("send",)),
    ListFilter(name="day", label="Due", kind="day", columns=("due",)),
)
"""The filters of the requests that wait for funds, in the order of the screen."""
_LOUD: Final[dict[str, LineStyle]] = {
    "PAY": "strong",
    "SEND CRYPTO": "strong",
    "SENT": "good",
    "HASH GIVEN": "good",
    "HASH PROPOSED": "good",
}


def funding_row(row: Mapping[str, Any]) -> ListRow:
    """Return the list row of a request that waits for funds."""
    name = row["reference"] or row["request"]
    amount = "not shown"
    shown: tuple[Text, ...] = (Text(amount),)
    if row["send"] is not None:
        amount = format_amount(row["send"], row["currency"])
        digits = amount.partition(" ")[2].replace(",", "")
        payable = (Text(amount, "strong"), Text(digits, "code", "amount"))
        shown = payable if row["payable"] else (Text(amount),)
    return ListRow(
        label=f"{name}, {row['direction']}, {amount}, {state_words(row['state'])}",
        cells=(
            (
                _copied(name, "reference", "strong") if row["payable"] else Text(name, "strong"),
                Text(row["direction"]),
                Text(_due(row), "quiet"),
            ),
            _pay_to(row),
            shown,
            _state(row),
        ),
    )


def _pay_to(row: Mapping[str, Any]) -> tuple[Text, ...]:
    if not row["payable"]:
        why = "Do not pay: not approved" if not row["to"] else "Not payable now"
        return cell(
            Text(row["to"] or "", "quiet"),
            Text(why, "warn"),
            row["differs"] and Text(f"CHANGED: {row['differs']}", "warn"),
        )
    lines = cell(
        *(_copied(row[name], label) for name, label in SHOWN_DETAILS.items() if row[name]),
        row["deposit_wallet_chain"]
        and Text(f"{row['asset']} on {row['deposit_wallet_chain']} only", "strong"),
        row["differs"] and Text(f"CHANGED: {row['differs']}", "warn"),
        row["first_time"]
        and Text("First payment to these details: check them with the provider", "warn"),
    )
    return lines or (Text("The service gives no deposit details", "warn"),)


def _state(row: Mapping[str, Any]) -> tuple[Text, ...]:
    evidence = f", statements to {row['evidence_to']:%-d %b}" if row["evidence_to"] else ""
    at_bank = f"bank: {row['seen']}{evidence}" if row["direction"] == "on-ramp" else row["seen"]
    return cell(
        Text(state_words(row["state"]), _LOUD.get(row["state"], "warn")),
        Text(row["next_step"]),
        Text(at_bank, "quiet"),
        row["marked"] and Text(f"Remark, no evidence: {row['marked']}", "warn"),
    )


def _due(row: Mapping[str, Any]) -> str:
    if row["due"] is None:
        return ""
    plural = "" if row["overdue"] == 1 else "s"
    late = f", {row['overdue']} {row['overdue_unit']}{plural} overdue" if row["overdue"] else ""
    return f"due {row['due']:%-d %b}{late}"


def _copied(text: str, label: str, style: LineStyle = "plain") -> Text:
    """Return a line with a Copy button; a warning instead if it has hidden characters."""
    if visible(text) != text or literal_text(text) != text:
        return Text(f"{text} (contains hidden characters: do not pay, ask the provider)", "warn")
    return Text(text, style, label)
