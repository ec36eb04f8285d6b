"""The verbs by which people decide: `t.matches`, `t.funding`, `t.rules`, `t.periods`.

The rooms below know what a verb does; here each is given the workspace's lake, journal, clock and
settings, and a workspace as known at an earlier instant is kept from deciding anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.actions.policy import Policy
from treasury.calendar import Month
from treasury.decoding import convert
from treasury.errors import InputError, NothingStored
from treasury.items import Carrying, Effects, Limits, OpenItems, effects_between
from treasury.journal import Actor, Journal
from treasury.journal.decisions import Decision, Mark
from treasury.journal.heads import publish_head
from treasury.journal.periods import (
    Close,
    Period,
    Preparation,
    closed_periods,
    period_history,
    preparations,
    rules_in_force,
)
from treasury.journal.turns import Decided, read_decided, require_present
from treasury.lake import Lake, Snapshot
from treasury.reconcile import Question, Reconciliation, Rows, Rules, load_rules
from treasury.reconcile.changing import Changing
from treasury.reconcile.compare import Comparison, compare_bases
from treasury.reconcile.deciding import Deciding, foreseen
from treasury.reconcile.known import Known, known
from treasury.reconcile.late import late_items
from treasury.reconcile.marking import Marking, foreseen_remark
from treasury.reconcile.monthly import Basis, require_synced
from treasury.reconcile.periods import (
    basis_of,
    basis_on,
    examine,
    journaled_roll_forward,
    reconcile,
    reopen_period,
    roll_forward_of,
)
from treasury.reconcile.rollforward import ROLL_FORWARD, RollForward

if TYPE_CHECKING:
    from treasury.report.closing import Closing, VerifiedMonth
    from treasury.report.locking import PreparedMonth
    from treasury.statements import Withdrawal

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
    policy: Callable[[], Policy]
    heads: Path | None = None
    """Where each close publishes the journal's head."""

    @property
    def matches(self) -> Deciding:
        """Verdicts on bank lines."""

        def look(decisions: pa.Table) -> Known:
            return known(Basis(self.snapshot(), self.question(self.month, None), decisions))

        return Deciding(self.journal, look, self.now, until=self.until, zone=self.zone)

    @property
    def funding(self) -> Marking:
        """Remarks on ramp requests."""
        return Marking(self.journal, self.snapshot, self.now, until=self.until, zone=self.zone)

    @property
    def rules(self) -> Changing:
        """The rules: in force, previewed, saved."""

        def question(rules: Rules) -> Question:
            return self.question(self.month, rules)

        return Changing(
            self.rules_file,
            self.journal,
            self.snapshot,
            question,
            until=self.until,
            zone=self.zone,
        )

    @property
    def periods(self) -> Periods:
        """Months that are closed."""
        return Periods(self)

    def effects(self, planned: Sequence[Decision]) -> Effects:
        """What planned decisions would change beside their lines, in the open items.

        They are those of the last month that has ended, or of the first open one that a line is in.
        """
        decided = read_decided(self.journal, until=self.until)
        booked = [
            Month.of(date.fromisoformat(line["booking_date"]))
            for one in planned
            if (line := one.facts.get("line"))
        ]
        after, lines = foreseen(decided, planned), {one.entry_id for one in planned}
        return self._effects(decided, after, booked, lines)

    def remark_effects(self, planned: Mark) -> Effects:
        """What a planned remark would change in the open items of the last month that has ended."""
        decided = read_decided(self.journal, until=self.until)
        return self._effects(decided, foreseen_remark(decided, planned))

    def rests_on(self, withdrawal: Withdrawal) -> tuple[str, ...]:
        """What rests on a statement that is to be withdrawn, a sentence each; empty for nothing.

        Its lines by outcome, how many of them people decided, and the closed months that keep it.
        """
        from treasury.report.words import count, outcome_counts

        seen, stand = self.matches.look()
        statement, entries = withdrawal.statement, set(withdrawal.entry_ids)
        rows = [seen.outcomes[name] for name in entries if name in seen.outcomes]
        counts = Counter("other_business" if row["line_class"] else row["outcome"] for row in rows)
        sentences = [f"bank lines now: {outcome_counts(counts)}"] if rows else []
        if decided := sum(one.entry_id in entries for one in stand):
            sentences.append(f"{count(decided, 'decision')} on them would rest on no line")
        first, last = (
            Month.of(day or date.min) for day in (statement.first_day, statement.last_day)
        )
        closed = closed_periods(read_decided(self.journal, until=self.until).entries)
        kept = (name for name in closed if str(first) <= name <= str(last))
        return (*sentences, *(f"{name} is closed and keeps it" for name in kept))

    def _effects(
        self,
        decided: Decided,
        then: Decided,
        months: Sequence[Month] = (),
        lines: Collection[str] = (),
    ) -> Effects:
        """The open items that change from what is decided to what would be, `lines` left out."""
        from treasury.reconcile.known import answer_and_known
        from treasury.report.closing import closing_of

        month = self._first_open(max((*months, self.month.previous)), decided)
        question, snapshot = self.question(month, None), self.snapshot()
        sides = []
        for side in (decided, then):
            try:
                answer, seen = answer_and_known(basis_on(snapshot, question, side))
            except NothingStored as error:
                return Effects(month=month, effects=(), unknown=str(error))
            sides.append((closing_of(answer, self.zone).items, seen))
        (before, first), (after, last) = sides
        return effects_between(before, after, (first, last), lines)

    def _first_open(self, month: Month, decided: Decided) -> Month:
        """The month, or the first after it that is not closed."""
        closed = closed_periods(decided.entries)
        while str(month) in closed and month < self.month:
            month = month.next
        return month

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
    def limits(self) -> Limits:
        """Amounts below which an open item does not block a close."""
        return Limits(self.journal, self.policy, until=self.until, zone=self.zone)

    @property
    def today(self) -> date:
        """The day of the question in the reporting time zone."""
        return self.now().astimezone(self.zone).date()

    @property
    def month(self) -> Month:
        """The month that it is."""
        return Month.of(self.today)


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
    named = (entry for kind in ("period.", "rules.") for entry in journal.entries(kind))
    everything = sorted(named, key=lambda entry: entry.seq)
    then = [one for one in everything if until is None or one.at <= until]
    period = closed_periods(then).get(str(month))
    if period is not None:
        return convert(period.close.rules, Rules)
    found = None if until is None else rules_in_force(everything, until)
    if found is not None:
        return convert(found.content, Rules)
    return load_rules(path) if path.is_file() else Rules()


