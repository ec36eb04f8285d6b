"""Actions in a panel: how one reads as a row, and the steps that decide on several at once.

Each verb says which states it is for, what is asked and what it does; the panel reads the table.
Who may decide what, and whether an action is still what was shown, is the executor's to say.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.actions import OPEN, UNSETTLED, Action, Batch
from treasury.errors import InputError
from treasury.lake import AMOUNT, INSTANT, TEXT
from treasury.money import format_amount
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Button, Column, Fact, Line, Message, Row, Step
from treasury.panels.frames.panel import status
from treasury.panels.frames.panel_text import instant
from treasury.panels.panel_desk import Desk
from treasury.panels.steps.action_steps import Came, execute

__all__ = [
    "ACTIONS",
    "COLUMNS",
    "VERBS",
    "AskedActions",
    "Verb",
    "action_row",
    "action_table",
    "ask_about",
    "step_of",
    "what_came",
]

ACTIONS: Final = pa.schema(
    [
        ("id", TEXT),
        ("kind", TEXT),
        ("state", TEXT),
        ("text", TEXT),
        ("amount", AMOUNT),
        ("currency", TEXT),
        ("waits_for", pa.int64()),
        ("people", TEXT),
        ("proposed_at", INSTANT),
        ("changed_at", INSTANT),
        ("why", TEXT),
    ]
)
COLUMNS: Final = (
    Column("Action"),
    Column("What will happen", wide=True),
    Column("Amount", end=True),
    Column("State", wide=True),
)
_ON_SCREEN: Final = OPEN | UNSETTLED


class Verb(msgspec.Struct, frozen=True, kw_only=True):
    """A decision on actions: `states` it is for, and what it does with what was confirmed."""

    label: str
    asks: str
    consequence: str
    states: frozenset[str]
    carry_out: Callable[[Desk, AskedActions, Work], Message]
    confirm: str
    needs_reason: bool = False
    stops: bool = False


class AskedActions(msgspec.Struct, frozen=True, kw_only=True):
    """What a person is asked to confirm; `nonce` is good for one answer."""

    nonce: str
    verb: str
    shown: Batch
    reason: str | None
    asked_of: str
    """The person who is asked, and how that is known."""


def action_table(actions: Iterable[Action]) -> pa.Table:
    """What is open or unsettled; `amount` in `currency`."""
    rows = [
        {
            "id": one.id,
            "kind": one.kind,
            "state": one.state,
            "text": one.text,
            "amount": None if one.money is None else one.money.amount,
            "currency": None if one.money is None else one.money.currency,
            "waits_for": one.waits_for,
            "people": ", ".join(one.people),
            "proposed_at": one.proposed_at,
            "changed_at": one.changed_at,
            "why": one.why,
        }
        for one in actions
        if one.state in _ON_SCREEN
    ]
    return pa.Table.from_pylist(rows, schema=ACTIONS)


def action_row(row: Mapping[str, Any]) -> Row:
    """A row of ACTIONS."""
    amount = "" if row["amount"] is None else format_amount(row["amount"], row["currency"])
    return Row(
        key=row["id"],
        label=f"{row['id']}, {row['kind']}, {amount or 'no amount'}, {row['state']}",
        cells=(
            (
                Line(row["id"], "strong"),
                Line(row["kind"], "quiet"),
                Line(instant(row["proposed_at"]), "quiet"),
            ),
            (Line(row["text"]),),
            (Line(amount),),
            _state(row),
        ),
    )


def _state(row: Mapping[str, Any]) -> tuple[Line, ...]:
    more = row["waits_for"]
    match row["state"]:
        case "proposed":
            who = "one more person" if more == 1 else f"{more} more people"
            return (Line(f"Waits for {who}", "warn"), Line(f"by {row['people']}", "quiet"))
        case "ready":
            return (Line("Ready", "good"), Line(f"by {row['people']}", "quiet"))
    said = [Line(row["why"], "quiet")] if row["why"] else []
    return (Line("OUTCOME UNKNOWN: recover it", "warn"), *said)


def ask_about(
    desk: Desk, verb: str, ids: Iterable[str], reason: str | None, who: str
) -> AskedActions:
    """What to confirm; InputError where a chosen one is in a state that the verb is not for."""
    told = VERBS[verb]
    if told.needs_reason and not reason:
        raise InputError("reason: is missing", do="say why; it is kept in the journal")
    shown = desk.actions.batch(*ids)
    for action_id in shown.ids:
        state = desk.actions.get(action_id).state
        if state not in told.states:
            raise InputError(
                f"{action_id} is {state}, which is not for “{told.label}”; nothing was changed",
                do=f"choose what is {' or '.join(sorted(told.states))}",
            )
    return AskedActions(nonce=uuid.uuid4().hex, verb=verb, shown=shown, reason=reason, asked_of=who)


def step_of(asked: AskedActions, at: str, *, idle: bool) -> Step:
    """The step that confirms them: totals by currency, and each sentence as it is journaled."""
    told, shown = VERBS[asked.verb], asked.shown
    several = shown.ids[0] if len(shown.ids) == 1 else f"{len(shown.ids)} actions"
    reason = (Fact("Reason", (Line(asked.reason),)),) if asked.reason else ()
    totals = tuple(Line(f"{one.money}  ({one.count})", "strong") for one in shown.totals)
    return Step(
        key=asked.nonce,
        title=f"{told.asks} {several}?",
        text=f"{shown.text} {told.consequence}",
        items=shown.lines,
        facts=(
            Fact("Total by currency", totals or (Line("no amounts"),)),
            Fact("Decided by", (Line(asked.asked_of, "strong"),)),
            Fact("When", (Line(at),)),
            *reason,
        ),
        buttons=(
            Button("back", "Go back", enabled=idle),
            Button("confirm", told.confirm, "danger" if told.stops else "primary", enabled=idle),
        ),
        tone="stop" if told.stops else "go",
    )


def what_came(came: Came, what: str) -> Message:
    """What came of carrying out: done, refused, not known, not tried; nothing is left out."""
    done = [one.action for one in came.ran if one.action.state == "done"]
    other = [one for one in came.ran if one.action.state != "done"]
    lines = [Line(f"{one.id}: {one.outcome.status}. {one.text}") for one in done if one.outcome]
    for one in other:
        why = one.error.what if one.error is not None else one.action.why
        lines.append(Line(f"{one.action.id} is {one.action.state}: {why}", "warn"))
        if one.error is not None and one.error.do:
            lines.append(Line(f"Next: {one.error.do}", "strong"))
    for action in came.waiting:
        people = f"{action.waits_for} more"
        lines.append(Line(f"{action.id} waits for {people} to approve it: {action.text}"))
    if came.untried:
        lines.append(Line(f"{len(came.untried):,} not tried: ready, and nothing was sent", "warn"))
    title = f"{what}: {len(done):,} done"
    if came.cancelled:
        title = f"Cancelled after {len(came.ran):,}"
    elif came.waiting and not came.ran:
        title = "Proposed, nothing sent: waiting for a second person"
    return Message(title, tuple(lines), "alert" if other else "status")


# What each verb does


def _approve(desk: Desk, asked: AskedActions, work: Work) -> Message:
    work.pass_the_point("Writing the approval to the journal")
    approved = desk.actions.approve(*asked.shown.ids, shown=asked.shown, reason=asked.reason)
    lines = [Line(f"{one.id} is {one.state}. {one.text}") for one in approved]
    ready = sum(one.state == "ready" for one in approved)
    after = (Line("Next: carry out what is ready", "strong"),) if ready else ()
    return status(f"Approved {len(approved):,}, {ready:,} ready", *lines, *after)


def _execute(desk: Desk, asked: AskedActions, work: Work) -> Message:
    return what_came(execute(desk, asked.shown.ids, work), "Carried out")


def _reject(desk: Desk, asked: AskedActions, work: Work) -> Message:
    work.pass_the_point("Writing it to the journal")
    ended = [desk.actions.reject(one, asked.reason or "") for one in asked.shown.ids]
    return status(f"Rejected {len(ended):,}", *(Line(f"{one.id}: {one.text}") for one in ended))


def _withdraw(desk: Desk, asked: AskedActions, work: Work) -> Message:
    work.pass_the_point("Writing it to the journal")
    ended = [desk.actions.withdraw(one, asked.reason or "") for one in asked.shown.ids]
    return status(f"Withdrew {len(ended):,}", *(Line(f"{one.id}: {one.text}") for one in ended))


def _recover(desk: Desk, asked: AskedActions, work: Work) -> Message:
    work.pass_the_point("Asking the service what became of it")
    settled = desk.actions.recover(*asked.shown.ids)
    lines = [
        Line(f"{one.id} is {one.state}. {one.why}", "plain" if one.state == "done" else "warn")
        for one in settled
    ]
    return status(f"Looked at {len(settled):,}", *lines)


VERBS: Final[dict[str, Verb]] = {
    "approve": Verb(
        label="Approve…",
        asks="Approve",
        consequence="All of them are approved, or none; nothing is sent yet.",
        states=frozenset({"proposed"}),
        carry_out=_approve,
        confirm="Confirm approval",
    ),
    "execute": Verb(
        label="Carry out…",
        asks="Carry out",
        consequence="Each is sent once.",
        states=frozenset({"ready"}),
        carry_out=_execute,
        confirm="Confirm and send",
    ),
    "reject": Verb(
        label="Reject…",
        asks="Reject",
        consequence="They are closed for good.",
        states=OPEN,
        carry_out=_reject,
        confirm="Confirm rejection",
        needs_reason=True,
        stops=True,
    ),
    "withdraw": Verb(
        label="Withdraw…",
        asks="Withdraw",
        consequence="They are closed for good.",
        states=OPEN,
        carry_out=_withdraw,
        confirm="Confirm withdrawal",
        stops=True,
    ),
    "recover": Verb(
        label="Recover…",
        asks="Recover",
        consequence="The service is asked; nothing is sent that could take effect twice.",
        states=UNSETTLED,
        carry_out=_recover,
        confirm="Confirm recovery",
    ),
}
