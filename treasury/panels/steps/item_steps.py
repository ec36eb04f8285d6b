"""The two steps of decisions on open items: show their effect, then journal them.

A sheet and the panel's own form follow the same path: rows that are filled in, planned by
`t.decide(…, dry_run=True)`, and journaled only if the plan is still the same. In the form, several
items are decided at once only if they are of one kind; those above the materiality limit are
confirmed one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final

import msgspec

from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError
from treasury.core.money import format_amount
from treasury.core.text import clean
from treasury.month.items import (
    SHOWN_ACTS,
    DecisionRow,
    FilledRow,
    SheetPlan,
    fill_row,
)
from treasury.panels.frames.blocks import Detail, Message, StepBlock, Text, confirm_buttons, detail
from treasury.panels.frames.list_panel import PendingDecision
from treasury.panels.frames.panel import status
from treasury.panels.panel_workspace import PanelWorkspace
from treasury.panels.steps.verdict_steps import effect_details

PANEL: Final = "the close panel"
"""The origin of a decision in messages, where a sheet has the name of its file."""
_ALONE: Final = ("accept_group",)
"""Acts that also concern items that are not chosen, so they are offered for one item only."""
_OWNED: Final = ("carry", "assign")

Rows = tuple[FilledRow, ...]


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions offered for chosen items of one kind; `acts` are the kinds of decision.

    `limits` are the agreed materiality limits for one item, by currency.
    """

    month: Month
    rows: tuple[DecisionRow, ...]
    acts: tuple[str, ...]
    limits: Mapping[str, Decimal] = {}

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The keys of the possible decisions with their words."""
        if len(self.rows) == 1:
            choices = enumerate(self.rows[0].choices)
            return tuple((str(at), c.words) for at, c in choices if c.act in self.acts)
        common = [
            act
            for act in self.acts
            if act not in _ALONE
            and all(any(c.act == act for c in row.choices) for row in self.rows)
        ]
        first = dict.fromkeys(("accept", "reject"), ": the first candidate of each")
        return tuple((act, f"{SHOWN_ACTS[act]}{first.get(act, '')}") for act in common)

    def needs(self, *acts: str) -> bool:
        """Return whether one of the options is one of these acts."""
        offered = {c.act for row in self.rows for c in row.choices if c.act in self.acts}
        return not offered.isdisjoint(acts)

    @property
    def is_owned(self) -> bool:
        """Whether a possible decision names an owner."""
        return self.needs(*_OWNED)

    def filled(
        self, option: str, *, reason: str, owner: str, expected_by: date | None
    ) -> tuple[Rows, ...]:
        """Return the filled rows: first the rows decided together, then each row decided alone.

        Raise InputError for an option that is not offered.
        """
        if option not in dict(self.options):
            raise InputError("decision: is missing", do="choose one from the list")
        several = len(self.rows) > 1
        alone = [row for row in self.rows if several and self.is_above_limit(row)]
        together = [row for row in self.rows if row not in alone]
        bulk = f"in bulk, {len(together)} items" if len(together) > 1 else ""

        def fill(row: DecisionRow, bulk: str) -> FilledRow:
            choice = (
                next(choice for choice in row.choices if choice.act == option)
                if several
                else row.choices[int(option)]
            )
            return fill_row(
                self.rows.index(row) + 1,
                row,
                choice,
                month=self.month,
                reason=reason,
                owner=owner,
                expected_by=expected_by,
                bulk=bulk,
            )

        parts = [tuple(fill(row, bulk) for row in together)] if together else []
        return (*parts, *((fill(row, ""),) for row in alone))

    def is_above_limit(self, row: DecisionRow) -> bool:
        """Return whether an item is above the agreed limit of its currency, or has no amount."""
        limit = self.limits.get(row.item.currency)
        return limit is not None and (row.item.amount is None or abs(row.item.amount) > limit)


class PendingItems(PendingDecision, frozen=True, kw_only=True):
    """Decisions on open items to confirm: from a sheet's bytes, or from rows filled in on screen.

    `later` are the rows to confirm afterwards, each part in a separate step.
    """

    content: bytes | Rows
    plan: SheetPlan
    actor: str
    identity: str
    later: tuple[Rows, ...] = ()
    limits: Mapping[str, Decimal] = {}

    @property
    def bulk(self) -> str:
        """Words such as `in bulk, 12 items`; empty for one item and for a sheet."""
        return "" if isinstance(self.content, bytes) else self.content[0].bulk

    def step(self, now: datetime) -> StepBlock:
        """Return the step: totals by decision and currency, each row, and refusals."""
        del now
        plan, refused = self.plan, _refusals(self.plan)
        of_sheet = isinstance(self.content, bytes)
        acts = {SHOWN_ACTS.get(row.act, row.decision) for row in plan.planned}
        title = f"Decide {_count(len(plan.planned))} from {clean(plan.file)}?"
        if not of_sheet:
            title = f"{' and '.join(sorted(acts))}: {_count(len(plan.planned))}?"
        how = f", {self.bulk}" if self.bulk else ""
        return StepBlock(
            key=self.nonce,
            title=title,
            text=f"{_count(len(plan.planned))}: all or none{how}.",
            items=tuple(verdict.sentence for verdict in plan.planned),
            facts=(
                detail("By decision and currency", *_sums(plan)),
                *((detail("The largest", *_largest(plan)),) if len(plan.planned) > 1 else ()),
                *(self._limit_details() if not of_sheet and (self.bulk or self.later) else ()),
                detail("Decided by", Text(self.actor, "strong"), Text(self.identity, "quiet")),
                *((detail("Refused and unchanged", *refused),) if refused else ()),
                *effect_details(plan.effects),
            ),
            buttons=confirm_buttons("Confirm decisions"),
        )

    def _limit_details(self) -> tuple[Detail, ...]:
        currencies = sorted({row.currency for row in self.plan.planned if row.currency})
        lines = [
            Text(f"{format_amount(self.limits[currency], currency)} an item")
            if currency in self.limits
            else Text(f"none agreed for {currency}: no item is confirmed separately", "warn")
            for currency in currencies
        ]
        if self.later:
            lines.append(Text(f"{_count(len(self.later))} above it: confirmed next, one by one"))
        return (detail("Materiality limit", *lines),) if lines else ()


def ask_items(
    desk: PanelWorkspace,
    content: bytes | Rows,
    name: str,
    identity: str,
    *,
    later: tuple[Rows, ...] = (),
    limits: Mapping[str, Decimal] | None = None,
) -> PendingItems | Message:
    """Return the decisions to confirm, or a message if no row has an effect."""
    plan = desk.decide(content, name=name, dry_run=True)
    if not plan.planned:
        return status("Nothing to decide", Text("Nothing was written."), *_refusals(plan))
    return PendingItems(
        content=content,
        plan=plan,
        actor=desk.journal.who().name,
        identity=identity,
        later=later,
        limits=limits or {},
    )


def settle_items(desk: PanelWorkspace, pending: PendingItems) -> Message:
    """Journal the confirmed decisions; raise ActionRefused if the plan or the person changed."""
    if desk.journal.who().name != pending.actor:
        raise ActionRefused(
            f"the decisions were shown to {pending.actor}; nothing was journaled",
            do="look at them yourself, then decide",
        )
    plan = desk.decide(pending.content, name=pending.plan.file, agreed=pending.plan)
    said = [Text(row.sentence) for row in plan.planned] if len(plan.planned) == 1 else []
    how = [Text(f"Journaled {pending.bulk}")] if pending.bulk else []
    title = f"Decided {_count(len(plan.planned))}"
    return status(title, *said, *_sums(plan), *how, *_refusals(plan))


def one_kind(rows: Sequence[Mapping[str, object]]) -> None:
    """Raise InputError if rows of open items are of several kinds."""
    if len({row["kind"] for row in rows}) > 1:
        raise InputError(
            "Items of several kinds are chosen", do="decide one kind at a time: filter by Kind"
        )


def _largest(plan: SheetPlan) -> list[Text]:
    """Return the largest amount of each currency, with its item."""
    largest: dict[str, tuple[Decimal, str]] = {}
    for row in plan.planned:
        if row.amount is not None and abs(row.amount) > largest.get(row.currency, (-1, ""))[0]:
            largest[row.currency] = (abs(row.amount), row.name)
    return [
        Text(f"{format_amount(amount, currency)}: {name}")
        for currency, (amount, name) in sorted(largest.items())
    ] or [Text("no amounts")]


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
