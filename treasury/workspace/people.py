"""The verbs by which people decide: `t.matches`, `t.funding`, `t.rules`, `t.items`, `t.limits`.

The rooms below know what a verb does; here each is given what it takes from the workspace, and what
a planned decision would change beside its own lines is worked out before it is written.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from treasury.close.period_pins import basis_on
from treasury.close.valuation.coins.agreed_measurement import Measurement
from treasury.close.valuation.exposure.exposure_limits import ExposureLimits
from treasury.core.calendar import Month
from treasury.core.decoding import convert
from treasury.core.errors import InputError, NothingStored
from treasury.decisions.comparison import Comparison, compare_bases
from treasury.decisions.file_debits import decisions_in_force
from treasury.decisions.remarks import Marking, foreseen_remark
from treasury.decisions.rule_changes import Changing
from treasury.decisions.verdicts import Deciding, foreseen
from treasury.items import Carrying, DecisionSheets, Effects, Limits, effects_between
from treasury.journal import Draft, Journal
from treasury.journal.decision_history import Decision, Remark
from treasury.journal.decision_log import Decided
from treasury.journal.period_history import closed_periods, rules_in_force
from treasury.reconcile import Reconciliation, Rules, load_rules
from treasury.reconcile.monthly import Basis
from treasury.reconcile.standing_knowledge import Knowledge, run_knowledge
from treasury.workspace.desk_context import DeskContext
from treasury.workspace.month_periods import Periods

if TYPE_CHECKING:
    from treasury.core.settings import Settings
    from treasury.statements import Withdrawal
    from treasury.workspace.notices import DueItem, NoticeDesk


_COIN_COLUMNS: Final = {
    "ramp_requests": "crypto_currency",
    "transfers": "asset",
    "wallet_balances": "asset",
    "wallet_movements": "asset",
}
"""Where records name coins."""


class DecisionDesk(DeskContext, frozen=True, eq=False, kw_only=True):
    """The verbs by which people decide, each given what it takes from the workspace."""

    @property
    def matches(self) -> Deciding:
        """Verdicts on bank lines."""

        def knowledge(decided: Decided) -> Knowledge:
            snapshot = self.snapshot()
            verdicts = decisions_in_force(snapshot, decided.entries)
            return run_knowledge(Basis(snapshot, self.question(self.month, None), verdicts))

        return Deciding(self.journal, knowledge, self.now, until=self.until, zone=self.zone)

    @property
    def funding(self) -> Marking:
        """Remarks on ramp requests."""
        return Marking(
            self.journal,
            self.snapshot,
            self.now,
            until=self.until,
            zone=self.zone,
            one_person=lambda: self.policy().one_person,
        )

    @property
    def rules(self) -> Changing:
        """The rules: in force, previewed, saved."""
        question = partial(self.question, self.month)
        return Changing(
            self.rules_file, self.journal, self.snapshot, question, until=self.until, zone=self.zone
        )

    @property
    def periods(self) -> Periods:
        """Months that are closed."""
        return Periods(self)

    def effects(self, planned: Sequence[Decision]) -> Effects:
        """What planned decisions would change beside their lines, in the open items.

        They are those of the last month that has ended, or of the first open one that a line is in.
        """
        decided = self.decided()
        booked = [
            Month.of(date.fromisoformat(line["booking_date"]))
            for decision in planned
            if (line := decision.facts.get("line"))
        ]
        lines = {decision.entry_id for decision in planned}
        return self._effects(decided, foreseen(decided, planned), booked, lines)

    def remark_effects(self, planned: Remark) -> Effects:
        """What a planned remark would change in the open items of the last month that has ended."""
        decided = self.decided()
        return self._effects(decided, foreseen_remark(decided, planned))

    def rests_on(self, withdrawal: Withdrawal) -> tuple[str, ...]:
        """What rests on a statement that is to be withdrawn, a sentence each; empty for nothing.

        Its lines by outcome, how many of them people decided, and the closed months that keep it.
        """
        from treasury.close.result_words import count, outcome_counts

        knowledge, decisions = self.matches.look()
        statement, entries = withdrawal.statement, set(withdrawal.entry_ids)
        outcomes = knowledge.outcomes
        rows = [outcomes[name] for name in entries if name in outcomes]
        counts = Counter("other_business" if row["line_class"] else row["outcome"] for row in rows)
        sentences = [f"bank lines now: {outcome_counts(counts)}"] if rows else []
        if decided := sum(decision.entry_id in entries for decision in decisions):
            sentences.append(f"{count(decided, 'decision')} on them would rest on no line")
        first, last = (
            Month.of(day or date.min) for day in (statement.first_day, statement.last_day)
        )
        closed = closed_periods(self.decided().entries)
        months = (name for name in closed if str(first) <= name <= str(last))
        return (*sentences, *(f"{name} is closed and keeps it" for name in months))

    def _effects(
        self,
        decided: Decided,
        then: Decided,
        months: Sequence[Month] = (),
        lines: Collection[str] = (),
    ) -> Effects:
        """The open items that change from what is decided to what would be, `lines` left out.

        They are those of the last of `months` or of the last that has ended, else of the first
        month after it that is not closed.
        """
        from treasury.close.closing import closing_of
        from treasury.reconcile.standing_knowledge import answer_and_knowledge

        month = max((*months, self.month.previous))
        closed = closed_periods(decided.entries)
        while str(month) in closed and month < self.month:
            month = month.next
        question, snapshot = self.question(month, None), self.snapshot()
        sides = []
        for side in (decided, then):
            try:
                answer, knowledge = answer_and_knowledge(basis_on(snapshot, question, side))
            except NothingStored as error:
                return Effects(month=month, effects=(), unknown=str(error))
            sides.append((closing_of(answer, self.zone).items, knowledge))
        (before, first), (after, last) = sides
        return effects_between(before, after, (first, last), lines)

    def notices(self, settings: Settings, require_confirmed: Callable[[str], None]) -> NoticeDesk:
        """What is new on the list, told to whom the settings name."""
        from treasury.actions.action_states import actions_of
        from treasury.actions.authority.approvers import waiting_for
        from treasury.workspace.notices import NoticeDesk

        return NoticeDesk(
            self.journal,
            settings,
            lambda: self.items_due(settings),
            lambda person: waiting_for(
                person, actions_of(self.journal.entries("action.")), self.policy()
            ),
            require_confirmed=require_confirmed,
            until=self.until,
        )

    def items_due(self, settings: Settings) -> tuple[DueItem, ...]:
        """What is open in the month that it is, and in the one before while that is not closed."""
        from treasury.core.settings.notice_terms import NoticeTerms
        from treasury.workspace.notices import due_items

        periods, month = self.periods, self.month
        running = periods.month(month)
        is_closed = str(month.previous) in closed_periods(self.decided().entries)
        terms = settings.notices or NoticeTerms()
        return due_items(
            running.items,
            None if is_closed else periods.month(month.previous).items,
            now=self.now(),
            today=self.today,
            synced_at=running.synced_at,
            silent_after=timedelta(hours=terms.silent_hours),
        )

    @property
    def items(self) -> Carrying:
        """Open items that people agree to carry past a close."""
        periods = self.periods
        return Carrying(
            self.journal,
            periods.items_on,
            self.policy,
            lambda: self.today,
            until=self.until,
            zone=self.zone,
        )

    @property
    def decision_sheets(self) -> DecisionSheets:
        """Decisions on open items, taken in a spreadsheet."""
        question = self.question(self.month, None)

        def effects(decided: Decided, drafts: Sequence[Draft], month: Month) -> Effects:
            then = decided.foresee([(self.now(), draft) for draft in drafts])
            return self._effects(decided, then, [month], {draft.subject for draft in drafts})

        return DecisionSheets(
            journal=self.journal,
            matches=self.matches,
            funding=self.funding,
            carrying=self.items,
            list_items=self.periods.items_on,
            effects=effects,
            now=self.now,
            company=question.company,
            environment=question.environment,
            until=self.until,
            zone=self.zone,
        )

    @property
    def limits(self) -> Limits:
        """Amounts below which an open item does not block a close."""
        return Limits(self.journal, self.policy, until=self.until, zone=self.zone)

    @property
    def exposure_limits(self) -> ExposureLimits:
        """How much may stand with the provider."""
        return ExposureLimits(self.journal, self.policy, until=self.until, zone=self.zone)

    @property
    def measurement(self) -> Measurement:
        """How coins are measured at month end."""
        return Measurement(
            self.journal,
            self.policy,
            self.now,
            until=self.until,
            zone=self.zone,
            coins=self.known_coins,
        )

    def known_coins(self) -> set[str]:
        """The coins that the rules and the stored records name."""
        snapshot = self.snapshot()
        rules = rules_for(self.journal, self.rules_file, self.month, self.until)
        coins = {pair.partition("/")[0] for pair in rules.coins_at_par}
        for table, column in _COIN_COLUMNS.items():
            if snapshot.declares(table):
                query = f"SELECT DISTINCT {column} FROM {table}"  # noqa: S608 - declared names
                coins.update(filter(None, snapshot.sql(query)[column].to_pylist()))
        return coins


def compare(a: Reconciliation, b: Reconciliation) -> Comparison:
    """What moved from one answer to another; InputError for what is none, or not from a lake."""
    return compare_bases(_made_from(a), _made_from(b))


def _made_from(answer: Reconciliation) -> Basis:
    do = "compare two of t.reconcile(…)"
    if not isinstance(answer, Reconciliation):
        raise InputError(f"a {type(answer).__name__} is no reconciliation", do=do)
    if answer.basis is None:
        raise InputError("a reconciliation does not say what it was made from", do=do)
    return answer.basis


def rules_for(journal: Journal, path: Path, month: Month, until: datetime | None) -> Rules:
    """The rules that a month is answered under.

    A closed month keeps those of its close. Otherwise they are those of the file, or for an earlier
    instant those that the journal knows to have been in force then.
    """
    everything = journal.entries(("period.", "rules."))
    before = [entry for entry in everything if until is None or entry.at <= until]
    period = closed_periods(before).get(str(month))
    if period is not None:
        return convert(period.close.rules, Rules)
    rules = None if until is None else rules_in_force(everything, until)
    if rules is not None:
        return convert(rules.content, Rules)
    return load_rules(path) if os.path.lexists(path) else Rules()
