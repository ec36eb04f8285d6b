"""Proposed actions in a panel: their rows, and the steps that decide on several at once.

Each verb (such as approve) declares the states to which it applies, its question and its effect;
the panel reads this table. `t.actions` checks permissions, and whether an action has changed since
it was shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.actions import OPEN, UNSETTLED, Action, Batch
from treasury.core.errors import InputError
from treasury.core.money import format_amount
from treasury.core.tables.column_types import AMOUNT, INSTANT, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import (
    Heading,
    LineStyle,
    ListRow,
    Message,
    StepBlock,
    Text,
    confirm_buttons,
    detail,
)
from treasury.panels.frames.list_panel import PendingDecision
from treasury.panels.frames.panel import status
from treasury.panels.frames.panel_text import instant
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.steps.action_steps import BatchResult, execute

ACTIONS: Final = grouped_schema(
    (TEXT, "id", "kind", "state", "text"),
    (AMOUNT, "amount"),
    (TEXT, "currency"),
    (pa.int64(), "waits_for"),
    (TEXT, "people"),
    (INSTANT, "proposed_at", "changed_at"),
    (TEXT, "why"),
)
_DOUBLED: Final = "doubled"
COLUMNS: Final = (
    Heading("Action"),
    Heading("What will happen", wide=True),
    Heading("Amount", end=True),
    Heading("State", wide=True),
)


class ActionVerb(msgspec.Struct, frozen=True):
    """A verb for actions: its words, the `states` to which it applies, and its effect."""

    label: str
    asks: str
    confirm: str
    states: frozenset[str]
    carry_out: Callable[[PanelWorkspace, PendingActions, Work], Message]
    consequence: str
    needs_reason: bool = False
    stops: bool = False


class PendingActions(PendingDecision, frozen=True, kw_only=True):
    """Actions to decide on."""

    verb: str
    batch: Batch
    reason: str | None
    decided_by: str
    """The name of the person who decides."""

    def step(self, now: datetime) -> StepBlock:
        """Return the step: totals by currency, and each sentence as it is journaled."""
        verb, batch = VERBS[self.verb], self.batch
        several = batch.ids[0] if len(batch.ids) == 1 else f"{len(batch.ids)} actions"
        totals = [Text(f"{money.money}  ({money.count})", "strong") for money in batch.totals]
        return StepBlock(
            key=self.nonce,
            title=f"{verb.asks} {several}?",
            text=f"{batch.text} {verb.consequence}",
            items=batch.lines,
            facts=(
                detail("Total by currency", *(totals or [Text("no amounts")])),
                detail("Decided by", Text(self.decided_by, "strong")),
                detail("When", Text(instant(now))),
                *((detail("Reason", Text(self.reason)),) if self.reason else ()),
            ),
            buttons=confirm_buttons(verb.confirm, "danger" if verb.stops else "primary"),
            tone="stop" if verb.stops else "go",
        )


def action_table(actions: Iterable[Action]) -> pa.Table:
    """Return the actions that are open or have an unknown outcome; `amount` in `currency`."""
    rows = [
        {name: getattr(action, name, None) for name in ACTIONS.names}
        | ({"state": _DOUBLED, "why": action.doubled} if action.doubled else {})
        | {"people": ", ".join(action.people)}
        | ({} if money is None else {"amount": money.amount, "currency": money.currency})
        for action in actions
        for money in (action.money,)
        if action.state in OPEN | UNSETTLED or action.doubled
    ]
    return pa.Table.from_pylist(rows, schema=ACTIONS)


def action_row(row: Mapping[str, Any]) -> ListRow:
    """Return a row of ACTIONS for the list."""
    amount = "" if row["amount"] is None else format_amount(row["amount"], row["currency"])
    return ListRow(
        label=f"{row['id']}, {row['kind']}, {amount or 'no amount'}, {row['state']}",
        cells=(
            (
                Text(row["id"], "strong"),
                Text(row["kind"], "quiet"),
                Text(instant(row["proposed_at"]), "quiet"),
            ),
            (Text(row["text"]),),
            (Text(amount),),
            _state(row),
        ),
    )


def _state(row: Mapping[str, Any]) -> tuple[Text, ...]:
    more = row["waits_for"]
    match row["state"]:
        case "proposed":
            who = "one more person" if more == 1 else f"{more} more people"
            return (Text(f"Waits for {who}", "warn"), Text(f"by {row['people']}", "quiet"))
        case "ready":
            return (Text("Ready", "good"), Text(f"by {row['people']}", "quiet"))
    lines = [Text(row["why"], "quiet")] if row["why"] else []
    if row["state"] == _DOUBLED:
        return (Text("MAY HAVE BEEN DONE TWICE: settle it", "warn"), *lines)
    return (Text("OUTCOME UNKNOWN: recover it", "warn"), *lines)


def ask_about(
    desk: PanelWorkspace, verb: str, ids: Iterable[str], reason: str | None, who: str
) -> PendingActions:
    """Return the decision to confirm; raise InputError if the verb does not apply to a state."""
    decision = VERBS[verb]
    if decision.needs_reason and not reason:
        raise InputError("reason: is missing", do="give a reason; it is kept in the journal")
    batch = desk.actions.batch(*ids)
    for action_id in batch.ids:
        state = desk.actions.get(action_id).state
        if state not in decision.states:
            raise InputError(
                f"{action_id} is {state}, and “{decision.label}” does not apply to it; nothing"
                " was changed",
                do=f"choose actions that are {' or '.join(sorted(decision.states))}",
            )
    return PendingActions(verb=verb, batch=batch, reason=reason, decided_by=who)


def batch_message(result: BatchResult, verb: str) -> Message:
    """Return the message about a batch: actions done, failed, waiting for approval, not tried."""
    executed = [attempt.action for attempt in result.ran if attempt.action.state == "done"]
    failed = [attempt for attempt in result.ran if attempt.action.state != "done"]
    lines = [
        Text(f"{action.id}: {action.outcome.status}. {action.text}")
        for action in executed
        if action.outcome
    ]
    for attempt in failed:
        action, error = attempt.action, attempt.error
        why = action.why if error is None else error.what
        lines.append(Text(f"{action.id} is {action.state}: {why}", "warn"))
        if error is not None and error.do:
            lines.append(Text(f"Next: {error.do}", "strong"))
    for action in result.waiting:
        more = action.waits_for
        lines.append(Text(f"{action.id} waits for {more} more to approve it: {action.text}"))
    if result.untried:
        count = len(result.untried)
        lines.append(Text(f"{count:,} not tried: still ready; nothing was sent", "warn"))
    title = f"{verb}: {len(executed):,} done"
    if result.cancelled:
        title = f"Cancelled after {len(result.ran):,}"
    elif result.waiting and not result.ran:
        title = "Proposed, nothing sent: waiting for a second person"
    return Message(title, tuple(lines), "alert" if failed else "status")


# The function that carries out each verb.


def _approve(desk: PanelWorkspace, pending: PendingActions, work: Work) -> Message:
    work.pass_the_point("Writing the approval to the journal")
    batch = pending.batch
    approved = desk.actions.approve(*batch.ids, shown=batch, reason=pending.reason)
    lines = [Text(f"{action.id} is {action.state}. {action.text}") for action in approved]
    ready = sum(action.state == "ready" for action in approved)
    after = (Text("Next: carry out the ready ones", "strong"),) if ready else ()
    return status(f"Approved {len(approved):,}, {ready:,} ready", *lines, *after)


def _execute(desk: PanelWorkspace, pending: PendingActions, work: Work) -> Message:
    return batch_message(execute(desk, pending.batch.ids, work), "Carried out")


def _end(
    verb: str, title: str, desk: PanelWorkspace, pending: PendingActions, work: Work
) -> Message:
    """Close actions permanently by the method `reject` or `withdraw` of `t.actions`."""
    work.pass_the_point("Writing it to the journal")
    end, reason = getattr(desk.actions, verb), pending.reason or ""
    ended = [end(action_id, reason) for action_id in pending.batch.ids]
    lines = (Text(f"{action.id}: {action.text}") for action in ended)
    return status(f"{title} {len(ended):,}", *lines)


def _recover(desk: PanelWorkspace, pending: PendingActions, work: Work) -> Message:
    work.pass_the_point("Reading the outcome from the service")
    settled = desk.actions.recover(*pending.batch.ids)
    lines = []
    for action in settled:
        style: LineStyle = "plain" if action.state == "done" else "warn"
        lines.append(Text(f"{action.id} is {action.state}. {action.why}", style))
    return status(f"Checked {len(settled):,}", *lines)


VERBS: Final[dict[str, ActionVerb]] = {
    "approve": ActionVerb(
        "Approve…", "Approve", "Confirm approval", frozenset({"proposed"}), _approve,
        "Either all are approved or none; nothing is sent yet.",
    ),
    "execute": ActionVerb(
        "Carry out…", "Carry out", "Confirm and send", frozenset({"ready"}), _execute,
        "Each is sent once.",
    ),
    "reject": ActionVerb(
        "Reject…", "Reject", "Confirm rejection", OPEN, partial(_end, "reject", "Rejected"),
        "They are closed permanently.", needs_reason=True, stops=True,
    ),
    "withdraw": ActionVerb(
        "Withdraw…", "Withdraw", "Confirm withdrawal", OPEN, partial(_end, "withdraw", "Withdrew"),
        "They are closed permanently.", stops=True,
    ),
    "recover": ActionVerb(
        "Recover…", "Recover", "Confirm recovery", UNSETTLED, _recover,
        "The service is queried; nothing is sent that could take effect twice.",
    ),
}  # fmt: skip
