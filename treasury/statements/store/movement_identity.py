"""Identity of movements across statements: no movement counts twice, and no twin is lost.

An incoming row is a stored movement if content and day are equal, or if the stored one was pending.
If the statements of the two follow one another, they are different movements. A movement missing
from a later proved statement of the same days is superseded: it stays stored but no longer counts.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Final

import msgspec

from treasury.statements.entry_identity import content_of, id_of
from treasury.statements.store.statement_facts import StatementFacts

SUPERSEDED: Final = "SUPERSEDED"

_PENDING_AT_MOST: Final = timedelta(days=10)
"""Maximum time from the first report of a pending movement to its booking."""
_PENDING_LASTS: Final = timedelta(days=7)
"""A pending movement is void if proved statements continue without it for this long."""


class MovementVersion(msgspec.Struct, gc=False):
    """A movement in one statement. `place` is its position among the incoming rows, else None."""

    entry_id: str
    statement: StatementFacts
    status: str | None
    booked: date
    raw: str
    is_twin: bool = False
    place: int | None = None
    is_total: bool = False
    """Whether the movement is a total that another message's details replace (`batch_details`)."""
    is_detail: bool = False
    """Whether the movement is one of the details that replace a total."""

    @property
    def is_booked(self) -> bool:
        """Return whether the movement is booked, itself or by its details."""
        return self.status == "BOOK" or self.is_total

    def differs(self, stored: MovementVersion) -> bool:
        """Return whether content, booking or proof differ from those of the stored version."""
        content = (self.raw, self.is_booked, self.statement.proved)
        return content != (stored.raw, stored.is_booked, stored.statement.proved)

    def replaces(self, stored: MovementVersion) -> bool:
        """Return whether this version is better than the stored one."""
        if self.statement.statement_id == stored.statement.statement_id:
            versions = self.statement.version[1:], stored.statement.version[1:]
            return versions[0] >= versions[1] and self.differs(stored)
        rank = (self.is_booked, self.statement.proved)
        stored_rank = (stored.is_booked, stored.statement.proved)
        if rank != stored_rank:
            return rank > stored_rank
        return self.raw != stored.raw and self.statement.written > stored.statement.written


