"""Statements of the same days in two formats, as where a bank goes over from MT940 to camt.053.

Formats name the same movement in different words, so nothing tells that two rows are one. Two
statements of one account and of the same days have the same movements all the same: those of the
one that says more count, and of two that say as much those of the one that is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import Final

from treasury.errors import StatementError
from treasury.statements.store.movement_identity import StatementFacts

__all__ = ["DaysByFormat", "repeated_elsewhere"]

_WHOLE: Final = frozenset({"MT940", "camt.053", "CODA", "CFONB 120"})
"""Those whose statements have all movements of their days; a CSV may have been exported earlier."""
_MOST_DAYS: Final = 400
_ONE_DAY: Final = timedelta(days=1)


class DaysByFormat:
    """The statements that count, by the days of each account."""

    def __init__(self, statements: Iterable[StatementFacts]) -> None:
        self._days: dict[tuple[str | None, date], list[StatementFacts]] = defaultdict(list)
        for facts in statements:
            self.add(facts)

    def add(self, facts: StatementFacts) -> None:
        """A statement that counts from now on."""
        for day in _days(facts):
            self._days[facts.account, day].append(facts)

    def holders(self, facts: StatementFacts) -> list[StatementFacts]:
        """The statements in other formats that together have all movements of this one.

        None where it says more itself, of all days of those that it shares one with. StatementError
        naming both files where one has some days of the other and not all, or says otherwise.
        """
        others = self._others(facts)
        for other in others:
            if _has_all(other, facts) and _rank(other) >= _rank(facts):
                if _contradict(other, facts):
                    raise _refused(facts, other, "say otherwise of the same days")
                return [other]
        equal = [other for other in others if _rank(other) >= _rank(facts)]
        if equal and _add_up(equal, facts):
            return equal
        for other in others:
            if other in equal or not _has_all(facts, other):
                raise _refused(facts, other, "have the same days only in part")
        return []

    def holder_of_all(self, facts: StatementFacts) -> StatementFacts | None:
        """One that has all movements of a statement that says less, in another format."""
        return next(
            (
                other
                for other in self._others(facts)
                if _has_all(other, facts) and _rank(other) > _rank(facts)
            ),
            None,
        )

    def _others(self, facts: StatementFacts) -> list[StatementFacts]:
        found = {
            other.statement_id: other
            for day in _days(facts)
            for other in self._days.get((facts.account, day), ())
            if other.format != facts.format
            and (other.currency == facts.currency or None in {other.currency, facts.currency})
            and not facts.is_apart_from(other)
        }
        return list(found.values())


def repeated_elsewhere(statements: Iterable[StatementFacts]) -> frozenset[str]:
    """The ids of the statements all of whose movements one in a format that says more has."""
    several = list(statements)
    weak = [one for one in several if not one.is_provisional and _rank(one) < (True, True)]
    if not weak:
        return frozenset()
    accounts = {one.account for one in weak}
    days = DaysByFormat(one for one in several if one.account in accounts)
    return frozenset(one.statement_id for one in weak if days.holder_of_all(one) is not None)


def _rank(facts: StatementFacts) -> tuple[bool, bool]:
    """How much a statement says of its days: one that is proved more than one that is not."""
    return facts.proved, facts.format in _WHOLE


def _days(facts: StatementFacts) -> Iterable[date]:
    """The days that a statement has, if it says of which account."""
    if facts.is_provisional or facts.account is None or None in {facts.first, facts.last}:
        return
    assert facts.first is not None
    assert facts.last is not None
    for number in range(min((facts.last - facts.first).days + 1, _MOST_DAYS)):
        yield facts.first + number * _ONE_DAY


def _has_all(other: StatementFacts, facts: StatementFacts) -> bool:
    """Whether the other has all days of this one, or leads between the same balances to its end."""
    assert facts.first is not None
    assert facts.last is not None
    assert other.first is not None
    assert other.last is not None
    if other.first <= facts.first and facts.last <= other.last:
        return True
    between = (facts.opening, facts.closing, facts.last)
    return between == (other.opening, other.closing, other.last) and facts.opening is not None


def _contradict(other: StatementFacts, facts: StatementFacts) -> bool:
    """Whether two proved statements of the same days do not lead to the same balance."""
    same_days = (other.first, other.last) == (facts.first, facts.last)
    return same_days and other.proved and facts.proved and other.closing != facts.closing


def _add_up(others: Sequence[StatementFacts], facts: StatementFacts) -> bool:
    """Whether statements within the days of this one have together what it moves, both ways."""
    if not all(_has_all(facts, other) for other in others):
        return False
    moved = sum(one.credits for one in others), sum(one.debits for one in others)
    return moved == (facts.credits, facts.debits)


def _refused(facts: StatementFacts, other: StatementFacts, why: str) -> StatementError:
    return StatementError(
        f"{facts.file_name}: {facts.format} from {facts.first} to {facts.last}, and"
        f" {other.file_name}, {other.format} from {other.first} to {other.last}, {why}",
        do="add the file of only one format for a day, or withdraw the stored statement first;"
        " nothing was stored",
    )
