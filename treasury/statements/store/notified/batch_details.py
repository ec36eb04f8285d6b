"""Payments of a batch that another message reports: they count in place of the booked total.

Many banks book a batch as one entry of the statement (camt.053) and report its payments in
notifications (camt.054), under the bank's reference of the entry: all in one, or each in its own.
The payments take the place of the total if day, currency and reference are the same and they add up
to it exactly. The total stays stored as superseded. The order of the files does not matter.
"""

# ruff: noqa: S608 - names, numbers and days of our own are all that is put into queries

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.money import total
from treasury.core.tables.column_types import TEXT
from treasury.lake import Snapshot
from treasury.statements.statement_tables import COUNTING, STATEMENT_ENTRIES
from treasury.statements.store.movement_identity import SUPERSEDED
from treasury.statements.store.row_staging import Staging
from treasury.statements.store.statement_facts import StatementFacts
from treasury.statements.store.statement_heads import Heads

_COLUMNS: Final = (
    "entry_id", "statement_id", "entry_status", "booking_date", "account", "currency", "amount",
    "direction", "position", "account_servicer_reference",
)  # fmt: skip
_REFERENCE: Final = re.compile(r"<(?:[\w.-]+:)?AcctSvcrRef(?:\s[^>]*)?>\s*([^<]*?)\s*</")
_DETAILS: Final = re.compile(r"<(?:[\w.-]+:)?(?:NtryDtls|TxDtls)[\s>]")

_REPORTS: Final = frozenset({"camt.052", "camt.054"})
"""Formats that report the payments of a batch one by one; MT942 has one line per entry."""

_Key = tuple[str | None, date, str | None, str]
"""Account, day, currency and the bank's reference of an entry."""


class BatchDetails(msgspec.Struct, frozen=True):
    """Totals and their details: incoming rows by their places, stored rows by their ids."""

    came_totals: frozenset[int] = frozenset()
    stored_totals: frozenset[str] = frozenset()
    came_details: frozenset[int] = frozenset()
    stored_details: frozenset[str] = frozenset()


class _Row(msgspec.Struct, frozen=True):
    """A row that may be a total or one of its details; `place` is None if it is stored."""

    entry_id: str
    statement_id: str
    status: str | None
    key: _Key
    moved: Decimal
    entry: str
    is_whole_entry: bool
    """Whether it is a complete entry: a total, or a payment with its own entry."""
    place: int | None = None

    @property
    def counts(self) -> bool:
        """Whether it is not superseded."""
        return self.status != SUPERSEDED


def find_batch_details(
    snapshot: Snapshot, staging: Staging, heads: Heads, days: tuple[date, date]
) -> BatchDetails:
    """Return the totals with details among the incoming rows and the stored ones of these days.

    Incoming rows of statements that do not count were removed before.
    """
    facts = heads.counting
    reports = {key for key, statement in facts.items() if statement.format in _REPORTS}
    if not reports or len(facts) == 1:
        return BatchDetails()
    details: dict[_Key, list[_Row]] = defaultdict(list)
    for row in (*_stored_rows(snapshot, days, reports), *_incoming_rows(staging, reports)):
        details[row.key].append(row)
    # A single row with a reference is one payment, not one of several.
    details = {key: rows for key, rows in details.items() if _moved(rows) is not None}
    references = {key[-1] for key in details}
    if not references:
        return BatchDetails()
    changed = {key for key, state in heads.came.states.items() if state == "changed"}
    totals: dict[_Key, list[_Row]] = defaultdict(list)
    for row in (
        *_stored_rows(snapshot, days, references=references),
        *_incoming_rows(staging, references=references),
    ):
        # If its statement came in a newer version, only the incoming rows identify a stored row.
        is_replaced = row.place is None and row.statement_id in changed
        if not is_replaced and row.statement_id not in heads.repeated:
            totals[row.key].append(row)
    covered = {
        (account, day)
        for account, day in {key[:2] for key in totals}
        if any(statement.covers(account, day) for statement in facts.values())
    }
    pairs = []
    for key, rows in totals.items():
        # Only the statements that decide about the day count.
        final = [
            row
            for row in rows
            if (statement := facts.get(row.statement_id)) is not None
            and row.status in {"BOOK", SUPERSEDED}
            and (statement.is_final or key[:2] not in covered)
        ]
        if any(not facts[row.statement_id].is_provisional for row in final):
            final = [row for row in final if not facts[row.statement_id].is_provisional]
        if pair := _explained(final, details.get(key, ()), facts):
            pairs.append(pair)
    return BatchDetails(
        frozenset(row.place for rows, _ in pairs for row in rows if row.place is not None),
        frozenset(row.entry_id for rows, _ in pairs for row in rows if row.place is None),
        frozenset(row.place for _, rows in pairs for row in rows if row.place is not None),
        frozenset(row.entry_id for _, rows in pairs for row in rows if row.place is None),
    )


