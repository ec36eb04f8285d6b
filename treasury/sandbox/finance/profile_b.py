"""Profile `b`: the finance service as in its published contract, with the same records.

It differs from the specification in three ways. Some operations are added, and others do not exist:
their addresses are unknown (404) or accept only other methods (405). Some rules differ, see
`rules_b`. Bodies have other fields and values: an answer is built as in the specification and
translated before it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, TypeAlias, get_origin

from msgspec.structs import replace

from treasury.sandbox.finance import rules_b as rules
from treasury.sandbox.finance.finance_accounts import add_role
from treasury.sandbox.finance.finance_parties import create_party, delete_party
from treasury.sandbox.finance.finance_transfers import make_crypto, make_fiat
from treasury.sandbox.finance.payments import create_payment
from treasury.sandbox.finance.published_payments import PUBLISHED_PAYMENTS, paying
from treasury.sandbox.finance.published_permits import PUBLISHED_PERMITS
from treasury.sandbox.finance.rules_b import JsonAnswer
from treasury.sandbox.http.exchange import Call, Reply, Route, Write, invalid
from treasury.sandbox.http.idempotency import once, write_route
from treasury.sandbox.state.shapes import encode
from treasury.sandbox.story.world import World

_Dialect: TypeAlias = Callable[[JsonAnswer, bool], JsonAnswer]
"""A function that translates a body to profile b; the flag is true for a list item."""


_KYC: Final = {"VERIFIED": "VERIFIED", "REJECTED": "REJECTED"}
_KYB: Final = {"VERIFIED": "VERIFIED", "REJECTED": "DENIED"}
_BRIEF: Final = (
    "id", "externalId", "partyType", "status", "firstName", "lastName", "name", "vatNumber",
    "createdAt",
)  # fmt: skip


def _party(body: JsonAnswer, in_list: bool) -> JsonAnswer:
    if in_list:
        return {name: body[name] for name in _BRIEF if name in body}
    return _checked(body)


def _checked(body: JsonAnswer) -> JsonAnswer:
    """Return the body with this profile's values for check statuses."""
    words = {"kycStatus": (_KYC, "VERIFICATION_PENDING"), "kybStatus": (_KYB, "PENDING")}
    return body | {
        name: translations.get(body[name], default)
        for name, (translations, default) in words.items()
        if name in body
    }


def _account(body: JsonAnswer, _: bool) -> JsonAnswer:
    account = _checked(_less(body, "chain", "partyRoles"))
    return account | ({"status": "CLOSED"} if body["status"] == "BLOCKED" else {})


def _wallet(body: JsonAnswer, _: bool) -> JsonAnswer:
    kind = "VENLY_MANAGED" if body.get("type") == "CUSTODIAL" else body.get("type")
    return _less(body, "accountId", "status") | {"type": kind}


def _transfer(body: JsonAnswer, _: bool) -> JsonAnswer:
    transfer = _less(
        body, "failureCode", "failureReason", "destinationAddress", "bankAccount", "networkFee"
    )
    return transfer | ({"status": "PENDING"} if body["status"] == "PROCESSING" else {})


def _as_is(body: JsonAnswer, _: bool) -> JsonAnswer:
    return body


def _less(body: JsonAnswer, *names: str) -> JsonAnswer:
    return {name: value for name, value in body.items() if name not in names}


_DIALECTS: Final[tuple[tuple[str, _Dialect], ...]] = (
    # The first entry whose words occur in the address is used.
    ("/party-roles", lambda body, _: _less(body, "party")),
    ("/permits", _as_is),
    ("/allowances", _as_is),
    ("/wallets", _wallet),
    ("/virtual-bank-accounts", _as_is),
    # A missing reference becomes an empty text.
    ("/payment-sessions", lambda body, _: body | {"externalRef": body["externalRef"] or ""}),
    ("/payment-requests", _as_is),
    ("/transfers", _transfer),
    ("/accounts", _account),
    ("/parties", _party),
)
_CODES: Final = {
    "VALIDATION_ERROR": "invalid-request",
    "UNAUTHORIZED": "unauthenticated",
    "CONFLICT": "concurrent-modification",
    "INTERNAL_SERVER_ERROR": "internal-error",
}
_SPELLED_OUT: Final = frozenset({"FORBIDDEN", "NOT_FOUND", "INVALID_MEDIA_TYPE", "RATE_LIMITED"})


def _dressed(route: Route) -> Route:
    """Return the operation with answers that use this profile's fields and values."""
    dialect = next(dialect for words, dialect in _DIALECTS if words in route.path)
    in_list = get_origin(route.gives) is list

    def dress(reply: Reply) -> Reply:
        if not reply.body:
            return reply
        body = rules.answer_body(reply.body)
        if not body["success"]:
            body["errors"] = [_error(error) for error in body["errors"]]
        elif isinstance(body["result"], list):
            body["result"] = [dialect(item, True) for item in body["result"]]
        else:
            body["result"] = dialect(body["result"], False)
        return Reply(encode(body), reply.status)

    def shows(names: list[str]) -> list[str]:
        return list(dialect({name: name for name in names}, in_list))

    return replace(route, dress=dress, shows=shows)


