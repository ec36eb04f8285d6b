"""People's verdicts on bank lines: accept, reject, ignore, assign, undo; checked, then journaled.

Each is checked against what matching says at that moment, and journaled only if nobody has decided
anything since; otherwise it is checked again on what they decided. An entry holds the facts as they
were seen, so that a later edit shows (`facts`). Saying again what already stands writes nothing, so
that a verb that was cut off is simply run again.
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
"""An expectation, several, or each with what of the line is for it."""
_Wishes: TypeAlias = Callable[[Knowledge, _Standing], Sequence[Wish]]


class PlannedVerdict(msgspec.Struct, frozen=True):
    """A verdict as it would be journaled; `draft` is None where it stands already."""

    decision: Decision
    draft: Draft | None


_Plans: TypeAlias = Sequence[PlannedVerdict]


class Deciding:
    """The verbs; `knowledge` gives what matching says under the decisions it is handed."""

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
        """Say that a line belongs to an expectation, to several, or which amount of it to each.

        A line that something contradicts, and one of more than what is still expected, need a
        reason. Raises InputError for an id that is not there, ActionRefused where it cannot be:
        another currency or direction, decided otherwise, or several of which one expects any
        amount, without the amounts. A line of a closed month is decided in the month that is open,
        which `posts_to` names.
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
        """Accept pairs of a line and its expectation; all of them are checked before any is."""
        return self._decide_lines("accept", pairs, reason, actor, dry_run=dry_run)

    def accept_group(
        self,
        entry_id: str,
        *,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Sequence[Decision]:
        """Accept the group of equal payments that a line is in, each for its assigned expectation.

        All of its lines are checked before any is accepted. Raises InputError for a line that is in
        no such group, ActionRefused for one that is already decided.
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
        """Say that a debit is the one of a payment file: it pays all that the bank did not reject.

        Its amount has to be exactly what these requests wait for; one that does not carry the
        file's id needs a reason. Raises InputError for a file that was not made here.
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
        """Say that a line does not belong to an expectation; an automatic match needs a reason."""
        pairs = [(entry_id, expectation_id)]
        return self._decide_lines("reject", pairs, reason, actor, dry_run=dry_run)[0]

    def ignore(
        self,
        *entry_ids: str,
        reason: str,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Sequence[Decision]:
        """Close lines with a reason: they belong to nothing that is expected."""
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
        """Hand a line that needs a decision to a colleague; the line stays as open as it was."""
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
        """Take back the last decision on a line, or on that pair: what stood before stands again.

        `seq` is the decision that is meant: no other is taken back. Raises ActionRefused where
        nothing stands, or another stands last.
        """
        intended: list[int] = [] if seq is None else [seq]

        def wishes(knowledge: Knowledge, stand: _Standing) -> Sequence[Wish]:
            # A line that left its statement may still have a decision to take back.
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
                    f"nothing is decided on the line {clean(line)[:80]}",
                    do="run `treasury match list` to see what stands",
                )
            last = on_it[-1]
            intended.append(last.seq or 0)
            if last.seq != intended[0]:
                raise already(line, "undone", "the decision that was meant is not the last on it")
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
        """What matching knows under the decisions that stand, and those decisions, by time."""
        return self.known_under(self._read())

    def known_under(self, decided: Decided) -> tuple[Knowledge, _Standing]:
        """What matching knows under these decisions, and those on lines that stand among them."""
        stand = standing(decided.entries)
        return self._knowledge(decided), stand

    def plan_each(
        self,
        decided: Decided,
        known: tuple[Knowledge, _Standing],
        wishes: Sequence[Wish],
        who: Actor,
    ) -> Sequence[PlannedVerdict | TreasuryError]:
        """What each wish would journal onto these decisions, or why it is refused.

        `known` is what `known_under` gives for them; nothing is written. What is refused claims
        nothing of what the others are checked against.
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
        """Every decision that stands, and what of its facts has moved; columns as in STANDING."""
        knowledge, stand = self.look()
        return Table(standing_table(stand, knowledge), zone=self._zone)

    def open(self) -> Table:
        """The lines that need a person, oldest first; columns as in OPEN_LINES.

        Raises NothingStored where no bank line is stored: then what needs a person is not known.
        """
        knowledge, stand = self.look()
        if not knowledge.bank_lines.num_rows:
            raise NothingStored(
                "which lines need a decision is not known: no bank line is stored",
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
        """Decide the same of each line, beside its expectations where the verb has any."""
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
    """What the matching would refuse to read is never journaled."""
    planned = [plan.decision for plan in plans if plan.decision.verb != "undo"]
    read_decisions(decision_table([*stand, *planned]))


def typed_expectations(typed: Sequence[str]) -> tuple[str, ...] | dict[str, str]:
    """The expectations that a person typed, each with its share where CODE=AMOUNT was typed."""
    parts = [text.partition("=") for text in typed]
    if not any(equals for _, equals, _ in parts):
        return tuple(typed)
    names = [name for name, _, _ in parts]
    if not all(equals for _, equals, _ in parts) or len(set(names)) != len(names):
        raise InputError(
            "some of the expectations have an amount and some have not, or one is there twice",
            do="write CODE=AMOUNT for each of them, each once",
        )
    return {name: share for name, _, share in parts}


_FORESEEN: Final = ("entry_id", "reason", "to", "undoes", "facts", "closed_month", "posts_to")


def foreseen(decided: Decided, planned: Sequence[Decision]) -> Decided:
    """What would be decided once these were journaled; one that stands already adds nothing."""
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
