"""The two steps of a verdict on bank lines: show its effect, then journal it.

The first step runs the verb of `t.matches` as a dry run, so that invalid decisions are refused
before a person confirms them. The second step runs it again and writes only if the facts are still
those that were shown. The confirmed sentence is built from the facts that the journal stores.
Repeating a decision in force writes nothing, and an undo names the decision that it undoes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.core.errors import ActionRefused
from treasury.core.money import format_amount, total
from treasury.core.text import clean
from treasury.journal import Actor
from treasury.journal.decision_history import Decision
from treasury.month.items import Effects
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Detail, Message, StepBlock, Text, confirm_buttons, detail
from treasury.panels.frames.list_panel import PendingDecision
from treasury.panels.frames.panel import status
from treasury.panels.frames.panel_text import instant
from treasury.panels.panel_workspace import PanelWorkspace


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict to make: the `verb` of VERBS, and the lines with their expectations.

    `seq` is the decision that an undo undoes; `why` explains why several lines are decided at once.
    """

    verb: str
    pairs: tuple[tuple[str, tuple[str, ...] | dict[str, str]], ...]
    reason: str = ""
    to: str = ""
    seq: int | None = None
    why: str = ""


class PendingVerdict(PendingDecision, frozen=True, kw_only=True):
    """A verdict to confirm."""

    verdict: Verdict
    planned: tuple[Decision, ...]
    actor: Actor
    effects: Effects | None = None
    """Effects on other items; None if the outcomes of the lines stay the same."""

    def step(self, _: datetime) -> StepBlock:
        """Return the step: each sentence as it is journaled, totals by currency."""
        words, planned = VERBS[self.verdict.verb], self.planned
        single = len(planned) == 1
        several = f"{_count(len(planned))}: all or none."
        stops = self.verdict.verb in {"reject", "ignore", "undo"}
        return StepBlock(
            key=self.nonce,
            title=f"{words.asks} {_count(len(planned))}?",
            text=f"{sentence(planned[0]) if single else several} {words.consequence}",
            items=() if single else tuple(map(sentence, planned)),
            facts=_details(self),
            buttons=confirm_buttons(words.confirm, "danger" if stops else "primary"),
            tone="stop" if stops else "go",
        )


class _Words(msgspec.Struct, frozen=True):
    """The words of a verb: on its button, as a question, when done, and to confirm it."""

    label: str
    asks: str
    past_tense: str
    confirm: str
    joins: str
    consequence: str


_MOST_EFFECTS: Final = 20
"""Maximum number of other items that the first step names; the rest is counted."""
VERBS: Final = {
    "accept": _Words(
        "Accept…", "Accept", "Accepted", "Confirm match", "for", "They count as matched."
    ),
    "reject": _Words(
        "Reject…", "Reject", "Rejected", "Confirm rejection", "not for",
        "They are not proposed for each other again.",
    ),
    "ignore": _Words(
        "Ignore…", "Ignore", "Ignored", "Confirm ignoring", "",
        "They belong to no expectation.",
    ),
    "assign": _Words(
        "Assign…", "Assign", "Assigned", "Confirm assignment", "to",
        "They stay open.",
    ),
    "undo": _Words(
        "Undo…", "Undo", "Undone", "Confirm undo", "for", "The decision before it is in force"
                                                          " again."
    ),
}  # fmt: skip


def ask_verdict(desk: PanelWorkspace, verdict: Verdict) -> PendingVerdict | Message:
    """Return the verdict to confirm, or a message if it is already in force."""
    head = desk.journal.head().seq
    planned = _say(desk, verdict, dry_run=True)
    if verdict.verb != "undo" and not any(decision.facts for decision in planned):
        # The decision is already in force, so this writes nothing.
        standing = _say(desk, verdict, dry_run=False)
        return _already([decision for decision in standing if (decision.seq or 0) <= head])
    return PendingVerdict(
        verdict=verdict,
        planned=planned,
        actor=desk.journal.who(),
        effects=None if verdict.verb == "assign" else desk.decision_effects(*planned),
    )


def settle(desk: PanelWorkspace, pending: PendingVerdict, work: Work) -> Message:
    """Journal the confirmed verdict; raise ActionRefused if its facts have changed."""
    work.say("Checking for changes")
    head = desk.journal.head().seq
    fresh = _say(desk, pending.verdict, dry_run=True)
    for decision, now in zip(pending.planned, fresh, strict=True):
        if now.facts and decision.facts != now.facts:
            raise ActionRefused(
                f"the line {clean(decision.entry_id)} or its candidates changed while you"
                " looked at it; nothing was journaled",
                do="look at its current state, then decide again",
            )
    work.pass_the_point("Writing it to the journal")
    decisions = _say(desk, pending.verdict, dry_run=False)
    before = [decision for decision in decisions if (decision.seq or 0) <= head]
    added = [decision for decision in decisions if (decision.seq or 0) > head]
    if not added:
        return _already(before)
    past_tense = VERBS[pending.verdict.verb].past_tense
    lines = [Text(journaled(decision)) for decision in added]
    if before:
        lines += [Text(f"Already decided: {journaled(decision)}", "warn") for decision in before]
    return status(f"{past_tense} {_count(len(added))}", *lines)


