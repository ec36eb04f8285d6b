"""Reads a list page by page, and raises an error if records may be missing.

The service's `hasNextPage` decides whether there is another page. If the service does not state it,
a page with fewer records than requested is the last. A list may change while it is being read: if a
page repeats, or the records do not add up to the stated total, the list is read from the beginning.
If records may still be missing after three attempts, or the list does not end, UnexpectedResponse
is raised.

There are two ways to read a list. `PagedRecords` reads one page after the other and yields each
record once. `SideBySide` reads several pages in parallel from a list with a stated length, and may
yield a record twice.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from treasury.api.codec import Pagination, Record
from treasury.core.errors import UnexpectedResponse

if TYPE_CHECKING:
    from treasury.api.exchange.transport import CallLimits

T = TypeVar("T")
P = TypeVar("P")
_WALKS = 3


class ListPage(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list. Iterate over its records, or call `next()` for the following page.

    `items` are the records, `number` counts pages from 1, and `size` is the requested page size.
    """

    items: tuple[Record[T], ...]
    number: int
    size: int
    pagination: Pagination | None
    fetch: Callable[[int], ListPage[T]]
    received: int | None = None
    """Number of records that the service sent, if the client filtered some out of `items`."""

    def __iter__(self) -> Iterator[Record[T]]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def has_next(self) -> bool:
        """True if there is a page after this one."""
        stated = self.pagination or Pagination()
        if stated.has_next_page is not None:
            return stated.has_next_page
        received = len(self.items) if self.received is None else self.received
        return received == (stated.page_size or self.size)

    @property
    def total(self) -> int | None:
        """Number of records in the whole list, if the service states it consistently."""
        return None if self.pagination is None else self.pagination.total

    def next(self) -> ListPage[T] | None:
        """Return the following page; None after the last one.

        Returns
        -------
        ListPage or None
            The page, with the same size and filters.

        Raises
        ------
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> client.ramp.requests.list(size=2).next().number
        2
        """
        return self.fetch(self.number + 1) if self.has_next else None


def walk(
    read_once: Callable[[str, CallLimits], Generator[P, None, str | None]],
    operation: str,
    limits: CallLimits,
    *,
    loss: str = "the records so far may be incomplete",
) -> Iterator[P]:
    """Yield the pages of a list; read the list up to three times while records may be missing.

    `read_once` yields every page, then returns the reason why records may be missing, or None.
    Raise UnexpectedResponse if records may still be missing after the last attempt, or if the list
    does not end. `loss` tells the user what happened to the records read so far.
    """
    doubt: str | None = None
    for _ in range(_WALKS):
        doubt = yield from read_once(operation, limits)
        if doubt is None:
            return
    raise UnexpectedResponse(
        f"{operation}: the list does not add up: {doubt}",
        do=f"run it again when the service is quiet; {loss}",
        operation=operation,
    )


class PagedRecords(msgspec.Struct, Generic[T]):
    """Reads one page after the other; skips records whose key was on an earlier page."""

    first: Callable[[], ListPage[T]]
    key: Callable[[T], Hashable]
    yielded: set[Hashable] = msgspec.field(default_factory=set)

    def read_once(
        self, operation: str, limits: CallLimits
    ) -> Generator[ListPage[T], None, str | None]:
        """Yield the pages; return the reason why records may be missing, or None."""
        current = _ListState(operation, limits)
        page: ListPage[T] | None = self.first()
        while page is not None:
            current.require_end(page)
            keys = [self.key(record.value) for record in page.items]
            fresh = []
            for record, key in zip(page.items, keys, strict=True):
                if key not in self.yielded:
                    self.yielded.add(key)
                    fresh.append(record)
            received = len(page.items)
            yield msgspec.structs.replace(page, items=tuple(fresh), received=received)
            page = page.next() if current.meet(page, keys) else None
        if current.doubt is None and current.total is not None:
            return _missing(len(current.keys), current.total)
        return current.doubt


