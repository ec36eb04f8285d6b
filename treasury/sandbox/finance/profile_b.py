"""Profile `b`: the finance service as its published contract has it, over the same world.

It differs from the specification in three ways. Some operations are gone: their addresses are
unknown (404) or take only other methods (405). Some rules are others: an account has its wallet
from the start, nothing comes in before it is verified, a party's change needs its version, keys of
parties and accounts mean nothing. And bodies have other fields and words: an answer is made as the
specification has it and dressed on its way out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias, cast, get_origin

import msgspec

from treasury.sandbox.finance.finance_accounts import (
    add_role,
    create_account,
    create_virtual_account,
    give_wallet,
)
from treasury.sandbox.finance.finance_parties import change_party, create_party, delete_party
from treasury.sandbox.finance.finance_records import (
    account_of,
    is_verified,
    put_account,
    put_wallet,
    require_active,
)
from treasury.sandbox.finance.finance_transfers import make_crypto, make_fiat
from treasury.sandbox.finance.payments import PaymentRequest, create_payment, keep_card
from treasury.sandbox.finance.published_payments import (
    ChangingPayment,
    NewPayment,
    Reversing,
    ReversingByReference,
    Settling,
    SettlingByReference,
    change_payment,
    create_of_account,
    reverse,
    reverse_by_reference,
    settle,
    settle_by_reference,
)
from treasury.sandbox.finance.published_permits import (
    Allowance,
    Permit,
    PermitResult,
    SubmittedPermit,
    list_allowances,
    list_permits,
    submit_permit,
)
from treasury.sandbox.finance.sessions import make_session
from treasury.sandbox.http.body_fields import (
    AccountFields,
    CardReference,
    CryptoBody,
    FiatFields,
    IndividualFields,
    NewAccount,
    NewRole,
    NewSession,
    NewVirtualAccount,
    OrganisationFields,
    PartyBody,
    PartyChangeFields,
    PartyChanges,
    PaymentBody,
    PaymentRequestBody,
    exactly_one,
)
from treasury.sandbox.http.exchange import (
    MANAGERS,
    Call,
    Handler,
    Parameter,
    Refusal,
    Reply,
    Route,
    invalid,
    missing,
    result,
)
from treasury.sandbox.http.idempotency import once
from treasury.sandbox.state.shapes import Transfer, encode
from treasury.sandbox.story.world import World

__all__ = [
    "CryptoBodyB", "FiatBodyB", "IndividualBodyB", "NewAccountB", "NewSessionB",
    "OrganisationBodyB", "PartyChangesB", "routes_b",
]  # fmt: skip

_Body: TypeAlias = dict[str, Any]
_Dialect: TypeAlias = Callable[[_Body, bool], _Body]
"""Makes a body of profile b; the flag says whether it stands in a list."""


AnyKey: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


# rules


def _create_account(world: World, call: Call) -> Reply:
    """An account comes with its wallet: the customer's own where its address is given."""
    body = call.read(NewAccountB)
    reply = create_account(world, call)
    account_id = _read(reply.body)["result"]["id"]
    wallet = give_wallet(world, account_of(world, account_id))
    if body.address is not None:
        own = msgspec.structs.replace(wallet, type="SELF_CUSTODY", address=body.address)
        put_wallet(world, own)
    if body.card_provider_reference is not None:
        keep_card(world, account_id, body.card_provider_reference)
    return reply


class IndividualBodyB(
    IndividualFields, frozen=True, kw_only=True, tag_field="partyType", tag="INDIVIDUAL"
):
    """A new natural person; a key means nothing here."""

    idempotency_key: Any = None


class OrganisationBodyB(
    OrganisationFields, frozen=True, kw_only=True, tag_field="partyType", tag="ORGANISATION"
):
    """A new company; a key means nothing here."""

    idempotency_key: Any = None


class NewAccountB(AccountFields, frozen=True, kw_only=True):
    """A new account for a known party or for a new one; a key means nothing here.

    `address` is that of a wallet that the customer keeps.
    """

    address: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{40}$")] | None = None
    party: IndividualBodyB | OrganisationBodyB | None = None
    card_provider_reference: CardReference | None = None
    idempotency_key: Any = None


class NewRoleB(NewRole, frozen=True, kw_only=True):
    """A party's part in an account; a key means nothing here."""

    idempotency_key: Any = None


class PartyChangesB(PartyChangeFields, frozen=True, kw_only=True):
    """What may change on a party, and the version that the caller must have read."""

    version: int


