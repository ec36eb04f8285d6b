"""The recorded inputs of a close, from which its answer is recomputed; reopening a month.

A close names the lake's commit, the journal's end, the rules and the settings of its answer. A
reconciliation depends only on these inputs and on the models (the SQL steps and their code). A
closed month therefore stays the same when records are added later; `basis_of` restores its inputs.
A new version may change the models. A close therefore stores its answers too, and the next month
opens with the stored answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache, cached_property, partial
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.actions.policies.policy import Policy
from treasury.close.roll_forward import ROLL_FORWARD, MonthEnd, RollForward, month_end, roll_forward
from treasury.close.signing.step_sentences import actor_words, reopen_sentence, require_same
from treasury.close.stored_answers import read_answers
from treasury.close.valuation.coins.agreed_measurement import Measurement, coin_openings
from treasury.close.valuation.coins.coin_accounts import CoinHistory
from treasury.core.calendar import Month
from treasury.core.decoding import convert
from treasury.core.errors import ActionRefused, InputError, JournalError
from treasury.core.settings import BankAccount
from treasury.core.tables.column_texts import rows_hash
from treasury.core.tables.result_tables import Tables
from treasury.journal import Actor, Entry, Journal
from treasury.journal.decision_history import standing
from treasury.journal.decision_log import Decided, decide, read_decided
from treasury.journal.journal_store import Draft
from treasury.journal.notice_history import NOTICE
from treasury.journal.period_history import REOPEN, Close, Period, closed_periods, period_history
from treasury.lake import Lake, Snapshot
from treasury.matching.rules import Rules
from treasury.month.decisions.corrections import CORRECTIONS, correction_rows, late_decisions
from treasury.month.decisions.file_debits import decisions_in_force
from treasury.month.decisions.remark_rows import remark_table
from treasury.month.decisions.standing_verdicts import standing_table
from treasury.month.month_refusals import require_begun
from treasury.month.question import Question
from treasury.month.reconciliation import Basis, Reconciliation, reconcile_month
from treasury.month.standing_knowledge import Knowledge, answer_and_knowledge, run_knowledge

_COIN_LOTS_STORED, _COIN_EVENTS_STORED = "coin_lots", "coin_events"
"""The tables of measured coins that a close stores for the next month."""
_OUTCOME: Final = (
    "entry_id", "outcome", "line_class", "expectation_id", "tier", "reason", "matched_amount",
)  # fmt: skip


class Examined(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """The inputs of a month's close: the answer, its matching, and the opening of its items.

    `moved` are decisions with changed facts, on lines up to the month's end. `acted` are the
    journal's entries about actions and notices. `corrections` are the effects of late decisions
    about closed months on this one, as in CORRECTIONS. `opening` returns the state of every
    expectation at the end of the month before. `coins` are the opening coins. `journal_problem` is
    why the journal does not verify, or empty.
    """

    answer: Reconciliation
    knowledge: Knowledge
    opening: Callable[[], MonthEnd]
    moved: pa.Table
    decided: Decided
    acted: tuple[Entry, ...]
    journal_problem: str
    corrections: pa.Table = msgspec.field(default_factory=CORRECTIONS.empty_table)
    coins: CoinHistory = CoinHistory()

    @cached_property
    def end(self) -> MonthEnd:
        """The state of every expectation at the month's end, by matching the records up to it."""
        return month_end(self.knowledge, self.answer.month)

    @cached_property
    def roll_forward(self) -> RollForward:
        """The open items from the previous month's end to this one's."""
        return roll_forward(self.opening(), self.end)

    def require_tied(self) -> Examined:
        """Return the month; raise TreasuryError if its open items do not roll forward."""
        _ = self.roll_forward
        return self


def examine(journal: Journal, lake: Lake, basis: Basis, decided: Decided) -> Examined:
    """Return all inputs of a month's close, from its basis and the decisions made by then."""
    answer, knowledge = answer_and_knowledge(basis)
    stand = standing_table(standing(decided.entries), knowledge)
    booked = pc.less_equal(stand["booking_date"], pa.scalar(basis.question.month.last, pa.date32()))
    has_moved = pc.and_(pc.not_equal(stand["moved"], ""), pc.fill_null(booked, False))
    return Examined(
        answer=answer,
        knowledge=knowledge,
        opening=partial(_opening, lake, decided, knowledge, basis),
        moved=stand.filter(has_moved),
        decided=decided,
        acted=tuple(filter(decided.covers, journal.entries(("action.", NOTICE)))),
        journal_problem=journal.problem(),
        corrections=_corrections(journal, lake, basis, knowledge, decided),
        coins=_coin_history(lake, basis, decided),
    )


