"""The accounts of a ledger that are roles of our own export, and what the month posted to them.

A ledger that takes over the export keeps money in transit on accounts of its own. They are
recognised by the mapping that the export was written with, or by the roles' own names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from treasury.close.coins.coin_entries import CoinBooks
from treasury.close.ledger.accounting import accounting
from treasury.close.ledger.ledger_accounts import LedgerAccounts
from treasury.identifiers import plain_account
from treasury.money import total
from treasury.reconcile.monthly import Reconciliation

__all__ = ["BANK_ROLES", "OwnBooks", "bank_names", "own_books"]

BANK_ROLES: Final = ("bank", "provider")
"""The roles that a statement proves."""
Key = tuple[str, str]


class OwnBooks(msgspec.Struct, frozen=True):
    """What the month posted to each account of the ledger, and the roles that stand on it."""

    posted: Mapping[Key, Decimal]
    roles: Mapping[Key, tuple[str, ...]]

    def keeps(self, role: str, currency: str, accounts: frozenset[Key]) -> bool:
        """Whether one of these accounts, in the currency, is the role's."""
        return any(key[1] == currency and role in self.roles.get(key, ()) for key in accounts)


def own_books(
    r: Reconciliation, zone: ZoneInfo, accounts: LedgerAccounts, coins: CoinBooks | None = None
) -> OwnBooks:
    """The sums of the month's export by ledger account and currency."""
    posted: defaultdict[Key, list[Decimal]] = defaultdict(list)
    roles: defaultdict[Key, list[str]] = defaultdict(list)
    for row in accounting(r, zone, coins=coins).balances().to_pylist():
        key = (plain_account(accounts.of(row["role"], row["of"])), row["currency"].upper())
        posted[key].append(row["balance"])
        roles[key].append(row["role"])
    return OwnBooks(
        {key: total(amounts) for key, amounts in posted.items()},
        {key: tuple(dict.fromkeys(names)) for key, names in roles.items()},
    )


def bank_names(r: Reconciliation, accounts: LedgerAccounts) -> dict[Key, Key]:
    """The bank accounts by what the export calls them; one name for several is none's."""
    accounts_by_name: defaultdict[Key, set[Key]] = defaultdict(set)
    for row in r.statements.to_pylist():
        role = BANK_ROLES[1] if row["source"] == "provider_report" else BANK_ROLES[0]
        currency = row["currency"].upper()
        name = plain_account(accounts.of(role, row["account"]))
        accounts_by_name[name, currency].add((plain_account(row["account"]), currency))
    return {name: account for name, (account, *others) in accounts_by_name.items() if not others}