def sentence(decision: Decision) -> str:
    """Return the sentence of a decision, from its journaled facts."""
    words, line = VERBS[decision.verb], decision.facts.get("line") or {}
    names = [_name(decision, expectation) for expectation in decision.expectations]
    to = names or ([clean(decision.to)] if decision.to else [])
    about = f" {words.joins} {' and '.join(to)}" if to and words.joins else ""
    reason = f" Reason: {clean(decision.reason)}." if decision.reason else ""
    closed = decision.closed_month
    posting = (
        f" {closed} is closed and stays closed: the decision posts in {decision.posts_to}."
        if closed
        else ""
    )
    object_words = _line(line) if line else f"line {clean(decision.entry_id)}"
    return f"{words.asks} {object_words}{about}.{reason}{posting}"


def journaled(decision: Decision) -> str:
    """Return the sentence with its author, time and, for a sheet, the proposer."""
    proposed = f", proposed by {clean(decision.proposed_by)}" if decision.proposed_by else ""
    return f"{sentence(decision)} By {clean(decision.by)}{proposed} at {instant(decision.at)}."


def _line(line: Mapping[str, Any]) -> str:
    way = "credit on" if line["direction"] == "CRDT" else "debit on"
    amount = format_amount(Decimal(line["amount"]), line["currency"])
    counterparty = (
        f", other side {clean(line['counterparty_account'])}"
        if line["counterparty_account"]
        else ""
    )
    return f"{amount}, {way} {clean(line['account'])} of {line['booking_date']}{counterparty}"


def _name(decision: Decision, expectation: str) -> str:
    facts = (decision.facts.get("expectations") or {}).get(expectation) or {}
    name = clean(facts.get("code") or expectation)
    share = decision.shares.get(expectation)
    if share is None:
        return name
    line = decision.facts.get("line") or {}
    return f"{name} with {format_amount(share, line.get('currency') or '?')}"


def _details(pending: PendingVerdict) -> tuple[Detail, ...]:
    amounts: dict[str, list[Decimal]] = {}
    for decision in pending.planned:
        if line := decision.facts.get("line"):
            amounts.setdefault(line["currency"], []).append(Decimal(line["amount"]))
    totals = [
        Text(f"{format_amount(total(several), currency)}  ({len(several)})", "strong")
        for currency, several in sorted(amounts.items())
    ]
    against = [Text(clean(why), "warn") for each in pending.planned for why in each.despite]
    reason = pending.verdict.reason
    return (
        detail("Total by currency", *(totals or [Text("no amounts")])),
        detail("Decided by", Text(pending.actor.name, "strong")),
        detail("When", Text(instant(pending.planned[0].at))),
        *((detail("One group", Text(pending.verdict.why)),) if pending.verdict.why else ()),
        *((detail("Reason", Text(reason)),) if reason else ()),
        *((detail("Although", *against),) if against else ()),
        *effect_details(pending.effects),
    )


def effect_details(effects: Effects | None) -> tuple[Detail, ...]:
    """Return each other item that changes, and why; empty if this was not computed."""
    if effects is None:
        return ()
    lines = [Text(clean(str(effect)), "warn") for effect in effects.effects[:_MOST_EFFECTS]]
    if more := len(effects) - len(lines):
        lines.append(Text(f"and {more:,} more: `treasury match … --dry-run` lists them", "warn"))
    if effects.unknown:
        lines = [Text(f"unknown: {clean(effects.unknown)}", "warn")]
    return (detail("Other changes", *(lines or [Text("no other open item")])),)


def _already(stand: Sequence[Decision]) -> Message:
    lines = [Text(journaled(decision)) for decision in stand]
    return status("Already decided", Text("Nothing was written."), *lines)


def _count(number: int) -> str:
    return "1 line" if number == 1 else f"{number:,} lines"


def _say(desk: PanelWorkspace, verdict: Verdict, *, dry_run: bool) -> tuple[Decision, ...]:
    """Run the verb; return its decisions, made or planned."""
    verbs, reason = desk.matches, verdict.reason
    line, expectations = verdict.pairs[0]
    match verdict.verb:
        case "accept":
            return tuple(verbs.accept_many(verdict.pairs, reason=reason, dry_run=dry_run))
        case "reject":
            (expectation,) = expectations
            return (verbs.reject(line, expectation, reason=reason, dry_run=dry_run),)
        case "ignore":
            lines = [name for name, _ in verdict.pairs]
            return tuple(verbs.ignore(*lines, reason=reason, dry_run=dry_run))
        case "assign":
            return (verbs.assign(line, verdict.to, reason=reason, dry_run=dry_run),)
        case _:
            pair = next(iter(expectations), None)
            return (verbs.undo(line, pair, seq=verdict.seq, reason=reason, dry_run=dry_run),)
