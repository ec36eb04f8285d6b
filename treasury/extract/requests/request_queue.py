"""The queue of ramp requests to fetch in detail, in order of urgency.

Open requests come first, then requests of this month and changed ones, then all others from the
newest to the oldest. All functions work on columns, because a first sync may queue a million
requests.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.tables.schemas import grouped_schema

OPEN, _RECENT, BACKLOG = range(3)
"""Ranks: open; from this month or changed; from an earlier month, and its detail is not stored."""

QUEUE: Final = grouped_schema(
    (pa.string(), "id", "status"),
    (pa.timestamp("us", tz="UTC"), "created_at"),
    (pa.string(), "created_by"),
    (pa.int8(), "rank"),
    (pa.bool_(), "listed", "has_detail"),
)
"""One row per request: its rank, whether it was listed, and whether its detail is stored."""


class StoredRequests:
    """The stored requests with which a sync compares the list, as columns."""

    COLUMNS: Final = ("id", "status", "created_at", "is_open", "has_detail")

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows.combine_chunks()
        settled = pc.and_(self.rows["has_detail"], pc.invert(self.rows["is_open"]))
        self._settled = self.rows.filter(settled)
        self._detailed = self.rows.filter(self.rows["has_detail"])["id"]

    def settled_as(self, listed: pa.Table) -> pa.ChunkedArray:
        """Return, for each listed row, whether its stored detail has the same, final status."""
        place = pc.index_in(listed["id"], value_set=self._settled["id"])
        is_same = pc.equal(self._settled["status"].take(place), listed["status"])
        return pc.fill_null(is_same, False)

    def has_detail(self, listed: pa.Table) -> pa.ChunkedArray:
        """Return, for each listed row, whether a detail is stored, even if it is outdated."""
        return pc.is_in(listed["id"], value_set=self._detailed)

    def count_new(self, ids: pa.ChunkedArray) -> int:
        """Count the ids that are not stored."""
        is_stored = pc.is_in(ids, value_set=self.rows["id"])
        return len(ids) - int(pc.sum(is_stored).as_py() or 0)

    def unlisted(self, listed: pa.ChunkedArray, since: datetime | None) -> pa.Table:
        """Return stored requests that must be fetched although they were not listed.

        They are open, lack a detail, or may have vanished. `since` is the time from which requests
        were listed; None means that all were listed.
        """
        if not self.rows.num_rows:
            return self.rows
        missing = self.rows.filter(pc.invert(pc.is_in(self.rows["id"], value_set=listed)))
        if since is None:
            return missing
        unsettled = pc.or_(missing["is_open"], pc.invert(missing["has_detail"]))
        due = pc.fill_null(pc.greater_equal(missing["created_at"], pa.scalar(since)), True)
        return missing.filter(pc.or_(unsettled, due))


def queued(listed: pa.Table, stored: StoredRequests, *, month: datetime) -> pa.Table:
    """Convert listed rows to a queue; requests created since `month` are recent."""
    changed = stored.has_detail(listed)
    recent = pc.fill_null(pc.greater_equal(listed["created_at"], pa.scalar(month)), True)
    soon = pc.or_(recent, changed)
    return _queue(listed, soon, changed, listed=True, by=listed["created_by"])


def unlisted(rows: pa.Table) -> pa.Table:
    """Convert stored rows that were not listed to a queue."""
    has_detail, by = rows["has_detail"], pa.nulls(rows.num_rows, pa.string())
    return _queue(rows, has_detail, has_detail, listed=False, by=by)


def _queue(
    rows: pa.Table, soon: pa.Array, has_detail: pa.Array, *, listed: bool, by: pa.Array
) -> pa.Table:
    settled_rank = pc.if_else(soon, pa.scalar(_RECENT, pa.int8()), pa.scalar(BACKLOG, pa.int8()))
    rank = pc.if_else(rows["is_open"], pa.scalar(OPEN, pa.int8()), settled_rank)
    was = pa.array([listed] * rows.num_rows, pa.bool_())
    columns = [rows["id"], rows["status"], rows["created_at"], by, rank, was, has_detail]
    return pa.table([*columns], schema=QUEUE).combine_chunks()


def ranked(queue: pa.Table, *, backlog: int | None) -> pa.Table:
    """Sort the queue by urgency; keep at most `backlog` requests of the last rank."""
    places = pc.sort_indices(queue, [("rank", "ascending"), ("created_at", "descending")])
    ordered = queue.take(places)
    if backlog is None:
        return ordered
    urgent = int(pc.sum(pc.less(ordered["rank"], BACKLOG)).as_py() or 0)
    return ordered.slice(0, urgent + backlog)
