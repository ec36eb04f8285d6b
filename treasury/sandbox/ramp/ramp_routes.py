"""Table of the ramp service's operations with their handlers.

The published generation has further operations: a CSV of all requests, processing an off-ramp,
deposit wallets, single currencies, the token's user, changing a user's role or status, and removing
a user.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from treasury.sandbox.http.exchange import Call, Reply, Route, invalid, result
from treasury.sandbox.http.idempotency import once, write_route
from treasury.sandbox.http.lists import detail_of, read_route
from treasury.sandbox.ramp import people
from treasury.sandbox.ramp.company_records import COMPANY_ROUTES
from treasury.sandbox.ramp.people import PEOPLE_ROUTES, ChangingRole, ChangingStatus
from treasury.sandbox.ramp.ramp_reference import REFERENCE_ROUTES
from treasury.sandbox.ramp.ramp_requests import REQUEST_ROUTES, AddingHash, adding_hash
from treasury.sandbox.state import shapes
from treasury.sandbox.state.shapes import DepositWallet, RampItem, User, decode, encode
from treasury.sandbox.story.cast import CHAINS
from treasury.sandbox.story.world import World

_NEEDS_SCOPE: Final = {
    ("GET", "/company/users"): "manage:company-users",
    ("GET", "/ramp-requests/on-ramp/pairs"): "create:ramp-request",
    ("GET", "/ramp-requests/off-ramp/pairs"): "create:ramp-request",
}
"""Read operations for which the published generation requires a scope."""


def export_requests(world: World, _: Call) -> Reply:
    """Return all requests as plain CSV, without the JSON envelope of other answers."""
    names = [field.encode_name for field in msgspec.structs.fields(RampItem)]
    lines = [",".join(names)]
    for text in world.store.page("ramp_request", {}).items:
        item = msgspec.to_builtins(decode(text, RampItem), builtin_types=())
        lines.append(",".join(str(item[name]) for name in names))
    return Reply("\n".join(lines), media_type="text/csv")


def list_deposit_wallets(world: World, call: Call) -> Reply:
    """Return the deposit wallets, optionally only for some chains."""
    chains = call.query_values("chain")
    if any(chain not in CHAINS for chain in chains):
        raise invalid(f"chain must be one of {', '.join(CHAINS)}.")
    wallets = [w for w in world.cast.deposit_wallets.values() if not chains or w.chain in chains]
    return result(encode(wallets))


_USER: Final = "/company/users/{userId}"
_USERS: Final = "manage:company-users"
_CHAIN: Final = {"type": "array", "items": {"type": "string", "enum": list(CHAINS)}}
_PUBLISHED: Final = (
    write_route(
        "PATCH /ramp-requests/{id}/initiate",
        adding_hash("is initiated", status="PROCESSING"), AddingHash, shapes.RampRequest,
        "Submit the crypto transaction of an off-ramp, which is then processed.", 409,
        scope="edit:ramp-request",
    ),
    Route(
        "GET", "/ramp-requests/export", export_requests, scope="export:ramp-requests",
        says="Get all ramp requests as CSV.", media_type="text/csv",
    ),
    Route(
        "GET", "/deposit-wallets", list_deposit_wallets, says="List the provider's wallets.",
        gives=list[DepositWallet], query={"chain": _CHAIN},
    ),
    read_route(
        "/fiat-currencies/{id}", detail_of("fiat_currency", "fiat currency"), shapes.FiatCurrency,
        "Get a fiat currency.",
    ),
    read_route(
        "/crypto-currencies/{id}", detail_of("crypto_currency", "cryptocurrency"),
        shapes.CryptoCurrency, "Get a cryptocurrency.",
    ),
    read_route(
        "/auth/user", people.show_principal, people.Principal, "Get the user of the token."
    ),
    write_route(
        f"PUT {_USER}/role", people.changing(ChangingRole), ChangingRole, User,
        "Change the role of a user.", scope=_USERS,
    ),
    write_route(
        f"PATCH {_USER}/status", people.changing(ChangingStatus), ChangingStatus, User,
        "Allow or forbid a user to sign in.", scope=_USERS,
    ),
    write_route(
        f"DELETE {_USER}", people.remove_user, None, None, "Remove a user.", scope=_USERS
    ),
)  # fmt: skip
_ROUTES: Final = (*PEOPLE_ROUTES, *COMPANY_ROUTES, *REQUEST_ROUTES, *REFERENCE_ROUTES)


def routes(profile: str) -> tuple[Route, ...]:
    """Return the operations of a profile; in `b`, the published one, keys are ignored."""
    if profile != "b":
        return _ROUTES
    first = [route for route in _PUBLISHED if "{" not in route.path]
    last = [route for route in _PUBLISHED if "{" in route.path]
    specified = [route for route in _ROUTES if route.published]
    return tuple(map(_published, (*first, *specified, *last)))


def _published(route: Route) -> Route:
    scope = _NEEDS_SCOPE.get((route.method, route.path), route.scope)
    if route.writes is None:
        return replace(route, scope=scope)
    return replace(route, scope=scope, handler=once(route.writes, route.status, keyed=False))