def _coin_history(lake: Lake, basis: Basis, decided: Decided) -> CoinHistory:
    """Return the agreed measurement of coins, and the last closed month's closing coins."""
    measured = Measurement.in_force(decided.entries)
    history = CoinHistory(measured=measured, openings=coin_openings(decided.entries))
    month = str(basis.question.month)
    before = [each for each in closed_periods(decided.entries).values() if each.month < month]
    if not measured.num_rows or not before:
        return history
    last = max(before, key=lambda period: period.month)
    answers = read_answers(lake.workspace, last.close)
    # When that month was closed, the coins were not measured.
    if _COIN_LOTS_STORED not in answers:
        return history
    lots, events = answers[_COIN_LOTS_STORED], answers[_COIN_EVENTS_STORED]
    return msgspec.structs.replace(history, lots=lots, events=events)


def _corrections(
    journal: Journal, lake: Lake, basis: Basis, knowledge: Knowledge, decided: Decided
) -> pa.Table:
    """Return the amounts that this month posts for decisions about lines of closed months."""
    closed = closed_periods(decided.entries)
    late = [
        decision
        for decision in late_decisions(knowledge, closed, decided.entries)
        if decision.posts_to == str(basis.question.month)
    ]

    @cache
    def lines_of(booked: str, known_in: str) -> pa.Table:
        """Return the lines of the month `booked` as known at the close of `known_in`, or now."""
        period = closed.get(known_in)
        if period is not None and period.month == booked:
            return read_answers(lake.workspace, period.close)["lines"]
        then = basis if period is None else basis_of(journal, lake, period.close)
        question = msgspec.structs.replace(then.question, month=Month.parse(booked))
        return reconcile(Basis(then.snapshot, question, then.decisions, then.remarks)).lines.arrow

    before: dict[str, pa.Table] = {}
    after: dict[str, pa.Table] = {}
    for decision in late:
        booked = str(Month.of(decision.line["booking_date"]))
        before[decision.entry_id] = lines_of(booked, decision.before)
        after[decision.entry_id] = lines_of(booked, decision.posts_to)
    return correction_rows(late, before, after)


def reopen_refusal(month: Month, closed: Mapping[str, Period]) -> ActionRefused | None:
    """Return why a month cannot be reopened, or None: only the last closed one can."""
    if str(month) not in closed:
        return ActionRefused(
            f"{month} is not closed", do="run `treasury periods list` to see the closed months"
        )
    last = max(closed)
    if str(month) == last:
        return None
    return ActionRefused(
        f"{last} is closed after {month} and opens with the closing of the months before it",
        do=f"reopen {last} first: treasury periods reopen {last} --reason …",
    )


def reopen_period(
    journal: Journal,
    month: Month,
    reason: str,
    *,
    actor: Actor,
    policy: Policy,
    agreed: str | None = None,
) -> Period:
    """Reopen the last closed month and return it.

    An earlier month stays closed, because the next month opens with its closing. `agreed` is the
    sentence that the person confirmed. Raise InputError without a reason, and ActionRefused if the
    month is not the last closed one, or if another sentence would be journaled.
    """
    if not reason.strip():
        raise InputError("reopening a month needs a reason", do="give the reason")

    def build(decided: Decided) -> tuple[list[Draft], Decided]:
        closed = closed_periods(decided.entries)
        refusal = reopen_refusal(month, closed)
        if refusal is not None:
            raise refusal
        seq = closed[str(month)].entry.seq
        text = reopen_sentence(month, seq, reason, actor_words(actor, policy))
        require_same(agreed, text)
        body = {"month": str(month), "reason": reason.strip(), "closes": seq, "text": text}
        return [Draft(REOPEN, str(month), body, actor)], decided

    added, decided = decide(journal, build)
    history = period_history(decided.after(added).entries)
    return next(period for period in reversed(history) if period.month == str(month))


