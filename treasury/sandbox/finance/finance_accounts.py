"""Operations on accounts, their roles, wallets and virtual bank accounts."""

from __future__ import annotations

from typing import Final, Literal

from msgspec.structs import replace

from treasury.sandbox.finance import finance_parties as parties
from treasury.sandbox.finance import finance_records as records
from treasury.sandbox.finance.arrivals import release
from treasury.sandbox.finance.finance_records import accounts_of
from treasury.sandbox.http.body_fields import Chain, Coin, JsonBody, Key, Long, exactly_one
from treasury.sandbox.http.exchange import Call, Refusal, invalid
from treasury.sandbox.http.idempotency import create_route, write_route
from treasury.sandbox.http.lists import Listing, all_of, detail_of, list_route, read_route
from treasury.sandbox.state import shapes
from treasury.sandbox.state.shapes import Account, PartyRole, VirtualBankAccount, Wallet
from treasury.sandbox.story.world import World

_UNFINISHED: Final = (
    # For each kind of record, the statuses in which it may still move money.
    ("transfer", ("PENDING", "PROCESSING")),
    ("account_transfer", ("PENDING", "PROCESSING")),
    ("payment_session", ("CREATED", "PAYMENT_RECEIVED")),
    ("arrival", ("RECEIVED", "HELD")),
)


class AccountFields(JsonBody, frozen=True, kw_only=True):
    """Fields of a new account."""

    external_id: Long
    name: Long | None = None
    chain: Literal["BASE", "AVALANCHE", "POLYGON"]
    party_id: str | None = None
    party: parties.PartyFields | None = None
    idempotency_key: Key | None = None


class NewAccount(AccountFields, frozen=True, kw_only=True):
    """A new account, for an existing or a new party."""

    chain: Chain
    party: parties.PartyBody | None = None


class AccountChanges(JsonBody, frozen=True, kw_only=True):
    """The changeable fields of an account, and the version that the caller read."""

    external_id: Long | None = None
    name: Long | None = None
    version: int | None = None


class NewRole(JsonBody, frozen=True, kw_only=True):
    """The role of a party in an account."""

    party_id: str
    role_type: Literal["ACCOUNT_HOLDER"]
    idempotency_key: Key | None = None


class NewWallet(JsonBody, frozen=True, kw_only=True):
    """A new custodial wallet."""

    chain: Chain
    idempotency_key: Key | None = None


class NewVirtualAccount(JsonBody, frozen=True, kw_only=True):
    """A new virtual bank account."""

    name: Long
    in_currency: Literal["EUR"]
    target_cryptocurrency: Coin
    idempotency_key: Key


def create_account(world: World, call: Call) -> Account:
    """POST /accounts: create an account for an existing or a new party."""
    body = call.read(NewAccount)
    exactly_one(partyId=body.party_id, party=body.party)
    _is_free(world, body.external_id)
    if body.party is not None:
        if body.party.idempotency_key is not None:
            raise invalid("party.idempotencyKey is not allowed; use the account's key.")
        party = parties.make_party(world, body.party)
    else:
        party = _known_party(world, body.party_id or "")
    now = shapes.bare(world.clock.tick())
    account = Account(
        id=world.ids.uuid(), external_id=body.external_id, name=body.name, chain=body.chain,
        kyc_status="PENDING", status="ACTIVE", party_roles=[_role(party, now)], created_at=now,
        version=0,
    )  # fmt: skip
    return records.put_account(world, account)


def change_account(world: World, call: Call) -> Account:
    """PATCH /accounts/{id}: change externalId and name; a version, if sent, must be current."""
    account, body = records.account_of(world, call.path["id"]), call.read(AccountChanges)
    if body.version is not None and body.version != account.version:
        raise Refusal(409, "CONFLICT", "Account changed; read it again and retry.")
    changes = {name: getattr(body, name) for name in ("external_id", "name")}
    changes = {name: value for name, value in changes.items() if value is not None}
    if not changes:
        raise invalid("Give externalId or name.")
    if body.external_id is not None and body.external_id != account.external_id:
        _is_free(world, body.external_id)
    world.clock.tick()
    changed = replace(account, **changes, version=account.version + 1)
    return records.put_account(world, changed)


