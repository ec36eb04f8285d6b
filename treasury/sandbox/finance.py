"""The finance service's operations, as a table."""

from __future__ import annotations

from typing import Final

from treasury.sandbox.http import Call, Reply, Route, invalid, missing, result
from treasury.sandbox.lists import Listing, all_of, detail_of, listing
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


_PARTIES: Final = Listing(
    kind="party",
    filters={"partyType": "type", "status": "status", "externalId": "reference"},
)
_ACCOUNTS: Final = Listing(kind="account", filters={"status": "status", "externalId": "reference"})
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

_ROUTES: Final = (
    Route("GET", "/parties", listing(_PARTIES)),
    Route("GET", "/parties/{id}", detail_of("party", "party")),
    Route("GET", "/accounts", listing(_ACCOUNTS)),
    Route("GET", "/accounts/{id}", detail_of("account", "account")),
    Route("GET", "/accounts/{accountId}/party-roles", all_of("party_role", "accountId")),
    Route("GET", "/accounts/{accountId}/wallets", listing(_WALLETS)),
    Route("GET", "/accounts/{accountId}/virtual-bank-accounts", listing(_VIRTUAL_ACCOUNTS)),
    Route(
        "GET",
        "/accounts/{accountId}/virtual-bank-accounts/{virtualBankAccountId}",
        detail_of("virtual_account", "virtual bank account", "virtualBankAccountId", "accountId"),
    ),
    Route("GET", "/accounts/{accountId}/transfers", listing(_TRANSFERS)),
    Route("GET", "/accounts/{accountId}/transfers/{transferId}", _transfer),
    Route("GET", "/account-to-account-transfers", listing(_INTERNAL)),
)


def routes(_: str) -> tuple[Route, ...]:
    """The operations that a profile serves."""
    return _ROUTES