class Periods:
    """The months of a workspace: prepared, signed, reopened, given again."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def prepare(
        self, month: str | Month, *, ledger: Path | None = None, actor: Actor | None = None
    ) -> Closing:
        """Prepare a month that has ended to be signed by a second person.

        Pins the lake's commit, the journal's end and the hash of the list of open items; the ledger
        in the CSV file `ledger` is compared, and journaled with it. Raises ActionRefused where
        something blocks that nobody proposed to carry, and TreasuryError where the open items do
        not roll forward.
        """
        found = self._prepare(month, ledger, actor, show=False)
        if found.refusal is not None:
            raise found.refusal
        return found.closing

    def prepare_or_show(
        self, month: str | Month, *, ledger: Path | None = None, actor: Actor | None = None
    ) -> PreparedMonth:
        """The same, or the month as it is now with the reason why it is not prepared."""
        return self._prepare(month, ledger, actor, show=True)

    def _prepare(
        self, month: str | Month, ledger: Path | None, actor: Actor | None, *, show: bool
    ) -> PreparedMonth:
        from treasury.report.locking import prepare_month
        from treasury.report.provided import read_ledger

        t = self._desk
        require_present(t.until)
        return prepare_month(
            t.journal,
            t.lake,
            t.question(month, None),
            actor=actor or t.journal.who(),
            policy=t.policy(),
            now=t.now(),
            ledger=None if ledger is None else read_ledger(ledger, t.lake.workspace),
            show=show,
        )

    def sign(self, month: str | Month, *, actor: Actor | None = None) -> Closing:
        """Sign what somebody else prepared, and lock the month.

        Raises ActionRefused for whoever prepared it, unless the policy is that of one person: the
        close then says that nobody reviewed it. The journal's head is published where the settings
        say so; StorageError where it cannot be, and the month is closed all the same.
        """
        from treasury.report.closing import closed_month
        from treasury.report.locking import sign_month

        t = self._desk
        require_present(t.until)
        period, closing = sign_month(
            t.journal, t.lake, _month(month), actor=actor or t.journal.who(), policy=t.policy()
        )
        if t.heads is not None:
            last = t.journal.last()
            assert last is not None  # the close, or what came after it
            publish_head(t.heads, last, f"close of {period.month}")
        return closed_month(t.journal, t.lake, period) if closing is None else closing

    def withdraw(
        self, month: str | Month, reason: str, *, actor: Actor | None = None
    ) -> Preparation:
        """Take a preparation back, so that the month can be prepared anew."""
        from treasury.report.locking import withdraw_preparation

        t = self._desk
        require_present(t.until)
        who = actor or t.journal.who()
        t.policy().check_identity(who)
        return withdraw_preparation(t.journal, _month(month), reason, actor=who)

    def month(self, month: str | Month | None = None, *, ledger: Path | None = None) -> Closing:
        """A month with its balances, verdict and roll-forward: as it was closed, else as of now.

        Without a month it is the last one that has ended.
        `ledger` is compared where the month is open; a closed one has that of its close.
        """
        return self.closing_on(month, self._decided(), ledger=ledger)

    def items_on(
        self, month: str | Month | None, decided: Decided, ledger: Path | None = None
    ) -> OpenItems:
        """A month's list under these decisions; the prepared one where it waits for a signature."""
        from treasury.report.locking import prepared_month

        t = self._desk
        month = t.month.previous if month is None else _month(month)
        preparation = preparations(decided.entries).get(str(month))
        if preparation is None:
            return self.closing_on(month, decided, ledger=ledger).items
        return prepared_month(t.journal, t.lake, preparation, decided.entries).items

    def closing_on(
        self, month: str | Month | None, decided: Decided, *, ledger: Path | None = None
    ) -> Closing:
        """The same under the decisions that are handed to it."""
        from treasury.report.closing import closed_month, found_of
        from treasury.report.provided import read_ledger

        t = self._desk
        month = t.month.previous if month is None else _month(month)
        period = closed_periods(decided.entries).get(str(month))
        if period is not None and ledger is not None:
            raise InputError(
                f"{period.month} is closed, with the ledger that was given then",
                do="leave the ledger out, or reopen the month",
            )
        if period is not None:
            return closed_month(t.journal, t.lake, period)
        basis = basis_on(t.snapshot(), t.question(month, None), decided)
        found = examine(t.journal, t.lake, basis, decided)
        return found_of(
            found,
            t.zone,
            ledger=None if ledger is None else read_ledger(ledger, t.lake.workspace),
            preparation=preparations(decided.entries).get(str(month)),
        )

    def reopen(self, month: str | Month, reason: str, *, actor: Actor | None = None) -> Period:
        """Let a closed month go, the last one only; journaled with the reason."""
        require_present(self._desk.until)
        journal = self._desk.journal
        return reopen_period(journal, _month(month), reason, actor=actor or journal.who())

    def list(self) -> Rows:
        """Every close there was, and what waits for a signature: who, when, what it rests on."""
        entries = self._decided().entries
        rows = [_row(period.close, period) for period in period_history(entries)]
        rows += [_row(one.close, None) for one in preparations(entries).values()]
        return Rows(pa.Table.from_pylist(rows, schema=_PERIODS), zone=self._desk.zone)

    def get(self, month: str | Month) -> Period:
        """The close of a month; InputError where it is not closed."""
        found = closed_periods(self._decided().entries).get(str(_month(month)))
        if found is None:
            raise InputError(f"{_month(month)} is not closed", do="close it, or ask for another")
        return found

    def answer(self, month: str | Month) -> Reconciliation:
        """A closed month's answer, made again from what it was closed on."""
        t = self._desk
        return reconcile(basis_of(t.journal, t.lake, self.get(month).close))

    def verify(self, month: str | Month) -> VerifiedMonth:
        """A closed month held against what its close says; JournalError where it differs.

        One that other models closed is held against what they stored, and says so.
        """
        from treasury.report.closing import verify_period

        t = self._desk
        return verify_period(t.journal, t.lake, self.get(month))

    def closing(self, period: Period) -> pa.Table:
        """The roll-forward that a close journaled; columns as in ROLL_FORWARD."""
        rows = journaled_roll_forward(period.close)
        return pa.Table.from_pylist(rows, schema=ROLL_FORWARD)

    def roll_forward(self, month: str | Month) -> RollForward:
        """The month's open items from opening to closing, as they are known now.

        Raises NothingStored where the services were never read: what is open is not known.
        """
        t = self._desk
        require_synced(t.snapshot())
        return roll_forward_of(t.journal, t.lake, self._basis(month), self._decided())

    def late(self, month: str | Month | None = None) -> Rows:
        """What was learnt about closed months, or one, after the close, and where it posts to."""
        entries = self._decided().entries
        found = late_items(self._known(), closed_periods(entries), entries)
        if month is not None:
            found = found.filter(pc.equal(found["month"], str(month)))
        return Rows(found, zone=self._desk.zone)

    def _decided(self) -> Decided:
        return read_decided(self._desk.journal, until=self._desk.until)

    def _basis(self, month: str | Month) -> Basis:
        t = self._desk
        return basis_on(t.snapshot(), t.question(month, None), self._decided())

    def _known(self) -> Known:
        return known(self._basis(self._desk.month))


