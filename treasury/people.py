"""The verbs by which people decide: `t.matches`, `t.funding`, `t.rules`, `t.periods`.

The rooms below know what a verb does; here each is given the workspace's lake, journal, clock and
settings, and a workspace as known at an earlier instant is kept from deciding anything.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.calendar import Month
from treasury.errors import InputError
from treasury.journal import Actor, Journal, current_actor
from treasury.journal.decisions import decision_table, mark_table, standing, standing_marks
from treasury.journal.periods import Period, closed_periods, period_history, rules_in_force
from treasury.journal.turns import Decided, read_decided, require_present
from treasury.lake import Lake, Snapshot
from treasury.reconcile import Question, Reconciliation, Rows, Rules, load_rules
from treasury.reconcile.changing import Changing
from treasury.reconcile.compare import Comparison, compare_bases
from treasury.reconcile.deciding import Deciding
from treasury.reconcile.known import Known, known
from treasury.reconcile.late import late_items
from treasury.reconcile.marking import Marking
from treasury.reconcile.monthly import Basis
from treasury.reconcile.periods import (
    ClosePlan,
    basis_of,
    close_period,
    examine,
    plan_close,
    reconcile,
    reopen_period,
    roll_forward_of,
    verify_period,
)
from treasury.reconcile.rollforward import ROLL_FORWARD, RollForward

if TYPE_CHECKING:
    from treasury.reconcile.periods import Blocker, Examined
    from treasury.report.closing import Closing

__all__ = ["Desk", "Periods", "compare", "rules_for"]


class Desk(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What the verbs take from a workspace; `until` is the instant of one that only reads."""

    lake: Lake
    journal: Journal
    snapshot: Callable[[], Snapshot]
    question: Callable[[str | Month, Rules | None], Question]
    rules_file: Path
    zone: ZoneInfo
    now: Callable[[], datetime]
    until: datetime | None

    @property
    def matches(self) -> Deciding:
        """Verdicts on bank lines."""

        def look(decisions: pa.Table) -> Known:
            return known(Basis(self.snapshot(), self.question(self.month, None), decisions))

        return Deciding(self.journal, look, self.now, until=self.until)

    @property
    def funding(self) -> Marking:
        """Remarks on ramp requests."""
        return Marking(self.journal, self.snapshot, self.now, until=self.until)

    @property
    def rules(self) -> Changing:
        """The rules: in force, previewed, saved."""

        def question(rules: Rules) -> Question:
            return self.question(self.month, rules)

        return Changing(self.rules_file, self.journal, self.snapshot, question, until=self.until)

    @property
    def periods(self) -> Periods:
        """Months that are closed."""
        return Periods(self)

    @property
    def month(self) -> Month:
        """The month that it is."""
        return Month.of(self.now().astimezone(self.zone).date())


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
    everything = read_decided(journal).entries
    then = [one for one in everything if until is None or one.at <= until]
    period = closed_periods(then).get(str(month))
    if period is not None:
        return msgspec.convert(period.close.rules, Rules)
    found = None if until is None else rules_in_force(everything, until)
    if found is not None:
        return msgspec.convert(found.content, Rules)
    return load_rules(path) if path.is_file() else Rules()


