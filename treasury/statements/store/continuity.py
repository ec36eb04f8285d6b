"""Continuity of statements: each should open with the closing balance of the one before.

If a statement does not, one of the two is wrong or a third one is missing. This is only certain if
the later statement follows on the next day, or the bank's counter shows which statements are
missing, or both have the same days or number. The later statement is then not proved until added
files explain the difference. If numbers are missing although the balance continues, there is only a
note, because banks count over several accounts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Final

import msgspec

from treasury.statements.store.statement_facts import StatementFacts

_ONE_DAY: Final = timedelta(days=1)
_DAYS: Final = 5
_WEEKS: Final = 15


class Continuity(msgspec.Struct, frozen=True):
    """A remark on a statement and the one before it; with `holds` it does not affect the proof."""

    text: str
    holds: bool


def continuity(statements: Iterable[StatementFacts]) -> dict[int, Continuity]:
    """Return the remarks on statements with a valid sum, by their position in `statements`.

    The keys are positions because several versions of a statement share an id.
    """
    accounts: dict[tuple[str | None, str | None], dict[int, StatementFacts]] = defaultdict(dict)
    for place, facts in enumerate(statements):
        stated = (facts.account, facts.currency, facts.opening, facts.closing)
        if facts.is_final and (
            None not in stated and date.min < facts.last and facts.first < date.max
        ):
            accounts[facts.account, facts.currency][place] = facts
    remarks: dict[int, Continuity] = {}
    for placed in accounts.values():
        # A CSV may be exported at noon, so its last day may be incomplete.
        whole = {place: facts for place, facts in placed.items() if not facts.is_csv}
        places = sorted(whole, key=lambda place: _ended(whole[place]))
        closed = [whole[place] for place in places]
        numbered: dict[tuple[int, int], list[StatementFacts]] = defaultdict(list)
        for facts in closed:
            numbered[facts.last.year, facts.sequence or 0].append(facts)
        for place, facts in placed.items():
            before = _before(facts, closed, numbered)
            if before is not None and (remark := _between(before, facts)):
                remarks[place] = remark
        for at, text in (*_overlapping(closed), *_numbered_alike(closed)):
            remarks[places[at]] = Continuity(text, holds=False)
    return remarks


def _ended(facts: StatementFacts) -> tuple[date, int]:
    return facts.last, facts.sequence or 0


def _before(
    facts: StatementFacts,
    closed: list[StatementFacts],
    numbered: Mapping[tuple[int, int], list[StatementFacts]],
) -> StatementFacts | None:
    """Return the previous statement by the bank's counter, else the last one that ended earlier.

    Pages of one statement have the same number.
    """
    if facts.sequence:
        year = facts.first.year
        for page in numbered.get((year, facts.sequence), []):
            if page is not facts and facts.continues(page):
                return page
        counted = numbered.get((year, facts.sequence - 1), [])
        counted = [before for before in counted if before.last <= facts.first]
        if counted:
            return next(filter(facts.continues, counted), counted[-1])
    place = bisect_left(closed, (facts.first, 0), key=_ended)
    return closed[place - 1] if place else None


def _between(before: StatementFacts, facts: StatementFacts) -> Continuity | None:
    """Return the remark on two consecutive statements, if there is one."""
    follows = facts.continues(before)
    mismatch = (
        f"opening {facts.amount_text(facts.opening)}, but the statement before it"
        f" ({_reference(before)}), to {before.last}, closed"
        f" with {before.amount_text(before.closing)}"
    )
    if missing := facts.missing_numbers(before):
        first, last = missing[0], missing[-1]
        numbers = f"number {first} is" if first == last else f"numbers {first} to {last} are"
        return Continuity(f"{numbers} not known{'' if follows else f'; {mismatch}'}", holds=follows)
    if follows:
        return None
    counted = bool(before.sequence) and facts.has_next_number(before)
    return Continuity(mismatch, holds=not (counted or facts.first - before.last <= _ONE_DAY))


def _overlapping(closed: Sequence[StatementFacts]) -> Iterator[tuple[int, str]]:
    """Yield position and reason for statements that begin within another one and end after it.

    If the balance continues, the two share a day but no movement. A statement whose days are all in
    another one, such as a daily statement within a monthly one, is not a contradiction.
    """
    ends = {(facts.last, facts.closing) for facts in closed}
    for at, facts in enumerate(closed):
        if (facts.first, facts.opening) in ends:
            continue
        # These statements, sorted by end, end before `facts` ends but not before it begins.
        start = bisect_left(closed, (facts.first, 0), key=_ended)
        end = bisect_left(closed, (facts.last, 0), key=_ended)
        for before in closed[start:end]:
            if before.first < facts.first and not facts.continues(before):
                text = (
                    f"the days {facts.first} to {before.last} are in another statement too"
                    f" ({_reference(before)}), which closed with"
                    f" {before.amount_text(before.closing)}, and this one opens with"
                    f" {facts.amount_text(facts.opening)}"
                )
                yield at, text
                break


def _numbered_alike(closed: Sequence[StatementFacts]) -> Iterator[tuple[int, str]]:
    """Yield position and reason for statements that repeat a number with different content.

    Pages of one statement share a number too, and some banks always write the same number: then the
    balance continues, or the account has no other number.
    """
    kinds: dict[tuple[int, int], list[int]] = defaultdict(list)
    for at, facts in enumerate(closed):
        if facts.sequence:
            # Banks number daily, weekly and longer statements separately.
            days = (facts.last - facts.first).days
            kinds[facts.last.year, 0 if days < _DAYS else 1 if days < _WEEKS else 2].append(at)
    for places in kinds.values():
        moves = len({closed[at].sequence for at in places}) > 1
        in_order = sorted(places, key=lambda at: (closed[at].last, closed[at].written))
        for before_at, at in pairwise(in_order):
            before, facts = closed[before_at], closed[at]
            same_days = (before.first, before.last) == (facts.first, facts.last)
            balances = (before.opening, before.closing) == (facts.opening, facts.closing)
            if (
                before.sequence == facts.sequence
                and (same_days or moves)
                and not facts.continues(before)
                and not before.continues(facts)
                and not (same_days and balances)
            ):
                yield at, _alike_text(before)
                if same_days and before.written == facts.written:
                    # Neither of the two is known to be the later one.
                    yield before_at, _alike_text(facts)


def _alike_text(facts: StatementFacts) -> str:
    return (
        f"the bank gave number {facts.sequence} to another statement too"
        f" ({facts.file_name}, to {facts.last}), with other content"
    )


def _reference(facts: StatementFacts) -> str:
    number = f"number {facts.sequence} in " if facts.sequence else ""
    return f"{number}{facts.file_name}"