def _change_party(world: World, call: Call) -> Reply:
    if call.body.get("version") is None:
        raise invalid("version is required.")
    return change_party(world, call)


def _create_virtual_account(world: World, call: Call) -> Reply:
    if not is_verified(account_of(world, call.path["accountId"])):
        raise Refusal(400, "KYC_NOT_VERIFIED", "Account is not verified yet.")
    return create_virtual_account(world, call)


class NewSessionB(NewSession, frozen=True, kw_only=True):
    """A new hosted payment."""

    idempotency_key: AnyKey
    external_ref: Annotated[str, msgspec.Meta(max_length=255)] | None = None
    metadata: dict[str, Any] | None = None


def _create_session(world: World, call: Call) -> Reply:
    account, body = account_of(world, call.path["accountId"]), call.read(NewSessionB)
    require_active(account)
    if not is_verified(account):
        raise Refusal(422, "KYC_REQUIRED", "Account is not verified yet.")
    file = make_session(world, account.id, body, body.external_ref, body.metadata)
    return result(encode(file.session), 201)


class CryptoBodyB(CryptoBody, frozen=True, kw_only=True):
    """A transfer in an asset, to an account."""

    idempotency_key: AnyKey
    merchant_reference: Annotated[str, msgspec.Meta(max_length=255)] | None = None


class FiatBodyB(FiatFields, frozen=True, kw_only=True):
    """A transfer asked for in fiat, to an account."""

    idempotency_key: AnyKey
    merchant_reference: Annotated[str, msgspec.Meta(max_length=255)] | None = None


def _transferring(make: Callable[..., Transfer], shape: Any, outside: str) -> Handler:
    """The handler of a transfer whose receiver is always an account of the service."""

    def serve(world: World, call: Call) -> Reply:
        body = call.read(shape)
        if call.body.get(outside) is not None:
            raise invalid(f"Object contains unknown field `{outside}`.")
        exactly_one(
            receiverAccountId=body.receiver_account_id, receiverExternalId=body.receiver_external_id
        )
        transfer = make(world, call.path["senderAccountId"], body, body.merchant_reference)
        return result(encode(transfer), 201)

    return serve


class NewVirtualAccountB(NewVirtualAccount, frozen=True, kw_only=True):
    """A new virtual bank account."""

    idempotency_key: AnyKey


class PaymentBodyB(PaymentBody, frozen=True, kw_only=True):
    """The payment within a payment request."""

    idempotency_key: AnyKey


class PaymentRequestBodyB(PaymentRequestBody, frozen=True, kw_only=True):
    """A payment request."""

    payment_request: PaymentBodyB


_PARTY: Final = cast(Any, PartyBody)
_PARTY_B: Final = IndividualBodyB | OrganisationBodyB
_READS: Final = {
    _PARTY: _PARTY_B, NewAccount: NewAccountB, NewRole: NewRoleB, PartyChanges: PartyChangesB,
    NewVirtualAccount: NewVirtualAccountB, PaymentRequestBody: PaymentRequestBodyB,
}  # fmt: skip
"""What this generation reads in the place of the specification's bodies."""


def _publishing(handler: Handler) -> Handler:
    """The handler of the specification, reading this generation's bodies."""

    def serve(world: World, call: Call) -> Reply:
        return handler(world, msgspec.structs.replace(call, reads=_READS))

    return serve


def _paying(handler: Handler) -> Handler:
    """A payment request of an account that is not verified is refused in other words."""

    def serve(world: World, call: Call) -> Reply:
        try:
            return handler(world, call)
        except Refusal as refusal:
            if refusal.code == "KYC_NOT_VERIFIED":
                raise Refusal(400, "ACCOUNT_NOT_ACTIVE", "Account is not active.") from None
            raise

    return serve


def _remove_role(world: World, call: Call) -> Reply:
    """DELETE /accounts/{accountId}/party-roles/{partyId}."""
    account, party = account_of(world, call.path["accountId"]), call.path["partyId"]
    roles = [role for role in account.party_roles if role.party_id != party]
    if len(roles) == len(account.party_roles):
        raise missing("party role")
    world.clock.tick()
    world.store.remove("party_role", owner=account.id, peer=party)
    put_account(world, msgspec.structs.replace(account, party_roles=roles))
    return Reply("", 204)


# words and fields

_KYC: Final = {"VERIFIED": "VERIFIED", "REJECTED": "REJECTED"}
_KYB: Final = {"VERIFIED": "VERIFIED", "REJECTED": "DENIED"}
_BRIEF: Final = (
    "id", "externalId", "partyType", "status", "firstName", "lastName", "name", "vatNumber",
    "createdAt",
)  # fmt: skip


