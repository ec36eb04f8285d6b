"""The effects of a planned decision on other open items, before it is journaled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from treasury.close.closing import closing_of
from treasury.close.period_pins import basis_on
from treasury.close.result_words import count, outcome_counts
from treasury.core.calendar import Month
from treasury.core.errors import InputError, NothingStored
from treasury.journal import Draft
from treasury.journal.decision_history import Decision, Remark
from treasury.journal.decision_log import Decided
from treasury.journal.period_history import closed_periods
from treasury.month.decisions.comparison import Comparison, compare_bases
from treasury.month.decisions.remarks import foreseen_remark
from treasury.month.decisions.verdicts import foreseen
from treasury.month.items import Effects, effects_between
from treasury.month.reconciliation import Basis, Reconciliation
from treasury.month.standing_knowledge import answer_and_knowledge
from treasury.workspace.stores import WorkspaceStores

if TYPE_CHECKING:
    from treasury.month.decisions.verdicts import Deciding
    from treasury.statements import Withdrawal

_COIN_COLUMNS: Final = {
    "ramp_requests": "crypto_currency",
    "transfers": "asset",
    "wallet_balances": "asset",
    "wallet_movements": "asset",
}
"""The columns that contain the names of coins, by table."""


def effects_of_decisions(t: WorkspaceStores, planned: Sequence[Decision]) -> Effects:
    """Return the effects of planned decisions on open items other than the decided lines.

    The open items are those of the last month that ended, or of the last month with a decided line,
    whichever is later; for a closed month, those of the next open one.
    """
    decided = t.decided()
    booked = [
        Month.of(date.fromisoformat(line["booking_date"]))
        for decision in planned
        if (line := decision.facts.get("line"))
    ]
    lines = {decision.entry_id for decision in planned}
    return _effects(t, decided, foreseen(decided, planned), booked, lines)


def effects_of_remark(t: WorkspaceStores, planned: Remark) -> Effects:
    """Return the effects of a planned remark on the last ended month, or the next open one."""
    decided = t.decided()
    return _effects(t, decided, foreseen_remark(decided, planned))


def effects_of_drafts(
    t: WorkspaceStores, decided: Decided, drafts: Sequence[Draft], month: Month
) -> Effects:
    """Return the effects of drafted entries on a month's open items."""
    then = decided.foresee([(t.now(), draft) for draft in drafts])
    return _effects(t, decided, then, [month], {draft.subject for draft in drafts})


def rests_on(t: WorkspaceStores, matches: Deciding, withdrawal: Withdrawal) -> tuple[str, ...]:
    """Return sentences about the records that depend on a statement to be withdrawn.

    The sentences count its lines by outcome and the decisions on them, and name the closed months
    that keep the statement.
    """
    knowledge, decisions = matches.look()
    statement, entries = withdrawal.statement, set(withdrawal.entry_ids)
    outcomes = knowledge.outcomes
    rows = [outcomes[name] for name in entries if name in outcomes]
    counts = Counter("other_business" if row["line_class"] else row["outcome"] for row in rows)
    sentences = [f"bank lines now: {outcome_counts(counts)}"] if rows else []
    if decided := sum(decision.entry_id in entries for decision in decisions):
        sentences.append(f"{count(decided, 'decision')} on them would lose their line")
    first, last = (Month.of(day or date.min) for day in (statement.first_day, statement.last_day))
    closed = closed_periods(t.decided().entries)
    months = (name for name in closed if str(first) <= name <= str(last))
    return (*sentences, *(f"{name} is closed and keeps it" for name in months))


def _effects(
    t: WorkspaceStores,
    decided: Decided,
    then: Decided,
    months: Sequence[Month] = (),
    lines: Collection[str] = (),
) -> Effects:
    """Return the open items, except `lines`, that differ between two states of the decisions.

    The month is the last of `months`, or the last month that ended if this is later. If it is
    closed, the first later month that is not closed is used.
    """
    month = max((*months, t.this_month.previous))
    closed = closed_periods(decided.entries)
    while str(month) in closed and month < t.this_month:
        month = month.next
    question, snapshot = t.question(month), t.snapshot()
    sides = []
    for side in (decided, then):
        try:
            answer, knowledge = answer_and_knowledge(basis_on(snapshot, question, side))
        except NothingStored as error:
            return Effects(month=month, effects=(), unknown=str(error))
        sides.append((closing_of(answer, t.settings.zone).items, knowledge))
    (before, first), (after, last) = sides
    return effects_between(before, after, (first, last), lines)


def known_coins(t: WorkspaceStores) -> set[str]:
    """Return the coins named by the rules and the stored records."""
    snapshot = t.snapshot()
    rules = t.question(t.this_month).rules
    coins = {pair.partition("/")[0] for pair in rules.coins_at_par}
    for table, column in _COIN_COLUMNS.items():
        if snapshot.declares(table):
            query = f"SELECT DISTINCT {column} FROM {table}"  # noqa: S608 - declared names
            coins.update(filter(None, snapshot.sql(query)[column].to_pylist()))
    return coins


def compare(a: Reconciliation, b: Reconciliation) -> Comparison:
    """Compare two reconciliations; raise InputError unless both came from a lake."""
    return compare_bases(_made_from(a), _made_from(b))


def _made_from(answer: Reconciliation) -> Basis:
    do = "compare two of t.reconcile(…)"
    if not isinstance(answer, Reconciliation):
        raise InputError(f"a {type(answer).__name__} is not a reconciliation", do=do)
    if answer.basis is None:
        raise InputError("the reconciliation does not contain its basis", do=do)
    return answer.basis
