"""List conventions of both services: pages, sorting, filters.

A `Listing` declares the records of a list and its filters; one handler serves all lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from datetime import date, timedelta
from typing import Any, Final

import msgspec

from treasury.sandbox.http.exchange import Call, Handler, Reply, Route, invalid, missing, result
from treasury.sandbox.state.shapes import encode
from treasury.sandbox.story.world import World

_LARGEST: Final = 1000
_DEFAULT_SIZE: Final = 100
_SORTABLE: Final = {
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    "id": "id",
    "status": "status",
    "verificationStatus": "status",
    "externalId": "reference",
    "paymentReference": "reference",
    "partyType": "type",
    "rampType": "type",
    "amount": "amount",
    "fiatAmount": "fiat_amount",
    "cryptoAmount": "crypto_amount",
}
"""Sort keys of lists, with their columns; records without the column stay in insertion order."""
_ORDERS: Final = ("ASC", "DESC")
_PAGING: Final[dict[str, dict[str, Any]]] = {
    "page": {"type": "integer", "minimum": 1, "maximum": 999_999_999, "default": 1},
    "size": {
        "type": "integer", "minimum": 1, "maximum": 999_999_999, "default": _DEFAULT_SIZE,
        "description": f"More than {_LARGEST} counts as {_LARGEST}.",
    },
    "sortOn": {"type": "string", "enum": list(_SORTABLE)},
    "sortOrder": {"type": "string", "enum": list(_ORDERS), "default": "ASC"},
}  # fmt: skip
_FILTER: Final = {
    "type": "array", "items": {"type": "string"},
    "description": "If repeated, any of the values may match.",
}  # fmt: skip
_DATE: Final = {"type": "string", "format": "date"}
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A list: the kind of its records, the filters (query parameter to column), and the sorting."""

    kind: str
    filters: dict[str, str] = {}
    values: dict[str, tuple[str, ...]] = {}
    """Known values of a filter; any other value is refused."""
    owner: str = ""
    """The path parameter that names the list's account."""
    narrow: Callable[[World, Call], dict[str, list[str]]] | None = None
    """A function that returns further columns and values, for a filter that needs a look-up."""
    members: Callable[[Call], dict[str, str]] | None = None
    """A function that returns columns of which one must match, such as sender or receiver."""
    sort: str = "createdAt"
    """Default sort key; empty for the order of insertion."""
    shows_sort: bool = False
    dated: bool = False
    """Whether the parameters fromDate and toDate (inclusive, UTC) filter by creation time."""
    also: dict[str, dict[str, Any]] = {}
    """Schemas of the query parameters that `narrow` and `members` read."""


def list_route(path: str, spec: Listing, each: Any, says: str, *, published: bool = True) -> Route:
    """Return the list operation, with its parameters and the JSON members next to `result`."""
    schemas = _PAGING | dict.fromkeys(spec.filters, _FILTER)
    for name, values in spec.values.items():
        schemas[name] = {
            "type": "array", "items": {"type": "string", "enum": list(values)},
            "description": "Any of several values (repeated or separated by commas) may match.",
        }  # fmt: skip
    schemas |= spec.also
    if spec.dated:
        schemas |= {"fromDate": _DATE, "toDate": _DATE}
    return Route(
        "GET", path, listing(spec), says=says, gives=list[each],
        query=schemas, beside=("pagination", "sort") if spec.shows_sort else ("pagination",),
        published=published,
    )  # fmt: skip


def read_route(
    path: str, handler: Handler, gives: Any, says: str, *, published: bool = True
) -> Route:
    """Return a read operation that answers with the result of `handler`."""
    return Route("GET", path, handler, says=says, gives=gives, published=published)


def listing(spec: Listing) -> Handler:
    """Return the handler of a paged list."""

    def serve(world: World, call: Call) -> Reply:
        number, size = _positive(call, "page", 1), _positive(call, "size", _DEFAULT_SIZE)
        size = min(size, _LARGEST)
        sort = _one_of(call, "sortOn", _SORTABLE, spec.sort)
        order = _one_of(call, "sortOrder", _ORDERS, "ASC")
        filters = spec.filters
        where = {filters[name]: call.query[name] for name in filters if name in call.query}
        for name, allowed in spec.values.items():
            values = call.query_values(name)
            if any(value not in allowed for value in values):
                raise invalid(f"{name} must be one of {', '.join(allowed)}.")
            where |= {filters[name]: values} if values else {}
        if spec.narrow:
            where |= spec.narrow(world, call)
        if spec.owner:
            where["owner"] = [_account(world, call.path[spec.owner])]
        if spec.members:
            _account(world, call.path["accountId"])
        start, beyond = "", "~"
        if spec.dated:
            start, end = str(_date(call, "fromDate") or ""), _date(call, "toDate")
            # The calendar's last day has no next day.
            beyond = "~" if end in {None, date.max} else str(end + timedelta(days=1))
        page = world.store.page(
            spec.kind, where, members=spec.members(call) if spec.members else None,
            between=(start, beyond),
            sort=[_SORTABLE[sort]] if sort else [], descending=order == "DESC",
            offset=(number - 1) * size, limit=size,
        )  # fmt: skip
        pages = -(-page.total // size)
        pagination = {
            "pageNumber": number, "pageSize": size, "numberOfElements": page.total,
            "numberOfPages": pages, "hasNextPage": number < pages, "hasPreviousPage": number > 1,
        }  # fmt: skip
        shown = f',"sort":{encode({"orders": [order]})}' if order and spec.shows_sort else ""
        items = ",".join(page.items)
        return Reply(
            f'{{"success":true,"result":[{items}],"pagination":{encode(pagination)}{shown}}}'
        )

    return serve


def all_of(kind: str, owner: str = "") -> Handler:
    """Return the handler of a list without pages."""

    def serve(world: World, call: Call) -> Reply:
        where = {"owner": [_account(world, call.path[owner])]} if owner else {}
        return result(f"[{','.join(world.store.page(kind, where).items)}]")

    return serve


def detail_of(kind: str, name: str, parameter: str = "id", owner: str = "") -> Handler:
    """Return the handler that reads one record."""

    def serve(world: World, call: Call) -> Reply:
        within = call.path[owner] if owner else None
        text = world.store.detail(kind, call.path[parameter], within)
        if text is None:
            raise missing(name)
        return result(text)

    return serve


def _account(world: World, account: str) -> str:
    if world.store.detail("account", account) is None:
        raise missing("account")
    return account


def _one_of(call: Call, name: str, allowed: Collection[str], default: str) -> str:
    value = call.query_value(name)
    if value is not None and value not in allowed:
        raise invalid(f"{name} must be one of {', '.join(allowed)}.")
    return default if value is None else value


def _positive(call: Call, name: str, default: int) -> int:
    text = call.query_value(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise invalid(f"{name} must be a positive integer.")
    return int(text)


def _date(call: Call, name: str) -> date | None:
    text = call.query_value(name)
    if text is None:
        return None
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    # A day such as 30 February does not exist.
    except ValueError:
        pass
    raise invalid(f"{name} must be a date, YYYY-MM-DD.")