def delete_account(world: World, call: Call) -> None:
    """DELETE /accounts/{id}: delete an empty account without an unfinished operation."""
    account = records.account_of(world, call.path["id"])
    if not world.ledger.is_empty(records.places_of(world, account.id)):
        raise Refusal(409, "CONFLICT", "The account still holds something.")
    for kind, statuses in _UNFINISHED:
        sides = {"owner": account.id, "peer": account.id}
        if world.store.page(kind, {"status": statuses}, members=sides, limit=0).total:
            raise Refusal(409, "CONFLICT", "An operation on the account is still open.")
    for kind in ("wallet", "virtual_account", "party_role"):
        world.store.remove(kind, owner=account.id)
    world.store.remove("account", id=account.id)


def reactivate_account(world: World, call: Call) -> Account:
    """POST /accounts/{accountId}/reactivate: reactivate a suspended account."""
    account = records.account_of(world, call.path["accountId"])
    if account.status != "SUSPENDED":
        raise Refusal(409, "CONFLICT", f"The account is {account.status}, not SUSPENDED.")
    world.clock.tick()
    changed = replace(account, status="ACTIVE", version=account.version + 1)
    return records.put_account(world, changed)


def add_role(world: World, call: Call) -> PartyRole:
    """POST /accounts/{accountId}/party-roles: give a party a role in an account."""
    account, body = records.account_of(world, call.path["accountId"]), call.read(NewRole)
    party = _known_party(world, body.party_id)
    if party.id in {role.party_id for role in account.party_roles}:
        raise Refusal(409, "CONFLICT", "The party has this role already.")
    role = _role(party, shapes.bare(world.clock.tick()))
    roles = [*account.party_roles, role]
    account = records.put_account(world, replace(account, party_roles=roles))
    release(world, account)
    return role


def create_wallet(world: World, call: Call) -> Wallet:
    """POST /accounts/{accountId}/wallets: create a wallet on the account's chain."""
    account, body = records.account_of(world, call.path["accountId"]), call.read(NewWallet)
    records.require_active(account)
    if body.chain != account.chain:
        raise invalid(f"chain must be the account's own, {account.chain}.")
    wallet = give_wallet(world, account)
    release(world, account)
    # The answer shows the wallet as created, without the held amounts that `release` credits.
    return wallet


def give_wallet(world: World, account: Account) -> Wallet:
    """Create an empty wallet for an account."""
    world.clock.tick()
    wallet = Wallet(
        id=world.ids.uuid(), account_id=account.id, chain=account.chain, type="CUSTODIAL",
        address=world.ids.address(), status="ACTIVE", balances=[], aml_status="APPROVED",
    )  # fmt: skip
    return records.put_wallet(world, wallet)


def create_virtual_account(world: World, call: Call) -> VirtualBankAccount:
    """POST /accounts/{accountId}/virtual-bank-accounts: create a virtual bank account."""
    account, body = records.account_of(world, call.path["accountId"]), call.read(NewVirtualAccount)
    records.require_active(account)
    now = shapes.bare(world.clock.tick())
    party = account.party_roles[0].party if account.party_roles else None
    # This becomes the beneficiary name that payers see.
    holder = world.cast.company.name
    if party is not None:
        holder = party.name or f"{party.first_name} {party.last_name}"
    virtual = VirtualBankAccount(
        id=world.ids.uuid(), account_id=account.id, bank_account_type="EUR_SEPA", name=body.name,
        status="ACTIVE", currency=body.in_currency,
        target_cryptocurrency=body.target_cryptocurrency, iban=world.ids.iban("BE"),
        bic="TESTBEBBXXX", bank_name="Test Bank", beneficiary_name=holder,
        reference_code=world.ids.reference_code(), created_at=now, updated_at=now,
    )  # fmt: skip
    return world.keep(virtual)


