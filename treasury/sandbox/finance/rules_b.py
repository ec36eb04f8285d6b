"""Rules of profile `b` that differ from the specification.

An account has a wallet from the start and receives no money before it is verified. Changing a party
requires its version. Idempotency keys of new parties, accounts and roles are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from treasury.sandbox.finance import finance_accounts as accounts
from treasury.sandbox.finance import finance_parties as parties
from treasury.sandbox.finance import finance_records as records
from treasury.sandbox.finance import finance_transfers as transfers
from treasury.sandbox.finance import payments
from treasury.sandbox.finance.sessions import NewSession, Session, make_session
from treasury.sandbox.http.body_fields import Long, exactly_one
from treasury.sandbox.http.exchange import Call, Refusal, Write, invalid, missing
from treasury.sandbox.state.shapes import Account, Party, Transfer, VirtualBankAccount
from treasury.sandbox.story.world import World

JsonAnswer: TypeAlias = dict[str, Any]

_Reference = Annotated[str, msgspec.Meta(max_length=255)]


def create_account(world: World, call: Call) -> Account:
    """Create an account with a wallet; if an address is sent, the wallet is the customer's own."""
    body, account = call.read(NewAccountB), accounts.create_account(world, call)
    wallet = accounts.give_wallet(world, account)
    if body.address is not None:
        records.put_wallet(world, replace(wallet, type="SELF_CUSTODY", address=body.address))
    if body.card_provider_reference is not None:
        payments.keep_card(world, account.id, body.card_provider_reference)
    return account


class IndividualBodyB(parties.IndividualFields, frozen=True, kw_only=True):
    """A new natural person; an idempotency key is ignored."""

    idempotency_key: Any = None


class OrganisationBodyB(parties.OrganisationFields, frozen=True, kw_only=True):
    """A new company; an idempotency key is ignored."""

    idempotency_key: Any = None


class NewAccountB(accounts.AccountFields, frozen=True, kw_only=True):
    """A new account for an existing or a new party; an idempotency key is ignored.

    `address` names a wallet held by the customer.
    """

    address: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{40}$")] | None = None
    party: IndividualBodyB | OrganisationBodyB | None = None
    card_provider_reference: payments.CardReference | None = None
    idempotency_key: Any = None


class NewRoleB(accounts.NewRole, frozen=True, kw_only=True):
    """The role of a party in an account; an idempotency key is ignored."""

    idempotency_key: Any = None


class PartyChangesB(parties.PartyChangeFields, frozen=True, kw_only=True):
    """The changeable fields of a party, and the required version that the caller read."""

    version: int


def change_party(world: World, call: Call) -> Party:
    """PATCH /parties/{id}: change fields of a party; the version is required."""
    if call.body.get("version") is None:
        raise invalid("version is required.")
    return parties.change_party(world, call)


def create_virtual_account(world: World, call: Call) -> VirtualBankAccount:
    """POST /accounts/{accountId}/virtual-bank-accounts: create one for a verified account."""
    if not records.is_verified(records.account_of(world, call.path["accountId"])):
        raise Refusal(400, "KYC_NOT_VERIFIED", "Account is not verified yet.")
    return accounts.create_virtual_account(world, call)


class NewSessionB(NewSession, frozen=True, kw_only=True):
    """The fields for opening a payment session."""

    idempotency_key: Long
    external_ref: _Reference | None = None
    metadata: dict[str, Any] | None = None


def create_session(world: World, call: Call) -> Session:
    """POST /accounts/{accountId}/fiat-to-crypto/payment-sessions: only for verified accounts."""
    account, body = records.account_of(world, call.path["accountId"]), call.read(NewSessionB)
    records.require_active(account)
    if not records.is_verified(account):
        raise Refusal(422, "KYC_REQUIRED", "Account is not verified yet.")
    return make_session(world, account.id, body, body.external_ref, body.metadata).session


class CryptoBodyB(transfers.CryptoBody, frozen=True, kw_only=True):
    """A transfer of an asset to an account."""

    idempotency_key: Long
    merchant_reference: _Reference | None = None


class FiatBodyB(transfers.FiatFields, frozen=True, kw_only=True):
    """A transfer ordered in fiat, to an account."""

    idempotency_key: Long
    merchant_reference: _Reference | None = None


def transferring(make: Callable[..., Transfer], shape: Any, outside: str) -> Write:
    """Return a transfer handler that only accepts receivers at the service."""

    def serve(world: World, call: Call) -> Transfer:
        body = call.read(shape)
        if call.body.get(outside) is not None:
            raise invalid(f"Object contains unknown field `{outside}`.")
        exactly_one(
            receiverAccountId=body.receiver_account_id, receiverExternalId=body.receiver_external_id
        )
        return make(world, call.path["senderAccountId"], body, body.merchant_reference)

    return serve


class NewVirtualAccountB(accounts.NewVirtualAccount, frozen=True, kw_only=True):
    """A new virtual bank account."""

    idempotency_key: Long


class PaymentBodyB(payments.PaymentBody, frozen=True, kw_only=True):
    """The payment in the body of a payment request."""

    idempotency_key: Long


class PaymentRequestBodyB(payments.PaymentRequestBody, frozen=True, kw_only=True):
    """The body of a new payment request."""

    payment_request: PaymentBodyB


READS_B: Final[dict[Any, Any]] = {
    parties.PartyBody: IndividualBodyB | OrganisationBodyB, accounts.NewAccount: NewAccountB,
    accounts.NewRole: NewRoleB, parties.PartyChanges: PartyChangesB, NewSession: NewSessionB,
    accounts.NewVirtualAccount: NewVirtualAccountB, transfers.CryptoBody: CryptoBodyB,
    transfers.FiatBody: FiatBodyB, payments.PaymentRequestBody: PaymentRequestBodyB,
}  # fmt: skip
"""Bodies of the specification that this profile replaces, each with its replacement."""


def remove_role(world: World, call: Call) -> None:
    """DELETE /accounts/{accountId}/party-roles/{partyId}: remove a party's role."""
    account, party = records.account_of(world, call.path["accountId"]), call.path["partyId"]
    roles = [role for role in account.party_roles if role.party_id != party]
    if len(roles) == len(account.party_roles):
        raise missing("party role")
    world.clock.tick()
    world.store.remove("party_role", owner=account.id, peer=party)
    records.put_account(world, replace(account, party_roles=roles))


def answer_body(text: str) -> JsonAnswer:
    """Return the answer's JSON, with every digit of its numbers."""
    return cast(JsonAnswer, json.loads(text, parse_float=Decimal, parse_int=Decimal))
