"""Closing a month and reopening it: what a close rests on is pinned, so that it can be given again.

A close names the lake's commit, the journal's end, the rules and the settings that its answer was
made from. Reconciliation is a function of these, so the closed month reads the same for good,
whatever becomes known later; `basis_of` brings them back.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.calendar import Month
from treasury.errors import ActionRefused, InputError, JournalError, NothingStored
from treasury.journal import Actor, Entry, Journal
from treasury.journal.actor import same_person
from treasury.journal.decisions import decision_table, mark_table, standing, standing_marks
from treasury.journal.periods import CLOSE, REOPEN, Close, Period, closed_periods, period_history
from treasury.journal.store import Draft
from treasury.journal.turns import Decided, append_next, read_decided
from treasury.lake import Lake, Snapshot
from treasury.money import format_amount
from treasury.reconcile.decided import standing_table
from treasury.reconcile.known import Known, answer_and_known, known
from treasury.reconcile.monthly import (
    Basis,
    Question,
    Reconciliation,
    reconcile_month,
    require_begun,
)
from treasury.reconcile.rollforward import MonthEnd, RollForward, month_end, roll_forward
from treasury.reconcile.rows import shown
from treasury.reconcile.rules import Rules
from treasury.settings import BankAccount

__all__ = [
    "Blocker",
    "ClosePlan",
    "Examined",
    "basis_of",
    "basis_on",
    "close_period",
    "decided_before",
    "examine",
    "outcomes_hash",
    "plan_close",
    "reconcile",
    "reopen_period",
    "roll_forward_of",
    "verify_period",
]

ATTEMPTS: Final = 5
OUTCOME: Final = (
    "entry_id", "outcome", "line_class", "expectation_id", "tier", "reason", "matched_amount",
)  # fmt: skip


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """Something that stands between a month and its close; `amount` is None where none is known.

    `since` is the day of the oldest item, 2026-10-31, or empty.
    """

    label: str
    items: int
    next_step: str
    currency: str = ""
    amount: Decimal | None = None
    owner: str = ""
    since: str = ""

    def __str__(self) -> str:
        worth = f", {format_amount(self.amount, self.currency)}" if self.amount is not None else ""
        return f"{self.label}: {self.items}{worth} ({self.next_step})"


class Examined(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A month as it is closed: the answer, all that matching knew, and the open items rolled on.

    `moved` are the month's lines whose decisions rest on facts that have changed since.
    """

    answer: Reconciliation
    seen: Known
    roll_forward: RollForward
    moved: tuple[str, ...]
    decided: Decided


