"""Open items of bank lines: every booked line up to the month's end that needs a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from treasury.items.item_facts import Facts, make_item
from treasury.items.item_kinds import KINDS
from treasury.items.open_item import OpenItem
from treasury.reconcile.clocks import rail_of
from treasury.text import clean

__all__ = ["LINE_STATES", "line_items"]

_KINDS: Final = {
    "suggested": ("needs_decision", "NEEDS DECISION"),
    "conflict": ("contradicted", "CONFLICT"),
    "duplicate": ("paid_twice", "PAID TWICE"),
    "unreferenced": ("no_reference", "NO REFERENCE"),
}
"""The kind of each outcome that needs a person, and its word on screen."""
LINE_STATES: Final = (
    "PAID TWICE",
    "PAID TO CLOSED REQUEST",
    "PAID TO WRONG ACCOUNT",
    "PAID WRONG",
)
"""Differences that are about a bank line: they word its item rather than make one."""
_SIGNS: Final = {"CRDT": "in", "DBIT": "out"}


def line_items(facts: Facts) -> Iterator[OpenItem]:
    """An item for each line that nobody has explained, earlier months' too.

    So is what a matched line has above what was expected, and each payment of the month that the
    bank booked after it: its money counts with the request that it settles, where that is an item.
    """
    differences = {row["entry_id"]: row for row in facts.differences if row["state"] in LINE_STATES}
    for line in facts.open_lines.to_pylist():
        yield _line_item(facts, line, differences.get(line["entry_id"]))
    for row in facts.r.excess_lines.to_pylist():
        yield _excess_item(facts, row)
    for row in facts.r.bank_cutoffs.to_pylist():
        settles = row["expectation_id"]
        yield make_item(
            facts,
            "bank_cutoff",
            "line",
            f"{row['entry_id']}/{facts.month}",
            name=_name(row),
            state="BOOKED LATER",
            since=row["value_date"],
            rail=rail_of(row["currency"]),
            due=row["booking_date"],
            amount=row["amount"],
            currency=row["currency"],
            direction=_SIGNS[row["direction"]],
            entry_id=row["entry_id"],
            counted_in=None if settles is None else f"request:{settles}",
            next_step=f"Nothing; the bank booked it on {row['booking_date']:%-d %b}",
        )


def _line_item(
    facts: Facts, line: Mapping[str, Any], difference: Mapping[str, Any] | None
) -> OpenItem:
    kind, state = _KINDS[line["outcome"]]
    others: dict[str, Any] = {}
    if difference is not None:
        state = difference["state"]
        others = {"next_step": difference["next_step"], "request_id": difference["request_id"]}
    return make_item(
        facts,
        kind,
        "line",
        line["entry_id"],
        name=_name(line),
        state=state,
        since=line["booking_date"],
        rail=rail_of(line["currency"]),
        amount=line["amount"],
        currency=line["currency"],
        direction=_SIGNS[line["direction"]],
        entry_id=line["entry_id"],
        **others,
    )


def _excess_item(facts: Facts, row: Mapping[str, Any]) -> OpenItem:
    """What a line has above what was expected; of a debit it counts with the request, if open."""
    out = row["direction"] == "DBIT"
    return make_item(
        facts,
        "more_than_expected",
        "line",
        f"{row['entry_id']}/rest",
        name=_name(row),
        state="PAID TOO MUCH" if out else "RECEIVED TOO MUCH",
        since=row["booking_date"],
        rail=rail_of(row["currency"]),
        amount=row["amount"],
        currency=row["currency"],
        direction=_SIGNS[row["direction"]],
        entry_id=row["entry_id"],
        next_step="Ask the provider for it back" if out else KINDS["more_than_expected"].next_step,
        counted_in=f"request:{row['expectation_id']}" if out and row["expectation_id"] else None,
    )


def _name(line: Mapping[str, Any]) -> str:
    """The reference that a line names or may belong to, else whom it is from or to."""
    payer = clean(line["counterparty_name"]) or "no name"
    reference = clean(line["reference"])
    return f"{reference}, {payer}" if reference else payer
