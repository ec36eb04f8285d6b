"""The finance service's operations, as a table."""

from __future__ import annotations

from typing import Final

from treasury.sandbox.finance_accounts import (
    add_role,
    change_account,
    create_account,
    create_virtual_account,
    create_wallet,
    delete_account,
    reactivate_account,
)
from treasury.sandbox.finance_parties import change_party, create_party, delete_party
from treasury.sandbox.finance_records import accounts_of
from treasury.sandbox.finance_transfers import (
    create_any,
    create_crypto,
    create_fiat,
    create_internal,
)
from treasury.sandbox.http import (
    MANAGERS,
    Call,
    Handler,
    Reply,
    Route,
    invalid,
    missing,
    result,
)
from treasury.sandbox.idempotency import once
from treasury.sandbox.lists import Listing, all_of, detail_of, listing
from treasury.sandbox.payments import create_payment
from treasury.sandbox.profile_b import routes_b
from treasury.sandbox.sessions import create_session
from treasury.sandbox.shapes import Transfer, decode
from treasury.sandbox.world import World

__all__ = ["routes"]

_SIDES: Final = {"SENDER": ("owner",), "RECEIVER": ("peer",), None: ("owner", "peer")}


def _seen_from(call: Call) -> dict[str, str]:
    """An account's transfers: those it sent and those it received, unless it asks for one side."""
    role = call.one("accountRole")
    if role not in _SIDES:
        raise invalid("accountRole must be SENDER or RECEIVER.")
    return dict.fromkeys(_SIDES[role], call.path["accountId"])


def _transfer(world: World, call: Call) -> Reply:
    text = world.store.detail("transfer", call.path["transferId"])
    if text is None:
        raise missing("transfer")
    transfer = decode(text, Transfer)
    if call.path["accountId"] not in {transfer.sender_account_id, transfer.receiver_account_id}:
        raise missing("transfer")
    return result(text)


def _held_by(world: World, call: Call) -> dict[str, list[str]]:
    """The accounts of a party, where the caller asks for them."""
    parties = call.query.get("partyId", [])
    return {"id": [a for party in parties for a in accounts_of(world, party)]} if parties else {}


_PARTIES: Final = Listing(
    kind="party",
    filters={"partyType": "type", "status": "status", "externalId": "reference"},
)
_ACCOUNTS: Final = Listing(
    kind="account",
    filters={"status": "status", "externalId": "reference"},
    narrow=_held_by,
)
_WALLETS: Final = Listing(
    kind="wallet", owner="accountId", filters={"chain": "chain", "status": "status"}, sort=""
)
_VIRTUAL_ACCOUNTS: Final = Listing(
    kind="virtual_account",
    owner="accountId",
    filters={"bankAccountType": "type", "status": "status"},
)
_TRANSFERS: Final = Listing(kind="transfer", members=_seen_from, filters={"status": "status"})
_INTERNAL: Final = Listing(
    kind="account_transfer",
    filters={"sourceAccountId": "owner", "destinationAccountId": "peer"},
)


def _read(path: str, handler: Handler) -> Route:
    return Route("GET", path, handler)


def _write(method: str, path: str, handler: Handler) -> Route:
    """A write: for those who may create, and once for a key."""
    return Route(method, path, once(handler), MANAGERS)


_VIRTUAL: Final = "/accounts/{accountId}/virtual-bank-accounts"
_ROUTES: Final = (
    _write("POST", "/parties", create_party),
    _read("/parties", listing(_PARTIES)),
    _read("/parties/{id}", detail_of("party", "party")),
    _write("PATCH", "/parties/{id}", change_party),
    _write("DELETE", "/parties/{id}", delete_party),
    _write("POST", "/accounts", create_account),
    _read("/accounts", listing(_ACCOUNTS)),
    _read("/accounts/{id}", detail_of("account", "account")),
    _write("PATCH", "/accounts/{id}", change_account),
    _write("DELETE", "/accounts/{id}", delete_account),
    _write("POST", "/accounts/{accountId}/reactivate", reactivate_account),
    _write("POST", "/accounts/{accountId}/party-roles", add_role),
    _read("/accounts/{accountId}/party-roles", all_of("party_role", "accountId")),
    _write("POST", "/accounts/{accountId}/wallets", create_wallet),
    _read("/accounts/{accountId}/wallets", listing(_WALLETS)),
    _write("POST", _VIRTUAL, create_virtual_account),
    _read(_VIRTUAL, listing(_VIRTUAL_ACCOUNTS)),
    _read(
        _VIRTUAL + "/{virtualBankAccountId}",
        detail_of("virtual_account", "virtual bank account", "virtualBankAccountId", "accountId"),
    ),
    _write("POST", "/accounts/{accountId}/fiat-to-crypto/payment-sessions", create_session),
    _write("POST", "/account-to-account-transfers", create_internal),
    _read("/account-to-account-transfers", listing(_INTERNAL)),
    _write("POST", "/accounts/{senderAccountId}/transfers/crypto", create_crypto),
    _write("POST", "/accounts/{senderAccountId}/transfers/fiat", create_fiat),
    _write("POST", "/transfers", create_any),
    _read("/accounts/{accountId}/transfers", listing(_TRANSFERS)),
    _read("/accounts/{accountId}/transfers/{transferId}", _transfer),
    _write("POST", "/payment-requests", create_payment),
)


def routes(profile: str) -> tuple[Route, ...]:
    """The operations that a profile serves."""
    return routes_b(_ROUTES) if profile == "b" else _ROUTES
