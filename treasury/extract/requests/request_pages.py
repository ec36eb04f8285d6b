"""Reads the list of ramp requests, in parallel if the service states the number of pages.

`api.paging` makes sure that the list is complete, and reads it again if it changes while it is
being read. This module converts the pages to rows. A record may come twice, from two pages or two
passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.api.codec import Pagination
from treasury.api.models import RampRequest
from treasury.api.paging import PagePart, SideBySide, walk
from treasury.extract.ramp_tables import RAMP_REQUESTS
from treasury.extract.requests.request_columns import ListedRows, listed_rows, record_rows
from treasury.extract.sync_run import SyncRun
from treasury.lake import with_hash

if TYPE_CHECKING:
    from treasury.api import Reply

PAGE: Final = 1000
_PART: Final = 8
"""Maximum number of pages that a thread fetches and parses at once; a short list is divided evenly
among the threads.
"""

_AHEAD: Final = 4
"""Maximum number of parts in progress or waiting to be processed. More would not help, because
parsing takes longer than fetching.
"""

_TASK: Final = f"{RAMP_REQUESTS.table.name} list"


def listed_requests(run: SyncRun, since: date | None) -> Iterator[ListedRows]:
    """Yield the list's rows with their hashes, page by page; optionally only from a day on."""
    ask = partial(_pages, run, since)
    first = run.answer(run.ask(ask, range(1, 2)))
    if first.stated[0].total is None:
        pages = iter(run.client.ramp.requests.pages(size=PAGE, from_date=since))
        while (page := run.answer(run.ask(next, pages, None))) is not None:
            yield _hashed(record_rows(page.items))
        return
    policy = SideBySide(
        first=first,
        ask=ask,
        answers=partial(run.answers, ahead=_AHEAD),
        repeats=pa.ChunkedArray.equals,
        distinct=lambda columns: len(
            pc.unique(
                pa.chunked_array([c for column in columns for c in column.chunks], pa.string())
            )
        ),
        size=PAGE,
        longest_part=_PART,
        shares=2 * _AHEAD,
    )
    operation = f"GET {run.client.ramp.requests.route}"
    count = 0
    for part in walk(policy.read_once, operation, run.client.limits, loss="nothing was stored"):
        if part.numbers.start == 1:
            count = part.stated[0].number_of_pages or 1
            run.progress.start(_TASK, count)
        yield part.rows
        for number in part.numbers:
            if number <= count:
                run.progress.advance(_TASK)
    run.progress.finish(_TASK)


def stated_total(run: SyncRun) -> int | None:
    """Return the total number of requests as the service reports it, or None."""
    reply = run.answer(run.ask(_ask, run, None, page=1, size=1))
    stated = reply.pagination or Pagination()
    return stated.number_of_pages if stated.page_size == 1 else None


def _hashed(rows: ListedRows) -> ListedRows:
    return ListedRows(with_hash(rows.table, RAMP_REQUESTS.table.volatile), rows.is_known)


def _pages(run: SyncRun, since: date | None, numbers: range) -> PagePart[ListedRows]:
    replies = [_ask(run, since, page=number, size=PAGE) for number in numbers]
    pages = [(reply.result, partial(reply.records, RampRequest)) for reply in replies]
    rows = _hashed(listed_rows(pages))
    stated = tuple(reply.pagination or Pagination() for reply in replies)
    return PagePart(numbers, rows, rows.table["id"], stated)


def _ask(run: SyncRun, since: date | None, *, page: int, size: int) -> Reply:
    params = [("page", str(page)), ("size", str(size)), ("sortOn", "createdAt")]
    params.append(("sortOrder", "ASC"))
    if since is not None:
        params.append(("fromDate", since.isoformat()))
    route = run.client.ramp.requests.route
    return run.client.request("GET", route, service="ramp", params=params)
