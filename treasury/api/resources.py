"""The base classes of the services' operations: lists, single records and reference data.

A collection has routes, a model and filters. `list` returns a page, `iterate` yields every record,
`pages` yields every page, and `get` returns one record. Ids of parent records are the first
arguments, as in `wallets.iterate(account_id)`. The client sends a filter to the service and also
applies it to the answer, because not every generation of the service supports it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec

from treasury.api.bodies import Body
from treasury.api.codec import Record
from treasury.api.created_records import created_since, only_one
from treasury.api.paging import ListPage, PagedRecords, walk
from treasury.core.errors import InputError
from treasury.core.text import camel_case

if TYPE_CHECKING:
    from collections.abc import Container

    from treasury.api.operations import Service
    from treasury.api.service_calls import Reply, ServiceCalls

T = TypeVar("T")
Order = Literal["ASC", "DESC"]
Filter = str | int | bool | date | tuple[str, ...] | None
_Filters = dict[str, Filter]
Params = tuple[tuple[str, str], ...]

PAGE_SIZE = 100
"""Number of records per page: the documented default, which the client sends explicitly."""

MAX_AGE = 3600.0
"""Seconds for which reference data is cached."""


def by_id(value: object) -> Hashable:
    """Return the `id` of a record."""
    key: Hashable = getattr(value, "id", None)
    return key


class Endpoint(msgspec.Struct, Generic[T], eq=False):
    """A route of a service, and the model of the records in its answers."""

    client: ServiceCalls
    service: Service
    route: str
    model: type[T]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.route}>"

    @property
    def _listing(self) -> str:
        return f"GET {self.route}"

    def _ask(self, route: str, *ids: str, params: Params = ()) -> Reply:
        return self.client.request("GET", route, *ids, service=self.service, params=params)

    def _send(
        self,
        method: str,
        route: str,
        *ids: str,
        body: Body | None = None,
        look_up: str | None = None,
    ) -> Reply:
        """Send a change.

        `look_up` is the advice on how to check its effect if the answer is lost.
        """
        return self.client.request(
            method, route, *ids, service=self.service, body=body, look_up=look_up
        )

    def _write(
        self,
        method: str,
        route: str,
        *ids: str,
        body: Body | None = None,
        look_up: str | None = None,
    ) -> Record[T]:
        """Send a change and return the changed record."""
        return self._send(method, route, *ids, body=body, look_up=look_up).record(self.model)


class Single(Endpoint[T]):
    """An endpoint with exactly one record."""

    def get(self) -> Record[T]:
        """Return the record.

        Raises
        ------
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> client.ramp.company.get().value.name is not None
        True
        """
        return self._ask(self.route).record(self.model)


class UnpagedList(Endpoint[T]):
    """A list without pages: reference data, roles, users."""

    def all(self, *parents: str) -> list[Record[T]]:
        """Return every record of the list.

        Parameters
        ----------
        *parents
            The ids of the parent records, such as the account of a party role.

        Returns
        -------
        list of Record
            The records in the order of the service.

        Raises
        ------
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> all(record.value.email for record in client.ramp.users.all())
        True
        """
        reply = self._ask(self.route, *parents)
        if reply.pagination is not None and reply.pagination.has_next_page:
            paged = Collection(self.client, self.service, self.route, self.model, key=repr)
            return list(paged.iterate(*parents))
        return self._records(reply)

    def find(
        self, *parents: str, body: Body, since: datetime, earlier_ids: Container[str] = ()
    ) -> Record[T]:
        """Look up the record that a body created, after the answer was lost.

        Parameters, result and errors are those of `Collection.find`.

        Examples
        --------
        >>> body = bodies.Invitation(
        ...     email="lee@harbour.example",
        ...     role="COMPANY_MANAGER",
        ...     first_name="Lee",
        ...     last_name="Roy",
        ... )
        >>> invited = checker.ramp.users.invite(body)
        >>> sent_at = datetime.fromisoformat("2026-05-01T00:00:00Z")
        >>> checker.ramp.users.find(body=body, since=sent_at).value.email
        'lee@harbour.example'
        """
        listed = self.all(*parents)
        return only_one(list(created_since(listed, body, since, earlier_ids)), self._listing)

    def _records(self, reply: Reply) -> list[Record[T]]:
        return reply.records(self.model)


class Reference(UnpagedList[T]):
    """Reference data: `all` calls the service, and `recent` prefers the cached answer."""

    _lock: threading.Lock = msgspec.field(default_factory=threading.Lock)
    _cached: tuple[float, list[Record[T]]] | None = None

    def all(self, *parents: str) -> list[Record[T]]:
        """Call the service and return every record; errors as in `UnpagedList.all`."""
        asked_at = self.client.clock.monotonic()
        records = super().all(*parents)
        with self._lock:
            self._cached = (asked_at, records)
        return list(records)

    def recent(self, max_age: float = MAX_AGE) -> list[Record[T]]:
        """Return every record, from the cache if possible.

        Parameters
        ----------
        max_age
            The maximum age of a cached answer, in seconds.

        Returns
        -------
        list of Record
            The records in the order of the service.

        Raises
        ------
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> "EUR" in {record.value.currency for record in client.ramp.fiat_currencies.recent()}
        True
        """
        with self._lock:
            cached = self._cached
        if cached is not None and self.client.clock.monotonic() - cached[0] < max_age:
            return list(cached[1])
        return self.all()


class Collection(Endpoint[T]):
    """A list with pages. If `single` is set, its records can also be read one by one."""

    single: str = ""
    filters: tuple[str, ...] = ()
    key: Callable[[T], Hashable] = by_id

    def list(
        self,
        *parents: str,
        page: int = 1,
        size: int = PAGE_SIZE,
        sort_on: str = "createdAt",
        sort_order: Order = "ASC",
        **filters: Filter,
    ) -> ListPage[T]:
        """Return one page.

        Parameters
        ----------
        *parents
            The ids of the parent records, such as the account of a wallet.
        page, size
            The number of the page, counted from 1, and the number of records per page.
        sort_on, sort_order
            The service's name of the field to sort by, and `ASC` or `DESC`.
        **filters
            Values by filter name in snake_case; a filter with None is ignored.

        Returns
        -------
        ListPage
            The page; its `next()` returns the following one.

        Raises
        ------
        InputError
            The collection has no filter of that name.
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> len(client.ramp.requests.list(size=3))
        3
        """
        params = self._params(size, sort_on, sort_order, filters)
        return self._filtered(self._page(parents, page, size, params), parents, filters)

    def pages(
        self,
        *parents: str,
        size: int = PAGE_SIZE,
        sort_on: str = "createdAt",
        sort_order: Order = "ASC",
        **filters: Filter,
    ) -> Iterator[ListPage[T]]:
        """Yield the pages; a record that is on two pages is yielded once.

        Takes the parameters of `list` except `page`, and raises its errors and one more.

        Raises
        ------
        UnexpectedResponse
            Records may be missing, because the list kept changing or does not end.

        Examples
        --------
        >>> len(next(client.ramp.requests.pages(size=2)))
        2
        """
        params = self._params(size, sort_on, sort_order, filters)
        in_turn = PagedRecords(partial(self._page, parents, 1, size, params), self.key)
        every = walk(in_turn.read_once, self._listing, self.client.limits)
        return (self._filtered(page, parents, filters) for page in every)

    def iterate(
        self,
        *parents: str,
        size: int = PAGE_SIZE,
        sort_on: str = "createdAt",
        sort_order: Order = "ASC",
        **filters: Filter,
    ) -> Iterator[Record[T]]:
        """Yield every record once. Takes the parameters of `pages` and raises its errors.

        Examples
        --------
        >>> {record.value.ramp_type for record in client.ramp.requests.iterate(ramp_type="ON_RAMP")}
        {'ON_RAMP'}
        """
        every = self.pages(*parents, size=size, sort_on=sort_on, sort_order=sort_order, **filters)
        for page in every:
            yield from page

    def get(self, *ids: str) -> Record[T]:
        """Return one record.

        Parameters
        ----------
        *ids
            The ids of the parent records, then the id of the record.

        Raises
        ------
        NotFound
            The service does not know the record.
        InputError
            The collection has no single records.
        ServiceError
            The service refused the call for another reason, or could not be reached.

        Examples
        --------
        >>> request = client.ramp.requests.list(size=1).items[0].value
        >>> client.ramp.requests.get(request.id).value.version is not None
        True
        """
        if not self.single:
            raise InputError(f"{self.route} has no single records", do="use `list` or `iterate`")
        return self._ask(self.single, *ids).record(self.model)

    def find(
        self, *parents: str, body: Body, since: datetime, earlier_ids: Container[str] = ()
    ) -> Record[T]:
        """Look up the record that a body created, after the answer was lost.

        Parameters
        ----------
        *parents
            The ids of the parent records.
        body
            The body that was sent.
        since
            The instant at which it was sent.
        earlier_ids
            Ids of records that existed before, which cannot be the created one.

        Returns
        -------
        Record
            The only record that matches.

        Raises
        ------
        OutcomeUnknown
            No record matches, or several do.
        ServiceError
            The service refused the call or could not be reached.

        Examples
        --------
        >>> body = bodies.NewParty(party_type="ORGANISATION", name="Harbour Supplies")
        >>> created = client.finance.parties.create(body)
        >>> sent_at = created.value.created_at
        >>> found = client.finance.parties.find(body=body, since=sent_at)
        >>> found.value.id == created.value.id
        True
        """
        listed = self.iterate(*parents, sort_order="DESC")
        return only_one(list(created_since(listed, body, since, earlier_ids)), self._listing)

    def _page(
        self, parents: tuple[str, ...], number: int, size: int, params: Params
    ) -> ListPage[T]:
        reply = self._ask(self.route, *parents, params=(("page", str(number)), *params))
        items = self._records(reply)
        return ListPage(
            items=items,
            number=number,
            size=size,
            pagination=reply.pagination,
            fetch=lambda page: self._page(parents, page, size, params),
        )

    def _records(self, reply: Reply) -> tuple[Record[T], ...]:
        return tuple(reply.records(self.model))

    def _filtered(
        self, page: ListPage[T], parents: tuple[str, ...], filters: _Filters
    ) -> ListPage[T]:
        conditions = {name: value for name, value in filters.items() if value is not None}
        if not conditions:
            return page
        return msgspec.structs.replace(
            page,
            items=tuple(
                record
                for record in page
                if all(
                    self._passes(record.value, name, conditions[name], parents)
                    for name in conditions
                )
            ),
            received=len(page) if page.received is None else page.received,
            fetch=lambda number: self._filtered(page.fetch(number), parents, filters),
        )

    def _passes(self, value: Any, name: str, condition: Filter, parents: tuple[str, ...]) -> bool:
        """Return True if a record passes a filter, or does not state the filtered value."""
        # Subclasses that filter by the parent use this argument.
        del parents
        stated = getattr(value, name, None)
        return stated is None or _text(stated) == _text(condition)

    def _params(self, size: int, sort_on: str, sort_order: Order, filters: _Filters) -> Params:
        unknown = sorted(set(filters) - set(self.filters))
        if unknown:
            names = ", ".join(self.filters) or "none"
            raise InputError(
                f"{self.route} has no filter {unknown[0]!r}", do=f"its filters are: {names}"
            )
        filter_params = (
            param
            for name, value in filters.items()
            if value is not None
            for param in self._sent(name, value)
        )
        return (("size", str(size)), ("sortOn", sort_on), ("sortOrder", sort_order), *filter_params)

    def _sent(self, name: str, value: Filter) -> Params:
        """Return a filter's query parameters, one for each value."""
        values = value if isinstance(value, tuple) else (value,)
        return tuple((camel_case(name), _text(part)) for part in values)


def _text(value: Filter) -> str:
    if isinstance(value, date):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else str(value)
