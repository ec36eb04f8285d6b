"""Which movements are the same, over all statements ever added: none counted twice, no twin lost.

An incoming row is a known movement if its content is the same and it is of the same day, or was
pending before; unless their two statements follow one another, for then both are genuine. What a
later, proved statement of the same days does not have is superseded: it stays, and counts no more.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from treasury.ground.decoding import convert
from treasury.statements.entry_identity import content_of, id_of

__all__ = ["SUPERSEDED", "MovementRegister", "MovementVersion", "StatementFacts", "facts_of"]

SUPERSEDED: Final = "SUPERSEDED"

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_PENDING_AT_MOST: Final = timedelta(days=10)
"""How long after its first report a pending movement may be booked and still be known as it."""
_PENDING_LASTS: Final = timedelta(days=7)
"""How long proved statements must have gone on without it for a pending movement to be void."""


class StatementFacts(msgspec.Struct, frozen=True):
    """What a statement says that matters to what other statements say."""

    statement_id: str
    account: str | None
    currency: str | None
    format: str
    proved: bool
    written: datetime
    sequence: int | None
    first: date | None
    last: date | None
    opening: Decimal | None
    closing: Decimal | None
    file_name: str = ""
    credits: Decimal = Decimal(0)
    debits: Decimal = Decimal(0)
    entry_count: int = 0
    movements_hash: str = ""

    @property
    def is_final(self) -> bool:
        """Whether it is a statement of booked movements, proved: what it lacks did not happen."""
        return self.proved and not self.is_provisional

    @property
    def is_csv(self) -> bool:
        """Whether it is an export, of whichever days a person asked for and at any hour."""
        return self.format.startswith("CSV")

    @property
    def version(self) -> tuple[bool, datetime, int, str]:
        """What says which of two versions counts: the greater one, whichever comes first.

        Only proof and age tell which is right; the rest settles it until a person does.
        """
        return self.proved, self.written, self.entry_count, self.movements_hash

    @property
    def is_provisional(self) -> bool:
        """Whether it only reports what a statement will have."""
        return self.format in {"camt.052", "camt.054", "MT942"}

    def covers(self, account: str | None, day: date) -> bool:
        """Whether it has every movement of the account on that day."""
        if not self.is_final or self.account != account or self.first is None or self.last is None:
            return False
        return self.first <= day <= self.last

    def is_apart_from(self, other: StatementFacts) -> bool:
        """Whether the two have no movement in common although they share a day."""
        if self.statement_id == other.statement_id or not (self.is_final and other.is_final):
            return False
        if self.currency != other.currency:
            return True
        return _follows(self, other) or _follows(other, self) or _are_parts(self, other)


def _follows(first: StatementFacts, second: StatementFacts) -> bool:
    """Whether the second begins with the balance that the first ended with, on the same day."""
    if first.closing is None or first.closing != second.opening or first.last is None:
        return False
    if first.last not in {second.first, second.last} or second.last is None:
        return False
    moved = first.opening != first.closing
    counted = first.sequence is not None and second.sequence == first.sequence + 1
    return first.last <= second.last and (moved or counted)


def _are_parts(one: StatementFacts, other: StatementFacts) -> bool:
    """Whether both are numbered statements of one day, as banks that write several a day have."""
    same_day = one.last is not None and one.last == other.last and one.first == other.first
    counted = None not in {one.sequence, other.sequence} and one.sequence != other.sequence
    single = one.first == one.last
    return same_day and single and counted and one.format == other.format


def facts_of(row: Mapping[str, object]) -> StatementFacts:
    """The facts in a row of `statements`."""
    opened, closed = row["opening_date"], row["closing_date"]
    first, last = row["from_date"], row["to_date"] or closed
    if first is None and isinstance(opened, date) and isinstance(last, date):
        # An opening balance is as of the day before, unless both are of one day.
        first = min(opened + timedelta(days=1), last)
    return convert(
        {
            "statement_id": row["statement_id"],
            "account": row["account"],
            "currency": row["currency"],
            "format": row["format"] or "",
            "proved": row["proved"],
            "written": row["created_at"] or _LONG_AGO,
            "sequence": row["sequence_number"],
            "first": first,
            "last": last,
            "opening": row["opening_balance"],
            "closing": row["closing_balance"],
            "file_name": row["file_name"],
            "credits": row["credit_total"] or Decimal(0),
            "debits": row["debit_total"] or Decimal(0),
            "entry_count": row["entry_count"],
            "movements_hash": row["movements_hash"] or "",
        },
        StatementFacts,
    )


class MovementVersion(msgspec.Struct, gc=False):
    """A movement as one statement has it. `place` is its row among the incoming ones, if it is."""

    entry_id: str
    statement: StatementFacts
    status: str | None
    booked: date
    raw: str
    is_twin: bool = False
    place: int | None = None

    @property
    def is_booked(self) -> bool:
        """Whether it counts."""
        return self.status == "BOOK"

    def differs(self, known: MovementVersion) -> bool:
        """Whether it says something else than the version that is known."""
        mine = (self.raw, self.is_booked, self.statement.proved)
        return mine != (known.raw, known.is_booked, known.statement.proved)

    def replaces(self, known: MovementVersion) -> bool:
        """Whether this version is better than the one that is known."""
        if self.statement.statement_id == known.statement.statement_id:
            versions = self.statement.version[1:], known.statement.version[1:]
            return versions[0] >= versions[1] and self.differs(known)
        mine = (self.is_booked, self.statement.proved)
        theirs = (known.is_booked, known.statement.proved)
        if mine != theirs:
            return mine > theirs
        return self.raw != known.raw and self.statement.written > known.statement.written


class MovementRegister:
    """The movements known so far, and what incoming rows change about them.

    Afterwards `chosen` has the versions to write by id, `patches` the stored ones of which only the
    status or the mark of a twin changes.
    """

    def __init__(self, stored: Iterable[MovementVersion]) -> None:
        self.chosen: dict[str, MovementVersion] = {}
        self.patches: dict[str, MovementVersion] = {}
        self.stored: set[str] = set()
        self._known: dict[str, dict[str, MovementVersion]] = defaultdict(dict)
        self._next: dict[tuple[str, date], int] = defaultdict(int)
        self._twinned: set[tuple[str, date]] = set()
        for version in stored:
            self.stored.add(version.entry_id)
            self._known[content_of(version.entry_id)][version.entry_id] = version

    def add(self, rows: Iterable[MovementVersion], *, corrects: bool = False) -> set[str]:
        """Add the rows of one statement, in order; the ids of the movements that they are.

        `corrects`: they take the place of those of another version of the statement.
        """
        several = list(rows)
        unchanged = self._unchanged(several)
        kept = {one.entry_id for one in unchanged.values()}
        used: set[str] = set()
        candidates: dict[tuple[str, date, str | None], Iterator[MovementVersion]] = {}
        for at, row in enumerate(several):
            content = content_of(row.entry_id)
            key = content, row.booked, row.status
            if key not in candidates:
                # Rows alike, however many, look through the movements known before them once.
                candidates[key] = _candidates(row, list(self._known[content].values()))
            same = unchanged.get(at) or next(
                (
                    one
                    for one in candidates[key]
                    if one.entry_id not in used and one.entry_id not in kept
                ),
                None,
            )
            if same is None:
                self._add_new(row, content)
                used.add(row.entry_id)
            else:
                used.add(same.entry_id)
                is_own = same.statement.statement_id == row.statement.statement_id
                if row.differs(same) if corrects and is_own else row.replaces(same):
                    self._replace(row, same, content)
        return used

    def keep_superseded(self, rows: Iterable[MovementVersion]) -> None:
        """Add the rows of a version that does not count: those that no other has, as superseded."""
        known: dict[tuple[str, date], deque[MovementVersion]] = {}
        for row in rows:
            key = content, booked = content_of(row.entry_id), row.booked
            if key not in known:
                several = self._known[content].values()
                known[key] = deque(one for one in several if one.booked == booked)
            if known[key]:
                known[key].popleft()
            else:
                row.status = SUPERSEDED
                self._add_new(row, content)

    def _unchanged(self, rows: Sequence[MovementVersion]) -> dict[int, MovementVersion]:
        """Which rows are word for word known ones of their day, by their place.

        Of twins each keeps its own id, in whatever order a file has them.
        """
        known: dict[tuple[str, date, str], deque[MovementVersion]] = defaultdict(deque)
        for content in {content_of(row.entry_id) for row in rows}:
            for one in self._known[content].values():
                known[content, one.booked, one.raw].append(one)
        found: dict[int, MovementVersion] = {}
        for at, row in enumerate(rows):
            alike = known[content_of(row.entry_id), row.booked, row.raw]
            if alike and not alike[0].statement.is_apart_from(row.statement):
                found[at] = alike.popleft()
        return found

    def _add_new(self, row: MovementVersion, content: str) -> None:
        known, day = self._known[content], (content, row.booked)
        if day not in self._twinned:
            for one in known.values():
                if one.booked == row.booked:
                    self._mark_twin(one)
                    self._twinned.add(day)
        row.is_twin = row.is_twin or day in self._twinned
        while (entry_id := id_of(*day, self._next[day])) in known:
            self._next[day] += 1
        row.entry_id = entry_id
        known[entry_id] = row
        self.chosen[entry_id] = row

    def _mark_twin(self, one: MovementVersion) -> None:
        if not one.is_twin:
            one.is_twin = True
            self._patch(one)

    def _patch(self, one: MovementVersion) -> None:
        if one.place is None:
            self.patches[one.entry_id] = one

    def _replace(self, row: MovementVersion, same: MovementVersion, content: str) -> None:
        row.entry_id = same.entry_id
        row.is_twin = row.is_twin or same.is_twin
        self._known[content][row.entry_id] = row
        self.chosen[row.entry_id] = row
        self.patches.pop(row.entry_id, None)

    def correct(self, statement: StatementFacts, used: set[str]) -> None:
        """A newer version of a statement lacks movements that the one before had."""
        for one in self._all():
            if one.statement.statement_id == statement.statement_id and one.entry_id not in used:
                self._supersede(one)

    def settle(self, statements: Iterable[StatementFacts], repeated: Collection[str] = ()) -> None:
        """Let proved statements have the last word about their days.

        `repeated` are the ids of statements that others have whole in a format that says more.
        """
        final: dict[str | None, list[StatementFacts]] = defaultdict(list)
        for facts in statements:
            if facts.is_final:
                final[facts.account].append(facts)
        for one in self._all():
            account = one.statement.account
            if one.statement.statement_id in repeated:
                self._supersede(one)
            elif one.statement.is_provisional and one.status in {"BOOK", "PDNG"} and final[account]:
                day = one.booked if one.is_booked else one.booked + _PENDING_LASTS
                if any(facts.covers(account, day) for facts in final[account]):
                    self._supersede(one)

    def _supersede(self, one: MovementVersion) -> None:
        if one.status != SUPERSEDED:
            one.status = SUPERSEDED
            self._patch(one)

    def _all(self) -> Iterator[MovementVersion]:
        for versions in self._known.values():
            yield from versions.values()


def _candidates(
    row: MovementVersion, known: Sequence[MovementVersion]
) -> Iterator[MovementVersion]:
    """The known movements that a row can be: its own statement's first, the pending ones last."""
    mine = row.statement
    for one in known:
        if one.statement.statement_id == mine.statement_id and one.booked == row.booked:
            yield one
    for one in known:
        if one.booked == row.booked and not one.statement.is_apart_from(mine):
            yield one
    for one in known:
        if _was_pending(one, row) or _was_pending(row, one):
            yield one


def _was_pending(before: MovementVersion, after: MovementVersion) -> bool:
    """Whether one is the other before it was booked; its day may have moved on."""
    if before.is_booked or not after.is_booked or before.status == "INFO":
        return False
    return timedelta(0) <= after.booked - before.booked <= _PENDING_AT_MOST
