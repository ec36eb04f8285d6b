"""Accounts and what hangs on them: roles, wallets, virtual bank accounts."""

from __future__ import annotations

from typing import Final

import msgspec

from treasury.sandbox.finance.arrivals import release
from treasury.sandbox.finance.finance_parties import make_party
from treasury.sandbox.finance.finance_records import (
    account_named,
    account_of,
    party_of,
    places_of,
    put_account,
    put_wallet,
    require_active,
)
from treasury.sandbox.http.body_fields import (
    AccountChanges,
    NewAccount,
    NewRole,
    NewVirtualAccount,
    NewWallet,
    exactly_one,
)
from treasury.sandbox.http.exchange import Call, Refusal, Reply, invalid, result
from treasury.sandbox.state.shapes import (
    Account,
    Party,
    PartyRole,
    VirtualBankAccount,
    Wallet,
    bare,
    encode,
)
from treasury.sandbox.story.world import World

__all__ = [
    "add_role", "change_account", "create_account", "create_virtual_account", "create_wallet",
    "delete_account", "give_wallet", "reactivate_account",
]  # fmt: skip

_UNFINISHED: Final = (
    # kind, the statuses in which it still may move something
    ("transfer", ("PENDING", "PROCESSING")),
    ("account_transfer", ("PENDING", "PROCESSING")),
    ("payment_session", ("CREATED", "PAYMENT_RECEIVED")),
    ("arrival", ("RECEIVED", "HELD")),
)


def create_account(world: World, call: Call) -> Reply:
    """POST /accounts: for a party that is known or for one that comes with it."""
    body = call.read(NewAccount)
    exactly_one(partyId=body.party_id, party=body.party)
    _is_free(world, body.external_id)
    if body.party is not None:
        if body.party.idempotency_key is not None:
            raise invalid("party.idempotencyKey: the key of the account is the only one.")
        party = make_party(world, body.party)
    else:
        party = _known_party(world, body.party_id or "")
    now = bare(world.clock.tick())
    account = Account(
        id=world.ids.uuid(), external_id=body.external_id, name=body.name, chain=body.chain,
        kyc_status="PENDING", status="ACTIVE", party_roles=[_role(party, now)], created_at=now,
        version=0,
    )  # fmt: skip
    return result(encode(put_account(world, account)), 201)


def change_account(world: World, call: Call) -> Reply:
    """PATCH /accounts/{id}: its externalId and name; a version, where given, must be fresh."""
    account, body = account_of(world, call.path["id"]), call.read(AccountChanges)
    if body.version is not None and body.version != account.version:
        raise Refusal(409, "CONFLICT", "Account changed; read it again and retry.")
    changes = {name: getattr(body, name) for name in ("external_id", "name")}
    changes = {name: value for name, value in changes.items() if value is not None}
    if not changes:
        raise invalid("Give externalId or name.")
    if body.external_id is not None and body.external_id != account.external_id:
        _is_free(world, body.external_id)
    world.clock.tick()
    changed = msgspec.structs.replace(account, **changes, version=account.version + 1)
    return result(encode(put_account(world, changed)))


def delete_account(world: World, call: Call) -> Reply:
    """DELETE /accounts/{id}: one that holds nothing and has nothing under way."""
    account = account_of(world, call.path["id"])
    if not world.ledger.is_empty(places_of(world, account.id)):
        raise Refusal(409, "CONFLICT", "The account still holds something.")
    for kind, statuses in _UNFINISHED:
        sides = {"owner": account.id, "peer": account.id}
        if world.store.page(kind, {"status": statuses}, members=sides, limit=0).total:
            raise Refusal(409, "CONFLICT", "Something on the account is still under way.")
    for kind in ("wallet", "virtual_account", "party_role"):
        world.store.remove(kind, owner=account.id)
    world.store.remove("account", id=account.id)
    return Reply("", 204)


def reactivate_account(world: World, call: Call) -> Reply:
    """POST /accounts/{accountId}/reactivate: one that is suspended."""
    account = account_of(world, call.path["accountId"])
    if account.status != "SUSPENDED":
        raise Refusal(409, "CONFLICT", f"The account is {account.status}, not SUSPENDED.")
    world.clock.tick()
    changed = msgspec.structs.replace(account, status="ACTIVE", version=account.version + 1)
    return result(encode(put_account(world, changed)))


def add_role(world: World, call: Call) -> Reply:
    """POST /accounts/{accountId}/party-roles."""
    account, body = account_of(world, call.path["accountId"]), call.read(NewRole)
    party = _known_party(world, body.party_id)
    if party.id in {role.party_id for role in account.party_roles}:
        raise Refusal(409, "CONFLICT", "The party has this role already.")
    role = _role(party, bare(world.clock.tick()))
    roles = [*account.party_roles, role]
    account = put_account(world, msgspec.structs.replace(account, party_roles=roles))
    release(world, account)
    return result(encode(role), 201)


def create_wallet(world: World, call: Call) -> Reply:
    """POST /accounts/{accountId}/wallets: on the account's own chain."""
    account, body = account_of(world, call.path["accountId"]), call.read(NewWallet)
    require_active(account)
    if body.chain != account.chain:
        raise invalid(f"chain must be the account's own, {account.chain}.")
    wallet = give_wallet(world, account)
    # As created, before what was held for the account moves in: a new wallet is empty.
    body_sent = result(encode(wallet), 201)
    release(world, account)
    return body_sent


def give_wallet(world: World, account: Account) -> Wallet:
    """A new empty wallet of an account."""
    world.clock.tick()
    wallet = Wallet(
        id=world.ids.uuid(), account_id=account.id, chain=account.chain, type="CUSTODIAL",
        address=world.ids.address(), status="ACTIVE", balances=[], aml_status="APPROVED",
    )  # fmt: skip
    return put_wallet(world, wallet)


def create_virtual_account(world: World, call: Call) -> Reply:
    """POST /accounts/{accountId}/virtual-bank-accounts."""
    account, body = account_of(world, call.path["accountId"]), call.read(NewVirtualAccount)
    require_active(account)
    now = bare(world.clock.tick())
    party = account.party_roles[0].party if account.party_roles else None
    holder = world.cast.company.name  # who a payer is told to pay
    if party is not None:
        holder = party.name or f"{party.first_name} {party.last_name}"
    virtual = VirtualBankAccount(
        id=world.ids.uuid(), account_id=account.id, bank_account_type="EUR_SEPA", name=body.name,
        status="ACTIVE", currency=body.in_currency,
        target_cryptocurrency=body.target_cryptocurrency, iban=world.ids.iban("BE"),
        bic="TESTBEBBXXX", bank_name="Test Bank", beneficiary_name=holder,
        reference_code=world.ids.reference_code(), created_at=now, updated_at=now,
    )  # fmt: skip
    return result(encode(world.keep(virtual)), 201)


def _is_free(world: World, external_id: str) -> None:
    if account_named(world, external_id) is not None:
        raise Refusal(409, "CONFLICT", "externalId belongs to another account.")


def _known_party(world: World, party_id: str) -> Party:
    party = party_of(world, party_id)
    if party.status != "ACTIVE":
        raise Refusal(409, "CONFLICT", f"The party is {party.status}.")
    return party


def _role(party: Party, now: str) -> PartyRole:
    return PartyRole(
        party_id=party.id, role_type="ACCOUNT_HOLDER", status="ACTIVE", party=party,
        created_at=now, updated_at=now,
    )  # fmt: skip