class MovementRegister:
    """The stored movements, and their changes by incoming rows.

    In the end `chosen` has the versions to write by id, and `patches` the stored movements whose
    status or twin flag alone changes.
    """

    def __init__(self, stored: Iterable[MovementVersion]) -> None:
        self.chosen: dict[str, MovementVersion] = {}
        self.patches: dict[str, MovementVersion] = {}
        self._known: dict[str, dict[str, MovementVersion]] = defaultdict(dict)
        self._next: dict[tuple[str, date], int] = defaultdict(int)
        self._twinned: set[tuple[str, date]] = set()
        for version in stored:
            self._known[content_of(version.entry_id)][version.entry_id] = version

    def add(self, rows: Iterable[MovementVersion], *, corrects: bool = False) -> set[str]:
        """Add the rows of one statement in order; return the ids of their movements.

        With `corrects` the rows replace those of another version of the statement.
        """
        several = list(rows)
        unchanged = self._unchanged(several)
        unchanged_ids = {version.entry_id for version in unchanged.values()}
        used: set[str] = set()
        candidates: dict[tuple[str, date, str | None], Iterator[MovementVersion]] = {}
        for at, row in enumerate(several):
            content = content_of(row.entry_id)
            key = content, row.booked, row.status
            if key not in candidates:
                # Equal rows search the previously stored movements only once, which keeps the time
                # linear.
                candidates[key] = _candidates(row, list(self._known[content].values()))
            counterpart = unchanged.get(at) or next(
                (
                    version
                    for version in candidates[key]
                    if version.entry_id not in used and version.entry_id not in unchanged_ids
                ),
                None,
            )
            if counterpart is None:
                self._add_new(row, content)
                used.add(row.entry_id)
            else:
                used.add(counterpart.entry_id)
                is_own = counterpart.statement.statement_id == row.statement.statement_id
                if row.differs(counterpart) if corrects and is_own else row.replaces(counterpart):
                    self._replace(row, counterpart, content)
        return used

    def keep_superseded(self, rows: Iterable[MovementVersion]) -> None:
        """Add the rows of a version that does not count, unless a movement equals a row.

        The added rows are superseded.
        """
        unmatched: dict[tuple[str, date], deque[MovementVersion]] = {}
        for row in rows:
            key = content, booked = content_of(row.entry_id), row.booked
            if key not in unmatched:
                several = self._known[content].values()
                unmatched[key] = deque(version for version in several if version.booked == booked)
            if unmatched[key]:
                unmatched[key].popleft()
            else:
                row.status = SUPERSEDED
                self._add_new(row, content)

    def _unchanged(self, rows: Sequence[MovementVersion]) -> dict[int, MovementVersion]:
        """Map positions of rows to stored movements that equal them in text, content and day.

        Twins keep their ids even if their order in the file changes.
        """
        unmatched: dict[tuple[str, date, str], deque[MovementVersion]] = defaultdict(deque)
        for content in {content_of(row.entry_id) for row in rows}:
            for version in self._known[content].values():
                unmatched[content, version.booked, version.raw].append(version)
        counterparts: dict[int, MovementVersion] = {}
        for at, row in enumerate(rows):
            alike = unmatched[content_of(row.entry_id), row.booked, row.raw]
            if alike and not alike[0].statement.is_apart_from(row.statement):
                counterparts[at] = alike.popleft()
        return counterparts

    def _add_new(self, row: MovementVersion, content: str) -> None:
        versions, day = self._known[content], (content, row.booked)
        if day not in self._twinned:
            for version in versions.values():
                if version.booked == row.booked:
                    if not version.is_twin:
                        version.is_twin = True
                        self._patch(version)
                    self._twinned.add(day)
        row.is_twin = row.is_twin or day in self._twinned
        while (entry_id := id_of(*day, self._next[day])) in versions:
            self._next[day] += 1
        row.entry_id = entry_id
        versions[entry_id] = row
        self.chosen[entry_id] = row

    def _patch(self, version: MovementVersion) -> None:
        if version.place is None:
            self.patches[version.entry_id] = version

    def _replace(self, row: MovementVersion, replaced: MovementVersion, content: str) -> None:
        row.entry_id = replaced.entry_id
        row.is_twin = row.is_twin or replaced.is_twin
        self._known[content][row.entry_id] = row
        self.chosen[row.entry_id] = row
        self.patches.pop(row.entry_id, None)

    def correct(self, statement: StatementFacts, used: set[str]) -> None:
        """Supersede movements that a newer version of a statement lacks."""
        for version in self._all():
            if (
                version.statement.statement_id == statement.statement_id
                and version.entry_id not in used
            ):
                self._supersede(version)

    def settle(self, statements: Iterable[StatementFacts], repeated: Collection[str] = ()) -> None:
        """Supersede movements that are missing from proved statements of their days.

        A total is superseded by its details. The movements of statements whose ids are in
        `repeated` are superseded too, because a more detailed format repeats all of them.
        """
        final: dict[str | None, list[StatementFacts]] = defaultdict(list)
        for facts in statements:
            if facts.is_final:
                final[facts.account].append(facts)
        for version in self._all():
            account = version.statement.account
            if version.is_total:
                self._supersede(version)
            elif version.is_detail:
                self._mark(version, "BOOK")
            elif version.statement.statement_id in repeated:
                self._supersede(version)
            elif (
                version.statement.is_provisional
                and version.status in {"BOOK", "PDNG"}
                and final[account]
            ):
                day = version.booked if version.is_booked else version.booked + _PENDING_LASTS
                if any(facts.covers(account, day) for facts in final[account]):
                    self._supersede(version)

    def _supersede(self, version: MovementVersion) -> None:
        self._mark(version, SUPERSEDED)

    def _mark(self, version: MovementVersion, status: str) -> None:
        if version.status != status:
            version.status = status
            self._patch(version)

    def _all(self) -> Iterator[MovementVersion]:
        for versions in self._known.values():
            yield from versions.values()


def _candidates(
    row: MovementVersion, versions: Sequence[MovementVersion]
) -> Iterator[MovementVersion]:
    """Yield the stored movements that a row may be: its statement's first, pending ones last."""
    statement = row.statement
    for version in versions:
        if (
            version.statement.statement_id == statement.statement_id
            and version.booked == row.booked
        ):
            yield version
    for version in versions:
        if version.booked == row.booked and not version.statement.is_apart_from(statement):
            yield version
    for version in versions:
        if _was_pending(version, row) or _was_pending(row, version):
            yield version


def _was_pending(before: MovementVersion, after: MovementVersion) -> bool:
    """Return whether one movement is the pending state of the other; the day may have changed."""
    if before.is_booked or not after.is_booked or before.status == "INFO":
        return False
    return timedelta(0) <= after.booked - before.booked <= _PENDING_AT_MOST
