"""Statements of the same days in two formats, as where a bank goes over from MT940 to camt.053.

Formats name the same movement in different words, so nothing tells that two rows are one. Two
proved statements of one account and of the same days have the same movements all the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

from treasury.errors import StatementError
from treasury.statements.movements import Facts

__all__ = ["DaysByFormat"]

_FORMATS: Final = frozenset({"MT940", "camt.053", "CODA", "CFONB 120"})
"""Those whose statements have all movements of their days; a CSV may have been exported earlier."""
_MOST_DAYS: Final = 400
_ONE_DAY: Final = timedelta(days=1)


class DaysByFormat:
    """The proved statements that count, by the days of each account."""

    def __init__(self, statements: Iterable[Facts]) -> None:
        self._days: dict[tuple[str | None, str | None, date], list[Facts]] = defaultdict(list)
        for facts in statements:
            self.add(facts)

    def add(self, facts: Facts) -> None:
        """A statement that counts from now on."""
        for day in _days(facts):
            self._days[facts.account, facts.currency, day].append(facts)

    def holder(self, facts: Facts) -> Facts | None:
        """The statement in another format that has all movements of this one, if there is one.

        StatementError, naming both files, where one has some of its days and not all.
        """
        found: dict[str, Facts] = {}
        for day in _days(facts):
            for other in self._days.get((facts.account, facts.currency, day), ()):
                if other.format != facts.format and not facts.is_apart_from(other):
                    found[other.statement_id] = other
        for other in found.values():
            if _has_all(other, facts):
                return other
        for other in found.values():
            raise StatementError(
                f"{facts.file_name}: {facts.format} from {facts.first} to {facts.last} has days of"
                f" {other.file_name} too, {other.format} from {other.first} to {other.last}",
                do="add the file of only one format for a day, or withdraw the stored statement"
                " first; nothing was stored",
            )
        return None


def _days(facts: Facts) -> Iterable[date]:
    """The days of a statement that has all their movements."""
    if not facts.is_final or facts.format not in _FORMATS:
        return
    if facts.first is None or facts.last is None:
        return
    for number in range(min((facts.last - facts.first).days + 1, _MOST_DAYS)):
        yield facts.first + number * _ONE_DAY


def _has_all(other: Facts, facts: Facts) -> bool:
    """Whether the other has all days of this one, or leads between the same balances to its end."""
    assert facts.first is not None
    assert facts.last is not None
    if other.covers(facts.account, facts.first) and other.covers(facts.account, facts.last):
        return True
    between = (facts.opening, facts.closing, facts.last)
    return between == (other.opening, other.closing, other.last)
