"""The list of ramp requests, page by page; side by side where the service says how many there are.

What came is counted against what the service says there is. A list may change while it is walked:
where records are missing in the end it is walked again, and where that does not settle it either
the sync ends with an error. A record may come twice, from two pages or from two walks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from datetime import date
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.api import Reply
from treasury.api.codec import Pagination
from treasury.api.models import RampRequest
from treasury.errors import UnexpectedResponse
from treasury.extract.listed import listed_rows, record_rows
from treasury.extract.ramp import RAMP_REQUESTS
from treasury.extract.run import Run

__all__ = ["PAGE", "listed_requests", "stated_total"]

PAGE: Final = 1000
WALKS: Final = 3
TASK: Final = f"{RAMP_REQUESTS.table.name} list"


class _Page(msgspec.Struct, frozen=True):
    rows: pa.Table
    stated: Pagination

    @property
    def total(self) -> int | None:
        """Records in the whole list; None where the service's numbers do not agree."""
        said = self.stated
        if not said.page_size or said.number_of_elements is None:
            return None
        pages = -(-said.number_of_elements // said.page_size)
        return said.number_of_elements if pages == said.number_of_pages else None


def listed_requests(run: Run, since: date | None) -> Iterator[pa.Table]:
    """The rows of every page of the list, from a day on where one is given."""
    ask = _question(run, since)
    first = run.ask(ask, 1).result()
    if first.total is None:
        yield from _one_by_one(run, since)
        return
    doubt: str | None = None
    for walk in range(WALKS):
        doubt = yield from _side_by_side(run, ask, first if walk == 0 else ask(1))
        if doubt is None:
            return
    operation = f"GET {run.client.ramp.requests.route}"
    raise UnexpectedResponse(
        f"{operation}: the list does not add up: {doubt}",
        do="run it again when the service is quiet; nothing was stored",
        operation=operation,
    )


def stated_total(run: Run) -> int | None:
    """How many requests the service says there are; None where it does not."""
    stated = _ask(run, None, page=1, size=1).pagination or Pagination()
    return stated.number_of_pages if stated.page_size == 1 else None


def _question(run: Run, since: date | None) -> Callable[[int], _Page]:
    def ask(number: int) -> _Page:
        reply = _ask(run, since, page=number, size=PAGE)
        rows = listed_rows(reply.result, lambda: reply.records(RampRequest))
        return _Page(rows, reply.pagination or Pagination())

    return ask


def _ask(run: Run, since: date | None, *, page: int, size: int) -> Reply:
    asked = [("page", str(page)), ("size", str(size)), ("sortOn", "createdAt")]
    asked.append(("sortOrder", "ASC"))
    if since is not None:
        asked.append(("fromDate", since.isoformat()))
    route = run.client.ramp.requests.route
    return run.client.request("GET", route, service="ramp", params=asked)


def _one_by_one(run: Run, since: date | None) -> Iterator[pa.Table]:
    """The list of a service that does not say how long it is."""
    for page in run.client.ramp.requests.pages(size=PAGE, from_date=since):
        yield record_rows(page.items)


def _side_by_side(
    run: Run, ask: Callable[[int], _Page], first: _Page
) -> Generator[pa.Table, None, str | None]:
    """The pages of one walk, then what speaks against having met everything."""
    pages = first.stated.number_of_pages or 1
    run.progress.start(TASK, pages)
    met, page, number, shrank = [], first, 1, False
    for page in _and_then(first, run.answers(ask, range(2, pages + 1))):
        shrank = shrank or (page.total or 0) < (first.total or 0)
        met.append(page.rows["id"].combine_chunks())
        yield page.rows
        run.progress.advance(TASK)
    run.progress.finish(TASK)
    number = pages
    while page.stated.has_next_page:  # records came while the list was walked
        number += 1
        if number > (page.stated.number_of_pages or 0):
            return f"page {number - 1} says that another follows, and is the last"
        page = ask(number)
        met.append(page.rows["id"].combine_chunks())
        yield page.rows
    if shrank:
        return "it shrank while it was walked"
    came = pc.count_distinct(pa.chunked_array(met, pa.string())).as_py()
    there = page.total or first.total or 0
    return f"{came} of {there} records came" if came < there else None


def _and_then(first: _Page, others: Iterator[_Page]) -> Iterator[_Page]:
    yield first
    yield from others
