"""The rules of profile `b`: what it takes and does otherwise than the specification.

An account has its wallet from the start, nothing comes in before it is verified, a party's change
needs its version, and keys of parties and accounts mean nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias, cast

import msgspec

from treasury.sandbox.finance import finance_accounts, finance_parties
from treasury.sandbox.finance.finance_records import (
    account_of,
    is_verified,
    put_account,
    put_wallet,
    require_active,
)
from treasury.sandbox.finance.payments import keep_card
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
from treasury.sandbox.http.exchange import Call, Handler, Refusal, Reply, invalid, missing, result
from treasury.sandbox.state.shapes import Transfer, encode
from treasury.sandbox.story.world import World

__all__ = [
    "CryptoBodyB", "FiatBodyB", "IndividualBodyB", "JsonAnswer", "NewAccountB", "NewRoleB",
    "NewSessionB", "NewVirtualAccountB", "OrganisationBodyB", "PartyChangesB",
    "PaymentRequestBodyB", "answer_body", "change_party", "create_account", "create_session",
    "create_virtual_account", "paying", "publishing", "remove_role", "transferring",
]  # fmt: skip

JsonAnswer: TypeAlias = dict[str, Any]

AnyKey: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


def create_account(world: World, call: Call) -> Reply:
    """An account comes with its wallet: the customer's own where its address is given."""
    body = call.read(NewAccountB)
    reply = finance_accounts.create_account(world, call)
    account_id = answer_body(reply.body)["result"]["id"]
    wallet = finance_accounts.give_wallet(world, account_of(world, account_id))
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


def change_party(world: World, call: Call) -> Reply:
    """PATCH /parties/{id}: the version has to be given."""
    if call.body.get("version") is None:
        raise invalid("version is required.")
    return finance_parties.change_party(world, call)


def create_virtual_account(world: World, call: Call) -> Reply:
    """POST /accounts/{accountId}/virtual-bank-accounts: of a verified account."""
    if not is_verified(account_of(world, call.path["accountId"])):
        raise Refusal(400, "KYC_NOT_VERIFIED", "Account is not verified yet.")
    return finance_accounts.create_virtual_account(world, call)


class NewSessionB(NewSession, frozen=True, kw_only=True):
    """A new hosted payment."""

    idempotency_key: AnyKey
    external_ref: Annotated[str, msgspec.Meta(max_length=255)] | None = None
    metadata: dict[str, Any] | None = None


def create_session(world: World, call: Call) -> Reply:
    """POST /accounts/{accountId}/fiat-to-crypto/payment-sessions: of a verified account."""
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


def transferring(make: Callable[..., Transfer], shape: Any, outside: str) -> Handler:
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


def publishing(handler: Handler) -> Handler:
    """The handler of the specification, reading this generation's bodies."""

    def serve(world: World, call: Call) -> Reply:
        return handler(world, msgspec.structs.replace(call, reads=_READS))

    return serve


def paying(handler: Handler) -> Handler:
    """A payment request of an account that is not verified is refused in other words."""

    def serve(world: World, call: Call) -> Reply:
        try:
            return handler(world, call)
        except Refusal as refusal:
            if refusal.code == "KYC_NOT_VERIFIED":
                raise Refusal(400, "ACCOUNT_NOT_ACTIVE", "Account is not active.") from None
            raise

    return serve


def remove_role(world: World, call: Call) -> Reply:
    """DELETE /accounts/{accountId}/party-roles/{partyId}."""
    account, party = account_of(world, call.path["accountId"]), call.path["partyId"]
    roles = [role for role in account.party_roles if role.party_id != party]
    if len(roles) == len(account.party_roles):
        raise missing("party role")
    world.clock.tick()
    world.store.remove("party_role", owner=account.id, peer=party)
    put_account(world, msgspec.structs.replace(account, party_roles=roles))
    return Reply("", 204)


def answer_body(text: str) -> JsonAnswer:
    """The answer's JSON with every number's own digits."""
    return cast(JsonAnswer, json.loads(text, parse_float=Decimal, parse_int=Decimal))
