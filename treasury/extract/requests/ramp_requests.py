"""Syncs ramp requests: reads the list, and the detail of each request that may have changed.

A list item lacks version, fee, net amount and events, so each new, open or changed request is
fetched individually. A later sync lists only requests created since the day before the newest
stored one; the extra day is needed because the time zone of the service's dates is not documented.
It also compares counts: if the service has more or fewer requests than are stored, the whole list
is read. Requests that are open or lack their detail are fetched at every sync; a settled request
with a detail only in a full comparison, or if the list states another status. A request that is in
no list, and that the service does not find by id, is marked as vanished.
"""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.extract.ramp_tables import RAMP_REQUESTS
from treasury.extract.record_rows import first_of_each
from treasury.extract.requests import request_queue
from treasury.extract.requests.request_columns import ListedRows
from treasury.extract.requests.request_details import Details
from treasury.extract.requests.request_pages import listed_requests, stated_total
from treasury.extract.requests.request_queue import StoredRequests
from treasury.extract.sync_run import SyncRun
from treasury.extract.sync_staging import Spool, Staged
from treasury.lake import HASH

_OVERLAP: Final = timedelta(days=1)
_BATCH: Final = 40_000
"""Number of listed rows stored at once, about 30 MB; several copies are in memory at that moment.
"""


def sync_requests(run: SyncRun, staged: Staged) -> None:
    """List the requests, fetch details, and store requests and events."""
    since = _since(run)
    before = None if since is None or run.scope.since else stated_total(run)
    with closing(_Listing(run, since)) as listing:
        listing.walk()
        missed = None if before is None else listing.misses(before, stated_total(run))
        if missed is None:
            _store(run, staged, listing)
    if missed is not None:
        run.notice(f"ramp_requests: {missed}: the whole list was read")
        with closing(_Listing(run, None)) as listing:
            listing.walk()
            _store(run, staged, listing)


def _store(run: SyncRun, staged: Staged, listing: _Listing) -> None:
    if run.scope.full:
        staged.clear()
    details = Details(run, staged)
    details.read(listing.queue())
    run.fetched.vanish(RAMP_REQUESTS.table, details.vanished)
    if details.refused:
        run.skip(RAMP_REQUESTS, details.refused[0])
        first = details.refused[0].what
        run.notice(f"ramp_requests: {len(details.refused)} could not be read in detail ({first})")
    listing.store_without(details.ids)


class _Listing:
    """Reads the list once, and collects the requests that differ from the stored ones."""

    def __init__(self, run: SyncRun, since: date | None) -> None:
        self._run = run
        self._day = since
        self._since = None if since is None else datetime.combine(since, time(), UTC)
        where = "vanished_at IS NULL"
        if self._since is not None:
            from_then = f"created_at >= TIMESTAMPTZ '{self._since.isoformat()}'"
            where += f" AND (is_open OR NOT has_detail OR created_at IS NULL OR {from_then})"
        stored = run.fetched.read(RAMP_REQUESTS.table, StoredRequests.COLUMNS, where)
        self._stored = StoredRequests(stored)
        self._spool = Spool(run.staging, RAMP_REQUESTS.table.row_schema.append(HASH))
        self._queues = [request_queue.QUEUE.empty_table()]
        self._listed = [pa.array([], pa.string())]
        self._waiting = 0
        month = run.fetched.now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        self._month = month - _OVERLAP

    def walk(self) -> None:
        """Read every page of the list."""
        # Storing large batches is faster than storing single pages.
        batch: list[ListedRows] = []
        for page in listed_requests(self._run, self._day):
            batch.append(page)
            if sum(page.table.num_rows for page in batch) >= _BATCH:
                self._add(batch)
                batch = []
        if batch:
            self._add(batch)

    def _add(self, pages: list[ListedRows]) -> None:
        rows = pa.concat_tables([page.table for page in pages])
        rows = first_of_each(rows, RAMP_REQUESTS.table.key)
        # A service may ignore the date filter.
        if self._since is not None:
            is_due = pc.greater_equal(rows["created_at"], pa.scalar(self._since))
            rows = _filtered(rows, pc.fill_null(is_due, True))
        self._listed.append(rows["id"].combine_chunks())
        if not self._run.scope.full:
            rows = _filtered(rows, pc.invert(self._stored.settled_as(rows)))
        if not all(page.is_known for page in pages):
            self._run.fields.look(RAMP_REQUESTS, rows["raw"])
        queue = request_queue.queued(rows, self._stored, month=self._month)
        # A list item must not replace a stored detail.
        plain = pc.invert(queue["has_detail"])
        if self._run.scope.details == 0 and not self._run.scope.full:
            direct = pc.and_(pc.equal(queue["rank"], request_queue.BACKLOG), plain)
            self._store(_filtered(rows, direct))
            keep = pc.invert(direct)
            rows, queue, plain = rows.filter(keep), queue.filter(keep), plain.filter(keep)
        self._queues.append(queue)
        self._spool.add(rows.filter(plain))

    def misses(self, before: int, after: int | None) -> str | None:
        """Return how the service's count differs from the known requests; None if it does not."""
        stored = self._run.fetched.read(
            RAMP_REQUESTS.table, ["is_open"], "vanished_at IS NULL"
        ).num_rows
        known_count = stored + self._stored.count_new(pc.unique(self._all_listed()))
        if before <= known_count <= max(before, before if after is None else after):
            return None
        return f"the service counts {before:,} where {known_count:,} are known"

    def close(self) -> None:
        """Release the temporary storage of listed rows."""
        self._spool.close()

    def queue(self) -> pa.Table:
        """Return the requests to fetch in detail, in order."""
        due = None if self._since is None else self._since + _OVERLAP
        missing = request_queue.unlisted(self._stored.unlisted(self._all_listed(), due))
        queue = first_of_each(pa.concat_tables([*self._queues, missing]), ("id",))
        self._queues = []
        limit = None if self._run.scope.full else self._run.scope.details
        chosen = request_queue.ranked(queue, backlog=limit)
        self._waiting = queue.num_rows - chosen.num_rows
        return chosen

    def store_without(self, detailed: pa.Array) -> None:
        """Store the listed rows for which no detail was fetched."""
        for rows in self._spool:
            self._store(rows.filter(pc.invert(pc.is_in(rows["id"], value_set=detailed))))
        if self._waiting:
            self._run.notice(
                f"ramp_requests: {self._waiting:,} older requests are known only from the list; "
                "the next syncs fetch their details"
            )

    def _store(self, rows: pa.Table) -> None:
        if rows.num_rows:
            # The fields of these rows were already checked.
            self._run.fetched.upsert(RAMP_REQUESTS.table, rows)

    def _all_listed(self) -> pa.Array:
        return pa.concat_arrays(self._listed)


def _since(run: SyncRun) -> date | None:
    """Return the day from which to list requests; None to list all."""
    since = run.scope.since
    newest = run.fetched.read(
        RAMP_REQUESTS.table,
        ["created_at"],
        "created_at = (SELECT max(created_at) FROM ramp_requests)",
    )
    if run.scope.full or not newest.num_rows:
        return since
    watermark: date = (newest["created_at"][0].as_py() - _OVERLAP).date()
    return watermark if since is None else min(since, watermark)


def _filtered(rows: pa.Table, mask: pa.ChunkedArray) -> pa.Table:
    """Return the rows selected by the mask, without copying if all are selected."""
    return rows if pc.all(mask, min_count=0).as_py() else rows.filter(mask)
