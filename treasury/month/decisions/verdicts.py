"""People's verdicts on bank lines: accept, reject, ignore, assign, undo; checked, then journaled.

Each verdict is checked against the matching at that moment, and journaled only if no other decision
was made meanwhile; otherwise it is checked again. An entry holds the facts as they were seen, so
that a later change can be shown (`facts`). Repeating a decision writes nothing, so an interrupted
command can simply be run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.errors import ActionRefused, InputError, NothingStored, TreasuryError
from treasury.core.money import typed_amount
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Actor, Draft, Journal
from treasury.journal.decision_history import Decision, decision_table, read_decision, standing
from treasury.journal.decision_log import Decided, decide, read_decided
from treasury.matching.reference_matching import read_decisions
from treasury.month.decisions.batch_debits import orders_paid
from treasury.month.decisions.standing_verdicts import open_lines, standing_table
from treasury.month.decisions.verdict_checks import (
    Body,
    Check,
    Wish,
    already,
    require_undecided,
    states_wish,
)
from treasury.month.standing_knowledge import Knowledge

_Standing: TypeAlias = Sequence[Decision]
Target: TypeAlias = str | Sequence[str] | Mapping[str, Decimal | str]
"""One expectation, several, or a mapping from each to its share of the line."""
_Wishes: TypeAlias = Callable[[Knowledge, _Standing], Sequence[Wish]]


class PlannedVerdict(msgspec.Struct, frozen=True):
    """A verdict as it would be journaled; `draft` is None if the verdict already exists."""

    decision: Decision
    draft: Draft | None


_Plans: TypeAlias = Sequence[PlannedVerdict]


class Deciding:
    """The verbs; `knowledge` returns the matching under given decisions."""

    def __init__(
        self,
        journal: Journal,
        knowledge: Callable[[Decided], Knowledge],
        now: Callable[[], datetime],
        *,
        until: datetime | None = None,
        zone: ZoneInfo | None = None,
    ) -> None:
        self._zone = zone
        self._journal = journal
        self._knowledge = knowledge
        self._now = now
        self._until = until

    def accept(
        self,
        entry_id: str,
        expectation_id: Target,
        *,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Decision:
        """Accept a line for an expectation, for several, or with a share for each.

        A line with a contradiction or above the expected amount needs a reason. Raise InputError
        for an unknown id. Raise ActionRefused for another currency or direction, a line decided
        otherwise, or several expectations of which one takes any amount, without shares. A line of
        a closed month is decided in the open month, which `posts_to` names.
        """
        return self.accept_many(
            [(entry_id, expectation_id)], reason=reason, actor=actor, dry_run=dry_run
        )[0]

    def accept_many(
        self,
        pairs: Iterable[tuple[str, Target]],
        *,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Sequence[Decision]:
        """Accept pairs of line and expectation; all are checked before the first is accepted."""
        return self._decide_lines("accept", pairs, reason, actor, dry_run=dry_run)

    def accept_group(
        self,
        entry_id: str,
        *,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Sequence[Decision]:
        """Accept the group of equal payments of a line, each for its assigned expectation.

        All lines are checked before the first is accepted. Raise InputError if the line is in no
        such group, and ActionRefused if one is already decided.
        """

        def wishes(knowledge: Knowledge, stand: _Standing) -> Sequence[Wish]:
            line = knowledge.find_line(entry_id)
            assigned = knowledge.matches.groups().get(line)
            if assigned is None:
                require_undecided(Wish(verb="accept", entry_id=line), stand)
                raise InputError(
                    f"the line {line} is in no group of equal payments",
                    do="run `treasury match open` to see what each line may belong to",
                )
            return [
                Wish(verb="accept", entry_id=name, expectations=(request,), reason=reason.strip())
                for name, request in assigned.items()
            ]

        return self._decide(wishes, actor, dry_run=dry_run)

    def accept_file(
        self,
        entry_id: str,
        file: str,
        *,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Decision:
        """Accept a debit for a payment file: it pays every payment that the bank did not reject.

        Its amount must be exactly what these requests wait for; a debit without the file's id needs
        a reason. Raise InputError if the file was not made here.
        """

        def wishes(knowledge: Knowledge, stand: _Standing) -> Sequence[Wish]:
            line = knowledge.find_line(entry_id)
            paid = orders_paid(
                knowledge,
                self._read().entries,
                line,
                file,
                reason=reason,
                accepted={(d.entry_id, d.expectations) for d in stand if d.verb == "accept"},
            )
            return [Wish(verb="accept", entry_id=line, expectations=paid, reason=reason.strip())]

        return self._decide(wishes, actor, dry_run=dry_run)[0]

    def reject(
        self,
        entry_id: str,
        expectation_id: str,
        *,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Decision:
        """Reject a line for an expectation; rejecting an automatic match needs a reason."""
        pairs = [(entry_id, expectation_id)]
        return self._decide_lines("reject", pairs, reason, actor, dry_run=dry_run)[0]

    def ignore(
        self,
        *entry_ids: str,
        reason: str,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Sequence[Decision]:
        """Close lines that belong to no expectation, with a reason."""
        pairs = [(line, None) for line in entry_ids]
        return self._decide_lines("ignore", pairs, reason, actor, dry_run=dry_run)

    def assign(
        self,
        entry_id: str,
        to: str,
        *,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Decision:
        """Assign a line that needs a decision to a colleague; the line stays open."""
        pairs = [(entry_id, None)]
        return self._decide_lines("assign", pairs, reason, actor, to=to.strip(), dry_run=dry_run)[0]

    def undo(
        self,
        entry_id: str,
        expectation_id: str | None = None,
        *,
        seq: int | None = None,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Decision:
        """Undo the last decision on a line, or on that pair; the decision before applies again.

        `seq` is the decision to undo; any other is left alone. Raise ActionRefused if there is no
        decision, or if the last one is another.
        """
        intended: list[int] = [] if seq is None else [seq]

        def wishes(knowledge: Knowledge, stand: _Standing) -> Sequence[Wish]:
            # A line that left its statement may still have a decision to undo.
            decided = any(decision.entry_id == entry_id for decision in stand)
            line = entry_id if decided else knowledge.find_line(entry_id)
            pair = None if expectation_id is None else knowledge.find_expectation(expectation_id)
            on_it = [
                decision
                for decision in stand
                if decision.entry_id == line and (pair is None or pair in decision.expectations)
            ]
            if not on_it:
                raise ActionRefused(
                    f"there is no decision on the line {clean(line)[:80]}",
                    do="run `treasury match list` to see the decisions in force",
                )
            last = on_it[-1]
            intended.append(last.seq or 0)
            if last.seq != intended[0]:
                raise already(line, "undone", "a newer decision on it exists")
            return [
                Wish(
                    verb="undo",
                    entry_id=line,
                    expectations=last.expectations,
                    reason=reason.strip(),
                    undoes=last.seq,
                )
            ]

        return self._decide(wishes, actor, dry_run=dry_run)[0]

    def look(self) -> tuple[Knowledge, _Standing]:
        """Return the matching under the decisions in force, and those decisions by time."""
        return self.known_under(self._read())

    def known_under(self, decided: Decided) -> tuple[Knowledge, _Standing]:
        """Return the matching under these decisions, and those in force on lines."""
        stand = standing(decided.entries)
        return self._knowledge(decided), stand

    def plan_each(
        self,
        decided: Decided,
        known: tuple[Knowledge, _Standing],
        wishes: Sequence[Wish],
        who: Actor,
    ) -> Sequence[PlannedVerdict | TreasuryError]:
        """Return for each wish the verdict it would journal onto these decisions, or its refusal.

        `known` is the result of `known_under` for them; nothing is written. A refused wish claims
        no amount, so the others are checked as if it were not there.
        """
        knowledge, stand = known
        bodies = Check(knowledge, decided, stand).each(wishes)
        plans = [
            body if isinstance(body, TreasuryError) else self._planned(wish, body, who)
            for wish, body in zip(wishes, bodies, strict=True)
        ]
        _require_readable(stand, [plan for plan in plans if isinstance(plan, PlannedVerdict)])
        return plans

    def list(self) -> Table:
        """Return every decision in force and its changed facts; columns as in STANDING."""
        knowledge, stand = self.look()
        return Table(standing_table(stand, knowledge), zone=self._zone)

    def open(self) -> Table:
        """Return the lines that need a person, oldest first; columns as in OPEN_LINES.

        Raise NothingStored if no bank line is stored: the lines that need a person are then
        unknown.
        """
        knowledge, stand = self.look()
        if not knowledge.bank_lines.num_rows:
            raise NothingStored(
                "the lines that need a decision are not known: no bank line is stored",
                do="add statements with `treasury statements add FILE…`",
            )
        return Table(open_lines(knowledge, stand), zone=self._zone)

    def _decide_lines(
        self,
        verb: str,
        pairs: Iterable[tuple[str, Target | None]],
        reason: str,
        actor: Actor | None,
        *,
        to: str = "",
        dry_run: bool,
    ) -> Sequence[Decision]:
        """Make the same decision on each line, with the expectations if the verb has any."""
        line_targets = tuple(pairs)

        def wishes(knowledge: Knowledge, _: _Standing) -> Sequence[Wish]:
            return [
                Wish(
                    verb=verb,
                    entry_id=knowledge.find_line(line),
                    expectations=() if target is None else _find_expectations(knowledge, target),
                    reason=reason.strip(),
                    to=to,
                    shares={
                        knowledge.find_expectation(name): typed_amount(share)
                        for name, share in target.items()
                    }
                    if isinstance(target, Mapping)
                    else {},
                )
                for line, target in line_targets
            ]

        return self._decide(wishes, actor, dry_run=dry_run)

    def _read(self) -> Decided:
        return read_decided(self._journal, until=self._until)

    def _decide(
        self,
        wishes: _Wishes,
        actor: Actor | None,
        *,
        dry_run: bool,
    ) -> Sequence[Decision]:
        who = actor or self._journal.who()

        def build(decided: Decided) -> tuple[Sequence[Draft], tuple[_Standing, _Plans]]:
            knowledge, stand = self.known_under(decided)
            intended = wishes(knowledge, stand)
            bodies = Check(knowledge, decided, stand).all(intended)
            plans = [
                self._planned(wish, body, who) for wish, body in zip(intended, bodies, strict=True)
            ]
            _require_readable(stand, plans)
            return [plan.draft for plan in plans if plan.draft is not None], (stand, plans)

        added, (stand, plans) = decide(self._journal, build, until=self._until, dry_run=dry_run)
        if dry_run:
            return [plan.decision for plan in plans]
        journaled = iter(added)
        return [
            next(decision for decision in reversed(stand) if states_wish(decision, plan.decision))
            if plan.draft is None
            else read_decision(next(journaled))
            for plan in plans
        ]

    def _planned(self, wish: Wish, body: Body | None, who: Actor) -> PlannedVerdict:
        content = body or {}
        decision = Decision(
            seq=None,
            verb=wish.verb,
            entry_id=wish.entry_id,
            expectations=wish.expectations,
            reason=wish.reason,
            to=wish.to,
            facts=content.get("facts") or {},
            by=who.name,
            at=self._now(),
            closed_month=content.get("closed_month") or "",
            posts_to=content.get("posts_to") or "",
            shares=dict(wish.shares),
            undoes=wish.undoes,
            despite=tuple(content.get("despite") or ()),
        )
        draft = None if body is None else Draft(f"match.{wish.verb}", wish.entry_id, body, who)
        return PlannedVerdict(decision, draft)


def _require_readable(stand: _Standing, plans: _Plans) -> None:
    """Refuse decisions that matching could not read, before they are journaled."""
    planned = [plan.decision for plan in plans if plan.decision.verb != "undo"]
    read_decisions(decision_table([*stand, *planned]))


def typed_expectations(typed: Sequence[str]) -> tuple[str, ...] | dict[str, str]:
    """Return the expectations that a person typed, with their shares if CODE=AMOUNT was typed."""
    parts = [text.partition("=") for text in typed]
    if not any(equals for _, equals, _ in parts):
        return tuple(typed)
    names = [name for name, _, _ in parts]
    if not all(equals for _, equals, _ in parts) or len(set(names)) != len(names):
        raise InputError(
            "some of the expectations have an amount and some have none, or one is given twice",
            do="write CODE=AMOUNT for each of them, each once",
        )
    return {name: share for name, _, share in parts}


_FORESEEN: Final = ("entry_id", "reason", "to", "undoes", "facts", "closed_month", "posts_to")


def foreseen(decided: Decided, planned: Sequence[Decision]) -> Decided:
    """Return the decisions as they would be after these; an existing one adds nothing."""
    drafts = []
    for decision in planned:
        if decision.facts or decision.verb == "undo":
            shares = {name: value_text(share) for name, share in decision.shares.items()}
            body = {name: getattr(decision, name) for name in _FORESEEN} | {"shares": shares}
            body["expectation_ids"] = list(decision.expectations)
            who = Actor(decision.by, "environment")
            draft = Draft(f"match.{decision.verb}", decision.entry_id, body, who)
            drafts.append((decision.at, draft))
    return decided.foresee(drafts)


def _find_expectations(knowledge: Knowledge, target: Target) -> tuple[str, ...]:
    names = [target] if isinstance(target, str) else list(target)
    if not names:
        raise InputError("no expectation is named", do="give its reference or id")
    expectations = sorted({knowledge.find_expectation(name) for name in names})
    if len(expectations) != len(names):
        raise InputError("an expectation is named twice", do="give each of them once")
    return tuple(expectations)
