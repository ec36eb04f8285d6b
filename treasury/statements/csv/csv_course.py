"""Comparison of an account's balance column with its amounts, row by row in bounded memory.

Some banks list the oldest row first, others the newest. Both orders are compared in one pass, and
the order with fewer mismatches is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date
from decimal import Context, Decimal
from typing import Final

import msgspec

from treasury.statements.csv.csv_rows import CsvMovement, Key
from treasury.statements.statement_draft import MOST_PROBLEMS

_EXACT: Final = Context(prec=80)


class Off(msgspec.Struct, frozen=True):
    """A row with a balance that disagrees with the movements before it."""

    line: int
    stated: Decimal
    reached: Decimal


class Course:
    """The days and balances of the rows of one account and currency, in the file's order."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.first_day: date | None = None
        self.last_day: date | None = None
        self._began: date | None = None
        self._ended: date | None = None
        self._stated = 0
        self._first: Decimal | None = None
        self._last: Decimal | None = None
        self._before = Decimal(0)
        self._first_moved = Decimal(0)
        self._since = Decimal(0)
        self._above = Decimal(0)
        self._above_line = 0
        self._off: tuple[list[Off], list[Off]] = ([], [])
        """Mismatches with the oldest row first, and with the newest first; `_wrong` counts them."""
        self._wrong = [0, 0]

    def add(self, movement: CsvMovement) -> None:
        """Add a row with its booked amount and its balance."""
        line, day, balance = movement.row.line, movement.booked, movement.balance
        moved = movement.signed if movement.status == "BOOK" else Decimal(0)
        if day is not None:
            self.first_day = min(self.first_day or day, day)
            self.last_day = max(self.last_day or day, day)
            self._began, self._ended = self._began or day, day
        if balance is None:
            self._since = _EXACT.add(self._since, moved)
            self._above = _EXACT.add(self._above, moved)
            return
        self._stated += 1
        if self._last is None:
            self._first, self._before, self._first_moved = balance, self._since, moved
        else:
            # Oldest row first: the previous balance plus all amounts since gives this balance.
            reached = _EXACT.add(self._last, _EXACT.add(self._since, moved))
            self._compare(0, Off(line, balance, reached))
            # Newest row first: this balance plus the amounts above it gives the balance above.
            above = _EXACT.add(balance, self._above)
            self._compare(1, Off(self._above_line, self._last, above))
        self._last, self._since, self._above, self._above_line = balance, Decimal(0), moved, line

    def _compare(self, way: int, comparison: Off) -> None:
        if comparison.stated != comparison.reached:
            self._wrong[way] += 1
            if len(self._off[way]) < MOST_PROBLEMS:
                self._off[way].append(comparison)

    @property
    def off_count(self) -> int:
        """Return the number of mismatches in the order that fits better."""
        return min(self._wrong)

    @property
    def is_shown(self) -> bool:
        """Return whether there are several balances, and all follow from the amounts in day order.

        The result is false if the first and the last row have the same day. In the reverse order,
        balances would also follow from equal amounts with the wrong sign.
        """
        if self._stated < 2 or self._began is None or self._began == self._ended:
            return False
        return self._wrong[self._began > (self._ended or self._began)] == 0

    @property
    def followed_count(self) -> int:
        """Return the number of balances that follow from the movements in day order.

        The result is 0 if the first and the last row have the same day.
        """
        if self._began is None or self._ended is None or self._began == self._ended:
            return 0
        return max(0, self._stated - 1 - self._wrong[self._began > self._ended])

    @property
    def is_newest_first(self) -> bool:
        """Return whether the newest row is first, by the balances or else by the days."""
        if self._wrong[0] != self._wrong[1]:
            return self._wrong[1] < self._wrong[0]
        return (self._began or date.min) > (self._ended or date.min)

    @property
    def off(self) -> list[Off]:
        """Return the rows with a balance that disagrees with the movements before it."""
        return self._off[self.is_newest_first]

    @property
    def ends(self) -> tuple[Decimal | None, Decimal | None]:
        """Return opening and closing balance; the opening is None if only one row has a balance.

        An opening balance derived from a single balance would prove nothing. The closing balance is
        the latest stated one: movements after it are not proved.
        """
        if self._first is None or self._last is None:
            return None, None
        if self.is_newest_first:
            # The last row is the oldest; its balance includes its own amount and those below it.
            opening = _EXACT.subtract(self._last, self._above)
            closing = self._first
        else:
            moved = _EXACT.add(self._before, self._first_moved)
            opening = _EXACT.subtract(self._first, moved)
            closing = self._last
        return (opening if self._stated > 1 else None), closing


def courses_hold(movements: Iterable[CsvMovement]) -> bool:
    """Return whether each account has several balances that all follow in day order."""
    courses = _courses(movements)
    return bool(courses) and all(course.is_shown for course in courses)


def followed_count(movements: Iterable[CsvMovement]) -> int:
    """Return the number of balances that follow from the movements in day order."""
    return sum(course.followed_count for course in _courses(movements))


def _courses(movements: Iterable[CsvMovement]) -> list[Course]:
    courses: dict[Key, Course] = defaultdict(lambda: Course(0))
    for movement in movements:
        courses[movement.key].add(movement)
    return list(courses.values())