def _is_free(world: World, external_id: str) -> None:
    if records.account_named(world, external_id) is not None:
        raise Refusal(409, "CONFLICT", "externalId belongs to another account.")


def _known_party(world: World, party_id: str) -> shapes.Party:
    party = records.party_of(world, party_id)
    if party.status != "ACTIVE":
        raise Refusal(409, "CONFLICT", f"The party is {party.status}.")
    return party


def _role(party: shapes.Party, now: str) -> PartyRole:
    return PartyRole(
        party_id=party.id, role_type="ACCOUNT_HOLDER", status="ACTIVE", party=party,
        created_at=now, updated_at=now,
    )  # fmt: skip


_LIST: Final = Listing(
    kind="account",
    filters={"status": "status", "externalId": "reference"},
    values={"status": ("ACTIVE", "SUSPENDED", "BLOCKED", "CLOSED")},
    narrow=lambda world, call: (
        {"id": [each for party in call.query["partyId"] for each in accounts_of(world, party)]}
        if "partyId" in call.query
        else {}
    ),
    also={"partyId": {"type": "string"}},
)
_WALLETS: Final = Listing(
    kind="wallet",
    owner="accountId",
    filters={"chain": "chain", "status": "status"},
    values={"chain": ("BASE", "AVALANCHE"), "status": ("ACTIVE", "SUSPENDED")},
    sort="",
)
_VIRTUAL_ACCOUNTS: Final = Listing(
    kind="virtual_account",
    owner="accountId",
    filters={"bankAccountType": "type", "status": "status"},
    values={"bankAccountType": ("EUR_SEPA",), "status": ("ACTIVE", "CLOSED", "PENDING")},
)
_OF_ACCOUNT: Final = "/accounts/{accountId}"
_VIRTUAL: Final = f"{_OF_ACCOUNT}/virtual-bank-accounts"
ACCOUNT_ROUTES: Final = (
    create_route(
        "/accounts", create_account, NewAccount, Account,
        "Create an account for an existing party or a new one.", 404, 409,
    ),
    list_route("/accounts", _LIST, Account, "List the accounts."),
    read_route("/accounts/{id}", detail_of("account", "account"), Account, "Get an account."),
    write_route(
        "PATCH /accounts/{id}", change_account, AccountChanges, Account,
        "Change an account's externalId or name.", 409,
    ),
    write_route(
        "DELETE /accounts/{id}", delete_account, None, None,
        "Delete an empty account without an unfinished operation.", 409, status=204,
    ),
    write_route(
        f"POST {_OF_ACCOUNT}/reactivate", reactivate_account, None, Account,
        "Reactivate a suspended account.", 409,
    ),
    create_route(
        f"{_OF_ACCOUNT}/party-roles", add_role, NewRole, PartyRole,
        "Give a party a role in an account.", 409,
    ),
    read_route(
        f"{_OF_ACCOUNT}/party-roles", all_of("party_role", "accountId"), list[PartyRole],
        "List the roles of parties in an account.",
    ),
    create_route(
        f"{_OF_ACCOUNT}/wallets", create_wallet, NewWallet, Wallet,
        "Create a wallet on the account's chain.",
    ),
    list_route(f"{_OF_ACCOUNT}/wallets", _WALLETS, Wallet, "List an account's wallets."),
    create_route(
        _VIRTUAL, create_virtual_account, NewVirtualAccount, VirtualBankAccount,
        "Create a virtual bank account.",
    ),
    list_route(
        _VIRTUAL, _VIRTUAL_ACCOUNTS, VirtualBankAccount, "List an account's virtual bank accounts."
    ),
    read_route(
        _VIRTUAL + "/{virtualBankAccountId}",
        detail_of("virtual_account", "virtual bank account", "virtualBankAccountId", "accountId"),
        VirtualBankAccount, "Get a virtual bank account.",
    ),
)  # fmt: skip
