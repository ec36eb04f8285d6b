"""Walking a list page by page so that nothing comes twice and nothing is lost in silence.

The service's own word, `hasNextPage`, decides whether there is more; without it a short page ends
the list. Records are told apart by their key. A list may change while it is walked: when a page
repeats, or the records do not add up to the stated total, the walk starts over and yields only what
it has not yielded yet. When that does not settle it either, loss cannot be excluded and the walk
ends with an error. So it does where the pages have no end, whatever the service says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from treasury.api.codec import Pagination, Record
from treasury.errors import UnexpectedResponse

if TYPE_CHECKING:
    from treasury.api.exchange.transport import CallLimits

__all__ = ["ListPage", "endless", "most_pages", "walk"]

T = TypeVar("T")
WALKS = 3


class ListPage(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One page of a list; iterating over it gives its records, `next()` the page after it."""

    items: tuple[Record[T], ...]
    number: int
    size: int
    pagination: Pagination | None
    fetch: Callable[[int], ListPage[T]]
    received: int | None = None
    """Records on the service's page, where a filter of ours left some out of `items`."""

    def __iter__(self) -> Iterator[Record[T]]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def has_next(self) -> bool:
        """Whether there is a page after this one."""
        stated = self.pagination or Pagination()
        if stated.has_next_page is not None:
            return stated.has_next_page
        received = len(self.items) if self.received is None else self.received
        return received == (stated.page_size or self.size)

    @property
    def total(self) -> int | None:
        """Records in the whole list, where the service states it and its numbers agree.

        `numberOfElements` is documented as the total, but some services put the page's count there;
        then it does not fit `numberOfPages`.
        """
        stated = self.pagination
        if stated is None or stated.number_of_elements is None or not stated.page_size:
            return None
        pages = -(-stated.number_of_elements // stated.page_size)
        return stated.number_of_elements if pages == stated.number_of_pages else None

    def next(self) -> ListPage[T] | None:
        """The page after this one; None after the last."""
        return self.fetch(self.number + 1) if self.has_next else None


def endless(operation: str, why: str) -> UnexpectedResponse:
    """The error of a list whose pages are not walked to an end."""
    return UnexpectedResponse(
        f"{operation}: the list does not end: {why}",
        do="report it to the provider; what came so far may be incomplete",
        operation=operation,
    )


def most_pages(
    stated: Pagination | None, size: int, limits: CallLimits, operation: str
) -> int | None:
    """The pages that a list may have by what its first one states; None where that says nothing.

    UnexpectedResponse where they are more than any list may have.
    """
    stated = stated or Pagination()
    pages = stated.number_of_pages
    if pages is None or (stated.has_next_page is not None and stated.has_next_page != (pages > 1)):
        return None
    if pages > limits.pages or pages * (stated.page_size or size) > limits.records:
        most = f"{limits.pages:,} pages or {limits.records:,} records"
        raise endless(operation, f"it is said to have {pages:,} pages; at most {most} are read")
    return pages + limits.extra_pages


class _Walk:
    """What one walk has met, and what speaks against having met everything."""

    def __init__(self, operation: str, limits: CallLimits) -> None:
        self._operation = operation
        self._limits = limits
        self._most: int | None = None
        self.keys: set[Hashable] = set()
        self.total: int | None = None
        self.doubt: str | None = None

    def meet(self, page: ListPage[T], keys: list[Hashable]) -> bool:
        """Take note of a page; False where going on is pointless."""
        if page.total is not None:
            if self.total is not None and page.total < self.total:
                self.doubt = f"it shrank from {self.total} to {page.total} records"
            self.total = page.total
        before = len(self.keys)
        self.keys.update(keys)
        if page.number > 1 and len(self.keys) == before and page.has_next:
            self.doubt = f"page {page.number} brought nothing new"
            return False
        if page.number > 1 and keys and len(self.keys) == before and self.total is None:
            self.doubt = f"page {page.number} repeats an earlier one"
        return page.has_next

    def require_end(self, page: ListPage[T]) -> None:
        """Refuse to go on where the pages outnumber what the first one stated."""
        if page.number == 1:
            self._most = most_pages(page.pagination, page.size, self._limits, self._operation)
        if self._most is None:
            most = self._limits.unstated_records
            if page.number > self._limits.pages or len(self.keys) > most:
                many = f"{len(self.keys):,} records came on {page.number:,} pages"
                raise endless(self._operation, f"{many}, and nothing says how many there are")
        elif page.number > self._most:
            stated = self._most - self._limits.extra_pages
            why = f"page {page.number:,} came where {stated:,} were said to be"
            raise endless(self._operation, why)

    def complete(self) -> bool:
        """Whether everything that the list holds was met."""
        if self.doubt is None and self.total is not None and len(self.keys) < self.total:
            self.doubt = f"{len(self.keys)} of {self.total} records came"
        return self.doubt is None


def walk(
    first: Callable[[], ListPage[T]],
    key: Callable[[T], Hashable],
    operation: str,
    limits: CallLimits,
) -> Iterator[ListPage[T]]:
    """The pages of a list, each with only the records that no earlier page brought.

    UnexpectedResponse after the last page where records may be missing, and at the page where a
    list turns out to have no end.
    """
    yielded: set[Hashable] = set()
    doubt: str | None = None
    for _ in range(WALKS):
        current = _Walk(operation, limits)
        page: ListPage[T] | None = first()
        while page is not None:
            current.require_end(page)
            keys = [key(record.value) for record in page.items]
            yield _only_new(page, keys, yielded)
            page = page.next() if current.meet(page, keys) else None
        if current.complete():
            return
        doubt = current.doubt
    raise UnexpectedResponse(
        f"{operation}: the list does not add up: {doubt}",
        do="run it again when the service is quiet; what came so far may be incomplete",
        operation=operation,
    )


def _only_new(page: ListPage[T], keys: list[Hashable], yielded: set[Hashable]) -> ListPage[T]:
    fresh = []
    for record, name in zip(page.items, keys, strict=True):
        if name not in yielded:
            yielded.add(name)
            fresh.append(record)
    return msgspec.structs.replace(page, items=tuple(fresh), received=len(page.items))
