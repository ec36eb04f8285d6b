"""Open items about bank lines: lines that need a person, excess amounts and late bookings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from treasury.core.text import clean
from treasury.core.wording import LINE_DIRECTIONS
from treasury.month.items.item_facts import Facts, make_item, money_of
from treasury.month.items.item_kinds import KINDS
from treasury.month.items.open_item import OpenItem
from treasury.month.states import states_of

_LINES: Final = states_of("line")
"""The outcomes that need a person."""
LINE_STATES: Final = (
    "PAID TWICE",
    "PAID TO CLOSED REQUEST",
    "PAID TO WRONG ACCOUNT",
    "PAID WRONG",
)
"""Differences about a bank line: they change the text of the line's item and add no item."""


def line_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per unexplained line, including lines of earlier months.

    The excess of a matched line over the expected amount is an item too, and so is each payment of
    the month that the bank booked later. The money of that payment is counted in the item of the
    request that it settles, if there is one.
    """
    differences = {row["entry_id"]: row for row in facts.differences if row["state"] in LINE_STATES}
    for line in facts.open_lines.to_pylist():
        # A line without a reference needs a person only if the account expects payments.
        is_expected = line["outcome"] != "unreferenced" or not facts.expects_nothing
        state = _LINES[line["outcome"] if is_expected else "not_reconciled"]
        particulars: dict[str, Any] = {"state": state.screen, "since": line["booking_date"]}
        if line["outcome"] == "duplicate" and line["direction"] == "CRDT":
            particulars["next_step"] = "Return it, or ask the payer what it is for"
        if (difference := differences.get(line["entry_id"])) is not None:
            particulars |= {name: difference[name] for name in ("state", "next_step", "request_id")}
        yield _line_item(facts, state.kind, line["entry_id"], line, **particulars)
    usual = KINDS["more_than_expected"].next_step
    for row in facts.r.excess_lines.arrow.to_pylist():
        out, settles = row["direction"] == "DBIT", row["expectation_id"]
        yield _line_item(
            facts,
            "more_than_expected",
            f"{row['entry_id']}/rest",
            row,
            state="PAID TOO MUCH" if out else "RECEIVED TOO MUCH",
            since=row["booking_date"],
            next_step="Ask the provider for it back" if out else usual,
            counted_in=f"request:{settles}" if out and settles else None,
        )
    for row in facts.r.bank_cutoffs.arrow.to_pylist():
        settles = row["expectation_id"]
        yield _line_item(
            facts,
            "bank_cutoff",
            f"{row['entry_id']}/{facts.month}",
            row,
            state="BOOKED LATER",
            since=row["value_date"],
            due=row["booking_date"],
            counted_in=None if settles is None else f"request:{settles}",
            next_step=f"Nothing; the bank booked it on {row['booking_date']:%-d %b}",
        )


def _line_item(
    facts: Facts, kind: str, name: str, line: Mapping[str, Any], **particulars: Any
) -> OpenItem:
    """Return the item of a line; its name has the reference, if any, and the other party."""
    payer = clean(line["counterparty_name"]) or "no name"
    reference = clean(line["reference"])
    return make_item(
        facts,
        kind,
        f"line:{name}",
        name=f"{reference}, {payer}" if reference else payer,
        **money_of(line),
        direction=LINE_DIRECTIONS[line["direction"]],
        entry_id=line["entry_id"],
        **particulars,
    )
