"""Statements of the same days in two formats, for example while a bank changes to camt.053.

Formats describe a movement in different words, so single rows cannot be compared. But two
statements of one account and the same days have the same movements. The statement in the more
detailed format counts; if both are equally detailed, the stored one counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

from treasury.core.errors import StatementError
from treasury.statements.store.statement_facts import StatementFacts

_WHOLE: Final = frozenset({"MT940", "camt.053", "CODA", "CFONB 120"})
"""Formats that have all movements of their days; a CSV may have been exported during the day."""
_MOST_DAYS: Final = 400
_ONE_DAY: Final = timedelta(days=1)


class DaysByFormat:
    """The statements whose movements count, by account and day."""

    def __init__(self, statements: Iterable[StatementFacts]) -> None:
        self._days: dict[tuple[str | None, date], list[StatementFacts]] = defaultdict(list)
        for facts in statements:
            self.add(facts)

    def add(self, facts: StatementFacts) -> None:
        """Add a statement whose movements count."""
        for day in _days(facts):
            self._days[facts.account, day].append(facts)

    def holders(self, facts: StatementFacts) -> list[StatementFacts]:
        """Return statements in other formats that together have all movements of this statement.

        Return an empty list if there is no other statement, or if this one is more detailed on all
        shared days. Raises StatementError naming both files if they share only some days or
        contradict each other.
        """
        others = self.others(facts)
        for holder in others:
            if _has_all(holder, facts) and _rank(holder) >= _rank(facts):
                same_days = (holder.first, holder.last) == (facts.first, facts.last)
                both_proved = holder.proved and facts.proved
                if same_days and both_proved and holder.closing != facts.closing:
                    raise _refused(facts, holder, "disagree about the same days")
                return [holder]
        equal = [holder for holder in others if _rank(holder) >= _rank(facts)]
        has_parts = equal and all(_has_all(facts, part) for part in equal)
        moved = sum(part.credits for part in equal), sum(part.debits for part in equal)
        if has_parts and moved == (facts.credits, facts.debits):
            # Together they must have the same movements, and no others.
            return equal
        for holder in others:
            if holder in equal or not _has_all(facts, holder):
                raise _refused(facts, holder, "have the same days only in part")
        return []

    def others(self, facts: StatementFacts) -> list[StatementFacts]:
        """Return statements in another format that share a day and may share a movement."""
        sharing = {
            holder.statement_id: holder
            for day in _days(facts)
            for holder in self._days.get((facts.account, day), ())
            if holder.format != facts.format
            and (holder.currency == facts.currency or None in {holder.currency, facts.currency})
            and not facts.is_apart_from(holder)
        }
        return list(sharing.values())


def repeated_elsewhere(statements: Iterable[StatementFacts]) -> frozenset[str]:
    """Return the ids of statements that are repeated completely in a more detailed format."""
    several = list(statements)
    weak = [facts for facts in several if not facts.is_provisional and _rank(facts) < (True, True)]
    if not weak:
        return frozenset()
    accounts = {facts.account for facts in weak}
    days = DaysByFormat(facts for facts in several if facts.account in accounts)
    return frozenset(
        facts.statement_id
        for facts in weak
        for holder in days.others(facts)
        if _has_all(holder, facts) and _rank(holder) > _rank(facts)
    )


def _rank(facts: StatementFacts) -> tuple[bool, bool]:
    """Return a sort key: proved statements first, then formats that have all movements."""
    return facts.proved, facts.format in _WHOLE


def _days(facts: StatementFacts) -> Iterable[date]:
    """Yield the days of a statement, at most 400; none for a report or without an account."""
    if facts.is_provisional or facts.account is None:
        return
    for number in range(min((facts.last - facts.first).days + 1, _MOST_DAYS)):
        yield facts.first + number * _ONE_DAY


def _has_all(holder: StatementFacts, facts: StatementFacts) -> bool:
    """Return whether `holder` has all days of `facts`, or the same balances and last day."""
    if holder.first <= facts.first and facts.last <= holder.last:
        return True
    between = (facts.opening, facts.closing, facts.last)
    return between == (holder.opening, holder.closing, holder.last) and facts.opening is not None


def _refused(facts: StatementFacts, rival: StatementFacts, why: str) -> StatementError:
    return StatementError(
        f"{facts.file_name}: {facts.format} from {facts.first} to {facts.last}, and"
        f" {rival.file_name}, {rival.format} from {rival.first} to {rival.last}, {why}",
        do="add only one format for each day, or withdraw the stored statement first;"
        " nothing was stored",
    )