class ClosePlan(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A close before it is journaled: what was examined, and what blocks."""

    examined: Examined
    blockers: tuple[Blocker, ...]
    close: Close

    @property
    def answer(self) -> Reconciliation:
        """The month's answer."""
        return self.examined.answer

    @property
    def roll_forward(self) -> RollForward:
        """The open items, from the opening to the closing."""
        return self.examined.roll_forward


def plan_close(
    journal: Journal,
    lake: Lake,
    question: Question,
    blockers: Callable[[Examined], Sequence[Blocker]],
    *,
    actor: Actor,
    reviewed_by: str,
    reason: str | None = None,
    decided: Decided | None = None,
) -> ClosePlan:
    """Everything that closing the month would journal, and what blocks it; writes nothing.

    Raises ActionRefused where the month cannot be closed now (not ended, out of turn, closed), and
    TreasuryError where its open items do not roll forward.
    """
    decided = decided or read_decided(journal)
    _require_turn(question, closed_periods(decided.entries))
    _require_checker(actor, reviewed_by)
    snapshot = lake.snapshot()
    if snapshot.commit is None:
        raise NothingStored("nothing is stored yet", do="run `treasury sync` first")
    found = examine(journal, lake, basis_on(snapshot, question, decided.entries), decided)
    blocking = tuple(blockers(found))
    return ClosePlan(
        examined=found,
        blockers=blocking,
        close=Close(
            month=str(question.month),
            reason=reason,
            prepared_by=actor.name,
            reviewed_by=reviewed_by.strip(),
            commit=snapshot.commit.number,
            known_at=snapshot.commit.at,
            as_of=question.as_of,
            head=decided.head,
            rules_hash=question.rules.hash,
            rules=msgspec.to_builtins(question.rules),
            desk=_desk(question),
            roll_forward=_texts(found.roll_forward.totals),
            items_hash=found.roll_forward.items_hash,
            open_items=[_plain(msgspec.structs.asdict(one)) for one in blocking],
            outcomes_hash=outcomes_hash(found.answer),
        ),
    )


def examine(journal: Journal, lake: Lake, basis: Basis, decided: Decided) -> Examined:
    """Everything that a month's close rests on, from its basis and what was decided until then."""
    answer, seen = answer_and_known(basis)
    stand = standing_table(standing(decided.entries), seen)
    return Examined(
        answer=answer,
        seen=seen,
        roll_forward=_moves(journal, lake, basis, seen, decided),
        moved=_moved(stand, basis.question.month),
        decided=decided,
    )


def close_period(
    journal: Journal,
    lake: Lake,
    question: Question,
    blockers: Callable[[Examined], Sequence[Blocker]],
    *,
    actor: Actor,
    reviewed_by: str,
    now: datetime,
    reason: str | None = None,
    beside: Sequence[Draft] = (),
) -> tuple[Period, Examined | None]:
    """Close and lock the question's month: pin its commit, then journal what it rests on.

    With something open a reason is needed; ActionRefused lists what blocks. `beside` is journaled
    with the close or not at all. A month that the same people closed in the same words is closed: a
    run that was cut off is simply repeated, and nothing is examined again.
    """
    reason = (reason or "").strip() or None
    for _ in range(ATTEMPTS):
        decided = read_decided(journal)
        standing_close = closed_periods(decided.entries).get(str(question.month))
        if standing_close and _same_words(standing_close.close, actor, reviewed_by, reason):
            return standing_close, None
        plan = plan_close(
            journal,
            lake,
            question,
            blockers,
            actor=actor,
            reviewed_by=reviewed_by,
            reason=reason,
            decided=decided,
        )
        if plan.blockers and reason is None:
            raise ActionRefused(
                f"{question.month} is not closed: {'; '.join(map(str, plan.blockers))}",
                do="settle these, or close with a reason",
            )
        lake.pin(f"close of {question.month}", now, commit=plan.close.commit)
        draft = Draft(CLOSE, plan.close.month, plan.close, actor)
        added = append_next(journal, decided, [*beside, draft])
        if added is not None:
            period = closed_periods(decided.after(added).entries)[plan.close.month]
            return period, plan.examined
    raise JournalError("others are deciding all the time", do="run this again; nothing was closed")


def reopen_period(journal: Journal, month: Month, reason: str, *, actor: Actor) -> Period:
    """Let a closed month go; only the last one, so that every opening is a closing before it."""
    if not reason.strip():
        raise InputError("a month is reopened with a reason", do="give the reason")
    for _ in range(ATTEMPTS):
        decided = read_decided(journal)
        closed = closed_periods(decided.entries)
        period = closed.get(str(month))
        if period is None:
            raise ActionRefused(
                f"{month} is not closed", do="run `treasury periods list` to see which are"
            )
        last = max(closed)
        if str(month) != last:
            raise ActionRefused(
                f"{last} is closed after {month} and begins with what {month} ended with",
                do=f"reopen {last} first",
            )
        body = {"month": str(month), "reason": reason.strip(), "closes": period.entry.seq}
        added = append_next(journal, decided, [Draft(REOPEN, str(month), body, actor)])
        if added is not None:
            return period_history(decided.after(added).entries)[-1]
    raise JournalError("others are deciding all the time", do="run this again")


def basis_of(journal: Journal, lake: Lake, period: Period) -> Basis:
    """What a month was closed on, from its pinned commit and the journal up to then."""
    close = period.close
    rules = msgspec.convert(close.rules, Rules)
    desk = close.desk
    question = Question(
        month=Month.parse(close.month),
        as_of=close.as_of,
        company=desk["company"],
        environment=desk["environment"],
        zone=ZoneInfo(desk["time_zone"]),
        accounts=msgspec.convert(desk["accounts"], tuple[BankAccount, ...]),
        rules=rules,
    )
    then = decided_before(journal, period)
    return basis_on(lake.snapshot(commit=close.commit), question, then.entries)


def decided_before(journal: Journal, period: Period) -> Decided:
    """What had been decided when a month was closed."""
    head = period.close.head
    then = (one for one in read_decided(journal).entries if one.seq <= head.seq)
    return Decided(head, tuple(then))


def basis_on(snapshot: Snapshot, question: Question, entries: Sequence[Entry]) -> Basis:
    """The basis of an answer: the records, and what these entries decided."""
    marks = mark_table(standing_marks(entries))
    return Basis(snapshot, question, decision_table(standing(entries)), marks)


def verify_period(journal: Journal, lake: Lake, period: Period) -> Reconciliation:
    """Give a closed month's answer again; JournalError where it is not the one that was closed."""
    journal.verify(period.close.head)
    basis = basis_of(journal, lake, period)
    answer = reconcile(basis)
    if outcomes_hash(answer) != period.close.outcomes_hash:
        raise _not_the_same(period, "the outcomes of its lines")
    _check_totals(period, month_end(known(basis), answer.month, basis.decisions))
    return answer


def reconcile(basis: Basis) -> Reconciliation:
    """The answer that these give."""
    return reconcile_month(basis.snapshot, basis.question, basis.decisions, basis.marks)


def outcomes_hash(answer: Reconciliation) -> str:
    """SHA-256 over what became of each line of the month."""
    columns = (map(shown, column.to_pylist()) for column in answer.lines.select(OUTCOME).columns)
    text = msgspec.json.encode(list(zip(*columns, strict=True)))
    return hashlib.sha256(text).hexdigest()


def _require_turn(question: Question, closed: dict[str, Period]) -> None:
    month = question.month
    if question.as_of < month.end(question.zone):
        raise ActionRefused(f"{month} has not ended yet", do="close it after its last day")
    there = closed.get(str(month))
    if there is not None:
        raise ActionRefused(
            f"{month} was closed by {there.close.prepared_by} on {there.closed_at:%Y-%m-%d}",
            do=f"reopen it first: treasury periods reopen {month} --reason …",
        )
    if closed and max(closed) != str(month.previous):
        follows = Month.parse(max(closed)).next
        raise ActionRefused(
            f"months are closed one after another, and the next one is {follows}",
            do=f"close {follows} first",
        )


def _require_checker(actor: Actor, reviewed_by: str) -> None:
    """Who prepares does not review: two names, however they are written."""
    if not reviewed_by.strip():
        raise InputError("nobody reviewed the close", do="name who did, as reviewed_by")
    if same_person(reviewed_by, actor.name):
        raise ActionRefused(
            f"{actor.name} prepares this close and cannot review it",
            do="have somebody else review it, and name them",
        )


def roll_forward_of(journal: Journal, lake: Lake, basis: Basis, decided: Decided) -> RollForward:
    """The open items of the basis' month, from the month's end before to its own.

    Raises InputError for a month that has not begun.
    """
    require_begun(basis.question)
    return _moves(journal, lake, basis, known(basis), decided)


def _moves(
    journal: Journal, lake: Lake, basis: Basis, seen: Known, decided: Decided
) -> RollForward:
    return roll_forward(
        _opening(journal, lake, decided, seen, basis),
        month_end(seen, basis.question.month, basis.decisions),
    )


def _opening(journal: Journal, lake: Lake, decided: Decided, seen: Known, basis: Basis) -> MonthEnd:
    """The month's end before: as it was closed, checked; else as it looks from here."""
    month = basis.question.month.previous
    period = closed_periods(decided.entries).get(str(month))
    if period is None:
        return month_end(seen, month, basis.decisions)
    before = basis_of(journal, lake, period)
    end = month_end(known(before), month, before.decisions)
    _check_totals(period, end)
    return end


def _check_totals(period: Period, end: MonthEnd) -> None:
    """The closing that was journaled is the one that its records give."""
    totals = end.totals()
    recorded = {
        (row["kind"], row["currency"]): Decimal(row["closing"]) for row in period.close.roll_forward
    }
    for key in {*totals, *recorded}:
        if totals.get(key, Decimal(0)) != recorded.get(key, Decimal(0)):
            raise _not_the_same(period, f"what was open ({key[0]} in {key[1]})")


def _not_the_same(period: Period, what: str) -> JournalError:
    return JournalError(
        f"the close of {period.month} does not come out again: {what} differs from what entry"
        f" {period.entry.seq} of the journal says",
        do="run `treasury doctor` and `treasury journal verify`, and keep both as evidence",
    )


def _moved(stand: pa.Table, month: Month) -> tuple[str, ...]:
    """The month's lines whose decisions rest on facts that have moved since."""
    lines = {
        row["entry_id"]
        for row in stand.to_pylist()
        if row["moved"] and row["booking_date"] and Month.of(row["booking_date"]) == month
    }
    return tuple(sorted(lines))


def _same_words(close: Close, actor: Actor, reviewed_by: str, reason: str | None) -> bool:
    said = (close.prepared_by, close.reviewed_by, close.reason)
    return said == (actor.name, reviewed_by.strip(), reason)


def _desk(question: Question) -> dict[str, Any]:
    return {
        "company": question.company,
        "environment": question.environment,
        "time_zone": question.zone.key,
        "accounts": msgspec.to_builtins(question.accounts),
    }


def _texts(table: pa.Table) -> list[dict[str, Any]]:
    return [_plain(row) for row in table.to_pylist()]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row for the journal: amounts as decimal text."""
    return {
        name: shown(value) if isinstance(value, Decimal) else value for name, value in row.items()
    }
