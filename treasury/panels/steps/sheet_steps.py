"""The two steps of a decision sheet: show its effect, then journal its decisions."""

from __future__ import annotations

from datetime import datetime

from treasury.core.errors import ActionRefused
from treasury.core.money import format_amount
from treasury.core.text import clean
from treasury.month.items import SheetPlan
from treasury.panels.frames.blocks import Message, StepBlock, Text, confirm_buttons, detail
from treasury.panels.frames.list_panel import PendingDecision
from treasury.panels.frames.panel import status
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.steps.verdict_steps import effect_details


class PendingSheet(PendingDecision, frozen=True, kw_only=True):
    """A sheet to confirm."""

    content: bytes
    plan: SheetPlan
    actor: str

    def step(self, _: datetime) -> StepBlock:
        """Return the step: totals by decision and currency, each row, and refusals."""
        plan, refused = self.plan, _refusals(self.plan)
        return StepBlock(
            key=self.nonce,
            title=f"Decide {_count(len(plan.planned))} from {clean(plan.file)}?",
            text=f"{_count(len(plan.planned))}: all or none.",
            items=tuple(verdict.sentence for verdict in plan.planned),
            facts=(
                detail("By decision and currency", *_sums(plan)),
                detail("Decided by", Text(self.actor, "strong")),
                *((detail("Refused and unchanged", *refused),) if refused else ()),
                *effect_details(plan.effects),
            ),
            buttons=confirm_buttons("Confirm decisions"),
        )


def ask_sheet(desk: PanelWorkspace, name: str, content: bytes) -> PendingSheet | Message:
    """Return the decisions to confirm, or a message if no row has an effect."""
    plan = desk.decide(content, name=name, dry_run=True)
    if not plan.planned:
        return status("Nothing to decide", Text("Nothing was written."), *_refusals(plan))
    return PendingSheet(content=content, plan=plan, actor=desk.journal.who().name)


def settle_sheet(desk: PanelWorkspace, pending: PendingSheet) -> Message:
    """Journal the confirmed decisions; raise ActionRefused if the plan or the person changed."""
    if desk.journal.who().name != pending.actor:
        raise ActionRefused(
            f"the sheet was shown to {pending.actor}; nothing was journaled",
            do="look at it yourself, then decide",
        )
    plan = desk.decide(pending.content, name=pending.plan.file, agreed=pending.plan)
    return status(f"Decided {_count(len(plan.planned))}", *_sums(plan), *_refusals(plan))


def _sums(plan: SheetPlan) -> list[Text]:
    """Return the planned entries, by decision and currency."""
    lines = []
    for row in plan.totals.arrow.to_pylist():
        worth = _count(row["items"])
        if row["amount"] is not None:
            worth = f"{format_amount(row['amount'], row['currency'])} ({row['items']})"
        if row["outcome"] == "to be journaled":
            lines.append(Text(f"{row['decision']}: {worth}"))
    return lines


def _refusals(plan: SheetPlan) -> tuple[Text, ...]:
    """Return each refused row with its reason, and the number of rows already in force."""
    lines = [
        Text(f"row {verdict.row}, {verdict.name}: {verdict.why}", "warn")
        for verdict in plan.refused
    ]
    if plan.standing:
        lines.append(Text(f"{_count(len(plan.standing))} already in force", "quiet"))
    return tuple(lines)


def _count(number: int) -> str:
    return "1 item" if number == 1 else f"{number:,} items"
