"""What the published generation of the ramp service has beside the specification's operations.

The file of all requests, the hand-over of an off-ramp, deposit wallets, single currencies, the user
of a token, and users' roles, status and removal.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from treasury.sandbox.http.exchange import (
    Call,
    Handler,
    Parameter,
    Refusal,
    Reply,
    Route,
    invalid,
    result,
    stored,
)
from treasury.sandbox.http.idempotency import once
from treasury.sandbox.http.lists import detail_of
from treasury.sandbox.ramp.ramp_reference import RampBody, fields_of
from treasury.sandbox.ramp.ramp_requests import AddingHash, initiate
from treasury.sandbox.state.shapes import (
    CryptoCurrency,
    DepositWallet,
    FiatCurrency,
    RampItem,
    RampRequest,
    Shape,
    User,
    decode,
    encode,
)
from treasury.sandbox.story.cast import CHAINS
from treasury.sandbox.story.world import World

__all__ = ["NEEDS_SCOPE", "PUBLISHED"]

NEEDS_SCOPE: Final = {
    ("GET", "/company/users"): "manage:company-users",
    ("GET", "/ramp-requests/on-ramp/pairs"): "create:ramp-request",
    ("GET", "/ramp-requests/off-ramp/pairs"): "create:ramp-request",
}
"""Reads that the published generation gives to holders of a scope alone."""


class ChangingRole(RampBody, frozen=True, kw_only=True):
    """Another role."""

    role: Literal["COMPANY_ADMIN", "COMPANY_MANAGER", "COMPANY_VIEWER"]


class ChangingStatus(RampBody, frozen=True, kw_only=True):
    """Whether a user may sign in."""

    enabled: bool


class CompanyClaim(Shape, frozen=True, kw_only=True):
    """The company of a token."""

    id: str
    name: str


class Principal(Shape, frozen=True, kw_only=True):
    """The user of a token."""

    user_id: str
    username: str
    email: str
    first_name: str
    last_name: str
    realm_roles: list[str]
    company: CompanyClaim
    name: str


def _export(world: World, _: Call) -> Reply:
    """Every request as a line of CSV: a file, without the envelope of an answer."""
    names = [field.encode_name for field in msgspec.structs.fields(RampItem)]
    lines = [",".join(names)]
    for text in world.store.page("ramp_request", {}).items:
        item = msgspec.to_builtins(decode(text, RampItem), builtin_types=())
        lines.append(",".join(str(item[name]) for name in names))
    return Reply("\n".join(lines), media_type="text/csv")


def _deposit_wallets(world: World, call: Call) -> Reply:
    chains = call.query_values("chain")
    if any(chain not in CHAINS for chain in chains):
        raise invalid(f"chain must be one of {', '.join(CHAINS)}.")
    wallets = [w for w in world.cast.deposit_wallets.values() if not chains or w.chain in chains]
    return result(encode(wallets))


def _principal(world: World, call: Call) -> Reply:
    user = call.user
    claim = CompanyClaim(id=world.cast.company.id, name=world.cast.company.name)
    return result(
        encode(
            Principal(
                user_id=user.id, username=user.username, email=user.email,
                first_name=user.first_name, last_name=user.last_name, realm_roles=[user.role],
                company=claim, name=f"{user.first_name} {user.last_name}",
            )
        )
    )  # fmt: skip


def _user(world: World, call: Call) -> User:
    """The user of an address; 403 for one's own: an administrator stays one."""
    user = stored(world, "user", call.path["userId"], User)
    if user.id == call.user.id:
        raise Refusal(403, "FORBIDDEN", "Nobody may change or remove themselves.")
    return user


def _changing(shape: type[ChangingRole | ChangingStatus]) -> Handler:
    def serve(world: World, call: Call) -> Reply:
        user, body = _user(world, call), call.read(shape)
        world.clock.tick()
        return result(encode(world.keep(msgspec.structs.replace(user, **fields_of(body)))))

    return once(serve, keyed=False)


def _remove(world: World, call: Call) -> Reply:
    user = _user(world, call)
    world.clock.tick()
    world.store.remove("user", id=user.id)
    return result("null")


_USERS: Final = "manage:company-users"
_CHAIN: Final = Parameter(
    "chain", {"type": "array", "items": {"type": "string", "enum": list(CHAINS)}}
)

PUBLISHED: Final = (
    Route(
        "PATCH", "/ramp-requests/{id}/initiate", once(initiate, keyed=False),
        scope="edit:ramp-request", says="Hand the crypto of an off-ramp over to be processed.",
        takes=AddingHash, gives=RampRequest, refuses=(409,),
    ),
    Route(
        "GET", "/ramp-requests/export", _export, scope="export:ramp-requests",
        says="Every ramp request as CSV.", media_type="text/csv",
    ),
    Route(
        "GET", "/deposit-wallets", _deposit_wallets, says="List the provider's wallets.",
        gives=list[DepositWallet], query=(_CHAIN,),
    ),
    Route(
        "GET", "/fiat-currencies/{id}", detail_of("fiat_currency", "fiat currency"),
        says="Get a fiat currency.", gives=FiatCurrency,
    ),
    Route(
        "GET", "/crypto-currencies/{id}", detail_of("crypto_currency", "cryptocurrency"),
        says="Get a cryptocurrency.", gives=CryptoCurrency,
    ),
    Route("GET", "/auth/user", _principal, says="Get the user of the token.", gives=Principal),
    Route(
        "PUT", "/company/users/{userId}/role", _changing(ChangingRole), scope=_USERS,
        says="Give a user another role.", takes=ChangingRole, gives=User,
    ),
    Route(
        "PATCH", "/company/users/{userId}/status", _changing(ChangingStatus), scope=_USERS,
        says="Let a user sign in, or not.", takes=ChangingStatus, gives=User,
    ),
    Route(
        "DELETE", "/company/users/{userId}", once(_remove, keyed=False), scope=_USERS,
        says="Remove a user.",
    ),
)  # fmt: skip