_PERIODS = pa.schema(
    [
        ("month", pa.string()),
        ("state", pa.string()),
        ("closed_at", pa.timestamp("us", tz="UTC")),
        ("prepared_by", pa.string()),
        ("reviewed_by", pa.string()),
        ("signed_alone", pa.bool_()),
        ("reason", pa.string()),
        ("open_items", pa.int64()),
        ("commit", pa.int64()),
        ("rules_hash", pa.string()),
        ("reopened_at", pa.timestamp("us", tz="UTC")),
        ("reopened_by", pa.string()),
        ("reopen_reason", pa.string()),
    ]
)


def _row(close: Close, period: Period | None) -> dict[str, Any]:
    state = "prepared" if period is None else "closed" if period.is_closed else "reopened"
    row = {
        "month": close.month,
        "state": state,
        "prepared_by": close.prepared_by,
        "reviewed_by": None if close.alone else close.reviewed_by or None,
        "signed_alone": close.alone,
        "reason": close.reason,
        "open_items": sum(item["items"] for item in close.open_items),
        "commit": close.commit,
        "rules_hash": close.rules_hash,
    }
    if period is None:
        return row
    return row | {
        "closed_at": period.closed_at,
        "reopened_at": period.reopened_at,
        "reopened_by": period.reopened_by or None,
        "reopen_reason": period.reopen_reason or None,
    }


def _month(month: str | Month) -> Month:
    return month if isinstance(month, Month) else Month.parse(month)