def _explained(
    totals: list[_Row], details: Sequence[_Row], facts: Mapping[str, StatementFacts]
) -> tuple[list[_Row], list[_Row]] | None:
    """Return the rows of one total and those of its details, if there are any."""
    if len({(row.entry_id, row.moved) for row in totals}) != 1:
        # None, or several with the same reference.
        return None
    by_entry: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    payments = [row for row in details if not (row.is_whole_entry and row.moved == totals[0].moved)]
    for row in payments:
        by_entry[row.statement_id, row.entry].append(row)
    # Payments that two messages report alike are stored once, with either of them.
    ranked = sorted(by_entry.values(), key=lambda parts: _rank(parts, facts), reverse=True)
    candidates = [*ranked, payments]
    fitting = next((parts for parts in candidates if _moved(parts) == totals[0].moved), None)
    if fitting is None:
        return None
    ids = {row.entry_id for row in fitting}
    parts = [row for row in payments if row.entry_id in ids]
    # A stored total may be superseded for another reason: only stored details that count show that
    # they replace it.
    if not any(row.place is not None or row.counts for row in totals) and not any(
        row.place is None and row.counts for row in parts
    ):
        return None
    return totals, parts


def _rank(parts: list[_Row], facts: Mapping[str, StatementFacts]) -> tuple[bool, datetime]:
    """Return a greater value for notifications than for reports of the day, and for newer ones."""
    statement = facts[parts[0].statement_id]
    return statement.format == "camt.054", statement.written


def _moved(parts: list[_Row]) -> Decimal | None:
    """Return the sum of an entry's rows; repeated rows count once."""
    moved = {row.entry_id: row.moved for row in parts}
    return total(moved.values()) if len(moved) > 1 else None


def _stored_rows(
    snapshot: Snapshot,
    days: tuple[date, date],
    statements: Iterable[str] = (),
    references: Iterable[str] = (),
) -> Iterator[_Row]:
    """Yield the stored rows of some statements, or the totals with some references."""
    where = f"{COUNTING} AND booking_date BETWEEN DATE '{days[0]}' AND DATE '{days[1]}'"
    names = ", ".join((*_COLUMNS, "raw"))
    query = f"SELECT {names} FROM {STATEMENT_ENTRIES.name} WHERE {where}"
    wanted = (
        "list_contains($statements, statement_id)"
        " OR (list_contains($refs, account_servicer_reference) AND NOT contains(position, '/'))"
    )
    bound = {"statements": sorted(statements), "refs": sorted(references)}
    yield from _rows(snapshot.sql(f"{query} AND ({wanted})", bound))


def _incoming_rows(
    staging: Staging, statements: Iterable[str] = (), references: Iterable[str] = ()
) -> Iterator[_Row]:
    """Yield the same among the incoming rows that count."""
    ids, texts = (pa.array(sorted(several), TEXT) for several in (statements, references))
    for place, rows in staging.parts():
        is_detail = pc.match_substring(rows["position"], "/")
        details = pc.is_in(rows["statement_id"], ids)
        named = pc.is_in(rows["account_servicer_reference"], texts)
        totals = pc.and_(pc.invert(is_detail), named)
        places = pc.indices_nonzero(pc.or_(details, totals))
        if len(places):
            counting = staging.run(
                f"SELECT place FROM came WHERE place >= {place} AND place < {place + rows.num_rows}"
            ).to_arrow_table()["place"]
            at = pc.add(places.cast(pa.int64()), place)
            is_counting = pc.is_in(at, counting.combine_chunks())
            taken = rows.take(places.filter(is_counting)).select([*_COLUMNS, "raw"])
            yield from _rows(taken, at.filter(is_counting).to_pylist())


def _rows(table: pa.Table, places: list[int] | None = None) -> Iterator[_Row]:
    """Yield the rows of a table that have an amount, a day and a reference of their entry."""
    for at, row in enumerate(table.to_pylist()):
        reference = row["account_servicer_reference"]
        if "/" in row["position"]:
            # The column of a detail may hold its own reference.
            matched = _REFERENCE.search(_DETAILS.split(row["raw"], maxsplit=1)[0])
            reference = (matched[1] or None) if matched else None
        if row["amount"] is None or row["booking_date"] is None or reference is None:
            continue
        sign = 1 if row["direction"] == "CRDT" else -1
        yield _Row(
            row["entry_id"],
            row["statement_id"],
            row["entry_status"],
            (row["account"], row["booking_date"], row["currency"], reference),
            row["amount"] * sign,
            row["position"].partition("/")[0],
            "/" not in row["position"],
            None if places is None else places[at],
        )
