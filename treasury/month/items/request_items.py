"""Open items about ramp requests: one per request that is not settled, in its strongest state.

Requests that wait for funds take their text from `awaiting_funds`, others from `differences`. If an
undecided line may be the payment of a request, its money is counted in the line's item only, up to
the amount of the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.core.files.package_files import step_sql
from treasury.core.text import clean
from treasury.month.clocks import rail_of
from treasury.month.items.item_facts import Facts, begun_on, make_item, money_of
from treasury.month.items.line_items import LINE_STATES
from treasury.month.items.open_item import OpenItem
from treasury.month.reconciliation import requests_at_cut_off
from treasury.month.states import FUNDING_STATES, states_of

_Row = Mapping[str, Any]

_BY_A_LINE: Final = (
    "check_bank", "rejected_unproved", "sent_wrong", "paid_early", "awaits_line", "settled_since",
)  # fmt: skip
"""Kinds of items with money that may also be in an open line."""
_DIFFERENCES: Final = states_of("difference")
_DOUBTS: Final = states_of("doubt")
"""Doubts about a request, which override its other states."""
_STATUSES: Final = states_of("status")
"""The service's statuses, used if no other state of the request is known."""
_ORDERS: Final = states_of("order")
_PAYOUTS: Final = (
    "awaits_line", "paid_not_completed", "payout_due", "payout_missing", "payout_not_provable",
)  # fmt: skip
"""Kinds in which an off-ramp's amount is the expected payout; in others it is the sent coins."""
_REQUESTS: Final = step_sql("treasury.month.items.steps", "begun_requests")


def request_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per request that is not settled and began by the month's end.

    A request made by then belongs to the month, even if its funding or delivery began later. A
    missing payout keeps its state next to a doubt about its hash, because the money is still open.
    """
    last = facts.month.last
    items = {item.subject_id: item for item in _at_service(facts)}
    begun = {request: item.since for request, item in items.items()}
    differences = [row for row in facts.differences if row["request_id"] is not None]
    in_doubt = [_of_difference(facts, row) for row in differences if row["state"] in _DOUBTS]
    # Requests that the service is processing, or has completed without a line at the bank.
    states = (*_DOUBTS, *LINE_STATES)
    differing = [_of_difference(facts, row) for row in differences if row["state"] not in states]
    for item in (*differing, *_funding(facts), *in_doubt):
        before = items.get(item.subject_id)
        if before is not None and before.kind == "payout_missing" and item.kind == "hash_in_doubt":
            step = f"{before.next_step}; {item.next_step[:1].lower()}{item.next_step[1:]}"
            items[item.subject_id] = msgspec.structs.replace(before, next_step=step)
        elif item.since is None or item.since <= last:
            items[item.subject_id] = item
        elif item.subject_id in begun:
            items[item.subject_id] = begun_on(facts, item, begun[item.subject_id])
    _count_with_lines(facts, items)
    yield from items.values()


def _count_with_lines(facts: Facts, items: dict[str, OpenItem]) -> None:
    """Set `counted_in` of requests to an open line that may pay them, up to the line's amount."""
    lines = facts.open_lines
    columns = (lines[name].to_pylist() for name in ("entry_id", "amount", "currency"))
    remaining = {
        entry: (amount, currency) for entry, amount, currency in zip(*columns, strict=True)
    }
    counting: set[str] = set()
    for line, request in facts.candidate_pairs:
        item = items.get(request)
        if item is None or item.kind not in _BY_A_LINE or item.counted_in is not None:
            continue
        amount, currency = remaining[line]
        open_of_it = item.amount or Decimal(0)
        if item.currency != currency or (line in counting and open_of_it > amount):
            continue
        items[request] = msgspec.structs.replace(item, counted_in=f"line:{line}")
        remaining[line] = amount - open_of_it, currency
        counting.add(line)


def _funding(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per request that waits for funds, or was paid before its approval."""
    for row in facts.r.shown_funding.to_pylist():
        yield make_item(
            facts,
            _funding_kind(row),
            f"request:{row['request']}",
            name=clean(row["reference"]) or f"{row['direction']} {row['request'][:8]}",
            state=row["state"],
            since=facts.day(row["approved"]),
            rail=rail_of(row["currency"]),
            due=row["due"],
            amount=row["send"],
            currency=row["currency"],
            direction="out",
            next_step=row["next_step"],
            evidence_to=row["evidence_to"],
            remark=row["marked"],
            request_id=row["request"],
        )


def _funding_kind(row: _Row) -> str:
    state = FUNDING_STATES.get(row["state"])
    if state is None:
        return "unknown_status"
    is_late = row["silent"] if state.clock == "service's" else row["overdue"] > 0
    if row["state"] == "WITH THE BANK":
        state = _ORDERS.get(row["at_bank"], state)
    elif row["state"] == "CHECK BANK":
        state = _ORDERS.get(row["seen"], state)
    return state.kind_at(is_late=is_late)


def _of_difference(facts: Facts, row: _Row) -> OpenItem:
    state = (_DIFFERENCES | _DOUBTS).get(row["state"])
    kind = "unknown_status" if state is None else state.kind
    return make_item(
        facts,
        kind,
        f"request:{row['request_id']}",
        name=clean(row["item"]),
        state=row["state"] if state is None else state.screen,
        since=row["since"],
        **money_of(row),
        due=row["due"],
        direction="in" if row["direction"] == "off-ramp" and kind in _PAYOUTS else "out",
        next_step=row["next_step"],
        request_id=row["request_id"],
        entry_id=row["entry_id"],
    )


def _at_service(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per request that was open at the service at the month's end, by its status.

    A request that has ended since is listed too, but needs no action.
    """
    if facts.r.basis is None:
        return
    then = requests_at_cut_off(facts.r.basis.snapshot, facts.month, facts.zone)
    open_then = {
        row["request_id"]: row for row in then.to_pylist() if row["is_open"] or not row["has_ended"]
    }
    for row in facts.select(_REQUESTS, {"ids": list(open_then)}):
        at_end = open_then[row["id"]]
        status = clean(at_end["status"])
        known = _STATUSES.get(at_end["status"])
        kind, state = ("unknown_status", status) if known is None else (known.kind, known.screen)
        others: dict[str, Any] = {}
        if at_end["has_ended"]:
            kind = "settled_since"
            ended = f"{clean(at_end['status_now']).lower()} on {at_end['changed_on']:%-d %b}"
            others = {"next_step": f"Nothing: {ended}"}
        yield make_item(
            facts,
            kind,
            f"request:{row['id']}",
            name=clean(row["payment_reference"]) or row["id"][:8],
            state=state,
            since=facts.day(row["created_at"]),
            **money_of(row),
            direction="out",
            request_id=row["id"],
            **others,
        )
