"""Payments of a batch reported by another message, which count instead of the booked total.

Many banks book a batch as one entry of the statement (camt.053) and report its payments in one or
several notifications (camt.054) with the bank's reference of the entry. The payments replace the
total if day, currency and reference are equal and their sum is exactly the total. The total stays
stored as superseded. The order of the files does not matter.
"""

# ruff: noqa: S608 - only our own names, numbers and days are put into queries

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
"""Formats that report the single payments of a batch; MT942 has one line per entry."""

_Key = tuple[str | None, date, str | None, str]
"""Key of an entry: account, day, currency and the bank's reference."""


class BatchDetails(msgspec.Struct, frozen=True):
    """Totals and their details; incoming rows by position, stored rows by id."""

    came_totals: frozenset[int] = frozenset()
    stored_totals: frozenset[str] = frozenset()
    came_details: frozenset[int] = frozenset()
    stored_details: frozenset[str] = frozenset()


class _Row(msgspec.Struct, frozen=True):
    """A row that may be a total or a detail of one; `place` is None if the row is stored."""

    entry_id: str
    statement_id: str
    status: str | None
    key: _Key
    moved: Decimal
    entry: str
    is_whole_entry: bool
    """Whether the row is a complete entry, that is a total or a single payment."""
    place: int | None = None

    @property
    def counts(self) -> bool:
        """Return whether the row counts, that is, is not superseded."""
        return self.status != SUPERSEDED


def find_batch_details(
    snapshot: Snapshot, staging: Staging, heads: Heads, days: tuple[date, date]
) -> BatchDetails:
    """Return the totals with details among the incoming rows and the stored ones of these days.

    The caller has removed incoming rows of statements that do not count.
    """
    facts = heads.counting
    reports = {key for key, statement in facts.items() if statement.format in _REPORTS}
    if not reports or len(facts) == 1:
        return BatchDetails()
    details: dict[_Key, list[_Row]] = defaultdict(list)
    for row in (*_stored_rows(snapshot, days, reports), *_incoming_rows(staging, reports)):
        details[row.key].append(row)
    # A single row with a reference cannot be a total with details.
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
        # A newer version of a statement replaces its stored rows, so only the incoming ones count.
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
        # Use only statements that have every movement of the day.
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
    """Return the rows of one total and of its details; None if the details do not replace it."""
    if len({(row.entry_id, row.moved) for row in totals}) != 1:
        # There is no total, or several have the same reference.
        return None
    by_entry: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    payments = [row for row in details if not (row.is_whole_entry and row.moved == totals[0].moved)]
    for row in payments:
        by_entry[row.statement_id, row.entry].append(row)
    # A payment that two messages report equally is stored once, from either message.
    ranked = sorted(by_entry.values(), key=lambda parts: _rank(parts, facts), reverse=True)
    candidates = [*ranked, payments]
    fitting = next((parts for parts in candidates if _moved(parts) == totals[0].moved), None)
    if fitting is None:
        return None
    ids = {row.entry_id for row in fitting}
    parts = [row for row in payments if row.entry_id in ids]
    # If every total is stored and superseded, and no stored detail counts, the total was superseded
    # for another reason, not by these details.
    if not any(row.place is not None or row.counts for row in totals) and not any(
        row.place is None and row.counts for row in parts
    ):
        return None
    return totals, parts


def _rank(parts: list[_Row], facts: Mapping[str, StatementFacts]) -> tuple[bool, datetime]:
    """Return a sort key: notifications rank above reports, newer messages above older ones."""
    statement = facts[parts[0].statement_id]
    return statement.format == "camt.054", statement.written


def _moved(parts: list[_Row]) -> Decimal | None:
    """Return the sum of an entry's rows without duplicates; None if only one row remains."""
    moved = {row.entry_id: row.moved for row in parts}
    return total(moved.values()) if len(moved) > 1 else None


def _stored_rows(
    snapshot: Snapshot,
    days: tuple[date, date],
    statements: Iterable[str] = (),
    references: Iterable[str] = (),
) -> Iterator[_Row]:
    """Yield the stored rows of these statements, and totals with one of these references."""
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
    """Yield the incoming rows that count, chosen like the stored ones."""
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
    """Yield the rows of a table that have an amount, a day and the entry's reference."""
    for at, row in enumerate(table.to_pylist()):
        reference = row["account_servicer_reference"]
        if "/" in row["position"]:
            # For a detail this column may hold the detail's own reference.
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
