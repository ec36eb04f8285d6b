"""The two steps of a decision sheet, without a screen: say what it would do, then write it."""

from __future__ import annotations

import uuid

import msgspec

from treasury.errors import ActionRefused
from treasury.items import SheetPlan
from treasury.money import format_amount
from treasury.panels.frames.blocks import Message, StepBlock, Text, confirm_buttons, detail
from treasury.panels.frames.panel import status
from treasury.panels.panel_desk import PanelDesk
from treasury.panels.steps.verdict_steps import effect_lines
from treasury.text import clean

__all__ = ["PendingSheet", "ask_sheet", "settle_sheet", "sheet_step"]


class PendingSheet(msgspec.Struct, frozen=True, kw_only=True):
    """A sheet that a person is asked to confirm; `nonce` is good for one answer."""

    nonce: str
    content: bytes
    plan: SheetPlan
    actor: str


def ask_sheet(desk: PanelDesk, name: str, content: bytes) -> PendingSheet | Message:
    """What to confirm; or, where no row would do anything, a message that says why."""
    plan = desk.decide(content, name=name, dry_run=True)
    if not plan.planned:
        return status("Nothing to decide", Text("Nothing was written."), *_refusals(plan))
    actor = desk.journal.who().name
    return PendingSheet(nonce=uuid.uuid4().hex, content=content, plan=plan, actor=actor)


def settle_sheet(desk: PanelDesk, pending: PendingSheet) -> Message:
    """Journal what was confirmed; ActionRefused where any of it has moved since."""
    if desk.journal.who().name != pending.actor:
        raise ActionRefused(
            f"the sheet was shown to {pending.actor}; nothing was journaled",
            do="look at it yourself, then decide",
        )
    plan = desk.decide(pending.content, name=pending.plan.file, agreed=pending.plan)
    lines = _sums(plan, "to be journaled")
    return status(f"Decided {_count(len(plan.planned))}", *lines, *_refusals(plan))


def sheet_step(pending: PendingSheet, *, idle: bool) -> StepBlock:
    """The step that confirms it: sums by decision and currency, each row, what is refused."""
    plan = pending.plan
    refused = _refusals(plan)
    effects = plan.effects
    return StepBlock(
        key=pending.nonce,
        title=f"Decide {_count(len(plan.planned))} from {clean(plan.file)}?",
        text=f"{_count(len(plan.planned))}: all of them or none.",
        items=tuple(verdict.sentence for verdict in plan.planned),
        facts=(
            detail("By decision and currency", *_sums(plan, "to be journaled")),
            detail("Decided by", Text(pending.actor, "strong")),
            *((detail("Refused, and left as they are", *refused),) if refused else ()),
            *(() if effects is None else (detail("Changes beside it", *effect_lines(effects)),)),
        ),
        buttons=confirm_buttons("Confirm decisions", idle=idle),
    )


def _sums(plan: SheetPlan, outcome: str) -> tuple[Text, ...]:
    return tuple(
        Text(
            f"{row['decision']}: "
            + (
                _count(row["items"])
                if row["amount"] is None
                else f"{format_amount(row['amount'], row['currency'])} ({row['items']})"
            )
        )
        for row in plan.totals.to_pylist()
        if row["outcome"] == outcome
    )


def _refusals(plan: SheetPlan) -> tuple[Text, ...]:
    """Each row that is refused, with its reason, and how many stand already."""
    lines = [
        Text(f"row {verdict.row}, {verdict.name}: {verdict.why}", "warn")
        for verdict in plan.refused
    ]
    if plan.standing:
        lines.append(Text(f"{_count(len(plan.standing))} stand already", "quiet"))
    return tuple(lines)


def _count(number: int) -> str:
    return "1 item" if number == 1 else f"{number:,} items"