def _party(body: _Body, in_list: bool) -> _Body:
    if in_list:
        return {name: body[name] for name in _BRIEF if name in body}
    return _checked(body)


def _checked(body: _Body) -> _Body:
    """The body with this generation's words for where a check stands."""
    words = {"kycStatus": (_KYC, "VERIFICATION_PENDING"), "kybStatus": (_KYB, "PENDING")}
    return body | {
        name: translations.get(body[name], default)
        for name, (translations, default) in words.items()
        if name in body
    }


def _account(body: _Body, _: bool) -> _Body:
    account = _checked(_less(body, "chain", "partyRoles"))
    return account | ({"status": "CLOSED"} if body["status"] == "BLOCKED" else {})


def _wallet(body: _Body, _: bool) -> _Body:
    kind = "VENLY_MANAGED" if body.get("type") == "CUSTODIAL" else body.get("type")
    return _less(body, "accountId", "status") | {"type": kind}


def _transfer(body: _Body, _: bool) -> _Body:
    transfer = _less(
        body, "failureCode", "failureReason", "destinationAddress", "bankAccount", "networkFee"
    )
    return transfer | ({"status": "PENDING"} if body["status"] == "PROCESSING" else {})


def _as_is(body: _Body, _: bool) -> _Body:
    return body


def _less(body: _Body, *names: str) -> _Body:
    return {name: value for name, value in body.items() if name not in names}