class Periods:
    """The months of a workspace: closed, reopened, given again."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def close(
        self,
        month: str | Month,
        reason: str | None = None,
        *,
        reviewed_by: str,
        actor: Actor | None = None,
    ) -> Period:
        """Close and lock a month that has ended; with something open, `reason` says why.

        Prepared by who runs it, reviewed by somebody else. Raises ActionRefused with what blocks,
        and TreasuryError where the open items do not roll forward.
        """
        period = self.lock(month, reason, reviewed_by=reviewed_by, actor=actor).period
        assert period is not None  # that is what a lock is
        return period

    def lock(
        self,
        month: str | Month,
        reason: str | None = None,
        *,
        reviewed_by: str,
        ledger: Path | None = None,
        actor: Actor | None = None,
    ) -> Closing:
        """The same, and the month as it was closed: what its report is made from.

        The ledger in the CSV file `ledger` is compared, and journaled with the close.
        """
        from treasury.report.checklist import blockers
        from treasury.report.closing import closed_month, found_of
        from treasury.report.provided import draft_of, read_ledger

        t = self._desk
        require_present(t.until)
        who, asked = actor or current_actor(), _month(month)
        given = None if ledger is None else read_ledger(ledger)
        examined: list[Closing] = []

        def blocking(found: Examined) -> tuple[Blocker, ...]:
            examined.append(found_of(found, t.zone, ledger=given))
            return blockers(examined[-1])

        period, found = close_period(
            t.journal,
            t.lake,
            t.question(month, None),
            blocking,
            actor=who,
            reviewed_by=reviewed_by,
            now=t.now(),
            reason=reason,
            beside=() if given is None else (draft_of(str(asked), given, who),),
        )
        if found is None:
            return closed_month(t.journal, t.lake, period)
        return msgspec.structs.replace(examined[-1], period=period)

    def month(self, month: str | Month | None = None, *, ledger: Path | None = None) -> Closing:
        """A month with its balances, verdict and roll-forward: as it was closed, else as of now.

        Without a month it is the last one that has ended.
        `ledger` is compared where the month is open; a closed one has that of its close.
        """
        from treasury.report.closing import closed_month, found_of
        from treasury.report.provided import read_ledger

        t, decided = self._desk, self._decided()
        month = t.month.previous if month is None else _month(month)
        period = closed_periods(decided.entries).get(str(month))
        if period is not None and ledger is not None:
            raise InputError(
                f"{period.month} is closed, with the ledger that was given then",
                do="leave the ledger out, or reopen the month",
            )
        if period is not None:
            return closed_month(t.journal, t.lake, period)
        found = examine(t.journal, t.lake, self._basis(month), decided)
        return found_of(found, t.zone, ledger=None if ledger is None else read_ledger(ledger))

    def plan(
        self,
        month: str | Month,
        *,
        reviewed_by: str,
        reason: str | None = None,
        actor: Actor | None = None,
    ) -> ClosePlan:
        """What closing the month would journal, and what blocks it; writes nothing."""
        from treasury.report.checklist import blockers
        from treasury.report.closing import found_of

        t = self._desk
        return plan_close(
            t.journal,
            t.lake,
            t.question(month, None),
            lambda found: blockers(found_of(found, t.zone)),
            actor=actor or current_actor(),
            reviewed_by=reviewed_by,
            reason=reason,
        )

    def reopen(self, month: str | Month, reason: str, *, actor: Actor | None = None) -> Period:
        """Let a closed month go, the last one only; journaled with the reason."""
        require_present(self._desk.until)
        return reopen_period(
            self._desk.journal, _month(month), reason, actor=actor or current_actor()
        )

    def list(self) -> Rows:
        """Every close there was: month, state, who prepared and reviewed, what it rests on."""
        rows = [_row(period) for period in period_history(self._decided().entries)]
        return Rows(pa.Table.from_pylist(rows, schema=_PERIODS))

    def get(self, month: str | Month) -> Period:
        """The close of a month; InputError where it is not closed."""
        found = closed_periods(self._decided().entries).get(str(_month(month)))
        if found is None:
            raise InputError(f"{_month(month)} is not closed", do="close it, or ask for another")
        return found

    def answer(self, month: str | Month) -> Reconciliation:
        """A closed month's answer, made again from what it was closed on."""
        t = self._desk
        return reconcile(basis_of(t.journal, t.lake, self.get(month)))

    def verify(self, month: str | Month) -> Reconciliation:
        """The same, held against what the close says of it; JournalError where it differs."""
        t = self._desk
        return verify_period(t.journal, t.lake, self.get(month))

    def closing(self, period: Period) -> pa.Table:
        """The roll-forward that a close journaled; columns as in ROLL_FORWARD."""
        rows = [
            {
                name: Decimal(value)
                if pa.types.is_decimal(ROLL_FORWARD.field(name).type)
                else value
                for name, value in row.items()
            }
            for row in period.close.roll_forward
        ]
        return pa.Table.from_pylist(rows, schema=ROLL_FORWARD)

    def roll_forward(self, month: str | Month) -> RollForward:
        """The month's open items from opening to closing, as they are known now."""
        t = self._desk
        return roll_forward_of(t.journal, t.lake, self._basis(month), self._decided())

    def late(self) -> Rows:
        """What was learnt about closed months after their close, and where it posts to."""
        return Rows(late_items(self._known(), closed_periods(self._decided().entries)))

    def _decided(self) -> Decided:
        return read_decided(self._desk.journal, until=self._desk.until)

    def _basis(self, month: str | Month) -> Basis:
        t = self._desk
        entries = self._decided().entries
        marks = mark_table(standing_marks(entries))
        verdicts = decision_table(standing(entries))
        return Basis(t.snapshot(), t.question(month, None), verdicts, marks)

    def _known(self) -> Known:
        return known(self._basis(self._desk.month))


_PERIODS = pa.schema(
    [
        ("month", pa.string()),
        ("state", pa.string()),
        ("closed_at", pa.timestamp("us", tz="UTC")),
        ("prepared_by", pa.string()),
        ("reviewed_by", pa.string()),
        ("reason", pa.string()),
        ("open_items", pa.int64()),
        ("commit", pa.int64()),
        ("rules_hash", pa.string()),
        ("reopened_at", pa.timestamp("us", tz="UTC")),
        ("reopened_by", pa.string()),
        ("reopen_reason", pa.string()),
    ]
)


def _row(period: Period) -> dict[str, Any]:
    close = period.close
    return {
        "month": period.month,
        "state": "closed" if period.is_closed else "reopened",
        "closed_at": period.closed_at,
        "prepared_by": close.prepared_by,
        "reviewed_by": close.reviewed_by,
        "reason": close.reason,
        "open_items": sum(item["items"] for item in close.open_items),
        "commit": close.commit,
        "rules_hash": close.rules_hash,
        "reopened_at": period.reopened_at,
        "reopened_by": period.reopened_by or None,
        "reopen_reason": period.reopen_reason or None,
    }


def _month(month: str | Month) -> Month:
    return month if isinstance(month, Month) else Month.parse(month)