def _error(error: JsonAnswer) -> JsonAnswer:
    code = error["code"]
    if error.get("message") == "No such account.":
        code = "account-not-found"
    elif code in _CODES:
        code = _CODES[code]
    elif code not in _SPELLED_OUT:
        code = code.lower().replace("_", "-")
    return error | {"code": code}


_WRITES: Final[dict[tuple[str, str], tuple[Write, bool]]] = {
    # This profile's writes: the handler, and whether idempotency keys have an effect.
    ("POST", "/parties"): (create_party, False),
    ("PATCH", "/parties/{id}"): (rules.change_party, True),
    ("DELETE", "/parties/{id}"): (delete_party, True),
    ("POST", "/accounts"): (rules.create_account, False),
    ("POST", "/accounts/{accountId}/party-roles"): (add_role, False),
    ("POST", "/accounts/{accountId}/virtual-bank-accounts"): (rules.create_virtual_account, True),
    ("POST", "/accounts/{accountId}/fiat-to-crypto/payment-sessions"): (
        rules.create_session, True,
    ),
    ("POST", "/accounts/{senderAccountId}/transfers/crypto"): (
        rules.transferring(make_crypto, rules.CryptoBodyB, "destinationAddress"), True,
    ),
    ("POST", "/accounts/{senderAccountId}/transfers/fiat"): (
        rules.transferring(make_fiat, rules.FiatBodyB, "bankAccount"), True,
    ),
    ("POST", "/payment-requests"): (paying(create_payment), True),
}  # fmt: skip
_REUSED: Final = {"/accounts/{accountId}/virtual-bank-accounts": 409}
"""Status of the refusal of a used key with another body, for paths where it is not 422."""
_ADDED: Final = (
    # Operations that only this profile has.
    write_route(
        "DELETE /accounts/{accountId}/party-roles/{partyId}", rules.remove_role, None, None,
        "Remove a party's role in an account.", status=204,
    ),
    *PUBLISHED_PAYMENTS, *PUBLISHED_PERMITS,
)  # fmt: skip
_MEANS: Final = {
    # This profile's status filter values, with the stored values that each stands for.
    "/transfers": {
        "PENDING": ["PENDING", "PROCESSING"],
        "COMPLETED": ["COMPLETED"],
        "FAILED": ["FAILED"],
    },
    "/accounts": {
        "ACTIVE": ["ACTIVE"],
        "SUSPENDED": ["SUSPENDED"],
        "CLOSED": ["CLOSED", "BLOCKED"],
    },
}


def routes_b(specified: Collection[Route]) -> tuple[Route, ...]:
    """Return this profile's operations, derived from the specification's."""
    reads = [
        _translate_statuses(route)
        for route in specified
        if route.method == "GET" and route.published
    ]
    routes = {(route.method, route.path): route for route in specified}
    writes = [
        _written(routes[operation], write, _REUSED.get(operation[1], 422), keyed=keyed)
        for operation, (write, keyed) in _WRITES.items()
    ]
    added = [
        replace(each, handler=once(each.writes, each.status, any_text=True))
        if each.writes
        else each
        for each in _ADDED
    ]
    # An address without placeholders must precede one whose placeholder would match it.
    every = sorted((*reads, *writes, *added), key=lambda route: route.path.count("{"))
    return tuple(map(_dressed, every))


def _written(route: Route, write: Write, reused: int, *, keyed: bool) -> Route:
    """Return a write from the specification with this profile's body."""

    def reading(world: World, call: Call) -> Any:
        return write(world, replace(call, reads=rules.READS_B))

    return replace(
        route,
        handler=once(reading, route.status, keyed=keyed, any_text=True, reused=reused),
        takes=rules.READS_B.get(route.takes, route.takes),
        refuses=(*route.refuses, reused),
    )


def _translate_statuses(route: Route) -> Route:
    """Let the lists in `_MEANS` accept only this profile's statuses; keep other routes."""
    words = next((means for end, means in _MEANS.items() if route.path.endswith(end)), None)
    if words is None:
        return route

    def serve(world: World, call: Call) -> Reply:
        statuses_b = call.query_values("status")
        if any(status not in words for status in statuses_b):
            raise invalid(f"status must be one of {', '.join(words)}.")
        statuses = [each for status in statuses_b for each in words[status]]
        query = call.query | ({"status": statuses} if statuses_b else {})
        return route.handler(world, replace(call, query=query))

    schema = {"type": "array", "items": {"type": "string", "enum": list(words)}}
    query = {**route.query, "status": route.query["status"] | schema}
    return replace(route, handler=serve, query=query)