_DIALECTS: Final[tuple[tuple[str, _Dialect], ...]] = (
    # the first one whose words an address contains
    ("/party-roles", lambda body, _: _less(body, "party")),
    ("/permits", _as_is),
    ("/allowances", _as_is),
    ("/wallets", _wallet),
    ("/virtual-bank-accounts", _as_is),
    # a reference is text, also where none was given
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
    """The operation in this generation's words: its answers, and the fields that they show."""
    dialect = next(dialect for words, dialect in _DIALECTS if words in route.path)
    in_list = get_origin(route.gives) is list

    def dress(reply: Reply) -> Reply:
        if not reply.body:
            return reply
        body = _read(reply.body)
        if not body["success"]:
            body["errors"] = [_error(error) for error in body["errors"]]
        elif isinstance(body["result"], list):
            body["result"] = [dialect(item, True) for item in body["result"]]
        else:
            body["result"] = dialect(body["result"], False)
        return Reply(encode(body), reply.status)

    def shows(names: list[str]) -> list[str]:
        return list(dialect({name: name for name in names}, in_list))

    return msgspec.structs.replace(route, dress=dress, shows=shows)


def _error(error: _Body) -> _Body:
    code = error["code"]
    if error.get("message") == "No such account.":
        code = "account-not-found"
    elif code in _CODES:
        code = _CODES[code]
    elif code not in _SPELLED_OUT:
        code = code.lower().replace("_", "-")
    return error | {"code": code}


def _read(text: str) -> _Body:
    """The answer's JSON with every number's own digits."""
    return cast(_Body, json.loads(text, parse_float=Decimal, parse_int=Decimal))


# the table

_Rule: TypeAlias = tuple[Handler, bool, Any]
_WRITES: Final[dict[tuple[str, str], _Rule]] = {
    # what is written in this generation: how, whether a key counts, a body that is not the
    # specification's
    ("POST", "/parties"): (_publishing(create_party), False, IndividualBodyB | OrganisationBodyB),
    ("PATCH", "/parties/{id}"): (_publishing(_change_party), True, PartyChangesB),
    ("DELETE", "/parties/{id}"): (delete_party, True, None),
    ("POST", "/accounts"): (_publishing(_create_account), False, NewAccountB),
    ("POST", "/accounts/{accountId}/party-roles"): (_publishing(add_role), False, NewRoleB),
    ("POST", "/accounts/{accountId}/virtual-bank-accounts"): (
        _publishing(_create_virtual_account), True, NewVirtualAccountB,
    ),
    ("POST", "/accounts/{accountId}/fiat-to-crypto/payment-sessions"): (
        _create_session, True, NewSessionB,
    ),
    ("POST", "/accounts/{senderAccountId}/transfers/crypto"): (
        _transferring(make_crypto, CryptoBodyB, "destinationAddress"), True, CryptoBodyB,
    ),
    ("POST", "/accounts/{senderAccountId}/transfers/fiat"): (
        _transferring(make_fiat, FiatBodyB, "bankAccount"), True, FiatBodyB,
    ),
    ("POST", "/payment-requests"): (
        _publishing(_paying(create_payment)), True, PaymentRequestBodyB,
    ),
}  # fmt: skip
_REUSED: Final = {"/accounts/{accountId}/virtual-bank-accounts": 409}
"""The status of another body under a key, where it is not 422."""


def _added(
    operation: str,
    handler: Handler,
    takes_gives: tuple[Any, Any],
    says: str,
    status: int,
    *refuses: int,
) -> Route:
    """A write that only this generation has."""
    method, path = operation.split()
    takes, gives = takes_gives
    return Route(
        method, path, once(handler, any_text=True), MANAGERS, says=says, takes=takes, gives=gives,
        status=status, refuses=refuses,
    )  # fmt: skip


_PAYMENTS: Final = "/payment-requests"
_WALLET: Final = "/accounts/{accountId}/wallets/{walletId}"
_ADDED: Final = (
    _added(
        "DELETE /accounts/{accountId}/party-roles/{partyId}", _remove_role, (None, None),
        "Take a party's part in an account away.", 204,
    ),
    _added(
        "POST /accounts/{accountId}/payment-requests", _paying(create_of_account),
        (NewPayment, PaymentRequest), "Reserve an amount of an account.", 201, 402,
    ),
    _added(
        f"POST {_PAYMENTS}/settlements", settle_by_reference,
        (SettlingByReference, PaymentRequest), "Settle a payment request by its reference.", 202,
        404,
    ),
    _added(
        f"POST {_PAYMENTS}/reversals", reverse_by_reference,
        (ReversingByReference, PaymentRequest), "Reverse a payment request by its reference.", 202,
        404,
    ),
    _added(
        f"POST {_PAYMENTS}/{{paymentRequestId}}/settlements", settle, (Settling, PaymentRequest),
        "Settle a payment request.", 202,
    ),
    _added(
        f"POST {_PAYMENTS}/{{paymentRequestId}}/reversal", reverse, (Reversing, PaymentRequest),
        "Reverse a payment request.", 202,
    ),
    _added(
        f"PATCH {_PAYMENTS}/{{paymentRequestId}}", change_payment,
        (ChangingPayment, PaymentRequest), "Reserve another amount.", 200, 402,
    ),
    Route(
        "GET", f"{_WALLET}/permits", list_permits, says="List what may be signed for a wallet.",
        gives=list[Permit],
    ),
    _added(
        f"POST {_WALLET}/permits", submit_permit, (SubmittedPermit, PermitResult),
        "Hand a signed permit in.", 200,
    ),
    Route(
        "GET", f"{_WALLET}/allowances", list_allowances, gives=list[Allowance],
        says="List what may be spent for a wallet.",
        query=(Parameter("asset", {"type": "string"}),),
    ),
)  # fmt: skip
_MEANS: Final = {
    # the statuses that may be asked for in this generation, each in the words that are stored
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
    """The operations of this generation, made from those of the specification."""
    reads = [
        _translate_statuses(route)
        for route in specified
        if route.method == "GET" and not route.path.startswith("/account-to-account")
    ]
    routes = {(route.method, route.path): route for route in specified}
    writes = [
        msgspec.structs.replace(
            routes[operation],
            handler=once(
                handler, keyed=keyed, any_text=True, reused=_REUSED.get(operation[1], 422)
            ),
            takes=takes or routes[operation].takes,
            refuses=(*routes[operation].refuses, _REUSED.get(operation[1], 422)),
        )
        for operation, (handler, keyed, takes) in _WRITES.items()
    ]
    # an address without a placeholder is met before one whose placeholder it would fit
    every = sorted((*reads, *writes, *_ADDED), key=lambda route: route.path.count("{"))
    return tuple(map(_dressed, every))


def _translate_statuses(route: Route) -> Route:
    """A list that takes this generation's words for a status, and no others."""
    words = next((means for end, means in _MEANS.items() if route.path.endswith(end)), None)
    if words is None:
        return route

    def serve(world: World, call: Call) -> Reply:
        statuses_b = call.query_values("status")
        if any(status not in words for status in statuses_b):
            raise invalid(f"status must be one of {', '.join(words)}.")
        statuses = [each for status in statuses_b for each in words[status]]
        query = call.query | ({"status": statuses} if statuses_b else {})
        return route.handler(world, msgspec.structs.replace(call, query=query))

    schema = {"type": "array", "items": {"type": "string", "enum": list(words)}}
    query = tuple(
        Parameter("status", each.schema | schema) if each.name == "status" else each
        for each in route.query
    )
    return msgspec.structs.replace(route, handler=serve, query=query)
