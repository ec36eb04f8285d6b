"""Reads and writes of the finance service's records, which keep embedded copies consistent.

Roles and accounts contain copies of their parties, wallets contain balances from the ledger.
Operations write parties, accounts and wallets only through this module, which updates the copies.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from msgspec.structs import replace

from treasury.sandbox.http.exchange import Refusal, stored
from treasury.sandbox.state.ledger import Overdrawn, Posting, available, reserved, suspense
from treasury.sandbox.state.shapes import Account, Party, Wallet, decode
from treasury.sandbox.state.store import role_records
from treasury.sandbox.story.transfer_story import balances_of
from treasury.sandbox.story.world import World

UNLOCKED: Final = frozenset({"VERIFIED", "NOT_REQUIRED"})


def party_of(world: World, party_id: str) -> Party:
    """Return a party. Raises a 404 if it does not exist."""
    return stored(world, "party", party_id, Party)


def account_of(world: World, account_id: str) -> Account:
    """Return an account. Raises a 404 if it does not exist."""
    return stored(world, "account", account_id, Account)


def account_named(world: World, external_id: str) -> Account | None:
    """Return the account with this external id (an id chosen by the client)."""
    items = world.store.page("account", {"reference": [external_id]}, limit=1).items
    return decode(items[0], Account) if items else None


def accounts_of(world: World, party_id: str) -> list[str]:
    """Return the ids of the accounts in which a party has a role."""
    return world.store.owners("party_role", party_id)


def wallets_of(world: World, account_id: str) -> list[Wallet]:
    """Return an account's wallets, oldest first."""
    items = world.store.page("wallet", {"owner": [account_id]}).items
    return [decode(item, Wallet) for item in items]


def verification(party: Party) -> str:
    """Return the status of a party's check: KYC for a person, KYB for an organisation."""
    status = party.kyc_status if party.party_type == "INDIVIDUAL" else party.kyb_status
    return status or "PENDING"


def is_verified(account: Account) -> bool:
    """Return whether the account has holders, all of whom passed their check or need none."""
    return account.kyc_status in UNLOCKED


def require_active(account: Account) -> None:
    """Raise a 400 for an account that is not active."""
    if account.status != "ACTIVE":
        raise Refusal(400, "ACCOUNT_NOT_ACTIVE", f"The account is {account.status}.")


def put_party(world: World, party: Party) -> Party:
    """Write a party, and update its copies in roles and accounts."""
    world.keep(party)
    for account_id in accounts_of(world, party.id):
        account = account_of(world, account_id)
        roles = [
            replace(role, party=party) if role.party_id == party.id else role
            for role in account.party_roles
        ]
        put_account(world, replace(account, party_roles=roles))
    return party


def put_account(world: World, account: Account) -> Account:
    """Write an account and its roles; the checks of its holders determine its KYC status."""
    checks = [verification(role.party) for role in account.party_roles]
    waiting = [status for status in checks if status not in UNLOCKED]
    status = waiting[0] if waiting else "VERIFIED" if checks else "PENDING"
    account = world.keep(replace(account, kyc_status=status))
    world.store.put(role_records(account))
    return account


def put_wallet(world: World, wallet: Wallet) -> Wallet:
    """Write a wallet, with its balances from the ledger."""
    balances = balances_of(world.ledger, world.cast, wallet.id)
    return world.keep(replace(wallet, balances=balances))


def move(world: World, kind: str, reference: str, *postings: Posting, lacking: int = 422) -> None:
    """Move amounts in the ledger and update the wallets. Raises Refusal if a balance is too low."""
    try:
        world.ledger.move(kind, reference, world.clock.now.isoformat(), *postings)
    except Overdrawn as error:
        raise Refusal(
            lacking, "INSUFFICIENT_FUNDS", f"Balance too low: not enough {error.asset}."
        ) from None
    touched = {
        place.split("/")[1]
        for posting in postings
        for place in (posting.source, posting.target)
        if place.startswith("wallet/")
    }
    for wallet_id in sorted(touched):
        put_wallet(world, stored(world, "wallet", wallet_id, Wallet))


def spendable(world: World, account_id: str, asset: str) -> tuple[Wallet, Decimal] | None:
    """Return the account's wallet with the highest balance of an asset, and that balance.

    Returns None if none of its wallets ever held the asset.
    """
    holding = [
        (wallet, holdings[asset])
        for wallet in wallets_of(world, account_id)
        for holdings in [world.ledger.holdings(available(wallet.id))]
        if asset in holdings
    ]
    return max(holding, key=lambda pair: pair[1]) if holding else None


def places_of(world: World, account_id: str) -> list[str]:
    """Return all of the ledger's places that belong to an account."""
    wallets = wallets_of(world, account_id)
    spots = [place for wallet in wallets for place in (available(wallet.id), reserved(wallet.id))]
    return [*spots, suspense(account_id)]
