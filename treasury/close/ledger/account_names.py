"""The names of our accounts in a ledger: numbers of the mapping, IBANs, ids and names.

A number may have leading zeros. A name of two accounts names neither.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from treasury.close.ledger.ledger_accounts import LedgerAccounts
from treasury.core.identifiers import plain_account
from treasury.month.reconciliation import Reconciliation

AccountKey = tuple[str, str]
"""An account's plain number and its currency."""
_Row = dict[str, Any]


def account_key(account: str, currency: str) -> AccountKey:
    """Return the key of an account: its number without blanks, and its currency in capitals."""
    return plain_account(account), currency.upper()


def balance_names(rows: Sequence[_Row]) -> dict[AccountKey, AccountKey]:
    """Return the names that a ledger may use for each balance, without ambiguous ones."""
    keys: dict[AccountKey, set[AccountKey]] = defaultdict(set)
    for row in rows:
        own = account_key(row["of"], row["currency"])
        for name in filter(None, (row["of"], row["name"])):
            keys[account_key(name, row["currency"])].add(own)
    return {name: key for name, (key, *others) in keys.items() if not others}


def without_zeros(names: Mapping[AccountKey, AccountKey]) -> dict[AccountKey, AccountKey]:
    """Return the names, and each number without its leading zeros, unless it is ambiguous.

    Exports of ledgers add or drop leading zeros.
    """
    shorter: defaultdict[AccountKey, set[AccountKey]] = defaultdict(set)
    for (name, currency), key in names.items():
        if name.isdecimal():
            shorter[name.lstrip("0"), currency].add(key)
    return {name: key for name, (key, *others) in shorter.items() if not others} | dict(names)


def account_named(written: AccountKey, names: Mapping[AccountKey, AccountKey]) -> AccountKey | None:
    """Return the account that a line names, with or without leading zeros, or None."""
    name, currency = written
    short = (name.lstrip("0"), currency) if name.isdecimal() else written
    return names.get(written) or names.get(short)


def bank_account_names(
    r: Reconciliation, accounts: LedgerAccounts
) -> tuple[dict[AccountKey, AccountKey], dict[AccountKey, frozenset[AccountKey]]]:
    """Return the bank accounts by their names in the export, without ambiguous names.

    The second mapping has the names of each account with several ledger accounts.
    """
    accounts_by_name: defaultdict[AccountKey, set[AccountKey]] = defaultdict(set)
    joined: dict[AccountKey, frozenset[AccountKey]] = {}
    for row in r.statements.arrow.to_pylist():
        role = "provider" if row["source"] == "provider_report" else "bank"
        currency = row["currency"].upper()
        key = account_key(row["account"], currency)
        further = accounts.further_names.get(f"{role} {row['account']}", ())
        names = [
            account_key(name, currency) for name in (accounts.of(role, row["account"]), *further)
        ]
        for name in names:
            accounts_by_name[name].add(key)
        if further:
            joined[key] = frozenset(names)
    names_of = {name: key for name, (key, *others) in accounts_by_name.items() if not others}
    return names_of, joined
