"""The finance service: parties, accounts, wallets, virtual bank accounts, transfers.

Each attribute is a collection of `resources`; its route is the specification's.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import msgspec

from treasury.api.codec import Record, decode, split
from treasury.api.models import (
    Account,
    Balance,
    Party,
    PartyRole,
    Transfer,
    VirtualBankAccount,
    Wallet,
)
from treasury.api.resources import Collection, Table

if TYPE_CHECKING:
    from treasury.api.client import Client

__all__ = ["Finance", "Wallets"]


class _Sniff(msgspec.Struct, frozen=True):
    """Enough of a wallet list's row to tell a wallet from a bare balance."""

    id: str | None = None
    asset: str | None = None
    token: str | None = None


class Wallets(Collection[Wallet]):
    """Wallets with their balances; a bare balance row is a wallet without id that holds just it."""

    def _records(self, raw: bytes) -> tuple[Record[Wallet], ...]:
        return tuple(self._record(item) for item in split(raw, self._listing))

    def _record(self, raw: bytes) -> Record[Wallet]:
        row = decode(raw, _Sniff, self._listing).value
        if row.id is not None or (row.asset or row.token) is None:
            return decode(raw, Wallet, self._listing)
        return Record(Wallet(balances=(decode(raw, Balance, self._listing).value,)), raw)


def _wallet_key(wallet: Wallet) -> Hashable:
    """What tells two wallets apart: the id, or the assets where balances came bare."""
    return wallet.id or tuple((b.asset, b.token, b.contract_address) for b in wallet.balances)


class Finance:
    """Every collection of the finance service that the tables are made from."""

    def __init__(self, client: Client) -> None:
        self.parties = Collection(
            client,
            "finance",
            "/parties",
            Party,
            one="/parties/{id}",
            filters=("party_type", "status", "external_id"),
        )
        self.accounts = Collection(
            client,
            "finance",
            "/accounts",
            Account,
            one="/accounts/{id}",
            filters=("external_id", "status", "party_id"),
        )
        self.party_roles = Table(client, "finance", "/accounts/{accountId}/party-roles", PartyRole)
        self.wallets = Wallets(
            client,
            "finance",
            "/accounts/{accountId}/wallets",
            Wallet,
            filters=("chain", "status"),
            key=_wallet_key,
        )
        self.virtual_bank_accounts = Collection(
            client,
            "finance",
            "/accounts/{accountId}/virtual-bank-accounts",
            VirtualBankAccount,
            one="/accounts/{accountId}/virtual-bank-accounts/{virtualBankAccountId}",
            filters=("bank_account_type", "status"),
        )
        self.transfers = Collection(
            client,
            "finance",
            "/accounts/{accountId}/transfers",
            Transfer,
            one="/accounts/{accountId}/transfers/{transferId}",
            filters=("account_role", "status"),
        )
        self.account_to_account_transfers = Collection(
            client,
            "finance",
            "/account-to-account-transfers",
            Transfer,
            filters=("source_account_id", "destination_account_id"),
        )
