"""People's verdicts on bank lines: accept, reject, ignore, assign, undo; checked, then journaled.

Each verdict is checked against the matching at that moment, and journaled only if no other decision
was made meanwhile; otherwise it is checked again. An entry contains the line and the expectation
as the person saw them (`facts`), so that a later change can be shown. Repeating a decision writes
nothing, so an interrupted command can simply be run again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.errors import ActionRefused, InputError, NothingStored, TreasuryError
from treasury.core.money import typed_amount
from treasury.core.nearest_names import Facade
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Actor, Draft, Journal
from treasury.journal.decision_history import Decision, decision_table, read_decision, standing
from treasury.journal.decision_log import Decided, decide, read_decided
from treasury.matching.reference_matching import read_decisions
from treasury.month.decisions.batch_debits import orders_paid
from treasury.month.decisions.standing_verdicts import OPEN_LINE_KEYS, open_lines, standing_table
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


class Deciding(Facade):
    """People's decisions about bank lines, as `t.matches`: check, journal and list them.

    `entry_id` is a bank line's id or the start of one. An expectation is a request or virtual
    account, named by its id, the start of its id, or its payment reference. `actor` is the person
    who decides (default: the person at the login). With `dry_run` a method checks the decision,
    returns it and writes nothing. Raises InputError for an unknown or ambiguous id. `knowledge`
    returns the matching that results from a set of decisions.

    >>> t.matches.accept("4f2a91c0", "PAY-2026-005358", reason="amount and payee agree")
    """

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
        """Accept that a line pays one expectation, several, or a share of each.

        A line of a closed month may be decided; the decision posts to the open month `posts_to`.

        Parameters
        ----------
        entry_id
            The bank line's id, or its start.
        expectation_id
            One expectation, several, or a mapping from each to its share. Shares are in the line's
            currency and add up to its amount. They are required if one expectation has no amount.
        reason
            The person's reason; required if a fact contradicts the match, such as the direction, or
            the line exceeds the expected amount.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        Decision
            The decision; its `seq` is the place in the journal, None in a dry run.

        Raises
        ------
        InputError
            If an id is unknown or ambiguous, or the shares do not add up to the line.
        ActionRefused
            If the currency differs, the line is not booked or its money went back, the line is
            already accepted or ignored, the pair was rejected, or shares or a required reason are
            missing.

        Examples
        --------
        >>> t.matches.accept("4f2a91c0", "PAY-2026-005358", reason="amount and payee agree")
        >>> t.matches.accept("4f2a91c0", {"PAY-1042": "60.00", "PAY-1043": "40.00"})
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
        """Accept several pairs of line and expectation in one journal write, or none of them.

        The parameters and errors are those of `accept`; the decisions are in the order of `pairs`.

        >>> t.matches.accept_many([("4f2a91c0", "PAY-1042"), ("77b1e2d9", "PAY-1043")])
        """
        return self._decide_lines("accept", pairs, reason, actor, dry_run=dry_run)

    def accept_group(
        self,
        entry_id: str,
        *,
        reason: str = "",
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Sequence[Decision]:
        """Accept a line's group of equal payments, each for its assigned expectation.

        A group is a set of lines and requests with the same amount, in which matching has assigned
        a request to each line.

        Parameters
        ----------
        entry_id
            The id of any line of the group, or its start.
        reason
            The person's reason; required if a fact contradicts one of the matches.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        sequence of Decision
            A decision per line of the group; either all are journaled or none.

        Raises
        ------
        InputError
            If the line is in no group of equal payments.
        ActionRefused
            If a line of the group is already decided, or a required reason is missing.

        Examples
        --------
        >>> t.matches.accept_group("4f2a91c0", reason="five equal payouts of 30 October")
        """

        def wishes(knowledge: Knowledge, stand: _Standing) -> Sequence[Wish]:
            line = knowledge.find_line(entry_id)
            assigned = knowledge.matches.groups().get(line)
            if assigned is None:
                require_undecided(Wish(verb="accept", entry_id=line), stand)
                raise InputError(
                    f"the line {line} is in no group of equal payments",
                    do="run `treasury match open` to see the candidates of each line",
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

        Parameters
        ----------
        entry_id
            The id of the debit, or its start. Its amount must equal the sum that these
            payments still wait for.
        file
            The name of a payment file that was made in this workspace.
        reason
            The person's reason; required if the debit does not name the file.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        Decision
            The decision, with every request that the debit pays.

        Raises
        ------
        InputError
            If no such file was made here.
        ActionRefused
            If the line is not a debit of the paying account, its amount differs, or a required
            reason is missing.

        Examples
        --------
        >>> t.matches.accept_file("4f2a91c0", "pain.001-2026-10-30.xml")
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
        """Reject that a line pays an expectation; the pair is not suggested again.

        Raise ActionRefused if it is an automatic match and no reason is given, or if the line is
        already accepted or ignored.

        >>> t.matches.reject("4f2a91c0", "PAY-1042", reason="it pays another invoice")
        """
        pairs = [(entry_id, expectation_id)]
        return self._decide_lines("reject", pairs, reason, actor, dry_run=dry_run)[0]

    def ignore(
        self,
        *entry_ids: str,
        reason: str,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Sequence[Decision]:
        """Close lines that pay none of the expectations, and return a decision per line.

        Raise InputError without a reason, and ActionRefused for a matched line, because its request
        would then look unpaid.

        >>> t.matches.ignore("4f2a91c0", "77b1e2d9", reason="interest")
        """
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
        """Assign a line that needs a decision to the colleague `to`; the line stays open.

        Raise InputError if no colleague is named, and ActionRefused if the line needs no decision.

        >>> t.matches.assign("4f2a91c0", "bert", reason="he knows the payer")
        """
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
        """Undo the last decision on a line, or on its pair with one expectation.

        The previous decision, if there is one, applies again.

        Parameters
        ----------
        entry_id
            The bank line's id, or its start.
        expectation_id
            Undo only the last decision about this expectation.
        seq
            The journal place of the decision to undo, as in `list`; default: the last decision.
        reason
            Optional.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        Decision
            The undo decision, with the undone decision's place in `undoes`.

        Raises
        ------
        ActionRefused
            If there is no decision, or the last one is not at `seq`.

        Examples
        --------
        >>> t.matches.undo("4f2a91c0", reason="accepted for the wrong request")
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
        """Return the matching that the decisions in force give, and these decisions by time."""
        return self.known_under(self._read())

    def known_under(self, decided: Decided) -> tuple[Knowledge, _Standing]:
        """Return the matching that these decisions give, and the decisions in force about lines."""
        stand = standing(decided.entries)
        return self._knowledge(decided), stand

    def plan_each(
        self,
        decided: Decided,
        known: tuple[Knowledge, _Standing],
        wishes: Sequence[Wish],
        who: Actor,
    ) -> Sequence[PlannedVerdict | TreasuryError]:
        """Return for each requested decision the verdict it would add to `decided`, or its refusal.

        `known` is the result of `known_under(decided)`. No entry is written. A refused decision
        claims no amount, so the others are checked without it.
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
        """Return every decision in force and its changed facts; columns as in STANDING.

        >>> t.matches.list()
        """
        knowledge, stand = self.look()
        return Table(standing_table(stand, knowledge), zone=self._zone)

    def open(self) -> Table:
        """Return the lines that need a person, oldest first; columns as in OPEN_LINES.

        Raise NothingStored if no bank line is stored: the lines that need a person are then
        unknown.

        >>> t.matches.open()
        """
        knowledge, stand = self.look()
        if not knowledge.bank_lines.num_rows:
            raise NothingStored(
                "the lines that need a decision are not known: no bank line is stored",
                do="add statements with `treasury statements add FILE…`",
            )
        return Table(open_lines(knowledge, stand), zone=self._zone, keys=OPEN_LINE_KEYS)

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
        """Journal the same kind of decision for each line, with its expectations if any."""
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


def typed_expectations(typed: str | Sequence[str]) -> tuple[str, ...] | dict[str, str]:
    """Return the expectations that a person typed, with their shares if CODE=AMOUNT was typed.

    In one text, they are separated by blanks or commas; an amount may hold commas too. Raise
    InputError if only some have an amount, or if one with an amount is named twice.
    """
    if isinstance(typed, str):
        separator = r"[\s,]*\s[\s,]*|,(?=[^,=\s]+=)" if "=" in typed else r"[\s,]+"
        typed = [name for name in re.split(separator, typed.strip(" ,")) if name]
    parts = [text.partition("=") for text in typed]
    if not any(equals for _, equals, _ in parts):
        return tuple(typed)
    names = [name for name, _, _ in parts]
    if not all(equals for _, equals, _ in parts) or len(set(names)) != len(names):
        raise InputError(
            "some of the expectations have an amount and others have none, or one is named twice",
            do="write CODE=AMOUNT for each of them, each once",
        )
    return {name: share for name, _, share in parts}


_FORESEEN: Final = ("entry_id", "reason", "to", "undoes", "facts", "closed_month", "posts_to")


def foreseen(decided: Decided, planned: Sequence[Decision]) -> Decided:
    """Return the decisions with the planned ones added; existing ones are not added twice."""
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
