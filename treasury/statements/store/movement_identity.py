"""Which movements are the same, over all statements ever added: none counted twice, no twin lost.

An incoming row is a known movement if its content is the same and it is of the same day, or was
pending before; unless their two statements follow one another, for then both are genuine. What a
later, proved statement of the same days does not have is superseded: it stays, and counts no more.
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
"""How long after its first report a pending movement may be booked and still be known as it."""
_PENDING_LASTS: Final = timedelta(days=7)
"""How long proved statements must have gone on without it for a pending movement to be void."""


class MovementVersion(msgspec.Struct, gc=False):
    """A movement as one statement has it. `place` is its row among the incoming ones, if it is."""

    entry_id: str
    statement: StatementFacts
    status: str | None
    booked: date
    raw: str
    is_twin: bool = False
    place: int | None = None
    is_total: bool = False
    """Its details, which another message has, count in its place (`batch_details`)."""
    is_detail: bool = False
    """It is one of the details that count in place of a total."""

    @property
    def is_booked(self) -> bool:
        """Whether it counts, or its details do."""
        return self.status == "BOOK" or self.is_total

    def differs(self, stored: MovementVersion) -> bool:
        """Whether it says something else than the version that is known."""
        content = (self.raw, self.is_booked, self.statement.proved)
        return content != (stored.raw, stored.is_booked, stored.statement.proved)

    def replaces(self, stored: MovementVersion) -> bool:
        """Whether this version is better than the one that is known."""
        if self.statement.statement_id == stored.statement.statement_id:
            versions = self.statement.version[1:], stored.statement.version[1:]
            return versions[0] >= versions[1] and self.differs(stored)
        rank = (self.is_booked, self.statement.proved)
        stored_rank = (stored.is_booked, stored.statement.proved)
        if rank != stored_rank:
            return rank > stored_rank
        return self.raw != stored.raw and self.statement.written > stored.statement.written


class MovementRegister:
    """The movements known so far, and what incoming rows change about them.

    Afterwards `chosen` has the versions to write by id, `patches` the stored ones of which only the
    status or the mark of a twin changes.
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
        """Add the rows of one statement, in order; the ids of the movements that they are.

        `corrects`: they take the place of those of another version of the statement.
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
                # Rows alike, however many, look through the movements known before them once.
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
        """Add the rows of a version that does not count: those that no other has, as superseded."""
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
        """Which rows are word for word known ones of their day, by their place.

        Of twins each keeps its own id, in whatever order a file has them.
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
        """A newer version of a statement lacks movements that the one before had."""
        for version in self._all():
            if (
                version.statement.statement_id == statement.statement_id
                and version.entry_id not in used
            ):
                self._supersede(version)

    def settle(self, statements: Iterable[StatementFacts], repeated: Collection[str] = ()) -> None:
        """Let proved statements have the last word about their days.

        `repeated` are the ids of statements that others have whole in a format that says more.
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
    """The known movements that a row can be: its own statement's first, the pending ones last."""
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
    """Whether one is the other before it was booked; its day may have moved on."""
    if before.is_booked or not after.is_booked or before.status == "INFO":
        return False
    return timedelta(0) <= after.booked - before.booked <= _PENDING_AT_MOST
