"""What can be asked of a collection: declared once for each, done in one place.

A collection is its routes, its model and its filters. `list` gives a page, `iterate` every record,
`pages` every page, `get` one record. Parents come first: `wallets.iterate(account_id)`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from datetime import date
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from treasury.api.codec import Record, decode, decode_all
from treasury.api.paging import Page, walk
from treasury.errors import InputError

if TYPE_CHECKING:
    from treasury.api.client import Client

__all__ = ["Collection", "Order", "Service", "Single", "Table"]

T = TypeVar("T")
Service = Literal["finance", "ramp"]
Order = Literal["ASC", "DESC"]
Filter = str | int | bool | date | None
Params = tuple[tuple[str, str], ...]

PAGE_SIZE = 100
"""The documented default, sent all the same."""


def by_id(value: object) -> Hashable:
    """The `id` of a record."""
    key: Hashable = getattr(value, "id", None)
    return key


class Endpoint(Generic[T]):
    """A route of a service and the model of what it answers with."""

    def __init__(self, client: Client, service: Service, route: str, model: type[T]) -> None:
        self._client = client
        self._service = service
        self.route = route
        self._model = model

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.route}>"

    @property
    def _listing(self) -> str:
        return f"GET {self.route}"


class Single(Endpoint[T]):
    """A record that there is one of."""

    def get(self) -> Record[T]:
        """The record."""
        reply = self._client.request("GET", self.route, service=self._service)
        return decode(reply.result, self._model, self._listing)


class Table(Endpoint[T]):
    """A list without pages: reference data, roles, users."""

    def all(self, *parents: str) -> list[Record[T]]:
        """Every record of the list, in the service's order."""
        reply = self._client.request("GET", self.route, *parents, service=self._service)
        if reply.pagination is not None and reply.pagination.has_next_page:
            paged = Collection(self._client, self._service, self.route, self._model, key=_by_value)
            return list(paged.iterate(*parents))
        return decode_all(reply.result, self._model, self._listing)


def _by_value(value: object) -> Hashable:
    return repr(value)


class Collection(Endpoint[T]):
    """A list with pages, and its records one by one where `one` is given."""

    def __init__(
        self,
        client: Client,
        service: Service,
        route: str,
        model: type[T],
        *,
        one: str = "",
        filters: tuple[str, ...] = (),
        key: Callable[[T], Hashable] = by_id,
    ) -> None:
        super().__init__(client, service, route, model)
        self._one = one
        self._filters = filters
        self._key = key

    def list(
        self,
        *parents: str,
        page: int = 1,
        size: int = PAGE_SIZE,
        sort_on: str = "createdAt",
        sort_order: Order = "ASC",
        **filters: Filter,
    ) -> Page[T]:
        """One page. Filters are named as the service names them, in snake_case."""
        asked = self._params(size, sort_on, sort_order, filters)
        return self._page(parents, page, size, asked)

    def pages(
        self,
        *parents: str,
        size: int = PAGE_SIZE,
        sort_on: str = "createdAt",
        sort_order: Order = "ASC",
        **filters: Filter,
    ) -> Iterator[Page[T]]:
        """The pages from the first on, no record twice; see `paging.walk` for the error."""
        asked = self._params(size, sort_on, sort_order, filters)
        return walk(lambda: self._page(parents, 1, size, asked), self._key, self._listing)

    def iterate(
        self,
        *parents: str,
        size: int = PAGE_SIZE,
        sort_on: str = "createdAt",
        sort_order: Order = "ASC",
        **filters: Filter,
    ) -> Iterator[Record[T]]:
        """Every record, each once."""
        asked = self._params(size, sort_on, sort_order, filters)
        for page in walk(lambda: self._page(parents, 1, size, asked), self._key, self._listing):
            yield from page

    def get(self, *ids: str) -> Record[T]:
        """One record by its id, after the ids of its parents."""
        if not self._one:
            raise InputError(f"{self.route} has no single records", do="list them instead")
        reply = self._client.request("GET", self._one, *ids, service=self._service)
        return decode(reply.result, self._model, f"GET {self._one}")

    def _page(self, parents: tuple[str, ...], number: int, size: int, asked: Params) -> Page[T]:
        reply = self._client.request(
            "GET",
            self.route,
            *parents,
            service=self._service,
            params=(("page", str(number)), *asked),
        )
        return Page(
            items=self._records(reply.result),
            number=number,
            size=size,
            pagination=reply.pagination,
            fetch=lambda other: self._page(parents, other, size, asked),
        )

    def _records(self, raw: bytes) -> tuple[Record[T], ...]:
        return tuple(decode_all(raw, self._model, self._listing))

    def _params(
        self, size: int, sort_on: str, sort_order: Order, filters: dict[str, Filter]
    ) -> Params:
        unknown = sorted(set(filters) - set(self._filters))
        if unknown:
            known = ", ".join(self._filters) or "none"
            raise InputError(
                f"{self.route} has no filter {unknown[0]!r}", do=f"its filters are: {known}"
            )
        given = (
            (_camel(name), _text(value)) for name, value in filters.items() if value is not None
        )
        return (("size", str(size)), ("sortOn", sort_on), ("sortOrder", sort_order), *given)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def _text(value: Filter) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)
