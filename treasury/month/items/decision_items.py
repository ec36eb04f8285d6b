"""Open items about our own work: actions, notices, late items, decisions that need attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from treasury.actions.action_states import Action
from treasury.core.tables.column_types import AMOUNT, INSTANT, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.core.text import clean
from treasury.core.wording import LINE_DIRECTIONS
from treasury.journal.notice_history import DOUBTFUL, Notice
from treasury.month.decisions.standing_verdicts import NEEDS_A_PERSON
from treasury.month.items.item_facts import Facts, make_item, money_of, table_rows
from treasury.month.items.open_item import OpenItem
from treasury.month.states import states_of

ACTIONS: Final = grouped_schema(
    (TEXT, "action_id", "state", "text"),
    (INSTANT, "proposed_at"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "request_id", "command"),
)
"""One row per action at the service that has not ended; the amount is in `currency`.

An action that may have been carried out twice has not ended and is in state `doubled`. A channel
with notices that may not have arrived has one row in state `doubtful`. A file whose removal waits
for a second person has one row in state `removal_proposed`; `action_id` is then its number. Terms
of the policy that wait for one have a row in state `terms_proposed`; `action_id` is then the number
of their proposal. `command` is the one with which the second person accepts.
"""
_DOUBLED: Final = "doubled"
_DOUBTFUL: Final = "doubtful"
_REMOVAL: Final = "removal_proposed"
_TERMS: Final = "terms_proposed"
_SUBJECTS: Final = {_DOUBTFUL: "notice", _REMOVAL: "removal", _TERMS: "terms"}
"""The subject of an item by the state of its row, if it is not an action."""
_STATES: Final = states_of("action")
"""The states in which an action or notice has not ended."""


def open_actions(
    actions: Iterable[Action],
    notices: Iterable[Notice] = (),
    removals: Iterable[Mapping[str, Any]] = (),
    terms: Iterable[Mapping[str, Any]] = (),
) -> pa.Table:
    """Return the actions that have not ended, oldest first; columns as in ACTIONS.

    Rows for channels with notices that may not have arrived follow, then `removals`, the rows of
    `waiting_removals`, and `terms`, those of `waiting_terms`.
    """
    rows = [
        {
            "action_id": action.id,
            "state": state,
            "text": action.masked or action.text,
            "proposed_at": action.proposed_at,
            "amount": None if action.money is None else action.money.amount,
            "currency": None if action.money is None else action.money.currency,
            "request_id": None if action.request is None else action.request.id,
        }
        for action in actions
        for state in (_DOUBLED if action.doubled else action.state,)
        if state in _STATES
    ]
    doubtful: dict[str, list[Notice]] = {}
    for notice in notices:
        if notice.state in DOUBTFUL:
            doubtful.setdefault(notice.channel, []).append(notice)
    rows += [
        {
            "action_id": channel,
            "state": _DOUBTFUL,
            "text": ", ".join(notice.id for notice in unsettled),
            "proposed_at": unsettled[0].at,
        }
        for channel, unsettled in doubtful.items()
    ]
    rows += [
        {
            "action_id": str(row["seq"]),
            "state": _REMOVAL,
            "text": f"{row['file_name']}: {row['removal_reason']}, by {row['removal_proposed_by']}",
            "proposed_at": row["proposed_at"],
            "command": f"treasury items accept-removal {row['seq']}",
        }
        for row in removals
    ]
    rows += [
        {
            "action_id": str(row["seq"]),
            "state": _TERMS,
            **{name: row[name] for name in ("text", "proposed_at", "command")},
        }
        for row in terms
    ]
    return pa.Table.from_pylist(rows, schema=ACTIONS)


def action_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per action that has not ended, doubtful channel, removal and waiting terms."""
    for row in table_rows(facts.actions):
        state = _STATES[row["state"]]
        subject = _SUBJECTS.get(row["state"], "action")
        request: str | None = row["request_id"]
        others: dict[str, Any] = {}
        if command := row["command"]:
            others = {"command": command, "next_step": f"Have a second person accept it: {command}"}
        yield make_item(
            facts,
            state.kind,
            f"{subject}:{row['action_id']}",
            name=f"{row['action_id']} {clean(row['text'])}",
            state=state.screen,
            since=facts.day(row["proposed_at"]),
            amount=row["amount"],
            currency=row["currency"] or "",
            direction="" if row["amount"] is None else "out",
            counted_in=None if request is None else f"request:{request}",
            request_id=request,
            **others,
        )


def moved_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per decision with facts that have changed."""
    for row in table_rows(facts.moved):
        yield make_item(
            facts,
            "decision_moved",
            f"decision:{row['seq']}",
            name=clean(row["reference"]) or row["entry_id"][:8],
            state="FACTS MOVED",
            since=row["booking_date"],
            **money_of(row),
            next_step=f"{clean(row['moved'])}: look at the decision; undo it if it is wrong now",
            counted_in=f"line:{row['entry_id']}",
            entry_id=row["entry_id"],
        )


def late_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per late fact about a closed month, in the open month that posts it."""
    posted = {row["entry_id"] for row in table_rows(facts.corrections)}
    for row in table_rows(facts.late):
        if row["posts_to"] != str(facts.month):
            continue
        is_open = row["outcome"] in NEEDS_A_PERSON
        others: dict[str, Any] = {
            "blocks": "until accepted" if is_open else "never",
            "state": "LATE",
        }
        if row["change"] == "decided" and row["entry_id"] not in posted:
            others = {
                "blocks": "until accepted",
                "state": "LATE DECISION NOT POSTED",
                "next_step": f"Post it by hand: the books of {row['month']} do not have this line",
            }
        elif row["change"] == "decided":
            others["state"] = "DECIDED LATE"
            if not is_open:
                others["next_step"] = "Nothing; the journal of this month posts the difference"
        yield make_item(
            facts,
            "late_item",
            f"late:{row['entry_id']}/{row['change']}/{row['month']}",
            name=f"{row['month']}: {clean(row['what'])}",
            since=min(facts.day(row["known_from"]) or facts.month.last, facts.month.last),
            amount=row["amount"],
            currency=row["currency"] or "",
            direction=LINE_DIRECTIONS.get(row["direction"], ""),
            entry_id=row["entry_id"],
            counted_in=f"line:{row['entry_id']}" if is_open else None,
            **others,
        )
