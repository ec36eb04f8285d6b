"""The list of ramp requests, page by page; side by side where the service says how many there are.

What came is counted against what the service says there is. A list may change while it is walked:
where records are missing in the end it is walked again, and where that does not settle it either
the sync ends with an error. A record may come twice, from two pages or from two walks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from datetime import date
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.api.codec import Pagination
from treasury.api.models import RampRequest
from treasury.api.paging import endless, most_pages
from treasury.errors import UnexpectedResponse
from treasury.extract.ramp_tables import RAMP_REQUESTS
from treasury.extract.requests.request_columns import listed_rows, record_rows
from treasury.extract.sync_run import SyncRun
from treasury.lake import with_hash

if TYPE_CHECKING:
    from treasury.api import Reply

__all__ = ["PAGE", "listed_requests", "stated_total"]

PAGE: Final = 1000
PART: Final = 8
"""Pages of a long list that a thread asks for one after the other and reads at once; of a short one
each thread has its share."""

AHEAD: Final = 4
"""Such parts under way, or read and not yet looked at. With more the threads only wait for each
other: reading takes longer than asking."""

WALKS: Final = 3
TASK: Final = f"{RAMP_REQUESTS.table.name} list"


class _Part(msgspec.Struct, frozen=True):
    """Some pages of the list, one after the other: their rows, hashed, and what each page says."""

    rows: pa.Table
    stated: tuple[Pagination, ...]


def listed_requests(run: SyncRun, since: date | None) -> Iterator[pa.Table]:
    """The rows of every page of the list, from a day on where one is given."""
    ask = _question(run, since)
    first = run.ask(ask, range(1, 2)).result()
    if _total(first.stated[0]) is None:
        yield from _one_by_one(run, since)
        return
    doubt: str | None = None
    for walk in range(WALKS):
        doubt = yield from _side_by_side(run, ask, first if walk == 0 else ask(range(1, 2)))
        if doubt is None:
            return
    operation = f"GET {run.client.ramp.requests.route}"
    raise UnexpectedResponse(
        f"{operation}: the list does not add up: {doubt}",
        do="run it again when the service is quiet; nothing was stored",
        operation=operation,
    )


def stated_total(run: SyncRun) -> int | None:
    """How many requests the service says there are; None where it does not."""
    stated = _ask(run, None, page=1, size=1).pagination or Pagination()
    return stated.number_of_pages if stated.page_size == 1 else None


def _total(stated: Pagination) -> int | None:
    """Records in the whole list; None where the service's numbers do not agree."""
    if not stated.page_size or stated.number_of_elements is None:
        return None
    pages = -(-stated.number_of_elements // stated.page_size)
    return stated.number_of_elements if pages == stated.number_of_pages else None


def _question(run: SyncRun, since: date | None) -> Callable[[range], _Part]:
    def ask(numbers: range) -> _Part:
        replies = [_ask(run, since, page=number, size=PAGE) for number in numbers]
        rows = listed_rows(
            [(reply.result, partial(reply.records, RampRequest)) for reply in replies]
        )
        stated = tuple(reply.pagination or Pagination() for reply in replies)
        return _Part(with_hash(rows, RAMP_REQUESTS.table.volatile), stated)

    return ask


def _ask(run: SyncRun, since: date | None, *, page: int, size: int) -> Reply:
    params = [("page", str(page)), ("size", str(size)), ("sortOn", "createdAt")]
    params.append(("sortOrder", "ASC"))
    if since is not None:
        params.append(("fromDate", since.isoformat()))
    route = run.client.ramp.requests.route
    return run.client.request("GET", route, service="ramp", params=params)


def _one_by_one(run: SyncRun, since: date | None) -> Iterator[pa.Table]:
    """The list of a service that does not say how long it is."""
    for page in run.client.ramp.requests.pages(size=PAGE, from_date=since):
        yield with_hash(record_rows(page.items), RAMP_REQUESTS.table.volatile)


def _side_by_side(
    run: SyncRun, ask: Callable[[range], _Part], first: _Part
) -> Generator[pa.Table, None, str | None]:
    """The pages of one walk, then what speaks against having met everything."""
    stated = first.stated[0]
    operation = f"GET {run.client.ramp.requests.route}"
    most = most_pages(stated, PAGE, run.client.limits, operation)
    total, pages = _total(stated) or 0, stated.number_of_pages or 1
    run.progress.start(TASK, pages)
    id_columns: list[pa.ChunkedArray] = []
    shrank = False
    for part in chain([first], run.answers(ask, _parts(2, pages), ahead=AHEAD)):
        if id_columns and part.rows["id"].equals(id_columns[-1]):
            return "its pages repeat each other"
        id_columns.append(part.rows["id"])
        yield part.rows
        for stated in part.stated:
            shrank = shrank or (_total(stated) or 0) < total
            run.progress.advance(TASK)
    run.progress.finish(TASK)
    number = pages
    while stated.has_next_page:  # records came while the list was walked
        number += 1
        if most is not None and number > most:
            raise endless(operation, f"page {number:,} came where {pages:,} were said to be")
        if number > (stated.number_of_pages or 0):
            return f"page {number - 1} says that another follows, and is the last"
        part = ask(range(number, number + 1))
        stated = part.stated[0]
        id_columns.append(part.rows["id"])
        yield part.rows
    if shrank:
        return "it shrank while it was walked"
    ids = pa.chunked_array([chunk for column in id_columns for chunk in column.chunks], pa.string())
    received, expected = len(pc.unique(ids)), _total(stated) or total
    return f"{received} of {expected} records came" if received < expected else None


def _parts(first: int, last: int) -> Iterator[range]:
    """The numbers of pages, some at a time."""
    size = max(min(PART, last // (2 * AHEAD)), 1)
    for start in range(first, last + 1, size):
        yield range(start, min(start + size, last + 1))