class _ListState(msgspec.Struct):
    """The state of one pass over a list.

    `keys` holds the keys of the records read so far; `doubt` is the reason why records may be
    missing.
    """

    operation: str
    limits: CallLimits
    most: int | None = None
    keys: set[Hashable] = msgspec.field(default_factory=set)
    total: int | None = None
    doubt: str | None = None

    def meet(self, page: ListPage[T], keys: list[Hashable]) -> bool:
        """Register a page; return True if the following page should be read."""
        if page.total is not None:
            if self.total is not None and page.total < self.total:
                self.doubt = f"it shrank from {self.total} to {page.total} records"
            self.total = page.total
        before = len(self.keys)
        self.keys.update(keys)
        if page.number > 1 and len(self.keys) == before and page.has_next:
            self.doubt = f"page {page.number} has only records of earlier pages"
            return False
        if page.number > 1 and keys and len(self.keys) == before and self.total is None:
            self.doubt = f"page {page.number} repeats an earlier one"
        return page.has_next

    def require_end(self, page: ListPage[T]) -> None:
        """Raise UnexpectedResponse if the list is longer than stated or allowed."""
        if page.number == 1:
            self.most = _most_pages(page.pagination, page.size, self.limits, self.operation)
        if len(self.keys) > self.limits.records:
            most = f"{self.limits.records:,} records are read"
            raise _endless(self.operation, f"{len(self.keys):,} records came; at most {most}")
        if self.most is not None:
            _require_stated(page.number, self.most, self.limits, self.operation)
        elif page.number > self.limits.pages or len(self.keys) > self.limits.unstated_records:
            records = f"{len(self.keys):,} records came on {page.number:,} pages"
            raise _endless(self.operation, f"{records}, and their total number is not stated")


class PagePart(msgspec.Struct, Generic[T], frozen=True):
    """Consecutive pages of a list: their rows and keys, and the page information of each page."""

    numbers: range
    rows: T
    keys: Any
    stated: tuple[Pagination, ...]


class SideBySide(msgspec.Struct, Generic[T], kw_only=True):
    """Reads several pages in parallel from a list with a stated length; records may come twice.

    The keys of a part are a column of any type. `repeats` returns whether two columns are equal,
    and `distinct` the number of different keys in several columns.
    """

    first: PagePart[T] | None
    """The first page, reused by the first pass."""
    ask: Callable[[range], PagePart[T]]
    answers: Callable[[Callable[[range], PagePart[T]], Iterable[range]], Iterator[PagePart[T]]]
    """Yields parts for ranges of page numbers in order, and prefetches some."""
    repeats: Callable[[Any, Any], bool]
    distinct: Callable[[Sequence[Any]], int]
    size: int
    longest_part: int
    """Maximum number of pages per part; a short list is divided into `shares` parts instead."""
    shares: int

    def read_once(
        self, operation: str, limits: CallLimits
    ) -> Generator[PagePart[T], None, str | None]:
        """Yield the parts; return the reason why records may be missing, or None."""
        first, self.first = self.first or self.ask(range(1, 2)), None
        stated = first.stated[0]
        most = _most_pages(stated, self.size, limits, operation)
        total, pages = stated.total or 0, stated.number_of_pages or 1
        columns: list[Any] = []
        shrank = False
        for part in chain([first], self.answers(self.ask, self._parts(pages))):
            if columns and self.repeats(part.keys, columns[-1]):
                return "its pages repeat each other"
            columns.append(part.keys)
            yield part
            stated = part.stated[-1]
            shrank = shrank or any((page.total or 0) < total for page in part.stated)
        number = pages
        # The list grew while it was being read.
        while stated.has_next_page:
            number += 1
            if most is not None:
                _require_stated(number, most, limits, operation)
            if number > (stated.number_of_pages or 0):
                return f"page {number - 1} states that another page follows, but is the last"
            part = self.ask(range(number, number + 1))
            stated = part.stated[0]
            columns.append(part.keys)
            yield part
        if shrank:
            return "it shrank while it was being read"
        return _missing(self.distinct(columns), stated.total or total)

    def _parts(self, pages: int) -> Iterator[range]:
        size = max(min(self.longest_part, pages // self.shares), 1)
        for start in range(2, pages + 1, size):
            yield range(start, min(start + size, pages + 1))


def _missing(received: int, total: int) -> str | None:
    return f"{received} of {total} records came" if received < total else None


def _endless(operation: str, why: str) -> UnexpectedResponse:
    return UnexpectedResponse(
        f"{operation}: the list does not end: {why}",
        do="report it to the provider; the records so far may be incomplete",
        operation=operation,
    )


def _most_pages(
    stated: Pagination | None, size: int, limits: CallLimits, operation: str
) -> int | None:
    """Return the maximum number of pages, from the first page; None if that states none.

    Raise UnexpectedResponse if the stated number exceeds the limits for a list.
    """
    stated = stated or Pagination()
    pages = stated.number_of_pages
    if pages is None or (stated.has_next_page is not None and stated.has_next_page != (pages > 1)):
        return None
    if pages > limits.pages or pages * (stated.page_size or size) > limits.records:
        most = f"{limits.pages:,} pages or {limits.records:,} records"
        raise _endless(operation, f"the service states {pages:,} pages; at most {most} are read")
    return pages + limits.extra_pages


def _require_stated(number: int, most: int, limits: CallLimits, operation: str) -> None:
    """Raise UnexpectedResponse for a page beyond the stated number plus the allowed growth."""
    if number > most:
        stated = most - limits.extra_pages
        raise _endless(
            operation, f"the service announced {stated:,} pages and sent page {number:,}"
        )