def basis_of(journal: Journal, lake: Lake, close: Close) -> Basis:
    """Return the inputs of a close: the records at its commit, and the journal up to it."""
    rules = convert(close.rules, Rules)
    desk = close.desk
    question = Question(
        month=Month.parse(close.month),
        as_of=close.as_of,
        company=desk["company"],
        environment=desk["environment"],
        zone=ZoneInfo(desk["time_zone"]),
        accounts=convert(desk["accounts"], tuple[BankAccount, ...]),
        rules=rules,
        uses_services=desk.get("uses_services", True),
    )
    then = read_decided(journal, head=close.head)
    return basis_on(lake.snapshot(commit=close.commit), question, then)


def examine_again(journal: Journal, lake: Lake, close: Close) -> Examined:
    """Examine a month on its close's inputs; raise TreasuryError if items do not roll forward."""
    then = read_decided(journal, head=close.head)
    return examine(journal, lake, basis_of(journal, lake, close), then).require_tied()


def basis_on(snapshot: Snapshot, question: Question, decided: Decided) -> Basis:
    """Return the inputs of an answer: the records, and the decisions made by then."""
    decisions = decisions_in_force(snapshot, decided.entries)
    return Basis(snapshot, question, decisions, remark_table(decided))


def reconcile(basis: Basis) -> Reconciliation:
    """Return the reconciliation that results from these inputs."""
    return reconcile_month(basis.snapshot, basis.question, basis.decisions, basis.remarks)


def outcomes_hash(lines: pa.Table) -> str:
    """Return the SHA-256 of the month's line outcomes."""
    return rows_hash(lines.select(_OUTCOME))


def roll_forward_of(lake: Lake, basis: Basis, decided: Decided) -> RollForward:
    """Return the roll-forward of open items from the previous month's end to this one's.

    Raise InputError if the month has not begun, and TreasuryError if the open items do not tie.
    """
    require_begun(basis.question)
    knowledge = run_knowledge(basis)
    return roll_forward(
        _opening(lake, decided, knowledge, basis),
        month_end(knowledge, basis.question.month),
    )


def difference_from_close(close: Close, examined: Examined) -> str:
    """Return the first part of a month's answer that differs from its close; empty if none does."""
    if outcomes_hash(examined.answer.lines.arrow) != close.outcomes_hash:
        return "the outcomes of its lines"
    apart = _totals_apart(close, examined.end)
    if apart:
        return apart
    if journaled_roll_forward(close) != examined.roll_forward.totals.arrow.to_pylist():
        return "how its open items were rolled forward"
    return "" if examined.roll_forward.items_hash == close.items_hash else "its open items"


def journaled_roll_forward(close: Close) -> list[dict[str, Any]]:
    """Return the roll-forward that a close journaled, one row per kind and currency.

    A column that did not exist at the time of the close is 0, because it had no movement then.
    """
    none_moved = {name: 0 for name in ROLL_FORWARD.names if name not in ("kind", "currency")}
    amounts = [field.name for field in ROLL_FORWARD if pa.types.is_decimal(field.type)]
    rows = [none_moved | row for row in close.roll_forward]
    return [row | {name: Decimal(row[name]) for name in amounts} for row in rows]


def _opening(lake: Lake, decided: Decided, knowledge: Knowledge, basis: Basis) -> MonthEnd:
    """Return the state at the previous month's end: stored by its close, or else computed."""
    month = basis.question.month.previous
    period = closed_periods(decided.entries).get(str(month))
    if period is None:
        return month_end(knowledge, month)
    tables = read_answers(lake.workspace, period.close)
    end = MonthEnd(month, tables["positions"], tables["shares"])
    apart = _totals_apart(period.close, end)
    if apart:
        raise not_as_closed(period, apart)
    return end


def _totals_apart(close: Close, end: MonthEnd) -> str:
    """Return the first total that differs from the journaled closing; empty if none does."""
    totals = end.totals()
    recorded = {
        (row["kind"], row["currency"]): Decimal(row["closing"]) for row in close.roll_forward
    }
    for key in sorted({*totals, *recorded}):
        if totals.get(key, Decimal(0)) != recorded.get(key, Decimal(0)):
            return f"what was open ({key[0]} in {key[1]})"
    return ""


def not_as_closed(period: Period, differing: str) -> JournalError:
    """Return the error for a close whose stored or recomputed result is not the journaled one."""
    return JournalError(
        f"the close of {period.month} cannot be reproduced: {differing} differs from entry "
        f"{period.entry.seq} of the journal",
        do="run `treasury doctor` and `treasury journal verify`, and keep both as evidence",
    )
